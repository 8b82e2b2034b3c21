"""From an asymmetric kernel to the table of its complex measure.

The shifted kernels of a sum are gathered by their radial kernel and by the axis of their shifts,
so that each radial measure is found once, and its shifts along one axis multiply it together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError
from spectra.kernels.asymmetric import AsymmetricKernel, gaussian_components
from spectra.kernels.kernel import Kernel
from spectra.table import Shifts, SpectralTable

__all__ = ["asymmetric_table"]

# Two shifts are parallel, and commensurate, up to this: rounding of their coordinates.
_PARALLEL = 1e-12
# Shifts count as multiples of the least one where the multiples are at most this.
_LARGEST_STEP = 64


def asymmetric_table(
    kernel: AsymmetricKernel, dim: int, table_of: Callable[[Kernel, int], SpectralTable]
) -> SpectralTable:
    """Tabulate the complex measure of an asymmetric kernel in R^dim: see :func:`spectra.derive`.

    ``table_of(kernel, dim)`` makes the table of a radial kernel.  Each part of the result is one of
    a radial kernel, with its shifts along one axis.
    """
    kernels = cast("Mapping[Kernel, Any]", kernel.as_shifted_kernels(dim))
    moved = [
        (table_of(radial, dim), _deviation(radial), shifts)
        for radial, terms in kernels.items()
        for shifts in _shifts(terms, dim)
    ]
    if not moved:
        raise ParameterError("The kernel is zero: there is no measure to tabulate.")
    parts = [
        replace(part, shifts=shifts, deviation=deviation)
        for table, deviation, shifts in moved
        for part in table.parts
    ]
    sizes = [part.root_mean_square(dim) for part in parts]
    # A mass within its own error, where shifts cancel, is not known to be there at all.
    lost = sum(size + error for size, error in sizes if size <= error)
    bias = sum(table.bias * shifts.bound for table, _, shifts in moved)
    return SpectralTable(
        dim=dim,
        parts=tuple(p for p, (size, error) in zip(parts, sizes, strict=True) if size > error),
        formula=str(kernel),
        k_zero=float(kernel(np.zeros(dim))),
        u_error=max(table.u_error for table, _, _ in moved),
        bias=float(lost + bias),
        provenance="; ".join(dict.fromkeys(table.provenance for table, _, _ in moved)),
    )


def _deviation(kernel: Kernel) -> float:
    """Standard deviation of a coordinate of the frequency where the kernel is one Gaussian."""
    components: tuple[Any, ...] = gaussian_components(kernel) or ()
    return float(np.sqrt(2.0 * float(components[0][1]))) if len(components) == 1 else 0.0


def _shifts(terms: list[tuple[float, FloatArray]], dim: int) -> list[Shifts]:
    """The shifts of one kernel: one object for each axis along which they have a common unit."""
    centred = 0.0
    axes: list[tuple[FloatArray, list[tuple[float, float]]]] = []
    for weight, offset in terms:
        length = float(np.linalg.norm(offset))
        if length == 0.0:
            centred += weight
            continue
        for axis, members in axes:
            sign = float(np.sign(axis @ offset))
            if np.linalg.norm(offset / length - sign * axis) < _PARALLEL:
                members.append((weight, sign * length))
                break
        else:
            axes.append((offset / length, [(weight, length)]))
    out = [shifts for axis, members in axes for shifts in _along(axis, members)]
    if centred != 0.0 and len(out) == 1:
        (one,) = out
        steps, weights = np.append(one.steps, 0), np.append(one.weights, centred)
        return [replace(one, steps=steps, weights=weights)]
    if centred != 0.0:
        out.append(Shifts(np.eye(dim)[0], 1.0, np.array([0]), np.array([centred])))
    return out


def _along(axis: FloatArray, members: list[tuple[float, float]]) -> list[Shifts]:
    """The shifts along an axis as multiples of the least one; each on its own if they are none.

    Shifts that have no common unit are a measure each: valid, of more mass.
    """
    lengths = np.array([length for _, length in members])
    unit = float(np.abs(lengths).min())
    steps = np.round(lengths / unit)
    largest = np.abs(steps).max()
    if largest > _LARGEST_STEP or np.abs(lengths / unit - steps).max() > _PARALLEL * largest:
        return [
            shifts
            for size in dict.fromkeys(np.abs(lengths).tolist())
            for shifts in _along(axis, [(w, t) for w, t in members if abs(t) == size])
        ]
    weights = dict.fromkeys(steps.astype(int).tolist(), 0.0)
    for step, (weight, _) in zip(steps.astype(int).tolist(), members, strict=True):
        weights[step] += weight
    kept = {step: weight for step, weight in weights.items() if weight != 0.0}
    return [Shifts(axis, unit, np.array(list(kept)), np.array(list(kept.values())))] if kept else []

"""From an asymmetric kernel to the table of its complex measure.

The shifted kernels of a sum are gathered by their radial kernel and by the axis of their shifts,
so that each radial measure is found once, and its shifts along one axis multiply it together.
"""

from __future__ import annotations

import math
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
# Shifts count as multiples of a common unit where the multiples are at most this.
_LARGEST_STEP = 64
# Weights that cancel to a few units of rounding of the numbers they were made of are gone.
_CANCELLED = 1e-15


def asymmetric_table(
    kernel: AsymmetricKernel, dim: int, table_of: Callable[[Kernel, int], SpectralTable]
) -> SpectralTable:
    """Tabulate the complex measure of an asymmetric kernel in R^dim: see :func:`spectra.derive`.

    ``table_of(kernel, dim)`` makes the table of a radial kernel.  Each part of the result is one of
    a radial kernel, with its shifts along one axis.
    """
    kernels = cast("Mapping[Kernel, Any]", kernel.in_dimension(dim))
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
    centred = _sum([weight for weight, offset in terms if _is_centred(offset)])
    axes: list[tuple[FloatArray, list[tuple[float, float]]]] = []
    for weight, offset in terms:
        if _is_centred(offset):
            continue
        # Squares of the smallest and of the largest doubles are none.
        largest = float(np.abs(offset).max())
        size = float(np.linalg.norm(offset / largest))
        direction, length = offset / largest / size, largest * size
        for axis, members in axes:
            sign = float(np.sign(axis @ direction))
            if np.linalg.norm(direction - sign * axis) < _PARALLEL:
                members.append((weight, sign * length))
                break
        else:
            axes.append((direction, [(weight, length)]))
    out: list[Shifts] = []
    for axis, members in axes:
        unit = _common_unit([length for _, length in members])
        if unit is None:
            # Without a common unit each shift is a measure of its own: valid, of more mass.
            for length in dict.fromkeys(t for _, t in members):
                same = [(w, t) for w, t in members if t == length]
                out.extend(_along(axis, abs(length), same))
        else:
            out.extend(_along(axis, unit, members))
    if centred != 0.0:
        if len(out) == 1:
            (one,) = out
            steps, weights = np.append(one.steps, 0), np.append(one.weights, centred)
            out = [replace(one, steps=steps, weights=weights)]
        else:
            out.append(Shifts(np.eye(dim)[0], 1.0, np.array([0]), np.array([centred])))
    return out


def _is_centred(offset: FloatArray) -> bool:
    """Whether a shift is 0, or below the doubles that have all their digits."""
    return bool(np.abs(offset).max() < np.finfo(float).tiny)


def _along(axis: FloatArray, unit: float, members: list[tuple[float, float]]) -> list[Shifts]:
    """The shifts by multiples of a unit; none where all of them cancel."""
    weights: dict[int, list[float]] = {}
    for weight, length in members:
        weights.setdefault(round(length / unit), []).append(weight)
    sums = {step: total for step, those in weights.items() if (total := _sum(those))}
    if not sums:
        return []
    return [Shifts(axis, unit, np.array(list(sums)), np.array(list(sums.values())))]


def _sum(weights: list[float]) -> float:
    """The sum, and 0 where it is no more than the rounding of what cancels in it."""
    total = math.fsum(weights)
    return total if abs(total) > _CANCELLED * sum(map(abs, weights)) else 0.0


def _common_unit(lengths: list[float]) -> float | None:
    """The largest length of which all are multiples up to 64; None if there is none."""
    least = min(abs(t) for t in lengths)
    for divisor in range(1, _LARGEST_STEP + 1):
        steps = np.array(lengths) / (least / divisor)
        if np.abs(steps).max() > _LARGEST_STEP:
            return None
        if np.abs(steps - np.round(steps)).max() < _PARALLEL * np.abs(steps).max():
            return least / divisor
    return None

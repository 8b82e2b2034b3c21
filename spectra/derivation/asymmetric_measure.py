"""Tables of the complex spectral measures of asymmetric kernels.

An asymmetric kernel is a sum of shifted radial kernels c k(D + r), D = x - y.  Terms with the same
k and parallel shifts r form one part of the table: the measure of k times sum c exp(i omega . r).
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

# Tolerance for parallel shifts and for ratios of lengths: rounding of coordinates.
_TOLERANCE = 1e-12
# Parallel shifts form one part if they are multiples of the shortest one, up to this multiple.
_LARGEST_STEP = 64


def asymmetric_table(
    kernel: AsymmetricKernel, dim: int, table_of: Callable[[Kernel, int], SpectralTable]
) -> SpectralTable:
    """Tabulate an asymmetric kernel in R^dim; ``table_of`` derives the tables of radial kernels."""
    kernels = cast("Mapping[Kernel, Any]", kernel.as_shifted_kernels(dim))  # k -> [(c, r), ...]
    shifted = [
        (table_of(radial, dim), _gaussian_deviation(radial), shifts)
        for radial, terms in kernels.items()
        for shifts in _group_shifts(terms, dim)
    ]
    if not shifted:
        raise ParameterError("The kernel is zero: there is no measure to tabulate.")
    parts = [
        replace(part, shifts=shifts, deviation=deviation)
        for table, deviation, shifts in shifted
        for part in table.parts
    ]
    sizes = [part.root_mean_square(dim) for part in parts]
    # Where shifts cancel, the size of a part may be below its error; such parts are omitted.
    omitted = sum(size + error for size, error in sizes if size <= error)
    bias = sum(table.bias * shifts.bound for table, _, shifts in shifted)
    return SpectralTable(
        dim=dim,
        parts=tuple(p for p, (size, error) in zip(parts, sizes, strict=True) if size > error),
        formula=str(kernel),
        k_zero=float(kernel(np.zeros(dim))),
        u_error=max(table.u_error for table, _, _ in shifted),
        bias=float(omitted + bias),
        provenance="; ".join(dict.fromkeys(table.provenance for table, _, _ in shifted)),
    )


def _gaussian_deviation(kernel: Kernel) -> float:
    """Standard deviation of the coordinates of a frequency for a Gaussian kernel, else 0."""
    rates = [float(rate) for _, rate in gaussian_components(kernel) or ()]
    return float(np.sqrt(2.0 * rates[0])) if len(rates) == 1 else 0.0


def _group_shifts(terms: list[tuple[float, FloatArray]], dim: int) -> list[Shifts]:
    """Group terms (c, r) by the axis of r; r = 0 joins the only group, or forms its own."""
    unshifted = 0.0
    axes: list[tuple[FloatArray, list[tuple[float, float]]]] = []
    for weight, offset in terms:
        length = float(np.linalg.norm(offset))
        if length == 0.0:
            unshifted += weight
            continue
        for axis, parallel in axes:
            sign = float(np.sign(axis @ offset))
            if np.linalg.norm(offset / length - sign * axis) < _TOLERANCE:
                parallel.append((weight, sign * length))
                break
        else:
            axes.append((offset / length, [(weight, length)]))
    groups = [shifts for axis, parallel in axes for shifts in _shifts_along(axis, parallel)]
    if unshifted != 0.0 and len(groups) == 1:
        (group,) = groups
        steps, weights = np.append(group.steps, 0), np.append(group.weights, unshifted)
        return [replace(group, steps=steps, weights=weights)]
    if unshifted != 0.0:
        groups.append(Shifts(np.eye(dim)[0], 1.0, np.array([0]), np.array([unshifted])))
    return groups


def _shifts_along(axis: FloatArray, terms: list[tuple[float, float]]) -> list[Shifts]:
    """The terms (c, t) of shifts t along an axis, if possible as multiples of the shortest shift.

    Otherwise there is one group for each |t|, and terms of different groups do not cancel.
    """
    lengths = np.array([length for _, length in terms])
    unit = float(np.abs(lengths).min())
    steps = np.round(lengths / unit)
    largest = np.abs(steps).max()
    if largest > _LARGEST_STEP or np.abs(lengths / unit - steps).max() > _TOLERANCE * largest:
        return [
            shifts
            for size in dict.fromkeys(np.abs(lengths).tolist())
            for shifts in _shifts_along(axis, [(c, t) for c, t in terms if abs(t) == size])
        ]
    weights = dict.fromkeys(steps.astype(int).tolist(), 0.0)
    for step, (weight, _) in zip(steps.astype(int).tolist(), terms, strict=True):
        weights[step] += weight
    kept = {step: weight for step, weight in weights.items() if weight != 0.0}
    return [Shifts(axis, unit, np.array(list(kept)), np.array(list(kept.values())))] if kept else []

"""The error of each coupling against the number of columns, from the exact variance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from rf.sampling.couplings import COUPLINGS
from rf.variance import (
    GroupedModel,
    VarianceModel,
    allocate,
    apportion,
    l1_part_variance,
    split,
)
from spectra.base.arrays import FloatArray
from spectra.base.limits.progress import stage, staged
from spectra.base.limits.time_limit import seconds_left, time_limit
from spectra.errors import TimeLimitError
from spectra.kernels import GroupedKernel, Kernel, L1Kernel
from spectra.table import GroupedTable, L1Table, SpectralTable

__all__ = ["Errors", "distances", "errors_by_coupling", "errors_of_groups", "errors_of_l1"]


#: Numbers of columns that are compared (chosen); every frequency has two.
COLUMNS = (16, 32, 64, 128, 256, 512, 1024)
#: Distances over which the variance is averaged: like the kernel it varies over tenths of a range.
_DISTANCES = 24
# A limit is a positive number of seconds.
_LEAST_TIME = 1e-3


@final
@dataclass(frozen=True)
class Errors:
    """Expected relative errors of a kernel matrix.

    Attributes
    ----------
    columns : tuple of int
    errors : dict
        For each coupling the errors at these numbers of columns; nan where the coupling is another
        one there, or no part of the table has a frequency.
    left_out : tuple of str
        Couplings that are not compared, each with the reason.
    """

    columns: tuple[int, ...]
    errors: dict[str, FloatArray]
    left_out: tuple[str, ...]


@staged("the variances of all couplings")
def errors_by_coupling(table: SpectralTable, kernel: Kernel, reach: float) -> Errors:
    """The expected error of every coupling of known variance, relative to the norm of the kernel.

    The square root of mean Var k^(z) over mean k(z)^2, z in the middle of equal parts of
    (0, reach], with independent radii and the split over the parts that is best for each coupling.

    Examples
    --------
    >>> from spectra import derive, radial
    >>> gauss = radial("exp(-z**2/2)")
    >>> found = errors_by_coupling(derive(gauss, 2, cache=False), gauss, 4.0)
    >>> squares = found.errors["iid"] ** 2 * found.columns
    >>> bool(np.allclose(squares, squares[0]))
    True
    """
    z = distances(reach)
    model = VarianceModel(table, z)
    no_use = {
        name: "couples parts, and there is one"
        for name, coupling in COUPLINGS.items()
        if coupling.across_parts and len(table.parts) == 1
    }

    def error(name: str, n: int) -> float:
        counts = allocate(table, n, allocation="optimal", coupling=name, distances=model)
        if not any(COUPLINGS[name].gains(m, table.dim) for m in counts):
            return np.nan
        return float(model.mean_variance(counts, coupling=name, radii="iid"))

    return _compared(kernel, table, kernel(z), error, no_use)


@staged("the variances of all couplings within groups")
def errors_of_groups(table: GroupedTable, kernel: GroupedKernel, differences: FloatArray) -> Errors:
    """Likewise of a kernel of groups of columns, in the mean over differences of shape (m, d)."""
    model = GroupedModel(table, differences)
    widest = max((len(group.columns) for group in table.groups), default=1)
    no_use = {
        name: "couples parts" if coupling.across_parts else "has directions that are not uniform"
        for name, coupling in COUPLINGS.items()
        if coupling.across_parts or not coupling.uniform
    }

    def error(name: str, n: int) -> float:
        counts = split(model, n, allocation="optimal")
        if name != "iid" and not any(COUPLINGS[name].gains(m, widest) for m in counts):
            return np.nan
        return float(np.mean(model.variance(counts, coupling=name, radii="iid")[0]))

    return _compared(kernel, table, kernel(differences), error, no_use)


@staged("the variance of independent frequencies")
def errors_of_l1(table: L1Table, kernel: L1Kernel, differences: FloatArray) -> Errors:
    """Likewise of a kernel of the l1 distance, whose frequencies are independent."""
    one = np.mean(l1_part_variance(table, differences)[0], axis=1)
    found = []
    for n in COLUMNS:
        parted = n // 2 >= len(one)
        counts = np.array(apportion(np.sqrt(one), n // 2)) if parted else np.nan
        found.append(np.sum(one / counts))
    errors = np.sqrt(found) / _norm(kernel(differences))
    others = "every other coupling, whose directions are uniform, as those here are not"
    return Errors(COLUMNS, {"iid": errors}, (others,))


def distances(reach: float) -> FloatArray:
    """The distances over which a variance is averaged: the middles of equal parts of (0, reach]."""
    return np.asarray(reach * (np.arange(_DISTANCES) + 0.5) / _DISTANCES)


def _compared(
    kernel: Kernel | GroupedKernel,
    table: SpectralTable | GroupedTable,
    exact: FloatArray,
    mean_variance: Callable[[str, int], float],
    no_use: Mapping[str, str],
) -> Errors:
    """Every coupling of known variance and of some use here, each within its share of the time.

    ``mean_variance(name, n)`` is that of n frequencies, nan where the coupling gains no part
    anything.
    """
    scale = _norm(exact)
    errors: dict[str, FloatArray] = {}
    left_out: list[str] = []
    for name, coupling in COUPLINGS.items():
        if not coupling.known:
            left_out.append(f"{name}, whose variance has no closed form")
            continue
        if name in no_use:
            left_out.append(f"{name}, which {no_use[name]}")
            continue
        left = seconds_left()
        try:
            # Half of what is left: one that is slow leaves time to those after it.
            with (
                time_limit(None if left is None else 0.5 * max(left, _LEAST_TIME)),
                stage(f"the variance of the coupling {name}", of=kernel),
            ):
                found = [
                    mean_variance(name, n // 2) if n // 2 >= len(table.parts) else np.nan
                    for n in COLUMNS
                ]
        except TimeLimitError:
            left_out.append(
                f"{name}, whose variance took longer than its share of the time for a step"
            )
            continue
        if np.all(np.isnan(found)):
            left_out.append(f"{name}, which is another coupling in d = {table.dim}")
        else:
            # A variance that is zero up to rounding can come out below it.
            errors[name] = np.sqrt(np.maximum(found, 0.0)) / scale
    return Errors(COLUMNS, errors, tuple(left_out))


def _norm(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))

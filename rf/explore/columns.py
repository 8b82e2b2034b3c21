"""The error of each coupling against the number of columns, from the exact variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from rf.couplings import COUPLINGS
from rf.frequencies import allocate
from rf.variance import VarianceModel
from spectra.errors import TimeLimitError
from spectra.kernel import Kernel
from spectra.progress import stage, staged
from spectra.steps import seconds_left, time_limit
from spectra.table import SpectralTable

__all__ = ["Errors", "errors_by_coupling"]

FloatArray = NDArray[np.float64]

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
    >>> found = errors_by_coupling(derive(gauss, 16, cache=False), gauss, 4.0)
    >>> squares = found.errors["iid"] ** 2 * found.columns
    >>> bool(np.allclose(squares, squares[0]))
    True
    """
    z = reach * (np.arange(_DISTANCES) + 0.5) / _DISTANCES
    model = VarianceModel(table, z)
    scale = float(np.sqrt(np.mean(kernel(z) ** 2)))
    errors: dict[str, FloatArray] = {}
    left_out: list[str] = []
    for name, coupling in COUPLINGS.items():
        if not coupling.known:
            left_out.append(f"{name}, whose variance has no closed form")
        elif coupling.across_parts and len(table.parts) == 1:
            left_out.append(f"{name}, which couples parts, and there is one")
        else:
            left = seconds_left()
            try:
                # Half of what is left: one that is slow leaves time to those after it.
                with (
                    time_limit(None if left is None else 0.5 * max(left, _LEAST_TIME)),
                    stage(f"the variance of the coupling {name}", of=kernel),
                ):
                    found = np.array([_error(model, name, n // 2) for n in COLUMNS]) / scale
            except TimeLimitError:
                left_out.append(
                    f"{name}, whose variance took longer than its share of the time for a step"
                )
                continue
            if np.all(np.isnan(found)):
                left_out.append(f"{name}, which is another coupling in d = {table.dim}")
            else:
                errors[name] = found
    return Errors(COLUMNS, errors, tuple(left_out))


def _error(model: VarianceModel, name: str, n: int) -> float:
    """Root mean variance of n frequencies; nan where the coupling gains no part anything."""
    parts = len(model.table.parts)
    if n < parts:
        return np.nan
    counts = allocate(model.table, n, allocation="optimal", coupling=name, distances=model)
    coupling = COUPLINGS[name]
    if not any(coupling.gains(m, model.table.dim) for m in counts):
        return np.nan
    return float(np.sqrt(model.mean_variance(counts, coupling=name, radii="iid")))

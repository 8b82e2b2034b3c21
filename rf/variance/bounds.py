r"""How many columns make every entry of the approximate kernel matrix accurate to eps?

Bernstein's and Hoeffding's inequalities give bounds Pr(max |k^ - k| > eps) <= delta for the
estimate k^, with the maximum over all pairs of N rows.  They hold for coupling "iid", with equal
numbers of frequencies for all parts or numbers in proportion to the masses.  Other couplings have
less variance, but the bounds are not proved for them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rf.sampling.frequencies import check_table, checked_choice
from rf.variance.variance import VarianceModel
from spectra.base.arrays import FloatArray
from spectra.base.numbers import positive_number, whole_number
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = ["BOUNDS", "n_components_for"]

#: Bernstein's inequality with the exact variance; Hoeffding's, which needs the masses only.
BOUNDS = ("bernstein", "hoeffding")

# Points of the first grid in the search for the maximum of the variance, points of each finer grid
# around the best point, and number of grids.
_GRID, _FINE_GRID, _GRIDS = 512, 33, 3
# Doubles represent all whole numbers below this.
_MOST_FREQUENCIES = 2.0**53


def n_components_for(
    table: SpectralTable,
    eps: float,
    delta: float,
    *,
    n_points: int | None = None,
    diameter: float | None = None,
    bound: str = "bernstein",
    allocation: str = "equal",
) -> int:
    r"""Number of columns (two for each frequency) that a bound requires.

    Let part p have the mass m_p (with shifts, times the sum of their absolute weights), the
    fraction f_p of the frequencies, and the variance v_p(z) of m_p cos(w.D), |D| = z.
    The number of frequencies is, for N rows,

    * bernstein: (2 max_z sum v_p / f_p + (4/3) eps max m_p / f_p) / eps^2 * ln(N (N-1) / delta);
    * hoeffding: 2 sum m_p^2 / f_p / eps^2 * ln(N (N-1) / delta).

    Parameters
    ----------
    table : SpectralTable
    eps : float
        Largest absolute error, greater than 0.
    delta : float
        Probability of failure, in (0, 1).
    n_points : int
        Number N >= 2 of rows.
    diameter : float, optional
        Largest distance of two rows, for a radial kernel; without it, "bernstein" uses the upper
        bound m_p^2 of v_p, and requires more columns.
    bound : str
        One of :data:`BOUNDS`.
    allocation : {"equal", "mass"}
        How the frequencies are split.

    Raises
    ------
    ParameterError
        For an unknown bound or allocation, or a number out of range.
    DataError
        For a ``diameter`` and a kernel that is not radial.

    Examples
    --------
    >>> from rf.inputs.tables import resolve_spectrum
    >>> table = resolve_spectrum("sin(z)/z", 3).table
    >>> n_components_for(table, eps=0.1, delta=0.01, n_points=1000, diameter=2.0)
    1956
    >>> n_components_for(table, eps=0.1, delta=0.01, n_points=1000, bound="hoeffding")
    7368
    """
    check_table(table)
    eps = positive_number(eps, "eps", why=", the error")
    delta = positive_number(delta, "delta", why=" below 1, the probability of failure")
    if not delta < 1:
        raise ParameterError(f"delta = {delta!r}: a probability of failure is below 1.")
    checked_choice(dict.fromkeys(BOUNDS), bound, "bound")
    checked_choice(dict.fromkeys(("equal", "mass")), allocation, "allocation")
    reason = f", as the bound {bound!r} is over the pairs of that many rows"
    n_points = whole_number(n_points, "n_points", least=2, why=reason)
    if diameter is not None:
        diameter = positive_number(diameter, "diameter", why=", the largest distance")
    masses = np.array([float(p.mass * p.kernel_bound) for p in table.parts])
    inverse_fractions = np.where(allocation == "equal", masses.size, masses.sum() / masses)
    variance = float(np.sum(masses**2 * inverse_fractions))
    if bound == "hoeffding":
        needed = 2.0 * variance
    else:
        if diameter is not None:
            variance = _largest_variance(table, diameter, inverse_fractions)
        needed = 2.0 * variance + 4.0 / 3.0 * eps * float(np.max(masses * inverse_fractions))
    logarithm = math.log(n_points * (n_points - 1.0) / delta)
    # eps**2 underflows to 0 for eps below about 1e-162.
    frequencies = needed / eps**2 * logarithm if eps**2 > 0.0 else math.inf
    if not frequencies < _MOST_FREQUENCIES:
        raise ParameterError(
            f"eps = {eps:.3g} asks for {frequencies:.3g} frequencies by the bound {bound!r}, and "
            "that is more than can be drawn. Ask for a larger error."
        )
    parts = masses.size
    if allocation == "equal":
        return 2 * parts * math.ceil(frequencies / parts)
    # Rounding to whole numbers takes at most one frequency from a part.
    return 2 * (math.ceil(frequencies) + parts)


def _largest_variance(table: SpectralTable, diameter: float, scale: FloatArray) -> float:
    """The maximum of sum(scale_p * v_p(z)) over distances z up to the diameter."""
    grid = np.linspace(0.0, diameter, _GRID)
    for _ in range(_GRIDS):
        values = scale @ VarianceModel(table, grid).part_variance
        best = int(np.argmax(values))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        grid = np.linspace(*ends, _FINE_GRID)
    return float(values.max())

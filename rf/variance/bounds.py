r"""How many columns make every entry of the approximate kernel right to within eps?

For s independent samples (one frequency of each part in each) both bounds have the form
Pr(max |k^ - k| > eps) <= delta, over all pairs of N rows, once s is large enough.  They hold for
coupling "iid" with equal numbers of frequencies, or numbers in proportion to the masses; coupled
estimates have less variance, but no such bound is proved for them here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rf.sampling.frequencies import check_table
from rf.variance.variance import VarianceModel
from spectra.base.arrays import FloatArray
from spectra.base.numbers import positive_number, whole_number
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = ["BOUNDS", "n_components_for"]

#: Bernstein's inequality with the exact variance, and Hoeffding's, which needs the masses alone.
BOUNDS = ("bernstein", "hoeffding")

# Distances of the grid on which the maximum of the variance is searched.
_GRID = 512
_REFINEMENTS = 3
# Most frequencies that are counted exactly by a double.
_MOST = 2.0**53


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
    r"""Columns (two for each frequency) that a bound asks for.

    With the masses m_p, the fractions f_p of the frequencies and v_p(z) the variance of one
    frequency (:attr:`rf.variance.VarianceModel.part_variance`) the numbers of frequencies are

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
        Largest distance of two rows; without it, "bernstein" takes for v_p its upper bound m_p^2,
        and asks for more columns.
    bound : str
        One of :data:`BOUNDS`.
    allocation : {"equal", "mass"}
        How the frequencies are split.

    Raises
    ------
    ParameterError
        For an unknown bound or allocation, or a number out of range.

    Examples
    --------
    >>> from rf.inputs.tables import resolve_spectrum
    >>> table = resolve_spectrum("sin(z)/z", 3).table
    >>> n_components_for(table, eps=0.1, delta=0.01, n_points=1000, diameter=2.0)
    1956
    >>> n_components_for(table, eps=0.1, delta=0.01, n_points=1000, bound="hoeffding")
    7368
    """
    check_table(table, radial=False)
    eps = positive_number(eps, "eps", why=", the error")
    delta = positive_number(delta, "delta", why=" below 1, the probability of failure")
    if not delta < 1:
        raise ParameterError(f"delta = {delta!r}: a probability of failure is below 1.")
    if bound not in BOUNDS:
        raise ParameterError(f"There is no bound {bound!r}: choose one of {', '.join(BOUNDS)}.")
    if bound != "hoeffding":
        uses_radii = f", since the bound {bound!r} uses the radii; 'hoeffding' uses masses alone"
        check_table(table, why=uses_radii)
    if allocation not in ("equal", "mass"):
        raise ParameterError(f"allocation = {allocation!r}: the bounds cover 'equal' and 'mass'.")
    pairs = f", as the bound {bound!r} is over the pairs of that many rows"
    n_points = whole_number(n_points, "n_points", least=2, why=pairs)
    if diameter is not None:
        diameter = positive_number(diameter, "diameter", why=", the largest distance")
    masses = np.array([float(p.mass) for p in table.parts])
    over = masses.size if allocation == "equal" else masses.sum() / masses  # 1 / f_p
    variance = float(np.sum(masses**2 * over))
    if bound == "hoeffding":
        needed = 2.0 * variance
    else:
        if diameter is not None:
            variance = _largest_variance(table, diameter, over * np.ones_like(masses))
        needed = 2.0 * variance + 4.0 / 3.0 * eps * float(np.max(masses * over))
    # The square of a number below 1e-154 or so is no double.
    logarithm = math.log(n_points * (n_points - 1.0) / delta)
    frequencies = needed / eps**2 * logarithm if eps**2 > 0.0 else math.inf
    if not frequencies < _MOST:
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
    """The maximum over distances up to the diameter of the sum of scale_p times v_p."""
    grid = np.linspace(0.0, diameter, _GRID)
    for _ in range(_REFINEMENTS):
        values = scale @ VarianceModel(table, grid).part_variance
        best = int(np.argmax(values))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        grid = np.linspace(*ends, 33)
    return float(values.max())

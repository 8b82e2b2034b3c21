r"""How many columns make every entry of the approximate kernel right to within eps?

For s independent samples (one frequency of each part in each) all bounds have the form
Pr(sup |k^ - k| > eps) <= delta once s is large enough.  They hold for coupling "iid" with equal
numbers of frequencies (or numbers in proportion to the masses, where offered); the coupled
estimates have less variance, but no such bound is proved for them here.

=========== ========== ===========================================================================
name        over       from
=========== ========== ===========================================================================
bernstein   N points   Bernstein's inequality with the exact variance
hoeffding   N points   Hoeffding's inequality
uniform     a ball     the cover of Rahimi, Recht (2007) with the constants of Sutherland,
                       Schneider (2015), the exact variance, and a corrected Lipschitz step
=========== ========== ===========================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rf.sampling.frequencies import refuse_other_than_table
from rf.variance.radii.strata import composite_rule
from rf.variance.variance import part_variance
from spectra.base.arrays import FloatArray
from spectra.base.numbers import positive_number, whole_number
from spectra.errors import ParameterError
from spectra.table.parted_table import PartedTable

if TYPE_CHECKING:
    from spectra.table import RadialLaw, SpectralTable

__all__ = ["BOUNDS", "frequencies_for", "n_components_for"]

BOUNDS = ("bernstein", "hoeffding", "uniform")
_FINITE = ("bernstein", "hoeffding")

# Distances of the grid on which the maximum of the variance is searched.
_GRID = 512
_REFINEMENTS = 3
# Most frequencies that are counted exactly by a double.
_MOST = 2.0**53
# A table is right to a few 1e-15 in probability, so that it knows its law up to here.
_FAR = 1e-13
# The fall of the law is read over so many decades of probability before that.
_DECADES = 3.0
# Gauss points of an octave of probability in a tail of waves.
_TAIL_NODES = 12
# What is beyond may make up this share of a second moment: its power is known to a percent.
_BEYOND = 5e-2


def frequencies_for(
    table: SpectralTable,
    eps: float,
    delta: float,
    *,
    n_points: int | None = None,
    diameter: float | None = None,
    bound: str = "bernstein",
    allocation: str = "equal",
) -> float:
    r"""Frequencies in all that a bound asks for, before rounding up.

    With the masses m_p, the fractions f_p of the frequencies, v_p(z) the variance of one frequency
    (:func:`rf.variance.variance.part_variance`), P parts and M the sum of the masses:

    * bernstein: (2 max_z sum v_p / f_p + (4/3) eps max m_p / f_p) / eps^2 * ln(N (N-1) / delta);
    * hoeffding: 2 sum m_p^2 / f_p / eps^2 * ln(N (N-1) / delta);
    * uniform: P 4 (d+2) a / eps^2 * [2d/(d+2) ln(alpha l / eps) + ln(beta_d / delta)] with
      a = min(M^2, max v + M eps / 3) and alpha = 2 sqrt(E (sum m_p R_p)^2).

    Parameters
    ----------
    table : SpectralTable
    eps : float
        Largest absolute error, greater than 0.
    delta : float
        Probability of failure, in (0, 1).
    n_points : int, optional
        Number N >= 2 of rows, for the bounds over finitely many points.
    diameter : float, optional
        Largest distance l of two points; needed by the bounds over a ball, and it sharpens
        "bernstein", which else takes each variance at its most.
    bound : str
        One of :data:`BOUNDS`.
    allocation : {"equal", "mass"}
        How the frequencies are split; "mass" for the bounds over finitely many points only.

    Raises
    ------
    ParameterError
        For a bound that lacks n_points or diameter, numbers outside their meaning, or (over a
        ball) a law of radii without a finite second moment.
    """
    refuse_other_than_table(table, PartedTable)
    eps = positive_number(eps, "eps", why=", the error")
    delta = positive_number(delta, "delta", why=" below 1, the probability of failure")
    if not delta < 1:
        raise ParameterError(f"delta = {delta!r}: a probability of failure is below 1.")
    if bound not in BOUNDS:
        raise ParameterError(f"There is no bound {bound!r}: choose one of {', '.join(BOUNDS)}.")
    if bound != "hoeffding":
        of_radii = f", of which the bound {bound!r} reads the radii; 'hoeffding' reads masses alone"
        refuse_other_than_table(table, why=of_radii)
    masses = np.array([float(p.mass) for p in table.parts])
    if allocation not in ("equal", "mass") or (allocation == "mass" and bound not in _FINITE):
        raise ParameterError(
            f"allocation = {allocation!r} is not covered by the bound {bound!r}: 'equal' always "
            f"is, 'mass' by {' and '.join(_FINITE)}."
        )
    if bound in _FINITE:
        pairs = f", as the bound {bound!r} is over the pairs of that many rows"
        n_points = whole_number(n_points, "n_points", least=2, why=pairs)
    if bound not in _FINITE and diameter is None:
        raise ParameterError(f"The bound {bound!r} is over a ball: give its diameter.")
    if diameter is not None:
        diameter = positive_number(diameter, "diameter", why=", the largest distance")
    # The square of a number below 1e-154 or so is no double.
    frequencies = math.inf
    if eps**2 > 0.0:
        if n_points is not None and bound in _FINITE:
            fractions = masses / masses.sum() if allocation == "mass" else 1.0 / len(masses)
            frequencies = _finite(table, eps, delta, n_points, diameter, bound, masses, fractions)
        elif diameter is not None:
            frequencies = len(masses) * _compact(table, eps, delta, diameter, masses)
    if not frequencies < _MOST:
        raise ParameterError(
            f"eps = {eps:.3g} asks for {frequencies:.3g} frequencies by the bound {bound!r}, and "
            "that is more than can be drawn. Ask for a larger error."
        )
    return frequencies


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
    """Columns (two for each frequency) that a bound asks for; see :func:`frequencies_for`.

    Examples
    --------
    >>> from rf.inputs.tables import resolve_spectrum
    >>> table = resolve_spectrum("sin(z)/z", 3).table
    >>> n_components_for(table, eps=0.1, delta=0.01, n_points=1000, diameter=2.0)
    1956
    >>> n_components_for(table, eps=0.1, delta=0.01, n_points=1000, bound="hoeffding")
    7368
    """
    frequencies = frequencies_for(
        table,
        eps,
        delta,
        n_points=n_points,
        diameter=diameter,
        bound=bound,
        allocation=allocation,
    )
    parts = len(table.parts)
    if allocation == "equal":
        return 2 * parts * math.ceil(frequencies / parts)
    # Rounding to whole numbers takes at most one frequency from a part.
    return 2 * (math.ceil(frequencies) + parts)


def _finite(
    table: SpectralTable,
    eps: float,
    delta: float,
    n_points: int,
    diameter: float | None,
    bound: str,
    masses: FloatArray,
    fractions: FloatArray | float,
) -> float:
    pairs = math.log(n_points * (n_points - 1.0) / delta)
    if bound == "hoeffding":
        return float(2.0 * np.sum(masses**2 / fractions) / eps**2 * pairs)
    if diameter is None:
        largest = float(np.sum(masses**2 / fractions))
    else:
        scale = (np.ones_like(masses) / fractions)[:, None]
        largest = _largest_variance(table, diameter, scale)
    span = float(np.max(masses / fractions))
    return float((2.0 * largest + 4.0 / 3.0 * eps * span) / eps**2 * pairs)


def _compact(
    table: SpectralTable, eps: float, delta: float, diameter: float, masses: FloatArray
) -> float:
    """Samples of one frequency for each part."""
    d = table.dim
    moments = np.array([_radial_moments(p.law) for p in table.parts])
    # E (sum m R)^2 for independent radii; the factor 2 is for the Lipschitz step, which must hold
    # at the place of the largest error, a random one.
    mean = float(masses @ moments[:, 0])
    spread = float(masses**2 @ (moments[:, 1] - moments[:, 0] ** 2))
    alpha = 2.0 * math.sqrt(mean**2 + spread)
    largest = _largest_variance(table, diameter, np.ones((len(masses), 1)))
    a = min(float(masses.sum()) ** 2, largest + float(masses.sum()) * eps / 3.0)
    half = 0.5 * d
    beta = (half ** (-d / (d + 2)) + half ** (2 / (d + 2))) * 2 ** ((6 * d + 2) / (d + 2))
    logs = 2 * d / (d + 2) * math.log(alpha * diameter / eps) + math.log(beta / delta)
    return 4.0 * (d + 2) * a / eps**2 * logs


def _largest_variance(table: SpectralTable, diameter: float, scale: FloatArray) -> float:
    """Largest of sum scale_p v_p(z) for z up to ``diameter``, by a grid that is refined."""
    grid = np.linspace(0.0, diameter, _GRID)
    for _ in range(_REFINEMENTS):
        values = np.sum(scale * part_variance(table, grid), axis=0)
        best = int(np.argmax(values))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        grid = np.linspace(*ends, 33)
    return float(values.max())


def _radial_moments(law: RadialLaw) -> tuple[float, float]:
    r"""E R and E R^2, which must be finite.

    Beyond the radius W of probability p the law falls like w^(-tau), and adds p W^m tau/(tau - m)
    to the moment m; a Gaussian tail has a tau so large that this is p W^m.
    """
    near, last = (float(law.isf(q)) for q in (_FAR * 10.0**_DECADES, _FAR))
    tau = _DECADES * math.log(10.0) / math.log(last / near) if last > near > 0.0 else math.inf
    radii, weights, leftover = law.nodes(0.0)
    within = radii <= last
    radii, weights = radii[within], weights[within]
    if leftover > _FAR:
        # A tail of waves has no nodes.
        steps = max(1, math.ceil(math.log2(leftover / _FAR)))
        q, more = composite_rule(np.geomspace(_FAR, leftover, steps + 1), _TAIL_NODES)
        radii, weights = np.append(radii, law.isf(q)), np.append(weights, more)
    beyond = _FAR * last**2 * (1.0 if tau == math.inf else tau / (tau - 2.0))
    second = float(weights @ radii**2) + beyond
    if tau <= 2.0 or beyond > _BEYOND * second:
        raise ParameterError(
            f"The radii of a part fall like w^(-{tau:.3g}) in probability, so that their second "
            "moment is infinite or not resolved: the kernel is not smooth enough at 0, and the "
            "bounds over a ball do not hold. Use bound='bernstein' with n_points."
        )
    return float(weights @ radii), second

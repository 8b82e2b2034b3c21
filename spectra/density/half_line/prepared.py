"""What every dimension needs of a formula on the half-line: its ends, and its continuation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy

from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.half_line.ends import PowerTerms, Term, expansion_of
from spectra.density.half_line.waves.read_waves import oscillation, read_waves
from spectra.density.half_line.waves.wave import Wave
from spectra.density.half_line.waves.wave_sums import WaveSums
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import profile

__all__ = ["Expanded", "decays_fast", "expanded", "plane", "wave_sums"]


@dataclass(frozen=True, eq=False)
class Expanded:
    """A formula in Z without its limit at infinity, expanded at both ends.

    Attributes
    ----------
    limit : sympy number
        The limit that was taken away.
    total : float
        k(0) without it.
    zero, infinity : Expansion
        What does not oscillate at the ends.
    turning : dict
        The waves that decay like powers: the leading term of each frequency.
    waves : tuple of Wave
        All waves.
    decays_fast : bool
        Whether it decays faster than every power.
    """

    expr: sympy.Expr
    limit: sympy.Expr
    total: float
    zero: PowerTerms
    infinity: PowerTerms
    turning: dict[sympy.Expr, Term]
    waves: tuple[Wave, ...]
    decays_fast: bool


@lru_cache(maxsize=64)
def expanded(expr: sympy.Expr) -> Expanded:
    """The ends of a formula in Z on the whole half-line.

    Raises
    ------
    NoRouteError
        Where it is not analytic for z > 0, unbounded, or has no expansion at an end.
    """
    cut = profile(Kernel((Piece(sympy.oo, expr),)))
    if cut.gaps or cut.radii:
        where = f"z = {cut.radii[0]}" if cut.radii else "a radius that was not located"
        raise NoRouteError(
            f"The formula {expr} changes at {where}: the numeric route on the half-line takes "
            "formulas that are analytic for z > 0. Write it as pieces with support=..., or design "
            "a finite measure for your range of distances."
        )
    smooth = cut.exprs[0]
    waves, infinity, turning = _ending(smooth)
    limit = next((c for a, q, c in infinity if a == 0 and q == 0), sympy.Integer(0))
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in infinity):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    if limit != 0:
        smooth = smooth - limit
        waves, infinity, turning = _ending(smooth)
    zero = expansion_of(smooth, sympy.Integer(0))
    at_zero = value_at_zero(smooth)
    if at_zero is None:
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that could be found.")
    fast = not infinity and not turning
    return Expanded(smooth, limit, float(at_zero), zero, infinity, turning, waves, fast)


def _ending(expr: sympy.Expr) -> tuple[tuple[Wave, ...], PowerTerms, dict[sympy.Expr, Term]]:
    """Waves and ending of a formula; none of either kind where it is only seen to decay fast."""
    try:
        waves = read_waves(expr)
        return (waves, *oscillation(expr)) if waves else ((), expansion_of(expr, sympy.oo), {})
    except NoRouteError:
        # What is not known of an ending does not matter where every power has long gone.
        if decays_fast(expr):
            return (), (), {}
        raise


def decays_fast(expr: sympy.Expr) -> bool:
    """Whether values on the half-line fall faster than every power of interest."""
    try:
        return plane(expr).decays_fast
    except FormulaError:
        return False


@lru_cache(maxsize=64)
def plane(expr: sympy.Expr) -> AnalyticRegion:
    """The kernel on rays, which every dimension shares."""
    return AnalyticRegion(expr)


@lru_cache(maxsize=4)
def wave_sums(found: Expanded, dim: int) -> WaveSums:
    """The density of a kernel with waves, which both sides of each frequency share."""
    return WaveSums(plane(found.expr), found.waves, dim)

"""What every dimension needs of a formula on the half-line: its ends, and its continuation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy

from spectra.errors import FormulaError, NoRouteError
from spectra.formula.at_zero import value_at_zero
from spectra.formula.pieces import Piece
from spectra.kernel import Kernel
from spectra.singularity.local import profile
from spectra.transform.half_lines.ends import Expansion, expansion_of, stable_value
from spectra.transform.half_lines.quarter_plane import QuarterPlane, quarter_plane
from spectra.transform.half_lines.waves import Turning, Wave, oscillation, read_waves
from spectra.transform.rays.plane import Plane

__all__ = ["Expanded", "continued", "decays_fast", "expanded", "plane"]

# Values in doubles are held to those of many digits up to these distances.
_WAVES_SEEN, _FARTHEST = 1e2, 1e12


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
    turning : tuple of Turning
        The waves that decay like powers.
    waves : tuple of Wave
        All waves.
    decays_fast : bool
        Whether it decays faster than every power.
    """

    expr: sympy.Expr
    limit: sympy.Expr
    total: float
    zero: Expansion
    infinity: Expansion
    turning: tuple[Turning, ...]
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
    limit = next((c for a, q, c in infinity.terms if a == 0 and q == 0), sympy.Integer(0))
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in infinity.terms):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    if limit != 0:
        smooth = smooth - limit
        waves, infinity, turning = _ending(smooth)
    zero = expansion_of(smooth, sympy.Integer(0))
    at_zero = value_at_zero(smooth)
    if at_zero is None:
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that could be found.")
    fast = not infinity.terms and not turning
    ends = {float(t.frequency): t.terms for t in turning} | {0.0: infinity.terms}
    waves = tuple(wave.with_end(ends.get(wave.frequency, ())) for wave in waves)
    return Expanded(smooth, limit, float(at_zero), zero, infinity, turning, waves, fast)


def _ending(expr: sympy.Expr) -> tuple[tuple[Wave, ...], Expansion, tuple[Turning, ...]]:
    """Waves and ending of a formula; none of either kind where it is only seen to decay fast."""
    try:
        waves = read_waves(expr)
        return (waves, *oscillation(expr)) if waves else ((), expansion_of(expr, sympy.oo), ())
    except NoRouteError:
        # What is not known of an ending does not matter where every power has long gone.
        if decays_fast(expr):
            return (), Expansion((), 0.0), ()
        raise


def decays_fast(expr: sympy.Expr) -> bool:
    """Whether values on the half-line fall faster than every power of interest."""
    try:
        return bool(np.isfinite(plane(expr).reach.end))
    except FormulaError:
        return False


@lru_cache(maxsize=64)
def plane(expr: sympy.Expr) -> Plane:
    """The kernel on rays, which every dimension shares."""
    return Plane(expr)


@lru_cache(maxsize=64)
def continued(expr: sympy.Expr) -> QuarterPlane:
    """The continuation of a formula, for paths.

    Raises
    ------
    NoRouteError
        Where there is none.
    """
    found = expanded(expr)
    smooth, waves = found.expr, found.waves
    # Far out the waves of a kernel have lost their phase in doubles, and are not looked at.
    known = Expansion((), 0.0) if waves else found.infinity
    fastest = max((wave.frequency for wave in waves), default=0.0)
    seen = min(_WAVES_SEEN / fastest, _FARTHEST) if fastest > 0.0 else _FARTHEST
    value = stable_value(smooth, found.zero, known, farthest=seen)
    try:
        return quarter_plane(smooth, value, found.zero, decays_fast=found.decays_fast, waves=waves)
    except FormulaError as error:
        raise NoRouteError(
            f"The formula {expr} cannot be continued from the half-line into the plane: {error}. "
            "The numeric route integrates along paths in the plane. Write it in elementary and "
            "Bessel functions, give its values as a callable (docs/callables.md), or design a "
            "finite measure for your range of distances (design)."
        ) from error

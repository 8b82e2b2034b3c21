"""What every dimension needs of a formula on the half-line: its ends, and its continuation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy

from spectra.errors import FormulaError, NoRouteError
from spectra.formula.at_zero import value_at_zero
from spectra.formula.parsing import Z
from spectra.kernel import Kernel, Piece
from spectra.singularity.local import profile
from spectra.transform.half_lines.continuation import Continuation, continuation
from spectra.transform.half_lines.ends import Expansion, expansion_of, stable_value
from spectra.transform.half_lines.waves import Turning, oscillation, read_waves

__all__ = ["Prepared", "prepared"]

# Values in doubles are held to those of many digits up to these distances.
_WAVES_SEEN, _FARTHEST = 1e2, 1e12


@dataclass(frozen=True, eq=False)
class Prepared:
    """What every dimension needs of a formula."""

    expr: sympy.Expr
    limit: sympy.Expr
    total: float
    zero: Expansion
    infinity: Expansion
    turning: tuple[Turning, ...]
    kernel: Continuation


@lru_cache(maxsize=64)
def prepared(expr: sympy.Expr) -> Prepared:
    """The ends and the continuation of a formula in Z on the whole half-line.

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
    waves = read_waves(smooth)
    infinity, turning = oscillation(smooth) if waves else (expansion_of(smooth, sympy.oo), ())
    limit = next((c for a, q, c in infinity.terms if a == 0 and q == 0), sympy.Integer(0))
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in infinity.terms):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    if limit != 0:
        smooth = smooth - limit
        waves = read_waves(smooth)
        infinity, turning = oscillation(smooth) if waves else (expansion_of(smooth, sympy.oo), ())
    zero = expansion_of(smooth, sympy.Integer(0))
    at_zero = value_at_zero(smooth, Z)
    if at_zero is None:
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that could be found.")
    ends = {float(t.frequency): t.terms for t in turning} | {0.0: infinity.terms}
    waves = tuple(wave.with_end(ends.get(wave.frequency, ())) for wave in waves)
    # Far out the waves of a kernel have lost their phase in doubles, and are not looked at.
    known = Expansion((), 0.0) if waves else infinity
    fastest = max((wave.frequency for wave in waves), default=0.0)
    seen = min(_WAVES_SEEN / fastest, _FARTHEST) if fastest > 0.0 else _FARTHEST
    value = stable_value(smooth, zero, known, farthest=seen)
    decays_fast = not infinity.terms and not turning
    try:
        kernel = continuation(smooth, value, zero, decays_fast=decays_fast, waves=waves)
    except FormulaError as error:
        raise NoRouteError(
            f"The formula {expr} cannot be continued from the half-line into the plane: {error}. "
            "The numeric route integrates along paths in the plane. Write it in elementary and "
            "Bessel functions, give its values as a callable (docs/callables.md), or design a "
            "finite measure for your range of distances (design)."
        ) from error
    return Prepared(smooth, limit, float(at_zero), zero, infinity, turning, kernel)

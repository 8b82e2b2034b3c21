"""What a formula on the half-line does at zero and at infinity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy

from spectra.density.half_line.ends.power_terms import PowerTerms, Term, expansion_of
from spectra.density.half_line.ends.read_waves import oscillation, read_waves
from spectra.density.half_line.kernel_on_rays import kernel_on_rays
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import profile

__all__ = ["Ends", "ends_of"]

# A kernel that is below 2^-200 at three neighbours of these e-folds beyond its scale falls faster
# than powers.
_BEYOND, _NOTHING = np.arange(5.0, 9.0, 0.5), 200


@dataclass(frozen=True, eq=False)
class Ends:
    """A formula in Z without its limit at infinity, expanded at both ends.

    Attributes
    ----------
    limit : sympy number
        The limit that was taken away.
    total : float
        k(0) without it.
    zero, infinity : PowerTerms
        The expansions at the ends, without waves.
    turning : dict
        The waves that decay like powers: the leading term of each frequency.
    waves : dict
        The amplitude of each wave by its frequency, as :func:`.read_waves` gives them.
    """

    expr: sympy.Expr
    limit: sympy.Expr
    total: float
    zero: PowerTerms
    infinity: PowerTerms
    turning: dict[sympy.Expr, Term]
    waves: dict[sympy.Expr, sympy.Expr]

    @property
    def decay(self) -> float:
        """At infinity it falls like z^-decay without its waves; inf where faster than powers."""
        return next((float(a) for a, _, _ in self.infinity), np.inf)


@lru_cache(maxsize=64)
def ends_of(expr: sympy.Expr) -> Ends:
    """The ends of a formula in Z on the whole half-line."""
    radii, exprs, gaps = profile(Kernel((Piece(sympy.oo, expr),)))
    if gaps or radii:
        where = f"z = {radii[0]}" if radii else "a radius that was not located"
        raise NoRouteError(
            f"The formula {expr} changes at {where}: the numeric route on the half-line takes "
            "formulas that are analytic for z > 0. Write it as pieces with support=..., or design "
            "a finite measure for your range of distances."
        )
    smooth = exprs[0]
    waves, infinity, turning = _expand_at_infinity(smooth)
    limit = next((c for a, q, c in infinity if a == 0 and q == 0), sympy.Integer(0))
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in infinity):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    if limit != 0:
        smooth = smooth - limit
        waves, infinity, turning = _expand_at_infinity(smooth)
    at_zero = value_at_zero(smooth)
    if at_zero is None:
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that could be found.")
    zero = expansion_of(smooth, sympy.Integer(0))
    return Ends(smooth, limit, float(at_zero), zero, infinity, turning, waves)


def _expand_at_infinity(
    expr: sympy.Expr,
) -> tuple[dict[sympy.Expr, sympy.Expr], PowerTerms, dict[sympy.Expr, Term]]:
    """Waves and expansion at infinity; nothing of a formula that falls faster than powers."""
    try:
        waves = read_waves(expr)
        return (waves, *oscillation(expr)) if waves else ({}, expansion_of(expr, sympy.oo), {})
    except NoRouteError:
        if _falls_fast(expr):
            return {}, (), {}
        raise


def _falls_fast(expr: sympy.Expr) -> bool:
    """Whether values on the half-line fall below every power of interest."""
    try:
        kernel = kernel_on_rays(expr)
        sizes = [kernel.log_size(kernel.scale + s, 0.0, _NOTHING) for s in _BEYOND]
    except (FormulaError, NoRouteError):
        return False
    return any(max(three) == -np.inf for three in zip(sizes, sizes[1:], sizes[2:], strict=False))

"""A formula that is analytic for z > 0: values on rays, and what it does at both ends."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import ceil

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, working_precision
from spectra.density.half_line.ends.power_terms import PowerTerms, Term, expansion_of
from spectra.density.half_line.ends.read_waves import oscillation, read_waves
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.evaluation.ball_function import BallFunction, analytic_continuation
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analytic_intervals

__all__ = ["HalfLineFormula", "split_limit"]

# Working bits are multiples of this, so that few programs of a formula are made.
_BITS_STEP = 64
# The argument has this many bits more than the value.
_SPARE = 16
_MOST_DOUBLINGS = 6
# The scale is one of these log z.
_SURVEY = np.arange(-60.0, 60.0, 0.25)
# A kernel that is below 2^-200 at three consecutive ones of these log z, counted from its scale,
# falls faster than powers.
_BEYOND, _NOTHING = np.arange(5.0, 9.0, 0.5), 200


class HalfLineFormula:
    """A formula in Z: values at exp(s + i angle), continued from the half-line, and expansions."""

    def __init__(self, expr: sympy.Expr) -> None:
        self.expr = expr

    @cached_property
    def _continued(self) -> BallFunction:
        return analytic_continuation(self.expr, Z)

    def value(self, s: float, angle: float, unit: int) -> Ball:
        """The value with an error below 2^-unit, or a ball that is not finite."""
        bits = _round_up(max(unit, 0) + 40)
        for _ in range(_MOST_DOUBLINGS):
            with working_precision(bits + _SPARE):
                z = flint.acb(flint.arb(s), flint.arb(angle)).exp()
            value = self._continued.at_precision(z, bits)
            if (
                value.is_finite()
                and max(value.real.rad(), value.imag.rad()) < flint.arb(2) ** -unit
            ):
                return value
            bits *= 2
        return flint.acb("nan")

    def is_finite_on(self, s: float, ds: float, angle: float, da: float) -> bool:
        """Whether values are finite on a box of points: then no pole lies in it."""
        with working_precision(_BITS_STEP):
            z = flint.acb(flint.arb(s, ds), flint.arb(angle, da)).exp()
        return bool(self._continued.at_precision(z, _BITS_STEP).is_finite())

    def log_size(self, s: float, angle: float, floor: int = 60) -> float:
        """About log|k|: -inf if it is below 2^-floor, inf if it is not known."""
        size = abs(self.value(s, angle, floor + 2))
        if not size.is_finite():
            return np.inf
        return -np.inf if size.mid() < flint.arb(2) ** -floor else float(size.mid().log())

    @cached_property
    def scale(self) -> float:
        """The largest log z at which |k| is within a factor e of its largest value."""
        sizes = np.empty(0)
        for s in _SURVEY:
            sizes = np.append(sizes, self.log_size(float(s), 0.0))
            if sizes[-1] == np.inf:
                raise NoRouteError(
                    f"The formula {self.expr} has no value near z = {np.exp(s):.4g}: the numeric "
                    "route needs a formula that is analytic for z > 0. Write it as pieces with "
                    "support=..., or design a finite measure for your range of distances (design)."
                )
            if sizes.max() > -np.inf == sizes[-4:].max():
                break
            if s > 0.0 and sizes[-40:].max() < sizes.max() - 1.0:
                break
        return float(_SURVEY[np.flatnonzero(sizes > sizes.max() - 1.0)[-1]])

    @cached_property
    def total(self) -> float:
        """The value at zero; nan if none is found."""
        found = value_at_zero(self.expr)
        return np.nan if found is None else float(found)

    @cached_property
    def zero(self) -> PowerTerms:
        """The expansion at zero."""
        return expansion_of(self.expr, sympy.Integer(0))

    @cached_property
    def infinity(self) -> tuple[PowerTerms, dict[sympy.Expr, Term], dict[sympy.Expr, sympy.Expr]]:
        """The expansion at infinity without waves, the leading terms and amplitudes of the waves.

        The terms are those of waves that decay like powers.  All three are empty for a formula that
        falls faster than powers.
        """
        try:
            waves = read_waves(self.expr)
            plain, slow = (
                oscillation(self.expr) if waves else (expansion_of(self.expr, sympy.oo), {})
            )
            return plain, slow, waves
        except NoRouteError:
            if self._falls_fast():
                return (), {}, {}
            raise

    @property
    def decay(self) -> float:
        """The formula without its waves falls like z^-decay; inf if faster than every power."""
        return next((float(a) for a, _, _ in self.infinity[0]), np.inf)

    @property
    def slow_waves(self) -> dict[sympy.Expr, Term]:
        """The leading term of each wave that decays like a power, by its frequency."""
        return self.infinity[1]

    @property
    def waves(self) -> dict[sympy.Expr, sympy.Expr]:
        """The amplitude of each wave by its frequency, as :func:`.read_waves` gives them."""
        return self.infinity[2]

    def _falls_fast(self) -> bool:
        """Whether values on the half-line fall below every power of interest."""
        try:
            sizes = [self.log_size(self.scale + s, 0.0, _NOTHING) for s in _BEYOND]
        except (FormulaError, NoRouteError):
            return False
        three = zip(sizes, sizes[1:], sizes[2:], strict=False)
        return any(max(sizes) == -np.inf for sizes in three)


def _round_up(bits: int) -> int:
    return _BITS_STEP * ceil(bits / _BITS_STEP)


@lru_cache(maxsize=64)
def split_limit(expr: sympy.Expr) -> tuple[sympy.Expr, HalfLineFormula]:
    """The limit of a formula at infinity, and the formula without it."""
    radii, exprs, gaps = analytic_intervals(Kernel((Piece(sympy.oo, expr),)))
    if gaps or radii:
        where = f"z = {radii[0]}" if radii else "a radius that was not located"
        raise NoRouteError(
            f"The formula {expr} changes at {where}: the numeric route on the half-line takes "
            "formulas that are analytic for z > 0. Write it as pieces with support=..., or design "
            "a finite measure for your range of distances."
        )
    formula = HalfLineFormula(exprs[0])
    terms = formula.infinity[0]
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in terms):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    limit = next((c for a, q, c in terms if a == 0 and q == 0), sympy.Integer(0))
    if limit != 0:
        formula = HalfLineFormula(formula.expr - limit)
    if np.isnan(formula.total):
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that could be found.")
    return limit, formula

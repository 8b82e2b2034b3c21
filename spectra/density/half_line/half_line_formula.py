"""A formula that is analytic for z > 0: its values on rays, and its expansions at both ends."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import ceil

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, working_precision
from spectra.density.half_line.power_terms import PowerTerms, Term, expand_in_powers
from spectra.density.half_line.read_waves import expand_waves, read_waves
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.ball_function import BallFunction, analytic_continuation
from spectra.formula.functions import singular_part
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analytic_intervals

__all__ = ["HalfLineFormula", "split_limit"]

# Working precisions are multiples of this number of bits: a formula is compiled once for each.
_BITS_STEP = 64
# The argument has this many bits more than the value.
_SPARE_BITS = 16
# How often a value is computed, each time with twice as many bits.
_MOST_TRIALS = 6
# The values of log z at which the scale is searched for.
_SURVEY = np.arange(-60.0, 60.0, 0.25)
# A kernel falls faster than powers if it is below 2^-200 at three neighbors among these values of
# log z - log_scale.
_FAR, _FAR_BITS = np.arange(5.0, 9.0, 0.5), 200


class HalfLineFormula:
    """A formula in Z that is continued analytically from the half-line."""

    def __init__(self, expr: sympy.Expr) -> None:
        self.expr = expr

    @cached_property
    def _continuation(self) -> BallFunction:
        return analytic_continuation(self.expr, Z)

    def value(self, s: float, angle: float, bits: int) -> Ball:
        """The value at exp(s + i angle) with an error below 2^-bits; nan if it is not found."""
        work = _BITS_STEP * ceil((max(bits, 0) + 40) / _BITS_STEP)
        for _ in range(_MOST_TRIALS):
            with working_precision(work + _SPARE_BITS):
                z = flint.acb(flint.arb(s), flint.arb(angle)).exp()
            value = self._continuation.at_precision(z, work)
            error = max(value.real.rad(), value.imag.rad())
            if value.is_finite() and error < flint.arb(2) ** -bits:
                return value
            work *= 2
        return flint.acb("nan")

    @cached_property
    def _singular_parts(self) -> list[BallFunction]:
        """Formulas that are infinite at the poles and branch points of this one."""
        nodes = sympy.preorder_traversal(self.expr)
        parts = {part for node in nodes if (part := singular_part(node)) is not None}
        return [analytic_continuation(part, Z) for part in parts if part.has(Z)]

    def is_analytic_on(self, s: float, half_s: float, angle: float, half_angle: float) -> bool:
        """Whether ball arithmetic proves that a box of s and angle has no pole or branch point."""
        with working_precision(_BITS_STEP):
            z = flint.acb(flint.arb(s, half_s), flint.arb(angle, half_angle)).exp()
        values = (part.at_precision(z, _BITS_STEP) for part in self._singular_parts)
        return all(value.is_finite() for value in values)

    def log_size(self, s: float, angle: float, bits: int = 60) -> float:
        """About log|k(exp(s + i angle))|: -inf if it is below 2^-bits, inf if it is not known."""
        size = abs(self.value(s, angle, bits + 2))
        if not size.is_finite():
            return np.inf
        return -np.inf if size.mid() < flint.arb(2) ** -bits else float(size.mid().log())

    @cached_property
    def log_scale(self) -> float:
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
            # Stop after four negligible values, or ten units of log z (40 values) of small ones.
            if sizes.max() > -np.inf and sizes[-4:].max() == -np.inf:
                break
            if s > 0.0 and sizes[-40:].max() < sizes.max() - 1.0:
                break
        if sizes.max() == -np.inf:
            raise NoRouteError(
                f"The formula {self.expr} is negligible at all distances where it was sampled: its "
                "parts are too narrow to be found. Make a finite measure for the distances in your "
                "data (design), or leave the narrow part out."
            )
        return float(_SURVEY[np.flatnonzero(sizes > sizes.max() - 1.0)[-1]])

    @cached_property
    def value_at_zero(self) -> float:
        """The value at zero; nan if none is found."""
        found = value_at_zero(self.expr)
        return np.nan if found is None else float(found)

    @cached_property
    def expansion_at_zero(self) -> PowerTerms:
        """The terms of the expansion at zero."""
        return expand_in_powers(self.expr, sympy.Integer(0))

    @cached_property
    def _infinity(self) -> tuple[PowerTerms, dict[sympy.Expr, Term], dict[sympy.Expr, sympy.Expr]]:
        """The expansion without waves, the slow waves, and all amplitudes."""
        try:
            amplitudes = read_waves(self.expr)
            if amplitudes:
                return *expand_waves(self.expr), amplitudes
            return expand_in_powers(self.expr, sympy.oo), {}, {}
        except NoRouteError:
            if self._falls_fast():
                return (), {}, {}
            raise

    @property
    def expansion_at_infinity(self) -> PowerTerms:
        """The terms at infinity that do not oscillate; () if k falls faster than powers."""
        return self._infinity[0]

    @property
    def decay(self) -> float:
        """The formula without its waves falls like z^-decay; inf if faster than every power."""
        return next((float(a) for a, _, _ in self.expansion_at_infinity), np.inf)

    @property
    def slow_waves(self) -> dict[sympy.Expr, Term]:
        """The leading term of each slow wave, by its frequency."""
        return self._infinity[1]

    @property
    def amplitudes(self) -> dict[sympy.Expr, sympy.Expr]:
        """The amplitude of each frequency; that of b = 0 is the part that does not oscillate."""
        return self._infinity[2]

    def _falls_fast(self) -> bool:
        """Whether the formula falls faster than every power, as far as its values show."""
        try:
            sizes = [self.log_size(self.log_scale + s, 0.0, _FAR_BITS) for s in _FAR]
        except (FormulaError, NoRouteError):
            return False
        three = zip(sizes, sizes[1:], sizes[2:], strict=False)
        return any(max(sizes) == -np.inf for sizes in three)


@lru_cache(maxsize=64)
def split_limit(expr: sympy.Expr) -> tuple[sympy.Expr, HalfLineFormula]:
    """The limit of a formula at infinity, and the formula without it."""
    radii, exprs, unknown = analytic_intervals(Kernel((Piece(sympy.oo, expr),)))
    if unknown or radii:
        where = f"z = {radii[0]}" if radii else "a radius that was not located"
        raise NoRouteError(
            f"The formula {expr} changes at {where}: the numeric route on the half-line takes "
            "formulas that are analytic for z > 0. Write it as pieces with support=..., or design "
            "a finite measure for your range of distances."
        )
    formula = HalfLineFormula(exprs[0])
    terms = formula.expansion_at_infinity
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in terms):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    limit = next((c for a, q, c in terms if a == 0 and q == 0), sympy.Integer(0))
    if limit != 0:
        formula = HalfLineFormula(formula.expr - limit)
    if np.isnan(formula.value_at_zero):
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that is known.")
    return limit, formula

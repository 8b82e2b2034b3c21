"""Closed pairs: kernels with the formulas of their densities.

A formula is split into summands, and a summand into a power, an exponential and other factors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from mpmath import mp

from spectra.base.accuracy import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Atom, Component, Evaluation
from spectra.formula.parsing import Z

__all__ = ["TAILS", "ClosedPair", "FamilyKernel", "Maker", "Reader", "Summand", "TermValues",
           "W", "canonical", "make_pair", "order_and_rate", "parse_summand", "polynomial",
           "positive_rate", "summands", "to_mpf"]  # fmt: skip

#: A kernel of a family: its parameters and its coefficient.
FamilyKernel = tuple[tuple[Any, ...], sympy.Expr]
#: The radial density is ``exp(log_front + sum(terms)) * factor``.  The members are terms, factor,
#: size of the factor (not small where it changes sign), and the number of roundings beyond those of
#: the terms.
TermValues = tuple[
    tuple[FloatArray, ...], FloatArray | float, FloatArray | float, FloatArray | float
]
#: The radius w = |omega|, the variable of the formulas.
W = sympy.Symbol("w", positive=True)
#: The probabilities of the quantiles that bound the bulk of a distribution.
TAILS = np.array([0.01, 0.99])
# Decimal digits of the constants.
_DIGITS = 50
# A term of the logarithm is rounded at most six times, by half a unit each.
_ROUNDING = 3.0 * EPS

# Larger powers of sums, and products with more summands, are not multiplied out.
_LARGEST_POWER = 64
_LARGEST_PRODUCT = 400


def summands(expr: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Multiply out a formula into summands, each with its exponentials and powers combined.

    Denominators stay as they are, unlike with sympy's ``expand``.

    Examples
    --------
    >>> summands(sympy.exp(-Z**2) * (1 - 2 * Z**2) ** 2)
    (exp(-z**2), -4*z**2*exp(-z**2), 4*z**4*exp(-z**2))
    """
    if not expr.has(sympy.sin, sympy.cos):
        expr = expr.rewrite([sympy.cosh, sympy.sinh], sympy.exp)
    collected: dict[sympy.Expr, sympy.Expr] = {}
    for term in _multiply_out(expr):
        coefficient, rest = sympy.powsimp(term, combine="exp").as_independent(Z, as_Add=False)
        collected[rest] = collected.get(rest, sympy.Integer(0)) + coefficient
    return tuple(c * rest for rest, c in collected.items() if canonical(c) != 0)


def _multiply_out(expr: sympy.Expr) -> list[sympy.Expr]:
    """The summands of a formula; a product or power that is too long stays one summand."""
    if expr.is_Add:
        return [t for argument in expr.args for t in _multiply_out(argument)]
    terms = [sympy.Integer(1)]
    if expr.is_Mul:
        for factor in expr.args:
            factor_terms = _multiply_out(factor)
            if len(terms) * len(factor_terms) > _LARGEST_PRODUCT:
                return [expr]
            terms = [a * b for a in terms for b in factor_terms]
        return terms
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= _LARGEST_POWER:
        base = _multiply_out(expr.base)
        if len(base) > 1:
            expanded = sympy.expand_multinomial(sympy.Add(*base) ** expr.exp)
            terms = list(sympy.Add.make_args(expanded))
            return terms if len(terms) <= _LARGEST_PRODUCT else [expr]
    return [expr]


def canonical(number: sympy.Expr) -> sympy.Expr:
    """A canonical form of an exact number or polynomial in z: equal numbers compare equal."""
    if number.has(Z):
        terms = sympy.Poly(number, Z).terms()
        return sympy.Add(*(canonical(c) * Z**power for (power,), c in terms))
    if number.has(sympy.I):
        return sympy.expand(sympy.radsimp(number))
    return sympy.simplify(number) if number.has(sympy.Add) else number


def to_mpf(value: Any) -> Any:
    """An exact number at mpmath's working precision."""
    return mp.mpf(sympy.sympify(value, strict=True).evalf(mp.dps + 5))


@dataclass(frozen=True)
class Summand:
    """coefficient * z^power * exp(-linear z - quadratic z^2) * product of ``factors``."""

    coefficient: sympy.Expr
    power: sympy.Expr
    linear: sympy.Expr
    quadratic: sympy.Expr
    factors: tuple[sympy.Expr, ...]

    @property
    def single_factor(self) -> sympy.Expr | None:
        """The factor, if there is one factor and no exponential."""
        alone = len(self.factors) == 1 and self.linear == 0 and self.quadratic == 0
        return self.factors[0] if alone else None


def parse_summand(term: sympy.Expr) -> Summand:
    """Split a summand into the parts of a :class:`Summand`.

    Examples
    --------
    >>> parse_summand(3 * Z**2 * sympy.exp(-Z / 2) * sympy.cos(Z))
    Summand(coefficient=3, power=2, linear=1/2, quadratic=0, factors=(cos(z),))
    """
    coefficient, rest = term.as_independent(Z, as_Add=False)
    power = linear = quadratic = sympy.Integer(0)
    factors = []
    for factor in sympy.Mul.make_args(rest):
        base, exponent = factor.as_base_exp()
        if factor == 1:
            continue
        if base == Z and not exponent.has(Z):
            power += exponent
            continue
        # A power such as exp(...) or 2**(-z).
        poly = polynomial(exponent) if base.is_number and base.is_positive else None
        if poly is None or poly.degree() > 2:
            factors.append(factor)
            continue
        coefficient *= base ** poly.coeff_monomial(1)
        linear -= sympy.log(base) * poly.coeff_monomial(Z)
        quadratic -= sympy.log(base) * poly.coeff_monomial(Z**2)
    return Summand(coefficient, power, linear, quadratic, tuple(factors))


def polynomial(expr: sympy.Expr) -> sympy.Poly | None:
    """A formula as a polynomial in z, or None."""
    return sympy.Poly(expr, Z, extension=None) if expr.is_polynomial(Z) else None


def order_and_rate(
    factor: sympy.Expr | None, bessel: type[sympy.Expr]
) -> tuple[sympy.Expr, sympy.Expr] | None:
    """Order nu and positive rate a of a Bessel function ``bessel(nu, a z)``, or None."""
    if not isinstance(factor, bessel):
        return None
    order, argument = factor.args
    rate = positive_rate(argument)
    return None if rate is None or not order.is_real else (order, rate)


def positive_rate(argument: sympy.Expr) -> sympy.Expr | None:
    """The a > 0 of an argument a z, or None."""
    rate = sympy.cancel(argument / Z)
    return None if rate.has(Z) or not rate.is_positive else rate


#: Writes a summand as a sum of kernels of a family on R^dim; None if that is impossible.
Reader = Callable[[Summand, int], list[FamilyKernel] | None]
#: Makes the density from (dim, *parameters, coefficient); a NoRouteError if it is not a measure.
Maker = Callable[..., "ClosedPair | Atom"]


def make_pair(make: Maker, dim: int, *arguments: Any) -> ClosedPair | Atom:
    """The result of a maker, with constants of 50 digits."""
    with mp.workdps(_DIGITS):
        return make(dim, *arguments)


@dataclass(frozen=True, eq=False)
class ClosedPair(Component):
    """The density on R^dim of a kernel of a family.

    At d = 1000 terms such as log Gamma(d/2) and d log w cancel.  So ``log_front`` is computed with
    50 digits, and ``values`` uses terms that are small in the bulk.  The coefficient is exact: a
    polynomial in z for a Gaussian, a complex number for a Matern kernel times a cosine.
    """

    family: Maker
    dim: int
    parameters: tuple[Any, ...]
    coefficient: sympy.Expr
    #: The density mu(w) on R^dim as an expression in ``w``.
    formula: sympy.Expr
    log_front: float
    values: Callable[[FloatArray], TermValues]
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float = np.inf
    breaks: tuple[tuple[float, float], ...] = ()
    end: float = np.inf
    has_one_sign: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return make_pair, (self.family, self.dim, *self.parameters, self.coefficient)

    @property
    def exact_total(self) -> sympy.Expr:
        """The integral of the radial density, which is k(0), as an exact number."""
        return sympy.re(self.coefficient.subs(Z, 0))

    @property
    def total(self) -> float:  # type: ignore[override]
        """The integral of the radial density, rounded."""
        return float(self.exact_total)

    def evaluate(self, w: FloatArray) -> Evaluation:
        """As for :class:`RadialFunction`; the errors are estimates of rounding."""
        with np.errstate(over="ignore", divide="ignore"):
            terms, factor, size, roundings = self.values(np.asarray(w, dtype=float))
            log = np.asarray(self.log_front + sum(terms))
            count = 1.0 + abs(self.log_front) + sum(np.abs(t) for t in terms) + roundings
            # If the logarithm is -inf, the density is 0 and so is its error.
            error = _ROUNDING * np.where(np.isfinite(log), count, 1.0)
            sign = np.sign(factor) * np.ones_like(log)
            return sign, log + np.log(np.abs(factor)), log + np.log(size), error

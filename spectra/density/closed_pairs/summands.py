"""Split a formula into summands, and a summand into a power, an exponential and other factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy
from mpmath import mp

from spectra.formula.parsing import Z

__all__ = [
    "Summand",
    "canonical",
    "order_and_rate",
    "parse_summand",
    "polynomial",
    "positive_rate",
    "summands",
    "to_mpf",
]

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

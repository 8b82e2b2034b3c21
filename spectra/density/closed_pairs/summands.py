"""What a formula is a sum of: summands, each a power and an exponential times other factors.

And its numbers: in one form, and to many digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import sympy

from spectra.formula.reader.parsing import Z

__all__ = [
    "LARGEST_POWER",
    "Summand",
    "polynomial",
    "positive_rate",
    "read",
    "scaled_argument",
    "summands",
    "tidy",
    "to_mpf",
]

#: Larger powers of sums are left as they are: a kernel with that many summands is no known pair.
LARGEST_POWER = 64
_LARGEST_PRODUCT = 400

_ONE = sympy.Integer(1)


def summands(expr: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Multiply out a formula into summands, each with its exponentials and powers combined.

    Denominators stay as they are: sympy's ``expand`` would turn (1 + z^2)^-2 into
    1/(z^4 + 2 z^2 + 1), which hides the family.

    Examples
    --------
    >>> summands(sympy.exp(-Z**2) * (1 - 2 * Z**2) ** 2)
    (exp(-z**2), -4*z**2*exp(-z**2), 4*z**4*exp(-z**2))
    """
    trigonometric = expr.has(sympy.sin, sympy.cos)
    plain = expr if trigonometric else expr.rewrite([sympy.cosh, sympy.sinh], sympy.exp)
    collected: dict[sympy.Expr, sympy.Expr] = {}
    for term in _multiplied_out(plain):
        coefficient, rest = sympy.powsimp(term, combine="exp").as_independent(Z, as_Add=False)
        collected[rest] = collected.get(rest, sympy.Integer(0)) + coefficient
    return tuple(c * rest for rest, c in collected.items() if tidy(c) != 0)


def tidy(number: sympy.Expr) -> sympy.Expr:
    """One form for equal numbers, so that like summands meet and cancellations are exact."""
    return sympy.simplify(number) if number.has(sympy.Add) else number


def to_mpf(value: Any) -> Any:
    """The exact number ``value`` (of sympy, Python or mpmath) at mpmath's working precision."""
    if isinstance(value, mpmath.mpf):
        return +value
    if isinstance(value, int | Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    if value.is_Rational:
        return mpmath.mpf(int(value.p)) / int(value.q)
    return mpmath.mpf(value.evalf(mpmath.mp.dps + 5))


def _multiplied_out(expr: sympy.Expr) -> list[sympy.Expr]:
    if expr.is_Add:
        return [t for argument in expr.args for t in _multiplied_out(argument)]
    if expr.is_Mul:
        terms = [_ONE]
        for factor in expr.args:
            parts = _multiplied_out(factor)
            if len(terms) * len(parts) > _LARGEST_PRODUCT:
                return [expr]
            terms = [a * b for a in terms for b in parts]
        return terms
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= LARGEST_POWER:
        base = _multiplied_out(expr.base)
        if len(base) > 1:
            expanded = sympy.expand_multinomial(sympy.Add(*base) ** expr.exp)
            terms = list(sympy.Add.make_args(expanded))
            return terms if len(terms) <= _LARGEST_PRODUCT else [expr]
    return [expr]


@dataclass(frozen=True)
class Summand:
    """coefficient * z^power * exp(-linear z - quadratic z^2) * the product of ``factors``."""

    coefficient: sympy.Expr
    power: sympy.Expr
    linear: sympy.Expr
    quadratic: sympy.Expr
    factors: tuple[sympy.Expr, ...]

    @property
    def even_power(self) -> int | None:
        """j of a power z^(2j), j = 0, 1, ...; None for any other."""
        p = self.power
        return int(p) // 2 if p.is_Integer and p >= 0 and p % 2 == 0 else None

    @property
    def lone_factor(self) -> sympy.Expr | None:
        """The factor of a power times one factor; None where there is an exponential, or more."""
        alone = len(self.factors) == 1 and self.linear == 0 and self.quadratic == 0
        return self.factors[0] if alone else None


def read(term: sympy.Expr) -> Summand:
    """A summand in its parts.

    Examples
    --------
    >>> read(3 * Z**2 * sympy.exp(-Z / 2) * sympy.cos(Z))
    Summand(coefficient=3, power=2, linear=1/2, quadratic=0, factors=(cos(z),))
    """
    coefficient, rest = term.as_independent(Z, as_Add=False)
    power = linear = quadratic = sympy.Integer(0)
    factors = []
    for factor in sympy.Mul.make_args(rest):
        base, exponent = factor.as_base_exp()
        if factor == 1:
            continue
        if base == Z and exponent.is_number:
            power += exponent
            continue
        # E**(...) and 2**(-z) alike
        poly = polynomial(exponent) if base.is_number and base.is_positive else None
        if poly is None or poly.degree() > 2:
            factors.append(factor)
            continue
        coefficient *= base ** poly.coeff_monomial(1)
        linear -= sympy.log(base) * poly.coeff_monomial(Z)
        quadratic -= sympy.log(base) * poly.coeff_monomial(Z**2)
    return Summand(coefficient, power, linear, quadratic, tuple(factors))


def polynomial(expr: sympy.Expr) -> sympy.Poly | None:
    """A formula as a polynomial in z; None where it is none."""
    if not expr.is_polynomial(Z):
        return None
    return sympy.Poly(expr, Z, extension=None)


def scaled_argument(
    factor: sympy.Expr, head: type[sympy.Expr]
) -> tuple[sympy.Expr, sympy.Expr] | None:
    """Order nu and positive rate a of ``head(nu, a z)``."""
    if not isinstance(factor, head):
        return None
    order, argument = factor.args
    rate = positive_rate(argument)
    return None if rate is None or not order.is_real else (order, rate)


def positive_rate(argument: sympy.Expr) -> sympy.Expr | None:
    """a > 0 of an argument a z; None for any other."""
    rate = sympy.cancel(argument / Z)
    return None if rate.has(Z) or not rate.is_positive else rate

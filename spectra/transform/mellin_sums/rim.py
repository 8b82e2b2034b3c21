r"""Powers on the unit ball: x^a (1 - x)^b and x^a (1 - x^2)^b with rational exponents.

Their moments are Beta functions, their expansions binomial series, all of them exact:

.. math:: \int_0^1 x^{s-1+a}(1-x)^b dx = B(s+a, b+1), \qquad
          (1-x)^b = (\tau/2)^b\,{}_2F_1(b/2, (b+1)/2; b+1; \tau), \quad \tau = 1 - x^2 .

The second one is DLMF 15.4.18.  Askey's truncated powers of any order are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any

import mpmath
import sympy

from spectra.formula.parsing import Z
from spectra.transform.lookup import summands
from spectra.transform.mellin_sums.mellin import GammaProduct
from spectra.transform.on_balls.ball import to_mpf

__all__ = ["RimForm", "RimTerm", "rim_form"]

_ONE = sympy.Integer(1)
# Larger exponents make set-ups of seconds, and kernels so flat are better rescaled Gaussians.
_LARGEST_EXPONENT = 64
_SEARCHED = 64


@dataclass(frozen=True)
class RimTerm:
    """coefficient * x^power * (1 - x^order)^edge, order 1 or 2."""

    coefficient: sympy.Expr
    power: sympy.Rational
    edge: sympy.Rational
    order: int

    def moments(self, dim: int, bits: int) -> Iterator[int]:
        """Integrals of x^(dim-1+2n) times the term without its coefficient, times 2^bits."""
        start = dim + self.power
        whole = sympy.ilcm(start.q, self.edge.q)
        x, y = int(start * whole), int((self.edge + 1) * whole)
        with mpmath.workprec(bits + 32):
            a, b = mpmath.mpf(x) / int(whole), mpmath.mpf(y) / int(whole)
            first = mpmath.beta(a / self.order, b) / self.order
            value = int(mpmath.floor(mpmath.ldexp(first, bits)))
        q = int(whole)
        while True:
            yield value
            if self.order == 2:
                value = value * x // (x + 2 * y)
            else:
                value = value * (x * (x + q)) // ((x + y) * (x + y + q))
            x += 2 * q

    def at_edge(self, length: int, number: Callable[[sympy.Expr], Any]) -> list[Any]:
        """Coefficients of tau^(edge + j)."""
        p, q = int(self.power.p), int(self.power.q)
        powers = _ratios(
            number(self.coefficient), length, lambda j: (2 * q * j - p, 2 * q * j + 2 * q)
        )
        if self.order == 2 or self.edge == 0:
            return powers
        p, q = int(self.edge.p), int(self.edge.q)
        rim = _ratios(
            number(2 ** (-self.edge)),
            length,
            lambda j: ((p + 2 * q * j) * (p + q + 2 * q * j), 4 * q * (j + 1) * (p + q + q * j)),
        )
        return [
            sum((rim[i] * powers[j - i] for i in range(1, j + 1)), rim[0] * powers[j])
            for j in range(length)
        ]

    def at_origin(self, stop: int) -> Iterator[tuple[sympy.Rational, sympy.Expr]]:
        """Powers below ``stop`` and their coefficients."""
        power, c = self.power, self.coefficient
        for j in count():
            if power >= stop or c == 0:
                return
            yield power, c
            c = c * (j - self.edge) / (j + 1)
            power += self.order


def _ratios(first: Any, length: int, ratio: Callable[[int], tuple[int, int]]) -> list[Any]:
    """A series from its first coefficient and the ratios of neighbours."""
    series = [first]
    for j in range(length - 1):
        top, bottom = ratio(j)
        series.append(series[-1] * top / bottom)
    return series


@dataclass(frozen=True)
class RimForm:
    """A sum of terms on the ball z <= radius, in x = z / radius.

    It has the attributes of :class:`.ball.RadialForm`.

    Examples
    --------
    >>> form = rim_form((1 - Z) ** sympy.Rational(3, 2), sympy.Integer(1))
    >>> form.edge_exponents, form.value_at_zero
    ((3/2,), 1)
    >>> form.odd_origin_terms(2)
    [(1, -3/2), (3, 1/16)]
    """

    radius: sympy.Expr
    terms: tuple[RimTerm, ...]

    #: The expansion of (1 - x)^b in 1 - x^2 does not end.
    has_finite_edge = False

    @property
    def value_at_zero(self) -> sympy.Expr:
        """The value at z = 0, exactly."""
        return sympy.Add(*(t.coefficient for t in self.terms if t.power == 0))

    @property
    def has_finite_origin(self) -> bool:
        """Whether the expansion at the origin ends."""
        return all(t.edge.is_Integer for t in self.terms)

    def gamma_products(self) -> list[GammaProduct]:
        """The Mellin transforms of the terms: Beta functions."""
        found = []
        for t in self.terms:
            a, rim, slope = t.power / t.order, t.edge + 1, sympy.Rational(1, t.order)
            found.append(
                GammaProduct(
                    t.coefficient * sympy.gamma(rim) / t.order,
                    1 / self.radius,
                    ((a, slope),),
                    ((a + rim, slope),),
                )
            )
        return found

    def moments(self, dim: int, bits: int) -> Iterator[tuple[int, int]]:
        """Integrals of x^(dim-1+2n) times the form, and their errors, times 2^bits."""
        with mpmath.workprec(bits + 32):
            streams = [
                (int(mpmath.floor(mpmath.ldexp(to_mpf(t.coefficient), bits))), t.moments(dim, bits))
                for t in self.terms
            ]
        for n in count():
            value = error = 0
            for c, stream in streams:
                value += c * next(stream)
                error += (abs(c) >> bits) + 2
            # Each step rounds down once, and its multiplier is below one.
            yield value >> bits, error * (n + 3)

    @cached_property
    def edge_exponents(self) -> tuple[sympy.Rational, ...]:
        """Leading exponents of 1 - x^2 at the edge, one for each class modulo 1, sorted."""
        found = []
        for power in {t.edge - sympy.floor(t.edge) for t in self.terms}:
            length = 4
            while length <= _SEARCHED:
                series = self.edge_series(power, length, lambda c: c)
                first = next((j for j, c in enumerate(series) if not _is_zero(c)), None)
                if first is not None:
                    found.append(power + first)
                    break
                length *= 4
        return tuple(sorted(found))

    def edge_series(
        self, power: sympy.Expr, length: int, number: Callable[[sympy.Expr], Any]
    ) -> list[Any]:
        """Coefficients of (1 - x^2)^(power + j); ``power`` in [0, 1)."""
        total = [number(sympy.Integer(0))] * length
        for t in self.terms:
            shift = t.edge - power
            if shift.is_Integer and shift < length:
                k = int(shift)
                for j, c in enumerate(t.at_edge(length - k, number)):
                    total[k + j] = total[k + j] + c
        return total

    def odd_origin_terms(self, length: int) -> list[tuple[int | Fraction, sympy.Expr]]:
        """The powers x^m at the origin that are no even integers, sorted."""
        terms: dict[sympy.Rational, sympy.Expr] = {}
        stop = 2 * length
        if self.has_finite_origin:
            stop = max(stop, *(int(t.power + t.order * t.edge) + 2 for t in self.terms))
        for t in self.terms:
            for m, c in t.at_origin(stop):
                if not (m.is_Integer and m % 2 == 0):
                    terms[m] = terms.get(m, sympy.Integer(0)) + c
        return [
            (int(m) if m.is_Integer else Fraction(int(m.p), int(m.q)), c)
            for m, c in sorted(terms.items())
            if not _is_zero(c)
        ]


def rim_form(expr: sympy.Expr, support: sympy.Expr) -> RimForm | None:
    """Read a formula in Z on z <= support, or return None where it is of another class.

    Examples
    --------
    >>> rim_form(sympy.sqrt(Z) * (1 - Z**2 / 4), sympy.Integer(2)).edge_exponents
    (1,)
    >>> rim_form(sympy.exp(-Z), sympy.Integer(1)) is None
    True
    """
    if not support.is_finite or expr.free_symbols - {Z}:
        return None
    terms = []
    for summand in summands(expr.subs(Z, support * Z)):
        term = _term(summand)
        if term is None:
            return None
        terms.append(term)
    form = RimForm(support, tuple(terms))
    return form if terms and form.edge_exponents else None


def _term(summand: sympy.Expr) -> RimTerm | None:
    coefficient, rest = summand.as_independent(Z, as_Add=False)
    power, edge, order = sympy.Integer(0), sympy.Integer(0), 2
    for factor in sympy.Mul.make_args(rest):
        base, exponent = factor.as_base_exp()
        if factor == 1:
            continue
        if not exponent.is_Rational:
            return None
        if base == Z:
            power += exponent
            continue
        if not base.is_polynomial(Z) or edge != 0:
            return None
        poly = sympy.Poly(base, Z)
        scale = poly.coeff_monomial(1)
        if poly.degree() not in (1, 2) or not scale.is_positive:
            return None
        order, edge = poly.degree(), exponent
        if sympy.simplify(base / scale - (1 - Z**order)) != 0:
            return None
        coefficient *= scale**exponent
    if power < 0 or edge < 0 or max(power, edge) > _LARGEST_EXPONENT or not coefficient.is_real:
        return None
    return RimTerm(coefficient, sympy.Rational(power), sympy.Rational(edge), int(order))


def _is_zero(value: sympy.Expr) -> bool:
    value = sympy.expand(value)
    if value.is_Rational:
        return bool(value == 0)
    # A number this small is zero or a coincidence, which only a proof can tell apart.
    return abs(value.evalf(40)) < sympy.Float("1e-30") and value.equals(0) is True

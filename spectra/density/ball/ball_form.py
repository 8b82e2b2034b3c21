r"""Formulas on the unit ball: their moments, and their expansions at the edge and at the origin.

With x = z / R a piece becomes a formula on 0 <= x <= 1.  The ones known here are the sums of

.. math:: c\,x^{m+s} (1 - x^2)^p, \qquad c\,x^{m+s} (1 - x)^p \qquad\text{and}\qquad
          c\,x^m \int_0^x (1 - t^2)^p dt

with rational s and p.  They contain every polynomial in z (spherical, Wendland), the powers of
Askey and of Bochner and Riesz of any order, the superspherical models, and the arc-cosine family
with the NTK, whose edge is at R = 2 and whose arcsine is the integral of p = -1/2.  Their moments
are Beta functions, their expansions binomial series, all of them exact:

.. math:: \int_0^1 x^{a-1}(1-x)^p dx = B(a, p+1), \qquad
          (1-x)^p = (\tau/2)^p\,{}_2F_1(p/2, (p+1)/2; p+1; \tau), \quad \tau = 1 - x^2 .

The second one is DLMF 15.4.18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.formula.evaluation.ball_function import number as in_ball

__all__ = [
    "MAX_DEGREE",
    "BallForm",
    "Factor",
    "Monomials",
    "to_ball",
]

# A polynomial: pairs of a power of x and its exact coefficient.
Monomials = tuple[tuple[int, sympy.Expr], ...]

# Beyond this degree the set-up would take seconds, and a kernel as flat is better treated
# numerically.
MAX_DEGREE = 256
# Bits with which polynomials and sums of their coefficients are exact, and those of a zero.
_EXACT, _SPARE, _ZERO_BITS = 8192, 128, 1000
_ZERO, _HALF = sympy.Integer(0), sympy.Rational(1, 2)


def to_ball(value: Any) -> Ball:
    """The exact number ``value`` (of sympy, Python or Arb) in a ball of Arb's working precision."""
    if isinstance(value, flint.arb):
        return value
    if isinstance(value, int | Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return in_ball(value).real


def _betas(power: sympy.Rational, order: int, start: sympy.Rational) -> Iterator[Ball]:
    """Values of B(a/order, power + 1)/order for a = start, start + 1, ..."""
    whole = int(sympy.ilcm(start.q, power.q))
    at, edge = int(start * whole), int((power + 1) * whole)
    window = []
    for i in range(order):
        x, y = to_ball(Fraction(at + i * whole, order * whole)), to_ball(Fraction(edge, whole))
        window.append(x.gamma() * y.gamma() * (x + y).rgamma() / order)
    for a in count(at, whole):
        value, *window = window
        yield value
        window.append(value * a / (a + order * edge))


@dataclass(frozen=True)
class Factor:
    """What multiplies a power of x: x^shift (1 - x^order)^power, or its integral from 0.

    With 0 <= shift < 1, order 1 or 2.  For order 2 the power is below 1, for order 1 it is 0 or no
    integer.  That of an integral is above -1 and no integer, of order 2 and without a shift: it is
    arcsin x for -1/2.
    """

    power: sympy.Rational
    order: int = 2
    shift: sympy.Rational = _ZERO
    is_integral: bool = False

    @property
    def is_one(self) -> bool:
        """Whether the factor is the constant 1."""
        return bool(self.power == 0 and self.shift == 0)

    @property
    def whole(self) -> sympy.Expr:
        """An integral up to 1."""
        root = sympy.sqrt(sympy.pi) / 2
        return root * sympy.gamma(self.power + 1) / sympy.gamma(self.power + 3 * _HALF)

    def moments(self, first: int) -> Iterator[Ball]:
        """Integrals of x^(a-1) times the factor, a = first, first + 1, ..."""
        if not self.is_integral:
            return _betas(self.power, self.order, first + self.shift)
        whole, rim = to_ball(self.whole), _betas(self.power, 2, sympy.Integer(first + 1))
        return ((whole - b) / a for a, b in zip(count(first), rim, strict=False))

    def taylor(self, stop: int) -> Iterator[tuple[sympy.Rational, sympy.Rational]]:
        """The terms (power, coefficient) of the expansion at x = 0, powers below ``stop``."""
        power, c = self.shift, sympy.Integer(1)
        for j in count():
            exponent = power + 1 if self.is_integral else power
            if exponent >= stop or c == 0:
                return
            yield exponent, c / exponent if self.is_integral else c
            c = c * (j - self.power) / (j + 1)
            power += self.order

    def at_edge(self, length: int) -> list[tuple[sympy.Rational, list[Ball]]]:
        """Powers of tau = 1 - x^2, and the series in tau that multiply them.

        An integral is that up to 1, less the one from x on.
        """
        if self.is_integral:
            terms, c, first = [], flint.arb(1) / 2, to_ball(self.power + 1)
            for j in range(length):
                terms.append(-c / (first + j))
                c = c * (2 * j + 1) / (2 * j + 2)
            return [(_ZERO, [to_ball(self.whole)]), (self.power + 1, terms)]
        if self.order == 2 or self.power == 0:
            return [(self.power, [flint.arb(1)])]
        p, q = int(self.power.p), int(self.power.q)
        series = [to_ball(2**-self.power)]
        for j in range(length - 1):
            ratio = (p + 2 * q * j) * (p + q + 2 * q * j)
            series.append(series[-1] * ratio / (4 * q * (j + 1) * (p + q + q * j)))
        return [(self.power, series)]


@dataclass(frozen=True)
class BallForm:
    """A formula on the ball z <= radius, in x = z / radius.

    Attributes
    ----------
    radius : sympy number
    parts : tuple of (Factor, monomials)
        The formula is the sum of factor(x) * sum(c x^m).
    exponents : tuple of sympy numbers, optional
        The exponents at the edge of a formula that is fitted: its expansions at the ends serve up
        to their least term only.  By default they are read off the parts.
    least_odd_power : sympy number
        Powers of x at the origin below it that are no even integers are rounding.

    Examples
    --------
    >>> root = Factor(sympy.Rational(3, 2), order=1)
    >>> form = BallForm(sympy.Integer(1), ((root, ((0, sympy.Integer(1)),)),))
    >>> form.edge_exponents, form.value_at_zero
    ((3/2,), 1)
    >>> [(str(m), float(c)) for m, c in form.odd_origin_terms(2)]
    [('1', -1.5), ('3', 0.0625)]
    """

    radius: sympy.Expr
    parts: tuple[tuple[Factor, Monomials], ...]
    exponents: tuple[sympy.Rational, ...] | None = None
    least_odd_power: sympy.Rational = _ZERO

    @classmethod
    def of_chebyshev(
        cls,
        radius: sympy.Expr,
        exponent: sympy.Rational,
        series: Sequence[Ball],
        power: sympy.Rational,
    ) -> BallForm:
        """(1 - x^2)^exponent times a Chebyshev series on [0, 1] in x^power, power = 2 or 1/q."""
        whole, step = int(sympy.floor(exponent)), int(power.q)
        shifted = flint.fmpz_poly([-1, 2])
        rim, inner = flint.arb_poly([1, 0, -1]), flint.arb_poly([0] * int(power.p) + [1])
        parts: list[tuple[Factor, Monomials]] = []
        with working_precision(_EXACT):
            chebyshev = (flint.fmpz_poly.chebyshev_t(j)(shifted) for j in range(len(series)))
            poly = sum((flint.arb_poly(t) * c for c, t in zip(series, chebyshev, strict=True)), 0)
            for r in range(step):
                mine = flint.arb_poly([poly[i] for i in range(r, len(series), step)])
                in_x = (mine(inner) * rim**whole).coeffs()
                terms = tuple((m, c) for m, c in enumerate(in_x) if c != 0)
                if terms:
                    shift = sympy.Rational(r, step)
                    parts.append((Factor(exponent - whole, 2, shift), terms))
        return cls(radius, tuple(parts))

    @property
    def value_at_zero(self) -> sympy.Expr:
        """The formula at z = 0, exactly."""
        with working_precision(_SPARE + self.cancelled_bits):
            return sum(
                c
                for factor, monomials in self.parts
                for m, c in monomials
                if m == factor.shift == 0 and not factor.is_integral
            )

    @cached_property
    def cancelled_bits(self) -> int:
        """Bits that sums of its terms lose at most."""
        sizes = (log_magnitude(to_ball(c)) for _, monomials in self.parts for _, c in monomials)
        return max(int(max(sizes) / np.log(2.0)), 0)

    @property
    def is_even(self) -> bool:
        """Whether the formula is smooth at z = 0: a power series in z^2."""
        return all(
            f.order == 2 and f.shift == 0 and all(m % 2 == f.is_integral for m, _ in monomials)
            for f, monomials in self.parts
        )

    @property
    def has_finite_edge(self) -> bool:
        """Whether the expansion at the edge ends: x is no root of 1 - (1 - x^2) in it."""
        return self.exponents is None and self.is_even

    @property
    def has_finite_origin(self) -> bool:
        """Whether the expansion at the origin is a polynomial."""
        return self.exponents is None and all(f.power == 0 for f, _ in self.parts)

    def moments(self, dim: int) -> Iterator[Ball]:
        """Integrals of x^(dim-1+2n) times the formula, n = 0, 1, ..., at Arb's precision."""
        streams = [
            (factor.moments(dim), [(m, to_ball(c)) for m, c in monomials])
            for factor, monomials in self.parts
        ]
        known: list[list[Ball]] = [[] for _ in streams]
        for n in count():
            total = flint.arb(0)
            for values, (stream, terms) in zip(known, streams, strict=True):
                for m, c in terms:
                    while len(values) <= 2 * n + m:
                        values.append(next(stream))
                    total += c * values[2 * n + m]
            yield total

    @cached_property
    def edge_exponents(self) -> tuple[sympy.Rational, ...]:
        """Leading exponents of (1 - x^2) at the edge, one for each class modulo 1, sorted."""
        if self.exponents is not None:
            return self.exponents
        exponents = []
        with working_precision(_EXACT):
            powers = {e for factor, _ in self.parts for e, _ in factor.at_edge(1)}
            # Powers of x are independent: a sum of so many that begins with as many zeros is zero.
            count = int(max(powers)) + 1 + sum(len(monomials) for _, monomials in self.parts)
            for p in {e - sympy.floor(e) for e in powers}:
                order, length = None, 2
                while order is None and length <= 2 * count:
                    length *= 2
                    series = self.edge_series(p, length)
                    order = next((j for j, c in enumerate(series) if not _is_zero(c)), None)
                if order is not None:
                    exponents.append(p + order)
        return tuple(sorted(exponents))

    def edge_series(self, power: sympy.Rational, length: int) -> list[Ball]:
        """Coefficients of tau^(power + j), tau = 1 - x^2, at the edge; ``power`` in [0, 1)."""
        total = [flint.arb(0)] * length
        for factor, monomials in self.parts:
            for exponent, times in factor.at_edge(length):
                first = exponent - power
                if not first.is_Integer or first >= length:
                    continue
                series = _power_series(monomials, factor.shift, length - int(first))
                for j in range(int(first), length):
                    last = min(j - int(first), len(times) - 1)
                    parts = (times[i] * series[j - int(first) - i] for i in range(last + 1))
                    total[j] += sum(parts)
        return total

    def odd_origin_terms(self, length: int) -> list[tuple[Fraction, Ball]]:
        """The powers of x at the origin that are no even integers, sorted.

        They are complete only if the expansion ends.
        """
        terms: dict[sympy.Rational, Ball] = {}
        # Above the degree that every factor has reached the sums would be incomplete.
        stop = None if self.has_finite_origin else 2 * length
        with working_precision(_EXACT):
            for factor, monomials in self.parts:
                for e, a in factor.taylor(1 if stop is None else stop):
                    for m, c in monomials:
                        if (e + m) % 2 != 0 and (stop is None or e + m < stop):
                            terms[e + m] = terms.get(e + m, 0) + to_ball(a) * to_ball(c)
            return [
                (Fraction(int(m.p), int(m.q)), c)
                for m, c in sorted(terms.items())
                if m >= self.least_odd_power and not _is_zero(c)
            ]


def _is_zero(c: Ball) -> bool:
    """Whether a sum is zero to so many bits that anything else would be a coincidence."""
    return bool(abs(c) < 2.0**-_ZERO_BITS)


def _power_series(monomials: Monomials, shift: sympy.Rational, length: int) -> list[Ball]:
    """Coefficients in tau of sum c x^(m + shift) with x = (1 - tau)^(1/2)."""
    total = [flint.arb(0)] * length
    p, q = int(shift.p), int(shift.q)
    for m, c in monomials:
        term = to_ball(c)
        for j in range(length):
            total[j] = total[j] + term
            top = q * (2 * j - m) - p
            if top == 0:
                break
            term = term * top / (q * (2 * j + 2))
    return total

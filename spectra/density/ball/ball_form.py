r"""Formulas on a ball as sums of powers: moments, and expansions at the edge and at the origin.

In x = z / R, a formula on z <= R is written as a sum of terms

.. math:: c\,x^{m+s} (1 - x^2)^p, \qquad c\,x^{m+s} (1 - x)^p \qquad\text{and}\qquad
          c\,x^m \int_0^x (1 - t^2)^p dt

with integer m >= 0 and rational s and p.  These include polynomials in z (spherical, Wendland),
the functions of Askey and of Bochner and Riesz of any order, the superspherical models, and the
arc-cosine kernels with the NTK (R = 2; p = -1/2 gives arcsin x).  Moments are Beta functions, and
expansions are binomial series, all of them exact:

.. math:: \int_0^1 x^{a-1}(1-x)^p dx = B(a, p+1), \qquad
          (1-x)^p = (\tau/2)^p\,{}_2F_1(p/2, (p+1)/2; p+1; \tau), \quad \tau = 1 - x^2 .

The second one is DLMF 15.4.18.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any

import flint
import numpy as np
import sympy

from spectra.base.limits import check_time
from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.formula.ball_function import constant_ball as to_acb
from spectra.formula.parsing import Z

__all__ = ["BallForm", "read_ball_form", "to_arb"]

#: A polynomial: pairs of a power of x and its exact coefficient.
Monomials = tuple[tuple[int, sympy.Expr], ...]

# Formulas of a higher degree are fitted, since exact expansions would take seconds.
MAX_DEGREE = 256
# Working precision of sums that may be zero, and the bits to which they then vanish; other sums
# have _SPARE_BITS more than the bits that cancel.
_EXACT_BITS, _ZERO_BITS, _SPARE_BITS = 8192, 1000, 128
_ZERO, _HALF = sympy.Integer(0), sympy.Rational(1, 2)


def to_arb(value: Any) -> Ball:
    """An exact real number (of sympy, Python or Arb) as an Arb number of the working precision."""
    if isinstance(value, flint.arb):
        return value
    if isinstance(value, int | Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return to_acb(value).real


def _betas(power: sympy.Rational, order: int, start: sympy.Rational) -> Iterator[Ball]:
    """Beta functions B(a/order, power + 1) / order for a = start, start + 1, ..."""
    # All numbers are integers over one denominator; b = power + 1.
    common = int(sympy.ilcm(start.q, power.q))
    first, b = int(start * common), int((power + 1) * common)
    upcoming = []
    for i in range(order):
        x, y = to_arb(Fraction(first + i * common, order * common)), to_arb(Fraction(b, common))
        upcoming.append(x.gamma() * y.gamma() * (x + y).rgamma() / order)
    for a in count(first, common):
        value, *upcoming = upcoming
        yield value
        upcoming.append(value * a / (a + order * b))


@dataclass(frozen=True)
class BallFactor:
    """A factor x^shift (1 - x^order)^power, or the integral of (1 - t^2)^power from 0 to x.

    The shift is in [0, 1), and 0 for an integral.  The power is in [0, 1) for order 2; for order 1
    it is 0 or not an integer.  For an integral it is above -1 and not an integer.
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
    def integral_to_one(self) -> sympy.Expr:
        """The integral of (1 - t^2)^power from 0 to 1."""
        front = sympy.sqrt(sympy.pi) / 2
        return front * sympy.gamma(self.power + 1) / sympy.gamma(self.power + 3 * _HALF)

    def moments(self, first: int) -> Iterator[Ball]:
        """Integrals of x^(a-1) times the factor over [0, 1], for a = first, first + 1, ..."""
        if not self.is_integral:
            return _betas(self.power, self.order, first + self.shift)
        # Integrate by parts.
        at_one = to_arb(self.integral_to_one)
        betas = _betas(self.power, 2, sympy.Integer(first + 1))
        return ((at_one - b) / a for a, b in zip(count(first), betas, strict=False))

    def origin_terms(self, stop: int) -> Iterator[tuple[sympy.Rational, sympy.Rational]]:
        """The terms (power, coefficient) of the expansion at x = 0, for powers below ``stop``."""
        power, c = self.shift, sympy.Integer(1)
        for j in count():
            exponent = power + 1 if self.is_integral else power
            if exponent >= stop or c == 0:
                return
            yield exponent, c / exponent if self.is_integral else c
            c = c * (j - self.power) / (j + 1)
            power += self.order

    def edge_series(self, length: int) -> list[tuple[sympy.Rational, list[Ball]]]:
        """The expansion in tau = 1 - x^2 without x^shift: pairs of a power of tau and a series."""
        if self.is_integral:
            # The integral from 0 to 1 minus that from x to 1.
            terms, c, first = [], flint.arb(1) / 2, to_arb(self.power + 1)
            for j in range(length):
                terms.append(-c / (first + j))
                c = c * (2 * j + 1) / (2 * j + 2)
            return [(_ZERO, [to_arb(self.integral_to_one)]), (self.power + 1, terms)]
        if self.order == 2 or self.power == 0:
            return [(self.power, [flint.arb(1)])]
        p, q = int(self.power.p), int(self.power.q)
        series = [to_arb(2**-self.power)]
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
    parts : tuple of (BallFactor, monomials)
        The formula is the sum of factor(x) * sum(c x^m).
    fitted_exponents : tuple of sympy numbers, optional
        The exponents at the edge, known before the fit; None for an exact formula.
    least_non_even_power : sympy number
        The lowest power of x at the origin that is no even integer, known before the fit.

    Examples
    --------
    >>> root = BallFactor(sympy.Rational(3, 2), order=1)
    >>> form = BallForm(sympy.Integer(1), ((root, ((0, sympy.Integer(1)),)),))
    >>> form.edge_exponents, form.value_at_zero
    ((3/2,), 1)
    >>> [(str(m), float(c)) for m, c in form.non_even_origin_terms(2)]
    [('1', -1.5), ('3', 0.0625)]
    """

    radius: sympy.Expr
    parts: tuple[tuple[BallFactor, Monomials], ...]
    fitted_exponents: tuple[sympy.Rational, ...] | None = None
    least_non_even_power: sympy.Rational = _ZERO

    @classmethod
    def of_chebyshev(
        cls,
        radius: sympy.Expr,
        exponent: sympy.Rational,
        series: Sequence[Ball],
        power: sympy.Rational,
    ) -> BallForm:
        """(1 - x^2)^exponent times a Chebyshev series on [0, 1] in x^power, power = 2 or 1/q."""
        integer, root = int(sympy.floor(exponent)), int(power.q)
        argument = flint.fmpz_poly([-1, 2])  # 2 y - 1
        tau, x_to_p = flint.arb_poly([1, 0, -1]), flint.arb_poly([0] * int(power.p) + [1])
        parts: list[tuple[BallFactor, Monomials]] = []
        with working_precision(_EXACT_BITS):
            chebyshev = (flint.fmpz_poly.chebyshev_t(j)(argument) for j in range(len(series)))
            poly = sum((flint.arb_poly(t) * c for c, t in zip(series, chebyshev, strict=True)), 0)
            # Every root-th term from the r-th on is x^(r/root) times an integer power of x.
            for r in range(root):
                every_root = flint.arb_poly([poly[i] for i in range(r, len(series), root)])
                coefficients = (every_root(x_to_p) * tau**integer).coeffs()
                monomials = tuple((m, c) for m, c in enumerate(coefficients) if c != 0)
                if monomials:
                    factor = BallFactor(exponent - integer, 2, sympy.Rational(r, root))
                    parts.append((factor, monomials))
        return cls(radius, tuple(parts))

    @property
    def value_at_zero(self) -> sympy.Expr:
        """The formula at z = 0."""
        with working_precision(_SPARE_BITS + self.cancelled_bits):
            return sum(
                c
                for factor, monomials in self.parts
                for m, c in monomials
                if m == factor.shift == 0 and not factor.is_integral
            )

    @cached_property
    def cancelled_bits(self) -> int:
        """Bound of the bits that cancel in a sum of its terms."""
        sizes = (log_magnitude(to_arb(c)) for _, monomials in self.parts for _, c in monomials)
        return max(int(max(sizes) / np.log(2.0)), 0)

    @property
    def is_even(self) -> bool:
        """Whether the formula is a power series in z^2 at z = 0."""
        return all(
            f.order == 2 and f.shift == 0 and all(m % 2 == f.is_integral for m, _ in monomials)
            for f, monomials in self.parts
        )

    @property
    def has_finite_edge_series(self) -> bool:
        """Whether the expansion at the edge has finitely many terms."""
        has_integral = any(f.is_integral for f, _ in self.parts)
        return self.fitted_exponents is None and self.is_even and not has_integral

    @property
    def has_finite_origin_series(self) -> bool:
        """Whether the expansion at the origin has finitely many terms."""
        return self.fitted_exponents is None and all(f.power == 0 for f, _ in self.parts)

    def moments(self, dim: int) -> Iterator[Ball]:
        """Integrals of x^(dim-1+2n) times the formula, n = 0, 1, ..., at Arb's precision."""
        parts = [
            (factor.moments(dim), [(m, to_arb(c)) for m, c in monomials])
            for factor, monomials in self.parts
        ]
        known: list[list[Ball]] = [[] for _ in parts]
        for n in count():
            check_time()
            total = flint.arb(0)
            for values, (moments, monomials) in zip(known, parts, strict=True):
                for m, c in monomials:
                    while len(values) <= 2 * n + m:
                        values.append(next(moments))
                    total += c * values[2 * n + m]
            yield total

    @cached_property
    def edge_exponents(self) -> tuple[sympy.Rational, ...]:
        """Leading exponents of tau = 1 - x^2 at the edge, one per class modulo 1, ascending."""
        if self.fitted_exponents is not None:
            return self.fitted_exponents
        exponents = []
        with working_precision(_EXACT_BITS):
            powers = {e for factor, _ in self.parts for e, _ in factor.edge_series(1)}
            # A sum of n linearly independent terms is zero if its first n coefficients are.
            n = int(max(powers)) + 1 + sum(len(monomials) for _, monomials in self.parts)
            for p in {e - sympy.floor(e) for e in powers}:
                first, length = None, 2
                while first is None and length <= 2 * n:
                    length *= 2
                    series = self.edge_series(p, length)
                    first = next((j for j, c in enumerate(series) if not _is_zero(c)), None)
                if first is not None:
                    exponents.append(p + first)
        return tuple(sorted(exponents))

    def edge_series(self, power: sympy.Rational, length: int) -> list[Ball]:
        """Coefficients of tau^(power + j), tau = 1 - x^2, for j < length; ``power`` in [0, 1)."""
        total = [flint.arb(0)] * length
        for factor, monomials in self.parts:
            for exponent, factor_series in factor.edge_series(length):
                first = exponent - power
                if not first.is_Integer or first >= length:
                    continue
                series = _expand_monomials(monomials, factor.shift, length - int(first))
                for j in range(length - int(first)):
                    last = min(j, len(factor_series) - 1)
                    products = (factor_series[i] * series[j - i] for i in range(last + 1))
                    total[int(first) + j] += sum(products)
        return total

    def non_even_origin_terms(self, length: int) -> list[tuple[Fraction, Ball]]:
        """Terms (power, coefficient) at the origin whose power of x is no even integer, ascending.

        An infinite expansion is cut before the power 2 * length.
        """
        terms: dict[sympy.Rational, Ball] = {}
        stop = None if self.has_finite_origin_series else 2 * length
        with working_precision(_EXACT_BITS):
            for factor, monomials in self.parts:
                for e, a in factor.origin_terms(1 if stop is None else stop):
                    for m, c in monomials:
                        if (e + m) % 2 != 0 and (stop is None or e + m < stop):
                            terms[e + m] = terms.get(e + m, 0) + to_arb(a) * to_arb(c)
            return [
                (Fraction(int(m.p), int(m.q)), c)
                for m, c in sorted(terms.items())
                if m >= self.least_non_even_power and not _is_zero(c)
            ]


def _is_zero(c: Ball) -> bool:
    """Whether a sum is zero to so many bits that it is taken as exactly zero."""
    return bool(abs(c) < 2.0**-_ZERO_BITS)


def _expand_monomials(monomials: Monomials, shift: sympy.Rational, length: int) -> list[Ball]:
    """Coefficients in tau of sum c x^(m + shift) with x = (1 - tau)^(1/2)."""
    total = [flint.arb(0)] * length
    p, q = int(shift.p), int(shift.q)
    for m, c in monomials:
        term = to_arb(c)
        for j in range(length):
            total[j] = total[j] + term
            numerator = q * (2 * j - m) - p
            if numerator == 0:
                break
            term = term * numerator / (q * (2 * j + 2))
    return total


def read_ball_form(expr: sympy.Expr, support: sympy.Expr) -> BallForm | None:
    """Write ``expr`` in Z on z <= support as a :class:`BallForm`; None if that is impossible.

    Examples
    --------
    >>> form = read_ball_form(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2))
    >>> form.edge_exponents
    (1/2,)
    >>> read_ball_form(sympy.sqrt(Z) * (1 - Z**2 / 4), sympy.Integer(2)).edge_exponents
    (1,)
    >>> read_ball_form(sympy.exp(-Z), sympy.Integer(1)) is None
    True
    """
    if not support.is_finite:
        return None
    x = sympy.Dummy("x", positive=True)
    symbols: dict[BallFactor, sympy.Dummy] = {}
    try:
        replaced = _replace(expr.subs(Z, support * x), x, symbols)
        poly = sympy.Poly(replaced, x, *symbols.values())
    except sympy.PolynomialError:
        return None
    if poly.total_degree() > MAX_DEGREE:
        return None
    collected: dict[BallFactor, dict[int, sympy.Expr]] = {}
    for (m, *powers), c in poly.terms():
        product = _multiply_factors(list(zip(powers, symbols, strict=True)))
        if product is None or c.has(x):
            return None
        factor, monomials = product
        collected_monomials = collected.setdefault(factor, {})
        for j, b in monomials:
            collected_monomials[m + j] = collected_monomials.get(m + j, _ZERO) + c * b
    parts = tuple(
        (factor, kept)
        for factor, coefficients in collected.items()
        if (kept := _drop_zeros(coefficients.items()))
    )
    return BallForm(support, parts) if parts else None


def _multiply_factors(powers: list[tuple[int, BallFactor]]) -> tuple[BallFactor, Monomials] | None:
    """A product of powers of factors as one factor times a polynomial; None if there is none."""
    roots = [(k, f) for k, f in powers if k and not f.is_integral]
    integrals = [(k, f) for k, f in powers if k and f.is_integral]
    if integrals:
        ((k, integral), *others) = integrals
        return None if roots or others or k > 1 else (integral, ((0, sympy.Integer(1)),))
    # The product is x^shift (1 - x)^p (1 - x^2)^q; integer powers go into the polynomial.
    shift = sum((k * f.shift for k, f in roots), _ZERO)
    p, q = (sum((k * f.power for k, f in roots if f.order == order), _ZERO) for order in (1, 2))
    integer_shift, integer_q = int(sympy.floor(shift)), int(sympy.floor(q))
    integer_p = int(p) if p.is_Integer else 0
    shift, p, q = shift - integer_shift, p - integer_p, q - integer_q
    if p != 0 and q != 0:
        return None
    polynomial = sympy.Poly((1 - Z) ** integer_p * (1 - Z**2) ** integer_q * Z**integer_shift, Z)
    factor = BallFactor(p, 1, shift) if p != 0 else BallFactor(q, 2, shift)
    return factor, tuple((j, b) for (j,), b in polynomial.terms())


def _drop_zeros(monomials: Iterable[tuple[int, sympy.Expr]]) -> Monomials:
    """The monomials whose coefficients are not zero, by ascending power."""
    expanded = ((m, sympy.expand(c)) for m, c in sorted(monomials))
    return tuple((m, c) for m, c in expanded if c != 0 and c.equals(0) is not True)


def _replace(
    expr: sympy.Expr, x: sympy.Symbol, symbols: dict[BallFactor, sympy.Dummy]
) -> sympy.Expr:
    """Replace roots, arcsines and other integrals of roots by the symbols of factors."""

    def symbol(factor: BallFactor) -> sympy.Symbol:
        return symbols.setdefault(factor, sympy.Dummy("factor"))

    def integral(node: sympy.hyper) -> sympy.Expr:
        """2F1(1/2, -p; 3/2; x^2), which is 1/x times the integral of (1 - t^2)^p from 0 to x."""
        power = _HALF - sum(node.ap)
        is_known = len(node.ap) == 2 and _HALF in node.ap and tuple(node.bq) == (3 * _HALF,)
        is_known = is_known and power.is_Rational and not power.is_Integer and power > -1
        if not is_known or sympy.expand(node.argument) != x**2:
            raise sympy.PolynomialError
        return symbol(BallFactor(power, is_integral=True)) / x

    def root(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        """A power of a base c x^m (1 - x)^n or c x^m (1 - x^2)^n."""
        constant, factors = sympy.factor_list(sympy.expand(base), x)
        multiplicity = dict(factors)
        at_zero = multiplicity.pop(x, 0)
        at_one, at_minus_one = multiplicity.pop(x - 1, 0), multiplicity.pop(x + 1, 0)
        constant = constant * (-1) ** at_one
        if multiplicity or at_minus_one not in (0, at_one) or not constant.is_positive:
            raise sympy.PolynomialError
        power, edge_power = at_zero * exponent, at_one * exponent
        if edge_power < 0 or max(power, edge_power) > MAX_DEGREE:
            raise sympy.PolynomialError
        order, integer = 2 if at_minus_one else 1, sympy.floor(power)
        value = constant**exponent * x**integer
        if order == 2 or edge_power.is_Integer:
            value *= (1 - x**order) ** sympy.floor(edge_power)
            edge_power -= sympy.floor(edge_power)
        for factor in (BallFactor(_ZERO, 2, power - integer), BallFactor(edge_power, order)):
            if not factor.is_one:
                value *= symbol(factor)
        return value

    expr = expr.replace(sympy.acos, lambda a: sympy.pi / 2 - sympy.asin(a))
    expr = expr.replace(sympy.asin, lambda a: a * sympy.hyper((_HALF, _HALF), (3 * _HALF,), a**2))
    expr = expr.replace(lambda e: isinstance(e, sympy.hyper) and e.has(x), integral)
    return expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer and e.base.has(x),
        lambda e: root(e.base, e.exp),
    )

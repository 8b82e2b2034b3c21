r"""Formulas on the unit ball: their moments, and their expansions at the edge and at the origin.

With x = z / R a piece becomes a formula on 0 <= x <= 1.  The ones known here are the sums of

.. math:: c\,x^m (1 - x^2)^p, \quad 0 \le p < 1 \qquad\text{and}\qquad c\,x^m \arcsin x .

They contain every polynomial in z (spherical, Askey, Wendland), the Bochner-Riesz kernels of any
order, and the arc-cosine family with the NTK, whose edge is at R = 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any, Protocol

import mpmath
import sympy

from spectra.formula.parsing import Z

__all__ = ["ArcSine", "BallForm", "Factor", "RadialForm", "RimPower", "ball_form", "to_mpf"]

# A polynomial: pairs of a power of x and its exact coefficient.
Monomials = tuple[tuple[int, sympy.Expr], ...]

# Beyond this degree the set-up would take seconds, and a kernel as flat is better treated
# numerically.
MAX_DEGREE = 256
_HALF = sympy.Rational(1, 2)


def to_mpf(value: Any) -> Any:
    """The exact number ``value`` (of sympy, Python or mpmath) at mpmath's working precision."""
    if isinstance(value, mpmath.mpf):
        return +value
    if isinstance(value, int | Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    if value.is_Rational:
        return mpmath.mpf(int(value.p)) / int(value.q)
    return mpmath.mpf(value.evalf(mpmath.mp.dps + 5))


def _quick(value: sympy.Expr) -> Any:
    """The same number; rational ones as fractions, whose sums cost a tenth of sympy's."""
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else value


def _is_zero(value: Any) -> bool:
    if isinstance(value, Fraction):
        return value == 0
    value = sympy.expand(value)
    if value.is_Rational:
        return bool(value == 0)
    # A number this small is either zero or a coincidence that only a proof can tell apart.
    return abs(value.evalf(40)) < sympy.Float("1e-30") and value.equals(0) is True


def _half_beta(power: sympy.Rational, first: int, bits: int) -> Iterator[int]:
    """Fixed-point values of B(a/2, power + 1)/2 for a = first, first + 1, ..."""
    num, den = int(power.p), int(power.q)
    with mpmath.workprec(bits + 32):
        p = mpmath.mpf(num) / den
        window = [
            int(mpmath.floor(mpmath.ldexp(mpmath.beta(mpmath.mpf(a) / 2, p + 1), bits - 1)))
            for a in (first, first + 1)
        ]
    for a in count(first):
        value = window[0]
        yield value
        window = [window[1], value * (a * den) // ((a + 2) * den + 2 * num)]


class Factor(ABC):
    """What multiplies a power of x."""

    @abstractmethod
    def moments(self, first: int, bits: int) -> Iterator[int]:
        """Integrals of x^(a-1) times the factor, a = first, first + 1, ..., times 2^bits."""

    @abstractmethod
    def taylor(self, length: int) -> list[tuple[int, sympy.Rational]]:
        """The first terms (power, coefficient) of the expansion at x = 0."""


@dataclass(frozen=True)
class RimPower(Factor):
    """The factor (1 - x^2)^power with 0 <= power < 1."""

    power: sympy.Rational

    def moments(self, first: int, bits: int) -> Iterator[int]:
        if self.power == 0:
            return ((1 << bits) // a for a in count(first))
        return _half_beta(self.power, first, bits)

    def taylor(self, length: int) -> list[tuple[int, sympy.Rational]]:
        if self.power == 0:
            return [(0, sympy.Integer(1))]
        terms = []
        c = sympy.Integer(1)
        for j in range(length):
            terms.append((2 * j, c))
            c = c * (j - self.power) / (j + 1)
        return terms


@dataclass(frozen=True)
class ArcSine(Factor):
    """The factor arcsin x."""

    def moments(self, first: int, bits: int) -> Iterator[int]:
        with mpmath.workprec(bits + 32):
            quarter_turn = int(mpmath.floor(mpmath.ldexp(mpmath.pi, bits - 1)))
        rim = _half_beta(-_HALF, first + 1, bits)
        return ((quarter_turn - b) // a for a, b in zip(count(first), rim, strict=False))

    def taylor(self, length: int) -> list[tuple[int, sympy.Rational]]:
        return [(2 * j + 1, c) for j, c in enumerate(arcsine_series(length))]


def arcsine_series(length: int) -> list[sympy.Rational]:
    """Coefficients of arcsin(t)/t in powers of t^2."""
    terms = []
    c = sympy.Integer(1)
    for j in range(length):
        terms.append(c / (2 * j + 1))
        c = c * sympy.Rational(2 * j + 1, 2 * j + 2)
    return terms


class RadialForm(Protocol):
    """What the ascending series and the expansions at both ends ask of a formula on a ball.

    With x = z / radius: its moments, and its expansions at the edge and at the origin.
    """

    @property
    def radius(self) -> sympy.Expr:
        """The radius of the ball, exactly."""

    @property
    def value_at_zero(self) -> Any:
        """The value at z = 0, a sympy or mpmath number."""

    @property
    def has_finite_edge(self) -> bool:
        """Whether the expansion at the edge has finitely many terms."""

    @property
    def has_finite_origin(self) -> bool:
        """Whether the expansion at the origin is a polynomial."""

    @property
    def edge_exponents(self) -> tuple[sympy.Expr, ...]:
        """Leading exponents of 1 - x^2 at the edge, one for each class modulo 1, sorted."""

    def moments(self, dim: int, bits: int) -> Iterator[tuple[int, int]]:
        """Integrals of x^(dim-1+2n) times the formula, and their errors, times 2^bits."""

    def edge_series(
        self, power: sympy.Expr, length: int, number: Callable[[sympy.Expr], Any]
    ) -> list[Any]:
        """Coefficients of (1 - x^2)^(power + j); ``power`` in [0, 1)."""

    def odd_origin_terms(self, length: int) -> list[tuple[Any, Any]]:
        """Powers x^m at the origin that are no even integers, and their coefficients, sorted."""


@dataclass(frozen=True)
class BallForm:
    """A formula on the ball z <= radius, in x = z / radius.

    Attributes
    ----------
    radius : sympy number
    parts : tuple of (Factor, monomials)
        The formula is the sum of factor(x) * sum(c x^m).

    Examples
    --------
    >>> form = ball_form(1 - Z**2 / 4, sympy.Integer(2))
    >>> form.edge_exponents, form.value_at_zero
    ((1,), 1)
    """

    radius: sympy.Expr
    parts: tuple[tuple[Factor, Monomials], ...]

    @property
    def value_at_zero(self) -> sympy.Expr:
        """The formula at z = 0, exactly."""
        return sum(
            (
                c
                for factor, monomials in self.parts
                for m, c in monomials
                if m == 0 and isinstance(factor, RimPower)
            ),
            sympy.Integer(0),
        )

    @property
    def is_even(self) -> bool:
        """Whether the formula is smooth at z = 0: a power series in z^2."""
        return all(
            m % 2 == (1 if isinstance(factor, ArcSine) else 0)
            for factor, monomials in self.parts
            for m, _ in monomials
        )

    @property
    def has_finite_edge(self) -> bool:
        """Whether the expansion at the edge ends: x is no root of 1 - (1 - x^2) in it."""
        return self.is_even

    @property
    def has_finite_origin(self) -> bool:
        """Whether the expansion at the origin is a polynomial."""
        return all(factor == RimPower(sympy.Integer(0)) for factor, _ in self.parts)

    def moments(self, dim: int, bits: int) -> Iterator[tuple[int, int]]:
        """Integrals of x^(dim-1+2n) times the formula, n = 0, 1, ..., times 2^bits.

        Yields
        ------
        value, error : int
            ``error`` bounds the error of ``value``, which is due to rounding down alone.
        """
        streams = []
        with mpmath.workprec(bits + 32):
            for factor, monomials in self.parts:
                terms = [
                    (m, int(mpmath.floor(mpmath.ldexp(to_mpf(c), bits)))) for m, c in monomials
                ]
                streams.append((factor.moments(dim, bits), terms))
        known: list[list[int]] = [[] for _ in streams]
        for n in count():
            value = error = 0
            for values, (stream, terms) in zip(known, streams, strict=True):
                for m, c in terms:
                    index = 2 * n + m
                    while len(values) <= index:
                        values.append(next(stream))
                    value += c * values[index]
                    error += (abs(c) >> bits) + 2
            # Each step of a recursion rounds once, and its multipliers are below one.
            yield value >> bits, error * (2 * n + MAX_DEGREE + 4)

    @cached_property
    def edge_exponents(self) -> tuple[sympy.Rational, ...]:
        """Leading exponents of (1 - x^2) at the edge, one for each class modulo 1, sorted."""
        exponents = []
        for p in self._edge_classes():
            length = 4
            while True:
                series = self.edge_series(p, length, _quick)
                order = next((j for j, c in enumerate(series) if not _is_zero(c)), None)
                if order is not None:
                    exponents.append(p + order)
                    break
                length *= 2
        return tuple(sorted(exponents))

    def _edge_classes(self) -> list[sympy.Rational]:
        classes = {f.power for f, _ in self.parts if isinstance(f, RimPower) and f.power != 0}
        smooth: dict[int, sympy.Expr] = {}
        for factor, monomials in self.parts:
            if isinstance(factor, ArcSine):
                classes.add(_HALF)
            elif factor.power != 0:  # type: ignore[attr-defined]
                continue
            weight = sympy.pi / 2 if isinstance(factor, ArcSine) else sympy.Integer(1)
            for m, c in monomials:
                smooth[m] = smooth.get(m, sympy.Integer(0)) + weight * c
        if any(not _is_zero(c) for c in smooth.values()):
            classes.add(sympy.Integer(0))
        return sorted(classes)

    def edge_series(
        self, power: sympy.Rational, length: int, number: Callable[[sympy.Expr], Any]
    ) -> list[Any]:
        """Coefficients of tau^(power + j), tau = 1 - x^2, at the edge; ``power`` in [0, 1)."""
        total = [number(sympy.Integer(0))] * length
        for factor, monomials in self.parts:
            if isinstance(factor, RimPower):
                if factor.power == power:
                    series = _power_series(monomials, length, number)
                    total = [a + b for a, b in zip(total, series, strict=True)]
            elif power == 0:
                series = _power_series(monomials, length, number)
                quarter_turn = number(sympy.pi / 2)
                total = [a + quarter_turn * b for a, b in zip(total, series, strict=True)]
            elif power == _HALF:
                series = _power_series(monomials, length, number)
                arc = [number(c) for c in arcsine_series(length)]
                for j in range(length):
                    total[j] = total[j] - sum(arc[i] * series[j - i] for i in range(j + 1))
        return total

    def odd_origin_terms(self, length: int) -> list[tuple[int, sympy.Expr]]:
        """The odd powers of x at the origin, sorted; complete only if the factors are 1."""
        terms: dict[int, sympy.Expr] = {}
        for factor, monomials in self.parts:
            for e, a in factor.taylor(length):
                for m, c in monomials:
                    if (e + m) % 2:
                        terms[e + m] = terms.get(e + m, sympy.Integer(0)) + a * c
        # Above the degree that every factor has reached the sums would be incomplete.
        limit = None if self.has_finite_origin else 2 * length
        return [
            (m, c)
            for m, c in sorted(terms.items())
            if (limit is None or m < limit) and not _is_zero(c)
        ]


def _power_series(
    monomials: Monomials, length: int, number: Callable[[sympy.Expr], Any]
) -> list[Any]:
    """Coefficients in tau of sum c x^m with x = (1 - tau)^(1/2)."""
    total = [number(sympy.Integer(0))] * length
    for m, c in monomials:
        term = number(c)
        for j in range(length):
            total[j] = total[j] + term
            term = term * (2 * j - m) / (2 * j + 2)
            if 2 * j == m:
                break
    return total


def ball_form(expr: sympy.Expr, support: sympy.Expr) -> BallForm | None:
    """Read the piece ``expr`` in Z on z <= support, or return None where it is of another class.

    Examples
    --------
    >>> form = ball_form(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2))
    >>> form.edge_exponents
    (1/2,)
    >>> ball_form(sympy.exp(-Z), sympy.Integer(1)) is None
    True
    """
    if not support.is_finite or expr.free_symbols - {Z}:
        return None
    x, arc = sympy.Dummy("x", positive=True), sympy.Dummy("arc")
    rims: dict[sympy.Rational, sympy.Dummy] = {}
    try:
        reduced = _reduce(expr.subs(Z, support * x), x, arc, rims)
        poly = sympy.Poly(reduced, x, arc, *rims.values())
    except (_ForeignFormula, sympy.PolynomialError):
        return None
    if poly.total_degree() > MAX_DEGREE:
        return None
    collected: dict[Factor, dict[int, sympy.Expr]] = {}
    for (m, arcs, *powers), c in poly.terms():
        rim = sum((k * p for k, p in zip(powers, rims, strict=True)), sympy.Integer(0))
        fraction = rim - sympy.floor(rim)
        if arcs > 1 or (arcs and fraction != 0) or c.free_symbols:
            return None
        factor: Factor = ArcSine() if arcs else RimPower(fraction)
        target = collected.setdefault(factor, {})
        whole = int(sympy.floor(rim))
        for j in range(whole + 1):
            power = m + 2 * j
            term = c * (-1) ** j * sympy.binomial(whole, j)
            target[power] = target.get(power, sympy.Integer(0)) + term
    parts = tuple(
        (factor, kept)
        for factor, monomials in collected.items()
        if (kept := _nonzero(monomials.items()))
    )
    return BallForm(support, parts) if parts else None


def _nonzero(monomials: Iterable[tuple[int, sympy.Expr]]) -> Monomials:
    return tuple((m, sympy.expand(c)) for m, c in sorted(monomials) if not _is_zero(c))


class _ForeignFormula(Exception):
    """The formula has a part outside the class; never leaves this module."""


def _reduce(
    expr: sympy.Expr,
    x: sympy.Symbol,
    arc: sympy.Symbol,
    rims: dict[sympy.Rational, sympy.Dummy],
) -> sympy.Expr:
    """Write arcsines and roots through the symbols ``arc`` and those of ``rims``."""

    def arcsine(argument: sympy.Expr) -> sympy.Expr:
        argument = sympy.expand(argument)
        for sign in (1, -1):
            if argument == sign * x:
                return sign * arc
            if argument == sign * (1 - 2 * x**2).expand():
                return sign * (sympy.pi / 2 - 2 * arc)
        raise _ForeignFormula

    def root(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        constant, factors = sympy.factor_list(sympy.expand(base), x)
        multiplicity = dict(factors)
        at_zero = multiplicity.pop(x, 0)
        upper, lower = multiplicity.pop(x - 1, 0), multiplicity.pop(x + 1, 0)
        power = at_zero * exponent
        if multiplicity or upper != lower or not power.is_integer:
            raise _ForeignFormula
        constant = constant * (-1) ** upper
        if not constant.is_positive:
            raise _ForeignFormula
        rim = upper * exponent
        whole = sympy.floor(rim)
        fraction = rim - whole
        if whole < 0:
            raise _ForeignFormula
        value = constant**exponent * x**power * (1 - x**2) ** whole
        if fraction != 0:
            value *= rims.setdefault(fraction, sympy.Dummy("rim"))
        return value

    expr = expr.replace(sympy.acos, lambda a: sympy.pi / 2 - arcsine(a))
    expr = expr.replace(sympy.asin, arcsine)
    return expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer and e.base.has(x),
        lambda e: root(e.base, e.exp),
    )

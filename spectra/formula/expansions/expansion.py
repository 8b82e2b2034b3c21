"""Asymptotic expansions: sums of terms c t^a L^q exp(phi(t)) for t -> 0+, with L = log(1/t).

An :class:`Expansion` is a finite sum of exponentials exp(phi(t)), each times a :class:`Series` of
terms c t^a L^q with a remainder O(t^b L^r).  Coefficients c are exact sympy numbers.  The phase phi
is an exact series of terms that do not tend to a constant: -1/t, for example, or i w/t for the
oscillation exp(i w z) at infinity, where z = 1/t.

The *order* of t^a L^q is the pair (a, -q).  A product has the sum of the orders of its factors.
Orders are compared lexicographically: the function of larger order tends to 0 faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cmp_to_key

import sympy
from sympy import S

from spectra.base.limits import check_time
from spectra.formula.expansions.exact_numbers import (
    ExpansionError,
    MoreTermsNeeded,
    is_zero,
    sign,
    simplify,
    sum_is_zero,
)

__all__ = [
    "CONSTANT", "FLAT", "ZERO", "Expansion", "Order", "Series", "by_order", "coarsest", "compare",
    "pfq_coefficients",
]  # fmt: skip

#: The pair (a, -q) of t^a L^q.
Order = tuple[sympy.Expr, sympy.Expr]
#: A term c t^a L^q as the pair of its order (a, -q) and c.
Term = tuple[Order, sympy.Expr]
#: The order of a constant.
CONSTANT: Order = (S.Zero, S.Zero)
#: The order of functions, such as exp(-1/t), that are smaller than every power of t.
FLAT: Order = (sympy.oo, S.Zero)

# The largest degree of a power series of an expansion; the largest number of pairs of terms in a
# product that stays exact; and the largest number of terms of a series (all arbitrary).
_MAX_DEGREE, _MAX_EXACT_TERMS, _MAX_TERMS = 80, 80, 100


def compare(a: Order, b: Order) -> int:
    """Return -1 if the order a is smaller than b, 0 if they are equal, 1 if a is larger."""
    for x, y in zip(a, b, strict=True):
        if x == y:
            continue
        if x.is_Rational and y.is_Rational:
            return -1 if x < y else 1
        if x is sympy.oo or y is sympy.oo:
            return 1 if x is sympy.oo else -1
        difference = sign(x - y)
        if difference:
            return difference
    return 0


#: Sort key for orders.
by_order = cmp_to_key(compare)


def coarsest(*remainders: Order | None) -> Order | None:
    """The smallest order, that of the largest remainder; None if all series are exact."""
    return min((r for r in remainders if r is not None), key=by_order, default=None)


def _plus(a: Order, b: Order) -> Order:
    if a[0] is sympy.oo or b[0] is sympy.oo:
        return FLAT
    return (a[0] + b[0], a[1] + b[1])


@dataclass(frozen=True)
class Series:
    """A sum of terms c t^a L^q of increasing order, and a remainder."""

    terms: tuple[Term, ...]
    remainder: Order | None = None  # the order of the remainder; None for an exact series

    @staticmethod
    def collect(terms: Iterable[Term], remainder: Order | None = None) -> Series:
        """Add terms of equal order, drop zeros and terms within the remainder, and sort."""
        check_time()
        by_equal_order: dict[Order, list[sympy.Expr]] = {}
        for order, c in terms:
            by_equal_order.setdefault(order, []).append(c)
        kept: list[Term] = []
        for order, summands in by_equal_order.items():
            if remainder is not None and compare(order, remainder) >= 0:
                continue
            c = simplify(sympy.Add(*map(simplify, summands)))
            if not sum_is_zero(c, summands):
                kept.append((order, c))
        kept.sort(key=lambda term: by_order(term[0]))
        if len(kept) > _MAX_TERMS:
            return Series(tuple(kept[:_MAX_TERMS]), kept[_MAX_TERMS][0])
        return Series(tuple(kept), remainder)

    @property
    def leading_order(self) -> Order | None:
        """The order of the first term, or of the remainder if there are no terms."""
        return self.terms[0][0] if self.terms else self.remainder

    @property
    def growth(self) -> int:
        """For a phase phi: 1 if abs(exp(phi)) tends to infinity, -1 if to 0, and 0 if it is 1."""
        signs = (sign(c) for _, c in self.terms)  # of the real parts; the largest term decides
        return next((s for s in signs if s != 0), 0)

    def __add__(self, other: Series) -> Series:
        remainder = coarsest(self.remainder, other.remainder)
        return Series.collect((*self.terms, *other.terms), remainder)

    def __neg__(self) -> Series:
        return self.times_term(S.NegativeOne)

    def times_term(self, c: sympy.Expr, order: Order = CONSTANT) -> Series:
        """The series times c t^a L^q, where (a, -q) is the order."""
        remainder = None if self.remainder is None else _plus(self.remainder, order)
        terms = tuple((_plus(o, order), simplify(x * c)) for o, x in self.terms)
        return Series(terms, remainder)

    def times(self, other: Series, window: int) -> Series:
        """The product, with remainder O(t^window) relative to its first term unless it is exact."""
        a, b = self.leading_order, other.leading_order
        if a is None or b is None:
            return Series(())
        pairs = ((a, other.remainder), (b, self.remainder))
        remainder = coarsest(*(_plus(order, r) for order, r in pairs if r is not None))
        if len(self.terms) * len(other.terms) > _MAX_EXACT_TERMS or remainder is not None:
            power, _ = _plus(a, b)
            if power is not sympy.oo:
                remainder = coarsest(remainder, (power + window, S.Zero))
        return Series.collect(
            ((_plus(o, p), x * y) for o, x in self.terms for p, y in other.terms), remainder
        )


#: The series 0, which is also the phase of a part without exponential.
ZERO = Series(())


@dataclass(frozen=True)
class Expansion:
    """A finite sum of exp(phi) times a series, with one part for each phase phi.

    Expansions support arithmetic with expansions and numbers, and powers with numbers.
    """

    parts: tuple[tuple[Series, Series], ...]  # pairs (phase, series)
    window: int  # how many powers of t a product keeps in each part, see Series.times

    def with_parts(self, parts: Iterable[tuple[Series, Series]]) -> Expansion:
        """An expansion of the same window, from parts; parts with the same phase are added."""
        by_phase: dict[Series, Series] = {}
        for phase, series in parts:
            by_phase[phase] = by_phase[phase] + series if phase in by_phase else series
        kept = tuple((p, s) for p, s in by_phase.items() if s.terms or s.remainder is not None)
        return replace(self, parts=kept)

    def constant(self, c: sympy.Expr | int) -> Expansion:
        """The expansion of a number, with the same window."""
        term = (CONSTANT, sympy.sympify(c, strict=True))
        return self.with_parts([(ZERO, Series.collect([term]))])

    def flat_remainder(self) -> Expansion:
        """A remainder smaller than every power of t, with the same window."""
        return replace(self, parts=((ZERO, Series((), FLAT)),))

    @property
    def grows(self) -> bool:
        """Whether a part grows exponentially."""
        return any(p.growth > 0 for p, _ in self.parts)

    @property
    def waves(self) -> tuple[tuple[Series, Series], ...]:
        """The oscillating parts, for which abs(exp(phi)) = 1 and phi is not 0."""
        return tuple((p, s) for p, s in self.parts if p != ZERO and p.growth == 0)

    @property
    def without_exponential(self) -> Series:
        """The series of the part with phase 0; 0 if there is no such part."""
        return dict(self.parts).get(ZERO, ZERO)

    def __add__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        expansion = other if isinstance(other, Expansion) else self.constant(other)
        return self.with_parts((*self.parts, *expansion.parts))

    def __neg__(self) -> Expansion:
        return self * -1

    def __sub__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        return self + -other

    def __mul__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        if not isinstance(other, Expansion):
            c = sympy.sympify(other, strict=True)
            return replace(self, parts=tuple((p, s.times_term(c)) for p, s in self.parts if c != 0))
        return self.with_parts(
            (p + q, s.times(t, self.window)) for p, s in self.parts for q, t in other.parts
        )

    def __truediv__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        if isinstance(other, Expansion):
            return self * other**-1
        return self * (1 / sympy.sympify(other, strict=True))

    def __pow__(self, exponent: sympy.Expr | int) -> Expansion:
        """Integer powers, and real powers of expansions with a positive leading coefficient."""
        s = sympy.sympify(exponent, strict=True)
        if s.is_Integer and s >= 0:
            if s < 2:
                return self if s == 1 else self.constant(1)
            root = self ** (s // 2)
            return root * root * self if s % 2 else root * root
        phase, (a, minus_q), c, delta = self.factor_leading_term()
        if not s.is_Integer and (sign(c) <= 0 or not is_zero(sympy.im(c))):
            raise ExpansionError("a fractional power of a number that is not positive is not real")
        series = Series.collect([((a * s, minus_q * s), c**s)])
        leading = self.with_parts([(phase.times_term(s), series)])
        return leading * delta.compose(pfq_coefficients((-s,), (), S.NegativeOne))

    def as_series(self) -> Series:
        """The part without exponential, if no other part oscillates or grows.

        Parts that decay exponentially become a remainder smaller than every power of t.
        """
        remainder = None
        for phase, _ in self.parts:
            if phase != ZERO:
                if phase.growth >= 0:
                    raise ExpansionError("an oscillating or growing argument cannot be expanded")
                remainder = FLAT
        series = self.without_exponential
        return Series(series.terms, coarsest(series.remainder, remainder))

    def factor_leading_term(self) -> tuple[Series, Order, sympy.Expr, Expansion]:
        """Return phi, (a, -q), c and delta of c t^a L^q exp(phi) (1 + delta) with delta -> 0."""
        if not self.parts:
            raise ExpansionError("the logarithm or a negative power of zero is undefined")
        first = 0
        for i in range(1, len(self.parts)):
            if _dominates(self.parts[i], self.parts[first]):
                first = i
        phase, series = self.parts[first]
        if not series.terms:
            raise MoreTermsNeeded("more terms are needed to find the leading term")
        order, c = series.terms[0]
        inverse = (-order[0], -order[1])
        quotients, decays = [], False
        for i, (p, s) in enumerate(self.parts):
            if i == first:
                others = Series(s.terms[1:], s.remainder)
                quotients.append((ZERO, others.times_term(1 / c, inverse)))
                continue
            relative = p + -phase
            if relative.growth < 0:
                decays = True
            else:
                quotients.append((relative, s.times_term(1 / c, inverse)))
        if decays:
            quotients.append((ZERO, Series((), FLAT)))
        delta = self.with_parts(quotients)
        if not delta.tends_to_zero():
            if any(s.terms and not _tends_to_zero(p, s) for p, s in delta.parts):
                raise ExpansionError("an expansion with several leading terms has no logarithm")
            raise MoreTermsNeeded("more terms are needed to find the leading term")
        return phase, order, c, delta

    def tends_to_zero(self) -> bool:
        """Whether every part tends to zero."""
        return all(_tends_to_zero(p, s) for p, s in self.parts)

    def compose(self, coefficients: Iterator[sympy.Expr]) -> Expansion:
        """The sum over k >= 0 of coefficients c_k times delta^k, where delta -> 0 is ``self``."""
        if not self.tends_to_zero():
            raise MoreTermsNeeded("more terms are needed to show that an argument tends to zero")
        total = self.constant(next(coefficients))
        if not self.parts:
            return total
        leading = [(p, s.leading_order) for p, s in self.parts]
        orders = [order for p, order in leading if order is not None and p.growth == 0]
        step = min(orders, key=by_order, default=FLAT)
        power, order = self.constant(1), CONSTANT
        for k, c in enumerate(coefficients, start=1):
            order = _plus(order, step)
            if step == FLAT:  # every part decays exponentially: three powers are kept
                is_last = k > 3
            else:
                is_last = compare(order, (sympy.Integer(self.window), S.Zero)) >= 0
            # If delta decays like a power of 1/L, four powers are kept.
            if is_last or k > _MAX_DEGREE or (step[0] == 0 and k > 4):
                return total + self.with_parts([(ZERO, Series((), order))])
            power = power * self
            if c != 0:
                total = total + power * c
        return total


def _tends_to_zero(phase: Series, series: Series) -> bool:
    """Whether exp(phase) times a series tends to zero."""
    order = series.leading_order
    return phase.growth < 0 or order is None or (phase.growth == 0 and compare(order, CONSTANT) > 0)


def _dominates(part: tuple[Series, Series], other: tuple[Series, Series]) -> bool:
    """Whether a part (phase, series) is larger than another one as t -> 0+."""
    (phase, series), (other_phase, other_series) = part, other
    growth = (phase + -other_phase).growth
    if growth:
        return growth > 0
    order, other_order = series.leading_order, other_series.leading_order
    if order is None or other_order is None:
        return order is not None
    return compare(order, other_order) < 0


def pfq_coefficients(
    a: Iterable[sympy.Expr], b: Iterable[sympy.Expr], scale: sympy.Expr = S.One
) -> Iterator[sympy.Expr]:
    """The coefficients (a)_k scale^k / ((b)_k k!) of x^k in pFq(a; b; scale x), until one is 0."""
    a, b = tuple(a), tuple(b)
    c, k = S.One, 0
    while c != 0:
        yield c
        for x in a:
            c = sympy.expand(c * (x + k))
        for y in b:
            c = c / (y + k)
        k += 1
        c = sympy.expand(c * scale) / k

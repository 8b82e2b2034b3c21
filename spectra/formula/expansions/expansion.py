r"""The algebra of one-sided expansions: sums of c t^a L^q exp(phi), t -> 0+, L = log(1/t).

A :class:`Expansion` is a finite sum of exponentials exp(phi(t)), each times a :class:`Series` of
terms :math:`c\,t^a L^q` with an order of what was left out.  The exponents phi are exact series of
what does not tend to a constant (such as -1/t, or i w/t for an oscillation at infinity).
Coefficients are exact sympy numbers.  The *size* of :math:`t^a L^q` is the pair (a, -q): sizes add
under multiplication, and a larger size is a smaller function.  Who reads a size reads both numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cmp_to_key

import sympy

from spectra.formula.expansions.exact_numbers import (
    ExpansionError,
    MoreTermsNeeded,
    is_zero,
    sign,
    tidy,
    vanishes,
)

__all__ = [
    "EXACT",
    "FLAT",
    "ONE",
    "ZERO",
    "Expansion",
    "Series",
    "Size",
    "by_size",
    "coarsest",
    "compare",
    "hypergeometric_series",
]

Size = tuple[sympy.Expr, sympy.Expr]
#: What was left out is smaller than every power of t, yet not zero.
FLAT: Size = (sympy.oo, sympy.Integer(0))
#: Nothing was left out.
EXACT = None
Order = Size | None

ONE: Size = (sympy.Integer(0), sympy.Integer(0))
#: The most terms that a series of a composition (a power, an exponential) is carried to.
_MOST_TERMS = 80
#: The most terms that a series keeps: mixed powers and logarithms multiply quickly.
_LONGEST = 100


def compare(a: Size, b: Size) -> int:
    """-1 if a is smaller as a size (a larger function), 0 if equal, 1 if larger."""
    for x, y in zip(a, b, strict=True):  # lexicographic
        if x == y:
            continue
        if x.is_Rational and y.is_Rational:
            return -1 if x < y else 1
        if x is sympy.oo or y is sympy.oo:
            return 1 if x is sympy.oo else -1
        s = sign(x - y)
        if s:
            return s
    return 0


#: The key that sorts sizes.
by_size = cmp_to_key(compare)


def coarsest(*orders: Order) -> Order:
    """The coarsest of several orders."""
    return min((o for o in orders if o is not None), key=by_size, default=EXACT)


def _plus(a: Size, b: Size) -> Size:
    if a[0] is sympy.oo or b[0] is sympy.oo:
        return FLAT
    return (a[0] + b[0], a[1] + b[1])


@dataclass(frozen=True)
class Series:
    """Terms c t^a L^q, largest first, and the order of what was left out."""

    terms: tuple[tuple[Size, sympy.Expr], ...]
    order: Order = EXACT

    @staticmethod
    def of(terms: Iterable[tuple[Size, sympy.Expr]], order: Order = EXACT) -> Series:
        """Collect, drop zeros, sort, and cut at the order."""
        merged: dict[Size, list[sympy.Expr]] = {}
        for size, c in terms:
            merged.setdefault(size, []).append(c)
        kept: list[tuple[Size, sympy.Expr]] = []
        for size, summands in merged.items():
            if order is not None and compare(size, order) >= 0:
                continue
            c = tidy(sympy.Add(*map(tidy, summands)))
            if not vanishes(c, summands):
                kept.append((size, c))
        kept.sort(key=lambda term: by_size(term[0]))
        if len(kept) > _LONGEST:
            return Series(tuple(kept[:_LONGEST]), kept[_LONGEST][0])
        return Series(tuple(kept), order)

    @property
    def lead(self) -> Order:
        """Size of the largest term; of what was left out where there is none."""
        return self.terms[0][0] if self.terms else self.order

    @property
    def growth(self) -> int:
        """Whether |exp(phi)| of this phi grows (1), decays (-1), or has modulus one (0)."""
        for _, c in self.terms:
            s = sign(c)
            if s:
                return s
        return 0

    def __add__(self, other: Series) -> Series:
        return Series.of((*self.terms, *other.terms), coarsest(self.order, other.order))

    def __neg__(self) -> Series:
        return self.scaled(sympy.Integer(-1))

    def scaled(self, c: sympy.Expr, size: Size = ONE) -> Series:
        """The series times c t^a L^q."""
        order = None if self.order is None else _plus(self.order, size)
        terms = tuple((_plus(s, size), tidy(x * c)) for s, x in self.terms)
        return Series(terms, order)

    def times(self, other: Series, window: int) -> Series:
        """Product, kept to a relative precision of ``window`` powers of t."""
        a, b = self.lead, other.lead
        if a is None or b is None:
            return Series(())
        pairs = ((a, other.order), (b, self.order))
        order = coarsest(*(_plus(lead, o) for lead, o in pairs if o is not None))
        if len(self.terms) * len(other.terms) > _MOST_TERMS or order is not None:
            lead = _plus(a, b)
            if lead[0] is not sympy.oo:
                order = coarsest(order, (lead[0] + window, sympy.Integer(0)))
        return Series.of(
            ((_plus(s, t), x * y) for s, x in self.terms for t, y in other.terms),
            order,
        )


#: The exponent of what has no exponential beside it; as a series, exactly zero.
ZERO = Series(())


@dataclass(frozen=True)
class Expansion:
    """A finite sum of exp(phi) times a series, with one part for each phi.

    Expansions add, multiply and divide, with numbers too, and are raised to numbers.
    """

    parts: tuple[tuple[Series, Series], ...]  # pairs (phi, series)
    window: int  # powers of t, relative to the largest, that a product keeps in each part

    def of(self, parts: Iterable[tuple[Series, Series]]) -> Expansion:
        """The expansion with parts of equal phi added, and without those that are 0."""
        merged: dict[Series, Series] = {}
        for phase, series in parts:
            merged[phase] = merged[phase] + series if phase in merged else series
        kept = tuple((p, s) for p, s in merged.items() if s.terms or s.order is not None)
        return replace(self, parts=kept)

    def constant(self, c: sympy.Expr | int) -> Expansion:
        """A constant, of the same window."""
        return self.of([(ZERO, Series.of([(ONE, sympy.sympify(c, strict=True))]))])

    @property
    def flat(self) -> Expansion:
        """What is left out of this expansion where it is smaller than every power of t."""
        return replace(self, parts=((ZERO, Series((), FLAT)),))

    @property
    def grows(self) -> bool:
        """Whether a part grows exponentially."""
        return any(p.growth > 0 for p, _ in self.parts)

    @property
    def waves(self) -> tuple[tuple[Series, Series], ...]:
        """The parts that oscillate, under an exponential of modulus one."""
        return tuple((p, s) for p, s in self.parts if p != ZERO and p.growth == 0)

    def part(self, phase: Series = ZERO) -> Series:
        """The series of one phi (exactly zero where there is none)."""
        return dict(self.parts).get(phase, ZERO)

    def __add__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        expansion = other if isinstance(other, Expansion) else self.constant(other)
        return self.of((*self.parts, *expansion.parts))

    def __neg__(self) -> Expansion:
        return self * -1

    def __sub__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        return self + -other

    def __mul__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        if not isinstance(other, Expansion):
            c = sympy.sympify(other, strict=True)
            return replace(self, parts=tuple((p, s.scaled(c)) for p, s in self.parts if c != 0))
        return self.of(
            (p + q, s.times(t, self.window)) for p, s in self.parts for q, t in other.parts
        )

    def __truediv__(self, other: Expansion | sympy.Expr | int) -> Expansion:
        inverse = (
            other**-1 if isinstance(other, Expansion) else 1 / sympy.sympify(other, strict=True)
        )
        return self * inverse

    def __pow__(self, exponent: sympy.Expr | int) -> Expansion:
        """Whole powers of anything, others of what is positive near the place."""
        s = sympy.sympify(exponent, strict=True)
        if s.is_Integer and s >= 0:
            if s < 2:
                return self if s == 1 else self.constant(1)
            root = self ** (s // 2)
            return root * root * self if s % 2 else root * root
        phase, (a, mq), c, delta = self.split_lead()
        if not s.is_Integer and (sign(c) <= 0 or not is_zero(sympy.im(c))):
            raise ExpansionError("a fractional power of a number that is not positive")
        head = self.of([(phase.scaled(s), Series.of([((a * s, mq * s), c**s)]))])
        return head * delta.compose(hypergeometric_series((-s,), (), sympy.Integer(-1)))

    @property
    def plain(self) -> Series:
        """The series, where the expansion does not oscillate or grow; decaying parts are flat."""
        order: Order = EXACT
        for phase, _ in self.parts:
            if phase != ZERO:
                if phase.growth >= 0:
                    raise ExpansionError("a function of an oscillating or growing argument")
                order = FLAT
        base = self.part()
        return Series(base.terms, coarsest(base.order, order))

    def split_lead(self) -> tuple[Series, Size, sympy.Expr, Expansion]:
        """Write the expansion as c t^a L^q exp(phi) (1 + delta) with delta -> 0."""
        if not self.parts:
            raise ExpansionError("the logarithm or a negative power of zero is needed")
        best = 0
        for i in range(1, len(self.parts)):
            if _dominates(self.parts[i], self.parts[best]):
                best = i
        phase, series = self.parts[best]
        if not series.terms:
            raise MoreTermsNeeded("more terms are needed to see which one leads")
        size, c = series.terms[0]
        inverse = (-size[0], -size[1])
        rest, flat = [], False
        for i, (p, s) in enumerate(self.parts):
            if i == best:
                body = Series(s.terms[1:], s.order)
                rest.append((ZERO, body.scaled(1 / c, inverse)))
                continue
            relative = p + -phase
            if relative.growth < 0:
                flat = True
            else:
                rest.append((relative, s.scaled(1 / c, inverse)))
        if flat:
            rest.append((ZERO, Series((), FLAT)))
        delta = self.of(rest)
        if not delta.small:
            if any(x.terms and not _is_small(p, x) for p, x in delta.parts):
                raise ExpansionError("no single term leads")
            raise MoreTermsNeeded("more terms are needed to see which one leads")
        return phase, size, c, delta

    @property
    def small(self) -> bool:
        """Whether every part tends to zero."""
        return all(_is_small(p, s) for p, s in self.parts)

    def compose(self, coefficients: Iterator[sympy.Expr]) -> Expansion:
        """Sum of c_k delta^k, k >= 0, of this expansion, which must be small; the c_k may end."""
        if not self.small:
            raise MoreTermsNeeded("more terms are needed")
        total = self.constant(next(coefficients))
        if not self.parts:
            return total
        steps = [s.lead for p, s in self.parts if s.lead is not None and p.growth == 0]
        step = min(steps, key=by_size, default=FLAT)
        power, size = self.constant(1), ONE
        for count, c in enumerate(coefficients, start=1):
            size = _plus(size, step)
            if step == FLAT:  # only parts that decay exponentially: a few powers serve
                beyond = count > 3
            else:
                beyond = compare(size, (sympy.Integer(self.window), ONE[1])) >= 0
            if beyond or count > _MOST_TERMS or (step[0] == 0 and count > 4):
                return total + self.of([(ZERO, Series((), size))])
            power = power * self
            if c != 0:
                total = total + power * c
        return total


def _is_small(phase: Series, series: Series) -> bool:
    """Whether exp(phi) times a series tends to zero."""
    lead = series.lead
    return phase.growth < 0 or lead is None or (phase.growth == 0 and compare(lead, ONE) > 0)


def _dominates(a: tuple[Series, Series], b: tuple[Series, Series]) -> bool:
    growth = (a[0] + -b[0]).growth
    if growth:
        return growth > 0
    x, y = a[1].lead, b[1].lead
    if x is None or y is None:
        return y is None and x is not None
    return compare(x, y) < 0


def hypergeometric_series(
    a: Iterable[sympy.Expr], b: Iterable[sympy.Expr], scale: sympy.Expr = sympy.S.One
) -> Iterator[sympy.Expr]:
    """pFq(a; b; scale x): (a)_k scale^k / ((b)_k k!); it ends where an upper parameter is -n."""
    a, b = tuple(a), tuple(b)
    c, k = sympy.Integer(1), 0
    while c != 0:
        yield c
        for x in a:
            c = sympy.expand(c * (x + k))
        for y in b:
            c = c / (y + k)
        k += 1
        c = sympy.expand(c * scale) / k

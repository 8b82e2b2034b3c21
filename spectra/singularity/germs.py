r"""The algebra of one-sided expansions: sums of c t^a L^q exp(phi), t -> 0+, L = log(1/t).

A :class:`Germ` is a finite sum of exponentials exp(phi(t)), each times a :class:`Series` of terms
:math:`c\,t^a L^q` with an order of what was left out.  The exponents phi hold only what does not
tend to a constant (such as -1/t, or i w/t for an oscillation at infinity).  Coefficients are exact
sympy numbers.  The *size* of :math:`t^a L^q` is the pair (a, -q): sizes add under multiplication,
and a larger size is a smaller function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache
from itertools import islice
from typing import Any

import sympy

from spectra.errors import SpectraError
from spectra.singularity.bessel_values import bessel_value

__all__ = [
    "EXACT",
    "FLAT",
    "ONE",
    "PRECISE",
    "ZERO",
    "ExpansionError",
    "Germ",
    "MoreTermsNeeded",
    "Phase",
    "Series",
    "Size",
]

Size = tuple[sympy.Expr, sympy.Expr]
#: What was left out is smaller than every power of t, yet not zero.
FLAT: Size = (sympy.oo, sympy.Integer(0))
#: Nothing was left out.
EXACT = None
Order = tuple[sympy.Expr, sympy.Expr] | None

ONE: Size = (sympy.Integer(0), sympy.Integer(0))
#: Digits of a number that is evaluated because exact simplification does not show whether it is 0.
_DIGITS = 60
#: So many digits beyond twice those that are written in a number must vanish for it to be 0.
_GUARD = 45
#: Rational numbers of up to so many digits belong to formulas, and imitate no other number.
_SHORT = 12
#: A value above this fraction of the largest summand, from 15 digits, is not zero.
_PLAINLY_NOT_ZERO = sympy.Float(10, 15) ** -6
#: Nodes of an exact coefficient beyond which it goes on as a number: products of long ones swell.
_LONG_COEFFICIENT = 60
#: Digits of those numbers, and the share of its summands below which a sum of them is zero.
PRECISE = 400
_CANCELLED = sympy.Float(10, 30) ** -100
#: Functions whose values take long, and return in every coefficient.
_SLOW = (sympy.besselj, sympy.bessely, sympy.besseli, sympy.besselk, sympy.hyper, sympy.expint)
#: A number below this, not compared with what it was summed from, is not told from zero.
_REMNANT = sympy.Float(10, 30) ** -90
#: Exponents of numbers that can be evaluated in milliseconds: 43 000 digits (chosen).
_LARGEST_EXPONENT = 1e5
#: The most terms that a series of a composition (a power, an exponential) is carried to.
_MOST_TERMS = 80
#: The most terms that a series keeps: mixed powers and logarithms multiply quickly.
_LONGEST = 100


class ExpansionError(SpectraError):
    """A formula has no expansion of the kind that the toolkit handles at this point."""


class MoreTermsNeeded(ExpansionError):
    """An expansion was cut before it showed what was asked of it: a wider window may help."""


@lru_cache(maxsize=20_000)
def is_zero(c: sympy.Expr) -> bool:
    """Whether an exact number is zero: exactly where sympy can tell, else by its digits.

    A rational number of n digits approximates another number to some 2n digits: what vanishes to
    45 more than are written in it is zero, and pi minus its first 60 decimals is not.
    """
    if c.has(sympy.Float):
        return _is_zero_in_digits(c)
    if c.is_Number:
        return bool(c == 0)
    # Most numbers are plainly not zero, and sympy's exact test of long sums takes minutes.
    glance = sympy.Abs(c.evalf(15, maxn=60))
    if glance.is_Number and glance > _PLAINLY_NOT_ZERO * _scale(c):
        return False
    known = c.is_zero
    if known is not None:
        return bool(known)
    digits = _GUARD + 2 * sum(n for n in map(_length, c.atoms(sympy.Rational)) if n > _SHORT)
    value = sympy.Abs(c.evalf(_DIGITS, maxn=max(digits, 2 * _DIGITS)))
    if not value.is_number or value.has(sympy.nan, sympy.zoo):
        raise ExpansionError(f"the coefficient {c} could not be evaluated")
    least = sympy.Float(10, 30) ** -digits
    return bool(value < least * max(sympy.Integer(1), _scale(c)))


def _is_zero_in_digits(c: sympy.Expr) -> bool:
    """Only an exact 0 is one; a tiny number may be what was left of a cancellation."""
    if c == 0:
        return True
    if sympy.Abs(c.evalf(15)) < _REMNANT:
        raise ExpansionError(f"a coefficient of size {sympy.Abs(c.evalf(3))} may be zero")
    return False


def exponential(x: sympy.Expr) -> sympy.Expr:
    """exp(x) of an exact number, in reach of evaluation.

    Raises
    ------
    ExpansionError
        For a number of so many digits that nothing could be decided about it.
    """
    if not x.is_Number and sympy.Abs(x.evalf(15)) > _LARGEST_EXPONENT:
        raise ExpansionError(f"a number of size exp({x.evalf(3)}) is beyond evaluation")
    return sympy.exp(x)


def tidy(c: sympy.Expr) -> sympy.Expr:
    """A coefficient in short: multiplied out, and as a number of many digits where it is long.

    Examples
    --------
    >>> tidy((sympy.sqrt(2) + 1) * (sympy.sqrt(2) - 1))
    1
    """
    if c.is_Number:
        return c
    if not _is_long(c):
        c = sympy.expand(c)
    if c.is_Number or not (_is_long(c) or c.has(sympy.Float)):
        return c
    if not c.has(sympy.Float) and is_zero(c):
        return sympy.Integer(0)
    slow = {f: _value(f) for f in c.atoms(*_SLOW) if f.is_number}
    return c.xreplace(slow).evalf(PRECISE, maxn=2 * PRECISE)


@lru_cache(maxsize=1000)
def _value(constant: sympy.Expr) -> sympy.Expr:
    """A constant with what a sum may lose before it counts as cancelled, and 400 digits more."""
    in_balls = bessel_value(constant, PRECISE + 100)
    return constant.evalf(PRECISE + 100) if in_balls is None else in_balls


def _is_long(c: sympy.Expr) -> bool:
    nodes = sympy.preorder_traversal(c)
    return next(islice(nodes, _LONG_COEFFICIENT, None), None) is not None


def _length(c: sympy.Rational) -> int:
    return len(str(c.p)) + len(str(c.q))


def _scale(c: sympy.Expr) -> sympy.Expr:
    """Size of the largest summand, against which a cancellation is judged."""
    return max((abs(a.evalf(15)) for a in sympy.Add.make_args(c)), default=sympy.Integer(1))


@lru_cache(maxsize=20_000)
def sign(c: sympy.Expr) -> int:
    """Sign of the real part of an exact number."""
    part = sympy.re(c) if c.has(sympy.I) else c
    if is_zero(part):
        return 0
    if part.is_positive is not None and part.is_extended_real:
        return 1 if part.is_positive else -1
    return 1 if part.evalf(30) > 0 else -1


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


_size_key = cmp_to_key(compare)


def _by_size(term: tuple[Size, sympy.Expr]) -> Any:
    return _size_key(term[0])


def order_min(*orders: Order) -> Order:
    """The coarser of several orders."""
    known = [o for o in orders if o is not None]
    if not known:
        return EXACT
    least = known[0]
    for o in known[1:]:
        if compare(o, least) < 0:
            least = o
    return least


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
        merged: dict[tuple[sympy.Expr, sympy.Expr], list[sympy.Expr]] = {}
        for size, c in terms:
            merged.setdefault(size, []).append(c)
        kept: list[tuple[tuple[sympy.Expr, sympy.Expr], sympy.Expr]] = []
        for size, summands in merged.items():
            if order is not None and compare(size, order) >= 0:
                continue
            c = tidy(sympy.Add(*summands))
            if not _vanishes(c, summands):
                kept.append((size, c))
        kept.sort(key=_by_size)
        if len(kept) > _LONGEST:
            return Series(tuple(kept[:_LONGEST]), kept[_LONGEST][0])
        return Series(tuple(kept), order)

    @property
    def lead(self) -> Order:
        """Size of the largest term; of what was left out where there is none."""
        return self.terms[0][0] if self.terms else self.order

    def __add__(self, other: Series) -> Series:
        return Series.of((*self.terms, *other.terms), order_min(self.order, other.order))

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
        orders = [
            _plus(lead, o) for lead, o in ((a, other.order), (b, self.order)) if o is not None
        ]
        order = order_min(*orders)
        if len(self.terms) * len(other.terms) > _MOST_TERMS or order is not None:
            lead = _plus(a, b)
            if lead[0] is not sympy.oo:
                order = order_min(order, (lead[0] + window, sympy.Integer(0)))
        return Series.of(
            ((_plus(s, t), x * y) for s, x in self.terms for t, y in other.terms),
            order,
        )

    def derivative(self) -> Series:
        """d/dt, term by term (dL/dt = -1/t); valid for germs of a Hardy field."""
        terms = []
        for (a, mq), c in self.terms:
            terms.append(((a - 1, mq), c * a))
            if mq != 0:
                terms.append(((a - 1, mq + 1), c * mq))
        order = self.order
        if order is not None and order[0] is not sympy.oo:
            order = (order[0] - 1, order[1])
        return Series.of(terms, order)

    def integral(self) -> Series:
        """Antiderivative without constant, term by term.

        Raises
        ------
        ExpansionError
            Where a negative or fractional power of the logarithm has none in this class.
        """
        terms: list[tuple[Size, sympy.Expr]] = []
        for (a, mq), c in self.terms:
            q = -mq
            if not (q.is_Integer and q >= 0):
                raise ExpansionError("the integral of a negative power of a logarithm is needed")
            if a == -1:
                terms.append(((sympy.Integer(0), -(q + 1)), -c / (q + 1)))
                continue
            while q >= 0:
                terms.append(((a + 1, -q), c / (a + 1)))
                c = c * q / (a + 1)
                q -= 1
        order = self.order
        if order is not None and order[0] is not sympy.oo:
            if compare(order, (sympy.Integer(-1), sympy.Integer(0))) <= 0:
                raise MoreTermsNeeded("more terms are needed under an integral")
            order = (order[0] + 1, order[1])
        return Series.of(terms, order)


def _vanishes(c: sympy.Expr, summands: list[sympy.Expr]) -> bool:
    """Whether a sum is zero; numbers are judged by the largest of their summands."""
    if len(summands) > 1 and c.has(sympy.Float):
        largest = max(sympy.Abs(x.evalf(15)) for x in summands)
        return bool(sympy.Abs(c.evalf(15)) < _CANCELLED * largest)
    return is_zero(c)


@dataclass(frozen=True)
class Phase:
    """The exponent phi of an exponential: terms c t^a L^q that do not tend to a constant."""

    terms: tuple[tuple[Size, sympy.Expr], ...] = ()

    def __add__(self, other: Phase) -> Phase:
        return Phase(Series.of((*self.terms, *other.terms)).terms)

    def __neg__(self) -> Phase:
        return Phase(tuple((s, -c) for s, c in self.terms))

    def times(self, c: sympy.Expr) -> Phase:
        """The exponent times a number."""
        return Phase(Series.of((s, x * c) for s, x in self.terms).terms)

    @property
    def growth(self) -> int:
        """Whether |exp(phi)| grows (1), decays (-1), or has modulus one (0)."""
        for _, c in self.terms:
            s = sign(c)
            if s:
                return s
        return 0


ZERO = Phase()


@dataclass(frozen=True)
class Germ:
    """A finite sum of exp(phi) times a series; ``parts`` has one entry for each phi."""

    parts: tuple[tuple[Phase, Series], ...]

    @staticmethod
    def of(parts: Iterable[tuple[Phase, Series]]) -> Germ:
        """Collect the parts of equal phase and drop those that vanish exactly."""
        merged: dict[Phase, Series] = {}
        for phase, series in parts:
            merged[phase] = merged[phase] + series if phase in merged else series
        return Germ(tuple((p, s) for p, s in merged.items() if s.terms or s.order is not None))

    @staticmethod
    def constant(c: sympy.Expr) -> Germ:
        """A constant."""
        return Germ.of([(ZERO, Series.of([(ONE, c)]))])

    @staticmethod
    def power(c: sympy.Expr, a: sympy.Expr) -> Germ:
        """The single term c t^a."""
        return Germ.of([(ZERO, Series.of([((a, sympy.Integer(0)), c)]))])

    def part(self, phase: Phase = ZERO) -> Series:
        """The series of one phase (exactly zero where there is none)."""
        return dict(self.parts).get(phase, Series(()))

    def __add__(self, other: Germ) -> Germ:
        return Germ.of((*self.parts, *other.parts))

    def scaled(self, c: sympy.Expr) -> Germ:
        """The germ times a number."""
        if c == 0:
            return Germ(())
        return Germ(tuple((p, s.scaled(c)) for p, s in self.parts))

    def times(self, other: Germ, window: int) -> Germ:
        """Product, to a relative precision of ``window`` powers of t in each phase."""
        return Germ.of((p + q, s.times(t, window)) for p, s in self.parts for q, t in other.parts)

    @property
    def plain(self) -> Series:
        """The series, where the germ does not oscillate or grow; decaying parts are flat.

        Raises
        ------
        ExpansionError
            Where the germ has an oscillating or growing part.
        """
        order: Order = EXACT
        for phase, _ in self.parts:
            if phase != ZERO:
                if phase.growth >= 0:
                    raise ExpansionError("a function of an oscillating or growing argument")
                order = FLAT
        base = self.part()
        return Series(base.terms, order_min(base.order, order))

    def split_lead(self) -> tuple[Phase, Size, sympy.Expr, Germ]:
        """Write the germ as c t^a L^q exp(phi) (1 + delta) with delta -> 0.

        Raises
        ------
        ExpansionError
            Where no single term leads, or more terms are needed to see it.
        """
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
        delta = Germ.of(rest)
        if not delta.small:
            if any(x.terms and not Germ(((p, x),)).small for p, x in delta.parts):
                raise ExpansionError("no single term leads")
            raise MoreTermsNeeded("more terms are needed to see which one leads")
        return phase, size, c, delta

    @property
    def small(self) -> bool:
        """Whether every part tends to zero."""
        return all(
            p.growth < 0 or s.lead is None or (p.growth == 0 and compare(s.lead, ONE) > 0)
            for p, s in self.parts
        )

    def compose(self, coefficients: Iterator[sympy.Expr], window: int) -> Germ:
        """Sum of c_k delta^k, k >= 0, of this germ, which must be small; the c_k may end."""
        if not self.small:
            raise MoreTermsNeeded("more terms are needed")
        total = Germ.constant(next(coefficients))
        if not self.parts:
            return total
        steps = [s.lead for p, s in self.parts if s.lead is not None and p.growth == 0]
        step = min(steps, key=_size_key, default=FLAT)
        power, size = Germ.constant(sympy.Integer(1)), ONE
        for count, c in enumerate(coefficients, start=1):
            size = _plus(size, step)
            if step == FLAT:  # only parts that decay exponentially: a few powers serve
                beyond = count > 3
            else:
                beyond = compare(size, (sympy.Integer(window), ONE[1])) >= 0
            if beyond or count > _MOST_TERMS or (step[0] == 0 and count > 4):
                return total + Germ(((ZERO, Series((), size)),))
            power = power.times(self, window)
            if c != 0:
                total = total + power.scaled(c)
        return total


def _dominates(a: tuple[Phase, Series], b: tuple[Phase, Series]) -> bool:
    growth = (a[0] + -b[0]).growth
    if growth:
        return growth > 0
    x, y = a[1].lead, b[1].lead
    if x is None or y is None:
        return y is None and x is not None
    return compare(x, y) < 0

"""Exact numbers: whether they are zero, their signs, and short forms of what is too long."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

import sympy

from spectra.errors import SpectraError

__all__ = [
    "ExpansionError",
    "MoreTermsNeeded",
    "exponential",
    "is_zero",
    "sign",
    "tidy",
    "vanishes",
]

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
_PRECISE = 200
_CANCELLED = sympy.Float(10, 30) ** -100
#: A number below this, not compared with what it was summed from, is not told from zero.
_REMNANT = sympy.Float(10, 30) ** -90
#: Exponents of numbers that can be evaluated in milliseconds: 43 000 digits (chosen).
_LARGEST_EXPONENT = 1e5


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
    if c.is_Number and (c == 0 or not c.is_Float):
        return bool(c == 0)
    if c.has(sympy.Float):
        # A tiny number may be what was left of a cancellation.
        if sympy.Abs(c.evalf(15)) < _REMNANT:
            raise ExpansionError(f"a coefficient of size {sympy.Abs(c.evalf(3))} may be zero")
        return False
    # Most numbers are plainly not zero, and sympy's exact test of long sums takes minutes.
    glance = sympy.Abs(c.evalf(15, maxn=60))
    if glance.is_Number and glance > _PLAINLY_NOT_ZERO * _scale(c):
        return False
    known = c.is_zero
    if known is not None:
        return bool(known)
    lengths = [len(str(q.p)) + len(str(q.q)) for q in c.atoms(sympy.Rational)]
    digits = _GUARD + 2 * sum(n for n in lengths if n > _SHORT)
    value = sympy.Abs(c.evalf(_DIGITS, maxn=max(digits, 2 * _DIGITS)))
    if not value.is_number or value.has(sympy.nan, sympy.zoo):
        raise ExpansionError(f"the coefficient {c} could not be evaluated")
    least = sympy.Float(10, 30) ** -digits
    return bool(value < least * max(sympy.Integer(1), _scale(c)))


def exponential(x: sympy.Expr) -> sympy.Expr:
    """exp(x) of an exact number, in reach of evaluation."""
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
    return c.evalf(_PRECISE, maxn=2 * _PRECISE, chop=True)


def _is_long(c: sympy.Expr) -> bool:
    nodes = sympy.preorder_traversal(c)
    return next(islice(nodes, _LONG_COEFFICIENT, None), None) is not None


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


def vanishes(c: sympy.Expr, summands: list[sympy.Expr]) -> bool:
    """Whether a sum is zero; numbers are judged by the largest of their summands."""
    if len(summands) > 1 and c.has(sympy.Float):
        largest = max(sympy.Abs(x.evalf(15)) for x in summands)
        return bool(sympy.Abs(c.evalf(15)) < _CANCELLED * largest)
    return is_zero(c)

"""Exact sympy numbers: zero tests, signs, and simplification."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

import sympy

from spectra.errors import SpectraError

__all__ = [
    "ExpansionError", "MoreTermsNeeded", "as_float", "exponential", "is_zero", "sign", "simplify",
    "sum_is_zero",
]  # fmt: skip

# Decimal digits to which a number is evaluated if sympy cannot decide whether it is zero.
_DIGITS = 60
# A rational number of n digits may approximate the rest of a sum to 2n digits.  The zero test
# therefore compares _EXTRA_DIGITS digits, plus 2n for every rational with n > _LONG.
_LONG, _EXTRA_DIGITS = 12, 45
# A sum evaluated to 15 digits is not zero if it exceeds this fraction of its largest summand.
_NONZERO_RATIO = sympy.Float(10, 15) ** -6
# Exact coefficients with more nodes than this are replaced by Floats, since their products grow.
_MAX_NODES = 60
# Decimal digits of these Floats; a sum of them is 0 below this fraction of its largest summand.
_FLOAT_DIGITS, _CANCELLED_RATIO = 200, sympy.Float(10, 30) ** -100
# A Float below this may be the rounding error of a sum that is zero.
_SMALLEST_FLOAT = sympy.Float(10, 30) ** -90
# Sympy evaluates exp(n log 2) to the integer 2^n: in milliseconds up to this exponent n log 2.
_MAX_EXPONENT = 1e5


class ExpansionError(SpectraError):
    """A formula has no asymptotic expansion at this point, or none that is implemented."""


class MoreTermsNeeded(ExpansionError):
    """An expansion has too few terms; a larger ``window`` of ``expand_at`` may suffice."""


@lru_cache(maxsize=20_000)
def is_zero(c: sympy.Expr) -> bool:
    """Whether an exact number is zero: exactly if sympy can decide it, else from its digits.

    A rational number of n digits can agree with another number to about 2n digits, so a number
    counts as zero if it vanishes to 45 digits more than twice the digits of its long rationals.
    """
    if c.is_Number and (c == 0 or not c.is_Float):
        return bool(c == 0)
    if c.has(sympy.Float):
        if sympy.Abs(c.evalf(15)) < _SMALLEST_FLOAT:
            raise ExpansionError(f"a coefficient of size {sympy.Abs(c.evalf(3))} may be zero")
        return False
    # The fast test comes first, since sympy's exact test of a long sum can take minutes.
    estimate = sympy.Abs(c.evalf(15, maxn=60))
    if estimate.is_Number and estimate > _NONZERO_RATIO * _largest_summand(c):
        return False
    decided = c.is_zero
    if decided is not None:
        return bool(decided)
    lengths = [len(str(q.p)) + len(str(q.q)) for q in c.atoms(sympy.Rational)]
    digits = _EXTRA_DIGITS + 2 * sum(n for n in lengths if n > _LONG)
    value = sympy.Abs(c.evalf(_DIGITS, maxn=max(digits, 2 * _DIGITS)))
    if not value.is_number or value.has(sympy.nan, sympy.zoo):
        raise ExpansionError(f"the coefficient {c} could not be evaluated")
    bound = sympy.Float(10, 30) ** -digits
    return bool(value < bound * max(sympy.Integer(1), _largest_summand(c)))


def exponential(x: sympy.Expr) -> sympy.Expr:
    """exp(x) of an exact number x; an error if sympy might evaluate it to a huge integer."""
    if not x.is_Number and sympy.Abs(x.evalf(15)) > _MAX_EXPONENT:
        raise ExpansionError(f"a number of size exp({x.evalf(3)}) is too large to evaluate")
    return sympy.exp(x)


def simplify(c: sympy.Expr) -> sympy.Expr:
    """Expand a coefficient; evaluate it to 200 digits if its expression is long or has Floats."""
    if c.is_Number:
        return c
    if not _is_long(c):
        c = sympy.expand(c)
    if c.is_Number or not (_is_long(c) or c.has(sympy.Float)):
        return c
    if not c.has(sympy.Float) and is_zero(c):
        return sympy.Integer(0)
    return as_float(c)


def as_float(c: sympy.Expr) -> sympy.Expr:
    """A coefficient to 200 digits."""
    return c.evalf(_FLOAT_DIGITS, maxn=2 * _FLOAT_DIGITS, chop=True)


def _is_long(c: sympy.Expr) -> bool:
    nodes = sympy.preorder_traversal(c)
    return next(islice(nodes, _MAX_NODES, None), None) is not None


def _largest_summand(c: sympy.Expr) -> sympy.Expr:
    return max((abs(a.evalf(15)) for a in sympy.Add.make_args(c)), default=sympy.Integer(1))


@lru_cache(maxsize=20_000)
def sign(c: sympy.Expr) -> int:
    """The sign of the real part of an exact number."""
    real = sympy.re(c) if c.has(sympy.I) else c
    if is_zero(real):
        return 0
    if real.is_positive is not None and real.is_extended_real:
        return 1 if real.is_positive else -1
    return 1 if real.evalf(30) > 0 else -1


def sum_is_zero(total: sympy.Expr, summands: list[sympy.Expr]) -> bool:
    """Whether a sum is zero; a sum with Floats is compared with its largest summand."""
    if len(summands) > 1 and total.has(sympy.Float):
        largest = max(sympy.Abs(x.evalf(15)) for x in summands)
        return bool(sympy.Abs(total.evalf(15)) < _CANCELLED_RATIO * largest)
    return is_zero(total)

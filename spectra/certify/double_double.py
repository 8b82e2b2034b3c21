"""Sums and products of arrays to twice the digits of a double, with their errors.

A number is a pair of doubles (high, low) whose sum it is.  Each operation here is right to
:data:`STEP` of its result (Joldes, Muller and Popescu, ACM Trans. Math. Softw. 44 (2017) 15,
algorithms 6 and 10, the exact product by Dekker's splitting), away from the ends of the range.
"""

from __future__ import annotations

from collections.abc import Sequence

from spectra.table.arrays import FloatArray

__all__ = ["STEP", "Pair", "plus", "polynomial", "times", "two_sum"]

Pair = tuple[FloatArray, FloatArray]

#: Relative error of an operation: 8 of the squares of a half unit in the last place.
STEP = 2.0**-103
# Dekker's factor, which splits 53 bits into halves.
_SPLIT = 2.0**27 + 1.0


def two_sum(a: FloatArray, b: FloatArray) -> Pair:
    """a + b as a pair, exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _quick_two_sum(a: FloatArray, b: FloatArray) -> Pair:
    s = a + b
    return s, b - (s - a)


def _split(a: FloatArray) -> Pair:
    c = _SPLIT * a
    high = c - (c - a)
    return high, a - high


def _two_product(a: FloatArray, b: FloatArray) -> Pair:
    p = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def plus(a: Pair, b: Pair) -> Pair:
    """The sum of two pairs."""
    (s, t), (v, w) = two_sum(a[0], b[0]), two_sum(a[1], b[1])
    s, t = _quick_two_sum(s, t + v)
    return _quick_two_sum(s, t + w)


def times(a: Pair, b: Pair) -> Pair:
    """The product of two pairs."""
    p, e = _two_product(a[0], b[0])
    return _quick_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


def polynomial(coefficients: Sequence[Pair], x: Pair, start: Pair) -> Pair:
    """Horner's rule, lowest power first, ``start`` being the sum of the powers that follow.

    Its error is at most 2 n STEP times the polynomial of the absolute values, to first order.
    """
    total = start
    for c in reversed(coefficients):
        total = plus(times(total, x), c)
    return total

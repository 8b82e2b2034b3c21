r"""Moments of a function on [0, 1] by the double-exponential rule, in integers of many bits.

With :math:`x = 1/(1 + e^{-\pi\sinh t})` a function that is analytic inside and has algebraic ends
becomes one that decays doubly exponentially, for which the trapezoidal rule doubles its digits
with every halving of its step (H. Takahasi and M. Mori, Publ. RIMS Kyoto Univ. 9, 1974, 721-741).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from spectra.errors import AccuracyError

__all__ = ["moment_stream"]

Points = NDArray[np.object_]

# Half the width of the strip in which the transformed integrand is taken to be analytic at first;
# at most pi/2.
_FIRST_STRIP = 1.2
_MOST_HALVINGS = 5
# Moments up to this share of the bits decide on the step; an ascending series of so many bits has
# its largest terms there.  Each further one states its own error.
_TESTED_SHARE = 4
_GUARD_BITS = 40
# What formulas may lose near the ends, in bits for each bit of the distance to the end.
_LOST_AT_ENDS = 4


def moment_stream(
    function: Callable[[Any], Any], first: int, bits: int, *, exponent: float = 0.0
) -> Iterator[tuple[int, int]]:
    r"""Integrals of x^(first-1+2n) times a function over [0, 1], n = 0, 1, ..., times 2^bits.

    Parameters
    ----------
    function : callable
        Takes x in (0, 1) as an mpmath number at the working precision; bounded at x = 0.
    first : int
        The power of x of the first moment plus one, at least 1.
    bits : int
        Binary digits after the point.
    exponent : float
        The function behaves like (1 - x)^exponent at 1, exponent > -1.

    Yields
    ------
    value, error : int
        The error holds rounding and the estimate of the rule's error, which is the square of what
        the last halving changed.

    Raises
    ------
    AccuracyError
        Where halving the step does not bring the digits.

    Examples
    --------
    >>> stream = moment_stream(lambda x: 1 - x, 1, 64)
    >>> value, error = next(stream)
    >>> abs(value - 2**63) <= error + 1 < 2**8
    True
    """
    step = 2.0 * math.pi * _FIRST_STRIP / (bits * math.log(2.0))
    rule = _Rule(function, first, bits + _GUARD_BITS, step, min(exponent, 0.0))
    weighted, squares = rule.points()
    for _ in range(_MOST_HALVINGS):
        error = _largest_error(weighted, squares, rule.work, bits // _TESTED_SHARE)
        if error <= len(weighted) << _GUARD_BITS // 2:
            return _stream(weighted, squares, bits)
        weighted, squares = rule.halved(weighted, squares)
    raise AccuracyError(
        f"The moments of a formula on its support did not settle: {len(weighted)} points leave "
        f"an error of {float(mpmath.ldexp(error, -rule.work)):.1e}. The formula has a singularity "
        "inside its support, or oscillates too fast: cut it there into a sum of pieces."
    )


def _stream(weighted: Points, squares: Points, bits: int) -> Iterator[tuple[int, int]]:
    work = bits + _GUARD_BITS
    n = 0
    while True:
        value = int(weighted.sum())
        error = _squared(value - 2 * int(weighted[::2].sum()), work)
        error += len(weighted) * (2 * n + 4)
        yield value >> _GUARD_BITS, (error >> _GUARD_BITS) + 2
        weighted = weighted * squares >> work
        n += 1


def _squared(change: int, work: int) -> int:
    """The error left after a halving that changed so much: the rule doubles its digits."""
    return 16 * change * change >> work


def _largest_error(weighted: Points, squares: Points, work: int, last: int) -> int:
    """Largest error of the moments 0, 1, 2, 4, 8, ... up to ``last``."""
    worst = 0
    terms, factor = weighted, squares
    for _ in range(last.bit_length() + 1):
        change = int(terms.sum()) - 2 * int(terms[::2].sum())
        worst = max(worst, _squared(change, work))
        terms = weighted * factor >> work
        factor = factor * factor >> work
    return worst


class _Rule:
    """Points of the trapezoidal rule, which halves its step and keeps what it has."""

    def __init__(
        self, function: Callable[[Any], Any], first: int, work: int, step: float, exponent: float
    ) -> None:
        self.work = work
        self._function = function
        self._first = first
        tail = (work + 16) * math.log(2.0)
        self._step = step
        self._low = -2 * (int(math.asinh(tail / (first * math.pi)) / (2.0 * step)) + 1)
        self._high = int(math.asinh(tail / ((1.0 + exponent) * math.pi)) / step) + 1

    def points(self) -> tuple[Points, Points]:
        """Weights times values times x^(first-1), and x^2, in units of 2^-work."""
        return self._at(range(self._low, self._high + 1))

    def halved(self, weighted: Points, squares: Points) -> tuple[Points, Points]:
        """The same with the points between the old ones added."""
        self._step, self._low, self._high = 0.5 * self._step, 2 * self._low, 2 * self._high
        new_weighted, new_squares = self._at(range(self._low + 1, self._high, 2))
        both = np.empty((2, len(weighted) + len(new_weighted)), dtype=object)
        # Weights hold the step.
        both[0, ::2], both[0, 1::2] = weighted // 2, new_weighted
        both[1, ::2], both[1, 1::2] = squares, new_squares
        return both[0], both[1]

    def _at(self, indices: range) -> tuple[Points, Points]:
        weighted, squares = [], []
        with mpmath.workprec(self.work + 24):
            h = mpmath.mpf(self._step)
            for k in indices:
                grown = mpmath.exp(k * h)
                half_u = mpmath.pi * (grown - 1 / grown) / 4
                down = mpmath.exp(-2 * abs(half_u))
                near, far = down / (1 + down), 1 / (1 + down)
                near_bits = max(0, -mpmath.mag(near))
                with mpmath.workprec(self.work + 24 + (_LOST_AT_ENDS + 1) * near_bits):
                    x = near if k < 0 else 1 - near
                    value = self._function(x)
                if not mpmath.isfinite(value):
                    raise AccuracyError(
                        f"A formula has no finite value at {mpmath.nstr(x, 8)} of its support, so "
                        "its moments are not known. Check the formula there."
                    )
                weight = h * mpmath.pi * (grown + 1 / grown) / 2 * near * far
                power = x ** (self._first - 1)
                weighted.append(int(mpmath.ldexp(weight * value * power, self.work)))
                squares.append(int(mpmath.ldexp(x * x, self.work)))
        return np.array(weighted, dtype=object), np.array(squares, dtype=object)

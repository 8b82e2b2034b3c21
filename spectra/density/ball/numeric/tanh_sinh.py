r"""Moments of a function on [0, 1] by the double-exponential rule, in ball arithmetic.

With :math:`x = (1 + \tanh(\frac{\pi}{2}\sinh t))/2` a function that is analytic inside and has
algebraic ends becomes one that decays doubly exponentially, for which the trapezoidal rule doubles
its digits with every halving of its step (H. Takahasi and M. Mori, Publ. RIMS Kyoto Univ. 9, 1974,
721-741).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import flint
import mpmath
import numpy as np
from mpmath.calculus.quadrature import TanhSinh
from numpy.typing import NDArray

from spectra.base.precision import Ball, working
from spectra.errors import AccuracyError

__all__ = ["moment_stream"]

Points = NDArray[np.object_]

# Steps 2^-n that are tried in turn.
_STEPS = range(1, 11)
# Moments up to this share of the bits decide on the step; an ascending series of so many bits has
# its largest terms there.  Each further one states its own error.
_TESTED_SHARE = 4
_GUARD_BITS = 40

_RULE = TanhSinh(mpmath.mp)


def moment_stream(function: Callable[[Ball], Ball], first: int, bits: int) -> Iterator[Ball]:
    r"""Integrals of x^(first-1+2n) times a function over [0, 1], n = 0, 1, ...

    Parameters
    ----------
    function : callable
        Values at an exact x in (0, 1), in balls of Arb's precision; bounded.
    first : int
        The power of x of the first moment plus one, at least 1.
    bits : int
        Binary digits after the point.

    Yields
    ------
    arb
        Its ball holds rounding and the estimate of the rule's error, which is the square of what
        the last halving changed.

    Raises
    ------
    AccuracyError
        Where halving the step does not bring the digits.

    Examples
    --------
    >>> value = next(moment_stream(lambda x: 1 - x, 1, 64))
    >>> bool(abs(value - 0.5) < 2.0**-56)
    True
    """
    work = bits + _GUARD_BITS
    weighted = squares = np.empty(0, dtype=object)
    with working(work):
        for n in _STEPS:
            before = len(weighted)
            more = _points(function, first, n, work)
            weighted, squares = np.concatenate([[weighted, squares], more], axis=1)
            step = flint.arb(2) ** -n
            error = _largest_error(weighted, squares, before, step, bits // _TESTED_SHARE)
            if error < len(weighted) * flint.arb(2) ** (_GUARD_BITS // 2 - work):
                return _stream(weighted, squares, before, step, work)
    raise AccuracyError(
        f"The moments of a formula on its support did not settle: {len(weighted)} points leave "
        f"an error of {float(error):.1e}. The formula has a singularity inside its support, or "
        "oscillates too fast: cut it there into a sum of pieces."
    )


def _stream(
    weighted: Points, squares: Points, before: int, step: Ball, work: int
) -> Iterator[Ball]:
    while True:
        with working(work):
            value, error = _sum(weighted, before, step)
            value += flint.arb(0, error)
            weighted = weighted * squares
        yield value


def _sum(weighted: Points, before: int, step: Ball) -> tuple[Ball, Ball]:
    """The sum, and its error: the rule doubles its digits with the last halving."""
    value, old = step * weighted.sum(), 2 * step * sum(weighted[:before], flint.arb(0))
    return value, 16 * abs(value - old).upper() ** 2


def _largest_error(weighted: Points, squares: Points, before: int, step: Ball, last: int) -> Ball:
    """Largest error of the moments 0, 1, 2, 4, 8, ... up to ``last``."""
    errors, factor = [], squares
    for _ in range(last.bit_length() + 1):
        errors.append(_sum(weighted, before, step)[1])
        weighted, factor = weighted * factor, factor * factor
    return max(errors)


def _points(function: Callable[[Ball], Ball], first: int, n: int, work: int) -> Points:
    """Weights times values times x^(first-1), and x^2, at the points that the step 2^-n adds."""
    weighted, squares = [], []
    for x, weight in _RULE.get_nodes(0, 1, n, work):
        place = flint.arb(x).mid()
        value = function(place)
        if not value.is_finite():
            raise AccuracyError(
                f"A formula has no finite value at {mpmath.nstr(x, 8)} of its support, so "
                "its moments are not known. Check the formula there."
            )
        weighted.append(flint.arb(weight) * value * place ** (first - 1))
        squares.append(place * place)
    return np.array([weighted, squares], dtype=object)

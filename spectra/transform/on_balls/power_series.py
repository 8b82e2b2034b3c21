r"""Power series of a function at the end of an interval, from its values on the interval alone.

Values at Chebyshev nodes give a Chebyshev series, and the shifted polynomials have integer
coefficients: in integers of enough bits their sum is the power series, whatever cancels.  No value
beyond the end is asked for, so that branch cuts there do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from spectra.errors import AccuracyError

__all__ = ["power_series"]

# Shifted Chebyshev polynomials of degree n have coefficients up to (3 + 8^(1/2))^n.
_BITS_PER_DEGREE = 2.55
_GUARD_BITS = 48
# Numbers of nodes that are tried in turn.  A function analytic in a disk of twice the interval
# takes 130 of them for 320 bits.
_NODES = (72, 136, 200, 264)
_MOST_NODES = 520
# So many coefficients are known to this many bits, in units of the interval.  The expansions that
# are made of them end, or are at their least term, before.
_EXACT_TERMS = 64
_EXACT_BITS = 120
# How often the interval is halved: a singularity near by asks for a short one.
_SHRINKINGS = 6
_LAST = 6


def power_series(
    function: Callable[[Any], Any],
    count: int,
    *,
    reach: float = 0.5,
    bits: int = 320,
    lost: float = 0.0,
) -> list[Any]:
    r"""Coefficients c_0, ..., c_(count-1) of a function that is analytic on [0, reach].

    Parameters
    ----------
    function : callable
        Takes and returns mpmath numbers, at the working precision; it is never asked at 0.
    count : int
        How many coefficients.
    reach : float
        End of the interval; it is shortened where the Chebyshev series does not end to ``bits``.
    bits : int
        The first coefficients carry so many bits.
    lost : float
        Bits that the values lose to cancellation for each bit of 1/y: the order of a zero that
        was divided out.

    Raises
    ------
    AccuracyError
        Where the series ends on no interval: the function is not analytic at 0.

    Examples
    --------
    >>> [float(c) for c in power_series(lambda y: 1 / (1 - y), 3)]
    [1.0, 1.0, 1.0]
    """
    left = size = 0
    most = _MOST_NODES if count > _NODES[-1] else _NODES[-1]
    for _ in range(_SHRINKINGS):
        wanted = 0.0
        for nodes in (*_NODES, _MOST_NODES):
            if nodes < wanted:
                continue
            if nodes > most:
                break
            precision = math.ceil(bits + _BITS_PER_DEGREE * nodes + _GUARD_BITS)
            extra = math.ceil(2.0 * lost * math.log2(4 * nodes))
            series = _chebyshev(function, nodes, reach, precision, extra)
            size = max(abs(a) for a in series)
            left = max(abs(a) for a in series[-_LAST:])
            amplified = left * _coefficient(nodes, min(count, nodes, _EXACT_TERMS) - 1)
            if left << bits <= size and amplified << _EXACT_BITS <= size:
                return _monomials(series, count, reach, precision)
            # Coefficients decay geometrically: most intervals are known to be too long at once.
            wanted = bits * nodes / max(1, size.bit_length() - left.bit_length() + 2)
        reach *= 0.5
    raise AccuracyError(
        "A function has no power series at the end of an interval: its Chebyshev coefficients on "
        f"the shortest interval tried leave {float(mpmath.mpf(left) / max(size, 1)):.1e} of its "
        "size. It is not analytic there, or has a singularity very close."
    )


def _coefficient(degree: int, power: int) -> int:
    """Size of the coefficient of y^power in the Chebyshev polynomial of [0, 1] of this degree."""
    ways = math.comb(degree + power, 2 * power)
    return int(2 * degree * ways * 4**power // (degree + power)) + 1


def _chebyshev(
    function: Callable[[Any], Any], nodes: int, reach: float, precision: int, extra: int
) -> list[int]:
    """Chebyshev coefficients on [0, reach], times 2^precision."""
    with mpmath.workprec(precision + 32):
        first = int(mpmath.ldexp(mpmath.cos(mpmath.pi / (2 * nodes)), precision + 32))
    # cos(k x) by its recursion, whose rounding errors grow like k^2.
    table = [1 << precision + 32, first]
    for _ in range(4 * nodes - 2):
        table.append((2 * first * table[-1] >> precision + 32) - table[-2])
    whole = np.array([c >> 32 for c in table], dtype=object)
    with mpmath.workprec(precision + 16):
        half = mpmath.mpf(reach) / 2
        points = [
            half + half * mpmath.ldexp(mpmath.mpf(table[2 * i + 1]), -precision - 32)
            for i in range(nodes)
        ]
    with mpmath.workprec(precision + extra + 16):
        raw = [function(y) for y in points]
        if not all(mpmath.isfinite(v) for v in raw):
            raise AccuracyError(
                "A function has no finite value close to the end of an interval, so it has no "
                "power series there."
            )
        values = np.array([int(mpmath.ldexp(v, precision)) for v in raw], dtype=object)
    odd = 2 * np.arange(nodes) + 1
    series = []
    for k in range(nodes):
        total = int(np.dot(whole[(odd * k) % (4 * nodes)], values)) >> precision
        series.append((2 if k else 1) * total // nodes)
    return series


def _monomials(series: list[int], count: int, reach: float, precision: int) -> list[Any]:
    """Coefficients of y^j of a Chebyshev series on [0, reach]."""
    before = np.array([0] * count, dtype=object)
    now = np.array([0] * count, dtype=object)
    before[0] = 1
    now[0] = -1
    if count > 1:
        now[1] = 2
    total = series[0] * before + series[1] * now
    for a in series[2:]:
        following = -2 * now - before
        following[1:] += 4 * now[:-1]
        before, now = now, following
        total = total + a * now
    with mpmath.workprec(precision):
        scale = 1 / mpmath.mpf(reach)
        return [
            mpmath.ldexp(mpmath.mpf(int(c)), -precision) * scale**j for j, c in enumerate(total)
        ]

r"""Power series of a function at the end of an interval, from its values on the interval alone.

Values at Chebyshev nodes give a Chebyshev series, and the shifted polynomials have integer
coefficients: in enough bits their sum is the power series, whatever cancels.  No value beyond the
end is asked for, so that branch cuts there do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import flint

from spectra.base.precision import Ball, log_of, working
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
# The end of the first interval, and how often it is halved: a singularity near by asks for a short
# one.
_REACH, _SHRINKINGS = 0.5, 6
_LAST = 6


def power_series(
    function: Callable[[Ball], Ball],
    count: int,
    *,
    bits: int = 320,
) -> list[Ball]:
    r"""Coefficients c_0, ..., c_(count-1) of a function that is analytic next to 0.

    Parameters
    ----------
    function : callable
        Values at exact numbers, in balls of Arb's precision; it is never asked at 0.
    count : int
        How many coefficients.
    bits : int
        The first coefficients carry so many bits.

    Returns
    -------
    list of arb
        Exact numbers, which are not proved to be the coefficients.

    Raises
    ------
    AccuracyError
        Where the series ends on no interval: the function is not analytic at 0.

    Examples
    --------
    >>> [round(float(c), 15) for c in power_series(lambda y: 1 / (1 - y), 3)]
    [1.0, 1.0, 1.0]
    """
    left, reach = 1.0, _REACH
    most = _MOST_NODES if count > _NODES[-1] else _NODES[-1]
    for _ in range(_SHRINKINGS):
        wanted = 0.0
        for nodes in (*_NODES, _MOST_NODES):
            if nodes < wanted:
                continue
            if nodes > most:
                break
            precision = math.ceil(bits + _BITS_PER_DEGREE * nodes + _GUARD_BITS)
            with working(precision):
                series = _chebyshev(function, nodes, reach)
                left = max(abs(a).upper() for a in series[-_LAST:])
                left /= max(abs(a).upper() for a in series)
                amplified = left * _coefficient(nodes, min(count, nodes, _EXACT_TERMS) - 1)
                if left <= 2.0**-bits and amplified <= 2.0**-_EXACT_BITS:
                    return _monomials(series, count, reach)
                # Coefficients decay geometrically: most intervals are known to be too long at once.
                wanted = bits * nodes / max(1.0, 2.0 - log_of(left) / math.log(2.0))
        reach *= 0.5
    raise AccuracyError(
        "A function has no power series at the end of an interval: its Chebyshev coefficients on "
        f"the shortest interval tried leave {float(left):.1e} of its size. It is not analytic "
        "there, or has a singularity very close."
    )


def _coefficient(degree: int, power: int) -> int:
    """Size of the coefficient of y^power in the Chebyshev polynomial of [0, 1] of this degree."""
    ways = math.comb(degree + power, 2 * power)
    return int(2 * degree * ways * 4**power // (degree + power)) + 1


def _chebyshev(function: Callable[[Ball], Ball], nodes: int, reach: float) -> list[Ball]:
    """Chebyshev coefficients on [0, reach], by the Fourier transform of four times the nodes."""
    values = [flint.acb(0)] * (4 * nodes)
    for i in range(nodes):
        cosine = flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 2 * nodes))
        value = function(((1 + cosine) * reach / 2).mid())
        if not value.is_finite():
            raise AccuracyError(
                "A function has no finite value close to the end of an interval, so it has no "
                "power series there."
            )
        values[2 * i + 1] = values[-2 * i - 1] = flint.acb(value)
    found = [a.real / nodes for a in flint.acb.dft(values)[:nodes]]
    return [found[0] / 2, *found[1:]]


def _monomials(series: Sequence[Ball], count: int, reach: float) -> list[Ball]:
    """Coefficients of y^j of a Chebyshev series on [0, reach], by Clenshaw's recursion."""
    twice = flint.arb_poly([-2, 4 / flint.arb(reach)])
    now = before = flint.arb_poly([])
    for a in reversed(series[1:]):
        now, before = (a + twice * now - before).truncate(count), now
    total = series[0] + flint.arb(0.5) * twice * now - before
    return [total[j].mid() for j in range(count)]

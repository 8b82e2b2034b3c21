"""Polynomials through the values of a function at Chebyshev points of an interval [0, reach].

The function is only called on the open interval, so branch cuts beyond its ends do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import flint

from spectra.base.precision import Ball, log_of, working
from spectra.errors import AccuracyError

__all__ = ["interpolate", "power_series"]

Function = Callable[[Ball], Ball]

# Monomials cancel in a Chebyshev polynomial of degree n on [0, 1] by up to (3 + 8^(1/2))^n.
_BITS_PER_DEGREE, _SPARE_BITS = 2.55, 48
# Numbers of nodes, and how often the interval [0, 1/2] is halved: a function analytic in the unit
# disc needs 136 nodes for so many bits.
_NODES, _REACH, _SHRINKINGS = (72, 136, 200, 264), 0.5, 6
_SERIES_BITS = 350


def power_series(function: Function, count: int) -> list[Ball]:
    """The first coefficients of a function that is analytic next to 0, not proved.

    Raises
    ------
    AccuracyError
        If the function is not analytic at 0, or has a singularity very near.

    Examples
    --------
    >>> [round(float(c), 15) for c in power_series(lambda y: 1 / (1 - y), 3)]
    [1.0, 1.0, 1.0]
    """
    reach = _REACH
    for _ in range(_SHRINKINGS):
        for nodes in _NODES:
            poly, last, largest = interpolate(function, nodes, reach, _SERIES_BITS)
            left_out = last / largest
            if left_out <= 2.0**-_SERIES_BITS:
                return [poly[j].mid() for j in range(count)]
            # Coefficients decay geometrically: more nodes may be known to be too few.
            if nodes * _SERIES_BITS > -1.45 * log_of(left_out) * _NODES[-1]:
                break
        reach *= 0.5
    raise AccuracyError(
        "A formula on a ball has no power series at one of its ends, or a complex singularity "
        f"very near: a polynomial of degree {_NODES[-1]} on a short interval misses "
        f"{float(left_out):.1e} of its size. Write the kernel as a sum of simpler ones."
    )


def interpolate(function: Function, nodes: int, reach: Ball, bits: int) -> tuple[Ball, Ball, Ball]:
    """The polynomial through values at Chebyshev nodes of [0, reach], and its remainder.

    Parameters
    ----------
    function : callable
        Values at exact numbers, as balls.
    nodes : int
        The degree of the polynomial plus one.
    reach : float or ball
        The end of the interval.
    bits : int
        Relative accuracy wanted of the values of the polynomial.

    Returns
    -------
    poly : flint.arb_poly
    last, largest : ball
        The size of the last Chebyshev coefficients, and of the largest one.
    """
    with working(int(bits + _BITS_PER_DEGREE * nodes + _SPARE_BITS)):
        reach = flint.arb(reach)
        values = [flint.acb(0)] * (4 * nodes)
        for i in range(nodes):
            cosine = flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 2 * nodes))
            value = function(((1 + cosine) * reach / 2).mid())
            if not value.is_finite():
                raise AccuracyError(
                    "A formula on a ball has no finite value at some distance inside its support."
                )
            values[2 * i + 1] = values[-2 * i - 1] = flint.acb(value.mid())
        series = [a.real / nodes for a in flint.acb.dft(values)[:nodes]]
        series[0] /= 2
        sizes = [abs(a).upper() for a in series]
        return _monomials(series, reach), max(sizes[-6:]), max(sizes)


def _monomials(series: Sequence[Ball], reach: Ball) -> Ball:
    """The polynomial of a Chebyshev series on [0, reach], by Clenshaw's recursion."""
    twice = flint.arb_poly([-2, 4 / reach])
    now = before = flint.arb_poly([])
    for a in reversed(series[1:]):
        now, before = a + twice * now - before, now
    total = series[0] + flint.arb(0.5) * twice * now - before
    return flint.arb_poly([total[j].mid() for j in range(len(series))])

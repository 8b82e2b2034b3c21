"""Polynomials on [0, 1] through the values of a function at Chebyshev points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import flint

from spectra.base.precision import Ball, working

__all__ = ["interpolate", "monomials"]

Function = Callable[[Ball], Ball]

# Monomials cancel in a Chebyshev polynomial of degree n on [0, 1] by up to (3 + 8^(1/2))^n.
_BITS_PER_DEGREE, _SPARE_BITS = 2.55, 48


def interpolate(function: Function, nodes: int, bits: int) -> tuple[Ball, Ball, Ball]:
    """The polynomial through values at Chebyshev nodes of [0, 1], and its remainder.

    Returns
    -------
    poly : flint.arb_poly
    last, largest : ball
        The size of the last Chebyshev coefficients, and of the largest one.
    """
    with working(int(bits + _BITS_PER_DEGREE * nodes + _SPARE_BITS)):
        values = [flint.acb(0)] * (4 * nodes)
        for i in range(nodes):
            cosine = flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 2 * nodes))
            value = function(((1 + cosine) / 2).mid())
            values[2 * i + 1] = values[-2 * i - 1] = flint.acb(value.mid())
        series = [a.real / nodes for a in flint.acb.dft(values)[:nodes]]
        series[0] /= 2
        sizes = [abs(a).upper() for a in series]
        return monomials(series), max(sizes[-6:]), max(sizes)


def monomials(series: Sequence[Ball]) -> Ball:
    """The polynomial of a Chebyshev series on [0, 1], by Clenshaw's recursion."""
    twice = flint.arb_poly([-2, 4])
    now = before = flint.arb_poly([])
    for a in reversed(series[1:]):
        now, before = a + twice * now - before, now
    total = series[0] + flint.arb_poly([-1, 2]) * now - before
    return flint.arb_poly([total[j].mid() for j in range(len(series))])

r"""The largest value of an analytic function on a segment, proved from its values at nodes.

A function g that is analytic and at most M in the Bernstein ellipse of parameter r around [-1, 1]
is a polynomial of degree n up to :math:`\epsilon = 2Mr^{-n}/(r-1)`, and a polynomial of degree n
is nowhere on [-1, 1] larger than :math:`\sqrt2` times its largest value at the 2n zeros of the
Chebyshev polynomial of degree 2n (Ehlich and Zeller, Math. Z. 86 (1964) 41-44), so that

.. math:: \max_{[-1,1]}|g| \le \sqrt2\,\max_i |g(t_i)| + (1+\sqrt2)\,\epsilon .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import flint

from spectra.certify.balls import Ball, precision

__all__ = ["chebyshev_poly", "chosen_nodes", "largest_on_segment"]

#: n, and an upper bound of the distance to a polynomial of that degree.
Nodes = tuple[int, Ball]

# The parameters that are tried, as fractions of 4.
_ELLIPSES = (32, 24, 16, 12, 10, 8, 7, 6, 5)
_MOST_DEGREE = 400
# A bound needs no more bits.
_BOUND_BITS = 64


@cache
def _zeros(count: int, bits: int) -> list[Ball]:
    """The zeros of the Chebyshev polynomial of a degree."""
    assert bits == flint.ctx.prec
    return [flint.arb.cos_pi(flint.arb(2 * i + 1) / (2 * count)) for i in range(count)]


def chosen_nodes(bound: Callable[[Ball], Ball], goal: Ball) -> Nodes | None:
    """The fewest nodes at which no more than ``goal`` stays unseen, or None: hundreds do not do.

    Parameters
    ----------
    bound : callable
        ``bound(r)`` is an upper bound of |g| in the ellipse of parameter r, whose half-axes are
        (r + 1/r)/2 and (r - 1/r)/2; infinite where there is none.
    goal : arb

    Examples
    --------
    >>> nodes = chosen_nodes(lambda r: ((r + 1 / r) / 2).exp(), flint.arb(2.0**-60))
    >>> 15 < nodes[0] < 30                                      # exp is nearly a polynomial
    True
    >>> 2.718 < float(largest_on_segment(lambda t: t.exp(), nodes)) < 3.9
    True
    """
    best: Nodes | None = None
    with precision(_BOUND_BITS):
        for quarters in _ELLIPSES:
            r = flint.arb(quarters) / 4
            size = bound(r)
            if not size.is_finite():
                continue
            front = 2 * size.abs_upper() / (r - 1)
            degree = 2
            if not front < goal:
                degree += int(float(((front / goal).log() / r.log()).abs_upper()))
            if degree <= _MOST_DEGREE and (best is None or degree < best[0]):
                best = degree, (front * r**-degree).abs_upper()
    return best


def largest_on_segment(value: Callable[[Ball], Ball], nodes: Nodes) -> Ball:
    """Upper bound of |g| on [-1, 1] from g(t), or bounds of |g(t)|, at its nodes."""
    (degree, unseen), root, seen = nodes, flint.arb(2).sqrt(), flint.arb(0)
    for t in _zeros(2 * degree, flint.ctx.prec):
        seen = seen.max(abs(value(t)).abs_upper())
    return (root * seen + (1 + root) * unseen).abs_upper()


def chebyshev_poly(coefficients: Sequence[float | Ball]) -> Ball:
    """The power form of a Chebyshev series, without rounding beyond the working precision.

    Examples
    --------
    >>> [float(c) for c in chebyshev_poly([1.0, 2.0, 3.0]).coeffs()]
    [-2.0, 2.0, 6.0]
    """
    terms = (
        flint.arb_poly(flint.fmpz_poly.chebyshev_t(k)) * flint.arb(c)
        for k, c in enumerate(coefficients)
    )
    return sum(terms, flint.arb_poly([0]))

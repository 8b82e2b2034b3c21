r"""The largest value of an analytic function on a segment, proved from its values at nodes.

A function g that is analytic and at most M in the Bernstein ellipse of parameter r around [-1, 1]
is a polynomial of degree n up to :math:`\epsilon = 2Mr^{-n}/(r-1)`, and a polynomial of degree n
is nowhere on [-1, 1] larger than :math:`\sqrt2` times its largest value at the 2n zeros of the
Chebyshev polynomial of degree 2n (Ehlich and Zeller, Math. Z. 86 (1964) 41-44), so that

.. math:: \max_{[-1,1]}|g| \le \sqrt2\,\max_i |g(t_i)| + (1+\sqrt2)\,\epsilon .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from spectra.certify.balls import Ball, flint, precision

__all__ = ["Nodes", "chebyshev_poly", "chosen_nodes"]

# The parameters that are tried, as fractions of 4.
_ELLIPSES = (32, 24, 16, 12, 10, 8, 7, 6, 5)
_MOST_DEGREE = 400
# A bound needs no more bits.
_BOUND_BITS = 64


@dataclass(frozen=True)
class Nodes:
    """Where a function must be known, and what is not seen there.

    Attributes
    ----------
    degree : int
        n.
    unseen : arb
        Upper bound of the distance to a polynomial of that degree.
    """

    degree: int
    unseen: Ball

    @property
    def places(self) -> list[Ball]:
        """The zeros of the Chebyshev polynomial of degree 2n."""
        return _zeros(2 * self.degree, flint.ctx.prec)

    def largest(self, seen: Ball) -> Ball:
        """Upper bound on the segment of a function that is at most ``seen`` at the places."""
        root = flint.arb(2).sqrt()
        return (root * seen + (1 + root) * self.unseen).abs_upper()


@cache
def _zeros(count: int, bits: int) -> list[Ball]:
    assert bits == flint.ctx.prec
    return [flint.arb.cos_pi(flint.arb(2 * i + 1) / (2 * count)) for i in range(count)]


def chosen_nodes(bound: Callable[[Ball], Ball | None], goal: Ball) -> Nodes | None:
    """The fewest nodes at which no more than ``goal`` stays unseen, or None: hundreds do not do.

    Parameters
    ----------
    bound : callable
        ``bound(r)`` is an upper bound of |g| in the ellipse of parameter r, whose half-axes are
        (r + 1/r)/2 and (r - 1/r)/2; None where there is none.
    goal : arb

    Examples
    --------
    >>> nodes = chosen_nodes(lambda r: ((r + 1 / r) / 2).exp(), flint.arb(2.0**-60))
    >>> 15 < nodes.degree < 30                                  # exp is nearly a polynomial
    True
    >>> seen = flint.arb(0)
    >>> for t in nodes.places:
    ...     seen = seen.max(t.exp())
    >>> 2.718 < float(nodes.largest(seen)) < 3.9
    True
    """
    best: Nodes | None = None
    with precision(_BOUND_BITS):
        for quarters in _ELLIPSES:
            r = flint.arb(quarters) / 4
            size = bound(r)
            if size is None or not size.is_finite():
                continue
            front = 2 * size.abs_upper() / (r - 1)
            degree = 2
            if not front < goal:
                degree += int(float(((front / goal).log() / r.log()).abs_upper()))
            if degree <= _MOST_DEGREE and (best is None or degree < best.degree):
                best = Nodes(degree, (front * r**-degree).abs_upper())
    return best


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

r"""Hankel's expansion with a remainder for complex arguments, proved from its integral equation.

With :math:`H^{(1)}_\nu(z) = \sqrt{2/(\pi z)}\,e^{i(z-\nu\pi/2-\pi/4)}(1+h(z))` the function h
satisfies

.. math:: h(z) = \int_0^\infty \frac{e^{2is}-1}{2i}\,\frac{\nu^2-1/4}{(z+s)^2}\,(1+h(z+s))\,ds .

Its kernel is bounded by 1, and :math:`|z+s| \ge \cos(\arg z)|z| + s`, so that after the terms below
:math:`z^{-n}` the remainder is at most

.. math:: 2|a_n(\nu)|\,y^{-n}\exp(|\nu^2-1/4|/y), \qquad y = |z|\cos(\arg z),

(compare DLMF 10.17.14, where it is Olver's bound).
"""

from __future__ import annotations

from spectra.certify.balls import Ball, flint

__all__ = ["hankel_coefficients", "hankel_remainder"]


def hankel_coefficients(order: Ball, terms: int) -> list[Ball]:
    """a_0, ..., a_terms of DLMF 10.17.1; 1 + h = sum_k (i/z)^k a_k.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from spectra.certify.balls import as_ball
    >>> [float(a) for a in hankel_coefficients(as_ball(Fraction(3, 2)), 2)]     # it ends
    [1.0, 1.0, 0.0]
    """
    found = [flint.arb(1)]
    four = 4 * order * order
    for k in range(terms):
        found.append(found[-1] * (four - (2 * k + 1) ** 2) / (8 * (k + 1)))
    return found


def hankel_remainder(order: Ball, coefficient: Ball, terms: int, cosine: Ball, near: Ball) -> Ball:
    """Bound of |z|^n |1 + h - the first n terms| for |z| >= near and cos(arg z) >= cosine.

    Parameters
    ----------
    order, coefficient : arb
        nu and a_n.
    terms : int
        n.
    cosine, near : arb
    """
    reach = (abs(order * order - flint.arb(1) / 4) / (cosine * near)).exp()
    return 2 * abs(coefficient) * cosine**-terms * reach

r"""Hypergeometric functions at infinity, with proved remainders: a wave upon a background.

Hankel's function is :math:`H_\nu(z) = \sqrt{2/(\pi z)}\,e^{i(z-\nu\pi/2-\pi/4)}(1+h_\nu(z))` with

.. math:: h(z) = \int_0^\infty \frac{e^{2is}-1}{2i}\,\frac{\nu^2-1/4}{(z+s)^2}\,(1+h(z+s))\,ds .

Its kernel is bounded by 1, and :math:`|z+s| \ge \mathrm{Re}\,z + s`, so that after the terms below
:math:`z^{-n}` the remainder is at most

.. math:: 2|a_n(\nu)|\,y^{-n}\exp(|\nu^2-1/4|/y), \qquad y = \mathrm{Re}\,z,

(compare DLMF 10.17.14, where it is Olver's bound).  With :math:`\nu = c-1` and beta > 0

.. math:: {}_1F_2(a; a+\beta, c; -x^2/4) = \frac{2\,\Gamma(c)(x/2)^{-\nu}}{B(a,\beta)}\,\mathrm{Re}
          \int_0^1 s^{2a-1-\nu}(1-s^2)^{\beta-1}H_\nu(xs)\,ds ,

and s from 0 to i infinity makes the background, s from 1 + i infinity to 1 the wave:

.. math:: \int_0^\infty (1+y^2)^{\beta-1}y^{2a-1-\nu}K_\nu(xy)\,dy, \qquad
          \int_0^\infty \tau^{\beta-1}(1+i\tau/2)^{\beta-1}(1+i\tau)^A(1+h(x+ix\tau))
          e^{-x\tau}d\tau

with :math:`A = 2a-3/2-\nu`.  The powers are expanded in y^2 and in tau, where :math:`x\tau` is
real, and what Taylor's formula leaves out is bounded.  A 0F1 is the limit beta = 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import flint

from spectra.certify.balls import Ball, Unproved, sizes
from spectra.certify.waves import Wave

__all__ = [
    "background_at_infinity",
    "hankel_coefficients",
    "hankel_remainder",
    "summed",
    "wave_at_infinity",
]


def hankel_coefficients(order: Ball, terms: int) -> list[Ball]:
    """a_0, ..., a_terms of DLMF 10.17.1; 1 + h = sum_k (i/z)^k a_k.

    Examples
    --------
    >>> [float(a) for a in hankel_coefficients(flint.arb(1.5), 2)]     # it ends
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


def wave_at_infinity(
    upper: Sequence[Ball], lower: Sequence[Ball], near: Ball, cosine: Ball, terms: int
) -> Wave:
    """The wave of 0F1(c; -x^2/4), or of 1F2(a; b, c; -x^2/4) with b > a > c - 1.

    Parameters
    ----------
    upper, lower : sequence of arb
        () and (c,), or (a,) and (b, c).
    near, cosine : arb
        The remainder is bounded for |x| >= near and cos(arg x) >= cosine.
    terms : int
    """
    order, pi = lower[-1] - 1, flint.arb.pi()
    hankel = hankel_coefficients(order, terms)
    rest = hankel_remainder(order, hankel[terms], terms, cosine, near)
    front = (2 / pi).sqrt() * flint.arb(2) ** order * lower[-1].gamma()
    total, beta = hankel[:terms], flint.arb(0)
    if upper:
        a, beta = upper[0], lower[0] - upper[0]
        front = front * flint.arb(2) ** beta * lower[0].gamma() / a.gamma()
        bend = 2 * a - flint.arb(3) / 2 - order
        # |1 + i tau| <= e^|tau|, and it is at least the cosine; likewise with tau/2.
        growth = bend.max(flint.arb(0)) + (beta - 1).max(flint.arb(0)) / 2
        if not growth < near:
            raise Unproved("the tail starts where the expansion of the density is too rough")
        faster = 1 / (1 - growth / near)
        rest = rest * cosine ** ((beta - 1).min(flint.arb(0)) + bend.min(flint.arb(0)))
        rest = rest * faster**beta
        total = [flint.arb(0)] * terms
        for k in range(terms):
            powers, left = _product(beta - 1, bend - k, terms - k, cosine)
            rising = flint.arb(1)
            for n in range(k, terms):
                total[n] = total[n] + hankel[k] * powers[n - k] * rising
                rising = rising * (beta + n - k)
            rest = rest + abs(hankel[k]) * left * rising * faster ** (beta + terms - k)
    turns = [flint.acb(1), flint.acb(0, 1), flint.acb(-1), flint.acb(0, -1)]
    coefficients = [turns[n % 4] * front * c for n, c in enumerate(total)]
    phase = (order + beta) * pi / 2 + pi / 4
    return Wave(order + beta + flint.arb(1) / 2, phase, coefficients, abs(front) * rest)


def _product(first: Ball, second: Ball, terms: int, cosine: Ball) -> tuple[Ball, Ball]:
    """The Taylor polynomial of (1 + t/2)^p (1 + t)^q, and a bound of the term that follows.

    It holds on the way to t = i tau, but for a factor that grows like an exponential of |tau|.
    """
    halves, wholes = [flint.arb(1)], [flint.arb(1)]
    for j in range(terms):
        halves.append(halves[-1] * (first - j) / (2 * (j + 1)))
        wholes.append(wholes[-1] * (second - j) / (j + 1))
    nothing = flint.arb(0)
    left = nothing
    for j in range(terms + 1):
        least = (first - j).min(nothing) + (second - terms + j).min(nothing)
        left = left + abs(halves[j] * wholes[terms - j]) * cosine**least
    return flint.arb_poly(halves) * flint.arb_poly(wholes), left


def background_at_infinity(
    upper: Sequence[Ball], lower: Sequence[Ball], near: Ball, cosine: Ball, terms: int
) -> Wave:
    """What the wave of a 1F2 stands upon, with the parameters of :func:`wave_at_infinity`.

    It is a series in x^-2: the coefficients with the index 1, 3, ... are zero.
    """
    (a,), (b, c) = upper, lower
    known = (terms + 1) // 2
    if not known + 1 > b - a:
        raise Unproved("the background needs more terms: (1 + y^2)^(beta - 1) grows")
    front = flint.arb(4) ** a * b.gamma() * c.gamma() * (b - a).rgamma() * (c - a).rgamma()
    found = []
    for k in range(known + 1):
        found += [front, flint.arb(0)]
        front = front * (a + k) * (1 + a - b + k) * (c - 1 - a - k) * 4 / (k + 1)
    power = 2 * a
    # Taylor's formula for (1 + y^2)^(beta - 1) leaves less than its next term, and |K(z)| is at
    # most K(Re z), from its integral.
    rest = sizes(found[terms:])(1 / near) * cosine ** (c - 1 - power - 2 * known)
    return Wave(power, flint.arb(0), list(map(flint.acb, found[:terms])), rest)


def summed(parts: Sequence[tuple[Ball, Wave]], near: Ball, less: int) -> Wave:
    """The sum of x^less b E(x) at |x| >= near.

    The powers of the waves exceed that of the first one by integers, and their phases by quarter
    turns.
    """
    (_, first), pi = parts[0], flint.arb.pi()
    n = len(first.coefficients)
    total, rest = [flint.acb(0)] * n, flint.arb(0)
    for b, wave in parts:
        by = round(float(wave.power - first.power))
        turn = b * flint.acb(0, -1) ** round(float(2 * (wave.phase - first.phase) / pi))
        moved = [flint.acb(0)] * by + [turn * c for c in wave.coefficients]
        total = [c + more for c, more in zip(total, moved, strict=False)]
        rest = rest + abs(b) * wave.remainder / near**by + sizes(moved[n:])(1 / near)
    return Wave(first.power - less, first.phase, total, rest)

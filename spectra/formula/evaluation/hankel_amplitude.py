r"""The amplitude of a Hankel function, without its wave, as a function in formulas.

.. math:: \tilde H^{\pm}_\nu(u) = H^{(1,2)}_\nu(u)\,e^{\mp iu}
          = \mp\frac{2i}{\pi} e^{\mp i\pi\nu/2}\,e^q K_\nu(q), \qquad q = \mp iu

(DLMF 10.27.8).  It does not oscillate, and decays like u^(-1/2) in the right half plane.
"""

from __future__ import annotations

from functools import lru_cache
from math import log2

import flint
import sympy

from spectra.base.precision import Ball, working
from spectra.base.special.bessel_k import reaches_far

__all__ = ["HankelAmplitude", "hankel_amplitude"]

# On wider balls the leading term and a bound of the rest suffice.
_WIDE = 1e-3
# Bits lost for each unit of the argument.
_LOST = 3.0
_STEEP = 4
# The expansion at infinity is used beyond 16 (1 + order^2), with at most 40 terms.
_FAR_ENOUGH, _MOST_TERMS, _SPARE, _TINY = 16.0, 40, 16, 1e-300


class HankelAmplitude(sympy.Function):  # type: ignore[misc]
    """H^(1)_nu(u) exp(-iu) where the sign is 1, H^(2)_nu(u) exp(iu) where it is -1."""

    nargs = 3  # nu, u, sign


def hankel_amplitude(order: Ball, sign: int, u: Ball) -> Ball:
    """The value of :class:`HankelAmplitude` in a ball.

    Examples
    --------
    >>> u = flint.acb(3)
    >>> wave = hankel_amplitude(flint.acb(0), 1, u) * (flint.acb(0, 1) * u).exp()
    >>> wave.overlaps(u.bessel_j(0) + flint.acb(0, 1) * u.bessel_y(0))
    True
    """
    i = flint.acb(0, sign)
    turn = (-i * flint.acb.pi() * order / 2).exp()
    if u.rad() > _WIDE * abs(u).mid():
        return _far(order, i, turn, u, 1)
    bits, middle = flint.ctx.prec, u.mid()
    count = _terms(order, middle, bits)
    if count is not None:
        return _far(order, i, turn, u, count)
    size = float(abs(middle).mid())
    # Before the asymptotic series converges, K is a difference of growing functions.
    lost = _LOST * size if size < reaches_far(2 * bits) else 0.0
    with working(bits + int(lost)):
        amplitude = (-i * middle).bessel_k(order, scaled=True)
    # Its slope is K - K' of scaled functions, which have the same size (DLMF 10.29.2).
    slope = _STEEP * (1 + (abs(order) + 1) / abs(middle)) * abs(amplitude)
    wrong = flint.arb(0, (slope * abs(u - middle)).upper())
    return -2 * i / flint.acb.pi() * turn * (amplitude + flint.acb(wrong, wrong))


def _terms(order: Ball, u: Ball, bits: int) -> int | None:
    """How many terms of the expansion at infinity give this many bits; None if none do."""
    size = float(abs(u).mid())
    if not size > _FAR_ENOUGH * (1.0 + float(abs(order).mid()) ** 2):
        return None
    nu, log_term = float(abs(order).mid()), 0.0
    for k in range(1, _MOST_TERMS):
        factor = abs(4.0 * nu * nu - (2 * k - 1) ** 2) / (8.0 * k)
        log_term += log2(max(factor, _TINY)) - log2(size)
        if log_term < -bits - _SPARE:
            return k
    return None


def _far(order: Ball, i: Ball, turn: Ball, u: Ball, count: int) -> Ball:
    """The expansion at infinity with the bound of DLMF 10.17(iii)."""
    nearest = abs(u).lower()
    if not nearest > 0:
        return flint.acb("nan")
    total, term, square = flint.acb(0), flint.acb(1), 4 * order**2
    for k in range(1, count + 1):
        total += term
        term = term * i * (square - (2 * k - 1) ** 2) / (8 * k * u)
    steepness = abs(order**2 - flint.arb(1) / 4).upper() * flint.arb.pi() / (2 * nearest)
    share = 2 * _chi(count) * abs(term).upper() * (2 * steepness).exp()
    wrong = flint.arb(0, share.upper())
    leading = (2 / (flint.acb.pi() * u)).sqrt() * turn * (-i * flint.acb.pi() / 4).exp()
    return leading * (total + flint.acb(wrong, wrong))


@lru_cache(maxsize=64)
def _chi(n: int) -> Ball:
    """pi^(1/2) Gamma(n/2 + 1)/Gamma(n/2 + 1/2) (DLMF 9.7.3)."""
    half = flint.arb(n) / 2
    return (flint.arb.pi().sqrt() * (half + 1).gamma() / (half + 0.5).gamma()).upper()

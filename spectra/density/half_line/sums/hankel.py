r"""Hankel functions on rays, in ball arithmetic and in numbers enough for whole panels.

What every radial density is a sum of, with n = d/2 - 1 and y = exp(x + i psi), is

.. math:: G(y) = y^{d/2+1} H^{(1)}_n(y), \qquad
          H^{(1)}_n(y) = \frac{2}{\pi i} e^{-i\pi n/2} K_n(-iy),

and on the real axis its real part, with J in the place of H.  K of order 0 and 1 comes from its
power series or its asymptotic one (``bessel_k``), and higher orders by recurrence upwards, which is
stable for K.  J is a power series, and Hankel's asymptotic one where that has as many bits.
"""

from __future__ import annotations

from functools import lru_cache, partial
from math import exp, log
from typing import Any

import flint
import numpy as np

from spectra.base.precision import Ball, working
from spectra.density.continuation.bessel_k import (
    bits_up_to,
    bucket_of,
    k_zero_and_one,
    terms_needed,
)
from spectra.density.continuation.ray import Ray

__all__ = ["hankel_waves"]

_I = flint.acb(0, 1)
# J is the small one of J and Y below its turning point, where it is summed as a power series.
_TURNING = 1.25
# Arguments of a quarter of an e-fold share the terms of Hankel's series.
_BUCKETS = 4.0


@lru_cache(maxsize=48)
def hankel_waves(dim: int, angle: float, bits: int, *, regular: bool = False) -> Ray:
    """G on a ray, kept for the next kernel.

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    angle : float
        The angle psi >= 0 of the ray against the real axis.
    bits : int
        Working precision.
    regular : bool
        Whether J stands in the place of H, as it does on the real axis.
    """
    if angle == 0.0:
        return Ray(partial(_on_axis, dim), angle, bits)
    return Ray(partial(_regular if regular else _outgoing, dim, angle), angle, bits)


def _on_axis(dim: int, about: float, bits: int) -> Ball:
    """G with J at exp(about)."""
    x = flint.arb(about)
    found = _far_j(dim, x, about, bits)
    if found is None:
        half = flint.arb(dim) / 2
        found = ((half + 1) * x).exp() * _bessel_j(dim, x, about, bits)
    return flint.acb(found)


def _regular(dim: int, angle: float, about: float, _bits: int) -> Ball:
    """G with J beside the real axis."""
    log_y, half = flint.acb(about, flint.arb(angle)), flint.arb(dim) / 2
    return ((half + 1) * log_y).exp() * log_y.exp().bessel_j(half - 1)


def _outgoing(dim: int, angle: float, about: float, bits: int) -> Ball:
    """G with H, which falls upwards."""
    x = flint.arb(about)
    log_y = flint.acb(x, flint.arb(angle))
    # q = -iy, and the power of y that goes before K, with all factors.
    q = -_I * log_y.exp()
    exponent = flint.arb(dim + (1 if dim % 2 else 2)) / 2
    power = _front(dim, bits) * (exponent * log_y).exp()

    def log_q() -> Ball:
        return flint.acb(x, flint.arb(angle) - flint.arb.pi() / 2)

    if dim % 2 == 0 and _is_a_sum(dim, about, bits):
        return power * _near_k(dim // 2 - 1, log_q(), about, bits)
    if dim % 2:
        low = high = power * (-q).exp()
        wanted, twice_order = (dim - 1) // 2, 1
    else:
        low, high = k_zero_and_one(log_q, about, bits)
        low, high = power * low, power * high
        wanted, twice_order = dim // 2 - 1, 2
    # low and high are of neighbouring orders, and wanted counts from the lower one.
    if wanted > 1:
        inverse = 1 / q
        for _ in range(wanted - 1):
            low, high = high, low + twice_order * (inverse * high)
            twice_order += 2
    return high if wanted else low


@lru_cache(maxsize=48)
def _front(dim: int, bits: int) -> Ball:
    """2/(i pi) exp(-i pi n/2) = 2/pi exp(-i pi d/4)."""
    with working(bits):
        front = 2 / flint.arb.pi() * flint.acb(0, -flint.arb.pi() * dim / 4).exp()
        if dim % 2:
            # K = sqrt(pi/(2q)) exp(-q) p(1/q), and sqrt(y/q) = exp(i pi/4).
            front *= (flint.arb.pi() / 2).sqrt() * (flint.acb.pi() * _I / 4).exp()
        return front


def _is_a_sum(dim: int, about: float, bits: int) -> bool:
    """Whether what K has beside its negative powers is below all bits."""
    return about < -1.0 and (dim - 2) * (about - log(2.0)) < -(bits + 8) * log(2.0)


def _far_j(dim: int, x: Ball, about: float, bits: int) -> Ball | None:
    """G by Hankel's series of J (DLMF 10.17.3), where that has as many bits."""
    least = np.floor(_BUCKETS * about) / _BUCKETS
    if exp(least) < _TURNING * 0.5 * dim:
        return None
    series = _series_of_hankel(dim, bits, least)
    if series is None:
        return None
    y = x.exp()
    inverse = 1 / y
    square = inverse * inverse
    even, odd, after_even, after_odd = series
    p = even(square) + flint.arb(0, after_even)
    q = odd(square) * inverse + flint.arb(0, after_odd)
    sine, cosine = (y - flint.arb.pi() * (dim - 1) / 4).sin_cos()
    front = (x * (dim + 1) / 2).exp() * (2 / flint.arb.pi()).sqrt()
    return front * (p * cosine - q * sine)


def _bessel_j(dim: int, x: Ball, about: float, bits: int) -> Ball:
    """J of order d/2 - 1 by its power series."""
    bucket = bucket_of(about)
    more = bits_up_to(bucket, bits)
    with working(more):
        series = _series_of_j(dim, more, bucket)
        y = x.exp()
        order = flint.arb(dim) / 2 - 1
        front = (order * (x - flint.arb(2).log())).exp() / (order + 1).gamma()
        return front * series(-y * y / 4)


def _near_k(order: int, log_q: Ball, about: float, bits: int) -> Ball:
    r"""K near 0, where its negative powers are all of it (DLMF 10.31.1):

    .. math:: \tfrac12 (q/2)^{-n} \sum_{k<n} \frac{(n-k-1)!}{k!}\,(-q^2/4)^k.
    """
    log_half = log_q - flint.arb(2).log()
    series, after = _negative_powers(order, bits, bucket_of(about))
    # |log(q/2) I_n| and the sum beside it, |q| < 1/e: below 2 |q/2|^n (|log(q/2)| + n)/n!.
    beside = 4 * (2 * order * log_half.real).exp() * (abs(log_half) + order)
    wrong = flint.arb(0, (after + beside / flint.arb(order + 1).gamma()).upper())
    total = series(-(2 * log_half).exp()) + flint.acb(wrong, wrong)
    return (-order * log_half).exp() / 2 * total


@lru_cache(maxsize=256)
def _negative_powers(order: int, bits: int, bucket: int) -> tuple[Any, Ball]:
    """The polynomial of that sum, |q| <= exp(bucket) < 1, and a bound of what it leaves out."""
    with working(bits):
        largest, term = flint.arb(2 * bucket).exp() / 4, flint.arb(order).gamma()
        terms: list[Ball] = []
        for k in range(order):
            if k and term * largest**k < terms[0] * flint.arb(2) ** -bits:
                # Each term is less than half of the one before.
                return flint.acb_poly(terms), 2 * term * largest**k
            terms.append(term)
            if k < order - 1:
                term = term / ((k + 1) * (order - k - 1))
        return flint.acb_poly(terms), flint.arb(0)


@lru_cache(maxsize=256)
def _series_of_j(dim: int, bits: int, bucket: int) -> Any:
    arb = flint.arb
    with working(bits):
        order, term, terms = arb(dim) / 2 - 1, arb(1), [arb(1)]
        for k in range(1, terms_needed(bits, bucket) + 2):
            term = term / (k * (order + k))
            terms.append(term)
        return flint.arb_poly(terms)


@lru_cache(maxsize=256)
def _series_of_hankel(dim: int, bits: int, log_least: float) -> tuple[Any, Any, Ball, Ball] | None:
    """P and y Q as polynomials in 1/y^2 and bounds of what they leave out of P and Q, for y from
    exp(log_least) on; None where the terms do not fall below 2^-bits.

    Where the first term that is left out is of a power from n - 1/2 on, the rest is less than it
    (DLMF 10.17(iii)).
    """
    with working(bits):
        nothing, term, terms = flint.arb(2) ** -bits, flint.arb(1), [flint.arb(1)]
        inverse = (-flint.arb(log_least)).exp()
        sizes, least = [flint.arb(1)], exp(log_least)
        while not (2 * len(terms) > dim and max(sizes[-2:]) < nothing):
            k = len(terms)
            if k > 2.0 * least + dim:
                return None
            term = term * ((dim - 2) ** 2 - (2 * k - 1) ** 2) / (8 * k)
            terms.append(term)
            sizes.append((abs(term) * inverse**k).upper())
        # Signs go + + - - along the powers of 1/y, and the last two are left out.
        signed = [-t if i % 4 in (2, 3) else t for i, t in enumerate(terms[:-2])]
        after = sizes[-2:] if len(terms) % 2 == 0 else sizes[:-3:-1]
        return flint.arb_poly(signed[::2]), flint.arb_poly(signed[1::2]), after[0], after[1]

r"""Hankel functions on rays, in ball arithmetic and in numbers enough for whole panels.

What every radial density is a sum of, with n = d/2 - 1 and y = exp(x + i psi), is

.. math:: G(y) = y^{d/2+1} H^{(1)}_n(y), \qquad
          H^{(1)}_n(y) = \frac{2}{\pi i} e^{-i\pi n/2} K_n(-iy),

and on the real axis its real part, with J in the place of H.  K of order 0 and 1 comes from its
power series or its asymptotic one (``bessel_k``), and higher orders by recurrence upwards, which is
stable for K.  J is a power series, and Hankel's asymptotic one where that has as many bits.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, log
from typing import Any

import flint
import numpy as np

from spectra.numeric import FloatArray
from spectra.transform.rays.bessel_k import (
    bits_up_to,
    bucket_of,
    k_zero_and_one,
    terms_needed,
)
from spectra.transform.rays.precision import Ball, working
from spectra.transform.rays.products import NOTHING, Split, split

__all__ = ["HankelWaves", "hankel_waves"]

_I, _ZERO = flint.acb(0, 1), flint.arb(0)
# J is the small one of J and Y below its turning point, where it is summed as a power series.
_TURNING = 1.25
# Arguments of a quarter of an e-fold share the terms of Hankel's series.
_BUCKETS = 4.0
# Sizes at so many ranges of places are kept.
_ROWS = 64


class HankelWaves:
    """G on one ray, each value computed once.

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

    def __init__(self, dim: int, angle: float, bits: int, *, regular: bool = False) -> None:
        self.dim, self.angle, self.bits = dim, angle, bits
        self.regular = regular or angle == 0.0
        self._known: dict[float, tuple[Ball, Ball]] = {}
        self._logs: dict[float, float] = {}
        self._parts: dict[float, tuple[Split, Split]] = {}
        self.log_sizes = lru_cache(maxsize=_ROWS)(self._log_sizes)
        with working(bits):
            # 2/(i pi) exp(-i pi n/2) = 2/pi exp(-i pi d/4)
            turn = flint.acb(0, -flint.arb.pi() * dim / 4)
            self._front = 2 / flint.arb.pi() * turn.exp()
            if dim % 2:
                # K = sqrt(pi/(2q)) exp(-q) p(1/q), and sqrt(y/q) = exp(i pi/4).
                self._front *= (flint.arb.pi() / 2).sqrt() * (flint.acb.pi() * _I / 4).exp()

    def __call__(self, x: float) -> tuple[Ball, Ball]:
        """Re G and Im G at y = exp(x + i psi)."""
        found = self._known.get(x)
        if found is None:
            with working(self.bits):
                found = self._known[x] = self._computed(x)
        return found

    def parts(self, x: float) -> tuple[Split, Split]:
        """Re G and Im G, for sums of products."""
        found = self._parts.get(x)
        if found is None:
            re, im = self(x)
            found = self._parts[x] = (split(re), split(im) if self.angle else NOTHING)
        return found

    def log_size(self, x: float) -> float:
        """log|G|."""
        if x not in self._logs:
            re, im = self(x)
            size = (re.mid() ** 2 + im.mid() ** 2).mid()
            self._logs[x] = 0.5 * float(size.log().mid()) if size > 0 else -np.inf
        return self._logs[x]

    def _log_sizes(self, x: tuple[float, ...]) -> FloatArray:
        """log|G| at places."""
        return np.array([self.log_size(t) for t in x])

    def _computed(self, about: float) -> tuple[Ball, Ball]:
        x = flint.arb(about)
        if self.angle == 0.0:
            found = self._far_j(x, about)
            if found is None:
                half = flint.arb(self.dim) / 2
                found = ((half + 1) * x).exp() * self._bessel_j(x, about)
            return found, _ZERO
        log_y = flint.acb(x, flint.arb(self.angle))
        if self.regular:
            half = flint.arb(self.dim) / 2
            value = ((half + 1) * log_y).exp() * log_y.exp().bessel_j(half - 1)
            return value.real, value.imag
        # q = -iy, and the power of y that goes before K, with all factors.
        q = -_I * log_y.exp()
        exponent = flint.arb(self.dim + (1 if self.dim % 2 else 2)) / 2
        power = self._front * (exponent * log_y).exp()
        if self.dim % 2 == 0 and self._is_a_sum(about):
            value = power * _near_k(self.dim // 2 - 1, self._log_q(x), about, self.bits)
            return value.real, value.imag
        if self.dim % 2:
            low = high = power * (-q).exp()
            wanted, twice_order = (self.dim - 1) // 2, 1
        else:
            low, high = k_zero_and_one(lambda: self._log_q(x), about, self.bits)
            low, high = power * low, power * high
            wanted, twice_order = self.dim // 2 - 1, 2
        # low and high are of neighbouring orders, and wanted counts from the lower one.
        if wanted > 1:
            inverse = 1 / q
            for _ in range(wanted - 1):
                low, high = high, low + twice_order * (inverse * high)
                twice_order += 2
        value = high if wanted else low
        return value.real, value.imag

    def _is_a_sum(self, about: float) -> bool:
        """Whether what K has beside its negative powers is below all bits."""
        return about < -1.0 and (self.dim - 2) * (about - log(2.0)) < -(self.bits + 8) * log(2.0)

    def _log_q(self, x: Ball) -> Ball:
        return flint.acb(x, flint.arb(self.angle) - flint.arb.pi() / 2)

    def _far_j(self, x: Ball, about: float) -> Ball | None:
        """G by Hankel's series of J (DLMF 10.17.3), where that has as many bits."""
        least = np.floor(_BUCKETS * about) / _BUCKETS
        if exp(least) < _TURNING * 0.5 * self.dim:
            return None
        series = _series_of_hankel(self.dim, self.bits, least)
        if series is None:
            return None
        y = x.exp()
        inverse = 1 / y
        square = inverse * inverse
        even, odd, after_even, after_odd = series
        p = even(square) + flint.arb(0, after_even)
        q = odd(square) * inverse + flint.arb(0, after_odd)
        sine, cosine = (y - flint.arb.pi() * (self.dim - 1) / 4).sin_cos()
        front = (x * (self.dim + 1) / 2).exp() * (2 / flint.arb.pi()).sqrt()
        return front * (p * cosine - q * sine)

    def _bessel_j(self, x: Ball, about: float) -> Ball:
        """J of order d/2 - 1 by its power series."""
        bucket = bucket_of(about)
        bits = bits_up_to(bucket, self.bits)
        with working(bits):
            series = _series_of_j(self.dim, bits, bucket)
            y = x.exp()
            order = flint.arb(self.dim) / 2 - 1
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


@lru_cache(maxsize=48)
def hankel_waves(dim: int, angle: float, bits: int, *, regular: bool = False) -> HankelWaves:
    """G in a dimension on a ray, kept for the next kernel."""
    return HankelWaves(dim, angle, bits, regular=regular)

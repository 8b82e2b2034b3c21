r"""Hankel functions on rays, in ball arithmetic and in numbers enough for whole panels.

What every radial density is a sum of, with n = d/2 - 1 and y = exp(x + i psi), is

.. math:: G(y) = y^{d/2+1} H^{(1)}_n(y), \qquad
          H^{(1)}_n(y) = \frac{2}{\pi i} e^{-i\pi n/2} K_n(-iy),

and on the real axis its real part, with J in the place of H.  K of order 0 and 1 comes from its
power series or its asymptotic one (``bessel_k``), and higher orders by recurrence upwards, which is
stable for K.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from spectra.transform.rays.bessel_k import (
    bits_up_to,
    bucket_of,
    k_zero_and_one,
    reaches_far,
    terms_needed,
)
from spectra.transform.rays.precision import Ball, working
from spectra.transform.rays.products import NOTHING, Split, split

__all__ = ["HankelWaves", "hankel_waves"]

FloatArray = NDArray[np.float64]

_I, _ZERO = flint.acb(0, 1), flint.arb(0)
# J is the small one of J and Y below its turning point, where it is summed as a power series.
_TURNING = 1.25


class HankelWaves:
    """G on one ray, each value computed once.

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    angle : float
        The angle psi >= 0 of the ray against the real axis; 0 stands for J.
    bits : int
        Working precision.
    """

    def __init__(self, dim: int, angle: float, bits: int) -> None:
        self.dim, self.angle, self.bits = dim, angle, bits
        self._far = reaches_far(bits)
        self._known: dict[float, tuple[Ball, Ball]] = {}
        self._logs: dict[float, float] = {}
        self._parts: dict[float, tuple[Split, Split]] = {}
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

    def _computed(self, about: float) -> tuple[Ball, Ball]:
        x = flint.arb(about)
        if self.angle == 0.0 and exp(about) < max(self._far, _TURNING * 0.5 * self.dim):
            half = flint.arb(self.dim) / 2
            return ((half + 1) * x).exp() * self._bessel_j(x, about), _ZERO
        # q = -iy, and the power of y that goes before K, with all factors.
        log_y = flint.acb(x, flint.arb(self.angle))
        q = -_I * log_y.exp()
        exponent = flint.arb(self.dim + (1 if self.dim % 2 else 2)) / 2
        power = self._front * (exponent * log_y).exp()
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
        return value.real, (_ZERO if self.angle == 0.0 else value.imag)

    def _log_q(self, x: Ball) -> Ball:
        return flint.acb(x, flint.arb(self.angle) - flint.arb.pi() / 2)

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


@lru_cache(maxsize=256)
def _series_of_j(dim: int, bits: int, bucket: int) -> Any:
    arb = flint.arb
    with working(bits):
        order, term, terms = arb(dim) / 2 - 1, arb(1), [arb(1)]
        for k in range(1, terms_needed(bits, bucket) + 2):
            term = term / (k * (order + k))
            terms.append(term)
        return flint.arb_poly(terms)


@lru_cache(maxsize=48)
def hankel_waves(dim: int, angle: float, bits: int) -> HankelWaves:
    """G in a dimension on a ray, kept for the next kernel."""
    return HankelWaves(dim, angle, bits)

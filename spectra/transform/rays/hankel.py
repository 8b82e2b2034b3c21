r"""Hankel functions on rays, in ball arithmetic and in numbers enough for whole panels.

What every radial density is a sum of, with n = d/2 - 1 and y = exp(x + i psi), is

.. math:: G(y) = y^{d/2+1} H^{(1)}_n(y), \qquad
          H^{(1)}_n(y) = \frac{2}{\pi i} e^{-i\pi n/2} K_n(-iy),

and on the real axis its real part, with J in the place of H.  K of order 0 and 1 comes from its
power series (DLMF 10.31.1, 10.31.2) or its asymptotic one with a bound of what that leaves out
(DLMF 10.40.2, 10.40.11), and higher orders by recurrence upwards, which is stable for K.  Arb's
own K of integer order takes some hundred times as long.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, log
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from spectra.transform.rays.precision import Ball, working
from spectra.transform.rays.products import Split, split

__all__ = ["HankelWaves", "hankel_waves"]

FloatArray = NDArray[np.float64]

# The asymptotic series reaches exp(-2|q|), which is 2^-bits at |q| = bits * log(2)/2.
_FAR_SHARE, _FAR_LEAST = 0.36, 8.0
# The power series of |q| cancels by exp(2|q|), so by 2.9 bits for each unit.
_BITS_LOST = 2.9
_SPARE_BITS = 24
# Arguments of one e-fold share a polynomial; below exp(-40) all do.
_LEAST_BUCKET = -40
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
        self._far = _FAR_SHARE * bits + _FAR_LEAST
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
            found = self._parts[x] = (split(re), split(im))
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
            low, high = self._of_integer_order(x, about)
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

    def _of_integer_order(self, x: Ball, about: float) -> tuple[Ball, Ball]:
        """K_0 and K_1."""
        size = exp(about)
        if size > self._far:
            log_q = self._log_q(x)
            q = log_q.exp()
            front = (flint.arb.pi() / 2).sqrt() * (-q - log_q / 2).exp()
            return front * _asymptotic(0, 1 / q, size), front * _asymptotic(1, 1 / q, size)
        bucket = max(ceil(about), _LEAST_BUCKET)
        bits = self._bits_up_to(bucket)
        with working(bits):
            plain, logs, odd, odd_logs = _power_series(bits, bucket)
            log_q = self._log_q(x)
            q = log_q.exp()
            t = q * q / 4
            log_half = log_q - flint.arb(2).log() + flint.arb.const_euler()
            zero = -log_half * plain(t) + logs(t)
            one = 1 / q + q / 2 * (log_half * odd(t) - odd_logs(t))
        return zero, one

    def _bits_up_to(self, bucket: int) -> int:
        return self.bits + int(_BITS_LOST * exp(bucket)) + _SPARE_BITS

    def _bessel_j(self, x: Ball, about: float) -> Ball:
        """J of order d/2 - 1 by its power series."""
        bucket = max(ceil(about), _LEAST_BUCKET)
        bits = self._bits_up_to(bucket)
        with working(bits):
            series = _series_of_j(self.dim, bits, bucket)
            y = x.exp()
            order = flint.arb(self.dim) / 2 - 1
            front = (order * (x - flint.arb(2).log())).exp() / (order + 1).gamma()
            return front * series(-y * y / 4)


def _terms_needed(bits: int, bucket: int) -> int:
    """How many terms of sum t^k/k!^2, |t| = exp(2 bucket)/4, until they are below 2^-bits."""
    log_t, total, k = 2.0 * bucket - log(4.0), 0.0, 0
    while total > -bits * log(2.0) or k < 2:
        k += 1
        total += log_t - 2.0 * log(k)
    return k + 1


@lru_cache(maxsize=256)
def _power_series(bits: int, bucket: int) -> tuple[Any, Any, Any, Any]:
    """Polynomials in t = q^2/4: of I_0, of its harmonic sums, and the same for I_1/(q/2)."""
    arb = flint.arb
    with working(bits):
        plain, logs, odd, odd_logs = [], [], [], []
        term, harmonic = arb(1), arb(0)
        for k in range(_terms_needed(bits, bucket)):
            if k:
                term = term / (k * k)
                harmonic += arb(1) / k
            plain.append(term)
            logs.append(term * harmonic)
            odd.append(term / (k + 1))
            # psi(k+1) + psi(k+2) = H_k + H_(k+1) - 2 gamma; gamma goes with the logarithm.
            odd_logs.append(term / (k + 1) * (2 * harmonic + arb(1) / (k + 1)) / 2)
        return tuple(flint.acb_poly(p) for p in (plain, logs, odd, odd_logs))  # type: ignore[return-value]


@lru_cache(maxsize=256)
def _series_of_j(dim: int, bits: int, bucket: int) -> Any:
    arb = flint.arb
    with working(bits):
        order, term, terms = arb(dim) / 2 - 1, arb(1), [arb(1)]
        for k in range(1, _terms_needed(bits, bucket) + 2):
            term = term / (k * (order + k))
            terms.append(term)
        return flint.arb_poly(terms)


def _asymptotic(order: int, inverse: Ball, size: float) -> Ball:
    """sum a_k(order)/q^k, with the bound of DLMF 10.40.11 of its remainder, |arg q| <= pi/2."""
    acb, arb = flint.acb, flint.arb
    total, term, k = acb(1), acb(1), 0
    least = arb(2) ** (-flint.ctx.prec)
    while k < 2 * size:
        k += 1
        term = term * inverse * (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
        total += term
        if abs(term) < least:
            break
    # chi(k) <= sqrt(pi (k + 1)/2) + 1 bounds the factor of 10.40.11; it is below 2 sqrt(k + 2).
    bound = abs(term).upper() * 4 * arb(k + 2).sqrt()
    return total + acb(arb(0, bound), arb(0, bound))


@lru_cache(maxsize=48)
def hankel_waves(dim: int, angle: float, bits: int) -> HankelWaves:
    """G in a dimension on a ray, kept for the next kernel."""
    return HankelWaves(dim, angle, bits)

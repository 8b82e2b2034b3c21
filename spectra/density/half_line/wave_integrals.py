r"""The density of a kernel with waves, by integrals on a ray for each wave.

With :math:`k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)` the kernel times a Bessel function J is
integrated on the half-line up to the scale exp(log_scale) of the kernel.  Beyond it
J = (H1 + H2)/2, and each wave times H1 or H2 is integrated on a ray on which the product decays:
upwards with H1; upwards with H2 for w < b, and downwards for w > b.

Near the frequency of a wave that decays like z^-a, the density is a multiple of
:math:`|w - b|^{a - (d+1)/2}` plus a smooth function.  So
:class:`WaveIntegrals` takes the distance to b as an argument: w - b would be rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log

import flint
import numpy as np
from scipy.special import hankel1e, hankel2e, jv

from spectra.base.arrays import ComplexArray, FloatArray
from spectra.base.limits import check_time
from spectra.base.precision import working_precision
from spectra.density.half_line.half_line_formula import HalfLineFormula
from spectra.formula.ball_function import BallFunction, analytic_continuation
from spectra.formula.parsing import Z

__all__ = ["WaveIntegrals"]

# The trapezoidal rule in log t on the rays z = scale + t exp(+-i angle): its step, and its start
# below the scale.  It ends where waves have decayed at this |w - b|, relative to the highest b.
_STEP, _START, _LEAST_DISTANCE = 1.0 / 20.0, 37.0, 1e-30
# Waves below exp(-45) are negligible.
_DECAYED = 45.0
_BITS = 64
# For |y| beyond this many times 1 + nu^2, Hankel functions of order nu are three terms of their
# asymptotic series.
_FAR = 1e5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)

#: A Hankel function of an order and an argument y, times exp(-iy) or exp(iy).
_Hankel = Callable[[float, ComplexArray], ComplexArray]


class WaveIntegrals:
    """w rho of a kernel with waves, in doubles; ``frequencies`` are all b, 0 for f_0."""

    def __init__(self, kernel: HalfLineFormula, dim: int, angle: float) -> None:
        self.dim = dim
        self.frequencies = [float(b.evalf(30)) for b in kernel.amplitudes]
        self._front = float(np.exp((1.0 - 0.5 * dim) * log(2.0) - lgamma(0.5 * dim)))
        self._scale = float(np.exp(kernel.log_scale))
        highest = max(self.frequencies)
        # Panels up to the scale: doubling in width, then half a radian of the fastest wave wide.
        count = int(highest * self._scale) + 2
        small = self._scale * 2.0 ** -np.arange(56.0, 0.0, -1.0)
        edges = np.concatenate([[0.0], small, self._scale * np.linspace(0.5, 1.0, count)[1:]])
        half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
        self._z = (middle[:, None] + half[:, None] * _NODES).ravel()
        k = [float(kernel.value(float(s), 0.0, _BITS).real.mid()) for s in np.log(self._z)]
        self._weighted_kernel = np.array(k) * (half[:, None] * _WEIGHTS).ravel()
        last = log(50.0 / _LEAST_DISTANCE / highest)
        self._t = np.exp(np.arange(kernel.log_scale - _START, last, _STEP))
        # Keys are 1 for rays upwards and -1 for rays downwards.
        self._directions = {sign: np.exp(1j * sign * angle) for sign in (1, -1)}
        self._amplitudes = {
            (i, sign): self._evaluate_amplitude(analytic_continuation(f, Z), angle * sign)
            for i, f in enumerate(kernel.amplitudes.values())
            for sign in (1, -1)
        }

    def _evaluate_amplitude(self, f: BallFunction, angle: float) -> ComplexArray:
        """f on a ray times dz/dlog t and the step."""
        with working_precision(4 * _BITS):
            direction = flint.acb(0, flint.arb(angle)).exp()
            scale = flint.acb(flint.arb(self._scale))
            z = [scale + direction * flint.arb(float(t)) for t in self._t]
            values = np.array([complex(f.to_accuracy(place, 2 * _BITS)) for place in z])
        return np.asarray(values * self._t * np.exp(1j * angle) * _STEP, dtype=complex)

    def __call__(self, radius: float, side: int, distance: FloatArray) -> FloatArray:
        """w rho at w = radius + side * distance."""
        order, offset = 0.5 * self.dim - 1.0, side * distance
        w = radius + offset
        y = np.multiply.outer(w, self._z)
        total = w * (y ** (order + 1.0) * jv(order, y) * self._weighted_kernel).sum(axis=1)
        for i, b in enumerate(self.frequencies):
            total += self._integrate_wave(i, 1, w, b + w, hankel1e)
            if b:
                # If distances are from b itself, w - b is not rounded.
                difference = offset if b == radius else w - b
                for rows, sign in ((difference < 0.0, 1), (difference >= 0.0, -1)):
                    if rows.any():
                        rate = -difference[rows]
                        total[rows] += self._integrate_wave(i, sign, w[rows], rate, hankel2e)
        return np.asarray(total * self._front)

    def _integrate_wave(
        self, i: int, sign: int, w: FloatArray, rate: FloatArray, hankel: _Hankel
    ) -> FloatArray:
        """Integrate wave i times a Hankel function, a product like exp(i rate z), on a ray."""
        check_time()
        slowest = float(np.abs(rate).min()) * self._directions[1].imag
        count = np.searchsorted(self._t, _DECAYED / max(slowest, 1e-300))
        z = self._scale + self._t[:count] * self._directions[sign]
        y = np.multiply.outer(w, z)
        with np.errstate(all="ignore"):
            phase = np.exp(1j * np.multiply.outer(rate, z))
            modulation = _evaluate_modulation(hankel, 0.5 * self.dim - 1.0, y)
            terms = y ** (0.5 * self.dim) * modulation * phase
            terms *= self._amplitudes[i, sign][:count]
        counted = np.isfinite(terms) & (phase != 0)
        return np.asarray(w * np.where(counted, terms, 0).sum(axis=1).real)


def _evaluate_modulation(hankel: _Hankel, order: float, y: ComplexArray) -> ComplexArray:
    """H1 times exp(-iy), or H2 times exp(iy)."""
    far, found = np.abs(y) > _FAR * (1.0 + order * order), np.empty(y.shape, complex)
    found[~far] = hankel(order, y[~far])
    x, i, m = y[far], 1j if hankel is hankel1e else -1j, 4.0 * order * order
    a = (m - 1.0) / 8.0 / x
    leading = np.sqrt(2.0 / (np.pi * x)) * np.exp(-i * np.pi * (order / 2.0 + 0.25))
    found[far] = leading * (1.0 + i * a - a * (m - 9.0) / 16.0 / x)
    return found

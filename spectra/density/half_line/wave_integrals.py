r"""Kernels with waves that decay like powers: densities singular at the frequencies of the waves.

With :math:`k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)` the kernel is integrated on the half-line up
to its scale.  Beyond it each wave is followed on rays of its own: upwards with H1, and with H2
upwards for w < b and downwards for w > b, on which it decays however close w is to b.

The density behaves like :math:`|w - b|^{a - (d+1)/2}` near the frequency of a wave that decays
like z^-a, next to functions that are smooth there.  So it is resolved in the logarithm of the
distance to the frequency, on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import hankel1e, hankel2e, jv

from spectra.base.numbers import FloatArray
from spectra.base.precision import working_precision
from spectra.density.half_line.half_line_formula import HalfLineFormula
from spectra.formula.evaluation.ball_function import BallFunction, analytic_continuation
from spectra.formula.reader.parsing import Z

__all__ = ["WaveIntegrals"]

# Distances beyond the scale are summed at these steps of their logarithm, from exp(-37) of it on,
# until waves of this least distance to a frequency have decayed.
_STEP, _BEFORE, _LEAST_DISTANCE = 1.0 / 20.0, 37.0, 1e-30
# A wave below exp(-45) has decayed.
_DECAYED = 45.0
_BITS = 64
# Beyond this many times nu^2 + 1 Hankel functions are computed by their asymptotic series.
_FAR = 1e5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_ComplexArray = NDArray[np.complex128]


class WaveIntegrals:
    """w rho near the frequencies of slow waves, in doubles."""

    def __init__(self, kernel: HalfLineFormula, dim: int, angle: float) -> None:
        self.dim = dim
        self.rates = [float(b.evalf(30)) for b in kernel.waves]
        self._front = float(np.exp((1.0 - 0.5 * dim) * log(2.0) - lgamma(0.5 * dim)))
        self._scale = float(np.exp(kernel.scale))
        highest = max(self.rates)
        # The half-line up to the scale: dyadic panels, and narrow ones where waves turn.
        turns = int(highest * self._scale) + 2
        small = self._scale * 2.0 ** -np.arange(56.0, 0.0, -1.0)
        edges = np.concatenate([[0.0], small, self._scale * np.linspace(0.5, 1.0, turns)[1:]])
        half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
        self._z = (middle[:, None] + half[:, None] * _NODES).ravel()
        k = [float(kernel.value(float(s), 0.0, _BITS).real.mid()) for s in np.log(self._z)]
        self._weighted = np.array(k) * (half[:, None] * _WEIGHTS).ravel()
        last = log(50.0 / _LEAST_DISTANCE / highest)
        self._t = np.exp(np.arange(kernel.scale - _BEFORE, last, _STEP))
        self._turns = {side: np.exp(1j * side * angle) for side in (1, -1)}
        self._amplitudes = {
            (i, side): self._evaluate_amplitude(analytic_continuation(f, Z), angle * side)
            for i, f in enumerate(kernel.waves.values())
            for side in (1, -1)
        }

    def _evaluate_amplitude(self, f: BallFunction, angle: float) -> _ComplexArray:
        """f_b on a ray, times dz/ds and the step."""
        with working_precision(4 * _BITS):
            turn = flint.acb(0, flint.arb(angle)).exp()
            z = [flint.acb(flint.arb(self._scale)) + turn * flint.arb(float(t)) for t in self._t]
            values = np.array([complex(f.to_accuracy(place, 2 * _BITS)) for place in z])
        return np.asarray(values * self._t * np.exp(1j * angle) * _STEP, dtype=complex)

    def __call__(self, about: float, side: int, distance: FloatArray) -> FloatArray:
        """w rho at w = about + side * distance."""
        order, gap = 0.5 * self.dim - 1.0, side * distance
        w = about + gap
        y = np.multiply.outer(w, self._z)
        total = w * (y ** (order + 1.0) * jv(order, y) * self._weighted).sum(axis=1)
        for i, rate in enumerate(self.rates):
            total += self._along(i, 1, w, rate + w, hankel1e)
            if rate:
                # w - rate without rounding where distances are from this rate.
                beyond = gap if rate == about else w - rate
                for mine, way in ((beyond < 0.0, 1), (beyond >= 0.0, -1)):
                    if mine.any():
                        total[mine] += self._along(i, way, w[mine], -beyond[mine], hankel2e)
        return np.asarray(total * self._front)

    def _along(
        self,
        i: int,
        way: int,
        w: FloatArray,
        rate: FloatArray,
        hankel: Callable[[float, _ComplexArray], _ComplexArray],
    ) -> FloatArray:
        """The integral of a wave on its ray; ``rate`` is the frequency of all exponentials."""
        least = float(np.abs(rate).min()) * self._turns[1].imag
        count = np.searchsorted(self._t, _DECAYED / max(least, 1e-300))
        z = self._scale + self._t[:count] * self._turns[way]
        y = np.multiply.outer(w, z)
        with np.errstate(all="ignore"):
            phase = np.exp(1j * np.multiply.outer(rate, z))
            terms = y ** (0.5 * self.dim) * _scaled(hankel, 0.5 * self.dim - 1.0, y) * phase
            terms *= self._amplitudes[i, way][:count]
        return np.asarray(
            w * np.where(np.isfinite(terms) & (phase != 0), terms, 0).sum(axis=1).real
        )


def _scaled(
    hankel: Callable[[float, _ComplexArray], _ComplexArray], order: float, y: _ComplexArray
) -> _ComplexArray:
    """A Hankel function without its exponential; far out by three terms of its series."""
    far, found = np.abs(y) > _FAR * (1.0 + order * order), np.empty(y.shape, complex)
    found[~far] = hankel(order, y[~far])
    x, i, m = y[far], 1j if hankel is hankel1e else -1j, 4.0 * order * order
    a = (m - 1.0) / 8.0 / x
    leading = np.sqrt(2.0 / (np.pi * x)) * np.exp(-i * np.pi * (order / 2.0 + 0.25))
    found[far] = leading * (1.0 + i * a - a * (m - 9.0) / 16.0 / x)
    return found

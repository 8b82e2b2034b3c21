r"""The factor of a kernel in its transform along a ray, in ball arithmetic.

.. math:: g(y) = \frac{2^{1-d/2}}{\Gamma(d/2)}\, y^{d/2+1} H^{(1)}_{d/2-1}(y)

at y = exp(s + i angle); on the half-line itself (angle 0) J stands in the place of H.
"""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log, sin

import flint
import numpy as np

from spectra.base.precision import Ball, working
from spectra.base.special.bessel_k import bessel_k, k_half_way

__all__ = ["HankelFactor", "hankel_factor"]


class HankelFactor:
    """Values of g(y) y^-tilt on one ray; they are kept, since every kernel needs the same.

    Attributes
    ----------
    tilt : float
        (d + 1)/2 on the half-line, where J would grow; 0 on rays, where H1 decays.
    """

    def __init__(self, dim: int, angle: float) -> None:
        self.dim, self.angle = dim, angle
        self.tilt = 0.5 * (dim + 1) if angle == 0.0 else 0.0
        self._bits = 0
        self._known: dict[float, Ball] = {}

    def value(self, s: float, bits: int) -> Ball:
        """g(y) y^-tilt at y = exp(s + i angle), to about so many bits."""
        if bits > self._bits:
            self._known.clear()
            self._bits = bits
        if s not in self._known:
            # The series of K of half-integer orders cancels.
            with working(self._bits + self.dim // 3):
                self._known[s] = self._compute(s)
        return self._known[s]

    def range(self, bits: float) -> tuple[float, float, float]:
        """The log y between which g is above 2^-bits, and the logarithm of its largest value."""
        d, drop = self.dim, bits * log(2.0)
        front = (1.0 - 0.5 * d) * log(2.0) - lgamma(0.5 * d)
        if self.angle == 0.0:
            # y^(d - tilt) below; bounded above.
            return -(drop + 5.0) / max(d - self.tilt, 0.5 if d > 1 else 1.0), np.inf, front
        y = 0.5 * max(d, 2) * np.exp(np.arange(-5.0, 30.0, 0.05))
        sizes = front + 0.5 * (d + 1) * np.log(y) - y * sin(self.angle)
        seen = y[sizes > -drop - 3.0]
        high = float(np.log(seen[-1])) if seen.size else 0.0
        return (
            -(drop + 5.0) / (1.0 if d == 1 else 2.0),
            high + 0.1,
            max(float(sizes.max()), 0.0) + 1.0,
        )

    def _compute(self, s: float) -> Ball:
        log_y, half = flint.acb(flint.arb(s), flint.arb(self.angle)), flint.arb(self.dim) / 2
        front = (flint.arb(2).log() * (1 - half) - half.lgamma()).exp()
        power = front * ((half + 1 - flint.arb(self.tilt)) * log_y).exp()
        y = log_y.exp()
        if self.angle == 0.0:
            return power * flint.acb(y.real.bessel_j(half - 1))
        # H1 by K (DLMF 10.27.8).
        i = flint.acb(0, 1)
        turn = 2 / (flint.arb.pi() * i) * (-i * flint.arb.pi() * (half - 1) / 2).exp()
        if self.dim % 2:
            k = k_half_way(max(self.dim - 3, 0) // 2, -i * y)
        else:
            k = bessel_k(self.dim // 2 - 1, -i * y, flint.ctx.prec)
        return power * turn * k


@lru_cache(maxsize=12)
def hankel_factor(dim: int, angle: float) -> HankelFactor:
    """The factor of a dimension and an angle, shared by all kernels."""
    return HankelFactor(dim, angle)

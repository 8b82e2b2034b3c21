r"""The factor of a kernel in its transform along a ray, in ball arithmetic.

.. math:: g(y) = \frac{2^{1-d/2}}{\Gamma(d/2)}\, y^{d/2+1} H^{(1)}_{d/2-1}(y)

at y = exp(s + i angle), angle > 0.
"""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log, sin

import flint
import numpy as np

from spectra.base.precision import Ball, working_precision
from spectra.base.special.bessel_k import bessel_k, bessel_k_half_integer

__all__ = ["find_range", "hankel_factor"]

# Values of so many places are kept, since every kernel needs the same.
_KEPT = 1 << 17


@lru_cache(maxsize=_KEPT)
def hankel_factor(dim: int, angle: float, s: float, bits: int) -> Ball:
    """g(y) at y = exp(s + i angle), to about so many bits."""
    # The series of K of half-integer orders cancels.
    with working_precision(bits + dim // 3):
        log_y, half = flint.acb(flint.arb(s), flint.arb(angle)), flint.arb(dim) / 2
        front = (flint.arb(2).log() * (1 - half) - half.lgamma()).exp()
        power = front * ((half + 1) * log_y).exp()
        y = log_y.exp()
        # H1 by K (DLMF 10.27.8).
        i = flint.acb(0, 1)
        turn = 2 / (flint.arb.pi() * i) * (-i * flint.arb.pi() * (half - 1) / 2).exp()
        if dim % 2:
            k = bessel_k_half_integer(max(dim - 3, 0) // 2, -i * y)
        else:
            k = bessel_k(dim // 2 - 1, -i * y, flint.ctx.prec)
        return power * turn * k


def find_range(dim: int, angle: float, bits: float) -> tuple[float, float, float]:
    """The log y between which g is above 2^-bits, and the logarithm of its largest value."""
    drop = bits * log(2.0)
    front = (1.0 - 0.5 * dim) * log(2.0) - lgamma(0.5 * dim)
    y = 0.5 * max(dim, 2) * np.exp(np.arange(-5.0, 30.0, 0.05))
    sizes = front + 0.5 * (dim + 1) * np.log(y) - y * sin(angle)
    seen = y[sizes > -drop - 3.0]
    high = float(np.log(seen[-1])) if seen.size else 0.0
    low = -(drop + 5.0) / (1.0 if dim == 1 else 2.0)
    return low, high + 0.1, max(float(sizes.max()), 0.0) + 1.0

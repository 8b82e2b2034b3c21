r"""The two faces of the plane-wave mean: the wave itself and its slowly varying amplitude.

.. math:: \Omega_d(x) = \Re\,[e^{ix} H_d(x)], \qquad
          e^{ix} H_d(x) = \Gamma(d/2) (2/x)^\nu H^{(1)}_\nu(x), \quad \nu = d/2 - 1

for x > 0.  The amplitude H_d varies by a power of x beyond x = ν, which is what makes
integrals of Ω over many waves cheap (DLMF 10.17.5).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, hankel1e

from spectra.table.arrays import ComplexArray, FloatArray, NumberArray

__all__ = ["hankel_amplitude", "wave_envelope", "wave_region"]


def wave_region(dim: int) -> float:
    """Argument beyond which the amplitude varies by a power law and is of the size of Ω.

    The order plus half of it is past the turning point x = ν of the Bessel functions, before which
    the amplitude grows without bound towards x = 0; 10 more serves the small orders.
    """
    return 1.5 * max(0.5 * dim - 1.0, 0.0) + 10.0


def hankel_amplitude(dim: int, x: NumberArray) -> ComplexArray:
    """H_d(x) for Re x > 0, real or complex, from Hankel's function scaled by exp(-i x).

    Examples
    --------
    >>> complex(hankel_amplitude(3, np.array([2.0]))[0])
    (-0-0.5j)
    """
    x = np.asarray(x, dtype=complex)
    if dim == 1:
        return np.ones_like(x)
    if dim == 3:
        return np.asarray(-1j / x)
    order = 0.5 * dim - 1.0
    scale = np.exp(float(gammaln(0.5 * dim)) + order * np.log(2.0 / x))
    return np.asarray(scale * hankel1e(order, x))


def wave_envelope(dim: int, x: FloatArray) -> FloatArray:
    """Size of Ω_d for x >= 0: |H_d(x)| beyond the turning point and 1 before it."""
    x = np.asarray(x, dtype=float)
    out = np.ones_like(x)
    far = x > wave_region(dim)
    out[far] = np.abs(hankel_amplitude(dim, x[far]))
    return out

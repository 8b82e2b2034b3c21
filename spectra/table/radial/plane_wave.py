r"""The slowly varying amplitude of the plane-wave mean, and bounds of its size and rounding.

.. math:: \Omega_d(x) = \Re\,[e^{ix} H_d(x)], \qquad
          e^{ix} H_d(x) = \Gamma(d/2) (2/x)^\nu H^{(1)}_\nu(x), \quad \nu = d/2 - 1

for x > 0.  The amplitude H_d varies by a power of x beyond x = ν, which is what makes
integrals of Ω over many waves cheap (DLMF 10.17.5).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln, hankel1e

from spectra.base.arrays import ComplexArray, FloatArray, NumberArray

__all__ = ["hankel_amplitude", "wave_envelope", "wave_region", "wave_rounding"]

# Terms of Hankel's expansion: few far out, many nearer.  It is used where the first term left out
# is below rounding and none is above 2.  The library's own function is slower and is not a number
# beyond 1e15.
_HANKEL_TERMS = (12, 36)
_HANKEL_TOLERANCE = 2.0**-56
_HANKEL_LARGEST_TERM = 2.0


def wave_region(dim: int) -> float:
    """Argument beyond which the amplitude varies by a power law and is of the size of Ω.

    The order plus half of it is past the turning point x = ν of the Bessel functions, before which
    the amplitude grows without bound towards x = 0; 10 more are enough for small orders.
    """
    return 1.5 * max(0.5 * dim - 1.0, 0.0) + 10.0


def hankel_amplitude(dim: int, x: NumberArray) -> ComplexArray:
    """H_d(x) for Re x >= 0, x not 0, real or complex, from Hankel's function without exp(i x)."""
    x = np.asarray(x, dtype=complex)
    if dim == 1:
        return np.ones_like(x)
    if dim == 3:
        return np.asarray(-1j / x)
    order = 0.5 * dim - 1.0
    scale = np.exp(float(gammaln(0.5 * dim)) + order * np.log(2.0 / x))
    out = np.empty_like(x)
    rest = np.ones(x.shape, dtype=bool)
    size = np.abs(x)
    for start, factors in _hankel_series(order):
        now = rest & (size >= start)
        out[now] = _far_hankel(order, factors, x[now])
        rest &= ~now
    out[rest] = hankel1e(order, x[rest])
    return np.asarray(scale * out)


@cache
def _hankel_series(order: float) -> tuple[tuple[float, FloatArray], ...]:
    """Radii beyond which expansions DLMF 10.17.5 are accurate, and the ratios of their terms."""
    k = np.arange(1.0, max(_HANKEL_TERMS) + 2.0)
    ratios = (4.0 * order**2 - (2.0 * k - 1.0) ** 2) / (8.0 * k)
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(np.abs(ratios)))
    series = []
    for count in _HANKEL_TERMS:
        left_out = (logs[count] - np.log(_HANKEL_TOLERANCE)) / (count + 1.0)
        largest = (logs[:count] - np.log(_HANKEL_LARGEST_TERM)) / k[:count]
        start = float(np.exp(max(left_out, float(np.max(largest)))))
        series.append((max(start, 1.0), ratios[:count]))
    return tuple(series)


def _far_hankel(order: float, ratios: FloatArray, x: NumberArray) -> ComplexArray:
    """Hankel's function of the first kind without exp(i x), by DLMF 10.17.5."""
    y = np.asarray(1j / x, dtype=complex)
    series = np.ones_like(y)
    for ratio in ratios[::-1]:
        series *= y
        series *= ratio
        series += 1.0
    start = np.exp(-0.5j * np.pi * (order + 0.5))
    return np.asarray(start * np.sqrt(2.0 / (np.pi * x)) * series)


def wave_envelope(dim: int, x: FloatArray) -> FloatArray:
    r"""Bound of \|Ω_d\| on [x, ∞), which falls with x >= 0.

    Beyond the turning point it is \|H_d(x)\|.  Up to x = ν, which is before the first zero of
    J_ν, the product over the zeros gives :math:`\Omega_d(x) \le e^{-x^2/(2d)}`, and
    :math:`\Omega^2 + \Omega'^2` falls with x; with :math:`\Omega_d' = -(x/d)\,\Omega_{d+2}` this
    bounds Ω from x on by :math:`e^{-x^2/(2d+4)} \sqrt{1 + x^2/d^2}`.
    """
    x = np.asarray(x, dtype=float)
    early = np.minimum(x, max(0.5 * dim - 1.0, 0.0))
    out = np.minimum(
        1.0, np.exp(-(early**2) / (2.0 * dim + 4.0)) * np.sqrt(1.0 + (early / dim) ** 2)
    )
    far = x > wave_region(dim)
    out[far] = np.minimum(out[far], np.abs(hankel_amplitude(dim, x[far])))
    return np.asarray(out)


def wave_rounding(dim: int, low: FloatArray, high: FloatArray) -> FloatArray:
    """Rounding error of Ω_dim(w z) for w z in [low, high]: that of the product and that of Ω.

    Ω is evaluated through logarithms of the size of log Γ(d/2), save near 0 and for d = 1 and 3.
    """
    # x times the envelope has its maximum at an end, near √(d + 2), or where the region begins.
    inner = (np.clip(x, low, high) for x in (np.sqrt(dim + 2.0), wave_region(dim)))
    x = np.stack([low, high, *inner])
    product = np.max(x * wave_envelope(dim, x), axis=0)
    if dim not in (1, 3):
        series_end = np.sqrt(3.0 * dim)
        logs = abs(float(gammaln(0.5 * dim))) * wave_envelope(dim, np.maximum(low, series_end))
        product += np.where(high > series_end, logs, 0.0)
    # Two values of Ω differ by no more than this, however much the phase is off.
    return np.asarray(np.minimum(2.0**-52 * product, 2.0 * wave_envelope(dim, low)))

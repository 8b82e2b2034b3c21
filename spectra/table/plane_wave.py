r"""The mean Ω_d(x) of cos(x u_1) over unit vectors u of R^d: amplitude, bounds, rounding error.

.. math:: \Omega_d(x) = \Re\,[e^{ix} H_d(x)], \qquad
          e^{ix} H_d(x) = \Gamma(d/2) (2/x)^\nu H^{(1)}_\nu(x), \quad \nu = d/2 - 1

for x > 0.  Beyond x = ν the amplitude H_d does not oscillate and falls like a power of x.  So
integrals over many oscillations of Ω can be computed from few values of H_d.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln, hankel1e

from spectra.base.accuracy import EPS
from spectra.base.arrays import ComplexArray, FloatArray, NumberArray

__all__ = ["hankel_amplitude", "plane_wave_bound", "plane_wave_rounding", "smooth_amplitude_start"]

# Numbers of terms of Hankel's expansion for large and smaller x, used if the first term left out is
# below rounding error and no term exceeds 2.  scipy's hankel1e is slower, and nan for x > 1e15.
_HANKEL_TERMS = (12, 36)
_HANKEL_TOLERANCE = EPS / 16.0
_HANKEL_LARGEST_TERM = 2.0


def smooth_amplitude_start(dim: int) -> float:
    """The x beyond which the amplitude falls like a power of x and is of the size of Ω.

    This holds beyond the turning point x = ν of the Bessel functions; towards x = 0 the amplitude
    is unbounded.  The value 1.5 ν + 10 has a margin for all orders.
    """
    return 1.5 * max(0.5 * dim - 1.0, 0.0) + 10.0


def hankel_amplitude(dim: int, x: NumberArray) -> ComplexArray:
    """H_d(x) for real or complex x with Re x >= 0, x != 0."""
    x = np.asarray(x, dtype=complex)
    if dim == 1:
        return np.ones_like(x)
    if dim == 3:
        return np.asarray(-1j / x)
    order = 0.5 * dim - 1.0
    scale = np.exp(float(gammaln(0.5 * dim)) + order * np.log(2.0 / x))
    out = np.empty_like(x)
    missing = np.ones(x.shape, dtype=bool)
    size = np.abs(x)
    for start, ratios in _hankel_expansions(order):
        accurate = missing & (size >= start)
        out[accurate] = _sum_expansion(order, ratios, x[accurate])
        missing &= ~accurate
    out[missing] = hankel1e(order, x[missing])
    return np.asarray(scale * out)


@cache
def _hankel_expansions(order: float) -> tuple[tuple[float, FloatArray], ...]:
    """For each number of terms: the x from which the expansion is accurate; ratios of its terms."""
    k = np.arange(1.0, max(_HANKEL_TERMS) + 2.0)
    ratios = (4.0 * order**2 - (2.0 * k - 1.0) ** 2) / (8.0 * k)
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(np.abs(ratios)))
    series = []
    for count in _HANKEL_TERMS:
        # log x at which the first term left out, and each term, is as small as required.
        left_out = (logs[count] - np.log(_HANKEL_TOLERANCE)) / (count + 1.0)
        largest = (logs[:count] - np.log(_HANKEL_LARGEST_TERM)) / k[:count]
        start = float(np.exp(max(left_out, float(np.max(largest)))))
        series.append((max(start, 1.0), ratios[:count]))
    return tuple(series)


def _sum_expansion(order: float, ratios: FloatArray, x: NumberArray) -> ComplexArray:
    """Hankel's function of the first kind times exp(-i x), by the expansion DLMF 10.17.5."""
    y = np.asarray(1j / x, dtype=complex)
    series = np.ones_like(y)
    for ratio in ratios[::-1]:
        series *= y
        series *= ratio
        series += 1.0
    factor = np.exp(-0.5j * np.pi * (order + 0.5))
    return np.asarray(factor * np.sqrt(2.0 / (np.pi * x)) * series)


def plane_wave_bound(dim: int, x: FloatArray) -> FloatArray:
    r"""Bound of \|Ω_d\| on [x, ∞) for x >= 0.

    Up to the turning point x = ν, which is before the first zero of J_ν, its product over the zeros
    gives :math:`\Omega_d(x) \le e^{-x^2/(2d)}`.  As :math:`\Omega^2 + \Omega'^2` decreases, and
    :math:`\Omega_d' = -(x/d)\,\Omega_{d+2}`, :math:`e^{-x^2/(2d+4)} \sqrt{1 + x^2/d^2}` is a bound.
    Beyond ν its value at ν is a bound, and beyond ``smooth_amplitude_start`` so is \|H_d(x)\|.
    """
    x = np.asarray(x, dtype=float)
    y = np.minimum(x, max(0.5 * dim - 1.0, 0.0))
    out = np.minimum(1.0, np.exp(-(y**2) / (2.0 * dim + 4.0)) * np.sqrt(1.0 + (y / dim) ** 2))
    far = x > smooth_amplitude_start(dim)
    out[far] = np.minimum(out[far], np.abs(hankel_amplitude(dim, x[far])))
    return np.asarray(out)


def plane_wave_rounding(dim: int, low: FloatArray, high: FloatArray) -> FloatArray:
    """Rounding error of Ω_dim(w z) for w z in [low, high]: of the product w z and of Ω itself.

    For d > 3, Ω beyond √(3d) is computed as the exponential of logarithms of size log Γ(d/2).
    """
    # The product of x = w z and the bound is largest at an end, near √(d + 2), or where the smooth
    # amplitude starts.
    inner = (np.clip(x, low, high) for x in (np.sqrt(dim + 2.0), smooth_amplitude_start(dim)))
    x = np.stack([low, high, *inner])
    product = np.max(x * plane_wave_bound(dim, x), axis=0)
    if dim not in (1, 3):
        series_end = np.sqrt(3.0 * dim)
        logs = abs(float(gammaln(0.5 * dim))) * plane_wave_bound(dim, np.maximum(low, series_end))
        product += np.where(high > series_end, logs, 0.0)
    # The difference of two values of Ω is at most twice its bound.
    return np.asarray(np.minimum(EPS * product, 2.0 * plane_wave_bound(dim, low)))

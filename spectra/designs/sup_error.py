r"""The largest error of a design on its whole domain, from few values and a bound between them.

On a panel of half-width h around m the error :math:`e = \sum_j c_j \Omega_d(w_j z) - k(z)` is a
polynomial of degree below n up to a remainder R.  From the values at N > n Chebyshev points,

.. math:: \max |e| \le \Bigl(\max_i |e(z_i)| + R\Bigr) \Big/ \cos\frac{\pi n}{2N} + R

(H. Ehlich and K. Zeller, Mathematische Zeitschrift 86, 1964, 41-44).  The waves contribute at most
:math:`2 \sum_j |c_j| E|s_1|^n (w_j h / 2)^n / n!` to R, whatever the kernel; the contribution of
the kernel is estimated from its Chebyshev coefficients.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import sympy
from scipy.fft import dct
from scipy.special import gammaln

from spectra.base.enclosures import EPS, Enclosure
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.designs.wave_columns import wave_moment
from spectra.kernels.kernel import Kernel

__all__ = ["estimated_sup_error"]

# Degree of the polynomials, and points per panel: the bound exceeds the sampled maximum by the
# factor 1 / cos(pi/24) = 1.0086.
_DEGREE = 16
_POINTS = 12 * _DEGREE
_NODES = np.cos((2.0 * np.arange(_POINTS) + 1.0) * np.pi / (2.0 * _POINTS))
_INFLATION = float(1.0 / np.cos(0.5 * np.pi * _DEGREE / _POINTS))
# Panels are halved until their remainder is below this part of the tolerance.
_REMAINDER = 2e-3
# Panels start at this phase of the fastest wave, where the remainder of 16 terms is 1e-9.
_FIRST_PHASE = 3.0
# A root or a jump at the end of the domain needs panels as narrow as rounding allows.
_MOST_HALVINGS = 60
# Error of one float64 wave or kernel value, in units of rounding.
_VALUE_ULPS = 32.0


def estimated_sup_error(
    kernel: Kernel,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    *,
    tol: float,
) -> Enclosure:
    """Largest error on the domain; only the kernel's smoothness on each panel is estimated."""
    low, high = domain
    count = 1 + int((high - low) * float(radii.max(initial=0.0)) / (2.0 * _FIRST_PHASE))
    breaks = [float(p.support) for p in kernel.pieces if p.support != sympy.oo]
    inner = [b for b in breaks if low < b < high]
    edges = np.unique(np.append(np.linspace(low, high, count + 1), inner)).tolist()
    waiting = [(a, b, 0) for a, b in pairwise(edges)]
    rounding = _VALUE_ULPS * EPS * (1.0 + float(np.abs(masses).sum()))
    lower = upper = 0.0
    while waiting:
        a, b, depth = waiting.pop()
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        z = np.clip(middle + half * _NODES, a, b)
        values = kernel(z)
        error = plane_wave_mean(dim, z[:, None] * radii) @ masses - values
        remainder = _kernel_remainder(values) + _wave_remainder(dim, radii, masses, half)
        sampled = float(np.abs(error).max())
        bound = (sampled + remainder) * _INFLATION + remainder
        if remainder > _REMAINDER * tol + rounding and bound > upper:
            if depth < _MOST_HALVINGS and a < middle < b:
                waiting += [(a, middle, depth + 1), (middle, b, depth + 1)]
                continue
            # No panel is narrower: the kernel jumps here by what its samples show.
            bound += float(np.ptp(values))
        lower, upper = max(lower, sampled), max(upper, bound)
    return Enclosure(0.5 * (lower + upper), 0.5 * (upper - lower) + rounding)


def _kernel_remainder(values: FloatArray) -> float:
    """Its coefficients from the degree on, and the last quarter again for those not computed."""
    series = np.abs(dct(values, type=2)) / _POINTS
    return float(series[_DEGREE:].sum() + series[-_POINTS // 4 :].sum())


def _wave_remainder(dim: int, radii: FloatArray, masses: FloatArray, half: float) -> float:
    with np.errstate(divide="ignore"):
        logs = _DEGREE * np.log(0.5 * radii * half) - gammaln(_DEGREE + 1)
    return float(2.0 * wave_moment(dim, _DEGREE) * np.sum(np.abs(masses) * np.exp(logs)))

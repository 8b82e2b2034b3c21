r"""The mean of a plane wave over directions, and the variance of its estimate.

Omega_d(t) is the mean of cos(t s.e) over unit vectors s of R^d, for a fixed unit vector e.  A mean
over P random directions s_p estimates it with the variance

.. math:: V(t) = \sum_{n = 2, 4, \dots} S_n\, g_n(t)^2, \qquad
          S_n = P^{-2} \sum_{p,q} P_n(s_p \cdot s_q),

with the coefficients g_n of plane waves and the Gegenbauer polynomials P_n of
``base.special.harmonics``.  Independent directions have S_n = 1/P.  One block of b orthonormal
directions has

.. math:: V(t) = \frac1b \Bigl[\frac{1 + \Omega_d(2t)}2 + (b-1)\,\Omega_d(\sqrt2 t)
                 - b\,\Omega_d(t)^2\Bigr].
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammaln

from spectra.base.accuracy import DENSITY, PROBABILITY
from spectra.base.bessel import plane_wave_mean
from spectra.base.harmonics import gegenbauer_sequence, wave_coefficients
from spectra.base.numbers import FloatArray

__all__ = [
    "angular_means", "block_variance", "mean_and_coefficients", "pad_angular_means",
    "tabulated_wave", "wave_moment",
]  # fmt: skip

#: The function t -> Omega_d(t).
Wave = Callable[[FloatArray], FloatArray]

# Largest absolute error of a tabulated wave.
_TABLE_ERROR = PROBABILITY
# For t below max(4, 0.6 sqrt(d)) the closed form of V cancels, and its series converges fast.
_SMALL_PHASE, _SMALL_PHASE_PER_ROOT = 4.0, 0.6
# Largest degree of that series: the omitted terms are below 1e-60 for every d.
_LAST_DEGREE = 36
# Angular means are computed up to this degree; those of higher degrees count as 1/P.
_LAST_ANGULAR_DEGREE = 30
# Angular means below this are rounding errors: they are means of terms of size 1.
_MEAN_ROUNDING = DENSITY / 10.0


def wave_moment(dim: int, order: float) -> float:
    r"""E|s_1|^m of a uniform unit vector s of R^dim with m = order, a bound of |Omega_d^(m)|.

    .. math:: |\Omega_d^{(m)}(t)| \le E|s_1|^m
              = \frac{\Gamma(d/2)\,\Gamma((m+1)/2)}{\sqrt\pi\,\Gamma((m+d)/2)}
    """
    if dim == 1:
        return 1.0
    log = gammaln(0.5 * dim) + gammaln(0.5 * (order + 1)) - gammaln(0.5 * (order + dim))
    return float(np.exp(log) / np.sqrt(np.pi))


def tabulated_wave(dim: int, largest: float) -> Wave:
    """Omega_d as a cubic spline on [0, largest], with an absolute error of at most 1e-12."""
    if dim in (1, 3):  # cos and sinc are faster than a spline
        return partial(plane_wave_mean, dim)
    # The error of a cubic spline is 5/384 h^4 max|f''''|.
    step = (_TABLE_ERROR * 384.0 / 5.0 / wave_moment(dim, 4)) ** 0.25
    knots = np.linspace(0.0, largest, 2 + int(largest / step))
    # Exact slopes at both ends: Omega_d is even, and its derivative is -t/d Omega_(d+2)(t).
    slope = -largest / dim * float(plane_wave_mean(dim + 2, largest))
    spline: Wave = CubicSpline(knots, plane_wave_mean(dim, knots), bc_type=((1, 0.0), (1, slope)))
    return spline


def block_variance(
    dim: int, t: FloatArray, *, size: int | None = None, wave: Wave | None = None
) -> FloatArray:
    """Variance V(t) of the mean of cos(t s_p.e) over a random block of orthonormal directions.

    ``size`` is the number of directions, by default ``dim``; ``wave`` evaluates Omega_d.  For small
    t the closed form cancels, and the series of V(t) is used.
    """
    if dim == 1:
        return np.zeros_like(t)
    b, omega = size or dim, wave or partial(plane_wave_mean, dim)
    small = t < max(_SMALL_PHASE, _SMALL_PHASE_PER_ROOT * float(np.sqrt(dim)))
    value = np.empty_like(t)
    x = t[~small]
    pairs = (b - 1) * omega(np.sqrt(2.0) * x) if b > 1 else 0.0
    value[~small] = (0.5 * (1.0 + omega(2.0 * x)) + pairs - b * omega(x) ** 2) / b
    means = pad_angular_means(angular_means(dim, b, last=_LAST_DEGREE), b, _LAST_DEGREE // 2)
    value[small] = means @ wave_coefficients(dim, _LAST_DEGREE, t[small])[2::2] ** 2
    return value


def angular_means(
    dim: int, n_directions: int, *, blocks: bool = True, last: int = _LAST_ANGULAR_DEGREE
) -> FloatArray:
    """The angular means S_0, S_2, ..., S_last of P = n_directions random directions.

    The directions form independent blocks of d orthonormal ones, with a smaller last block if d
    does not divide P.  Without blocks they are independent, and all means but S_0 are 1/P.
    """
    full, rest = divmod(n_directions, dim)
    pairs = full * dim * (dim - 1) + rest * (rest - 1) if blocks else 0
    at_zero = gegenbauer_sequence(dim, 0.0) if dim > 1 else itertools.repeat(1.0)
    values = itertools.islice(at_zero, 2, last + 1, 2)
    return np.array([1.0, *((n_directions + pairs * x) / n_directions**2 for x in values)])


def pad_angular_means(means: FloatArray, n_directions: int, count: int) -> FloatArray:
    """S_2, S_4, ..., S_(2 count) from S_0, S_2, ...; 1/n_directions where these end."""
    known = means[1 : count + 1]
    padded = np.full(count, 1.0 / n_directions)
    padded[: known.size] = np.where(known < _MEAN_ROUNDING, 0.0, known)
    return padded


def mean_and_coefficients(dim: int, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Omega_d(t), and the coefficients g_2(t), g_4(t), ... that determine the variance."""
    if dim == 1:
        return np.cos(t), np.zeros((1, *t.shape))
    last = int(3.0 * np.sqrt(dim) + 1.1 * t.max(initial=0.0) + 20.0)  # omitted: sum g_n^2 < 1e-18
    mean, _, *rest = wave_coefficients(dim, last, t)
    return mean, np.array(rest[::2])

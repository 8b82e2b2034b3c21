r"""Mean plane waves of spheres as columns of a design: fast values, and their variance.

A design is a sum of few spheres, :math:`\hat k(z) = \sum_j c_j \Omega_d(w_j z)`.  Its estimate
from random directions has a variance that depends on the coupling; with one block of orthonormal
directions, of size b, it is :math:`c_j^2 V(w_j z)` for each sphere,

.. math:: V(t) = \frac1b \Bigl[\frac{1 + \Omega(2t)}2 + (b-1)\,\Omega(\sqrt2 t)
                 - b\,\Omega(t)^2\Bigr].
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammaln

from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.base.special.harmonics import gegenbauer_sequence, wave_coefficients

__all__ = [
    "ANGULAR_DEGREE",
    "angular_means",
    "block_variance",
    "completed_means",
    "tabulated_wave",
    "varying_parts",
    "wave_moment",
]

Wave = Callable[[FloatArray], FloatArray]

# Absolute error of the tabulated waves: far below any tolerance that a design can be asked for.
_TABLE_ERROR = 1e-12
# Below the larger of this phase and this part of sqrt(d) the closed form of V cancels, and the sum
# of positive terms (about (t^2/d)^n / n!) converges fast.
_SMALL_PHASE, _SMALL_PART = 4.0, 0.6
# Even degrees up to LAST of that sum: at phase 4 and d = 2 the terms left out are below 1e-25.
_LAST_DEGREE = 36
#: Angular means are computed up to this degree; beyond it a set is like independent directions.
ANGULAR_DEGREE = 30
# Angular means below this are zeros that were rounded: they are means of terms of size 1.
_MEAN_ROUNDING = 1e-13


def wave_moment(dim: int, order: float) -> float:
    r"""E|s_1|^order for a uniform unit vector, which bounds the derivative of that order of Omega.

    .. math:: |\Omega_d^{(m)}(t)| \le E|s_1|^m
              = \frac{\Gamma(d/2)\,\Gamma((m+1)/2)}{\sqrt\pi\,\Gamma((m+d)/2)}
    """
    if dim == 1:
        return 1.0
    log = gammaln(0.5 * dim) + gammaln(0.5 * (order + 1)) - gammaln(0.5 * (order + dim))
    return float(np.exp(log) / np.sqrt(np.pi))


def tabulated_wave(dim: int, reach: float) -> Wave:
    """Omega_d on [0, reach] by cubic splines, to an absolute error of 1e-12."""
    if dim in (1, 3):  # cos and sinc are faster than a spline
        return partial(plane_wave_mean, dim)
    # The error of a cubic spline is 5/384 h^4 max|f''''|.
    step = (_TABLE_ERROR * 384.0 / 5.0 / wave_moment(dim, 4)) ** 0.25
    knots = np.linspace(0.0, reach, 2 + int(reach / step))
    # Exact slopes at both ends: the function is even, and its derivative is a multiple of dim + 2.
    end = -reach / dim * float(plane_wave_mean(dim + 2, reach))
    spline: Wave = CubicSpline(knots, plane_wave_mean(dim, knots), bc_type=((1, 0.0), (1, end)))
    return spline


def block_variance(
    dim: int, t: FloatArray, *, size: int | None = None, wave: Wave | None = None
) -> FloatArray:
    r"""Variance V(t) of the mean of cos(t u_i.e) over a Haar block of orthonormal directions.

    For small t the closed form cancels (for a whole block V falls like t^8), and the equal sum of
    positive terms over even degrees,
    :math:`V = \sum_n N(n,d)\,j_n(t)^2\,[1 + (b-1) P_n(0)]/b`, is used.
    """
    if dim == 1:
        return np.zeros_like(t)
    b, omega = size or dim, wave or partial(plane_wave_mean, dim)
    small = t < max(_SMALL_PHASE, _SMALL_PART * float(np.sqrt(dim)))
    value = np.empty_like(t)
    x = t[~small]
    across = (b - 1) * omega(np.sqrt(2.0) * x) if b > 1 else 0.0
    value[~small] = (0.5 * (1.0 + omega(2.0 * x)) + across - b * omega(x) ** 2) / b
    means = completed_means(angular_means(dim, b, last=_LAST_DEGREE), b, _LAST_DEGREE // 2)
    value[small] = means @ wave_coefficients(dim, _LAST_DEGREE, t[small])[2::2] ** 2
    return value


def angular_means(
    dim: int, n: int, *, blocks: bool = True, last: int = ANGULAR_DEGREE
) -> FloatArray:
    """S_0, S_2, ..., S_last of n directions in independent Haar blocks of d orthonormal ones.

    S_n = [n + P_n(0) sum b (b - 1)] / n^2 over the sizes b of the blocks; without blocks the
    directions are independent, and S_n = 1/n.
    """
    full, rest = divmod(n, dim)
    pairs = full * dim * (dim - 1) + rest * (rest - 1) if blocks else 0
    at_zero = gegenbauer_sequence(dim, 0.0) if dim > 1 else itertools.repeat(1.0)
    values = itertools.islice(at_zero, 2, last + 1, 2)
    return np.array([1.0, *((n + pairs * value) / n**2 for value in values)])


def completed_means(means: FloatArray, n: int, count: int) -> FloatArray:
    """S_2, S_4, ... to a count: those known, then 1/n, which independent directions have."""
    known = means[1 : count + 1]
    completed = np.full(count, 1.0 / n)
    completed[: known.size] = np.where(known < _MEAN_ROUNDING, 0.0, known)
    return completed


def varying_parts(dim: int, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean Omega(t) of a plane wave, and its terms g_2(t), g_4(t), ... of mean 0."""
    if dim == 1:
        return np.cos(t), np.zeros((1, *t.shape))
    last = int(3.0 * np.sqrt(dim) + 1.1 * t.max(initial=0.0) + 20.0)
    mean, _, *rest = wave_coefficients(dim, last, t)
    return mean, np.array(rest[::2])

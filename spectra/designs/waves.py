r"""Plane waves of spheres as columns of a design: fast values, and the variance that they cost.

A design is a sum of few spheres, :math:`\hat k(z) = \sum_j c_j \Omega_d(w_j z)`.  Its estimate
from random directions has a variance that depends on the coupling; with one block of orthonormal
directions it is :math:`c_j^2 V(w_j z)` for each sphere,

.. math:: V(t) = \frac1d \Bigl[\frac{1 + \Omega(2t)}2 + (d-1)\,\Omega(\sqrt2 t)
                 - d\,\Omega(t)^2\Bigr].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import gammaln

from spectra.harmonics import gegenbauer_at_zero, wave_coefficients
from spectra.special import plane_wave_mean

__all__ = [
    "WaveTable",
    "block_covariance",
    "block_variance",
    "iid_variance",
    "wave_moment",
]

FloatArray = NDArray[np.float64]
Wave = Callable[[FloatArray], FloatArray]

# Absolute error of the tabulated waves: far below any tolerance that a design can be asked for.
_TABLE_ERROR = 1e-12
# Below the larger of this phase and this part of sqrt(d) the closed form of V cancels, and the sum
# of positive terms (about (t^2/d)^n / n!) converges fast.
_SMALL_PHASE, _SMALL_PART = 4.0, 0.6
# Even degrees 4..LAST of that sum: at phase 4 and d = 2 the terms left out are below 1e-25.
_LAST_DEGREE = 36


def wave_moment(dim: int, order: float) -> float:
    r"""E|s_1|^order for a uniform unit vector, which bounds the derivative of that order of Omega.

    .. math:: |\Omega_d^{(m)}(t)| \le E|s_1|^m
              = \frac{\Gamma(d/2)\,\Gamma((m+1)/2)}{\sqrt\pi\,\Gamma((m+d)/2)}

    Examples
    --------
    >>> round(wave_moment(16, 2), 12)          # 1/d
    0.0625
    """
    if dim == 1:
        return 1.0
    log = gammaln(0.5 * dim) + gammaln(0.5 * (order + 1)) - gammaln(0.5 * (order + dim))
    return float(np.exp(log) / np.sqrt(np.pi))


class WaveTable:
    """Omega_d on [0, reach] by cubic splines, to an absolute error of 1e-12.

    Examples
    --------
    >>> wave = WaveTable(16, 50.0)
    >>> bool(abs(wave(np.array([7.3])) - plane_wave_mean(16, 7.3)) < 2e-12)
    True
    """

    def __init__(self, dim: int, reach: float) -> None:
        self._dim = dim
        self._spline = None
        if dim not in (1, 3):  # cos and sinc are faster than a spline
            # The error of a cubic spline is 5/384 h^4 max|f''''|.
            step = (_TABLE_ERROR * 384.0 / 5.0 / wave_moment(dim, 4)) ** 0.25
            knots = np.linspace(0.0, reach, 2 + int(reach / step))
            # Both ends are right: the function is even, and its slope is that of dim + 2.
            end = -reach / dim * float(plane_wave_mean(dim + 2, reach))
            self._spline = CubicSpline(
                knots, plane_wave_mean(dim, knots), bc_type=((1, 0.0), (1, end))
            )

    def __call__(self, t: FloatArray) -> FloatArray:
        """Values at 0 <= t <= reach."""
        if self._spline is None:
            return plane_wave_mean(self._dim, t)
        return np.asarray(self._spline(t))


def _small_phase(dim: int) -> float:
    return max(_SMALL_PHASE, _SMALL_PART * float(np.sqrt(dim)))


def block_variance(dim: int, t: FloatArray, *, wave: Wave | None = None) -> FloatArray:
    r"""Variance V(t) of the mean of cos(t u_i.e) over one Haar block of d orthonormal directions.

    For small t the closed form cancels (V falls like t^8), and the equal sum of positive terms
    over even degrees n >= 4,
    :math:`V = \frac1d \sum_n N(n,d)\,j_n(t)^2\,[1 + (d-1) P_n(0)]`, is used.
    ``wave`` computes Omega where a table of it is at hand.

    Examples
    --------
    >>> round(float(block_variance(16, np.array([2.0]))[0]), 12)
    3.710784e-06
    """
    if dim == 1:
        return np.zeros_like(t)
    omega = wave or partial(plane_wave_mean, dim)
    small = t < _small_phase(dim)
    value = np.empty_like(t)
    x = t[~small]
    value[~small] = (
        0.5 * (1.0 + omega(2.0 * x)) + (dim - 1) * omega(np.sqrt(2.0) * x) - dim * omega(x) ** 2
    ) / dim
    value[small] = _block_factors(dim, _LAST_DEGREE) @ _even_parts(dim, t[small]) / dim
    return value


def iid_variance(dim: int, t: FloatArray, *, wave: Wave | None = None) -> FloatArray:
    r"""Variance (1 + Omega(2t))/2 - Omega(t)^2 of cos(t u.e) for one uniform direction.

    For small t it is the sum :math:`\sum_n N(n,d)\,j_n(t)^2` over even n >= 2.

    Examples
    --------
    >>> round(float(iid_variance(1, np.array([2.0]))[0]), 12)
    0.0
    """
    if dim == 1:
        return np.zeros_like(t)
    omega = wave or partial(plane_wave_mean, dim)
    small = t < _small_phase(dim)
    value = np.empty_like(t)
    x = t[~small]
    value[~small] = 0.5 * (1.0 + omega(2.0 * x)) - omega(x) ** 2
    value[small] = _even_parts(dim, t[small])[1:].sum(axis=0)
    return value


def block_covariance(dim: int, radii: FloatArray, z: FloatArray, weights: FloatArray) -> FloatArray:
    r"""Covariances of the spheres of a design that share one block of directions: Q_ij.

    .. math:: Q_{ij} = \frac1d \sum_{n \ge 4} N(n,d)\, [1 + (d-1) P_n(0)]\;
              \overline{j_n(w_i z)\, j_n(w_j z)}

    (mean over the distances), so that one block gives the variance c' Q c; it equals
    (1/d)[(Omega((w_i+w_j)z) + Omega((w_i-w_j)z))/2 + (d-1) Omega(z sqrt(w_i^2+w_j^2))]
    - Omega(w_i z) Omega(w_j z), without its cancellation.

    Parameters
    ----------
    radii : ndarray of shape (m,)
    z, weights : ndarray of shape (n,)
        Distances and their weights, which sum to 1.

    Examples
    --------
    >>> q = block_covariance(16, np.array([1.0, 3.0]), np.array([2.0]), np.ones(1))
    >>> bool(np.isclose(q[1, 1], block_variance(16, np.array([6.0]))[0]))
    True
    """
    if dim == 1:
        return np.zeros((radii.size, radii.size))
    t = radii[:, None] * z
    degrees = int(3.0 * np.sqrt(dim) + t.max(initial=0.0)) + 24
    parts = wave_coefficients(dim, degrees, t)[::2]
    factors = _block_factors(dim, degrees) / dim
    return np.asarray(np.einsum("n,nik,njk,k->ij", factors, parts, parts, weights, optimize=True))


def _even_parts(dim: int, t: FloatArray) -> FloatArray:
    """Squares of the parts of degrees 0, 2, ..., for small phases t >= 0."""
    return wave_coefficients(dim, _LAST_DEGREE, t)[::2] ** 2


def _block_factors(dim: int, last: int) -> FloatArray:
    """1 + (d - 1) P_n(0) for n = 0, 2, ..., last, of which a block of d directions has n = 2 at 0.

    The mean itself (n = 0) does not vary.
    """
    factors = [1.0 + (dim - 1) * gegenbauer_at_zero(dim, n) for n in range(4, last + 1, 2)]
    return np.array([0.0, 0.0, *factors])

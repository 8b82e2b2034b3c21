r"""Waves on the sphere: harmonics of low degrees, and arcs, zonal waves of random poles.

The harmonics of degree l are :math:`Y_{l0}`, and :math:`Y_{lm}`, m = 1, ..., l, times cosine and
sine of m times the longitude, normalised to :math:`\sum_m Y_{lm}(x) Y_{lm}(y) = (2l + 1) P_l(x
\cdot y)`.  An arc is :math:`\sqrt{2l+1}\,P_l(x \cdot e)`; for a uniform pole e its covariance is
:math:`P_l` (A. Alegria, X. Emery and C. Lantuejoul, The turning arcs, Stat. Comput. 30, 2020).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import j0, j1

from spectra.base.arrays import FloatArray

__all__ = ["LEAST_ARC_DEGREE", "arcs", "harmonics", "legendre_rows"]

#: From this degree on the asymptotic series of the Legendre polynomials has an error below 2e-7.
LEAST_ARC_DEGREE = 32
#: Angles below which the second coefficient of the series is replaced by its limit.
_SMALL = 1e-2


def legendre_rows(degree: int, latitude: FloatArray) -> Iterator[FloatArray]:
    """Yield Y_lm at longitude 0 for l = 0, ..., degree, each of shape (l + 1, points)."""
    u, s = np.sin(latitude), np.cos(latitude)
    before, now = np.zeros((0, u.size)), np.ones((1, u.size))
    yield now
    for n in range(1, degree + 1):
        m = np.arange(n)[:, None]
        a = np.sqrt((4 * n * n - 1) / (n * n - m * m))
        b = np.sqrt(((n - 1) ** 2 - m[:-1] ** 2) / max(4 * (n - 1) ** 2 - 1, 1))
        following = np.empty((n + 1, u.size))
        following[:n] = a * u * now
        following[: n - 1] -= a[:-1] * b * before
        # The factor sqrt(2) of the harmonics with m > 0 enters at n = 1.
        following[n] = np.sqrt((2 * n + 1) / (2 * n) * (1 + (n == 1))) * s * now[-1]
        before, now = now, following
        yield now


def harmonics(degree: int, latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    """All harmonics up to a degree at points in radians: shape (points, (degree + 1)^2)."""
    turns = np.arange(degree + 1)[:, None] * longitude
    cosines, sines = np.cos(turns), np.sin(turns)
    columns = [
        np.concatenate([rows * cosines[: len(rows)], rows[1:] * sines[1 : len(rows)]])
        for rows in legendre_rows(degree, latitude)
    ]
    return np.concatenate(columns).T


def arcs(degrees: FloatArray, cosines: FloatArray, sines: FloatArray) -> FloatArray:
    r"""sqrt(2l + 1) P_l(cos a), l >= 32, for angles a of given cosines and sines >= 0.

    By the series of Bessel functions of x = (l + 1/2) a with three terms,

    .. math:: P_l(\cos a) = \sqrt{a/\sin a}\,\bigl(J_0(x) + c_1 J_1(x)/(l + 1/2)
                            + c_2 J_2(x)/(l + 1/2)^2 + ...\bigr)

    (I. Bogaert, B. Michiels and J. Fostier, SIAM J. Sci. Comput. 34, 2012, C83).
    """
    a = np.arctan2(sines, np.abs(cosines))
    v = degrees + 0.5
    x, safe = v * a, np.maximum(a, _SMALL)
    s, c = np.sin(safe), np.cos(safe)
    first = (safe * c - s) / (8 * safe * s) * a / safe
    second = (6 * safe * s * c - 15 * s**2 + safe**2 * (9 - s**2)) / (128 * (safe * s) ** 2)
    bessel0, bessel1 = j0(x), j1(x)
    bessel2 = np.divide(2 * bessel1, x, out=np.zeros_like(x), where=x > 0) - bessel0 * (x > 0)
    value = bessel0 + first / v * bessel1 + second / v**2 * bessel2
    value *= np.sqrt(2 * degrees + 1) / np.sqrt(np.sinc(a / np.pi))
    return np.where((cosines < 0) & (degrees % 2 == 1), -value, value)

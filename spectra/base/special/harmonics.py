r"""Spherical harmonics of R^d: Gegenbauer polynomials, and plane waves in them.

For a unit vector s and the angle c between s and the difference of two points,

.. math:: e^{i x c} = \sum_{n \ge 0} i^n N(n, d)\, j_n(x) P_n(c),
          \qquad j_n(x) = \Gamma(d/2) (2/x)^{d/2-1} J_{n+d/2-1}(x),

with the Gegenbauer polynomials P_n of dimension d, P_n(1) = 1, and the number N(n, d) of
spherical harmonics of degree n.  Two directions with the cosine c between them satisfy
E[P_n(s.e) P_m(t.e)] = delta_nm P_n(c) / N(n, d) for a uniform rotation of the pair, so that the
covariance of two cosines is a sum over even degrees of products of the normalised coefficients
g_n = sqrt(N(n, d)) j_n, whose squares sum to 1 over all degrees.

Every recurrence of these polynomials and functions is here and nowhere else; numpy and scipy only.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean, signed_log_0f1

__all__ = [
    "gegenbauer_sequence",
    "harmonic_count",
    "orthonormal_sequence",
    "wave_coefficients",
]

# An array, a float or an mpmath number: whatever can be added and multiplied.
Number = TypeVar("Number")

# Numbers that grow beyond this are divided by it; a step from the least phase stays in range.
_UNIT, _LEAST_PHASE = 1e100, 1e-200
# A recurrence downwards begins so many degrees, and standard deviations of the law of the degree,
# above the last one that is asked for: there it has forgotten where it began.
_MARGIN, _DEVIATIONS = 60, 16.0


def harmonic_count(degree: int, dim: int) -> int:
    """Number N(n, d) of independent spherical harmonics of degree n in R^dim, exactly.

    Examples
    --------
    >>> [harmonic_count(n, 3) for n in range(4)], [harmonic_count(n, 1) for n in range(3)]
    ([1, 3, 5, 7], [1, 1, 0])
    """
    if degree == 0:
        return 1
    if dim <= 2:
        return int(dim == 2) * 2 or int(degree == 1)
    return (2 * degree + dim - 2) * comb(degree + dim - 3, degree - 1) // degree


def gegenbauer_sequence(dim: int, c: Number) -> Iterator[Number]:
    """P_0(c), P_1(c), ... of dimension ``dim`` >= 2 without end, in the arithmetic of c.

    (n + d - 2) P_{n+1} = (2n + d - 2) c P_n - n P_{n-1}, which is stable on [-1, 1].

    Examples
    --------
    >>> from fractions import Fraction
    >>> from itertools import islice
    >>> [str(p) for p in islice(gegenbauer_sequence(3, Fraction(1, 2)), 4)]
    ['1', '1/2', '-1/8', '-7/16']
    """
    x: Any = c
    before, here = x * 0 + 1, x
    yield before
    n = 1
    while True:
        yield here
        before, here = here, ((2 * n + dim - 2) * x * here - n * before) / (n + dim - 2)
        n += 1


def orthonormal_sequence(dim: int, s: FloatArray) -> Iterator[FloatArray]:
    """p_n = sqrt(N(n, d)) P_n, n = 0, 1, ..., for a coordinate s of a uniform direction.

    They are orthonormal: s p_n = b_{n+1} p_{n+1} + b_n p_{n-1} with
    b_n^2 = n (n + d - 3) / ((2n + d - 4) (2n + d - 2)), ``dim`` at least 2; and they stay within
    the range of doubles, where N does not.

    Examples
    --------
    >>> from itertools import islice
    >>> p = list(islice(orthonormal_sequence(3, np.array([1.0])), 3))
    >>> np.concatenate(p)**2
    array([1., 3., 5.])
    """
    before, here, b = np.zeros_like(s), np.ones_like(s), 0.0
    n = 0
    while True:
        yield here
        n += 1
        # n = 1 is 0/0 in the plane; the mean of s^2 is 1/d in every dimension
        square = n * (n + dim - 3) / ((2 * n + dim - 4) * (2 * n + dim - 2)) if n > 1 else 1 / dim
        following = np.sqrt(square)
        before, here, b = here, (s * here - b * before) / following, following


def wave_coefficients(dim: int, degree: int, x: ArrayLike) -> FloatArray:
    r"""Normalised coefficients g_n(x) = sqrt(N(n, d)) j_n(x), n = 0 ... degree, of a plane wave.

    .. math:: g_n(x) = \sqrt{N(n,d)}\,\Gamma(d/2) (2/x)^{d/2-1} J_{n+d/2-1}(x),
              \qquad \sum_{n \ge 0} g_n(x)^2 = 1

    The absolute error is a few 1e-15 where x is below degree + d/2, and 1e-16 x beyond.  Small
    coefficients keep their digits down to 1e-230; those below may be 0.

    Beyond the turning point n + d/2 = x the recurrence of the Bessel functions runs upwards, before
    it downwards.

    Examples
    --------
    >>> g = wave_coefficients(16, 2048, [900.0])
    >>> bool(abs(np.sum(g**2) - 1.0) < 1e-13)
    True
    """
    x = np.asarray(x, dtype=float)
    flat = x.ravel()
    values = np.zeros((degree + 1, flat.size))
    if dim == 1:
        values[0] = np.cos(flat)
        values[1:2] = np.sin(flat)
        return values.reshape(degree + 1, *x.shape)
    upward = flat >= degree + 0.5 * dim
    if upward.any():
        values[:, upward] = _recur_up(dim, degree, flat[upward])
    if not upward.all():
        values[:, ~upward] = _recur_down(dim, degree, flat[~upward])
    return values.reshape(degree + 1, *x.shape)


def _scales(dim: int, degree: int) -> FloatArray:
    """sqrt(N(n + 1, d) / N(n, d)) for n = 0 ... degree."""
    n = np.arange(1.0, degree + 1.0)
    growth = (2 * n + dim) * (n + dim - 2) / ((2 * n + dim - 2) * (n + 1))
    return np.asarray(np.sqrt(np.append(float(dim), growth)))


def _recur_up(dim: int, degree: int, x: FloatArray) -> FloatArray:
    values = np.empty((degree + 1, x.size))
    values[0] = plane_wave_mean(dim, x)
    if degree == 0:
        return values
    sign, log = signed_log_0f1(0.5 * dim + 1.0, x)
    values[1] = sign * np.exp(log) * x / np.sqrt(float(dim))
    scale, order = _scales(dim, degree), 0.5 * dim - 1.0
    for n in range(1, degree):
        # j_{n+1} = 2 (n + order) / x j_n - j_{n-1}, between neighbours of different scale
        values[n + 1] = scale[n] * (
            2.0 * (n + order) / x * values[n] - scale[n - 1] * values[n - 1]
        )
    return values


def _recur_down(dim: int, degree: int, x: FloatArray) -> FloatArray:
    """Downwards (Miller), from a degree at which all is negligible; the squares sum to 1."""
    at_zero, x, order = x == 0.0, np.maximum(x, _LEAST_PHASE), 0.5 * dim - 1.0
    # The law g_n^2 of the degree has the mean of n (n + d - 2) at x^2 (d - 1)/d.
    mean = np.sqrt(order**2 + x.max() ** 2 * (dim - 1.0) / dim) - order
    most = int(max(mean, degree) + _MARGIN + _DEVIATIONS * np.sqrt(mean))
    scale = _scales(dim, most)
    values, units = np.zeros((degree + 1, x.size)), np.zeros((degree + 1, x.size), dtype=np.int16)
    high, low, squares = np.zeros_like(x), np.ones_like(x), np.zeros_like(x)
    unit = np.zeros(x.size, dtype=np.int16)
    for n in range(most, -1, -1):
        squares += low**2
        if n <= degree:
            values[n], units[n] = low, unit
        if n == 0:
            break
        # j_{n-1} = 2 (n + order) / x j_n - j_{n+1}, between neighbours of different scale
        step = 2.0 * (n + order) / x * low - high / scale[n]
        high, low = low, step / scale[n - 1]
        while (large := np.abs(low) > _UNIT).any():
            for each, power in ((high, 1), (low, 1), (squares, 2)):
                each[large] /= _UNIT**power
            unit[large] += 1
    shares = _UNIT ** -np.arange(unit.max() + 1.0)
    values *= shares[unit - units] / np.sqrt(squares)
    values[1:, at_zero] = 0.0
    return values

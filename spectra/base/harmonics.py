r"""Spherical harmonics of R^d: Gegenbauer polynomials, and the expansion of plane waves.

For unit vectors s and e with c = <s, e>, the plane wave with the phase x is

.. math:: e^{i x c} = \sum_{n \ge 0} i^n N(n, d)\, j_n(x) P_n(c),
          \qquad j_n(x) = \Gamma(d/2) (2/x)^{d/2-1} J_{n+d/2-1}(x),

where P_n are the Gegenbauer polynomials of dimension d with P_n(1) = 1, and N(n, d) is the number
of spherical harmonics of degree n.  If e is uniform on the sphere and t is a unit vector, then
E[P_n(<s, e>) P_m(<t, e>)] = delta_nm P_n(<s, t>) / N(n, d).  The covariance of cos(x <s, e>) and
cos(y <t, e>) is therefore the sum over n = 2, 4, ... of g_n(x) g_n(y) P_n(<s, t>), with the
normalised coefficients g_n = sqrt(N(n, d)) j_n; the sum of g_n(x)^2 over all n is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import comb
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.accuracy import EPS
from spectra.base.bessel import plane_wave_mean, signed_log_0f1
from spectra.base.numbers import FloatArray

__all__ = ["gegenbauer_sequence", "gegenbauer_shares", "harmonic_count", "orthonormal_sequence",
           "wave_coefficients"]  # fmt: skip

# An array, a float, a fraction or an mpmath number.
Number = TypeVar("Number")

# Values of the downward recurrence above the unit are divided by it; phases below the least one are
# replaced by it, so that no step overflows.
_UNIT, _LEAST_PHASE = 1e100, 1e-200
# The downward recurrence starts at the degree max(degree, m) + _MARGIN + _ROOT_MARGIN sqrt(m), m
# about the mean of n under the probabilities g_n^2: its initial values then have no influence.
_MARGIN, _ROOT_MARGIN = 60, 16.0
# Panels of the quadrature in the angle: their nodes, the largest width times the degree, and how
# often they are halved towards a point where the function is not smooth.
_NODES, _PANEL_PHASE, _HALVINGS = 20, 12.0, 52
# Rounding of a share: (this + n) EPS, relative to the sum of the absolute terms.
_SHARE_ROUNDING = 8.0


def harmonic_count(degree: int, dim: int) -> int:
    """The number N(n, d) of linearly independent spherical harmonics of degree n in R^dim.

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
    """Yield P_0(c), P_1(c), ... in the arithmetic of c, for ``dim`` >= 2.

    By (n + d - 2) P_{n+1} = (2n + d - 2) c P_n - n P_{n-1}, which is stable on [-1, 1].

    Examples
    --------
    >>> from fractions import Fraction
    >>> from itertools import islice
    >>> [str(p) for p in islice(gegenbauer_sequence(3, Fraction(1, 2)), 4)]
    ['1', '1/2', '-1/8', '-7/16']
    """
    x: Any = c
    previous, current = x * 0 + 1, x
    yield previous
    n = 1
    while True:
        yield current
        following = ((2 * n + dim - 2) * x * current - n * previous) / (n + dim - 2)
        previous, current, n = current, following, n + 1


def orthonormal_sequence(dim: int, s: FloatArray) -> Iterator[FloatArray]:
    """Yield p_n(s) = sqrt(N(n, d)) P_n(s), n = 0, 1, ..., for ``dim`` >= 2.

    They are orthonormal if s is a coordinate of a uniform unit vector.  The recurrence is
    s p_n = b_{n+1} p_{n+1} + b_n p_{n-1}, b_n^2 = n (n + d - 3) / ((2n + d - 4) (2n + d - 2)).

    Examples
    --------
    >>> from itertools import islice
    >>> p = list(islice(orthonormal_sequence(3, np.array([1.0])), 3))
    >>> np.concatenate(p)**2
    array([1., 3., 5.])
    """
    previous, current, b = np.zeros_like(s), np.ones_like(s), 0.0
    n = 0
    while True:
        yield current
        n += 1
        # For d = 2, b_1^2 is 0/0; it is the mean of s^2, 1/d.
        square = n * (n + dim - 3) / ((2 * n + dim - 4) * (2 * n + dim - 2)) if n > 1 else 1 / dim
        b_next = np.sqrt(square)
        previous, current, b = current, (s * current - b * previous) / b_next, b_next


def gegenbauer_shares(
    function: Callable[[FloatArray], FloatArray], dim: int, degree: int, kinks: Iterable[float] = ()
) -> tuple[FloatArray, FloatArray]:
    r"""The shares s_n in k(theta) = sum s_n P_n(cos theta), n = 0, ..., degree, and their errors.

    .. math:: s_n = N(n, d) \int_0^\pi k(\theta) P_n(\cos\theta) \sin^{d-2}\theta\,d\theta
                    \Big/ \int_0^\pi \sin^{d-2}\theta\,d\theta

    By Gauss' rule on panels; at 0, pi and the ``kinks`` the function may have any power.

    Examples
    --------
    >>> gegenbauer_shares(lambda angle: np.cos(angle) ** 2, 3, 2)[0].round(12) + 0.0
    array([0.33333333, 0.        , 0.66666667])
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    points = np.unique([0.0, *(x for x in kinks if 0.0 < x < np.pi), np.pi])
    grades = 0.5 ** np.arange(_HALVINGS, 1, -1.0)
    edges = [np.arange(0.0, np.pi, _PANEL_PHASE / max(degree, 24)), points]
    for low, high in pairwise(points):
        edges += [low + (high - low) * grades, high - (high - low) * grades]
    e = np.unique(np.concatenate(edges))
    half = np.diff(e)[:, None] / 2
    angle = (e[:-1, None] + half * (1.0 + nodes)).ravel()
    w = (half * weights).ravel() * np.sin(angle) ** (dim - 2)
    values = function(angle) * w / w.sum()
    far = angle > 0.5 * np.pi  # P_n(-u) = (-1)^n P_n(u), and differences are accurate near u = 1
    by_parity = values, np.where(far, -values, values)
    fall = 2.0 * np.sin(np.where(far, np.pi - angle, angle) / 2) ** 2
    counts = np.array([harmonic_count(n, dim) for n in range(degree + 1)], float)
    sizes = np.abs(values)
    p, step, shares, errors = np.ones_like(fall), -fall, np.empty(degree + 1), np.empty(degree + 1)
    for n in range(degree + 1):
        shares[n] = counts[n] * np.einsum("i,i", p, by_parity[n % 2])
        errors[n] = counts[n] * np.einsum("i,i", np.abs(p), sizes) * (_SHARE_ROUNDING + n) * EPS
        p += step
        step = ((n + 1) * step - (2 * n + dim) * fall * p) / (n + dim - 1)
    return shares, errors


def wave_coefficients(dim: int, degree: int, x: ArrayLike) -> FloatArray:
    r"""Normalised coefficients g_n(x), n = 0, ..., degree, of the plane wave with the phase x.

    .. math:: g_n(x) = \sqrt{N(n,d)}\,\Gamma(d/2) (2/x)^{d/2-1} J_{n+d/2-1}(x),
              \qquad \sum_{n \ge 0} g_n(x)^2 = 1

    The absolute error is a few 1e-15 for x < degree + d/2, and 1e-16 x for larger x.  Coefficients
    above 1e-230 have a small relative error; smaller ones may be 0.

    The recurrence of the Bessel functions runs upwards for x > degree + d/2, else downwards.

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


def _norm_ratios(dim: int, degree: int) -> FloatArray:
    """sqrt(N(n + 1, d) / N(n, d)) for n = 0 ... degree."""
    n = np.arange(1.0, degree + 1.0)
    growth = (2 * n + dim) * (n + dim - 2) / ((2 * n + dim - 2) * (n + 1))
    return np.sqrt(np.append(float(dim), growth))


def _recur_up(dim: int, degree: int, x: FloatArray) -> FloatArray:
    values = np.empty((degree + 1, x.size))
    values[0] = plane_wave_mean(dim, x)
    if degree == 0:
        return values
    sign, log = signed_log_0f1(0.5 * dim + 1.0, x)
    values[1] = sign * np.exp(log) * x / np.sqrt(float(dim))
    ratio, order = _norm_ratios(dim, degree), 0.5 * dim - 1.0
    for n in range(1, degree):
        # j_{n+1} = 2 (n + order) / x j_n - j_{n-1}, multiplied by sqrt(N(n + 1, d))
        values[n + 1] = ratio[n] * (
            2.0 * (n + order) / x * values[n] - ratio[n - 1] * values[n - 1]
        )
    return values


def _recur_down(dim: int, degree: int, x: FloatArray) -> FloatArray:
    """Miller's algorithm: downwards from arbitrary values, normalised by sum g_n^2 = 1."""
    at_zero, x, order = x == 0.0, np.maximum(x, _LEAST_PHASE), 0.5 * dim - 1.0
    # Under the probabilities g_n^2 of n, the mean of n (n + d - 2) is x^2 (d - 1)/d.
    mean = np.sqrt(order**2 + x.max() ** 2 * (dim - 1.0) / dim) - order
    start = int(max(mean, degree) + _MARGIN + _ROOT_MARGIN * np.sqrt(mean))
    ratio = _norm_ratios(dim, start)
    # How often each column was divided by _UNIT: ``count`` now, ``counts[n]`` at degree n.
    values, counts = np.zeros((degree + 1, x.size)), np.zeros((degree + 1, x.size), dtype=np.int16)
    high, low, squares = np.zeros_like(x), np.ones_like(x), np.zeros_like(x)
    count = np.zeros(x.size, dtype=np.int16)
    for n in range(start, -1, -1):
        squares += low**2
        if n <= degree:
            values[n], counts[n] = low, count
        if n == 0:
            break
        # j_{n-1} = 2 (n + order) / x j_n - j_{n+1}, multiplied by sqrt(N(n - 1, d))
        step = 2.0 * (n + order) / x * low - high / ratio[n]
        high, low = low, step / ratio[n - 1]
        while (large := np.abs(low) > _UNIT).any():
            for array, power in ((high, 1), (low, 1), (squares, 2)):
                array[large] /= _UNIT**power
            count[large] += 1
    powers = _UNIT ** -np.arange(count.max() + 1.0)
    values *= powers[count - counts] / np.sqrt(squares)
    values[1:, at_zero] = 0.0
    return values

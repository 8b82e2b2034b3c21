r"""Plane waves in spherical harmonics: the coefficients on which every coupling acts.

For a unit vector s and the angle c between s and the difference of two points,

.. math:: e^{i x c} = \sum_{n \ge 0} i^n N(n, d)\, j_n(x) P_n(c),
          \qquad j_n(x) = \Gamma(d/2) (2/x)^{d/2-1} J_{n+d/2-1}(x),

with the Gegenbauer polynomials P_n of dimension d, P_n(1) = 1, and the number N(n, d) of
spherical harmonics of degree n.  Two directions with the cosine c between them satisfy
E[P_n(s.e) P_m(t.e)] = delta_nm P_n(c) / N(n, d) for a uniform rotation of the pair, so that the
covariance of two cosines is a sum over even degrees of products of the normalised coefficients
g_n = sqrt(N(n, d)) j_n, whose squares sum to 1 over all degrees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, roots_jacobi

from spectra.special import plane_wave_mean, signed_log_0f1

__all__ = [
    "gegenbauer",
    "gegenbauer_means",
    "haar_cosine",
    "harmonic_count_log",
    "wave_coefficients",
]

FloatArray = NDArray[np.float64]

# A coefficient below exp(this) cannot matter beside coefficients of norm 1, and stays far enough
# above the underflow threshold for the downward recurrence to start from it.
_LOG_NEGLIGIBLE = -80.0


def harmonic_count_log(degree: ArrayLike, dim: int) -> FloatArray:
    """Logarithm of the number N(n, d) of spherical harmonics of degree n in R^dim.

    N(n, d) = (2n + d - 2) (n + d - 3)! / (n! (d - 2)!), and in dimension 1 it is 1, 1, 0, 0, ...

    Examples
    --------
    >>> np.round(np.exp(harmonic_count_log([0, 1, 2, 3], 3)), 9)
    array([1., 3., 5., 7.])
    """
    n = np.asarray(degree, dtype=float)
    if dim == 1:
        return np.where(n <= 1, 0.0, -np.inf)
    if dim == 2:
        return np.where(n == 0, 0.0, np.log(2.0))
    count = (
        np.log(2 * n + dim - 2) + gammaln(n + dim - 2) - gammaln(n + 1) - gammaln(float(dim - 1))
    )
    return np.asarray(count)


def gegenbauer(dim: int, degree: int, c: ArrayLike) -> FloatArray:
    """Gegenbauer polynomials P_0 ... P_degree of dimension ``dim`` >= 2, with P_n(1) = 1.

    (n + d - 2) P_{n+1} = (2n + d - 2) c P_n - n P_{n-1}, which is stable on [-1, 1].

    Returns
    -------
    ndarray of shape (degree + 1, *c.shape)

    Examples
    --------
    >>> gegenbauer(3, 2, 0.0)
    array([ 1. ,  0. , -0.5])
    """
    c = np.asarray(c, dtype=float)
    values = np.empty((degree + 1, *c.shape))
    low, values[0] = np.zeros_like(c), 1.0
    for n in range(degree):
        # dim = 2, n = 0 is 0/0: every dimension has P_1 = c
        lead = (2 * n + dim - 2) * c * values[n] - n * low
        low, values[n + 1] = values[n], lead / (n + dim - 2) if n else c
    return values


def haar_cosine(dim: int, size: int, degree: int) -> tuple[FloatArray, FloatArray]:
    r"""Law of the cosine of two columns of a Haar matrix cut to ``dim`` rows, as quadrature nodes.

    The columns of a Haar matrix of O(size) are cut to their first ``dim`` entries and
    renormalised.  Their cosine is c = t sqrt(1 - p) / sqrt(1 - p t^2) with independent
    t^2 ~ Beta(1/2, (d-1)/2) and p ~ Beta(d/2, (size-d)/2); it is 0 where size = dim and tends to
    the cosine of independent directions as size grows.  Its sign is random: only even functions
    of c have the right mean under the nodes, which are all positive.

    Returns
    -------
    cosines, weights : ndarray
        Good for the means of the even P_n(c), n <= degree; the weights sum to 1.

    Notes
    -----
    The coupling is Algorithm 1 of Luo, Fang, Yang, Huang (2021), arXiv:2104.06204.

    Examples
    --------
    >>> c, weights = haar_cosine(16, 32, 2)
    >>> round(float(weights @ c**2), 6)               # 1/16 for independent directions
    0.034073
    """
    if size == dim:
        return np.zeros(1), np.ones(1)
    # P_n(c) is a polynomial of degree n/2 in c^2; the margin is for the rational map to c.
    nodes = degree // 2 + 60
    x, weight_x = roots_jacobi(nodes, 0.5 * (dim - 3), -0.5)
    y, weight_y = roots_jacobi(nodes, 0.5 * (size - dim) - 1.0, 0.5 * dim - 1.0)
    t2, p = 0.5 * (1 + x), 0.5 * (1 + y)
    weights = np.outer(weight_x / weight_x.sum(), weight_y / weight_y.sum())
    c = np.sqrt(t2[:, None] * (1 - p) / (1 - p * t2[:, None]))
    return c.ravel(), weights.ravel()


def gegenbauer_means(
    dim: int, degree: int, cosines: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    r"""Means of P_n(c) for n = 0 ... degree, and a bound of all |means| beyond ``degree``.

    The bound is the mean of min(1, Gamma((d-1)/2) / sqrt(pi) * (4 / (n (1 - c^2)))^((d-2)/2)),
    n = degree + 1 (Atkinson, Han, Spherical Harmonics and Approximations on the Unit Sphere,
    Springer 2012, section 2.7), which falls with n.
    """
    means = np.empty(degree + 1)
    low, high = np.ones_like(cosines), cosines
    means[0] = 1.0
    for n in range(1, degree + 1):
        means[n] = weights @ high
        low, high = high, ((2 * n + dim - 2) * cosines * high - n * low) / (n + dim - 2)
    with np.errstate(divide="ignore"):
        log_ratio = np.log(4.0 / (degree + 1)) - np.log1p(-(cosines**2))
    constant = float(gammaln(0.5 * (dim - 1))) - 0.5 * np.log(np.pi)
    # In dimension 2 the exponent is 0 and the bound is 1, also where c = 1.
    log_bound = constant + 0.5 * (dim - 2) * log_ratio if dim > 2 else np.zeros_like(cosines)
    return means, float(weights @ np.exp(np.minimum(log_bound, 0.0)))


def wave_coefficients(dim: int, degree: int, x: ArrayLike) -> FloatArray:
    r"""Normalised coefficients g_n(x) = sqrt(N(n, d)) j_n(x), n = 0 ... degree, x >= 0, dim >= 2.

    .. math:: g_n(x) = \sqrt{N(n,d)}\,\Gamma(d/2) (2/x)^{d/2-1} J_{n+d/2-1}(x),
              \qquad \sum_{n \ge 0} g_n(x)^2 = 1

    The recurrence of the Bessel functions runs upwards beyond the turning point and downwards
    before it, so that the absolute error stays at a few 1e-14.

    Returns
    -------
    ndarray of shape (degree + 1, *x.shape)
    """
    x = np.asarray(x, dtype=float)
    flat = x.ravel()
    values = np.zeros((degree + 1, flat.size))
    order = 0.5 * dim - 1.0
    scale = np.exp(0.5 * np.diff(harmonic_count_log(np.arange(degree + 2), dim)))
    upward = flat >= degree + order + 1.0
    if np.any(upward):
        _recur_up(values, upward, flat[upward], dim, order, scale)
    waiting = ~upward
    start = degree
    # The smaller x, the lower the degree beyond which the coefficients are negligible.
    while start > 1 and np.any(waiting):
        below = max(start // 2, 1)
        log_below = _log_coefficient(dim, below, flat[waiting])[1]
        here = waiting.copy()
        here[waiting] = log_below > _LOG_NEGLIGIBLE
        _recur_down(values, here, flat, dim, start, order, scale)
        waiting &= ~here
        start = below
    _recur_down(values, waiting, flat, dim, min(start, degree), order, scale)
    return values.reshape(degree + 1, *x.shape)


def _log_coefficient(dim: int, degree: int, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sign and logarithm of g_degree(x)."""
    sign = np.ones_like(x)
    log = np.full_like(x, 0.0 if degree == 0 else -np.inf)
    positive = x > 0
    b = 0.5 * dim + degree
    s, hypergeometric = signed_log_0f1(b, x[positive])
    sign[positive] = s
    log[positive] = (
        hypergeometric
        + degree * np.log(0.5 * x[positive])
        + float(gammaln(0.5 * dim) - gammaln(b))
        + 0.5 * float(harmonic_count_log(degree, dim))
    )
    return sign, log


def _coefficient(dim: int, degree: int, x: FloatArray) -> FloatArray:
    sign, log = _log_coefficient(dim, degree, x)
    return np.asarray(sign * np.exp(log))


def _recur_up(
    values: FloatArray,
    where: NDArray[np.bool_],
    x: FloatArray,
    dim: int,
    order: float,
    scale: FloatArray,
) -> None:
    low = plane_wave_mean(dim, x)
    values[0, where] = low
    if values.shape[0] == 1:
        return
    high = _coefficient(dim, 1, x)
    values[1, where] = high
    for n in range(1, values.shape[0] - 1):
        low, high = high, scale[n] * (2 * (n + order) / x * high - scale[n - 1] * low)
        values[n + 1, where] = high


def _recur_down(
    values: FloatArray,
    where: NDArray[np.bool_],
    flat: FloatArray,
    dim: int,
    start: int,
    order: float,
    scale: FloatArray,
) -> None:
    if not np.any(where):
        return
    x = flat[where]
    low = _coefficient(dim, start, x)
    high = _coefficient(dim, start + 1, x)
    values[start, where] = low
    zero = x == 0
    inverse = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, x))
    for n in range(start, 0, -1):
        # j_{n-1} = 2 (n + order) / x j_n - j_{n+1}, between neighbours of different scale
        low, high = (2 * (n + order) * inverse * low - high / scale[n]) / scale[n - 1], low
        values[n - 1, where] = low
    values[0, np.flatnonzero(where)[zero]] = 1.0

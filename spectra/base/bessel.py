r"""Bessel functions and means of plane waves without overflow or underflow, for d = 1 to 1000.

.. math:: \Omega_d(x) = \Re\,[e^{ix} H_d(x)], \qquad
          e^{ix} H_d(x) = \Gamma(d/2) (2/x)^\nu H^{(1)}_\nu(x), \quad \nu = d/2 - 1

is the mean of cos(x u_1) over unit vectors u of R^d.  Beyond x = ν its amplitude H_d does not
oscillate and falls like a power of x, so integrals over many oscillations of Ω can be computed from
few values of H_d.  Sympy is not imported: saved tables are used without it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike
from scipy.special import gammaln, hankel1e, j0, jv

from spectra.base.accuracy import EPS
from spectra.base.arrays import ComplexArray, FloatArray, NumberArray
from spectra.base.numbers import checked_dim, real_array

__all__ = ["hankel_amplitude", "log_sphere_area", "plane_wave_bound", "plane_wave_mean",
           "plane_wave_rounding", "signed_log_0f1", "smooth_amplitude_start"]  # fmt: skip

# Up to this order scipy's jv does not underflow for x^2 > 6 (order + 1), as in signed_log_0f1.
_DEBYE_ORDER = 250.0
# Debye's expansion is used for x below this fraction of the order.
_DEBYE_FRACTION = 0.5
_DEBYE_TERMS = 9
# Numbers of terms of Hankel's expansion for large and smaller x, used if the first term left out is
# below rounding error and no term exceeds 2.  scipy's hankel1e is slower, and nan for x > 1e15.
_HANKEL_TERMS = (12, 36)
_HANKEL_TOLERANCE = EPS / 16.0
_HANKEL_LARGEST_TERM = 2.0


def log_sphere_area(dim: int) -> float:
    """Logarithm of the area S = 2 pi^(d/2) / Gamma(d/2) of the unit sphere in R^dim.

    Examples
    --------
    >>> round(float(np.exp(log_sphere_area(3))) / np.pi, 12)
    4.0
    """
    return float(np.log(2.0) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim))


@cache
def _debye_polynomials(terms: int) -> tuple[Polynomial, ...]:
    """The polynomials U_0, ..., U_terms of DLMF 10.41.9 in Debye's expansions."""
    p, u = Polynomial([0.0, 1.0]), Polynomial([1.0])
    polynomials = [u]
    for _ in range(terms):
        u = 0.5 * p**2 * (1 - p**2) * u.deriv() + 0.125 * ((1 - 5 * p**2) * u).integ()
        polynomials.append(u)
    return tuple(polynomials)


def _log_bessel_j(order: float, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sign and log|J_order(x)| for x > 0 (-inf at a zero), without underflow for large orders.

    Examples
    --------
    >>> _, log = _log_bessel_j(500.0, np.array([50.0]))     # about 1e-436, where jv gives 0
    >>> (log / np.log(10.0)).round(3)
    array([-435.659])
    """
    value, log = np.ones_like(x), np.empty_like(x)
    small = (order > _DEBYE_ORDER) & (x < _DEBYE_FRACTION * order)
    # Here J is positive (DLMF 10.19.3).
    alpha = np.arccosh(order / x[small])
    tanh, series = np.tanh(alpha), np.zeros_like(alpha)
    for k, u in enumerate(_debye_polynomials(_DEBYE_TERMS)):
        series += u(1.0 / tanh) / order**k
    log[small] = order * (tanh - alpha) - 0.5 * np.log(2.0 * np.pi * order * tanh) + np.log(series)
    value[~small] = jv(order, x[~small])
    with np.errstate(divide="ignore"):
        log[~small] = np.log(np.abs(value[~small]))
    return np.sign(value), log


def signed_log_0f1(b: float, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Sign and logarithm of 0F1(; b; -x^2/4) = Gamma(b) (2/x)^(b-1) J_(b-1)(x), b > 0, x >= 0.

    The relative error is a few machine epsilons times ``1 + log Gamma(b)``; near a zero of the
    function the error is relative to the amplitude of the oscillation.
    """
    x = np.asarray(x, dtype=float)
    sign = np.ones_like(x)
    log = np.zeros_like(x)
    # In this region the power series cancels by less than e^3, and 60 terms are enough.
    near = x * x <= 6.0 * b
    y = -0.25 * x[near] ** 2
    term = np.ones_like(y)
    total = np.ones_like(y)
    for j in range(1, 60):
        term = term * (y / (j * (b + j - 1.0)))
        total += term
    sign[near] = np.sign(total)
    with np.errstate(divide="ignore"):
        log[near] = np.log(np.abs(total))
    far = ~near
    sign[far], far_log = _log_bessel_j(b - 1.0, x[far])
    log[far] = far_log + float(gammaln(b)) + (b - 1.0) * np.log(2.0 / x[far])
    return sign, log


def plane_wave_mean(dim: int, t: ArrayLike) -> FloatArray:
    r"""Mean of the plane wave cos(t <e, s>) over unit vectors s of R^dim, e a fixed one.

    .. math:: \Omega_d(t) = {}_0F_1(; d/2; -t^2/4) = \Gamma(d/2) (2/t)^{d/2-1} J_{d/2-1}(t)

    For a frequency of length w and a distance z, t = w z.  The absolute error is a few 1e-15 for t
    up to 1e4 (1e-13 at d = 1000).

    Examples
    --------
    >>> plane_wave_mean(3, [0.0, 1.0])
    array([1.        , 0.84147098])
    """
    dim = checked_dim(dim)
    x = np.abs(real_array(t, "t"))
    if dim == 1:
        return np.asarray(np.cos(x))
    if dim == 2:
        return np.asarray(j0(x))
    if dim == 3:
        return np.asarray(np.sinc(x / np.pi))
    sign, log = signed_log_0f1(0.5 * dim, x)
    return np.asarray(sign * np.exp(log))


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
    return factor * np.sqrt(2.0 / (np.pi * x)) * series


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
    return out


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
    return np.minimum(EPS * product, 2.0 * plane_wave_bound(dim, low))

"""Bessel functions without overflow or underflow, in dimensions 1 to 1000.

Sympy is not imported: saved tables are used without it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike
from scipy.special import gammaln, j0, jv

from spectra.base.numbers import FloatArray, checked_dim, real_array

__all__ = [
    "debye_polynomials",
    "log_bessel_j",
    "log_sphere_area",
    "plane_wave_mean",
    "signed_log_0f1",
]

# Up to this order scipy's jv does not underflow for x^2 > 6 (order + 1), as in signed_log_0f1.
_DEBYE_ORDER = 250.0
# Debye's expansion is used for x below this fraction of the order.
_DEBYE_FRACTION = 0.5
_DEBYE_TERMS = 9


def log_sphere_area(dim: int) -> float:
    """Logarithm of the area S = 2 pi^(d/2) / Gamma(d/2) of the unit sphere in R^dim.

    Examples
    --------
    >>> round(float(np.exp(log_sphere_area(3))) / np.pi, 12)
    4.0
    """
    return float(np.log(2.0) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim))


@cache
def debye_polynomials(terms: int) -> tuple[Polynomial, ...]:
    """The polynomials U_0, ..., U_terms of DLMF 10.41.9 in Debye's expansions.

    Examples
    --------
    >>> debye_polynomials(1)[1].coef * 24
    array([ 0.,  3.,  0., -5.])
    """
    p = Polynomial([0.0, 1.0])
    u = Polynomial([1.0])
    polynomials = [u]
    for _ in range(terms):
        u = 0.5 * p**2 * (1 - p**2) * u.deriv() + 0.125 * ((1 - 5 * p**2) * u).integ()
        polynomials.append(u)
    return tuple(polynomials)


def _log_bessel_j_debye(order: float, x: FloatArray) -> FloatArray:
    """log J_order(x) for x well below the order, where J is positive (DLMF 10.19.3)."""
    alpha = np.arccosh(order / x)
    tanh = np.tanh(alpha)
    series = np.zeros_like(x)
    for k, u in enumerate(debye_polynomials(_DEBYE_TERMS)):
        series += u(1.0 / tanh) / order**k
    return np.asarray(
        order * (tanh - alpha) - 0.5 * np.log(2.0 * np.pi * order * tanh) + np.log(series)
    )


def log_bessel_j(order: float, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Sign and log|J_order(x)| for x > 0 (-inf at a zero), without underflow for large orders.

    Examples
    --------
    >>> sign, log = log_bessel_j(500.0, 50.0)     # about 1e-436, where jv gives 0
    >>> round(float(log / np.log(10.0)), 3)
    -435.659
    """
    x = np.asarray(x, dtype=float)
    sign = np.ones_like(x)
    log = np.empty_like(x)
    small = (order > _DEBYE_ORDER) & (x < _DEBYE_FRACTION * order)
    log[small] = _log_bessel_j_debye(order, x[small])
    value = jv(order, x[~small])
    sign[~small] = np.sign(value)
    with np.errstate(divide="ignore"):
        log[~small] = np.log(np.abs(value))
    return sign, log


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
    far_sign, far_log = log_bessel_j(b - 1.0, x[far])
    sign[far] = far_sign
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

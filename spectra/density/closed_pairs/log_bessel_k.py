"""The modified Bessel function K of any order and argument, as a logarithm that keeps its digits.

Everything here is numpy and scipy only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, kve

from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import debye_polynomials

__all__ = ["log_scaled_bessel_k", "log_scaled_bessel_k_error"]

# Error of the function or expansion itself, twice the largest seen against 35 digits.
_FUNCTION_ERROR = 1e-14
_EPS = float(np.finfo(float).eps)
# From this order on the expansion for large order is below rounding with the terms kept.
_DEBYE_ORDER = 50.0
_DEBYE_TERMS = 9
# For orders from 8 on and arguments up to 0.1 six terms of the ascending series are below
# rounding, and the other half of it, (x/2)^(2 order), is too.
_SERIES_ORDER = 8.0
_SERIES_REACH = 0.1
_SERIES_TERMS = 6
# scipy gives nan for arguments far beyond this; four terms of the asymptotic series are enough.
_ASYMPTOTIC_REACH = 1e8
_ASYMPTOTIC_TERMS = 4
# Between these arguments scipy's ascending series cancels for orders a little below an integer, by
# 3e-13 at order 0.88 and x = 2.  The integral of DLMF 10.32.9 has positive terms only.  With the
# step 2 pi/v its trapezoidal rule is wrong by K of order nu + iv, about v^(nu-1/2) exp(-pi v/2)
# over Gamma(nu) of K_nu: below 1e-17 at v = 32 + nu.  At t = 7 it has ended for every order here.
_INTEGRAL_FROM, _INTEGRAL_TO = 0.5, 2.0
_INTEGRAL_FREQUENCY, _INTEGRAL_END = 32.0, 7.0
# Below this argument, K of order 1 and more is its leading power to rounding.
_POWER_REACH = 1e-10


def _debye_sum(order: float, p: FloatArray) -> FloatArray:
    total = np.zeros_like(p)
    for k, u in enumerate(debye_polynomials(_DEBYE_TERMS)):
        total += (-1.0) ** k * u(p) / order**k
    return total


def _large_order(order: float, x: FloatArray) -> FloatArray:
    """DLMF 10.41.4, written so that it is 0 at x = 0 without cancellation."""
    z = x / order
    root = np.hypot(1.0, z)
    # root - 1 without cancellation
    excess = z * (z / (1.0 + root))
    at_zero = _debye_sum(order, np.ones(1))[0]
    return np.asarray(
        -order * (excess - np.log1p(0.5 * excess))
        - 0.5 * np.log(root)
        + np.log(_debye_sum(order, 1.0 / root) / at_zero)
    )


def _large_argument(order: float, x: FloatArray) -> FloatArray:
    """DLMF 10.40.2."""
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, _ASYMPTOTIC_TERMS + 1):
        term = term * ((4.0 * order**2 - (2.0 * k - 1.0) ** 2) / (8.0 * k)) / x
        total += term
    power = (order - 0.5) * np.log(0.5 * x)
    return np.asarray(0.5 * np.log(0.25 * np.pi) - x + power + np.log(total))


def _by_integral(order: float, x: FloatArray) -> FloatArray:
    """log K_order(x) as the trapezoidal rule of its integral, DLMF 10.32.9."""
    step = 2.0 * np.pi / (_INTEGRAL_FREQUENCY + order)
    t = step * np.arange(int(_INTEGRAL_END / step) + 1)
    terms = np.exp(np.multiply.outer(-x, np.cosh(t) - 1.0)) * np.cosh(order * t)
    return np.asarray(np.log(step * (terms.sum(axis=-1) - 0.5 * terms[..., 0])) - x)


def log_scaled_bessel_k(order: float, x: ArrayLike) -> FloatArray:
    r"""Logarithm of (x/2)^order K_order(x), less its limit at 0 where the order is at least 1.

    .. math:: \log\frac{2 (x/2)^\nu K_\nu(x)}{\Gamma(\nu)} \ (\nu \ge 1), \qquad
              \log\bigl((x/2)^\nu K_\nu(x)\bigr) \ (0 \le \nu < 1)

    Parameters
    ----------
    order : float
        nu >= 0.
    x : array_like
        Arguments x > 0.

    Returns
    -------
    ndarray
        The logarithm; :func:`log_scaled_bessel_k_error` bounds its error.

    Examples
    --------
    >>> float(abs(log_scaled_bessel_k(400.0, 1e-30))) < 1e-14      # K itself would be 1e12000
    True
    """
    x = np.asarray(x, dtype=float)
    if order >= _DEBYE_ORDER:
        return _large_order(order, x)
    limit = float(gammaln(order)) - float(np.log(2.0)) if order >= 1.0 else 0.0
    log = np.zeros_like(x)
    near = (x < _POWER_REACH) if order >= 1.0 else np.zeros_like(x, dtype=bool)
    if order >= _SERIES_ORDER:
        near = x < _SERIES_REACH
        y = 0.25 * x[near] ** 2
        term = np.ones_like(y)
        total = np.zeros_like(y)
        for k in range(1, _SERIES_TERMS + 1):
            term = term * y / (k * (k - order))
            total += term
        log[near] = np.log1p(total)
    beyond = x > _ASYMPTOTIC_REACH
    log[beyond] = _large_argument(order, x[beyond]) - limit
    between = ~near & (x >= _INTEGRAL_FROM) & (x <= _INTEGRAL_TO)
    log[between] = _by_integral(order, x[between])
    far = ~near & ~beyond & ~between
    log[far] = np.log(kve(order, x[far])) - x[far]
    summed = between | far
    log[summed] += order * np.log(0.5 * x[summed]) - limit
    return log


def log_scaled_bessel_k_error(order: float, x: ArrayLike) -> FloatArray:
    """Bound of the error of :func:`log_scaled_bessel_k` beyond the rounding of its own size.

    At intermediate orders the power and the function are large and cancel.
    """
    x = np.asarray(x, dtype=float)
    if order >= _DEBYE_ORDER:
        return np.full_like(x, _FUNCTION_ERROR)
    limit = abs(float(gammaln(order))) if order >= 1.0 else 0.0
    cancelled = order * np.abs(np.log(0.5 * x)) + limit
    if order >= _SERIES_ORDER:
        cancelled = np.where(x < _SERIES_REACH, 0.0, cancelled)
    return np.asarray(_FUNCTION_ERROR + 3.0 * _EPS * cancelled)

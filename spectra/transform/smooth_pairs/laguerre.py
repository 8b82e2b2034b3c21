"""Signed sums of Laguerre polynomials as Taylor series, and the size their rounding refers to."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from spectra.numeric import FloatArray

__all__ = ["absolute_sum", "laguerre_taylor", "polynomial"]


def _laguerre(degree: int, order: Any, y: Any) -> Any:
    """L_degree^(order)(y) by its recurrence; mpmath's series never ends at a zero of it."""
    before, value = mp.mpf(0), mp.mpf(1)
    for k in range(degree):
        before, value = value, ((2 * k + 1 + order - y) * value - (k + order) * before) / (k + 1)
    return value


def laguerre_taylor(scaled: list[Any], order: Any, y: Any) -> list[Any]:
    """Taylor coefficients at y of sum_j scaled[j] L_j^(order), by DLMF 18.9.23."""
    return [
        mp.fsum(scaled[j] * _laguerre(j - i, order + i, y) for j in range(i, len(scaled)))
        * (-1) ** i
        / mp.factorial(i)
        for i in range(len(scaled))
    ]


def polynomial(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """The value at x of a polynomial, the constant coefficient first."""
    return np.asarray(np.polynomial.polynomial.polyval(x, coefficients))


def absolute_sum(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """The sum of the absolute terms of a polynomial, which its rounding error is relative to."""
    return polynomial(np.abs(coefficients), np.abs(x))

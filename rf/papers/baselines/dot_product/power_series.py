"""Dot-product kernels as power series: f(u) = sum_n a_n u^n, u = <x, y>."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["check_coefficients", "spherical_polynomial", "taylor_coefficients"]


def taylor_coefficients(derivatives: Sequence[float]) -> tuple[float, ...]:
    """Coefficients a_n = f^(n)(0) / n! from the derivatives of f at 0.

    Examples
    --------
    >>> taylor_coefficients([1, 1, 1, 1])             # exp(u)
    (1.0, 1.0, 0.5, 0.16666666666666666)
    """
    return tuple(float(f) / math.factorial(n) for n, f in enumerate(derivatives))


def spherical_polynomial(a: float, p: int) -> tuple[float, ...]:
    """Coefficients of (1 - |x - y|^2 / a^2)^p = (1 - 2/a^2 + 2u/a^2)^p on the unit sphere.

    Examples
    --------
    >>> spherical_polynomial(2, 2)                    # ((1 + u)/2)^2
    (0.25, 0.5, 0.25)
    """
    r = 2.0 / a**2
    return tuple(math.comb(p, n) * (1.0 - r) ** (p - n) * r**n for n in range(p + 1))


def check_coefficients(coefficients: Sequence[float]) -> FloatArray:
    """Convert the coefficients to an array; raise ParameterError if not finite or all zero."""
    a = np.asarray(coefficients, dtype=float)
    if a.ndim != 1 or not np.all(np.isfinite(a)) or not np.any(a):
        raise ParameterError(
            f"The coefficients of a dot-product kernel are {coefficients}, but must be finite "
            "numbers a_0, a_1, ..., not all zero."
        )
    return a

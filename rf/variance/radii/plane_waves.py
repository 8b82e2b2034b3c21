"""The waves of a direction at many phases at once, from cubic splines."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline

from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import wave_coefficients

__all__ = ["even_waves"]

# Cubic splines of this step err by h^4 / 384 = 6e-7 in a wave of frequency at most 1, and are made
# up to this phase.
_STEP = 1.0 / 8.0
_REACH = 512.0


def even_waves(dim: int, degree: int, x: FloatArray) -> FloatArray:
    """(-1)^(n/2) g_n(x) of the harmonics for n = 0, 2, ..., along a last axis, to 1e-6.

    The signs are those of the expansion of one plane wave.
    """
    flat = x.ravel()
    near = flat <= _REACH
    values = _even_spline(dim, degree)(np.where(near, flat, 0.0))
    if not near.all():
        values[~near] = _even_values(dim, degree, flat[~near])
    return np.asarray(values.reshape(*x.shape, degree // 2 + 1))


@lru_cache(maxsize=8)
def _even_spline(dim: int, degree: int) -> CubicSpline:
    knots = np.arange(0.0, _REACH + _STEP, _STEP)
    return CubicSpline(knots, _even_values(dim, degree, knots))


def _even_values(dim: int, degree: int, x: FloatArray) -> FloatArray:
    values = wave_coefficients(dim, degree, x)[::2].T
    values[:, 1::2] *= -1.0
    return values

"""The kernel of a radial table at many distances: polynomials in log z, and their derivatives."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from spectra.base.accuracy import DENSITY
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.piecewise import ORDER, Chart, Piecewise, fit
from spectra.errors import AccuracyError

__all__ = ["kernel_by_interpolation", "slope_by_interpolation"]

# Halvings of an octave for derivatives; values are interpolated on as many panels as pay.
_MOST_HALVINGS = 12
_ZERO = -5000  # stands for the octave of z = 0


def kernel_by_interpolation(table: Any, z: FloatArray) -> FloatArray:
    """The kernel of a radial table at distances z, with an added error of about 1e-13 of its mass.

    In each octave of z the values are interpolated if there are more of them than nodes.
    """
    flat = np.ravel(np.asarray(z, dtype=float))
    values, octaves = np.empty_like(flat), _octaves_of(flat)
    for octave in np.unique(octaves):
        rows = np.flatnonzero(octaves == octave)
        halvings = min(int(np.log2(rows.size / (2.0 * ORDER))), _MOST_HALVINGS)
        try:
            if halvings < 1 or octave == _ZERO:
                raise AccuracyError
            values[rows] = _interpolant(table, int(octave), halvings)(flat[rows])
        except AccuracyError:
            few, where = np.unique(flat[rows], return_inverse=True)
            values[rows] = table.expected_kernel(few)[where]
    return values.reshape(np.shape(z))


def slope_by_interpolation(table: Any, z: FloatArray) -> FloatArray:
    """k'(z)/z of the kernel of a radial table; 0 at z = 0.  Its error is about 1e-11/z^2."""
    flat = np.ravel(np.asarray(z, dtype=float))
    slope, octaves = np.zeros_like(flat), _octaves_of(flat)
    for octave in np.unique(octaves[octaves > _ZERO]):
        rows = np.flatnonzero(octaves == octave)
        slope[rows] = _derivative(table, int(octave))(flat[rows]) / flat[rows] ** 2
    return slope.reshape(np.shape(z))


def _octaves_of(z: FloatArray) -> IntArray:
    """The n with 2^(n - 1) <= z < 2^n."""
    return np.where(z > 0.0, np.frexp(z)[1], _ZERO)


@lru_cache(maxsize=1024)
def _interpolant(table: Any, octave: int, halvings: int) -> Piecewise:
    """The kernel as polynomials in t = log z for z from 2^(octave - 1) to 2^octave."""
    edges = np.log(2.0) * np.array([octave - 1.0, octave])
    limits: Any = {"tolerance": 0.0, "absolute": 0.1 * DENSITY * table.mass}
    return fit(
        lambda t: table.expected_kernel(np.exp(t)), edges, Chart(), bisections=halvings, **limits
    )


@lru_cache(maxsize=1024)
def _derivative(table: Any, octave: int) -> Piecewise:
    """The derivative of the kernel in log z."""
    k = _interpolant(table, octave, _MOST_HALVINGS)
    return Piecewise(k.charts, legendre.legder(k.series.T).T / k.half_widths[:, None])

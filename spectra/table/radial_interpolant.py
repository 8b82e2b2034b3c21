"""Interpolate a function of the distance, such as an expected plane wave, for fast evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.arrays import FloatArray

__all__ = ["interpolate"]

_DEGREE = 16
# Panels are halved at most this often, to about 1e-10 of the range.
_HALVINGS = 30
_FIRST_PANELS = 4


def interpolate(
    function: Callable[[FloatArray], FloatArray], z_max: float, tolerance: float
) -> Callable[[FloatArray], FloatArray]:
    """Interpolate by Chebyshev series on panels of [0, z_max].

    Panels are halved until the last two coefficients are below ``tolerance``.
    """
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    to_series = np.linalg.inv(chebyshev.chebvander(nodes, _DEGREE))
    ends = np.linspace(0.0, z_max, _FIRST_PANELS + 1)
    low, high = ends[:-1], ends[1:]
    starts, rows = np.empty(0), np.empty((0, _DEGREE + 1))
    for halvings in range(_HALVINGS + 1):
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        z = middle[:, None] + half[:, None] * nodes
        series = function(z.ravel()).reshape(z.shape) @ to_series.T
        good = np.abs(series[:, -2:]).max(axis=1) <= tolerance
        good |= halvings == _HALVINGS
        starts, rows = np.append(starts, low[good]), np.concatenate([rows, series[good]])
        low, middle, high = low[~good], middle[~good], high[~good]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        if not low.size:
            break
    order = np.argsort(starts)
    edges, columns = np.append(starts[order], z_max), rows[order].T

    def interpolant(z: FloatArray) -> FloatArray:
        index = np.minimum(np.searchsorted(edges, z, side="right"), edges.size - 1) - 1
        low, high = edges[index], edges[index + 1]
        x = (2.0 * z - low - high) / (high - low)
        return np.asarray(chebyshev.chebval(x, columns[:, index], tensor=False))

    return interpolant

"""Real roots of many Legendre series on [-1, 1]."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.polynomial import legendre
from scipy.optimize.elementwise import find_root

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.enclosures import ORDER, legendre_series

__all__ = ["split_at_roots"]

# A grid on which no series of ORDER terms has an unseen sign change, except for pairs of roots.
_GRID = -np.cos(np.linspace(0.0, np.pi, 49))
_BASIS = legendre.legvander(_GRID, ORDER - 1).T
_DERIVATIVE = legendre.legder(np.eye(ORDER), axis=0)
_SECOND_DERIVATIVE = legendre.legder(np.eye(ORDER), 2, axis=0)
_NEWTON_STEPS = 8
# Next to a pair of close roots, |series| is below this share of its largest value on the grid.
_SMALL = 0.03


def split_at_roots(coefficients: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Split [-1, 1] at the sign changes of each series: row, lower end, upper end of each piece."""
    n = len(coefficients)
    values = coefficients @ _BASIS
    # The points between the two roots of a pair are added to the grid, so that it sees both.
    row, x = _find_pairs(coefficients, values)
    rows = np.concatenate([np.repeat(np.arange(n), _GRID.size), row])
    points = np.concatenate([np.tile(_GRID, n), x])
    y = np.concatenate([values.ravel(), _evaluate(coefficients, x, row)])
    order = np.lexsort((points, rows))
    rows, points, positive = rows[order], points[order], y[order] >= 0.0
    i = np.flatnonzero((rows[1:] == rows[:-1]) & (positive[1:] != positive[:-1]))
    roots = np.empty(0)
    if i.size:
        brackets = (points[i], points[i + 1])
        roots = np.asarray(find_root(partial(_evaluate, coefficients), brackets, args=(rows[i],)).x)
    row = np.concatenate([np.arange(n), rows[i]])
    low = np.concatenate([np.full(n, -1.0), roots])
    order = np.lexsort((low, row))
    row, low = row[order], low[order]
    high = np.where(np.append(row[1:] == row[:-1], False), np.roll(low, -1), 1.0)
    not_empty = high > low
    return row[not_empty], low[not_empty], high[not_empty]


def _evaluate(coefficients: FloatArray, x: FloatArray, rows: IntArray) -> FloatArray:
    """Value of the series ``rows[i]`` at x[i], for each i."""
    return legendre_series(coefficients[rows], x[:, None])[:, 0]


def _find_pairs(coefficients: FloatArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Row and extremum of each pair of roots between the neighbors of a grid point."""
    size, sign = np.abs(values), np.sign(values)
    inner = size[:, 1:-1]
    low = (inner <= size[:, :-2]) & (inner < size[:, 2:]) & (sign[:, :-2] == sign[:, 2:])
    low &= inner <= _SMALL * size.max(axis=1, keepdims=True)
    row, column = np.nonzero(low)
    column += 1
    x, series, each = _GRID[column], coefficients[row], np.arange(row.size)
    first, last = _GRID[column - 1], _GRID[column + 1]
    slope, curvature = series @ _DERIVATIVE.T, series @ _SECOND_DERIVATIVE.T
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_NEWTON_STEPS):
            step = _evaluate(slope, x, each) / _evaluate(curvature, x, each)
            x = np.clip(x - np.nan_to_num(step), first, last)
    has_pair = sign[row, column - 1] * _evaluate(coefficients, x, row) < 0.0
    return row[has_pair], x[has_pair]

"""Real roots of Legendre series on [-1, 1], many at once."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root

from spectra.base.arrays import IntArray
from spectra.base.enclosures import ORDER, legendre_series
from spectra.base.numbers import FloatArray

__all__ = ["split_points"]

# Where series are looked at, closer to the ends: a resolved one has no finer features.
_PLACES = -np.cos(np.linspace(0.0, np.pi, 49))
_DENSE = legendre.legvander(_PLACES, ORDER - 1).T
_DER = legendre.legder(np.eye(ORDER), axis=0)
_DER2 = legendre.legder(np.eye(ORDER), 2, axis=0)
_STEPS = 8
# A series touches zero where a minimum falls below the second share of the values beside it, which
# a minimum between two places exceeds by no more than the first share.
_LOW, _TOUCHING = 0.03, 1e-10


def split_points(
    coefficients: FloatArray,
) -> tuple[IntArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Cut [-1, 1] at the roots of each series, simple and double ones, into pieces.

    The series of each piece, its ends (ascending), and whether it starts at a double root.
    """
    n = len(coefficients)
    values = coefficients @ _DENSE
    row, x, touch = _minima(coefficients, values)
    # Minima that cross zero are places to look at, too: two roots lie beside each.
    r = np.concatenate([np.repeat(np.arange(n), _PLACES.size), row])
    places = np.concatenate([np.tile(_PLACES, n), x])
    y = np.concatenate([values.ravel(), _value(coefficients, x, row)])
    keep = np.append(np.ones(values.size, dtype=bool), ~touch)
    order = np.lexsort((places[keep], r[keep]))
    r, places, y = r[keep][order], places[keep][order], y[keep][order]
    positive = y >= 0.0
    at = np.flatnonzero((r[1:] == r[:-1]) & (positive[1:] != positive[:-1]))
    rows = r[at]
    roots = np.empty(0)
    if rows.size:
        brackets = (places[at], places[at + 1])
        roots = np.asarray(find_root(partial(_value, coefficients), brackets, args=(rows,)).x)
    row = np.concatenate([np.arange(n), rows, row[touch]])
    low = np.concatenate([np.full(n, -1.0), roots, x[touch]])
    touches = np.arange(low.size) >= n + roots.size
    order = np.lexsort((low, row))
    row, low, touches = row[order], low[order], touches[order]
    high = np.where(np.append(row[1:] == row[:-1], False), np.roll(low, -1), 1.0)
    some = high > low
    return row[some], low[some], high[some], touches[some]


def _value(coefficients: FloatArray, x: FloatArray, rows: IntArray) -> FloatArray:
    """Values of the series of the rows, each at one place."""
    return legendre_series(coefficients[rows], x[:, None])[:, 0]


def _minima(
    coefficients: FloatArray, values: FloatArray
) -> tuple[IntArray, FloatArray, NDArray[np.bool_]]:
    """Minima of \\|series\\| between equal signs: row, place, and whether they touch zero."""
    size, sign = np.abs(values), np.sign(values)
    flat, signs = size.ravel(), sign.ravel()
    low = (flat[1:-1] <= flat[:-2]) & (flat[1:-1] < flat[2:])
    low &= (signs[:-2] == signs[2:]) & (signs[1:-1] * signs[2:] >= 0.0)
    row, column = np.divmod(np.flatnonzero(low) + 1, _PLACES.size)
    # The values beside a minimum may be those of the neighboring panels.
    most = np.pad(size.max(axis=1), 1)
    before = np.maximum(np.maximum.accumulate(size, axis=1)[row, column], most[row])
    after = np.maximum.accumulate(size[:, ::-1], axis=1)[:, ::-1][row, column]
    beside = np.minimum(before, np.maximum(after, most[row + 2]))
    small = size[row, column] <= _LOW * beside
    row, column, beside = row[small], column[small], beside[small]
    x, series = _PLACES[column], coefficients[row]
    first, last = (_PLACES[np.clip(column + k, 0, _PLACES.size - 1)] for k in (-1, 1))
    slope, curve, each = series @ _DER.T, series @ _DER2.T, np.arange(row.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_STEPS):
            step = _value(slope, x, each) / _value(curve, x, each)
            x = np.clip(x - np.nan_to_num(step), first, last)
    y = sign[row, column] * _value(coefficients, x, row)
    touch = np.abs(y) <= _TOUCHING * beside
    crosses = (y < 0.0) & ~touch
    return row[touch | crosses], x[touch | crosses], touch[touch | crosses]

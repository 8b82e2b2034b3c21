"""Real roots of Legendre series on [-1, 1], many at once."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.polynomial import legendre
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
# Beside two close roots a value falls below this share of the largest one.
_LOW = 0.03


def split_points(coefficients: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cut [-1, 1] where each series changes its sign: the series of each piece, and its ends."""
    n = len(coefficients)
    values = coefficients @ _DENSE
    # Minima that cross zero are places to look at, too: two roots lie beside each.
    row, x = _minima(coefficients, values)
    r = np.concatenate([np.repeat(np.arange(n), _PLACES.size), row])
    places = np.concatenate([np.tile(_PLACES, n), x])
    y = np.concatenate([values.ravel(), _value(coefficients, x, row)])
    order = np.lexsort((places, r))
    r, places, positive = r[order], places[order], y[order] >= 0.0
    at = np.flatnonzero((r[1:] == r[:-1]) & (positive[1:] != positive[:-1]))
    roots = np.empty(0)
    if at.size:
        brackets = (places[at], places[at + 1])
        roots = np.asarray(find_root(partial(_value, coefficients), brackets, args=(r[at],)).x)
    row = np.concatenate([np.arange(n), r[at]])
    low = np.concatenate([np.full(n, -1.0), roots])
    order = np.lexsort((low, row))
    row, low = row[order], low[order]
    high = np.where(np.append(row[1:] == row[:-1], False), np.roll(low, -1), 1.0)
    some = high > low
    return row[some], low[some], high[some]


def _value(coefficients: FloatArray, x: FloatArray, rows: IntArray) -> FloatArray:
    """Values of the series of the rows, each at one place."""
    return legendre_series(coefficients[rows], x[:, None])[:, 0]


def _minima(coefficients: FloatArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Minima of \\|series\\| between equal signs that cross zero: row and place."""
    size, sign = np.abs(values), np.sign(values)
    least = size[:, 1:-1]
    low = (least <= size[:, :-2]) & (least < size[:, 2:]) & (sign[:, :-2] == sign[:, 2:])
    low &= least <= _LOW * size.max(axis=1, keepdims=True)
    row, column = np.nonzero(low)
    column += 1
    x, series, each = _PLACES[column], coefficients[row], np.arange(row.size)
    first, last = _PLACES[column - 1], _PLACES[column + 1]
    slope, curve = series @ _DER.T, series @ _DER2.T
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_STEPS):
            step = _value(slope, x, each) / _value(curve, x, each)
            x = np.clip(x - np.nan_to_num(step), first, last)
    crosses = sign[row, column - 1] * _value(coefficients, x, row) < 0.0
    return row[crosses], x[crosses]

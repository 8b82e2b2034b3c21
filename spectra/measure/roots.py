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

# Where signs are compared, closer to the ends: a resolved series has no finer features.
_PLACES = -np.cos(np.linspace(0.0, np.pi, 49))
_DENSE = legendre.legvander(_PLACES, ORDER - 1).T
_DERIVATIVE = legendre.legder(np.eye(ORDER), axis=0).T
# A series touches zero if an extremum is below this share of the values on both sides of it.
_TOUCHING = 1e-10


def split_points(
    coefficients: FloatArray,
) -> tuple[IntArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Cut [-1, 1] at the roots of each series, simple and double ones.

    Returns
    -------
    row, low, high : ndarray of shape (m,)
        The series of each piece, and the ends of the piece, in ascending order.
    touch : ndarray of bool, shape (m,)
        Whether the piece starts at a double root.
    """
    n = len(coefficients)
    none = np.empty(0)
    row, x = _crossings(coefficients @ _DERIVATIVE, none.astype(int), none)
    size, column = np.abs(coefficients @ _DENSE), np.searchsorted(_PLACES, x)
    before = np.maximum.accumulate(size, axis=1)[row, column - 1]
    after = np.maximum.accumulate(size[:, ::-1], axis=1)[:, ::-1][row, column]
    extreme = np.abs(_value(coefficients, x, row))
    touch = extreme <= _TOUCHING * np.minimum(before, after)
    # A small extremum of the other sign lies between two roots.
    rows, roots = _crossings(coefficients, row[~touch], x[~touch])
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


def _crossings(
    series: FloatArray, rows: IntArray, places: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Rows and places of the changes of sign that a grid and further places show."""
    r = np.concatenate([np.repeat(np.arange(len(series)), _PLACES.size), rows])
    x = np.concatenate([np.tile(_PLACES, len(series)), places])
    order = np.lexsort((x, r))
    r, x = r[order], x[order]
    positive = _value(series, x, r) >= 0.0
    at = np.flatnonzero((r[1:] == r[:-1]) & (positive[1:] != positive[:-1]))
    if not at.size:
        return r[at], x[at]
    found = find_root(partial(_value, series), (x[at], x[at + 1]), args=(r[at],))
    return r[at], np.asarray(found.x)

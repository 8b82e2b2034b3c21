"""Legendre series on [-1, 1]: from values at nodes, sign changes, integrals and their inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root

from spectra.base.accuracy import EPS, SAME
from spectra.base.arrays import FloatArray, IntArray

__all__ = ["NODES", "ORDER", "WEIGHTS", "antiderivative", "invert_integrals", "series_through",
           "sign_changes", "values_at"]  # fmt: skip

#: Terms of a series; 20 resolve a smooth density on [w, e w] to rounding.
ORDER = 20
# Halley's iteration ends after a step this small relative to the distance from -1 (its next step is
# below rounding), or if the integral misses its target by fewer roundings than these.
_LAST_STEP, _MOST_STEPS, _ROUNDINGS = 1e-6, 70, 1e5

#: Gauss-Legendre nodes and weights.
NODES, WEIGHTS = legendre.leggauss(ORDER)
_DEGREES = np.arange(ORDER)
# Values at the nodes -> Legendre coefficients.  Products of weights and polynomials have errors of
# 4e-15, since the nodes are rounded; this inverse, improved by Newton's method, of 3e-16.
_AT_NODES = legendre.legvander(NODES.astype(np.longdouble), ORDER - 1)
_TO_SERIES = np.linalg.inv(_AT_NODES.astype(float)).astype(np.longdouble)
_TO_SERIES = (_TO_SERIES + _TO_SERIES @ (np.eye(ORDER) - _AT_NODES @ _TO_SERIES)).astype(float)
# Coefficients of f -> coefficients of its antiderivative that vanishes at -1, and of f'.
_ANTIDERIVATIVE = legendre.legint(np.eye(ORDER), lbnd=-1, axis=0)
_DERIVATIVE = legendre.legder(np.eye(ORDER), axis=0)
# Points for a first guess of inverses, and points between which a series has no unseen sign change,
# except for pairs of roots: next to one, |series| is below this share of its largest value.
_GRID = np.linspace(-1.0, 1.0, 65)
_ROOT_GRID, _SMALL = -np.cos(np.linspace(0.0, np.pi, 49)), 0.03
_ROOT_BASIS = legendre.legvander(_ROOT_GRID, ORDER - 1).T


def series_through(values: NDArray[Any]) -> NDArray[Any]:
    """Legendre coefficients from values at the NODES, along the last axis."""
    return values @ _TO_SERIES.T


def values_at(series: NDArray[Any], x: FloatArray) -> NDArray[Any]:
    """The series k, a row of coefficients, at x[k]: a point, or a row of points."""
    columns = series.T[(..., *[None] * (x.ndim - 1))]
    return legendre.legval(x, columns, tensor=False)


def sign_changes(series: FloatArray) -> tuple[IntArray, FloatArray]:
    """The rows and places at which series change their sign, ascending by row, then by place.

    Between its extrema a series has at most one root, so small extrema are found first.
    """
    each = np.arange(len(series))
    rows, points = np.repeat(each, _ROOT_GRID.size), np.tile(_ROOT_GRID, each.size)
    values = np.abs(series @ _ROOT_BASIS)
    small = (values <= _SMALL * values.max(axis=1, keepdims=True)).ravel()
    row, x = _roots_between(series @ _DERIVATIVE.T, rows, points, small)
    rows, points = np.append(rows, row), np.append(points, x)
    order = np.lexsort((points, rows))
    rows, points = rows[order], points[order]
    return _roots_between(series, rows, points, np.ones(rows.size, dtype=bool))


def _roots_between(
    series: FloatArray, rows: IntArray, points: FloatArray, near: NDArray[np.bool_]
) -> tuple[IntArray, FloatArray]:
    """Roots between neighboring points of a row, of which one is ``near``; points ascend by row."""

    def value(x: FloatArray, row: IntArray) -> FloatArray:
        return values_at(series[row], x)

    positive = value(points, rows) >= 0.0
    changes = (rows[1:] == rows[:-1]) & (positive[1:] != positive[:-1]) & (near[1:] | near[:-1])
    i = np.flatnonzero(changes)
    if not i.size:
        return rows[i], points[i]
    return rows[i], np.asarray(find_root(value, (points[i], points[i + 1]), args=(rows[i],)).x)


def antiderivative(series: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Integrals of Legendre series from -1 to x and from x to 1, each without cancellation.

    Examples
    --------
    >>> below, above = antiderivative(np.eye(ORDER)[:1], np.array([-0.5]))
    >>> float(below[0]), float(above[0])
    (0.5, 1.5)
    """
    primitive = series @ _ANTIDERIVATIVE.T
    basis = legendre.legvander(x, ORDER)
    below = np.einsum("nj,nj->n", primitive, basis)
    # P_j(1) = 1; subtracting P_j(x) from it in the sum avoids cancellation for x near 1.
    above = np.einsum("nj,nj->n", primitive, 1.0 - basis)
    return below, above


def invert_integrals(
    series: FloatArray,
) -> Callable[[IntArray, FloatArray, FloatArray], FloatArray]:
    """The inverses of the integrals of positive series: a function of (rows, below, above).

    It returns points x in [-1, 1].  At x[i], the series with the index rows[i] has the integral
    below[i] from -1 to x[i] and above[i] from x[i] to 1.  The equation of the smaller integral is
    solved, for relative precision at both ends, by Halley's method safeguarded by bisection.
    """
    # Append the reflected series, whose integrals from -1 are the integrals of the others up to 1.
    both = np.concatenate([series, series * (-1.0) ** _DEGREES])
    integrals: FloatArray = both @ _ANTIDERIVATIVE.T
    # Coefficients of the integrals, the series and their derivatives, for one sum.
    terms = np.zeros((ORDER + 1, 3, len(both)))
    terms[:, 0], terms[:-1, 1] = integrals.T, both.T
    terms[:-2, 2] = legendre.legder(both.T)
    # The first guess is the inverse of the linear interpolant of each integral.
    table = np.maximum.accumulate(integrals @ legendre.legvander(_GRID, ORDER).T, axis=1)
    table /= np.where(table[:, -1:] > 0.0, table[:, -1:], 1.0)
    # One ascending array for one search: row i lies in [2i, 2i + 1].
    flat = (table + 2.0 * np.arange(len(table))[:, None]).ravel()

    def guess(rows: IntArray, share: FloatArray) -> FloatArray:
        k = np.searchsorted(flat, share + 2.0 * rows, side="right") - 1 - rows * _GRID.size
        k = np.clip(k, 0, _GRID.size - 2)
        first, last = table[rows, k], table[rows, k + 1]
        part = np.clip((share - first) / np.where(last > first, last - first, 1.0), 0.0, 1.0)
        return _GRID[k] + (_GRID[1] - _GRID[0]) * part

    def points(rows: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        whole, target, reflected = below + above, np.minimum(below, above), below > above
        rows = rows + len(series) * reflected
        x = guess(rows, target / np.where(whole > 0.0, whole, 1.0))
        low, high = -np.ones_like(x), np.ones_like(x)
        at_end = target <= 4.0 * EPS * whole
        x[at_end] = -1.0
        active = np.flatnonzero(~at_end)
        for _ in range(_MOST_STEPS if active.size else 0):
            at = x[active]
            basis, columns = legendre.legvander(at, ORDER).T, np.take(terms, rows[active], axis=2)
            value, density, slope = np.einsum("jn,jkn->kn", basis, columns)
            excess = value - target[active]
            low[active] = np.where(excess < 0.0, at, low[active])
            high[active] = np.where(excess > 0.0, at, high[active])
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = excess / density
                new = at - step / np.clip(1.0 - 0.5 * step * slope / density, 0.5, 2.0)
            # Not strict: a step of zero is inside the bracket.
            inside = (new >= low[active]) & (new <= high[active])
            # Near a zero of the series the integral reaches its target before x converges.
            allowed = np.minimum(whole[active], _ROUNDINGS * target[active])
            settled = np.abs(excess) <= EPS * allowed
            new = np.where(inside, new, np.where(settled, at, 0.5 * (low[active] + high[active])))
            x[active] = new = np.where(excess == 0.0, at, new)
            # A bisection is never the last step.
            large = np.abs(new - at) > np.maximum(_LAST_STEP * (1.0 + at), SAME)
            active = active[(large | ~inside) & ~settled]
            if active.size == 0:
                break
        return np.where(reflected, -x, x)

    return points

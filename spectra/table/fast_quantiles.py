r"""Fast quantiles: polynomials for the radius on bins of equal probability.

A panel must be searched for, and its series inverted.  A bin is found by one multiplication, and a
polynomial of low degree gives the radius.  A bin is *open*, without a polynomial, if the polynomial
would be less accurate than the panels.  Most open bins are next to an edge of a panel at which the
density is 0.  There the radius is a smooth function of the square root of the distance of the
probability from the edge.  Ranges of open bins are cut into pieces, with polynomials in this root.
If a piece has no accurate polynomial, the panels give the radius; in an oscillating tail, the tail.

Probabilities are given as *keys*: u in the left part of the distribution, -(1 - u) in the right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.accuracy import EPS
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.compiled import compile_with_numba, implementation

__all__ = ["EvaluateBins", "EvaluatePieces", "fit_quantiles"]

#: Arguments are an array of keys, an array to which the radii are written, and the total number of
#: draws.  Returns the indices of the keys in open bins, at which the radii are not valid.
EvaluateBins = Callable[[FloatArray, FloatArray, int], IntArray]
#: Radii at keys in open bins; nan where they must be found from the panels or the tail.
EvaluatePieces = Callable[[FloatArray], FloatArray]

# Least number of draws for the compiled loop, which takes half a second to load.  Its results are
# bitwise equal to those of numpy.
_COMPILED = 1 << 18
# There are about _PER_PANEL bins for each interval of length 2^-_LOG_LEAST that holds an edge of a
# panel.  Their number is a power of two, for exact products, from 2^_LOG_LEAST to 2^_LOG_MOST.
_PER_PANEL, _LOG_LEAST, _LOG_MOST = 16.0, 10, 15
# The coefficients of a bin fill one cache line.  Pieces are fewer, and may have a higher degree.
_DEGREE, _PIECE_DEGREE = 7, 13
# Largest error of a polynomial relative to the radius: the rounding error of a panel.
_FIT_TOLERANCE = 4.0 * EPS
# Largest ratio of two radii in a bin: a larger one would amplify rounding errors.
_MOST_RATIO = 2.0
# How often a piece may be halved, and the probability below which it is not.
_HALVINGS, _LEAST_PIECE = 8, 1e-6


def fit_quantiles(
    radii: Callable[[FloatArray], FloatArray],
    radii_between: Callable[[IntArray, FloatArray, FloatArray], FloatArray],
    edges: FloatArray,
    *,
    tail_mass: float,
) -> tuple[EvaluateBins, EvaluatePieces]:
    """Fit the function ``radii`` of the key, which is smooth between neighboring ``edges``.

    Keys from -``tail_mass`` to 0 are in an oscillating tail and are not fitted.  Arguments of
    ``radii_between`` are the index of an edge and the distances of a key from it and the next one.
    """
    occupied = np.unique(np.floor(edges * 2.0**_LOG_LEAST)).size
    count = 1 << int(np.clip(np.ceil(np.log2(_PER_PANEL * occupied)), _LOG_LEAST, _LOG_MOST))
    first, stop = int(np.floor(edges[0] * count)), int(np.ceil(edges[-1] * count))
    starts = np.arange(first, stop) / count
    ends = starts + 1.0 / count
    # A bin with an edge inside it is open.
    after = np.searchsorted(edges, starts, side="right")
    before = np.searchsorted(edges, ends, side="left")
    smooth = (after == before) & (after > 0) & (after < edges.size)
    tried = np.flatnonzero(smooth & ((ends <= -tail_mass) | (starts >= 0.0)))
    fit, good = _fit(radii(starts[tried, None] + _fit_matrices(_DEGREE)[0] / count), _DEGREE)
    # The compiled loop reads the coefficients of a bin as a row, numpy as a column.
    rows = np.zeros((starts.size, _DEGREE + 1))
    rows[tried[good]] = fit[good]
    is_open = np.ones(starts.size, dtype=bool)
    is_open[tried[good]] = False
    columns = np.ascontiguousarray(rows.T)

    def evaluate_bins(key: FloatArray, out: FloatArray, draws: int) -> IntArray:
        if draws >= _COMPILED and implementation() == "numba":
            indices = np.empty(key.size + 1, np.intp)
            number = _compiled_bins()(key, count, first, rows, is_open, out, indices)
            return indices[:number]
        # No rounding here, as ``count`` is a power of two.
        share = key * count
        floor = np.floor(share)
        share -= floor
        floor -= first
        i = floor.astype(np.intp)
        _evaluate(columns, i, share, out)
        return np.flatnonzero(np.take(is_open, i, mode="clip"))

    # Ends of ranges of open bins; ends inside a range occur twice and cancel.
    open_ends = np.setxor1d(starts[is_open], ends[is_open])
    return evaluate_bins, _fit_pieces(radii_between, edges, open_ends, tail_mass)


def _fit_pieces(
    radii_between: Callable[[IntArray, FloatArray, FloatArray], FloatArray],
    edges: FloatArray,
    open_ends: FloatArray,
    tail_mass: float,
) -> EvaluatePieces:
    """Fit radii in ranges of open bins as functions of the root of the distance to an edge."""
    bounds = np.concatenate([open_ends, edges, 0.5 * (edges[1:] + edges[:-1])])
    bounds = np.unique(np.clip(bounds, edges[0], edges[-1]))
    middle = 0.5 * (bounds[1:] + bounds[:-1])
    # Between two neighboring doubles the middle is one of them.
    below = np.minimum(np.searchsorted(edges, middle, side="right") - 1, edges.size - 2)
    # The nearer edge is below (side 1) or above (-1) a piece; near, far: roots of distances to it.
    side = np.where(2.0 * middle < edges[below] + edges[below + 1], 1, -1)
    edge = below + (side < 0)
    near, far = np.sqrt(np.sort(np.abs([bounds[:-1], bounds[1:]] - edges[edge]), axis=0))
    columns = np.full((_PIECE_DEGREE + 1, middle.size), np.nan)
    # Ranges of open bins start and end in turn.
    is_open = np.searchsorted(open_ends, middle) % 2 == 1
    todo = np.flatnonzero(is_open & ((middle < -tail_mass) | (middle > 0.0)))
    for _ in range(_HALVINGS):
        lower = edge[todo] - (side[todo] < 0)
        root = near[todo, None] + (far - near)[todo, None] * _fit_matrices(_PIECE_DEGREE)[0]
        distance = root**2
        to_other_edge = (edges[lower + 1] - edges[lower])[:, None] - distance
        is_above = side[todo, None] > 0
        from_lower = np.where(is_above, distance, to_other_edge)
        from_upper = np.where(is_above, to_other_edge, distance)
        lower = np.repeat(lower, root.shape[1])
        w = radii_between(lower, from_lower.ravel(), from_upper.ravel()).reshape(root.shape)
        fit, good = _fit(w, _PIECE_DEGREE)
        columns[:, todo[good]] = fit[good].T
        bad = todo[~good & ((far**2 - near**2)[todo] > _LEAST_PIECE)]
        todo = np.append(bad, far.size + np.arange(bad.size))
        side, edge = np.append(side, side[bad]), np.append(edge, edge[bad])
        half = 0.5 * (near + far)[bad]
        near, far = np.append(near, half), np.append(far, far[bad])
        far[bad] = half
        columns = np.append(columns, columns[:, bad], axis=1)
    origin = edges[edge]
    start = np.minimum(origin + side * near**2, origin + side * far**2)
    order = np.argsort(start)
    start, origin, near, far = start[order], origin[order], near[order], far[order]
    columns, scale = columns[:, order], 1.0 / np.where(far > near, far - near, 1.0)

    def evaluate_pieces(key: FloatArray) -> FloatArray:
        i = np.searchsorted(start, key, side="right") - 1
        share = np.sqrt(np.abs(key - np.take(origin, i, mode="clip")))
        share -= np.take(near, i, mode="clip")
        share *= np.take(scale, i, mode="clip")
        return _evaluate(columns, i, share, np.empty(key.size))

    return evaluate_pieces


def _fit(w: FloatArray, degree: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Coefficients of polynomials on [0, 1] from values at nodes, and whether they are accurate."""
    nodes, series, powers = _fit_matrices(degree)
    least, most = w.min(axis=1), w.max(axis=1)
    # Subtracting one value makes the rounding errors of the matrices relative to the differences.
    middle = w[:, nodes.size // 2]
    # Infinite radii give nan, and the bin stays open.
    with np.errstate(invalid="ignore"):
        fit = (w - middle[:, None]) @ series
        error = np.abs(fit[:, degree + 1 :]).sum(axis=1)
        good = (error <= _FIT_TOLERANCE * least) & (most <= _MOST_RATIO * least)
        # The product of both matrices would have large entries, and larger rounding errors.
        fit = fit[:, : degree + 1] @ powers
    fit[:, 0] += middle
    return fit, good


def _evaluate(columns: FloatArray, i: IntArray, share: FloatArray, out: FloatArray) -> FloatArray:
    """Values of the polynomials ``columns[:, i[k]]`` at share[k] in [0, 1], written to ``out``."""
    term = np.empty(share.size)
    np.take(columns[-1], i, out=out, mode="clip")
    for column in columns[-2::-1]:
        out *= share
        out += np.take(column, i, out=term, mode="clip")
    return out


@cache
def _compiled_bins() -> Any:
    """Compile ``evaluate_bins``, without fused operations: the results equal those of numpy."""

    def evaluate_bins(
        key: Any, count: Any, first: Any, rows: Any, is_open: Any, out: Any, indices: Any
    ) -> Any:
        number = 0
        last = len(rows) - 1
        for j in range(key.size):
            share = key[j] * count
            floor = np.floor(share)
            share -= floor
            row = min(max(int(floor) - first, 0), last)
            # A loop over the powers would take twice the time, as numba does not unroll it.
            a, b, c, d = rows[row, 7], rows[row, 6], rows[row, 5], rows[row, 4]
            e, f, g, h = rows[row, 3], rows[row, 2], rows[row, 1], rows[row, 0]
            value = (((a * share + b) * share + c) * share + d) * share + e
            out[j] = ((value * share + f) * share + g) * share + h
            indices[number] = j
            number += is_open[row]
        return number

    return compile_with_numba(evaluate_bins, fused=False)


@cache
def _fit_matrices(degree: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes in [0, 1]; a matrix from values there to Chebyshev coefficients, the last three of them
    error estimates; a matrix from the other coefficients to those of powers."""
    count = degree + 4
    x = chebyshev.chebpts1(count)
    series = np.asarray(chebyshev.chebvander(x, count - 1) * (2.0 / count), dtype=float)
    series[:, 0] *= 0.5
    # T_n(2 x - 1) = T_2n(sqrt x), whose coefficients are integers.
    powers = np.zeros((degree + 1, degree + 1))
    for n in range(degree + 1):
        powers[n, : n + 1] = chebyshev.cheb2poly([0.0] * 2 * n + [1.0])[::2]
    return 0.5 * (x + 1.0), series, powers

r"""Fast draws: the inverse CDF of a law by polynomials on equal cells of probability.

A panel is a polynomial of degree 17, and has to be searched.  Equal cells of probability are found
by a product, and a polynomial of low degree is as accurate on them, so that a draw costs half.  If
it differs from the panels by more than a few roundings, the cell is *open*: it has no polynomial.
Most open cells are next to an edge at which the density has a zero.  The radius is smooth in the
square root of the distance of u from there, and pieces of open cells are fitted in this variable.
Cells that are not smooth in it either, at the ends of a law and in a tail of waves, use the panels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.compiled import compile_with_numba, implementation

__all__ = ["Fill", "Refine", "fit_cells"]

#: Writes radii at keys to an array, and returns the indices of keys in open cells; the last
#: argument is the number of draws in all.
Fill = Callable[[FloatArray, FloatArray, int], IntArray]
#: Radii at keys in open cells; not a number where only the panels know them.
Refine = Callable[[FloatArray], FloatArray]

# From this number of draws on the compiled loop is worth loading, half a second once in a process.
# It gives the same bits.
_COMPILED = 1 << 18
# Cells for each panel, and the least and most of them; powers of two, so that a product with
# their number is exact.
_PER_PANEL, _LEAST, _MOST = 16.0, 10, 15
# The coefficients of a cell fill one cache line.  Pieces are fewer, and of a higher degree.
_DEGREE, _PIECE_DEGREE = 7, 13
# A polynomial is accepted on a cell if its error is below this fraction of the radius, which is
# the rounding error of a panel.
_FIT_TOLERANCE = 4.0 * float(np.finfo(float).eps)
# Polynomials lose no digits in cells in which the radius changes by less than this factor.
_MOST_CHANGE = 2.0
# How often a piece is halved, and the probability below which it is not.
_HALVINGS, _LEAST_PIECE = 8, 1e-6


def fit_cells(
    radii: Callable[[FloatArray], FloatArray],
    radii_between: Callable[[IntArray, FloatArray, FloatArray], FloatArray],
    edges: FloatArray,
    *,
    tail_mass: float,
) -> tuple[Fill, Refine]:
    """Fit ``radii`` at keys, which are u on the left of a law and -q on the right.

    They are smooth between two edges, except for keys from -``tail_mass`` to 0, which are in a tail
    of waves.  ``radii_between`` gives them from the number of the edge below and the distances of a
    key from this edge and the next one.
    """
    coarse = np.unique(np.floor(edges * 2.0**_LEAST)).size
    count = 1 << int(np.clip(np.ceil(np.log2(_PER_PANEL * coarse)), _LEAST, _MOST))
    first, stop = int(np.floor(edges[0] * count)), int(np.ceil(edges[-1] * count))
    starts = np.arange(first, stop) / count
    ends = starts + 1.0 / count
    # A cell with an edge inside it gets no polynomial.
    after = np.searchsorted(edges, starts, side="right")
    before = np.searchsorted(edges, ends, side="left")
    smooth = (after == before) & (after > 0) & (after < edges.size)
    closed = np.flatnonzero(smooth & ((ends <= -tail_mass) | (starts >= 0.0)))
    fit, good = _fit(radii(starts[closed, None] + _rule(_DEGREE)[0] / count), _DEGREE)
    # The coefficients of each cell lie side by side, so that a draw reads one place.
    rows = np.zeros((starts.size, _DEGREE + 1))
    rows[closed[good]] = fit[good]
    is_open = np.ones(starts.size, dtype=bool)
    is_open[closed[good]] = False
    columns = np.ascontiguousarray(rows.T)

    def fill(key: FloatArray, out: FloatArray, draws: int) -> IntArray:
        if draws >= _COMPILED and implementation() == "numba":
            places = np.empty(key.size + 1, np.intp)
            number = _compiled_fill()(key, count, first, rows, is_open, out, places)
            return places[:number]
        # All of this is exact, as the count is a power of two.
        share = key * count
        cell = np.floor(share)
        share -= cell
        cell -= first
        i = cell.astype(np.intp)
        _evaluate(columns, i, share, out)
        return np.flatnonzero(np.take(is_open, i, mode="clip"))

    # Bounds of runs of open cells: a bound between two of them is both an end and a start.
    runs = np.setxor1d(starts[is_open], ends[is_open])
    return fill, _fit_pieces(radii_between, edges, runs, tail_mass)


def _fit_pieces(
    radii: Callable[[IntArray, FloatArray, FloatArray], FloatArray],
    edges: FloatArray,
    runs: FloatArray,
    tail_mass: float,
) -> Refine:
    """Fit radii in runs of open cells, in the root of the distance of a key from an edge."""
    bounds = np.concatenate([runs, edges, 0.5 * (edges[1:] + edges[:-1])])
    bounds = np.unique(np.clip(bounds, edges[0], edges[-1]))
    middle = 0.5 * (bounds[1:] + bounds[:-1])
    below = np.searchsorted(edges, middle, side="right") - 1
    # Distances are from the nearer edge, which lies below (way 1) or above (way -1) the piece.
    way = np.where(2.0 * middle < edges[below] + edges[below + 1], 1, -1)
    edge = below + (way < 0)
    near, far = np.sqrt(np.sort(np.abs([bounds[:-1], bounds[1:]] - edges[edge]), axis=0))
    columns = np.full((_PIECE_DEGREE + 1, middle.size), np.nan)
    # Runs start and end in turn.
    used = (np.searchsorted(runs, middle) % 2 == 1) & ((middle < -tail_mass) | (middle > 0.0))
    todo = np.flatnonzero(used)
    for _ in range(_HALVINGS):
        at = edge[todo] - (way[todo] < 0)
        length = near[todo, None] + (far - near)[todo, None] * _rule(_PIECE_DEGREE)[0]
        distance = length**2
        rest = (edges[at + 1] - edges[at])[:, None] - distance
        upward = way[todo, None] > 0
        sides = np.where(upward, distance, rest), np.where(upward, rest, distance)
        at = np.repeat(at, length.shape[1])
        w = radii(at, *(side.ravel() for side in sides)).reshape(length.shape)
        fit, good = _fit(w, _PIECE_DEGREE)
        columns[:, todo[good]] = fit[good].T
        bad = todo[~good & ((far**2 - near**2)[todo] > _LEAST_PIECE)]
        todo = np.append(bad, far.size + np.arange(bad.size))
        way, edge = np.append(way, way[bad]), np.append(edge, edge[bad])
        half = 0.5 * (near + far)[bad]
        near, far = np.append(near, half), np.append(far, far[bad])
        far[bad] = half
        columns = np.append(columns, columns[:, bad], axis=1)
    origin = edges[edge]
    start = np.minimum(origin + way * near**2, origin + way * far**2)
    order = np.argsort(start)
    start, origin, near, far = start[order], origin[order], near[order], far[order]
    columns, scale = columns[:, order], 1.0 / np.where(far > near, far - near, 1.0)

    def refine(key: FloatArray) -> FloatArray:
        i = np.searchsorted(start, key, side="right") - 1
        share = np.sqrt(np.abs(key - np.take(origin, i, mode="clip")))
        share -= np.take(near, i, mode="clip")
        share *= np.take(scale, i, mode="clip")
        return _evaluate(columns, i, share, np.empty(key.size))

    return refine


def _fit(w: FloatArray, degree: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Powers of the share of a cell from radii at its nodes, and whether they are accurate."""
    shares, series, powers = _rule(degree)
    least, most = w.min(axis=1), w.max(axis=1)
    # The differences to one value are fitted: the rounding of the rule counts for them only.
    middle = w[:, shares.size // 2]
    # Radii beyond the range of doubles have no polynomial: their cells stay open.
    with np.errstate(invalid="ignore"):
        fit = (w - middle[:, None]) @ series
        left = np.abs(fit[:, degree + 1 :]).sum(axis=1)
        good = (left <= _FIT_TOLERANCE * least) & (most <= _MOST_CHANGE * least)
        # Two products: their product as one matrix has large entries, and larger rounding errors.
        fit = fit[:, : degree + 1] @ powers
    fit[:, 0] += middle
    return fit, good


def _evaluate(columns: FloatArray, i: IntArray, share: FloatArray, out: FloatArray) -> FloatArray:
    """Values of the polynomials i at their shares, written to ``out``."""
    term = np.empty(share.size)
    np.take(columns[-1], i, out=out, mode="clip")
    for column in columns[-2::-1]:
        out *= share
        out += np.take(column, i, out=term, mode="clip")
    return out


@cache
def _compiled_fill() -> Any:
    """The loop that is compiled.  Nothing is fused in it, so that numpy gives the same bits."""

    def fill(
        key: Any, count: Any, first: Any, rows: Any, is_open: Any, out: Any, places: Any
    ) -> Any:
        number = 0
        last = len(rows) - 1
        for j in range(key.size):
            share = key[j] * count
            cell = np.floor(share)
            share -= cell
            row = min(max(int(cell) - first, 0), last)
            # Written out, as numba keeps a loop over the powers, at twice the time.
            a, b, c, d = rows[row, 7], rows[row, 6], rows[row, 5], rows[row, 4]
            e, f, g, h = rows[row, 3], rows[row, 2], rows[row, 1], rows[row, 0]
            value = (((a * share + b) * share + c) * share + d) * share + e
            out[j] = ((value * share + f) * share + g) * share + h
            places[number] = j
            number += is_open[row]
        return number

    return compile_with_numba(fill, fused=False)


@cache
def _rule(degree: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of a cell; a matrix from values there to three more Chebyshev coefficients than the
    polynomial has, which estimate its error; and one to powers of the share."""
    count = degree + 4
    x = chebyshev.chebpts1(count)
    series = np.asarray(chebyshev.chebvander(x, count - 1) * (2.0 / count), dtype=float)
    series[:, 0] *= 0.5
    # T_n(2 x - 1) = T_2n(sqrt x), whose coefficients are integers.
    powers = np.zeros((degree + 1, degree + 1))
    for n in range(degree + 1):
        powers[n, : n + 1] = chebyshev.cheb2poly([0.0] * 2 * n + [1.0])[::2]
    return 0.5 * (x + 1.0), series, powers

r"""The inverse CDF of a law once more, on even cells of probability, for draws by the million.

A panel is a polynomial of degree 17, and has to be searched.  Even cells of probability are found
by a product, and a polynomial of low degree is as accurate on them, so that a draw costs half.  If
it differs from the panels by more than a few roundings, the cell is left open, and the panels are
evaluated instead: next to the ends of a law and of a panel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.compiled import compiled, implementation

__all__ = ["Fill", "fit_cells"]

#: Writes radii at keys to an array, and returns the places that fall into open cells; the last
#: argument is the number of draws in all.
Fill = Callable[[FloatArray, FloatArray, int], IntArray]

# From this number of draws on the compiled loop is worth loading, half a second once in a process.
# It gives the same bits.
_COMPILED = 1 << 18
# Cells for each panel, and the least and most of them; powers of two, so that a product with
# their number is exact.
_PER_PANEL, _LEAST, _MOST = 32.0, 12, 15
# The coefficients of a cell fill one cache line; with 4096 cells, less than one draw in a hundred
# falls into an open one.
_DEGREE = 7
# A cell is closed where what its polynomial leaves is below this fraction of the radius: as much
# as a panel rounds.
_LEFT = 4.0 * float(np.finfo(float).eps)
# Powers of the share of a cell lose no digits where the radius changes by less than this factor.
_MOST_CHANGE = 2.0


def fit_cells(
    quantiles: Callable[[FloatArray], FloatArray],
    edges: FloatArray,
    *,
    rough: tuple[float, float] | None,
) -> Fill:
    """Fit radii at keys, which are u on the left of a law and -q on the right.

    The radii are smooth between two edges, but for those between the two keys ``rough``, where the
    law is a tail of waves.
    """
    coarse = np.unique(np.floor(edges * 2.0**_LEAST)).size
    count = 1 << int(np.clip(np.ceil(np.log2(_PER_PANEL * coarse)), _LEAST, _MOST))
    first, stop = int(np.floor(edges[0] * count)), int(np.ceil(edges[-1] * count))
    starts = np.arange(first, stop) / count
    # No edge lies inside a cell that a polynomial stands for.
    after = np.searchsorted(edges, starts, side="right")
    before = np.searchsorted(edges, starts + 1.0 / count, side="left")
    smooth = (after == before) & (after > 0) & (after < edges.size)
    if rough is not None:
        smooth &= (starts + 1.0 / count <= rough[0]) | (starts >= rough[1])
    closed = np.flatnonzero(smooth)
    shares, series, powers = _rule()
    w = quantiles(((first + closed)[:, None] + shares) / count)
    least, most = w.min(axis=1), w.max(axis=1)
    # The differences to one value are fitted: the rounding of the rule counts for them only.
    middle = w[:, shares.size // 2]
    # Radii beyond the range of doubles have none, and their cells stay open.
    with np.errstate(invalid="ignore"):
        fit = (w - middle[:, None]) @ series
        left = np.abs(fit[:, _DEGREE + 1 :]).sum(axis=1)
        good = (left <= _LEFT * least) & (most <= _MOST_CHANGE * least)
    # The coefficients of each cell lie side by side, so that a draw reads one place.
    rows = np.zeros((starts.size, _DEGREE + 1))
    # Two products: one matrix in their place would be rounded where it is large.
    rows[closed[good]] = fit[good, : _DEGREE + 1] @ powers
    rows[closed[good], 0] += middle[good]
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
        i, term = cell.astype(np.intp), cell
        np.take(columns[-1], i, out=out, mode="clip")
        for column in columns[-2::-1]:
            out *= share
            out += np.take(column, i, out=term, mode="clip")
        return np.flatnonzero(np.take(is_open, i, mode="clip"))

    return fill


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

    return compiled(fill, fused=False)


@cache
def _rule() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of a cell; a matrix from values there to three more Chebyshev coefficients than the
    polynomial has, which show what it leaves; and one to powers of the share."""
    count = _DEGREE + 4
    x = chebyshev.chebpts1(count)
    series = np.asarray(chebyshev.chebvander(x, count - 1) * (2.0 / count), dtype=float)
    series[:, 0] *= 0.5
    # T_n(2 x - 1) = T_2n(sqrt x), whose coefficients are integers.
    powers = np.zeros((_DEGREE + 1, _DEGREE + 1))
    for n in range(_DEGREE + 1):
        powers[n, : n + 1] = chebyshev.cheb2poly([0.0] * 2 * n + [1.0])[::2]
    return 0.5 * (x + 1.0), series, powers

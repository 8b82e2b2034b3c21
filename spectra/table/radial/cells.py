r"""The inverse CDF of a law once more, on even cells of probability, for draws by the million.

A panel is a polynomial of degree 17, and has to be searched.  Even cells of probability are found
by a product, and a polynomial of low degree is as accurate on them, so that a draw costs half.  If
it differs from the panels by more than a few roundings, the cell is left open, and the panels are
evaluated instead: next to the ends of a law and of a panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self, final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.compiled import compiled, implementation
from spectra.table.radial.panels import powers_of_chebyshev

__all__ = ["Cells"]

# From this number of draws on the compiled loop is worth loading, half a second once in a process.
# It gives the same bits.
_COMPILED = 1 << 18
# Cells for each panel, and the least and most of them; powers of two, so that a product with
# their number is exact.
_PER_PANEL, _LEAST, _MOST = 32.0, 12, 15
# With 4096 cells, about one draw in a hundred falls into an open one.
_DEGREE = 6
# A cell is closed where what its polynomial leaves is below this fraction of the radius: as much
# as a panel rounds.
_LEFT = 2.0 * float(np.finfo(float).eps)
# Powers of the share of a cell lose no digits where the radius changes by less than this factor.
_MOST_CHANGE = 2.0


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """Polynomials on even cells of a key, which is u on the left of a law and -q on the right.

    ``count``, a power of two, is the number of cells for a probability of 1, and the first begins
    at ``first / count``.  ``columns``, shape (degree + 1, n), are coefficients of the powers of
    the share of each cell, lowest first; for the cells that are open no polynomial stands.
    """

    count: int
    first: int
    columns: FloatArray
    is_open: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        quantiles: Callable[[FloatArray], FloatArray],
        edges: FloatArray,
        *,
        rough: tuple[float, float] | None,
        steps: bool,
    ) -> Self:
        """Fit radii at keys, which are smooth between two edges, or constant for ``steps``.

        Between the two keys ``rough``, where the law is a tail of waves, they are not smooth.
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
        terms = 1 if steps else _DEGREE + 1
        shares, series, powers = _rule(terms)
        w = quantiles(((first + closed)[:, None] + shares) / count)
        least, most = w.min(axis=1), w.max(axis=1)
        # The differences to one value are fitted: the rounding of the rule counts for them only.
        middle = w[:, shares.size // 2]
        # Radii beyond the range of doubles have none, and their cells stay open.
        with np.errstate(invalid="ignore"):
            fit = (w - middle[:, None]) @ series
            left = np.abs(fit[:, terms:]).sum(axis=1)
            good = (left <= _LEFT * least) & (most <= _MOST_CHANGE * least)
        columns = np.zeros((terms, starts.size))
        # Two products: one matrix in their place would be rounded where it is large.
        columns[:, closed[good]] = (fit[good, :terms] @ powers).T
        columns[0, closed[good]] += middle[good]
        is_open = np.ones(starts.size, dtype=bool)
        is_open[closed[good]] = False
        return cls(count, first, columns, is_open)

    def loop(self, draws: int) -> Callable[[FloatArray, FloatArray], IntArray]:
        """A function that writes radii at keys and returns the places that fall into open cells."""
        many = draws >= _COMPILED and implementation() == "numba"
        return self._fill_with_numba if many else self._fill_with_numpy

    def _fill_with_numpy(self, key: FloatArray, out: FloatArray) -> IntArray:
        # All of this is exact, as the count is a power of two.
        share = key * self.count
        cell = np.floor(share)
        share -= cell
        cell -= self.first
        i, term = cell.astype(np.intp), cell
        np.take(self.columns[-1], i, out=out, mode="clip")
        for column in self.columns[-2::-1]:
            out *= share
            out += np.take(column, i, out=term, mode="clip")
        return np.flatnonzero(np.take(self.is_open, i, mode="clip"))

    def _fill_with_numba(self, key: FloatArray, out: FloatArray) -> IntArray:
        places = np.empty(key.size + 1, np.intp)
        count = _fill()(key, self.count, self.first, self._rows, self.is_open, out, places)
        return places[:count]

    @cached_property
    def _rows(self) -> FloatArray:
        """The coefficients of each cell side by side, so that a draw reads one place."""
        missing = _DEGREE + 1 - len(self.columns)
        return np.ascontiguousarray(np.pad(self.columns.T, ((0, 0), (0, missing))))


@cache
def _fill() -> Any:
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
            a, b, c = rows[row, 6], rows[row, 5], rows[row, 4]
            d, e, f, g = rows[row, 3], rows[row, 2], rows[row, 1], rows[row, 0]
            out[j] = (((((a * share + b) * share + c) * share + d) * share + e) * share + f) * (
                share
            ) + g
            places[number] = j
            number += is_open[row]
        return number

    return compiled(fill, fused=False)


@cache
def _rule(terms: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of a cell; a matrix from values there to 2 ``terms`` Chebyshev coefficients, half of
    which show what the others leave; and one from the others to powers of the share."""
    if terms == 1:
        return np.array([0.5]), np.ones((1, 1)), np.ones((1, 1))
    count = 2 * terms
    x = chebyshev.chebpts1(count)
    series = np.asarray(chebyshev.chebvander(x, count - 1) * (2.0 / count), dtype=float)
    series[:, 0] *= 0.5
    # T_n(2 x - 1) = T_2n(sqrt x).
    return 0.5 * (x + 1.0), series, powers_of_chebyshev(2 * terms - 1)[::2, ::2]

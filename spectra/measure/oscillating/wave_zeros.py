"""Where sums of waves vanish: between the points of a grid, and where they hide between two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spectra.base.enclosures import bracketed_roots
from spectra.base.numbers import FloatArray

__all__ = ["lowest", "zeros_on"]

Owners = NDArray[np.intp]
#: Values of one of several functions at each of some places, and first and second derivatives.
Value = Callable[[FloatArray, Owners], FloatArray]
Slopes = Callable[[FloatArray, Owners], tuple[FloatArray, FloatArray]]

_NEWTON_STEPS = 8


def lowest(grid: FloatArray, values: FloatArray, slopes: Slopes) -> tuple[FloatArray, Owners]:
    """Where sizes have a minimum between points of one sign, by Newton's method and halving.

    The values are those on an even grid, one row for each function, whose numbers are returned too.
    The sign at the minimum itself does not count: on a double zero it is that of a rounding.
    """
    size, sign = np.abs(values), np.sign(values)
    inner = size[:, 1:-1] <= np.minimum(size[:, :-2], size[:, 2:])
    inner &= sign[:, :-2] == sign[:, 2:]
    who, place = np.nonzero(inner)
    low, x, high = grid[place], grid[place + 1], grid[place + 2]
    for _ in range(_NEWTON_STEPS):
        slope, curve = slopes(x, who)
        falls = slope * sign[who, place] < 0.0
        low, high = np.where(falls, x, low), np.where(falls, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = x - slope / curve
        x = np.where((low <= new) & (new <= high), new, 0.5 * (low + high))
    return x, who


def zeros_on(
    grid: FloatArray, value: Value, slopes: Slopes, count: int = 1
) -> tuple[FloatArray, Owners]:
    """Sign changes of so many functions on an even grid, ascending for each, and whose they are.

    Minima of the size between two points of one sign are followed, so that a short lobe is not
    missed.
    """
    on_grid = np.repeat(np.arange(count), grid.size)
    values = value(np.tile(grid, count), on_grid)
    x, who = lowest(grid, values.reshape(count, -1), slopes)
    every, owner = np.append(np.tile(grid, count), x), np.append(on_grid, who)
    values = np.append(values, value(x, who))
    order = np.lexsort((every, owner))
    every, owner, values = every[order], owner[order], values[order]
    changes = (values[:-1] < 0.0) != (values[1:] < 0.0)
    at = np.flatnonzero(changes & (owner[:-1] == owner[1:]))
    owner = owner[at]
    zeros = bracketed_roots(
        lambda t: value(t, owner),
        every[at],
        every[at + 1],
        value_low=values[at],
        value_high=values[at + 1],
    )
    return zeros, owner

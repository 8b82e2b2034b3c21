"""Where doubles lose the digits of a formula, and its values there.

In doubles ``(exp(-z) - 1 + z)/z**2`` is 0 from z = 1e-9 down, where it is 1/2, and so is
``z*(sqrt(1 + z**2) - z)`` from z = 1e8 up.  A formula is asked once in every octave what becomes of
it when each of its intermediate results is moved at random (as in :mod:`.resolved`); where that
moves its value by more than a distance moved as far does, its values are those of many digits: of a
polynomial on the octave through some of them, where that gives back others, and each on its own
elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

__all__ = ["SHAKEN", "lost_octaves", "mending"]

Array = NDArray[Any]
Values = Callable[[Array], Array]

#: Results are moved by that share of themselves, or up to twice as far.
SHAKEN = 2.0**-30
# One place in each octave is asked, in another part of each; beyond 2^300 no unit has a kernel.
_FIRST, _LAST, _PLACE, _GOLDEN, _RUNS = -300, 300, 0.37, 0.6180339887498949, 3
# What is not moved by so many times what distances, moved by so much, move there or in an octave
# beside it is ill-conditioned, and not lost.
_CONDITION, _MOVED, _ROUNDING = 8.0, (-1.0, 1.0, -1.7, 1.7), 2.0**-53
# Errors of doubles are lost digits above that share of the largest value that is known.
_LOST, _KNOWN = 4e-15, 1e-3
# A polynomial of that degree is tried once so many points were asked for, and held to values
# between its nodes.
_DEGREE, _MANY = 24, 64
_CHECKS, _RESOLVED = np.array([1e-6, 0.013, 0.171, 0.437, 0.719, 0.983]), 4e-15


def mending(
    quick: Values, shaken: Values, exact: Values, end: float
) -> Callable[[Array, Array], None]:
    """Make what puts the digits that doubles lose of a function into its values at points.

    Parameters
    ----------
    quick, shaken, exact : callable
        Values at positive distances in doubles, the same with every result moved by SHAKEN, and
        values in as many digits as they ask for.
    end : float
        The largest distance at which the function is asked for.
    """
    lost = lost_octaves(quick, shaken, end)
    asked: Counter[int] = Counter()

    @cache
    def many(octave: int) -> Values:
        return _on_octave(exact, octave)

    def mend(points: Array, value: Array) -> None:
        if not lost.any():
            return
        octave = np.clip(np.frexp(points)[1] - 1, _FIRST, _LAST - 1)
        here = (points > 0.0) & (points < np.inf) & lost[octave - _FIRST]
        for n in map(int, np.unique(octave[here])):
            mine = here & (octave == n)
            asked[n] += int(np.count_nonzero(mine))
            values = exact if asked[n] < _MANY else many(n)
            value[mine] = values(points[mine])

    return mend


def lost_octaves(quick: Values, shaken: Values, end: float) -> NDArray[np.bool_]:
    """Whether digits are lost between 2^n and 2^(n+1), n = -300, ..., 299, or beside it.

    Examples
    --------
    >>> def sine(z):
    ...     return np.sin(z) / z
    >>> lost_octaves(sine, sine, np.inf).any()
    np.False_
    """
    n = np.arange(_FIRST, _LAST)
    n = n[np.ldexp(1.0, n) <= 2.0 * end]
    z = np.ldexp(1.0 + (_PLACE + n * _GOLDEN) % 1.0, n)
    with np.errstate(all="ignore"):
        value = quick(z)
        moved_at_random = np.array([shaken(z) for _ in range(_RUNS)]) - value
        moved = np.array([quick(z * (1.0 + s * SHAKEN)) for s in _MOVED]) - value
        size = np.abs(np.where(np.isfinite(value), value, 0.0))
        # What leaves the doubles when shaken is noise; what leaves its domain says nothing.
        noise = np.abs(np.where(np.isnan(moved_at_random), 0.0, moved_at_random)).max(axis=0)
        allowed = np.abs(np.where(np.isfinite(moved), moved, 0.0)).max(axis=0)
        allowed = _CONDITION * _beside(allowed).max(axis=0)
        error = np.maximum(noise - allowed, 0.0) * (_ROUNDING / SHAKEN)
        # What has cancelled may be of any size; three digits say that a value is none of that.
        known = (z <= end) & (error <= _KNOWN * size) & np.isfinite(moved_at_random).all(axis=0)
        largest = np.max(size, where=known, initial=0.0)
        lost = np.zeros(_LAST - _FIRST, dtype=bool)
        lost[: n.size] = (error > _LOST * largest) & np.isfinite(value)
    return np.asarray(_beside(lost).any(axis=0))


def _on_octave(exact: Values, octave: int) -> Values:
    """The polynomial on an octave, or every value on its own."""
    if octave in (_FIRST, _LAST - 1):
        return exact
    low, high = np.ldexp(1.0, [octave, octave + 1])
    nodes = low + 0.5 * (high - low) * (1.0 + chebyshev.chebpts1(_DEGREE + 1))
    between = low + (high - low) * _CHECKS
    true, values = exact(between), exact(nodes)
    if not (np.isfinite(values).all() and np.isfinite(true).all()):
        return exact
    series = Chebyshev.fit(nodes, values, _DEGREE, domain=[low, high])
    close = np.abs(series(between) - true) <= _RESOLVED * np.abs(true)
    return series if np.all(close) else exact


def _beside(octaves: Array) -> Array:
    """An octave and the one on either side of it, in rows."""
    padded = np.concatenate([octaves[:1], octaves, octaves[-1:]])
    return np.array([padded[:-2], padded[1:-1], padded[2:]])

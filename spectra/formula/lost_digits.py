"""Where doubles lose the digits of a formula, and its values there.

In doubles ``(exp(-z) - 1 + z)/z**2`` is 0 from z = 1e-9 down, where it is 1/2, and so is
``z*(sqrt(1 + z**2) - z)`` from z = 1e8 up.  A formula is asked once in every octave what becomes of
it when each of its intermediate results is moved at random (as in :mod:`.resolved`); where that
moves its value by more than a distance moved as far does, its values are those of many digits: of a
polynomial on the octave through some of them, where that gives back others, and each on its own
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

__all__ = ["SHAKEN", "LostDigits"]

Array = NDArray[Any]
Values = Callable[[Array], Array]

#: Results are moved by that share of themselves, or up to twice as far.
SHAKEN = 2.0**-30
# One place in each octave is asked, in another part of each; beyond 2^300 no unit has a kernel.
_FIRST, _LAST, _PLACE, _GOLDEN, _RUNS = -300, 300, 0.37, 0.6180339887498949, 3
# What is not moved by so many times what distances, moved by so much, move there or in an octave
# beside it is ill-conditioned, and not lost.
_CONDITION, _MOVED, _ROUNDING = 8.0, (-1.0, 1.0, -1.7, 1.7), 2.0**-53
# Errors of doubles are lost digits above that share of the value, and of the largest value.
_LOST, _OF_LARGEST = 5e-14, 4e-15
# A polynomial of that degree is tried for so many points, and held to values between its nodes.
_DEGREE, _MANY = 24, 64
_CHECKS, _RESOLVED = np.array([1e-6, 0.013, 0.171, 0.437, 0.719, 0.983]), 4e-15


class LostDigits:
    """The octaves in which doubles lose digits of a function, and its values there.

    Parameters
    ----------
    quick, shaken, exact : callable
        Values at positive distances in doubles, the same with every result moved by SHAKEN, and
        values in as many digits as they ask for.
    end : float
        The largest distance at which the function is asked for.

    Examples
    --------
    >>> def sine(z):
    ...     return np.sin(z) / z
    >>> LostDigits(sine, sine, sine).octaves.any()
    np.False_
    """

    def __init__(self, quick: Values, shaken: Values, exact: Values, end: float = np.inf) -> None:
        self._quick, self._shaken, self._exact, self._end = quick, shaken, exact, end
        self._series: dict[int, Values] = {}

    @cached_property
    def octaves(self) -> NDArray[np.bool_]:
        """Whether digits are lost between 2^n and 2^(n+1), n = -300, ..., 299, or beside it."""
        n = np.arange(_FIRST, _LAST)
        z = np.ldexp(1.0 + (_PLACE + n * _GOLDEN) % 1.0, n)
        with np.errstate(all="ignore"):
            value = self._quick(z)
            shaken = _farthest(value, [self._shaken(z) for _ in range(_RUNS)])
            moved = _farthest(value, [self._quick(z * (1.0 + s * SHAKEN)) for s in _MOVED])
            allowed = _CONDITION * _beside(moved).max(axis=0)
            error = np.maximum(shaken - allowed, 0.0) * (_ROUNDING / SHAKEN)
            size = _farthest(value, [np.zeros(1)])
            largest = np.max(np.maximum(size - error, 0.0), where=z <= self._end, initial=0.0)
            lost = (error > _LOST * size) & (error > _OF_LARGEST * largest) & (z <= 2.0 * self._end)
        return np.asarray(_beside(lost).any(axis=0))

    def mend(self, points: Array, value: Array) -> None:
        """Put the digits that are lost into values at points."""
        if not self.octaves.any():
            return
        octave = np.clip(np.frexp(points)[1] - 1, _FIRST, _LAST - 1)
        here = (points > 0.0) & (points < np.inf) & self.octaves[octave - _FIRST]
        for n in np.unique(octave[here]):
            mine = here & (octave == n)
            value[mine] = self._within(int(n), points[mine])

    def _within(self, octave: int, points: Array) -> Array:
        if octave not in self._series:
            if points.size < _MANY:
                return self._exact(points)
            self._series[octave] = self._read(octave)
        return self._series[octave](points)

    def _read(self, octave: int) -> Values:
        """The polynomial on an octave, or every value on its own."""
        if octave in (_FIRST, _LAST - 1):
            return self._exact
        low, high = np.ldexp(1.0, [octave, octave + 1])
        nodes = low + 0.5 * (high - low) * (1.0 + chebyshev.chebpts1(_DEGREE + 1))
        between = low + (high - low) * _CHECKS
        true, values = self._exact(between), self._exact(nodes)
        if not (np.isfinite(values).all() and np.isfinite(true).all()):
            return self._exact
        series = Chebyshev.fit(nodes, values, _DEGREE, domain=[low, high])
        if np.all(np.abs(series(between) - true) <= _RESOLVED * np.abs(true)):
            return series
        return self._exact


def _farthest(value: Array, others: list[Array]) -> Array:
    """How far others are from values that are finite; 0 where they are not."""
    apart = np.abs(np.array([other - value for other in others]))
    return np.asarray(np.where(np.isfinite(apart), apart, 0.0).max(axis=0))


def _beside(octaves: Array) -> Array:
    """An octave and the one on either side of it, in rows."""
    padded = np.concatenate([octaves[:1], octaves, octaves[-1:]])
    return np.array([padded[:-2], padded[1:-1], padded[2:]])

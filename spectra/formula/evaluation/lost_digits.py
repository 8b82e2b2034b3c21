"""Digits that doubles lose of a formula, restored in ball arithmetic.

In doubles ``(exp(-z) - 1 + z)/z**2`` is 0 below z = 1e-9, where it is 1/2, and
``z**150*exp(-z)/150**150`` is 0 where only its factors underflow.  Doubles are compared with balls
at two points of every octave that is asked for; where they differ by more than the condition of
the formula explains, the values come from balls, or from a polynomial that interpolates them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import flint
import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError
from spectra.formula.evaluation.ball_function import BallFunction

__all__ = ["restoring", "value_at"]

Array = NDArray[Any]
Values = Callable[[Array], Array]

# A double has 53 bits; balls have 58 of 90.
_WANTED, _BITS = 58, 90
_LEAST_DOUBLE = flint.arb(2) ** -1075
# Two points in each octave, at different places of each.
_PLACES, _GOLDEN = np.array([0.17, 0.67]), 0.6180339887498949
# Errors are lost digits if they exceed this share of the largest value known, and eight times what
# a rounding of the distance causes.
_LOST, _CONDITION, _ROUNDING, _MOVED = 4e-15, 8.0, 2.0**-53, 2.0**-30
# Distances at which the size of the formula is known.
_KNOWN = np.ldexp(1.0, np.arange(-10, 11, 2))
# A polynomial of this degree is tried once this many points were asked for.
_DEGREE, _MANY = 24, 64
_CHECKS, _RESOLVED = np.array([1e-6, 0.013, 0.171, 0.437, 0.719, 0.983]), 4e-15


def value_at(exact: BallFunction, point: float) -> float:
    """The value at a point; nan where the formula is undefined over the reals, or has a pole."""
    try:
        value = exact.resolved(flint.acb(point), _BITS).real
    except ArithmeticError:
        return float("nan")
    if not value.is_finite():
        return float("nan")
    if value.rel_accuracy_bits() < _WANTED and not abs(value) < _LEAST_DOUBLE:
        raise AccuracyError(
            f"{exact.expr} overflows at {point:.6g} in doubles, and balls of some thousand bits do "
            "not resolve it; write the formula with terms that stay bounded, such as exp(-z) for "
            "cosh(z) - sinh(z)"
        )
    return float(value.mid())


def restoring(quick: Values, exact: BallFunction, end: float) -> Callable[[Array, Array], None]:
    """Make a function of points and values in doubles that restores the lost digits in place."""
    asked: Counter[int] = Counter()
    in_balls = partial(_values, exact)

    @cache
    def size() -> Any:
        return _largest(in_balls(_KNOWN[end >= _KNOWN]))

    @cache
    def loses(octave: int) -> bool:
        points = np.ldexp(1.0 + (_PLACES + octave * _GOLDEN) % 1.0, octave)
        points = points[points <= end]
        true = in_balls(points)
        with np.errstate(invalid="ignore"):  # inf - inf
            error = np.abs(quick(points) - true)
        allowed = _LOST * max(_largest(true), size())
        if not _largest(error) > allowed:
            return False
        moved = [in_balls(points * (1.0 + share)) - true for share in (-_MOVED, _MOVED)]
        allowed += _CONDITION * _ROUNDING / _MOVED * _largest(np.array(moved))
        return bool(_largest(error) > allowed)

    @cache
    def values_on(octave: int) -> Values:
        return _interpolated(in_balls, octave)

    def restore(points: Array, values: Array) -> None:
        octaves = np.frexp(points)[1] - 1
        regular = (points > 0.0) & (points <= end) & (points < np.inf)
        for n in map(int, np.unique(octaves[regular])):
            if not any(loses(m) for m in (n - 1, n, n + 1)):
                continue
            mine = regular & (octaves == n)
            asked[n] += int(np.count_nonzero(mine))
            found = (values_on(n) if asked[n] >= _MANY else in_balls)(points[mine])
            values[mine] = np.where(np.isnan(found), values[mine], found)

    return restore


def _values(exact: BallFunction, points: Array) -> Array:
    """Values at many points; nan where they are undefined or not resolved."""
    found = np.full(points.shape, np.nan)
    for i, point in enumerate(points.tolist()):
        try:
            found[i] = value_at(exact, point)
        except AccuracyError:
            continue
    return found


def _largest(values: Array) -> float:
    sizes = np.abs(values)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def _interpolated(exact: Values, octave: int) -> Values:
    """The polynomial on an octave if it reproduces values between its nodes, else `exact`."""
    low, high = np.ldexp(1.0, [octave, octave + 1])
    series = Chebyshev.interpolate(exact, _DEGREE, [low, high])
    between = low + (high - low) * _CHECKS
    true = exact(between)
    close = np.abs(series(between) - true) <= _RESOLVED * np.abs(true)
    return series if np.all(close) else exact

"""What no values show: parts of a formula that are large only between the places looked at.

Two sums of values that both miss something agree, and so does whatever else looks at values.  But a
formula has bounds on intervals, in ball arithmetic, and so has every part of it.
"""

from __future__ import annotations

from collections.abc import Callable

import flint
import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of
from spectra.density.continuation.continuation import Continuation
from spectra.errors import FormulaError, NoRouteError

__all__ = ["hidden_in_a_ball", "hidden_place", "refuse_hidden"]

# Parts are bounded between places so far apart; no steep kernel grows by exp(20) there over the
# values nearby, on three places on either side.
_APART, _NEARBY, _CONTRAST = 1.0 / 32.0, 3, 20.0
# Places are beside the simple numbers, at which what is narrow may well be.
_BESIDE = 0.6180339887498949
# Bits of bounds, and how often an interval is halved where the bounds of balls are too wide.
_BITS, _HALVINGS = 64, 8
# A ball is looked at from both ends, exp(-8) of it from there to a little beyond its middle.
_DEEP, _MIDDLE = 8.0, 0.5

#: The distance z at a place s of equal steps.
Distance = Callable[[Ball], Ball]


def hidden_place(
    kernel: Continuation,
    distance: Distance,
    low: float,
    high: float,
    *,
    apart: float = _APART,
    contrast: float = _CONTRAST,
    beside: float = _BESIDE,
) -> float | None:
    """A distance beside which a part of the formula is far larger than at all values nearby.

    Parameters
    ----------
    kernel : Continuation
        The formula.
    distance : callable
        Of balls s, increasing or decreasing.
    low, high : float
        Ends in s.
    apart, contrast : float
        Values are so far apart in s, and far larger means more than exp(contrast) times.
    beside : float
        They are by that share of a step beside its multiples.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import Z
    >>> needle = Continuation(sympy.exp(-Z) + sympy.exp(-(10**8) * (Z**2 - 2) ** 2))
    >>> round(hidden_place(needle, lambda s: s.exp(), -3.0, 3.0), 1)
    1.4
    """
    s = (np.arange(np.floor(low / apart), np.ceil(high / apart) + 1.0) + beside) * apart

    def bounds(middle: float, half: float) -> FloatArray:
        parts = kernel.parts(flint.acb(distance(flint.arb(middle, half))), _BITS)
        return np.array([log_of(abs(p).upper()) if p.is_finite() else np.inf for p in parts])

    def is_below(logs: FloatArray, middle: float, half: float, halvings: int) -> bool:
        if not np.any(bounds(middle, half) > logs):
            return True
        return halvings > 0 and all(
            is_below(logs, middle + side * half / 2.0, half / 2.0, halvings - 1)
            for side in (-1.0, 1.0)
        )

    seen = np.array([bounds(float(x), 0.0) for x in s])
    for i in range(_NEARBY, s.size - _NEARBY):
        near = seen[i - _NEARBY : i + _NEARBY + 1].max(axis=0)
        middle = float(s[i]) + apart / 2.0
        if not is_below(near + contrast, middle, apart / 2.0, _HALVINGS):
            return float(distance(flint.arb(middle)).mid())
    return None


def hidden_in_a_ball(expr: sympy.Expr, radius: float) -> float | None:
    """The same of a formula on z <= radius, seen from both ends."""
    kernel = Continuation(expr)
    low, high = float(np.log(radius)) - _DEEP, float(np.log(radius)) - _MIDDLE
    places = (
        hidden_place(kernel, distance, low, high)
        for distance in (lambda s: s.exp(), lambda s: flint.arb(radius) - s.exp())
    )
    return next((place for place in places if place is not None), None)


def refuse_hidden(expr: sympy.Expr, find: Callable[[], float | None]) -> None:
    """Say that a density is not reached, where a place is found; formulas that are not continued
    into the plane have no bounds."""
    try:
        place = find()
    except FormulaError:
        return
    if place is not None:
        raise NoRouteError(
            f"The formula {expr} has a part that is far larger near z = {place:.6g} than at all "
            "distances nearby, and sums of values would miss it. Give it as a summand of its own, "
            "in units of its own width (rescale), or as pieces with support=."
        )

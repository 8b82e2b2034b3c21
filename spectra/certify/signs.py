"""Where a smooth function is positive and where it is negative, proved by ball arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import flint

from spectra.certify.balls import Ball, Unproved, hull

__all__ = ["Jet", "Range", "enclosed_zero", "merged_ranges", "proved_ranges"]

#: A function of exact points.
Function = Callable[[Ball], Ball]

#: ``jet(x)`` returns balls that hold f and f' at every point of the ball x.
Jet = Callable[[Ball], tuple[Ball, Ball]]

# A function that needs more pieces than this is not isolated by bisection.
_MOST_PIECES = 6_000
_NEWTON_STEPS = 60
_MOST_ZERO_STEPS = 8
# Zeros are enclosed to this many bits; the mass around them is of the order of the square.
_ZERO_BITS = 96


@dataclass(frozen=True)
class Range:
    """A range of one sign, or a bracket of what could not be resolved.

    Attributes
    ----------
    low, high : arb
        Exact ends.
    sign : int
        +1 or -1 where the sign was proved in the whole range, 0 in a bracket.
    roots : int or None
        How many zeros a bracket holds: 1 where the derivative has one sign there and the function
        has two, None where that is not known.
    """

    low: Ball
    high: Ball
    sign: int
    roots: int | None = 0


def proved_ranges(jet: Jet, low: Ball, high: Ball, *, width: Ball) -> list[Range]:
    """Divide [low, high] into ranges of proved sign and brackets of zeros.

    A range is accepted when the ball of the function over it excludes 0.  Where the ball of the
    derivative excludes 0 there is one zero at most, which Newton's interval method encloses.  Other
    ranges are divided at the geometric mean of their ends (at the middle from 0 on).  A bracket
    narrower than ``width`` times its end is left unresolved: its ``roots`` is None.

    Raises
    ------
    Unproved
        Where bisection does not end.

    Examples
    --------
    >>> from spectra.certify.balls import precision
    >>> with precision(128):
    ...     jet = lambda x: (x * x - 2, 2 * x)
    ...     found = proved_ranges(jet, flint.arb(0), flint.arb(2), width=flint.arb(2.0**-100))
    >>> [r.sign for r in found], found[1].roots
    ([-1, 0, 1], 1)
    """
    waiting = [(flint.arb(low), flint.arb(high))]
    found: list[Range] = []
    pieces = 0
    while waiting:
        a, b = waiting.pop()
        pieces += 1
        if pieces > _MOST_PIECES:
            raise Unproved("the sign changes could not be isolated by bisection")
        sign, slope = _signs_on(jet, a, b)
        if sign:
            _append(found, Range(a, b, sign))
            continue
        if slope:
            left, right = _sign_at(jet, a), _sign_at(jet, b)
            if left and left == right:
                _append(found, Range(a, b, left))
                continue
            if left and right:
                for part in _isolated(jet, a, b, left):
                    _append(found, part)
                continue
        if b - a < width * b:
            _append(found, Range(a, b, 0, None))
            continue
        middle = ((a * b).sqrt() if a > 0 else (a + b) / 2).mid()
        waiting += [(middle, b), (a, middle)]
    return found


def merged_ranges(ranges: list[Range]) -> list[Range]:
    """Consecutive ranges with neighbours of one sign joined."""
    found: list[Range] = []
    for part in ranges:
        _append(found, part)
    return found


def _append(found: list[Range], part: Range) -> None:
    """Add a range, as one with the last where both have a sign or both are unresolved."""
    last = found[-1] if found else None
    alike = last is not None and (last.sign, last.roots) == (part.sign, part.roots)
    if last is not None and alike and part.roots != 1:
        found[-1] = Range(last.low, part.high, part.sign, part.roots)
    else:
        found.append(part)


def _signs_on(jet: Jet, a: Ball, b: Ball) -> tuple[int, int]:
    """Proved signs of the function and of its derivative on [a, b]; 0 for not proved."""
    x = hull(a, b)
    middle = x.mid()
    value, slope = jet(x)
    centre, _ = jet(middle)
    # The mean value form is narrower than the value over the ball where the ball is narrow.
    by_mean = centre + slope * (x - middle)
    return _sign(value) or _sign(by_mean), _sign(slope)


def _sign(ball: Ball) -> int:
    return int(bool(ball > 0)) - int(bool(ball < 0))


def _sign_at(jet: Jet, x: Ball) -> int:
    return _sign(jet(x)[0])


def _isolated(jet: Jet, a: Ball, b: Ball, left: int) -> list[Range]:
    """One zero of a monotone function, enclosed by Newton's interval method."""
    low, high = a, b
    for _ in range(_NEWTON_STEPS):
        x = hull(low, high)
        middle, (_, slope) = x.mid(), jet(x)
        if _sign(slope) == 0:
            break
        new = middle - jet(middle)[0] / slope
        before, low, high = high - low, low.max(new.lower()), high.min(new.upper())
        if not (high - low) * 2 < before:
            break
    parts = [Range(low, high, 0, 1)]
    if low > a:
        parts.insert(0, Range(a, low, left))
    if high < b:
        parts.append(Range(high, b, -left))
    return parts


def enclosed_zero(value: Function, slope: Function, low: float, high: float) -> Ball:
    """A narrow ball at whose ends a function has proved signs, which differ.

    Newton's method from the middle of [low, high]; the function and its derivative are called at
    exact points only.

    Raises
    ------
    Unproved
        Where it leaves [low, high] by more than the length of that range, or the signs agree.
    """
    x = flint.arb(0.5 * (low + high))
    for _ in range(_MOST_ZERO_STEPS):
        step = value(x) / slope(x)
        x = (x - step).mid()
        if abs(step) < flint.arb(2) ** -_ZERO_BITS:
            break
    width = x * flint.arb(2) ** (4 - _ZERO_BITS)
    a, b = value((x - width).mid()), value((x + width).mid())
    length = high - low
    if not (a * b < 0 and low - length < x < high + length):
        raise Unproved(f"the zero of the density near {low:.6g} could not be enclosed")
    return flint.arb(x, width.abs_upper())

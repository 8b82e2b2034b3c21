"""Ball arithmetic: exact numbers and formulas in, enclosures out (python-flint).

A ball of Arb is a midpoint with a radius that holds every rounding made on the way.  Numbers of
kernels enter as the exact numbers that they are, and leave as doubles whose radius holds the
rounding to a double as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import mul
from typing import Any

import flint
import sympy

from spectra.base.enclosures import EPS, Enclosure
from spectra.errors import NoRouteError

__all__ = [
    "ball_of",
    "enclosure",
    "exact_ball",
    "hull",
    "precision",
]

#: An Arb ball; the package has no types.
Ball = Any

# The least positive double.
_TINY = 5e-324
# Functions of sympy, and their names as methods of balls and of power series alike.
_FUNCTIONS = {
    sympy.Abs: "__abs__",
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.gamma: "gamma",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.asin: "asin",
    sympy.acos: "acos",
    sympy.atan: "atan",
    sympy.erf: "erf",
    sympy.erfc: "erfc",
}


@contextmanager
def precision(bits: int, *, cap: int | None = None) -> Iterator[None]:
    """Work with so many bits, and with power series of so many terms; then as before."""
    saved = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec = bits
    if cap is not None:
        flint.ctx.cap = cap
    try:
        yield
    finally:
        flint.ctx.prec, flint.ctx.cap = saved


def exact_ball(number: sympy.Expr | int) -> Ball:
    """The smallest ball that the working precision gives for an exact real sympy number.

    Examples
    --------
    >>> with precision(64):
    ...     exact_ball(sympy.sqrt(2) / 3).rad() < 1e-18
    True
    """
    return ball_of(sympy.sympify(number, strict=True), None)


def ball_of(formula: sympy.Expr, z: Ball) -> Ball:
    """A real formula in one symbol at z, a ball or a power series of balls, finite or not.

    That its true values are real bounds what roots and arcs are taken of.

    Examples
    --------
    >>> with precision(64):  # 2 - z is not negative
    ...     edge = ball_of(sympy.sqrt(2 - sympy.Symbol("z")), flint.arb(2, 0.25))
    >>> edge.is_finite(), edge < 0.51
    (True, True)
    """
    if formula.is_Symbol:
        return z
    if formula.is_Rational:
        return flint.arb(flint.fmpq(int(formula.p), int(formula.q)))
    if formula is sympy.pi:
        return flint.arb.pi()
    if formula is sympy.E:
        return flint.arb(1).exp()
    parts = [ball_of(a, z) for a in formula.args]
    if formula.is_Add:
        return sum(parts, flint.arb(0))
    if formula.is_Mul:
        return reduce(mul, parts)
    if formula.is_Pow:
        return _power(parts[0], parts[1], formula.exp)
    function = getattr(parts[0], _FUNCTIONS.get(formula.func, ""), None) if parts else None
    if function is None:
        raise NoRouteError(f"{formula} is not read in ball arithmetic")
    if formula.func in (sympy.asin, sympy.acos) and isinstance(parts[0], flint.arb):
        ends = parts[0].lower().max(flint.arb(-1)), parts[0].upper().min(flint.arb(1))
        return hull(*(getattr(end, function.__name__)() for end in ends))
    return function()


def _power(base: Ball, exponent: Ball, exact: sympy.Expr) -> Ball:
    if exact.is_Integer:
        return base ** int(exact)
    if exact.is_Rational and exact.q == 2:
        if isinstance(base, flint.arb) and not base < 0:
            base = base.nonnegative_part()
        return base.sqrt() ** int(exact.p)
    return (exponent * base.log()).exp()


def hull(low: Ball, high: Ball) -> Ball:
    """The ball of all numbers between two."""
    return flint.arb(low).union(flint.arb(high))


def _upper_double(ball: Ball) -> float:
    """A double that is at least every absolute value of the ball."""
    value = float(ball.abs_upper().mid())
    return value * (1.0 + 2.0 * EPS) + _TINY if value != 0.0 or not ball.is_zero() else 0.0


def enclosure(ball: Ball) -> Enclosure:
    """The ball with its midpoint rounded to a double and its radius enlarged by that.

    Examples
    --------
    >>> with precision(128):
    ...     third = enclosure(flint.arb(1) / 3)
    >>> third.rigorous, 0.0 < third.rad < 3e-17
    (True, True)
    """
    if not ball.is_finite():
        raise NoRouteError("the working precision was lost")
    mid = float(ball.mid())
    # The conversion may miss the nearest double by one, which its own remainder tells.
    mid += float((ball - flint.arb(mid)).mid())
    return Enclosure(mid, _upper_double(ball - flint.arb(mid)), rigorous=True)

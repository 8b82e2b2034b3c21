"""Ball arithmetic: exact numbers in, enclosures out (python-flint, the extra ``certify``).

A ball of Arb is a midpoint with a radius that holds every rounding made on the way.  Numbers of
kernels enter as the exact numbers that they are, and leave as doubles whose radius holds the
rounding to a double as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from typing import Any

import sympy

from spectra.quadrature import EPS, Enclosure

__all__ = [
    "Unproved",
    "as_ball",
    "enclosure",
    "exact_ball",
    "flint",
    "hull",
    "precision",
    "sizes",
    "upper_double",
]

#: An Arb ball; the package has no types.
Ball = Any


def _library() -> Any:
    try:
        return import_module("flint")
    except ImportError:
        return None


#: python-flint; None without the extra, when this room can be read and proves nothing.
flint: Any = _library()

# The least positive double.
_TINY = 5e-324


class Unproved(Exception):
    """What stands in the way of a proof; never leaves this room."""


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


def as_ball(value: float | int | Fraction | Ball) -> Ball:
    """A float, an integer or a fraction as the exact number that it is."""
    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return flint.arb(value)


def exact_ball(number: sympy.Expr | int) -> Ball:
    """The smallest ball that the working precision gives for an exact sympy number.

    Raises
    ------
    Unproved
        Where the number holds a function that is not read here.

    Examples
    --------
    >>> with precision(64):
    ...     exact_ball(sympy.sqrt(2) / 3).rad() < 1e-18
    True
    """
    number = sympy.Integer(number) if isinstance(number, int) else number
    if number.is_Rational:
        return flint.arb(flint.fmpq(int(number.p), int(number.q)))
    if number is sympy.pi:
        return flint.arb.pi()
    if number is sympy.E:
        return flint.arb(1).exp()
    parts = [exact_ball(a) for a in number.args] if number.args else []
    if number.is_Add:
        return sum(parts, flint.arb(0))
    if number.is_Mul:
        product = flint.arb(1)
        for part in parts:
            product = product * part
        return product
    if number.is_Pow:
        base, exponent = parts
        if number.exp.is_Integer:
            return base ** int(number.exp)
        if base > 0:
            return base**exponent
    functions = {sympy.exp: "exp", sympy.log: "log", sympy.gamma: "gamma", sympy.Abs: "__abs__"}
    name = functions.get(number.func)
    if name is not None:
        return getattr(parts[0], name)()
    raise Unproved(f"the number {number} is not read in ball arithmetic")


def hull(low: Ball, high: Ball) -> Ball:
    """The ball of all numbers between two."""
    return flint.arb(low).union(flint.arb(high))


def sizes(coefficients: Iterable[Ball]) -> Ball:
    """The polynomial of the absolute values of coefficients."""
    return flint.arb_poly([abs(c) for c in coefficients])


def upper_double(ball: Ball) -> float:
    """A double that is at least every absolute value of the ball."""
    value = float(ball.abs_upper().mid())
    return value * (1.0 + 2.0 * EPS) + _TINY if value != 0.0 or not ball.is_zero() else 0.0


def enclosure(ball: Ball) -> Enclosure:
    """The ball with its midpoint rounded to a double and its radius enlarged by that.

    Raises
    ------
    Unproved
        Where the ball is not finite.

    Examples
    --------
    >>> with precision(128):
    ...     third = enclosure(as_ball(Fraction(1, 3)))
    >>> third.rigorous, 0.0 < third.rad < 3e-17
    (True, True)
    """
    if not ball.is_finite():
        raise Unproved("the working precision was lost")
    mid = float(ball.mid())
    # The conversion may miss the nearest double by one, which its own remainder tells.
    mid += float((ball - flint.arb(mid)).mid())
    return Enclosure(mid, upper_double(ball - flint.arb(mid)), rigorous=True)

"""Bessel functions of rational numbers to many digits, which balls give in microseconds."""

from __future__ import annotations

from typing import Any

import flint
import sympy

__all__ = ["bessel_value"]

_METHODS = {
    sympy.besselj: "bessel_j",
    sympy.bessely: "bessel_y",
    sympy.besseli: "bessel_i",
    sympy.besselk: "bessel_k",
}
_BITS_PER_DIGIT = 3.33
_SPARE_BITS = 32


def bessel_value(constant: sympy.Expr, digits: int) -> sympy.Float | None:
    """J, Y, I or K of a rational order at a rational x > 0, right to so many digits; else None.

    Examples
    --------
    >>> bessel_value(sympy.besselk(sympy.Rational(1, 2), 1), 20)
    0.46106850444789455844
    """
    method = _METHODS.get(constant.func)
    if method is None or not all(a.is_Rational for a in constant.args) or constant.args[1] <= 0:
        return None
    order, x = (sympy.Rational(a) for a in constant.args)
    wanted = int(_BITS_PER_DIGIT * digits) + _SPARE_BITS
    for bits in (wanted + _SPARE_BITS, 2 * wanted, 4 * wanted):
        ball = _in_balls(method, order, x, bits)
        if ball.rel_accuracy_bits() >= wanted:
            return sympy.Float(ball.str(digits + 5, radius=False), digits)
    return None


def _in_balls(method: str, order: sympy.Rational, x: sympy.Rational, bits: int) -> Any:
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        order, x = (flint.arb(flint.fmpq(int(a.p), int(a.q))) for a in (order, x))
        return getattr(x, method)(order)
    finally:
        flint.ctx.prec = before

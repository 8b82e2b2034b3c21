"""Formulas as functions of complex balls, on the principal branch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add, mul
from typing import Any

import flint
import sympy

from spectra.base.precision import Ball, working
from spectra.base.special.bessel_k import bessel_k, k_half_way
from spectra.errors import FormulaError
from spectra.formula.evaluation.hankel_amplitude import HankelAmplitude, hankel_amplitude
from spectra.formula.evaluation.program import steps_of
from spectra.formula.functions import KINKS
from spectra.formula.rules import Step

__all__ = ["BallFunction", "continued", "number"]

# Bits that a value may lose to cancellation before it is computed again with twice as many.
_LOST_BITS = 40
_MOST_DOUBLINGS = 5
# Wider intervals are bounded by the values at their ends.
_WIDE = 1e-6
# Larger whole exponents overflow the C integers of Arb.
_LARGEST_EXPONENT = 2**31
_LARGEST_HALF_ORDER = 64


def _bessel_j(order: Ball, x: Ball) -> Ball:
    value = x.bessel_j(order)
    real = x.imag.is_zero() and order.imag.is_zero() and order.real >= 0
    # |J| <= 1 (DLMF 10.14.1); the series of a wide interval gives less.
    if real and not (value.is_finite() and value.real.rad() < 1):
        return flint.acb(flint.arb(0, 1))
    return value


def _monotone(function: Callable[[Ball, Ball], Ball], order: Ball, x: Ball) -> Ball:
    """I and K, which are monotone for positive arguments (DLMF 10.37): the values at the ends of
    an interval bound them better than its series."""
    real = x.imag.is_zero() and order.imag.is_zero() and order.real >= 0 and x.real > 0
    if real and x.real.rad() > _WIDE * x.real.mid():
        ends = (x.real.lower(), x.real.upper())
        low, high = (function(flint.acb(end), order).real for end in ends)
        return flint.acb(low.union(high))
    return function(x, order)


def _power(base: Ball, exponent: Ball) -> Ball:
    """base**exponent; bounded, and not infinite, next to 0 for a positive exponent."""
    value = base.pow(exponent)
    if value.is_finite() or not (exponent.imag == 0 and exponent.real > 0):
        return value
    bound = abs(base).upper() ** exponent.real
    disc = flint.arb(0, bound.upper())
    return flint.acb(disc, disc)


_FUNCTIONS: dict[Any, Callable[..., Ball]] = {
    **{
        getattr(sympy, name): getattr(flint.acb, name)
        for name in [
            *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "gamma", "erf", "erfc"),
        ]
    },
    sympy.besselj: _bessel_j,
    sympy.besseli: partial(_monotone, flint.acb.bessel_i),
    sympy.besselk: partial(_monotone, flint.acb.bessel_k),
    sympy.bessely: lambda order, x: x.bessel_y(order),
    sympy.expint: lambda order, x: x.expint(order),
    sympy.Pow: _power,
    sympy.Abs: flint.acb.real_abs,
    sympy.Heaviside: lambda x, *at_zero: x.real_heaviside(),
    sympy.Max: lambda *xs: reduce(flint.acb.real_max, xs),
    sympy.Min: lambda *xs: reduce(flint.acb.real_min, xs),
}


class BallFunction:
    """A formula without conditions as a function of a complex ball, on the principal branch.

    Examples
    --------
    >>> z = sympy.Symbol("z")
    >>> root = BallFunction(sympy.sqrt(1 - z), z)
    >>> root(flint.acb(0.75)).overlaps(flint.acb(0.5))
    True
    """

    def __init__(self, expr: sympy.Expr, symbol: sympy.Symbol) -> None:
        self.expr, self.symbol = expr, symbol
        self._programs: dict[int, list[tuple[Callable[..., Ball], tuple[int, ...]]]] = {}
        self._program()

    def __call__(self, z: Ball) -> Ball:
        """The value at the working precision."""
        registers = [z]
        for function, operands in self._program():
            registers.append(function(*[registers[i] for i in operands]))
        return registers[-1]

    def once(self, z: Ball, bits: int) -> Ball:
        """The value with this many working bits, of which cancellation may lose some."""
        with working(bits):
            return self(z)

    def resolved(self, z: Ball, bits: int) -> Ball:
        """The value with about this many bits: computed again with more where terms cancel."""
        work = bits
        for _ in range(_MOST_DOUBLINGS):
            value = self.once(z, work)
            if value.is_finite() and (
                value.rel_accuracy_bits() > bits - _LOST_BITS
                or abs(value) < flint.arb(2) ** (-8 * bits)
            ):
                break
            work *= 2
        return value

    def _program(self) -> list[tuple[Callable[..., Ball], tuple[int, ...]]]:
        """The steps of the formula, with its numbers at the working precision."""
        if flint.ctx.prec not in self._programs:
            self._programs[flint.ctx.prec] = steps_of(self.expr, self.symbol, self._plan)
        return self._programs[flint.ctx.prec]

    def _plan(self, node: sympy.Basic) -> Step:
        """A function and its operands; a constant has none."""
        if node.free_symbols:
            return _planned(node)
        value = number(node)
        return (lambda: value), ()


def continued(expr: sympy.Expr, symbol: sympy.Symbol) -> BallFunction:
    """The function of a formula that is continued from z > 0 into the complex plane.

    Principal branches are taken, so that the values are those of the formula for z > 0 and of its
    continuation up to the first cut.

    Examples
    --------
    >>> z = sympy.Symbol("z")
    >>> k = continued(sympy.sqrt(1 + z**2) - z, z)
    >>> print(k.resolved(flint.acb(10) ** 12, 128).real.str(12, radius=False))
    5.00000000000e-13
    """
    for node in sympy.preorder_traversal(expr):
        if isinstance(node, KINKS) and node.free_symbols:
            raise FormulaError(f"{node.func.__name__} is not continued into the plane")
    return BallFunction(expr, symbol)


def number(node: sympy.Basic) -> Ball:
    """The ball of a constant, at the working precision."""
    if node.is_Float:
        node = sympy.Rational(node)
    if node.is_Rational:
        return flint.acb(flint.arb(flint.fmpq(int(node.p), int(node.q))))
    if node is sympy.pi:
        return flint.acb.pi()
    if node is sympy.E:
        return flint.acb(1).exp()
    if node is sympy.I:
        return flint.acb(0, 1)
    if not node.args:
        raise FormulaError(f"the number {node} is not known in ball arithmetic")
    function, arguments = _planned(node)
    return function(*[number(a) for a in arguments])


def _planned(node: sympy.Basic) -> Step:
    """A function and its operands."""
    if node.is_Add or node.is_Mul:
        join = add if node.is_Add else mul
        return (join if len(node.args) == 2 else lambda *xs: reduce(join, xs)), node.args
    if node.is_Pow and node.exp.is_Integer and abs(node.exp) < _LARGEST_EXPONENT:
        whole = int(node.exp)
        return (lambda x: x**whole), (node.base,)
    if node.is_Pow and (2 * node.exp).is_Integer and abs(2 * node.exp) < _LARGEST_EXPONENT:
        n = int(2 * node.exp)
        return flint.acb.sqrt if n == 1 else (lambda x: x.sqrt() ** n), (node.base,)
    if node.func is sympy.besselk and node.order.is_Integer:
        order = int(node.order)
        return (lambda x: bessel_k(order, x, flint.ctx.prec)), (node.argument,)
    if (
        node.func is sympy.besselk
        and (2 * node.order).is_Integer
        and abs(node.order) < _LARGEST_HALF_ORDER
    ):
        half = int(abs(node.order) - sympy.S.Half)
        return (lambda x: k_half_way(half, x)), (node.argument,)
    if node.func is HankelAmplitude:
        nu, argument, sign = node.args
        return (lambda x: hankel_amplitude(number(nu), int(sign), x)), (argument,)
    if node.func is sympy.hyper:
        above, below = [[number(a) for a in each] for each in (node.ap, node.bq)]
        return (lambda x: x.hypgeom(above, below)), (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(f"{node.func.__name__} is not known in ball arithmetic")
    return _FUNCTIONS[node.func], node.args

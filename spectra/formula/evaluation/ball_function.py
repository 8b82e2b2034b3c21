"""Formulas as functions of complex balls: their values, and rigorous integration by Arb.

``flint.acb.integral`` bounds its error by values on complex neighbourhoods of the interval.  It
asks for them with ``analytic=True`` and relies on a promise: if the function has a branch cut or a
singularity anywhere in the ball, the value is not finite.  A function that breaks this promise
gets a wrong integral with a tiny error.  Poles keep it by themselves; functions with branch cuts
are checked here.
"""

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

_NAN = flint.acb("nan")
# Bits that a value may lose to cancellation before it is computed again with twice as many.
_LOST_BITS = 40
_MOST_DOUBLINGS = 5
# Wider intervals are bounded by the values at their ends.
_WIDE = 1e-6
# Larger whole exponents overflow the C integers of Arb.
_LARGEST_EXPONENT = 2**31
_LARGEST_HALF_ORDER = 64

#: A function of balls, and what is real and <= 0 on its branch cut; None without a cut.
_Rule = tuple[Callable[..., Ball], Callable[..., Ball] | None]


def _last(*arguments: Ball) -> Ball:
    return arguments[-1]


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


_FUNCTIONS: dict[Any, _Rule] = {
    **{
        getattr(sympy, name): (getattr(flint.acb, name), None)
        for name in ["exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "gamma", "erf", "erfc"]
    },
    sympy.log: (flint.acb.log, _last),
    sympy.asin: (flint.acb.asin, lambda x: 1 - x * x),
    sympy.acos: (flint.acb.acos, lambda x: 1 - x * x),
    sympy.atan: (flint.acb.atan, lambda x: 1 + x * x),
    sympy.besselj: (_bessel_j, _last),
    sympy.besseli: (partial(_monotone, flint.acb.bessel_i), _last),
    sympy.besselk: (partial(_monotone, flint.acb.bessel_k), _last),
    sympy.bessely: (lambda order, x: x.bessel_y(order), _last),
    sympy.expint: (lambda order, x: x.expint(order), _last),
    sympy.Pow: (_power, lambda base, exponent: base),
}
# Functions with kinks; each takes the flag ``analytic``.
_KINKED: dict[Any, Callable[..., Ball]] = {
    sympy.Abs: lambda analytic, x: x.real_abs(analytic=analytic),
    sympy.Heaviside: lambda analytic, x, *at_zero: x.real_heaviside(analytic=analytic),
    sympy.Max: lambda analytic, *xs: reduce(lambda x, y: x.real_max(y, analytic=analytic), xs),
    sympy.Min: lambda analytic, *xs: reduce(lambda x, y: x.real_min(y, analytic=analytic), xs),
}


class BallFunction:
    """A formula as a function of a complex ball, on the principal branch.

    Parameters
    ----------
    expr : sympy expression
        A formula without conditions (Piecewise).
    symbol : sympy symbol
        Its variable.

    Raises
    ------
    FormulaError
        If the formula contains a function that is unknown here.

    Examples
    --------
    >>> z = sympy.Symbol("z")
    >>> root = BallFunction(sympy.sqrt(1 - z), z)
    >>> around_one = flint.acb(flint.arb(1, 0.25))
    >>> root(around_one).is_finite(), root(around_one, analytic=True).is_finite()
    (True, False)
    """

    def __init__(self, expr: sympy.Expr, symbol: sympy.Symbol) -> None:
        self.expr, self.symbol = expr, symbol
        self._programs: dict[
            tuple[int, bool], list[tuple[Callable[..., Ball], tuple[int, ...]]]
        ] = {}
        self._program(False)

    def __call__(self, z: Ball, analytic: bool = False) -> Ball:
        """The value at the working precision; not finite if ``analytic`` and z touches a cut."""
        registers = [z]
        for function, operands in self._program(analytic):
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

    def _program(self, analytic: bool) -> list[tuple[Callable[..., Ball], tuple[int, ...]]]:
        """The steps of the formula, with its numbers at the working precision."""
        key = flint.ctx.prec, analytic
        if key not in self._programs:
            plan = partial(self._plan, analytic=analytic)
            self._programs[key] = steps_of(self.expr, self.symbol, plan)
        return self._programs[key]

    def _plan(self, node: sympy.Basic, analytic: bool) -> Step:
        if node.free_symbols:
            return _planned(node, analytic)
        value = number(node)
        return (lambda: value), ()


def continued(expr: sympy.Expr, symbol: sympy.Symbol) -> BallFunction:
    """The function of a formula that is continued from z > 0 into the complex plane.

    Principal branches are taken, so that the values are those of the formula for z > 0 and of its
    continuation up to the first cut.

    Raises
    ------
    FormulaError
        If the formula has a function with kinks (Abs, Max, ...) or one that is unknown here.

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
    """The ball of a constant, at the working precision.

    Raises
    ------
    FormulaError
        If it contains a function that is unknown here.
    """
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
    function, arguments = _planned(node, analytic=False)
    return function(*[number(a) for a in arguments])


def _planned(node: sympy.Basic, analytic: bool) -> Step:
    """A function and its operands; with ``analytic`` it is not finite on a branch cut."""
    if node.is_Add or node.is_Mul:
        join = add if node.is_Add else mul
        return (join if len(node.args) == 2 else lambda *xs: reduce(join, xs)), node.args
    if node.is_Pow and node.exp.is_Integer and abs(node.exp) < _LARGEST_EXPONENT:
        n = int(node.exp)
        return (lambda x: x**n), (node.base,)
    if node.func in _KINKED:
        return partial(_KINKED[node.func], analytic), node.args
    (function, cut), operands = _rule(node)
    if not analytic or cut is None:
        return function, operands

    def guarded(*arguments: Ball) -> Ball:
        if not cut(*arguments).log(analytic=True).is_finite():
            return _NAN
        return function(*arguments)

    return guarded, operands


def _rule(node: sympy.Basic) -> tuple[_Rule, tuple[sympy.Basic, ...]]:
    """How the value of a function is computed, with its cut and its operands."""
    if node.is_Pow and (2 * node.exp).is_Integer and abs(2 * node.exp) < _LARGEST_EXPONENT:
        n = int(2 * node.exp)
        root = flint.acb.sqrt if n == 1 else lambda x: x.sqrt() ** n
        return (root, _last), (node.base,)
    if node.func in (sympy.besselj, sympy.besseli) and node.order.is_Integer:
        return (_FUNCTIONS[node.func][0], None), node.args
    if node.func is sympy.besselk and node.order.is_Integer:
        whole = int(node.order)
        return (lambda x: bessel_k(whole, x, flint.ctx.prec), _last), (node.argument,)
    if (
        node.func is sympy.besselk
        and (2 * node.order).is_Integer
        and abs(node.order) < _LARGEST_HALF_ORDER
    ):
        half = int(abs(node.order) - sympy.S.Half)
        return (lambda x: k_half_way(half, x), _last), (node.argument,)
    if node.func is HankelAmplitude:
        nu, argument, sign = node.args
        return (lambda x: hankel_amplitude(number(nu), int(sign), x), _last), (argument,)
    if node.func is sympy.hyper:
        above, below = [[number(a) for a in each] for each in (node.ap, node.bq)]
        cut = (lambda x: 1 - x) if len(above) > len(below) else None
        return (lambda x: x.hypgeom(above, below), cut), (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(f"{node.func.__name__} is not known in ball arithmetic")
    return _FUNCTIONS[node.func], node.args

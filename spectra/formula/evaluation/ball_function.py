"""Formulas as functions of complex balls, for rigorous integration by Arb.

``flint.acb.integral`` bounds its error by values on complex neighbourhoods of the interval.  It
asks for them with ``analytic=True`` and relies on a promise: if the function has a branch cut or a
singularity anywhere in the ball, the value is not finite.  A function that breaks this promise
gets a wrong integral with a tiny error.  Poles keep it by themselves; functions with branch cuts
are checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

import flint
import sympy

from spectra.base.precision import Ball
from spectra.errors import FormulaError
from spectra.formula.evaluation.program import steps_of
from spectra.formula.rules import Step

__all__ = ["BallFunction", "number"]

_NAN = flint.acb("nan")


def _guarded(function: Callable[..., Ball], guard: Callable[[Ball], Ball]) -> Callable[..., Ball]:
    """A function whose branch cut is where ``guard`` of its last argument is real and <= 0."""

    def value(analytic: bool, *arguments: Ball) -> Ball:
        if analytic and not guard(arguments[-1]).log(analytic=True).is_finite():
            return _NAN
        return function(*arguments)

    return value


def _same(x: Ball) -> Ball:
    return x


def _meromorphic(function: Callable[..., Ball]) -> Callable[..., Ball]:
    return lambda analytic, *arguments: function(*arguments)


def _bessel(function: Callable[[Ball, Ball], Ball]) -> Callable[..., Ball]:
    """I and J, which are entire for integer orders and have a cut for others."""
    cut = _guarded(lambda order, x: function(x, order), _same)

    def value(analytic: bool, order: Ball, x: Ball) -> Ball:
        return function(x, order) if order.real.is_integer() else cut(analytic, order, x)

    return value


def _power(analytic: bool, base: Ball, exponent: Ball) -> Ball:
    """base**exponent; bounded, and not infinite, next to 0 for a positive exponent."""
    value = base.pow(exponent, analytic=analytic)
    if analytic or value.is_finite() or not (exponent.imag == 0 and exponent.real > 0):
        return value
    bound = abs(base).upper() ** exponent.real
    disc = flint.arb(0, bound.upper())
    return flint.acb(disc, disc)


_FUNCTIONS: dict[Any, Callable[..., Ball]] = {
    sympy.Add: lambda analytic, *terms: reduce(add, terms),
    sympy.Mul: lambda analytic, *factors: reduce(mul, factors),
    sympy.Pow: _power,
    **{
        getattr(sympy, name): _meromorphic(getattr(flint.acb, name))
        for name in ["exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "gamma", "erf", "erfc"]
    },
    sympy.log: lambda analytic, x: x.log(analytic=analytic),
    sympy.asin: _guarded(flint.acb.asin, lambda x: 1 - x * x),
    sympy.acos: _guarded(flint.acb.acos, lambda x: 1 - x * x),
    sympy.atan: _guarded(flint.acb.atan, lambda x: 1 + x * x),
    sympy.besselj: _bessel(flint.acb.bessel_j),
    sympy.besseli: _bessel(flint.acb.bessel_i),
    sympy.besselk: _guarded(lambda order, x: x.bessel_k(order), _same),
    sympy.bessely: _guarded(lambda order, x: x.bessel_y(order), _same),
    sympy.expint: _guarded(lambda order, x: x.expint(order), _same),
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
        self._programs: dict[int, list[tuple[Callable[..., Ball], tuple[int, ...]]]] = {}
        self._program()

    def __call__(self, z: Ball, analytic: bool = False) -> Ball:
        """The value at the working precision; not finite if ``analytic`` and z touches a cut."""
        registers = [z]
        for function, operands in self._program():
            registers.append(function(analytic, *[registers[i] for i in operands]))
        return registers[-1]

    def _program(self) -> list[tuple[Callable[..., Ball], tuple[int, ...]]]:
        """The steps of the formula, with its numbers at the working precision."""
        bits = flint.ctx.prec
        if bits not in self._programs:
            self._programs[bits] = steps_of(self.expr, self.symbol, _plan)
        return self._programs[bits]


def _plan(node: sympy.Basic) -> Step:
    if not node.free_symbols:
        value = number(node)
        return (lambda analytic: value), ()
    if node.is_Pow and node.exp.is_Integer and abs(node.exp) < 2**31:
        n = int(node.exp)
        return (lambda analytic, x: x**n), (node.base,)
    if node.is_Pow and (2 * node.exp).is_Integer and abs(node.exp) < 2**31:
        n = int(2 * node.exp)
        return (lambda analytic, x: x.sqrt(analytic=analytic) ** n), (node.base,)
    if node.func is sympy.hyper:
        above, below = [[number(a) for a in each] for each in (node.ap, node.bq)]
        function = _meromorphic(lambda x: x.hypgeom(above, below))
        if len(above) > len(below):
            function = _guarded(lambda x: x.hypgeom(above, below), lambda x: 1 - x)
        return function, (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(f"{node.func.__name__} is not known in ball arithmetic")
    return _FUNCTIONS[node.func], node.args


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
    if not node.args or node.func not in (*_FUNCTIONS, sympy.hyper):
        raise FormulaError(f"{node} is not known in ball arithmetic")
    if node.func is sympy.hyper:
        return number(node.argument).hypgeom(*[[number(a) for a in x] for x in (node.ap, node.bq)])
    if node.is_Pow and (2 * node.exp).is_Integer and not node.exp.is_Integer:
        return number(node.base).sqrt() ** int(2 * node.exp)
    if node.is_Pow and node.exp.is_Integer:
        return number(node.base) ** int(node.exp)
    return _FUNCTIONS[node.func](False, *[number(a) for a in node.args])

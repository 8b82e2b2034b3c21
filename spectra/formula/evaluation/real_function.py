"""Formulas at real points in ball arithmetic, with as many digits as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import flint
import sympy

from spectra.base.precision import Ball
from spectra.formula.callables import Opaque
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.rules import Step

__all__ = ["RealFunction"]

_NAN = flint.acb("nan")
# Each relation, and the one that holds where it does not.
_RELATIONS: dict[Any, tuple[Callable[[Any, Any], bool], Callable[[Any, Any], bool]]] = {
    sympy.StrictLessThan: (lt, ge),
    sympy.LessThan: (le, gt),
    sympy.StrictGreaterThan: (gt, le),
    sympy.GreaterThan: (ge, lt),
    sympy.Equality: (eq, ne),
    sympy.Unequality: (ne, eq),
}


class _UndefinedError(ArithmeticError):
    """The formula has no value over the reals here."""


class RealFunction(BallFunction):
    """A formula, with conditions too, at real points, however much its terms cancel.

    Examples
    --------
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = RealFunction((1 - sympy.cos(z)) / z**2, z)
    >>> float(f.real(flint.acb(2.0**-200), 58, (80, 160, 320, 640)).mid())
    0.5
    """

    def real(self, point: Ball, wanted: int, precisions: Sequence[int]) -> Ball:
        """The value with the wanted bits, or of the last precision; not finite where undefined."""
        value = _NAN
        for bits in precisions:
            try:
                value = self.once(point, bits)
            except _UndefinedError:
                return _NAN.real
            if value.is_finite() and value.rel_accuracy_bits() >= wanted:
                break
        return value.real

    def _plan(self, node: sympy.Basic) -> Step:
        if isinstance(node, sympy.Piecewise):
            branches = [
                (_condition(condition, self.symbol), RealFunction(expr, self.symbol))
                for expr, condition in node.args
            ]
            return partial(_choose, branches), (self.symbol,)
        if isinstance(node, Opaque):
            node.refuse_digits()
        function, operands = super()._plan(node)
        return (partial(_within_reals, function) if operands else function), operands


def _within_reals(function: Callable[..., Ball], *arguments: Ball) -> Ball:
    value = function(*arguments)
    if value.is_finite():
        if value.imag.is_zero():
            return value
        if value.imag.contains(0):
            return flint.acb(value.real)
        raise _UndefinedError
    if all(argument.is_exact() for argument in arguments):
        raise _UndefinedError
    return value


def _choose(branches: list[tuple[Callable[[Ball], bool | None], RealFunction]], x: Ball) -> Ball:
    """The value of the first branch whose condition holds."""
    for condition, function in branches:
        truth = condition(x)
        if truth is None:
            return _NAN
        if truth:
            return function(x)
    raise _UndefinedError


def _condition(node: sympy.Basic, symbol: sympy.Symbol) -> Callable[[Ball], bool | None]:
    """Whether a condition holds; None where more digits have to decide."""
    if node in (sympy.true, sympy.false):
        truth = bool(node)
        return lambda x: truth
    if node.func in _RELATIONS:
        holds, fails = _RELATIONS[node.func]
        left, right = (RealFunction(side, symbol) for side in node.args)

        def relation(x: Ball) -> bool | None:
            a, b = left(x).real, right(x).real
            return True if holds(a, b) else False if fails(a, b) else None

        return relation
    parts = [_condition(argument, symbol) for argument in node.args]
    if node.func is sympy.Not:
        return lambda x: None if (truth := parts[0](x)) is None else not truth
    decisive = node.func is sympy.Or

    def joined(x: Ball) -> bool | None:
        truths = [part(x) for part in parts]
        if None in truths:
            return None
        return decisive if decisive in truths else not decisive

    return joined

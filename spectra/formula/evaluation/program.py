"""Expressions as short programs of one step for each node, and their steps in doubles.

A common subexpression has one register, so it is computed once per call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add, mul
from typing import Any

import numpy as np
import scipy.special
import sympy
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.formula.callables import Opaque

__all__ = ["RELATIONS", "Step", "function_of", "steps_of"]

Array = NDArray[Any]
Evaluate = Callable[[Any], Any]
#: One step of a program: a function of values, and the nodes it is applied to.
Step = tuple[Callable[..., Any], tuple[sympy.Basic, ...]]


def steps_of(
    expr: sympy.Basic, symbol: sympy.Symbol, plan: Callable[[sympy.Basic], Step]
) -> list[tuple[Callable[..., Any], tuple[int, ...]]]:
    """Steps in an order in which each finds its operands: functions, and the places they read.

    Place 0 is the variable, and step i fills place i + 1; the last place is the value.  Equal nodes
    share a step, and the variable alone needs none.
    """
    steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
    place: dict[sympy.Basic, int] = {symbol: 0}

    def visit(node: sympy.Basic) -> int:
        if node not in place:
            function, operands = plan(node)
            places = tuple(visit(operand) for operand in operands)
            steps.append((function, places))
            place[node] = len(steps)
        return place[node]

    visit(expr)
    return steps


def function_of(expr: sympy.Basic, symbol: sympy.Symbol) -> Evaluate:
    """A function of one real array, in doubles; nan also where scipy has no such function."""
    steps = steps_of(expr, symbol, partial(_planned, symbol))
    last_use = {place: i for i, (_, operands) in enumerate(steps) for place in operands}

    def run(x: Any) -> Any:
        registers: list[Any] = [x]
        for index, (function, operands) in enumerate(steps):
            registers.append(function(*[registers[i] for i in operands]))
            for i in operands:
                if last_use[i] == index:
                    registers[i] = None  # its memory is free for the next steps
        return registers[-1]

    return run


def _planned(symbol: sympy.Symbol, node: sympy.Basic) -> Step:
    """A function of arrays and its operands; a constant has none."""
    if not node.free_symbols:
        value = _to_float(node)
        return (lambda: value), ()
    if isinstance(node, sympy.Piecewise):
        branches = tuple(
            (function_of(condition, symbol), function_of(expr, symbol))
            for expr, condition in node.args
        )
        return partial(_piecewise, branches), (symbol,)
    if isinstance(node, Opaque):
        return type(node).values, tuple(node.args)
    if node.is_Pow and node.exp.is_Rational:
        # A float base with a Python int exponent keeps the sign of negative bases.
        exponent = int(node.exp) if node.exp.is_Integer else float(node.exp)
        return (lambda x: x**exponent), (node.base,)
    if isinstance(node, sympy.hyper):
        above, below = ([_to_float(c) for c in each] for each in (node.ap, node.bq))
        return partial(_hyper, above, below), (node.argument,)
    if node.func not in _DOUBLES:
        raise FormulaError(
            f"cannot evaluate {node}: {node.func.__name__} is not a function of the toolkit"
        )
    return _DOUBLES[node.func], tuple(node.args)


def _to_float(number: sympy.Basic) -> float:
    """Round an exact real number to the nearest double (to one ulp where it is irrational)."""
    if number in (sympy.true, sympy.false):
        return float(bool(number))
    value = number.evalf(30)
    if not value.is_Float and value != 0:
        raise FormulaError(f"cannot evaluate the constant {number}: it is not a real number")
    return float(value)


def _piecewise(branches: tuple[tuple[Evaluate, Evaluate], ...], x: Any) -> Array:
    """Evaluate each branch on its own points only: none is asked outside its domain."""
    points = np.asarray(x)
    flat = points.reshape(-1)
    out = np.full(flat.shape, np.nan)
    left = np.arange(flat.size)
    for condition, value in branches:
        truth = np.broadcast_to(condition(flat[left]), left.shape)
        chosen = left[truth == 1.0]
        if chosen.size:
            out[chosen] = value(flat[chosen])
        left = left[truth == 0.0]
    return out.reshape(points.shape)


def _hyper(a: list[float], b: list[float], x: Array) -> Array:
    """pFq by scipy where it has the function to all digits; nan elsewhere."""
    if not a and len(b) == 1:
        return np.asarray(scipy.special.hyp0f1(b[0], x))
    # scipy's own power series; beyond it loses digits.
    if len(a) == 2 and len(b) == 1:
        return np.where(np.abs(x) < 0.9, scipy.special.hyp2f1(*a, *b, x), np.nan)
    return np.full_like(x, np.nan)


def _expint(order: float, x: Any) -> Any:
    """E_s(x) by scipy for integer orders; nan for others."""
    is_whole = order.is_integer() and order >= 0
    return scipy.special.expn(int(order), x) if is_whole else np.full_like(x, np.nan)


# Truth is the number 1 or 0, and nan where a side of a comparison is undefined: minimum and
# maximum are then "and" and "or", and an undefined condition is never read as false.
def _truth(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    defined = ~(np.isnan(left) | np.isnan(right))
    return np.where(defined, compare(left, right).astype(float), np.nan)


#: The relations and their names in numpy and in Python's operators.
RELATIONS: dict[Any, tuple[str, str]] = {
    sympy.StrictLessThan: ("less", "lt"),
    sympy.LessThan: ("less_equal", "le"),
    sympy.StrictGreaterThan: ("greater", "gt"),
    sympy.GreaterThan: ("greater_equal", "ge"),
    sympy.Equality: ("equal", "eq"),
    sympy.Unequality: ("not_equal", "ne"),
}
_DOUBLES: dict[Any, Callable[..., Any]] = {
    **{
        getattr(sympy, f): getattr(np, f)
        for f in ["exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
    },
    **{getattr(sympy, f"a{f}"): getattr(np, f"arc{f}") for f in ("sin", "cos", "tan")},
    **{getattr(sympy, f): getattr(scipy.special, f) for f in ("gamma", "erf", "erfc")},
    sympy.besselj: scipy.special.jv,
    sympy.besseli: scipy.special.iv,
    sympy.besselk: scipy.special.kv,
    sympy.expint: _expint,
    sympy.Add: lambda *terms: reduce(add, terms),
    sympy.Mul: lambda *factors: reduce(mul, factors),
    sympy.Pow: np.power,
    sympy.Abs: np.abs,
    sympy.Heaviside: np.heaviside,
    **dict.fromkeys((sympy.Min, sympy.And), lambda *xs: reduce(np.minimum, xs)),
    **dict.fromkeys((sympy.Max, sympy.Or), lambda *xs: reduce(np.maximum, xs)),
    sympy.Not: lambda truth: 1 - truth,
    **{head: partial(_truth, getattr(np, name)) for head, (name, _) in RELATIONS.items()},
}

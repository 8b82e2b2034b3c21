"""Expressions as short programs: one step for each different node, walked and never compiled.

A common subexpression has one register, so it is computed once per call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.rules import RULES, Step, to_float

__all__ = ["function_of", "steps_of"]

Array = NDArray[Any]
Evaluate = Callable[[Any], Any]


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
    """A function of one real array, in doubles.

    Register 0 is the variable; instruction i writes register i + 1; the last is the value.  An
    instruction is a function, the registers that it reads, and those that no later one reads.
    """
    steps = steps_of(expr, symbol, lambda node: _rule(node, symbol))
    last_use: dict[int, int] = {}
    for index, (_, operands) in enumerate(steps):
        last_use.update(dict.fromkeys(operands, index))
    instructions = [
        (f, operands, [i for i, n in last_use.items() if n == index])
        for index, (f, operands) in enumerate(steps)
    ]

    def run(x: Any) -> Any:
        registers: list[Any] = [x]
        for function, operands, finished in instructions:
            registers.append(function(*[registers[i] for i in operands]))
            for i in finished:
                registers[i] = None
        return registers[-1]

    return run


def _rule(node: sympy.Basic, symbol: sympy.Symbol) -> Step:
    if node in (sympy.true, sympy.false):
        truth = float(bool(node))
        return lambda: truth, ()
    if not node.free_symbols:
        value = to_float(node)
        return lambda: value, ()
    if isinstance(node, sympy.Piecewise):
        branches = tuple(
            (function_of(condition, symbol), function_of(expr, symbol))
            for expr, condition in node.args
        )
        return partial(_piecewise, branches), (symbol,)
    if isinstance(node, Opaque):
        return type(node).values, tuple(node.args)
    if node.func not in RULES:
        raise FormulaError(
            f"cannot evaluate {node}: {node.func.__name__} is not a function of the toolkit"
        )
    return RULES[node.func](node)


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

"""Compile expressions to lists of steps, one for each node, and run them in doubles.

A common subexpression is a single step, so it is computed once per call.
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

from spectra.base.limits import check_time
from spectra.errors import FormulaError
from spectra.formula.callables import Opaque

__all__ = ["RELATIONS", "Operation", "Steps", "compile_steps", "double_function"]

Array = NDArray[Any]
Evaluate = Callable[[Any], Any]
#: The numerical function that computes a node, and the nodes that are its operands.
Operation = tuple[Callable[..., Any], tuple[sympy.Basic, ...]]
#: The functions to call in turn, each with the indices of the registers that hold its operands.
Steps = list[tuple[Callable[..., Any], tuple[int, ...]]]


def compile_steps(
    expr: sympy.Basic, *symbols: sympy.Symbol, operation_of: Callable[[sympy.Basic], Operation]
) -> Steps:
    """Return the steps that compute an expression; the operands of each step precede it.

    The first registers hold the variables, and each further one the result of a step.
    """
    steps: Steps = []
    register: dict[sympy.Basic, int] = {symbol: i for i, symbol in enumerate(symbols)}

    def visit(node: sympy.Basic) -> int:
        if node not in register:
            function, operands = operation_of(node)
            operand_registers = tuple(visit(operand) for operand in operands)
            steps.append((function, operand_registers))
            register[node] = len(symbols) + len(steps) - 1
        return register[node]

    visit(expr)
    return steps


def double_function(expr: sympy.Basic, *symbols: sympy.Symbol) -> Evaluate:
    """Make a function of a real array in doubles; nan where scipy lacks a special function.

    It takes a value for each symbol: an array for the first, numbers for the others.
    """
    steps = compile_steps(expr, *symbols, operation_of=partial(_operation, symbols))
    last_use = {register: i for i, (_, operands) in enumerate(steps) for register in operands}

    if expr in symbols:
        place = symbols.index(expr)
        return lambda *x: x[place]

    def run(*x: Any) -> Any:
        check_time()
        registers: list[Any] = [*x]
        for index, (function, operands) in enumerate(steps):
            registers.append(function(*[registers[i] for i in operands]))
            for i in operands:
                if last_use[i] == index:
                    registers[i] = None  # free the array
        return registers[-1]

    return run


def _operation(symbols: tuple[sympy.Symbol, ...], node: sympy.Basic) -> Operation:
    if not node.free_symbols:
        value = _to_float(node)
        return (lambda: value), ()
    if isinstance(node, sympy.Piecewise):
        branches = tuple(
            (double_function(condition, *symbols), double_function(expr, *symbols))
            for expr, condition in node.args
        )
        return partial(_piecewise, branches), symbols
    if isinstance(node, Opaque):
        return type(node).values, tuple(node.args)
    if node.is_Pow and node.exp.is_Rational:
        # With an int as exponent, numpy computes powers of negative numbers.
        exponent = int(node.exp) if node.exp.is_Integer else float(node.exp)
        return (lambda x: x**exponent), (node.base,)
    if isinstance(node, sympy.hyper):
        upper, lower = ([_to_float(c) for c in each] for each in (node.ap, node.bq))
        return partial(_hyper, upper, lower), (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(
            f"cannot evaluate {node}: {node.func.__name__} is not allowed in formulas"
        )
    return _FUNCTIONS[node.func], tuple(node.args)


def _to_float(number: sympy.Basic) -> float:
    """Round an exact real number to a double; an irrational number with an error of one ulp."""
    if number in (sympy.true, sympy.false):
        return float(bool(number))
    value = number.evalf(30)
    if not value.is_Float and value != 0:
        raise FormulaError(f"cannot evaluate the constant {number}: it is not a real number")
    return float(value)


def _piecewise(branches: tuple[tuple[Evaluate, Evaluate], ...], x: Any, *rest: Any) -> Array:
    """Evaluate each branch (condition, value) where its condition is the first that holds."""
    points = np.asarray(x)
    flat = points.reshape(-1)
    out = np.full(flat.shape, np.nan)
    remaining = np.arange(flat.size)
    for condition, value in branches:
        truth = np.broadcast_to(condition(flat[remaining], *rest), remaining.shape)
        chosen = remaining[truth == 1.0]
        if chosen.size:
            out[chosen] = value(flat[chosen], *rest)
        remaining = remaining[truth == 0.0]
    return out.reshape(points.shape)


def _hyper(a: list[float], b: list[float], x: Array) -> Array:
    """pFq(a; b; x) by scipy where it is accurate in doubles; nan elsewhere."""
    if not a and len(b) == 1:
        return np.asarray(scipy.special.hyp0f1(b[0], x))
    # scipy sums the power series for abs(x) < 0.9, and loses digits for larger x.
    if len(a) == 2 and len(b) == 1:
        return np.where(np.abs(x) < 0.9, scipy.special.hyp2f1(*a, *b, x), np.nan)
    return np.full_like(x, np.nan)


def _expint(order: float, x: Any) -> Any:
    """E_s(x) by scipy for integer orders; nan for others."""
    is_supported = order.is_integer() and order >= 0
    return scipy.special.expn(int(order), x) if is_supported else np.full_like(x, np.nan)


def _truth(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """1 if a comparison holds, 0 if not, nan if a side is nan."""
    defined = ~(np.isnan(left) | np.isnan(right))
    return np.where(defined, compare(left, right).astype(float), np.nan)


#: The names of each relation in numpy and in Python's ``operator`` module.
RELATIONS: dict[Any, tuple[str, str]] = {
    sympy.StrictLessThan: ("less", "lt"),
    sympy.LessThan: ("less_equal", "le"),
    sympy.StrictGreaterThan: ("greater", "gt"),
    sympy.GreaterThan: ("greater_equal", "ge"),
    sympy.Equality: ("equal", "eq"),
    sympy.Unequality: ("not_equal", "ne"),
}
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
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
    sympy.Not: lambda truth: 1 - truth,  # for And, Or and Not, truth values are 0, 1 or nan
    **{relation: partial(_truth, getattr(np, name)) for relation, (name, _) in RELATIONS.items()},
}

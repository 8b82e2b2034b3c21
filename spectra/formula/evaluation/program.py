"""Expressions as short programs: one step for each different node, walked and never compiled.

A common subexpression has one register, so it is computed once per call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy
from mpmath import mp
from mpmath.libmp import fzero
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.rules import RULES, Step, to_float

__all__ = ["function_of", "steps_of"]

Array = NDArray[Any]
Evaluate = Callable[[Any], Any]

# The exponent of the largest number that a function is given (chosen): its cost grows with that,
# and e^(2^100000) is far beyond what a double, or a bound of one, can need.
_MOST_BITS = 100_000
_REDUCING = (sympy.exp, sympy.sin, sympy.cos, sympy.tan, sympy.sinh, sympy.cosh)


def steps_of(
    expr: sympy.Basic, symbol: sympy.Symbol, plan: Callable[[sympy.Basic], Step]
) -> list[tuple[Callable[..., Any], tuple[int, ...]]]:
    """Steps in an order in which each finds its operands: functions, and the places they read.

    Place 0 is the variable, and step i fills place i + 1; the last place is the value.  Equal nodes
    share a step, and the variable alone needs none.

    Parameters
    ----------
    expr, symbol
        The expression and its variable.
    plan : callable
        Of a node: a function, and the nodes whose values it takes.
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


def function_of(expr: sympy.Basic, symbol: sympy.Symbol, backend: str) -> Evaluate:
    """A function of one number (mpmath) or real array (NumPy) from an expression.

    Register 0 is the variable; instruction i writes register i + 1; the last is the value.  An
    instruction is a function, the registers that it reads, and those that no later one reads.

    Parameters
    ----------
    expr, symbol
        The expression and its variable.
    backend
        ``"numpy"`` or ``"mpmath"``.
    """
    of_part = partial(function_of, symbol=symbol, backend=backend)

    def plan(node: sympy.Basic) -> Step:
        function, operands = _rule(node, symbol, backend, of_part)
        if not operands:
            return function, operands
        if backend == "mpmath":
            function = _strict(function)
            if isinstance(node, _REDUCING) or (node.is_Pow and not node.exp.is_Rational):
                function = _bounded(function, falls=node.func is sympy.exp)
        return function, operands

    steps = steps_of(expr, symbol, plan)
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


def _rule(
    node: sympy.Basic, symbol: sympy.Symbol, backend: str, of_part: Callable[..., Evaluate]
) -> Step:
    if node in (sympy.true, sympy.false):
        truth = float(bool(node))
        return lambda: truth, ()
    if not node.free_symbols and (backend == "numpy" or not node.args):
        return _number(node, backend), ()
    if isinstance(node, sympy.Piecewise):
        branches = tuple((of_part(condition), of_part(expr)) for expr, condition in node.args)
        return partial(_np_piecewise if backend == "numpy" else _mp_piecewise, branches), (symbol,)
    if isinstance(node, Opaque):
        return node.planned(backend)
    if node.func not in RULES:
        raise FormulaError(
            f"cannot evaluate {node}: {node.func.__name__} is not a function of the toolkit"
        )
    in_numpy, in_mpmath = RULES[node.func]
    return in_numpy(node) if backend == "numpy" else in_mpmath(node)


def _number(node: sympy.Basic, backend: str) -> Callable[[], Any]:
    if backend == "numpy":
        value = to_float(node)
        return lambda: value
    if node.is_Rational:
        p, q = int(node.p), int(node.q)
        return lambda: mp.mpf(p) / q
    if node in (sympy.pi, sympy.E):
        constant = mp.pi if node is sympy.pi else mp.e
        return lambda: +constant
    raise FormulaError(f"cannot evaluate the constant {node}: it is not a real number")


def _bits(value: Any) -> int:
    """The exponent of a real number; of a complex one the larger of its two."""
    parts = value._mpc_ if isinstance(value, mpmath.mpc) else (getattr(value, "_mpf_", fzero),)
    return max(int(exponent + length) for _, _, exponent, length in parts)


def _bounded(function: Callable[..., Any], *, falls: bool) -> Callable[..., Any]:
    """Refuse arguments that would cost more digits of pi or ln 2 than anybody can wait for.

    Where the function ``falls`` on the left, like exp, its value there is 0: the numbers that could
    make something of it again are refused.
    """

    def evaluate(*values: Any) -> Any:
        if any(_bits(value) > _MOST_BITS for value in values if not mp.isnan(value)):
            if falls and mp.re(values[0]) < 0 and _bits(mp.re(values[0])) > _MOST_BITS:
                return mp.zero
            raise OverflowError(f"a number is beyond 2**{_MOST_BITS}")
        return function(*values)

    return evaluate


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Propagate nan, read a pole as nan, and never leave the reals from real arguments."""

    def evaluate(*values: Any) -> Any:
        if any(mp.isnan(value) for value in values):
            return mp.nan
        try:
            result = function(*values)
        except ZeroDivisionError:
            return mp.nan
        left_the_reals = isinstance(result, mpmath.mpc) and not any(
            isinstance(value, mpmath.mpc) for value in values
        )
        return mp.nan if left_the_reals else result

    return evaluate


def _np_piecewise(branches: tuple[tuple[Evaluate, Evaluate], ...], x: Any) -> Array:
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


def _mp_piecewise(branches: tuple[tuple[Evaluate, Evaluate], ...], x: Any) -> Any:
    for condition, value in branches:
        truth = condition(x)
        if mp.isnan(truth):
            break
        if truth == 1:
            return value(x)
    return mp.nan

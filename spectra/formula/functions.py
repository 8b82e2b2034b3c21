"""The functions that a formula may use: their names in text and their classes in sympy.

To add a function, add its name to ``_NAMES`` here, its class to ``ENTIRE``, ``_WITH_POLES`` or
``BRANCH_ARGUMENTS``, its implementation for doubles to :mod:`spectra.formula.program`,
and its implementation for balls to :mod:`spectra.formula.ball_function`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

__all__ = [
    "ARITIES", "BRANCH_ARGUMENTS", "CONSTANTS", "ENTIRE", "FUNCTIONS", "FUNCTIONS_WITH_ORDER",
    "MEROMORPHIC", "PIECEWISE", "VARIABLES", "T", "U", "Z", "is_supported", "singular_part",
]  # fmt: skip

#: The distance |x - y|, the variable of radial kernels.
Z = sympy.Symbol("z", nonnegative=True)
#: The inner product <x, y> on the unit sphere, the variable of zonal kernels.
U = sympy.Symbol("u", real=True)
#: The inner product <x, y> of rows of any length.
T = sympy.Symbol("t", real=True)
#: The variables of kernels, and those of spectra.
VARIABLES = (Z, U, T, *(sympy.Symbol(name, nonnegative=True) for name in ("k", "w", "f")))
CONSTANTS: dict[str, sympy.Expr] = {"pi": sympy.pi, "E": sympy.E}
_NAMES = """exp log sin cos tan asin acos atan sinh cosh tanh gamma erf erfc
    besselj besseli besselk expint Abs Heaviside Min Max"""
_ALIASES = {
    "ln": "log",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan")},
    "abs": "Abs",
    "min": "Min",
    "minimum": "Min",
    "max": "Max",
    "maximum": "Max",
}
#: The sympy class of each name and alias.
FUNCTIONS: dict[str, Any] = {name: getattr(sympy, name) for name in _NAMES.split()}
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in _ALIASES.items()}
#: The functions whose first argument is an order, which must not depend on the variable.
FUNCTIONS_WITH_ORDER = (sympy.besselj, sympy.besseli, sympy.besselk, sympy.expint)
#: The minimum and maximum number of arguments; functions not listed here take one.
ARITIES: dict[Any, tuple[int, float]] = {
    **dict.fromkeys(FUNCTIONS_WITH_ORDER, (2, 2)),
    sympy.Heaviside: (1, 2),
    **dict.fromkeys((sympy.Min, sympy.Max), (1, math.inf)),
}
#: Functions defined by cases, which have no analytic continuation.
PIECEWISE = (sympy.Abs, sympy.Heaviside, sympy.Min, sympy.Max, sympy.Piecewise)
#: Functions without singularities in the complex plane.
ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.erf, sympy.erfc)
_WITH_POLES = (sympy.tan, sympy.tanh, sympy.gamma)
#: Functions whose only singularities are poles, where their values are infinite.
MEROMORPHIC = (*ENTIRE, *_WITH_POLES)
#: For other functions, a formula in their last argument that is 0 at their branch points and in
#: (-oo, 0] on their branch cuts.  J and I of integer order, and pFq for p <= q, have none.
BRANCH_ARGUMENTS: dict[Any, Callable[[sympy.Expr], sympy.Expr]] = {
    **dict.fromkeys((sympy.log, *FUNCTIONS_WITH_ORDER), lambda x: x),
    **dict.fromkeys((sympy.asin, sympy.acos), lambda x: 1 - x**2),
    sympy.atan: lambda x: 1 + x**2,
    sympy.hyper: lambda x: 1 - x,
}
_SUPPORTED_CLASSES = {
    *FUNCTIONS.values(),
    *(sympy.Add, sympy.Mul, sympy.Pow, sympy.hyper, sympy.Piecewise, ExprCondPair),
    *(sympy.StrictLessThan, sympy.LessThan, sympy.StrictGreaterThan, sympy.GreaterThan),
    *(sympy.Equality, sympy.Unequality, sympy.And, sympy.Or, sympy.Not),
}


def is_supported(node: sympy.Basic) -> bool:
    """Whether a formula may contain this node; the arguments of the node are not checked."""
    return (
        node.is_Symbol
        or node.is_Rational
        or node in (sympy.pi, sympy.E, sympy.true, sympy.false)
        or node.func in _SUPPORTED_CLASSES
    )


def singular_part(node: sympy.Expr) -> sympy.Expr | None:
    """A formula that is infinite where a node has a pole or branch point; None if it has none.

    Singularities of its arguments are not included.
    """
    # Arb finds pFq infinite at its branch point.
    if node.func in (*_WITH_POLES, sympy.hyper) or (node.is_Pow and node.exp.is_negative):
        return node
    if node.is_Pow and not node.exp.is_Integer:
        return 1 / node.base
    # J and I have a branch point at 0 unless their order is an integer.
    if isinstance(node, sympy.besselj | sympy.besseli) and node.order.is_integer:
        return None
    branch_argument = BRANCH_ARGUMENTS.get(node.func)
    return None if branch_argument is None else 1 / branch_argument(node.args[-1])

"""The functions that a formula may use: their names in text and their classes in sympy.

To add a function, add its name to ``_NAMES`` here, its implementation for doubles to
:mod:`spectra.formula.program`, and its implementation for balls to
:mod:`spectra.formula.ball_function`.
"""

from __future__ import annotations

import math
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

__all__ = [
    "ARITIES",
    "CONSTANTS",
    "FUNCTIONS",
    "FUNCTIONS_WITH_ORDER",
    "PIECEWISE",
    "VARIABLES",
    "U",
    "Z",
    "is_supported",
]

#: The distance |x - y|, the variable of radial kernels.
Z = sympy.Symbol("z", nonnegative=True)
#: The inner product <x, y> on the unit sphere, the variable of zonal kernels.
U = sympy.Symbol("u", real=True)
VARIABLES = (Z, U)
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
_SUPPORTED_CLASSES = {
    *FUNCTIONS.values(),
    *(sympy.Add, sympy.Mul, sympy.Pow, sympy.hyper, sympy.Piecewise, ExprCondPair),
    *(sympy.StrictLessThan, sympy.LessThan, sympy.StrictGreaterThan, sympy.GreaterThan),
    *(sympy.Equality, sympy.Unequality, sympy.And, sympy.Or, sympy.Not),
}


def is_supported(node: sympy.Basic) -> bool:
    """Whether a formula may contain this node; the arguments of the node are not checked.

    Examples
    --------
    >>> import sympy
    >>> is_supported(sympy.exp(sympy.Symbol("z"))), is_supported(sympy.zeta(sympy.Symbol("z")))
    (True, False)
    """
    return (
        node.is_Symbol
        or node.is_Rational
        or node in (sympy.pi, sympy.E, sympy.true, sympy.false)
        or node.func in _SUPPORTED_CLASSES
    )

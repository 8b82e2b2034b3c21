"""The functions of the formula language: their names in text and their heads in sympy.

To add a function, add it to :data:`BY_NAME`, its values in doubles to
:mod:`spectra.formula.evaluation.program`, and its ball to
:mod:`spectra.formula.evaluation.ball_function`.
"""

from __future__ import annotations

import math
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

__all__ = [
    "ARITIES",
    "BY_NAME",
    "CONSTANTS",
    "KINKS",
    "WITH_ORDER",
    "is_supported",
]

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
#: The heads of the functions by each spelling, sympy's own first.
BY_NAME: dict[str, Any] = {name: getattr(sympy, name) for name in _NAMES.split()}
BY_NAME |= {name: BY_NAME[other] for name, other in _ALIASES.items()}
#: The functions whose first argument is an order, which is a number.
WITH_ORDER = (sympy.besselj, sympy.besseli, sympy.besselk, sympy.expint)
#: The least and the largest number of arguments, where they are not 1.
ARITIES: dict[Any, tuple[int, float]] = {
    **dict.fromkeys(WITH_ORDER, (2, 2)),
    sympy.Heaviside: (1, 2),
    **dict.fromkeys((sympy.Min, sympy.Max), (1, math.inf)),
}
#: Functions that change their branch: they have no analytic continuation.
KINKS = (sympy.Abs, sympy.Heaviside, sympy.Min, sympy.Max, sympy.Piecewise)
_HEADS = {
    *BY_NAME.values(),
    *(sympy.Add, sympy.Mul, sympy.Pow, sympy.hyper, sympy.Piecewise, ExprCondPair),
    *(sympy.StrictLessThan, sympy.LessThan, sympy.StrictGreaterThan, sympy.GreaterThan),
    *(sympy.Equality, sympy.Unequality, sympy.And, sympy.Or, sympy.Not),
}


def is_supported(node: sympy.Basic) -> bool:
    """Say whether a node's own head is in the language; its arguments are not looked at.

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
        or node.func in _HEADS
    )

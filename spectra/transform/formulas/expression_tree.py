"""Expressions as nested lists and back, to pass them between processes: no text is evaluated.

A node is a list whose first entry names its head, from the table below; numbers are decimal text.
"""

from __future__ import annotations

from typing import Any

import sympy

from spectra.errors import FormulaError

__all__ = ["Tree", "from_tree", "to_tree"]

#: A nested list of strings.
Tree = list[Any]

_FUNCTIONS = (
    sympy.exp,
    sympy.log,
    sympy.sin,
    sympy.cos,
    sympy.tan,
    sympy.asin,
    sympy.acos,
    sympy.atan,
    sympy.sinh,
    sympy.cosh,
    sympy.tanh,
    sympy.asinh,
    sympy.acosh,
    sympy.atanh,
    sympy.Abs,
    sympy.re,
    sympy.im,
    sympy.conjugate,
    sympy.gamma,
    sympy.loggamma,
    sympy.polygamma,
    sympy.erf,
    sympy.erfc,
    sympy.erfi,
    sympy.Si,
    sympy.Ci,
    sympy.Shi,
    sympy.Chi,
    sympy.Ei,
    sympy.expint,
    sympy.fresnels,
    sympy.fresnelc,
    sympy.lowergamma,
    sympy.uppergamma,
    sympy.besselj,
    sympy.bessely,
    sympy.besseli,
    sympy.besselk,
    sympy.hankel1,
    sympy.hankel2,
    sympy.elliptic_k,
    sympy.elliptic_e,
    sympy.hyper,
    sympy.meijerg,
    sympy.polylog,
    sympy.zeta,
    sympy.Max,
    sympy.Min,
    sympy.Heaviside,
    sympy.sign,
    sympy.factorial,
    sympy.rf,
    sympy.polar_lift,
    sympy.exp_polar,
    sympy.airyai,
    sympy.airybi,
    sympy.chebyshevt,
    sympy.chebyshevu,
    sympy.legendre,
    sympy.laguerre,
    sympy.assoc_laguerre,
)
_HEADS: dict[str, Any] = {function.__name__: function for function in _FUNCTIONS}
_HEADS |= {
    "Add": sympy.Add,
    "Mul": sympy.Mul,
    "Pow": sympy.Pow,
    "Tuple": sympy.Tuple,
    "TupleArg": sympy.Tuple,
    "Piecewise": sympy.Piecewise,
    "ExprCondPair": sympy.Tuple,
    "StrictLessThan": sympy.StrictLessThan,
    "LessThan": sympy.LessThan,
    "StrictGreaterThan": sympy.StrictGreaterThan,
    "GreaterThan": sympy.GreaterThan,
    "Equality": sympy.Equality,
    "Unequality": sympy.Unequality,
    "And": sympy.And,
    "Or": sympy.Or,
    "Not": sympy.Not,
}
_CONSTANTS = {
    "pi": sympy.pi,
    "E": sympy.E,
    "I": sympy.I,
    "EulerGamma": sympy.EulerGamma,
    "Catalan": sympy.Catalan,
    "true": sympy.true,
    "false": sympy.false,
}
_NAMES = {value: name for name, value in _CONSTANTS.items()}


def to_tree(expr: sympy.Basic) -> Tree:
    """An expression as nested lists.

    Raises
    ------
    FormulaError
        Where it holds a function or number that the table lacks (an infinity, an unevaluated
        integral); it is named.

    Examples
    --------
    >>> to_tree(sympy.exp(-sympy.Symbol("w") / 2))
    ['exp', ['Mul', ['number', '-1', '2'], ['symbol', 'w']]]
    """
    if expr in _NAMES:
        return ["constant", _NAMES[expr]]
    if isinstance(expr, sympy.Symbol):
        return ["symbol", expr.name]
    if isinstance(expr, sympy.Rational) and expr.is_finite:
        return ["number", str(expr.p), str(expr.q)]
    name = type(expr).__name__
    if name not in _HEADS or not (expr.args or isinstance(expr, sympy.Tuple)):
        raise FormulaError(f"{name} is no part of a formula that can be read back: {expr}")
    return [name, *(to_tree(argument) for argument in expr.args)]


def from_tree(tree: Tree, symbols: dict[str, sympy.Symbol]) -> sympy.Basic:
    """The expression of nested lists, with these symbols by name.

    Raises
    ------
    FormulaError
        Where a node is none of the table, or names another symbol.

    Examples
    --------
    >>> w = sympy.Symbol("w", positive=True)
    >>> from_tree(to_tree(sympy.besselj(0, 2 * w)), {"w": w})
    besselj(0, 2*w)
    """
    if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
        raise FormulaError(f"A node of an expression is a list that begins with a name: {tree!r}")
    head, *rest = tree
    if head == "symbol" and rest and rest[0] in symbols:
        return symbols[rest[0]]
    if head == "number" and len(rest) == 2:
        return sympy.Rational(int(rest[0]), int(rest[1]))
    if head == "constant" and rest and rest[0] in _CONSTANTS:
        return _CONSTANTS[rest[0]]
    if head not in _HEADS:
        raise FormulaError(f"An expression holds {head}, which is not in the table of heads.")
    return _HEADS[head](*(from_tree(node, symbols) for node in rest))

"""How each head of an expression (``Add``, ``exp``, ``besselk``, ...) is computed in doubles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
import sympy

from spectra.errors import FormulaError
from spectra.formula.functions import (
    FUNCTIONS,
    Function,
    hyper_pointwise,
    np_greatest,
    np_hyper,
    np_least,
)

__all__ = ["RULES", "Step", "is_supported", "to_float"]

#: One step of a program: a function of values, and the nodes it is applied to.
Step = tuple[Callable[..., Any], tuple[sympy.Basic, ...]]
#: How a node is computed in doubles.
Rule = Callable[[sympy.Basic], Step]


def _add(*terms: Any) -> Any:
    return reduce(lambda left, right: left + right, terms)


def _mul(*factors: Any) -> Any:
    return reduce(lambda left, right: left * right, factors)


def _plan_mul(node: sympy.Mul) -> Step:
    """Divide once instead of multiplying by a reciprocal: sin(z)/z then rounds once less."""
    above, below = [], []
    for factor in node.args:
        if factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            below.append(sympy.Pow(factor.base, -factor.exp))
        else:
            above.append(factor)
    if not below or not above:
        return _mul, tuple(node.args)
    count = len(above)
    return lambda *values: _mul(*values[:count]) / _mul(*values[count:]), (*above, *below)


_NUMPY_POWERS: dict[sympy.Rational, Callable[[Any], Any]] = {
    sympy.Integer(2): np.square,
    sympy.Integer(-1): lambda x: 1.0 / x,
    sympy.Integer(-2): lambda x: 1.0 / np.square(x),
    sympy.Rational(1, 2): np.sqrt,
    sympy.Rational(3, 2): lambda x: x * np.sqrt(x),
    sympy.Rational(-1, 2): lambda x: 1.0 / np.sqrt(x),
}


def _plan_pow(node: sympy.Pow) -> Step:
    base, exponent = node.args
    if exponent in _NUMPY_POWERS:
        return _NUMPY_POWERS[exponent], (base,)
    if exponent.is_Integer:
        n = int(exponent)
        # A float base with a Python int exponent keeps the sign of negative bases.
        return lambda x: np.power(x, n), (base,)
    return np.power, (base, exponent)


def _hyper_parameters(node: sympy.hyper) -> tuple[sympy.Expr, ...]:
    if node.ap.free_symbols or node.bq.free_symbols:
        raise FormulaError(
            f"the parameters of {node} depend on the variable; "
            "only the last argument of hyper(...) may"
        )
    return (*node.ap, *node.bq)


def _plan_hyper(node: sympy.hyper) -> Step:
    values = tuple(to_float(p) for p in _hyper_parameters(node))
    p = len(node.ap)
    if any(value.is_integer and value <= 0 for value in node.ap):
        # A polynomial: valid everywhere, also where scipy's continuation is not.
        return partial(hyper_pointwise, values[:p], values[p:]), (node.argument,)
    return partial(np_hyper, values[:p], values[p:]), (node.argument,)


# Truth is the number 1 or 0, and nan where a side of a comparison is undefined: minimum and
# maximum are then "and" and "or", and an undefined condition is never read as false.
def _compare(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def truth(left: Any, right: Any) -> Any:
        defined = ~(np.isnan(left) | np.isnan(right))
        return np.where(defined, compare(left, right).astype(float), np.nan)

    return truth


def _applied(function: Callable[..., Any]) -> Rule:
    return lambda node: (function, tuple(node.args))


def _function_rule(function: Function) -> Rule:
    def plan(node: sympy.Basic) -> Step:
        if any(argument.free_symbols for argument in node.args[: function.fixed]):
            raise FormulaError(
                f"the order of {node} depends on the variable; give it as a number or a parameter"
            )
        return function.numpy, tuple(node.args)

    return plan


RULES: dict[Any, Rule] = {
    sympy.Add: _applied(_add),
    sympy.Mul: _plan_mul,
    sympy.Pow: _plan_pow,
    sympy.hyper: _plan_hyper,
    sympy.StrictLessThan: _applied(_compare(np.less)),
    sympy.LessThan: _applied(_compare(np.less_equal)),
    sympy.StrictGreaterThan: _applied(_compare(np.greater)),
    sympy.GreaterThan: _applied(_compare(np.greater_equal)),
    sympy.Equality: _applied(_compare(np.equal)),
    sympy.Unequality: _applied(_compare(np.not_equal)),
    sympy.And: _applied(np_least),
    sympy.Or: _applied(np_greatest),
    sympy.Not: _applied(lambda truth: 1 - truth),
    **{function.head: _function_rule(function) for function in FUNCTIONS},
}


def is_supported(node: sympy.Basic) -> bool:
    """Say whether a node's own head is in the table; its arguments are not looked at.

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
        or isinstance(node, sympy.Piecewise | sympy.functions.elementary.piecewise.ExprCondPair)
        or node.func in RULES
    )


def to_float(number: sympy.Expr) -> float:
    """Round an exact real number to the nearest double (to one ulp where it is irrational)."""
    if number.is_Rational:
        try:
            return int(number.p) / int(number.q)
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")
    value = number.evalf(30)
    if not value.is_Float:
        raise FormulaError(f"cannot evaluate the constant {number}: it is not a real number")
    return float(value)

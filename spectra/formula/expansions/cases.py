"""Replace Abs, Min, Max, Heaviside and Piecewise by the case that applies near a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.functions import PIECEWISE

__all__ = ["choose_cases", "sign_near_zero"]


def choose_cases(expr: sympy.Expr, sign_of: Callable[[sympy.Expr], Any]) -> sympy.Expr:
    """Replace piecewise functions by the case that applies; ``sign_of`` gives signs of formulas."""
    if not expr.has(*PIECEWISE):
        return expr
    if isinstance(expr, sympy.Piecewise):
        for value, condition in expr.args:
            if _holds(condition, sign_of):
                return choose_cases(value, sign_of)
        raise ExpansionError(f"no case of {expr} applies near this point")
    arguments = [choose_cases(a, sign_of) for a in expr.args]
    first = arguments[0]
    if expr.func == sympy.Abs:
        return first if sign_of(first) > 0 else -first
    if expr.func == sympy.Heaviside:
        return sympy.Integer(1 if sign_of(first) > 0 else 0)
    if expr.func in (sympy.Min, sympy.Max):
        extreme = first
        for argument in arguments[1:]:
            if (sign_of(argument - extreme) > 0) == (expr.func == sympy.Max):
                extreme = argument
        return extreme
    return expr.func(*arguments)


def _holds(condition: sympy.Basic, sign_of: Callable[[sympy.Expr], Any]) -> bool:
    truth = condition
    for relation in condition.atoms(sympy.core.relational.Relational):
        difference = sign_of(relation.lhs - relation.rhs)
        comparison = relation.func(sympy.Integer((difference > 0) - (difference < 0)), 0)
        truth = truth.subs(relation, comparison)
    return bool(truth)


def sign_near_zero(expr: sympy.Expr) -> int:
    """The sign of a formula without piecewise functions for small z > 0."""
    series = expand_at(expr, sympy.S.Zero, side=1, window=5).as_series()  # 5 is arbitrary
    if series.leading_order is None:
        return 0
    if not series.terms:
        raise ExpansionError(f"the sign of {expr} near zero could not be determined")
    return sign(series.terms[0][1])

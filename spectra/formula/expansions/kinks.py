"""The branch that |.|, Min, Max, Heaviside and Piecewise have somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.functions import KINKS

__all__ = ["KINKS", "resolve", "sign_near_zero"]

_WINDOW = 5


def resolve(expr: sympy.Expr, sign_of: Callable[[sympy.Expr], Any]) -> sympy.Expr:
    """The expression with every kink replaced by the branch of the signs that ``sign_of`` gives.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import Z
    >>> resolve(sympy.Abs(sympy.sin(Z) - 1), sign_near_zero)
    1 - sin(z)
    """
    if not expr.has(*KINKS):
        return expr
    if isinstance(expr, sympy.Piecewise):
        for value, condition in expr.args:
            if _holds(condition, sign_of):
                return resolve(value, sign_of)
        raise ExpansionError(f"{expr} has no value there")
    new = [resolve(a, sign_of) for a in expr.args]
    if expr.func == sympy.Abs:
        return new[0] if sign_of(new[0]) > 0 else -new[0]
    if expr.func == sympy.Heaviside:
        return sympy.Integer(1 if sign_of(new[0]) > 0 else 0)
    if expr.func in (sympy.Min, sympy.Max):
        best = new[0]
        for other in new[1:]:
            if (sign_of(other - best) > 0) == (expr.func == sympy.Max):
                best = other
        return best
    return expr.func(*new)


def _holds(condition: sympy.Basic, sign_of: Callable[[sympy.Expr], Any]) -> bool:
    truth = condition
    for relation in condition.atoms(sympy.core.relational.Relational):
        side = sign_of(relation.lhs - relation.rhs)
        truth = truth.subs(relation, relation.func(sympy.Integer((side > 0) - (side < 0)), 0))
    return bool(truth)


def sign_near_zero(expr: sympy.Expr) -> int:
    """The sign of a formula without kinks for small z > 0."""
    series = expand_at(expr, sympy.Integer(0), 1, _WINDOW).plain
    if series.lead is None:
        return 0
    if not series.terms:
        raise ExpansionError(f"the sign of {expr} near zero was not found")
    return sign(series.terms[0][1])

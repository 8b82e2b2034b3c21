"""Where a formula may fail to be smooth, and what it is between those radii.

The radii at which |.|, Min, Max, Heaviside and Piecewise change their branch, and at which roots,
logarithms, inverse functions and denominators are singular, are found as exact numbers.  Between
two neighbouring radii the formula is one expression of analytic functions.
"""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import sympy
from mpmath import mp

from spectra.errors import AccuracyError
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.reader.parsing import Z
from spectra.singularities.zeros import MAY_BE_ZERO, distinct, positive_zeros

__all__ = ["branch_radii", "is_analytic_at", "value_at"]


def branch_radii(expr: sympy.Expr, upper: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Every radius 0 < z <= upper at which a part of the formula may not be analytic."""
    critical = dict.fromkeys(a for n in sympy.preorder_traversal(expr) for a in _critical(n))
    return tuple(distinct(r for argument in critical for r in positive_zeros(argument, upper)))


def _critical(node: sympy.Basic) -> Iterator[sympy.Expr]:
    """Arguments of a node whose zeros are the places where it may not be analytic."""
    if not node.free_symbols:
        return
    head = node.func
    if node.is_Pow:
        if node.exp.free_symbols or not (node.exp.is_Integer and node.exp >= 0):
            yield node.base
    elif head in (sympy.Abs, sympy.log, sympy.Heaviside):
        yield node.args[0]
    elif head in (sympy.Min, sympy.Max):
        for i, a in enumerate(node.args):
            for b in node.args[i + 1 :]:
                yield a - b
    elif head in (sympy.asin, sympy.acos):
        yield node.args[0] - 1
        yield node.args[0] + 1
    elif head == sympy.tan:
        yield sympy.cos(node.args[0])
    elif head in (sympy.besselk, sympy.expint) or (
        head in (sympy.besselj, sympy.besseli) and not node.args[0].is_Integer
    ):
        yield node.args[1]
    elif head == sympy.gamma:
        yield 1 / node  # entire, with its zeros at the poles
    elif head == sympy.hyper and len(node.ap) == len(node.bq) + 1:
        yield node.argument - 1
    elif isinstance(node, sympy.core.relational.Relational):
        yield node.lhs - node.rhs


def is_analytic_at(expr: sympy.Expr, radius: sympy.Expr) -> str:
    """Say whether a formula without kinks is "analytic", "meromorphic" or neither ("branch")."""
    kind = "analytic"
    for node in sympy.preorder_traversal(expr):
        if not any(_vanishes(a, radius) for a in _critical(node)):
            continue
        if not (node.is_Pow and node.exp.is_Integer):
            return "branch"
        kind = "meromorphic"
    return kind


def _vanishes(expr: sympy.Expr, radius: sympy.Expr) -> bool:
    value = expr.subs(Z, radius).evalf(50, maxn=400)
    return not value.is_number or not value.is_finite or bool(abs(value) < MAY_BE_ZERO)


def value_at(expr: sympy.Expr, z: sympy.Expr) -> mpmath.mpf:
    """The value of a formula to forty digits."""
    with mp.workdps(40):
        try:
            value = mpmath_function(expr + sympy.Integer(0), Z)(mp.mpf(str(z.evalf(45))))
        except AccuracyError as error:
            raise ExpansionError(str(error)) from error
        if mp.isnan(value):
            raise ExpansionError(f"{expr} has no value at z = {z}")
        return +value

"""The radii at which a formula may not be analytic, as exact numbers.

At these radii |.|, Min, Max, Heaviside and Piecewise change their branch, or roots, logarithms,
inverse functions and denominators are singular.  Between them one analytic expression holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import sympy
from mpmath import mp

from spectra.errors import AccuracyError
from spectra.formula.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.parsing import Z
from spectra.singularities.zeros import distinct, positive_zeros

__all__ = ["branch_radii", "classify_at", "value_at"]

#: A number of smaller absolute value, computed in 50 digits, counts as zero.
_ZERO_TOLERANCE = sympy.Float(10, 30) ** -40


def branch_radii(expr: sympy.Expr, upper: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Every radius 0 < z <= upper at which a part of the formula may not be analytic."""
    nodes = sympy.preorder_traversal(expr)
    critical = dict.fromkeys(argument for node in nodes for argument in _critical_arguments(node))
    return tuple(distinct(r for argument in critical for r in positive_zeros(argument, upper)))


def _critical_arguments(node: sympy.Basic) -> Iterator[sympy.Expr]:
    """Expressions at whose zeros one node of a formula may not be analytic in z."""
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
        yield 1 / node  # 1/gamma is entire, and its zeros are the poles of gamma
    elif head == sympy.hyper and len(node.ap) == len(node.bq) + 1:
        yield node.argument - 1
    elif isinstance(node, sympy.core.relational.Relational):
        yield node.lhs - node.rhs


def classify_at(expr: sympy.Expr, radius: sympy.Expr) -> str:
    """Classify a formula at a radius: "analytic", "meromorphic" (only poles), or else "branch"."""
    singularity_class = "analytic"
    for node in sympy.preorder_traversal(expr):
        if not any(_vanishes(a, radius) for a in _critical_arguments(node)):
            continue
        if not (node.is_Pow and node.exp.is_Integer):
            return "branch"
        singularity_class = "meromorphic"
    return singularity_class


def _vanishes(expr: sympy.Expr, radius: sympy.Expr) -> bool:
    """Whether an expression is zero or undefined at a radius, by its value in 50 digits."""
    value = expr.subs(Z, radius).evalf(50, maxn=400)
    return not value.is_number or not value.is_finite or bool(abs(value) < _ZERO_TOLERANCE)


def value_at(expr: sympy.Expr, z: sympy.Expr) -> mpmath.mpf:
    """The value of a formula, computed with 40 digits."""
    with mp.workdps(40):
        try:
            value = mpmath_function(expr, Z)(mp.mpf(str(z.evalf(45))))
        except AccuracyError as error:
            raise ExpansionError(str(error)) from error
        if mp.isnan(value):
            raise ExpansionError(f"{expr} has no value at z = {z}")
        return +value  # rounded to 40 digits

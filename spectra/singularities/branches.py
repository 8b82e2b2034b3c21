"""The radii at which a formula may not be analytic, as exact numbers.

At these radii |.|, Min, Max, Heaviside and Piecewise change their branch, or roots, logarithms,
inverse functions and denominators are singular.  Between them one analytic expression holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import mpmath
import sympy
from mpmath import mp

from spectra.errors import AccuracyError
from spectra.formula.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.functions import BRANCH_ARGUMENTS, FUNCTIONS_WITH_ORDER, MEROMORPHIC
from spectra.formula.parsing import Z
from spectra.singularities.zeros import distinct, positive_zeros

__all__ = ["analytic_off_cuts", "branch_radii", "classify_at", "unwrap_inverses", "value_at"]

_WAVES = {sympy.acos: sympy.cos, sympy.asin: sympy.sin}
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
    elif head in FUNCTIONS_WITH_ORDER and not _is_entire(node):
        yield node.args[1]
    elif head == sympy.gamma:
        yield 1 / node  # 1/gamma is entire, and its zeros are the poles of gamma
    elif head == sympy.hyper and not _is_entire(node):
        yield node.argument - 1
    elif isinstance(node, sympy.core.relational.Relational):
        yield node.lhs - node.rhs


def analytic_off_cuts(expr: sympy.Expr, symbol: sympy.Symbol) -> set[sympy.Expr] | None:
    """Formulas outside (-oo, 0] exactly where no part of the given one is on a branch cut.

    On a set of complex numbers where this holds and every value is finite, the formula with its
    principal branches is analytic.  None for a part without a rule, such as Piecewise.
    """
    off_cuts: set[sympy.Expr] = set()
    for node in sympy.preorder_traversal(expr):
        if node == symbol or not node.has(symbol) or node.is_Add or node.is_Mul:
            continue
        if node.is_Pow:
            off_cuts |= set() if node.exp.is_Integer else {node.base}
        elif node.func in (sympy.Abs, sympy.Heaviside):
            off_cuts.add(node.args[0] ** 2)  # its branches change where the real part is 0
        elif node.func in (sympy.Max, sympy.Min):
            off_cuts |= {(a - b) ** 2 for a, b in combinations(node.args, 2)}
        elif node.func not in (*MEROMORPHIC, *BRANCH_ARGUMENTS):
            return None
        elif node.func in BRANCH_ARGUMENTS and not _is_entire(node):
            off_cuts.add(BRANCH_ARGUMENTS[node.func](node.args[-1]))
    return off_cuts


def _is_entire(node: sympy.Basic) -> bool:
    """Whether a Bessel function or pFq is an entire function of its last argument."""
    if node.func == sympy.hyper:
        return len(node.ap) <= len(node.bq)
    return node.func in (sympy.besselj, sympy.besseli) and bool(node.order.is_Integer)


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


def unwrap_inverses(expr: sympy.Expr, z: sympy.Expr) -> sympy.Expr:
    """Write acos(cos(x)) and asin(sin(x)) as the linear functions of x that they are near z."""

    def unwrap(inverse: sympy.Expr) -> sympy.Expr:
        (wave,) = inverse.args
        if wave.func is not _WAVES[inverse.func]:
            return inverse
        (x,) = wave.args
        is_sine = wave.func is sympy.sin
        n = sympy.floor((x.subs(Z, z) / sympy.pi + sympy.Rational(is_sine, 2)).evalf(30))
        start = n * sympy.pi if is_sine else (n + n % 2) * sympy.pi
        return start - x if n % 2 else x - start

    return expr.replace(lambda e: e.func in _WAVES, unwrap)


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

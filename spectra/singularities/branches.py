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
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.reader.parsing import Z
from spectra.singularities.zeros import distinct, positive_zeros

__all__ = ["branch_radii", "classify_at", "unwrap_inverses", "value_at"]

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


def unwrap_inverses(expr: sympy.Expr, z: sympy.Expr) -> sympy.Expr:
    """Write acos(cos(x)) and asin(sin(x)) as the linear functions of x that they are near z.

    Examples
    --------
    >>> unwrap_inverses(sympy.acos(sympy.cos(Z)), sympy.Integer(4))
    -z + 2*pi
    """

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

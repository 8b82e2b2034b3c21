"""Functions of a distance as sums of pieces: formulas that are each cut off at a support."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import sympy
from sympy.polys.polyutils import dict_from_expr

from spectra.errors import FormulaError
from spectra.formula.evaluate import numpy_function
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import U, Z

__all__ = [
    "LONGEST_SUM", "Piece", "damped_terms", "expanded_length", "exponential_terms", "factorize",
    "merge_pieces", "zonal_forms",
]  # fmt: skip

# An arbitrary distance at which a sum is tested for cancellation, and the ratio of the sum to its
# largest term above which the sum is not a rounding error.
_TEST_POINT, _SIGNIFICANT_RATIO = 0.007421, 1e-6
#: Proofs multiply out a formula only if it has at most so many summands then; others take minutes.
LONGEST_SUM = 200
# Polynomials are factored up to this degree, exp(z) and others counting as variables.
_LARGEST_DEGREE = 100
# The largest n for which cos(n acos(g)) is written as a polynomial.
_LARGEST_MULTIPLE = 60


@dataclass(frozen=True)
class Piece:
    """The formula ``expr`` in z on 0 <= z <= support, and zero beyond."""

    support: sympy.Expr
    expr: sympy.Expr


def merge_pieces(pieces: Iterable[tuple[sympy.Expr, sympy.Expr]]) -> tuple[Piece, ...]:
    """Add up the formulas that have the same support, drop zeros, and sort by support."""
    by_support: dict[sympy.Expr, sympy.Expr] = {}
    for support, expr in pieces:
        by_support[support] = by_support.get(support, sympy.Integer(0)) + expr
    ascending = sorted(by_support.items(), key=lambda item: float(item[0]))
    return tuple(Piece(support, expr) for support, expr in ascending if not _is_zero(expr))


def _is_zero(expr: sympy.Expr) -> bool:
    """Whether a formula is identically zero.

    A sum is expanded only if its value at the test point is within rounding errors of zero, since
    expanding a long sum is slow.
    """
    if expr.is_Mul:
        return any(_is_zero(factor) for factor in expr.args)
    if expr.is_Pow:
        return _is_zero(expr.base)
    if not expr.is_Add:
        return bool(expr == 0)
    functions = [numpy_function(term, Z, end=_TEST_POINT) for term in expr.args]
    terms = np.array([function(_TEST_POINT) for function in functions])
    if abs(terms.sum()) > _SIGNIFICANT_RATIO * np.abs(terms).max():
        return False
    return bool(sympy.expand(expr) == 0)


def expanded_length(expr: sympy.Expr) -> float:
    """A bound of the number of summands that sympy.expand makes of a formula or its denominator.

    Examples
    --------
    >>> expanded_length(Z * (1 + Z + Z**2) ** 2), expanded_length(1 / (1 + Z) ** 50)
    (6, 51)
    """
    if expr.is_Add:
        return sum(map(expanded_length, expr.args))
    if expr.is_Mul:
        return math.prod(map(expanded_length, expr.args))
    length = max(map(expanded_length, expr.args), default=1)
    if length == 1 or not (expr.is_Pow and expr.exp.is_Integer):
        return length
    n = abs(int(expr.exp))
    return math.comb(n + int(length) - 1, n) if n + length < 1000 else math.inf


def factorize(expr: sympy.Expr) -> sympy.Expr:
    """sympy.factor, or the formula as it is if a factor is a polynomial of a large degree."""
    with suppress(sympy.PolynomialError):
        for part in sympy.Mul.make_args(expr):
            monomials, _ = dict_from_expr(part.as_base_exp()[0])
            if max((max(m, default=0) for m in monomials), default=0) > _LARGEST_DEGREE:
                return expr
    return sympy.factor(expr)


def damped_terms(
    expr: sympy.Expr, power: int = 1
) -> list[tuple[sympy.Expr, int, sympy.Expr]] | None:
    """The triples (c, n, a) if the formula is a sum of terms c z^n exp(-a z^power); else None.

    Examples
    --------
    >>> damped_terms(1 - Z**2 * sympy.exp(-3 * Z))
    [(1, 0, 0), (-1, 2, 3)]
    """
    found = []
    for term in sympy.Add.make_args(sympy.expand(expr)):
        c, rest = term.as_independent(Z, as_Add=False)
        exponentials = [f for f in sympy.Mul.make_args(rest) if f.func == sympy.exp]
        rate = sympy.expand(-sympy.Add(*(f.args[0] for f in exponentials)) / Z**power)
        monomial = rest / sympy.Mul(*exponentials)
        if rate.has(Z) or not monomial.is_polynomial(Z):
            return None
        found.append((c, int(sympy.degree(monomial, Z)), rate))
    return found


def exponential_terms(expr: sympy.Expr, power: int) -> list[tuple[sympy.Expr, sympy.Expr]] | None:
    """The pairs (c, a) if the formula is a sum of terms c exp(-a z^power), a >= 0; else None."""
    terms = damped_terms(expr, power)
    if terms is None or any(n > 0 or not rate.is_nonnegative for _, n, rate in terms):
        return None
    return [(c, rate) for c, _, rate in terms]


def zonal_forms(expr: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """The formulas in u = <x, y>, and in z = |x - y|, of a kernel on the unit sphere.

    Multiples of an angle such as cos(3 acos(u)) become polynomials.  In z = sqrt(2 - 2u), acos(u),
    asin(u) and fractional powers of 1 - u^2 get forms that do not cancel near z = 0.  A
    FormulaError is raised if no finite limit at u = 1 is found.
    """
    expr, half = expr.replace(_is_polynomial_of_angle, sympy.expand_trig), Z / 2
    radial = expr.replace(sympy.acos(U), 2 * sympy.asin(half))
    radial = radial.replace(sympy.asin(U), sympy.pi / 2 - 2 * sympy.asin(half))
    radial = radial.replace(
        lambda e: e.is_Pow and e.base in (1 - U**2, (1 - U) * (1 + U)) and not e.exp.is_integer,
        lambda e: Z ** (2 * e.exp) * (1 - half**2) ** e.exp,
    )
    radial = radial.subs(U, 1 - Z**2 / 2)
    if value_at_zero(radial) is None:
        raise FormulaError(
            f"No finite limit of the formula {expr} at u = <x, y> = 1 was found, and k(1) is the "
            "diagonal of every kernel matrix, which bounds the other values. Move the singularity "
            "beyond u = 1, as in 1/(1.01 - u) for 1/(1 - u), or correct the formula."
        )
    return expr, radial


def _is_polynomial_of_angle(node: sympy.Basic) -> bool:
    """Whether cos(n acos(g)), or a sine or cosine of n asin(g), is a polynomial in g."""
    if node.func not in (sympy.cos, sympy.sin):
        return False
    n, angle = node.args[0].as_coeff_Mul()
    if not (n.is_Integer and abs(n) <= _LARGEST_MULTIPLE):
        return False
    if angle.func == sympy.asin:
        return bool(n % 2 == (node.func == sympy.sin))
    return bool(angle.func == sympy.acos and node.func == sympy.cos)

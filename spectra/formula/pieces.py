"""Functions of a distance as sums of pieces: formulas that are each cut off at a support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import sympy

from spectra.formula.evaluate import numpy_function
from spectra.formula.parsing import U, Z

__all__ = ["Piece", "exponential_terms", "merge_pieces", "zonal_to_radial"]

# An arbitrary distance at which a sum is tested for cancellation, and the ratio of the sum to its
# largest term above which the sum is not a rounding error.
_TEST_POINT, _SIGNIFICANT_RATIO = 0.007421, 1e-6


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


def exponential_terms(expr: sympy.Expr, power: int) -> list[tuple[sympy.Expr, sympy.Expr]] | None:
    """The pairs (c, a) if the formula is a sum of terms c exp(-a z^power), a >= 0; else None.

    Examples
    --------
    >>> exponential_terms(3 - sympy.exp(-2 * Z) / 5, 1)
    [(3, 0), (-1/5, 2)]
    """
    pairs = []
    for term in sympy.Add.make_args(sympy.expand(expr)):
        c, rest = term.as_independent(Z, as_Add=False)
        is_exponential = rest.func == sympy.exp
        rate = sympy.cancel(-rest.args[0] / Z**power) if is_exponential else sympy.Integer(0)
        if not (is_exponential or rest == 1) or rate.has(Z) or not rate.is_nonnegative:
            return None
        pairs.append((c, rate))
    return pairs


def zonal_to_radial(expr: sympy.Expr) -> sympy.Expr:
    """Substitute u = <x, y> = 1 - z^2/2, for z = |x - y| on the unit sphere, in a formula.

    acos(u), asin(u) and fractional powers of 1 - u^2 get forms that do not cancel near z = 0.
    """
    half = Z / 2
    radial = expr.replace(sympy.acos(U), 2 * sympy.asin(half))
    radial = radial.replace(sympy.asin(U), sympy.pi / 2 - 2 * sympy.asin(half))
    radial = radial.replace(
        lambda e: e.is_Pow and e.base in (1 - U**2, (1 - U) * (1 + U)) and not e.exp.is_integer,
        lambda e: Z ** (2 * e.exp) * (1 - half**2) ** e.exp,
    )
    return radial.subs(U, 1 - Z**2 / 2)

"""A function of distance in pieces: formulas, each on a ball about zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import sympy

from spectra.formula.evaluation.evaluate import numpy_function
from spectra.formula.reader.parsing import U, Z

__all__ = ["Piece", "exponential_terms", "in_distance", "merged"]

# Where a formula is looked at for whether it cancels (chosen: no special point), and what part of
# its largest term is no rounding.
_PROBE = np.array([0.007421])
_CLEARLY = 1e-6


@dataclass(frozen=True)
class Piece:
    """The formula ``expr`` in z on 0 <= z <= support, and zero beyond."""

    support: sympy.Expr
    expr: sympy.Expr


def merged(pieces: Iterable[tuple[sympy.Expr, sympy.Expr]]) -> tuple[Piece, ...]:
    """Pieces of ascending supports, those of one support added up, without those that cancel."""
    by_support: dict[sympy.Expr, sympy.Expr] = {}
    for support, expr in pieces:
        by_support[support] = by_support.get(support, sympy.Integer(0)) + expr
    ascending = sorted(by_support.items(), key=lambda item: float(item[0]))
    return tuple(Piece(support, expr) for support, expr in ascending if not _is_nothing(expr))


def _is_nothing(expr: sympy.Expr) -> bool:
    """Whether everything in a formula cancels.

    A value beyond rounding shows that it does not.  Expanding, which shows that it does, may cost
    more than anybody can wait for, and is for sums that are small where their terms are not.
    """
    if expr.is_Mul:
        return any(_is_nothing(factor) for factor in expr.args)
    if expr.is_Pow:
        return _is_nothing(expr.base)
    if not expr.is_Add:
        return bool(expr == 0)
    terms = np.array([numpy_function(t, Z, end=float(_PROBE[0]))(_PROBE) for t in expr.args])
    if abs(terms.sum()) > _CLEARLY * np.abs(terms).max():
        return False
    return bool(sympy.expand(expr) == 0)


def exponential_terms(expr: sympy.Expr, power: int) -> list[tuple[sympy.Expr, sympy.Expr]] | None:
    """The pairs (c, a) of a sum of c exp(-a z^power), a >= 0; None for anything else.

    Examples
    --------
    >>> exponential_terms(3 - sympy.exp(-2 * Z) / 5, 1)
    [(3, 0), (-1/5, 2)]
    """
    found = []
    for term in sympy.Add.make_args(sympy.expand(expr)):
        c, rest = term.as_independent(Z, as_Add=False)
        is_exponential = rest.func == sympy.exp
        rate = sympy.cancel(-rest.args[0] / Z**power) if is_exponential else sympy.Integer(0)
        if not (is_exponential or rest == 1) or rate.has(Z) or not rate.is_nonnegative:
            return None
        found.append((c, rate))
    return found


def in_distance(expr: sympy.Expr) -> sympy.Expr:
    """Write a formula in u as one in z, in forms that keep their digits at both ends."""
    half = Z / 2
    exact = expr.replace(sympy.acos(U), 2 * sympy.asin(half))
    exact = exact.replace(sympy.asin(U), sympy.pi / 2 - 2 * sympy.asin(half))
    exact = exact.replace(
        lambda e: e.is_Pow and e.base in (1 - U**2, (1 - U) * (1 + U)) and not e.exp.is_integer,
        lambda e: Z ** (2 * e.exp) * (1 - half**2) ** e.exp,
    )
    return exact.subs(U, 1 - Z**2 / 2)

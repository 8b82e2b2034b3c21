"""Proofs that a formula keeps one sign on an interval: by factors, by roots, by its slope."""

from __future__ import annotations

import math

import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.reader.parsing import Z

__all__ = ["has_sign"]

#: Slopes of slopes, and operations in one, beyond which a proof is given up.
_MOST_SLOPES = 4
_LONGEST = 120


def has_sign(expr: sympy.Expr, wanted: int, low: sympy.Expr, high: sympy.Expr) -> bool:
    """Whether a formula is proved >= 0 (``wanted`` = 1) or <= 0 (-1) for low < z < high."""
    try:
        return _sign(expr, low, high, _MOST_SLOPES) in (wanted, 0)
    except (ExpansionError, sympy.PolynomialError, NotImplementedError, TypeError):
        return False


def _sign(expr: sympy.Expr, low: sympy.Expr, high: sympy.Expr, slopes: int) -> float:
    """The sign that a formula keeps between two radii; nan where none is shown."""
    if sympy.count_ops(expr) > _LONGEST:
        return math.nan
    total = 1.0
    for factor in sympy.Mul.make_args(sympy.factor(sympy.together(expr))):
        total *= _sign_of_factor(factor, low, high, slopes)
    return total


def _sign_of_factor(f: sympy.Expr, low: sympy.Expr, high: sympy.Expr, slopes: int) -> float:
    if not f.has(Z):
        return sign(f)
    if f == Z or f.func in (sympy.exp, sympy.cosh) or f.is_positive:
        return 1
    if f.is_Pow and not f.exp.has(Z):
        if f.exp.is_even:
            return 1
        of_base = _sign(f.base, low, high, slopes)
        return of_base if f.exp.is_Integer or of_base > 0 else math.nan
    if f.is_polynomial(Z) and all(c.is_Rational for c in sympy.Poly(f, Z).all_coeffs()):
        return _sign_of_polynomial(sympy.Poly(f, Z), low, high)
    return _sign_by_slope(f, low, high, slopes)


def _sign_of_polynomial(poly: sympy.Poly, low: sympy.Expr, high: sympy.Expr) -> float:
    """No root of odd order lies between: then it has the sign of any point that is no root."""
    inner = [low, *(r for r, order in poly.real_roots(multiple=False) if order % 2), high]
    if any(low < r < high for r in inner[1:-1]):
        return math.nan
    middle = low + 1 if high is sympy.oo else (low + high) / 2
    while poly.eval(middle) == 0:
        middle = (low + middle) / 2
    return sign(poly.eval(middle))


def _sign_by_slope(f: sympy.Expr, low: sympy.Expr, high: sympy.Expr, slopes: int) -> float:
    """What starts at its lower end with the sign of its slope, or ends with the other, keeps it."""
    if not slopes:
        return math.nan
    slope = _sign(sympy.diff(f, Z), low, high, slopes - 1)
    if math.isnan(slope):
        return math.nan
    start = f.subs(Z, low)
    if start.is_finite and sign(start) in (slope, 0):
        return slope
    if high is not sympy.oo:
        end = f.subs(Z, high)
        if end.is_finite and sign(end) in (-slope, 0):
            return -slope
    return math.nan

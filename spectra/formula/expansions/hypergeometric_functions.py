"""One-sided expansions of hypergeometric functions: at 0, at regular points, at 1 and at -oo."""

from __future__ import annotations

import sympy

from spectra.formula.expansions.bessel_functions import bessel_at_infinity
from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.expansions.expansion import Expansion
from spectra.formula.expansions.taylor_series import hypergeometric_series

__all__ = ["expand_hyper"]

_HALF = sympy.Rational(1, 2)
_NEAR = sympy.Float(10, 30) ** -20


def expand_hyper(node: sympy.Expr, g: Expansion, limit: sympy.Expr | None) -> Expansion | None:
    """Expand pFq(a; b; g), g -> limit; None at a regular point, where derivatives serve."""
    a, b = tuple(node.ap), tuple(node.bq)
    if any(x.is_Integer and x <= 0 for x in a):
        return _polynomial(a, b, g)
    if limit == 0:
        return g.compose(hypergeometric_series(a, b))
    if limit is not None:
        if limit.has(sympy.Float) and abs(limit.evalf(30) - 1) < _NEAR:
            raise ExpansionError(f"{node} where its argument may be 1")
        if len(a) == 2 and len(b) == 1 and limit == 1:
            return _gauss_at_one(a, b[0], g)
        if len(a) > len(b) and limit.evalf(20) >= 1:
            raise ExpansionError(f"{node} on its cut")
        return None
    direction = sign(g.plain.terms[0][1])
    if len(a) == 0 and len(b) == 1:
        return _bessel_clifford(b[0], g, direction)
    if direction < 0 and len(a) == len(b) == 1:
        return _kummer_at_minus_infinity(a[0], b[0], g)
    if direction < 0 and len(a) == 2 and len(b) == 1:
        return _gauss_at_minus_infinity(a, b[0], g)
    raise ExpansionError(f"{node} at infinity")


def _polynomial(a: tuple[sympy.Expr, ...], b: tuple[sympy.Expr, ...], g: Expansion) -> Expansion:
    total = g.constant(0)
    for k, c in enumerate(hypergeometric_series(a, b)):
        total = total + g**k * c
    return total


def _bessel_clifford(b: sympy.Expr, g: Expansion, direction: int) -> Expansion:
    """0F1(; b; -y^2/4) = Gamma(b) (2/y)^(b-1) J_(b-1)(y), and I for the other sign."""
    half = (g * direction) ** _HALF
    head = sympy.besselj if direction < 0 else sympy.besseli
    found: Expansion = bessel_at_infinity(head, b - 1, half * 2) * half ** (1 - b) * sympy.gamma(b)
    return found


def _kummer_at_minus_infinity(a: sympy.Expr, b: sympy.Expr, g: Expansion) -> Expansion:
    """1F1(a; b; -x) ~ Gamma(b)/Gamma(b-a) x^-a 2F0(a, a-b+1; 1/x), DLMF 13.7.2."""
    if (b - a).is_Integer and b - a <= 0:
        raise ExpansionError("a Kummer function that decays exponentially: write it with exp")
    x = -g
    body = (x**-1).compose(hypergeometric_series((a, a - b + 1), ())) + g.flat
    found: Expansion = body * x**-a * (sympy.gamma(b) / sympy.gamma(b - a))
    return found


def _gauss_at_minus_infinity(a: tuple[sympy.Expr, ...], c: sympy.Expr, g: Expansion) -> Expansion:
    """2F1(a, b; c; -x) by its two series in 1/x, DLMF 15.8.2."""
    if (a[0] - a[1]).is_Integer:
        raise ExpansionError("a Gauss function at infinity with upper parameters that agree")
    x = -g
    total = g.constant(0)
    for p, q in (a, a[::-1]):
        factor = sympy.gamma(c) * sympy.gamma(q - p) / (sympy.gamma(q) * sympy.gamma(c - p))
        body = (-(x**-1)).compose(hypergeometric_series((p, p - c + 1), (p - q + 1,)))
        total = total + body * x**-p * factor
    return total


def _gauss_at_one(a: tuple[sympy.Expr, ...], c: sympy.Expr, g: Expansion) -> Expansion:
    """2F1 near 1 by its two series in 1 - x, DLMF 15.8.4."""
    p, q = a
    s = c - p - q
    if s.is_Integer:
        raise ExpansionError("a Gauss function at 1 with an integer c - a - b")
    y = -g + 1
    smooth = y.compose(hypergeometric_series((p, q), (1 - s,)))
    factor = sympy.gamma(c) * sympy.gamma(s) / (sympy.gamma(c - p) * sympy.gamma(c - q))
    rough = y.compose(hypergeometric_series((c - p, c - q), (1 + s,))) * y**s
    other = sympy.gamma(c) * sympy.gamma(-s) / (sympy.gamma(p) * sympy.gamma(q))
    found: Expansion = smooth * factor + rough * other
    return found

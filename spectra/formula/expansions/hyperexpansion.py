"""One-sided expansions of hypergeometric functions: at 0, at regular points, at 1 and at -oo."""

from __future__ import annotations

import sympy

from spectra.formula.expansions.bessel_expansions import bessel_at_infinity
from spectra.formula.expansions.elementary import power
from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.expansions.germs import FLAT, ZERO, Germ, Series
from spectra.formula.expansions.taylor_series import hypergeometric_series

__all__ = ["expand_hyper"]

_ONE = sympy.Integer(1)
_NEAR = sympy.Float(10, 30) ** -20


def expand_hyper(
    node: sympy.Expr,
    g: Germ,
    limit: sympy.Expr | None,
    window: int,
) -> Germ | None:
    """Expand pFq(a; b; g), or return None at a regular point, where derivatives serve.

    Parameters
    ----------
    limit
        The finite limit of g, or None where g is unbounded.

    Raises
    ------
    ExpansionError
        Where no rule applies.
    """
    a, b = tuple(node.ap), tuple(node.bq)
    if any(x.is_Integer and x <= 0 for x in a):
        return _polynomial(a, b, g, window)
    if limit == 0:
        return g.compose(hypergeometric_series(a, b), window)
    if limit is not None:
        if limit.has(sympy.Float) and abs(limit.evalf(30) - 1) < _NEAR:
            raise ExpansionError(f"{node} where its argument may be 1")
        if len(a) == 2 and len(b) == 1 and limit == 1:
            return _gauss_at_one(a, b, g, window)
        if len(a) > len(b) and limit.evalf(20) >= 1:
            raise ExpansionError(f"{node} on its cut")
        return None
    direction = sign(g.plain.terms[0][1])
    if len(a) == 0 and len(b) == 1:
        return _bessel_clifford(b[0], g, direction, window)
    if direction < 0 and len(a) == len(b) == 1:
        return _kummer_at_minus_infinity(a[0], b[0], g, window)
    if direction < 0 and len(a) == 2 and len(b) == 1:
        return _gauss_at_minus_infinity(a, b[0], g, window)
    raise ExpansionError(f"{node} at infinity")


def _polynomial(a: tuple[sympy.Expr, ...], b: tuple[sympy.Expr, ...], g: Germ, window: int) -> Germ:
    total = Germ(())
    for k, c in enumerate(hypergeometric_series(a, b)):
        total = total + power(g, sympy.Integer(k), window).scaled(c)
    return total


def _bessel_clifford(
    b: sympy.Expr,
    g: Germ,
    direction: int,
    window: int,
) -> Germ:
    """0F1(; b; -y^2/4) = Gamma(b) (2/y)^(b-1) J_(b-1)(y), and I for the other sign."""
    half = power(g.scaled(sympy.Integer(direction)), sympy.Rational(1, 2), window)
    head = sympy.besselj if direction < 0 else sympy.besseli
    wave = bessel_at_infinity(head, b - 1, half.scaled(sympy.Integer(2)), window)
    return wave.times(power(half, 1 - b, window), window).scaled(sympy.gamma(b))


def _kummer_at_minus_infinity(a: sympy.Expr, b: sympy.Expr, g: Germ, window: int) -> Germ:
    """1F1(a; b; -x) ~ Gamma(b)/Gamma(b-a) x^-a 2F0(a, a-b+1; 1/x), DLMF 13.7.2."""
    if (b - a).is_Integer and b - a <= 0:
        raise ExpansionError("a Kummer function that decays exponentially: write it with exp")
    x = g.scaled(-_ONE)
    inverse = power(x, -_ONE, window)
    body = inverse.compose(hypergeometric_series((a, a - b + 1), ()), window)
    body = body + Germ(((ZERO, Series((), FLAT)),))
    return body.times(power(x, -a, window), window).scaled(sympy.gamma(b) / sympy.gamma(b - a))


def _gauss_at_minus_infinity(
    a: tuple[sympy.Expr, ...], c: sympy.Expr, g: Germ, window: int
) -> Germ:
    """2F1(a, b; c; -x) by its two series in 1/x, DLMF 15.8.2."""
    if (a[0] - a[1]).is_Integer:
        raise ExpansionError("a Gauss function at infinity with upper parameters that agree")
    x = g.scaled(-_ONE)
    inverse = power(x, -_ONE, window).scaled(-_ONE)
    total = Germ(())
    for p, q in ((a[0], a[1]), (a[1], a[0])):
        factor = sympy.gamma(c) * sympy.gamma(q - p) * _reciprocal_gamma(q)
        factor = factor * _reciprocal_gamma(c - p)
        body = inverse.compose(hypergeometric_series((p, p - c + 1), (p - q + 1,)), window)
        total = total + body.times(power(x, -p, window), window).scaled(factor)
    return total


def _gauss_at_one(
    a: tuple[sympy.Expr, ...], b: tuple[sympy.Expr, ...], g: Germ, window: int
) -> Germ:
    """2F1 near 1 by its two series in 1 - x, DLMF 15.8.4."""
    p, q, c = a[0], a[1], b[0]
    s = c - p - q
    if s.is_Integer:
        raise ExpansionError("a Gauss function at 1 with an integer c - a - b")
    y = Germ.constant(_ONE) + g.scaled(-_ONE)
    smooth = y.compose(hypergeometric_series((p, q), (1 - s,)), window)
    factor = sympy.gamma(c) * sympy.gamma(s) * _reciprocal_gamma(c - p) * _reciprocal_gamma(c - q)
    total = smooth.scaled(factor)
    rough = y.compose(hypergeometric_series((c - p, c - q), (1 + s,)), window).times(
        power(y, s, window), window
    )
    factor = sympy.gamma(c) * sympy.gamma(-s) * _reciprocal_gamma(p) * _reciprocal_gamma(q)
    return total + rough.scaled(factor)


def _reciprocal_gamma(x: sympy.Expr) -> sympy.Expr:
    if x.is_Integer and x <= 0:
        return sympy.Integer(0)
    return 1 / sympy.gamma(x)

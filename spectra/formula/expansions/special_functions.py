"""Expansions of Bessel functions, and of hypergeometric functions at 0, 1 and -oo."""

from __future__ import annotations

from itertools import count

import sympy

from spectra.formula.expansions.elementary import exp, log
from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.expansions.expansion import Expansion, hypergeometric_series

__all__ = ["bessel_at_infinity", "bessel_at_zero", "bessel_k_at_zero", "expand_hyper"]

_HALF = sympy.Rational(1, 2)
_ONE = sympy.Integer(1)


def bessel_at_zero(order: sympy.Expr, g: Expansion, alternate: int) -> Expansion:
    """J (alternate = -1) or I (1) by powers of g -> 0, DLMF 10.2.2 and 10.25.2.

    The order is no negative integer: sympy writes those as positive ones.
    """
    return _ascending(order, g, alternate, 1 / sympy.gamma(order + 1))


def _ascending(order: sympy.Expr, g: Expansion, alternate: int, lead: sympy.Expr) -> Expansion:
    """lead (g/2)^n 0F1(; n + 1; +-g^2/4)."""
    half = g / 2
    series = hypergeometric_series((), (order + 1,), sympy.Integer(alternate))
    return half**order * ((half * half).compose(series) * lead)


def bessel_k_at_zero(order: sympy.Expr, g: Expansion) -> Expansion:
    """K by powers and logarithms of g -> 0, DLMF 10.27.4 and 10.31.1."""
    if not order.is_Integer:
        # pi / (2 sin(pi n) Gamma(1 - n)) is Gamma(n)/2
        down, up = (_ascending(n, g, 1, sympy.gamma(-n) / 2) for n in (-order, order))
        return down + up
    n = abs(int(order))
    half = g / 2
    total = g.constant(0)
    for k in range(n):
        c = (-_ONE) ** k * sympy.factorial(n - k - 1) / (2 * sympy.factorial(k))
        total = total + half ** (2 * k - n) * c
    log_term = log(half) * bessel_at_zero(sympy.Integer(n), g, 1)
    coefficients = (
        (sympy.harmonic(k) + sympy.harmonic(n + k) - 2 * sympy.EulerGamma)
        / (2 * sympy.factorial(k) * sympy.factorial(n + k))
        for k in count()
    )
    body = (half * half).compose(coefficients) * half**n
    s = (-_ONE) ** n
    return total + log_term * -s + body * s


def bessel_at_infinity(head: object, order: sympy.Expr, g: Expansion) -> Expansion:
    """Hankel's expansions, DLMF 10.17.3, 10.40.1 and 10.40.2."""

    def hankel(unit: sympy.Expr) -> Expansion:
        series = hypergeometric_series((_HALF + order, _HALF - order), (), -unit / 2)
        return (g**-1).compose(series)

    root = g**-_HALF
    if head == sympy.besselj:
        angle = sympy.pi * (order / 2 + sympy.Rational(1, 4))
        turn = sympy.cos(angle) - sympy.I * sympy.sin(angle)
        up = exp(g * sympy.I) * hankel(sympy.I) * turn
        down = exp(g * -sympy.I) * hankel(-sympy.I) * sympy.conjugate(turn)
        wave, factor = up + down, 1 / sympy.sqrt(2 * sympy.pi)
    elif head == sympy.besselk:
        wave, factor = exp(-g) * hankel(_ONE), sympy.sqrt(sympy.pi / 2)
    else:
        wave, factor = exp(g) * (hankel(-_ONE) + g.flat), 1 / sympy.sqrt(2 * sympy.pi)
    return wave * root * factor


def expand_hyper(node: sympy.Expr, g: Expansion, limit: sympy.Expr | None) -> Expansion | None:
    """Expand pFq(a; b; g), g -> limit; None at a regular point, where derivatives serve."""
    a, b = tuple(node.ap), tuple(node.bq)
    if limit == 0:
        return g.compose(hypergeometric_series(a, b))
    if limit is not None:
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


def _bessel_clifford(b: sympy.Expr, g: Expansion, direction: int) -> Expansion:
    """0F1(; b; -y^2/4) = Gamma(b) (2/y)^(b-1) J_(b-1)(y), and I for the other sign."""
    half = (g * direction) ** _HALF
    head = sympy.besselj if direction < 0 else sympy.besseli
    return bessel_at_infinity(head, b - 1, half * 2) * half ** (1 - b) * sympy.gamma(b)


def _kummer_at_minus_infinity(a: sympy.Expr, b: sympy.Expr, g: Expansion) -> Expansion:
    """1F1(a; b; -x) ~ Gamma(b)/Gamma(b-a) x^-a 2F0(a, a-b+1; 1/x), DLMF 13.7.2."""
    if (b - a).is_Integer and b - a <= 0:
        raise ExpansionError("a Kummer function that decays exponentially: write it with exp")
    x = -g
    body = (x**-1).compose(hypergeometric_series((a, a - b + 1), ())) + g.flat
    return body * x**-a * (sympy.gamma(b) / sympy.gamma(b - a))


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
    return smooth * factor + rough * other

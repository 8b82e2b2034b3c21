"""Expansions of Bessel functions, and of hypergeometric functions at 0, 1 and -oo."""

from __future__ import annotations

from itertools import count

import sympy
from sympy import S

from spectra.formula.expansions.elementary import exp, log
from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.expansions.expansion import Expansion, pfq_coefficients

__all__ = ["bessel_at_infinity", "bessel_at_zero", "bessel_k_at_zero", "expand_hyper"]


def bessel_at_zero(function: object, order: sympy.Expr, g: Expansion) -> Expansion:
    """J_n(g) or I_n(g) for g -> 0, DLMF 10.2.2, 10.25.2; sympy rewrites n = -1, -2, ... as -n."""
    s = S.NegativeOne if function == sympy.besselj else S.One
    return _power_series(order, g, s, 1 / sympy.gamma(order + 1))


def _power_series(n: sympy.Expr, g: Expansion, s: sympy.Expr, c: sympy.Expr) -> Expansion:
    """c (g/2)^n 0F1(; n + 1; s g^2/4)."""
    half = g / 2
    coefficients = pfq_coefficients((), (n + 1,), s)
    return half**n * ((half * half).compose(coefficients) * c)


def bessel_k_at_zero(order: sympy.Expr, g: Expansion) -> Expansion:
    """K_n(g) for g -> 0: from I_n and I_-n, DLMF 10.27.4, or by 10.31.1 for an integer n."""
    if not order.is_Integer:
        # The factor pi/(2 sin(pi n) Gamma(1 - n)) of (g/2)^-n in 10.27.4 is Gamma(n)/2.
        first, second = (_power_series(n, g, S.One, sympy.gamma(-n) / 2) for n in (-order, order))
        return first + second
    n = abs(int(order))
    half = g / 2
    total = g.constant(0)
    for k in range(n):
        c = S.NegativeOne**k * sympy.factorial(n - k - 1) / (2 * sympy.factorial(k))
        total = total + half ** (2 * k - n) * c
    logarithm = log(half) * bessel_at_zero(sympy.besseli, sympy.Integer(n), g)
    coefficients = (
        (sympy.harmonic(k) + sympy.harmonic(n + k) - 2 * sympy.EulerGamma)
        / (2 * sympy.factorial(k) * sympy.factorial(n + k))
        for k in count()
    )
    series = (half * half).compose(coefficients) * half**n
    sign_of_series = S.NegativeOne**n
    return total + logarithm * -sign_of_series + series * sign_of_series


def bessel_at_infinity(function: object, order: sympy.Expr, g: Expansion) -> Expansion:
    """J_n(g), K_n(g) or I_n(g) for g -> infinity, DLMF 10.17.3, 10.40.2 and 10.40.1."""

    def series(unit: sympy.Expr) -> Expansion:
        """2F0(1/2 + n, 1/2 - n; -unit/(2 g)), the series of Hankel's expansions."""
        a = (S.Half + order, S.Half - order)
        return (g**-1).compose(pfq_coefficients(a, (), -unit / 2))

    root = g**-S.Half
    if function == sympy.besselj:
        angle = sympy.pi * (order / 2 + sympy.Rational(1, 4))
        rotation = sympy.cos(angle) - sympy.I * sympy.sin(angle)
        wave = exp(g * sympy.I) * series(sympy.I) * rotation
        conjugate = exp(g * -sympy.I) * series(-sympy.I) * sympy.conjugate(rotation)
        value, factor = wave + conjugate, 1 / sympy.sqrt(2 * sympy.pi)
    elif function == sympy.besselk:
        value, factor = exp(-g) * series(S.One), sympy.sqrt(sympy.pi / 2)
    else:
        value = exp(g) * (series(S.NegativeOne) + g.flat_remainder())
        factor = 1 / sympy.sqrt(2 * sympy.pi)
    return value * root * factor


def expand_hyper(node: sympy.Expr, g: Expansion, limit: sympy.Expr | None) -> Expansion | None:
    """Expand pFq(a; b; g), g -> limit (None if unbounded); returns None if it is analytic there."""
    a, b = tuple(node.ap), tuple(node.bq)
    if limit == 0:
        return g.compose(pfq_coefficients(a, b))
    if limit is not None:
        if len(a) == 2 and len(b) == 1 and limit == 1:
            return _gauss_at_one(a, b[0], g)
        if len(a) > len(b) and limit.evalf(20) >= 1:
            raise ExpansionError(f"{node} cannot be expanded on its branch cut")
        return None
    direction = sign(g.as_series().terms[0][1])
    if len(a) == 0 and len(b) == 1:
        return _0f1_at_infinity(b[0], g, direction)
    if direction < 0 and len(a) == len(b) == 1:
        return _kummer_at_minus_infinity(a[0], b[0], g)
    if direction < 0 and len(a) == 2 and len(b) == 1:
        return _gauss_at_minus_infinity(a, b[0], g)
    raise ExpansionError(f"{node} cannot be expanded at infinity")


def _0f1_at_infinity(b: sympy.Expr, g: Expansion, direction: int) -> Expansion:
    """0F1(; b; -y^2/4) = Gamma(b) (2/y)^(b-1) J_(b-1)(y), and with I_(b-1) for +y^2/4."""
    half = (g * direction) ** S.Half
    function = sympy.besselj if direction < 0 else sympy.besseli
    return bessel_at_infinity(function, b - 1, half * 2) * half ** (1 - b) * sympy.gamma(b)


def _kummer_at_minus_infinity(a: sympy.Expr, b: sympy.Expr, g: Expansion) -> Expansion:
    """1F1(a; b; -x) ~ Gamma(b)/Gamma(b-a) x^-a 2F0(a, a-b+1; 1/x), DLMF 13.7.2."""
    if (b - a).is_Integer and b - a <= 0:
        raise ExpansionError("1F1 decays exponentially here: write it as exp times a polynomial")
    x = -g
    series = (x**-1).compose(pfq_coefficients((a, a - b + 1), ())) + g.flat_remainder()
    return series * x**-a * (sympy.gamma(b) / sympy.gamma(b - a))


def _gauss_at_minus_infinity(a: tuple[sympy.Expr, ...], c: sympy.Expr, g: Expansion) -> Expansion:
    """2F1(a_1, a_2; c; -x) by its two series in 1/x, DLMF 15.8.2."""
    if (a[0] - a[1]).is_Integer:
        raise ExpansionError("2F1(a, b; c; z) cannot be expanded at infinity for integer a - b")
    x = -g
    total = g.constant(0)
    for p, q in (a, a[::-1]):
        factor = sympy.gamma(c) * sympy.gamma(q - p) / (sympy.gamma(q) * sympy.gamma(c - p))
        coefficients = pfq_coefficients((p, p - c + 1), (p - q + 1,))
        total = total + (-(x**-1)).compose(coefficients) * x**-p * factor
    return total


def _gauss_at_one(a: tuple[sympy.Expr, ...], c: sympy.Expr, g: Expansion) -> Expansion:
    """2F1(p, q; c; x) by its two series in 1 - x, DLMF 15.8.4."""
    p, q = a
    s = c - p - q
    if s.is_Integer:
        raise ExpansionError("2F1(a, b; c; z) cannot be expanded at 1 for integer c - a - b")
    y = -g + 1
    regular = y.compose(pfq_coefficients((p, q), (1 - s,)))
    factor = sympy.gamma(c) * sympy.gamma(s) / (sympy.gamma(c - p) * sympy.gamma(c - q))
    singular = y.compose(pfq_coefficients((c - p, c - q), (1 + s,))) * y**s
    singular_factor = sympy.gamma(c) * sympy.gamma(-s) / (sympy.gamma(p) * sympy.gamma(q))
    return regular * factor + singular * singular_factor

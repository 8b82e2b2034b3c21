"""Expansions of the Bessel functions J, I and K of one-sided expansions that vanish or grow."""

from __future__ import annotations

from itertools import count

import sympy

from spectra.formula.expansions.elementary import exp, log
from spectra.formula.expansions.expansion import Expansion
from spectra.formula.expansions.taylor_series import hypergeometric_series

__all__ = ["bessel_at_infinity", "bessel_at_zero", "bessel_k_at_zero"]

_HALF = sympy.Rational(1, 2)
_ONE = sympy.Integer(1)


def bessel_at_zero(order: sympy.Expr, g: Expansion, alternate: int) -> Expansion:
    """J (alternate = -1) or I (1) by powers of g -> 0, DLMF 10.2.2 and 10.25.2."""
    if order.is_Integer and order < 0:
        found: Expansion = bessel_at_zero(-order, g, alternate) * sympy.Integer(alternate) ** order
        return found
    return _ascending(order, g, alternate, 1 / sympy.gamma(order + 1))


def _ascending(order: sympy.Expr, g: Expansion, alternate: int, lead: sympy.Expr) -> Expansion:
    """lead (g/2)^n 0F1(; n + 1; +-g^2/4)."""
    half = g / 2
    series = hypergeometric_series((), (order + 1,), sympy.Integer(alternate))
    found: Expansion = half**order * ((half * half).compose(series) * lead)
    return found


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
    found: Expansion = total + log_term * -s + body * s
    return found


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
    found: Expansion = wave * root * factor
    return found

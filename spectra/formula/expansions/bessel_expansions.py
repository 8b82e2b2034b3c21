"""Expansions of the Bessel functions J, I and K of one-sided expansions that vanish or grow."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from spectra.formula.expansions.elementary import exp, log, power
from spectra.formula.expansions.germs import FLAT, ZERO, Germ, Series
from spectra.formula.expansions.taylor_series import hypergeometric_series

__all__ = ["bessel_at_infinity", "bessel_at_zero", "bessel_k_at_zero"]

_HALF = sympy.Rational(1, 2)
_ONE = sympy.Integer(1)


def bessel_at_zero(order: sympy.Expr, g: Germ, alternate: int, window: int) -> Germ:
    """J (alternate = -1) or I (1) by powers of g -> 0, DLMF 10.2.2 and 10.25.2."""
    if order.is_Integer and order < 0:
        return bessel_at_zero(-order, g, alternate, window).scaled(
            sympy.Integer(alternate) ** order
        )
    return _ascending(order, g, alternate, 1 / sympy.gamma(order + 1), window)


def _ascending(order: sympy.Expr, g: Germ, alternate: int, lead: sympy.Expr, window: int) -> Germ:
    """lead (g/2)^n 0F1(; n + 1; +-g^2/4)."""
    half = g.scaled(_HALF)
    series = hypergeometric_series((), (order + 1,), sympy.Integer(alternate))
    body = half.times(half, window).compose(series, window).scaled(lead)
    return power(half, order, window).times(body, window)


def bessel_k_at_zero(order: sympy.Expr, g: Germ, window: int) -> Germ:
    """K by powers and logarithms of g -> 0, DLMF 10.27.4 and 10.31.1."""
    if not order.is_Integer:
        # pi / (2 sin(pi n) Gamma(1 - n)) is Gamma(n)/2
        down, up = (_ascending(n, g, 1, sympy.gamma(-n) / 2, window) for n in (-order, order))
        return down + up
    n = abs(int(order))
    half = g.scaled(_HALF)
    square = half.times(half, window)
    total = Germ(())
    for k in range(n):
        c = (-_ONE) ** k * sympy.factorial(n - k - 1) / (2 * sympy.factorial(k))
        total = total + power(half, sympy.Integer(2 * k - n), window).scaled(c)
    log_term = log(half, window).times(bessel_at_zero(sympy.Integer(n), g, 1, window), window)

    def coefficients() -> Iterator[sympy.Expr]:
        k = 0
        while True:
            psi = sympy.harmonic(k) + sympy.harmonic(n + k) - 2 * sympy.EulerGamma
            yield psi / (2 * sympy.factorial(k) * sympy.factorial(n + k))
            k += 1

    body = square.compose(coefficients(), window)
    body = body.times(power(half, sympy.Integer(n), window), window)
    s = (-_ONE) ** n
    return total + log_term.scaled(-s) + body.scaled(s)


def bessel_at_infinity(head: object, order: sympy.Expr, g: Germ, window: int) -> Germ:
    """Hankel's expansions, DLMF 10.17.3, 10.40.1 and 10.40.2."""

    def hankel(unit: sympy.Expr) -> Germ:
        series = hypergeometric_series((_HALF + order, _HALF - order), (), -unit / 2)
        return power(g, -_ONE, window).compose(series, window)

    root = power(g, -_HALF, window)
    if head == sympy.besselj:
        angle = sympy.pi * (order / 2 + sympy.Rational(1, 4))
        turn = sympy.cos(angle) - sympy.I * sympy.sin(angle)
        up = exp(g.scaled(sympy.I), window).times(hankel(sympy.I), window).scaled(turn)
        down = exp(g.scaled(-sympy.I), window).times(hankel(-sympy.I), window)
        wave = up + down.scaled(sympy.conjugate(turn))
        return wave.times(root, window).scaled(1 / sympy.sqrt(2 * sympy.pi))
    if head == sympy.besselk:
        wave = exp(g.scaled(-_ONE), window).times(hankel(_ONE), window)
        return wave.times(root, window).scaled(sympy.sqrt(sympy.pi / 2))
    body = hankel(-_ONE) + Germ(((ZERO, Series((), FLAT)),))
    wave = exp(g, window).times(body, window)
    return wave.times(root, window).scaled(1 / sympy.sqrt(2 * sympy.pi))

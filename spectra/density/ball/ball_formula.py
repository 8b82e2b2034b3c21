r"""The density of a formula on a ball as a sympy formula: Bessel or hypergeometric functions.

It follows from the Mellin transform, which is a sum of products of Gamma functions:

.. math:: \int_0^1 x^{s+a-1} (1 - x^o)^p\,dx =
          \frac{\Gamma(p+1)\,\Gamma((s+a)/o)}{o\,\Gamma((s+a)/o+p+1)}, \qquad o = 1, 2 .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy

from spectra.density.ball.ball_form import BallForm
from spectra.density.gamma_product import GammaProduct, gamma_formula

__all__ = ["ball_formula"]

_ZERO, _HALF = sympy.Integer(0), sympy.Rational(1, 2)
# Most terms of a polynomial whose Mellin transform is factored into one product.
_MOST_FACTORED = 24


def ball_formula(form: BallForm, dim: int) -> sympy.Expr | None:
    """The density mu(w) of a formula on a ball, as a sympy formula in ``w``.

    Polynomials in z^2 give Bessel functions, other formulas hypergeometric functions.  The formula
    is exact, but cancels in doubles: use ``ball_component`` for values.

    Examples
    --------
    >>> from spectra.formula.parsing import Z
    >>> from spectra.density.ball.ball_form import read_ball_form
    >>> ball_formula(read_ball_form(1 - Z**2 / 4, sympy.Integer(2)), 2)
    besselj(2, 2*w)/(pi*w**2)
    >>> ball_formula(read_ball_form(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2)), 2)
    hyper((3/2,), (2, 2), -w**2)/(2*pi)
    """
    products = [replace(product, scale=1 / form.radius) for product in _mellin_transform(form)]
    return gamma_formula(products, dim)


def _mellin_transform(form: BallForm) -> Iterator[GammaProduct]:
    """The Mellin transform in x = z / R, as the Gamma products whose sum it is."""
    polynomial: dict[int, sympy.Expr] = {}
    for factor, monomials in form.parts:
        if form.is_even and not factor.is_integral:
            # Powers of tau = 1 - x^2 give Bessel functions.
            tau = sympy.Dummy("tau")
            in_tau = sympy.Add(*(c * (1 - tau) ** (m // 2) for m, c in monomials))
            for (j,), c in sympy.Poly(in_tau, tau).terms():
                yield _transform_power(sympy.expand(c), _ZERO, factor.power + j, 2)
            continue
        for m, c in monomials:
            if factor.is_integral:
                # The integral up to 1, which is added below, minus the integral from x to 1.
                inner = _transform_power(-c / 2, m + 1, factor.power, 2)
                above, below = (((m + i) * _HALF, _HALF) for i in (0, 2))
                yield replace(inner, above=(*inner.above, above), below=(*inner.below, below))
            elif not factor.is_one:
                yield _transform_power(c, m + factor.shift, factor.power, factor.order)
            if factor.is_one or factor.is_integral:
                constant = factor.integral_to_one if factor.is_integral else 1
                polynomial[m] = polynomial.get(m, _ZERO) + c * constant
    yield from _transform_polynomial({m: sympy.expand(c) for m, c in sorted(polynomial.items())})


def _transform_power(c: sympy.Expr, a: sympy.Expr, p: sympy.Expr, order: int) -> GammaProduct:
    """The Mellin transform of c x^a (1 - x^order)^p on [0, 1]."""
    slope = sympy.Rational(1, order)
    above, below = (a * slope, slope), (a * slope + p + 1, slope)
    return GammaProduct(c * sympy.gamma(p + 1) * slope, sympy.Integer(1), (above,), (below,))


def _transform_polynomial(coefficients: dict[int, sympy.Expr]) -> Iterator[GammaProduct]:
    """The sum of c_m / (s + m): one product if it factors over the rationals, else one per term."""
    s = sympy.Dummy("s")
    if len(coefficients) <= _MOST_FACTORED and all(c.is_Rational for c in coefficients.values()):
        total = sympy.together(sympy.Add(*(c / (s + m) for m, c in coefficients.items())))
        numerator, denominator = (sympy.Poly(part, s) for part in sympy.fraction(total))
        zeros, poles = (
            [-r / 2 for r, times in poly.ground_roots().items() for _ in range(times)]
            for poly in (numerator, denominator)
        )
        # (s - r) / 2 is Gamma(s/2 - r/2 + 1) / Gamma(s/2 - r/2).
        if total != 0 and len(zeros) == numerator.degree():
            above = [*((r, _HALF) for r in poles), *((r + 1, _HALF) for r in zeros)]
            below = [*((r + 1, _HALF) for r in poles), *((r, _HALF) for r in zeros)]
            front = numerator.LC() / denominator.LC() / 2 ** sympy.Integer(len(poles) - len(zeros))
            yield GammaProduct(front, sympy.Integer(1), tuple(above), tuple(below))
            return
    for m, c in coefficients.items():
        yield _transform_power(c, sympy.Integer(m), _ZERO, 2)

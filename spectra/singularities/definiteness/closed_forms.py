r"""The largest dimension in which a kernel is positive definite, where that is known.

Positive definite on R^d implies positive definite on every R^n with n < d, so that the answer for
all dimensions is one number: 0 (none), an integer, or infinity (all).
"""

from __future__ import annotations

import math

import sympy

from spectra.formula.expansions.exact_numbers import is_zero, sign
from spectra.formula.expansions.expansion import compare
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.singularities.definiteness.polya import has_sign

__all__ = [
    "largest_of_damped_cosine",
    "largest_of_edge",
    "largest_of_rational_spectrum",
]

_NIL = sympy.Integer(0)
_MOST_STEPS = 12


def largest_of_edge(piece: Piece) -> tuple[float, str] | None:
    r"""The largest d of Askey functions and m integrals of them, and why; None for others.

    :math:`(1 - z/R)_+^\ell` is positive definite exactly for :math:`\ell \ge (d+1)/2`.  An integral
    :math:`k(z) = \int_z^\infty t g(t)\,dt` has in dimension d the spectrum of g in dimension d + 2,
    times :math:`2\pi`, so that m of them lower the bound by 2m (H. Wendland, Piecewise polynomial,
    positive definite and compactly supported radial functions of minimal degree, Adv. Comput.
    Math. 4, 1995).
    """
    split = _split_edge(piece)
    if split is None:
        return None
    power, poly = split
    edge = sympy.Poly(piece.support - Z, Z)
    for m in range(_MOST_STEPS):
        if poly.degree() == 0:
            if not sign(poly.LC()) > 0:
                return None
            bound = 2 * power - 1 - 2 * m
            steps = f"the result of {m} integration{'s' * (m > 1)} by t dt of " if m else ""
            answer = f"exactly for d <= {bound}" if bound >= 1 else "for no d"
            return max(int(sympy.floor(bound)), 0), (
                f"It is a multiple of {steps}{_askey_text(piece.support, power)}: positive "
                f"definite {answer}."
            )
        # -k'/z for k = (R - z)^power p(z); the walk goes on where z divides it.
        slope = power * poly - edge * poly.diff(Z)
        poly, rest = sympy.div(slope, sympy.Poly(Z, Z))
        power -= 1
        if power.is_negative or not rest.is_zero:
            return None
    return None


def _askey_text(radius: sympy.Expr, power: sympy.Expr) -> str:
    base = "1 - z" if radius == 1 else f"1 - z/{radius}"
    return f"({base})_+^{power if power.is_Integer else f'({power})'}"


def _split_edge(piece: Piece) -> tuple[sympy.Expr, sympy.Poly] | None:
    """Write a formula that ends at R as (R - z)^power times a polynomial."""
    power, rest = _NIL, sympy.Integer(1)
    for factor in sympy.Mul.make_args(sympy.factor(piece.expr)):
        base, exponent = factor.as_base_exp()
        if base.is_polynomial(Z) and sympy.degree(base, Z) == 1 and not exponent.free_symbols:
            slope = -base.coeff(Z, 1)
            if is_zero(sympy.expand(base.subs(Z, piece.support))) and (
                sign(slope) > 0 or exponent.is_Integer
            ):
                power, rest = power + exponent, rest * slope**exponent
                continue
        if not factor.is_polynomial(Z):
            return None
        rest = rest * factor
    return power, sympy.Poly(rest, Z)


def largest_of_damped_cosine(expr: sympy.Expr) -> tuple[float, str] | None:
    """The largest d of c exp(-a z) cos(b z), c > 0, and why; None for other formulas."""
    c, rest = expr.as_independent(Z, as_Add=False)
    if not (c.is_positive and rest.is_Mul and len(rest.args) == 2):
        return None
    damping = [f for f in rest.args if f.func == sympy.exp]
    wave = [f for f in rest.args if f.func == sympy.cos]
    if len(damping) != 1 or len(wave) != 1:
        return None
    a, b = sympy.expand(-damping[0].args[0] / Z), sympy.expand(wave[0].args[0] / Z)
    if a.free_symbols or b.free_symbols or not (a.is_positive and b.is_positive):
        return None
    guess = math.floor(float(sympy.pi / (2 * sympy.atan(b / a)))) + 1
    while compare((a / b, _NIL), (sympy.cot(sympy.pi / (2 * guess)), _NIL)) < 0:
        guess -= 1
    return guess, "exp(-a z) cos(b z) is positive definite exactly for a/b >= cot(pi/(2d))."


def largest_of_rational_spectrum(expr: sympy.Expr) -> int:
    r"""An odd d in which sums of z^n exp(-a z) cos(b z) are positive definite; 0 if none is found.

    On the line, :math:`z^n e^{-sz}` has the transform :math:`\mathrm{Re}\, n!/(s - iw)^{n+1}`.
    Two dimensions further the spectrum is a positive multiple of :math:`-S'(w)/w`.
    """
    spectrum = _NIL
    for term in sympy.Add.make_args(sympy.expand(expr.rewrite(sympy.exp))):
        c, rest = term.as_independent(Z, as_Add=False)
        exponentials = [f for f in sympy.Mul.make_args(rest) if f.func == sympy.exp]
        rate = sympy.expand(-sum(f.args[0] for f in exponentials) / Z)
        front = rest / sympy.Mul(*exponentials)
        if rate.has(Z) or not sympy.re(rate).is_positive or not front.is_polynomial(Z):
            return 0
        power = sympy.degree(front, Z)
        spectrum += c * sympy.factorial(power) / (rate - sympy.I * Z) ** (power + 1)
    spectrum = sympy.cancel(sympy.together(spectrum + spectrum.subs(sympy.I, -sympy.I)))
    dim = -1
    while dim < _MOST_STEPS and has_sign(spectrum, 1, _NIL, sympy.oo):
        spectrum, dim = sympy.cancel(-spectrum.diff(Z) / Z), dim + 2
    return max(dim, 0)

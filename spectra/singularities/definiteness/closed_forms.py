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
from spectra.kernels.kernel import Kernel
from spectra.singularities.definiteness.one_sign import has_sign
from spectra.singularities.places import LocalAnalysis

__all__ = [
    "edge_and_polynomial",
    "known_largest_dimension",
    "largest_of_damped_cosine",
    "largest_of_edge",
    "largest_of_rational_spectrum",
    "shown_of_gaussian_wave",
]

_NIL = sympy.Integer(0)
_MOST_STEPS = 12
_LARGEST_HALF_INTEGER = 12


def known_largest_dimension(kernel: Kernel, analysis: LocalAnalysis) -> tuple[float, str] | None:
    r"""The largest d for which the kernel is positive definite on R^d, with the theorem.

    ``math.inf`` stands for every d, 0 for none, None where no rule here applies.
    Askey's function :math:`(1 - z/R)_+^\ell` is positive definite exactly for
    :math:`\ell \ge (d+1)/2`.  An integral :math:`k(z) = \int_z^\infty t g(t)\,dt` has in dimension
    d the spectrum of g in dimension d + 2, times :math:`2\pi`: m of them lower the bound by 2m
    (H. Wendland, Piecewise polynomial, positive definite and compactly supported radial functions
    of minimal degree, Adv. Comput. Math. 4, 1995).  The plane wave mean of R^m has a nonnegative
    spectrum in R^d exactly for d <= m (I. J. Schoenberg, Metric spaces and completely monotone
    functions, Ann. Math. 39, 1938).  :math:`e^{-az}\cos(bz)` is positive definite exactly for
    :math:`a/b \ge \cot(\pi/(2d))`.
    """
    if len(kernel.pieces) != 1:
        return None
    piece = kernel.pieces[0]
    if piece.support is not sympy.oo:
        return largest_of_edge(piece)
    return _plane_wave_mean(piece.expr, analysis) or largest_of_damped_cosine(piece.expr)


def largest_of_edge(piece: Piece) -> tuple[float, str] | None:
    """Askey functions, and m integrals of them: l >= (d + 1)/2 + m."""
    split = edge_and_polynomial(piece)
    if split is None:
        return None
    power, poly = split
    edge = sympy.Poly(piece.support - Z, Z)
    for m in range(_MOST_STEPS):
        quotient, rest = sympy.div(poly, edge)
        while not poly.is_zero and poly.degree() > 0 and rest.is_zero:
            poly, power = quotient, power + 1
            quotient, rest = sympy.div(poly, edge)
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
        if not power.is_positive:
            return None
        # -k'/z for k = (R - z)^power p(z); the walk goes on where z divides it.
        slope = power * poly - edge * poly.diff(Z)
        quotient, rest = sympy.div(slope, sympy.Poly(Z, Z))
        if not rest.is_zero:
            return None
        poly, power = quotient, power - 1
    return None


def _askey_text(radius: sympy.Expr, power: sympy.Expr) -> str:
    base = "1 - z" if radius == 1 else f"1 - z/{radius}"
    return f"({base})_+^{power if power.is_Integer else f'({power})'}"


def edge_and_polynomial(piece: Piece) -> tuple[sympy.Expr, sympy.Poly] | None:
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


def _plane_wave_mean(expr: sympy.Expr, analysis: LocalAnalysis) -> tuple[float, str] | None:
    """c Omega_m(a z), c > 0: recognised by its wave at infinity, then compared exactly."""
    at_zero = analysis.origin.limit
    if at_zero is None or not sign(at_zero) > 0:
        return None
    waves = [s for s in analysis.infinity.singularities if s.frequency != 0]
    if not waves or not waves[0].exponent.is_Rational:
        return None
    m, radius = 2 * waves[0].exponent + 1, waves[0].frequency
    nu = m / 2 - 1
    z = sympy.Symbol("z", positive=True)  # away from 0, where powers of z may be split
    scaled = expr.subs(Z, z) / at_zero
    mean = 2**nu * sympy.gamma(m / 2) * (radius * z) ** -nu * sympy.besselj(nu, radius * z)
    forms = [mean]
    if nu.q == 2 and nu <= _LARGEST_HALF_INTEGER:
        forms.append(sympy.expand_func(mean.rewrite(sympy.jn)))
    if not any(sympy.powsimp(sympy.expand(scaled - form)) == 0 for form in forms):
        return None
    text = f"It is a multiple of the mean of plane waves of length {radius} in dimension {m}: "
    return int(sympy.floor(m)), text + f"positive definite exactly for d <= {m}."


def largest_of_damped_cosine(expr: sympy.Expr) -> tuple[float, str] | None:
    """c exp(-a z) cos(b z), c > 0."""
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


def shown_of_gaussian_wave(rate: sympy.Expr, frequency: sympy.Expr) -> int:
    r"""A dimension in which exp(-a z^2) cos(b z) is positive definite: 3 for b^2 <= 2a, else 1.

    Its spectrum in R^3 is a positive multiple of :math:`w - b\tanh(bw/(2a))`, and
    :math:`\tanh y \le y`: for larger b it is negative at w = 0.
    """
    return 3 if sign(2 * rate - frequency**2) >= 0 else 1


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

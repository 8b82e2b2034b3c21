r"""Families of kernels for which the largest dimension of positive definiteness is known.

A kernel that is positive definite on R^d is so on R^n for every n < d, so that the answer for all
dimensions is one number: 0 (none), an integer, or infinity (all).
"""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise

import sympy

from spectra.base.limits import check_time
from spectra.definiteness.polya import is_nonnegative
from spectra.formula.expansions.exact_numbers import is_zero, sign
from spectra.formula.parsing import Z
from spectra.formula.pieces import LONGEST_SUM, Piece, damped_terms, expanded_length, factorize
from spectra.singularities.results import LocalAnalysis

__all__ = [
    "Proof", "prove_askey", "prove_damped_cosine", "rational_spectrum_dimension",
    "spline_dimension",
]  # fmt: skip

_ZERO = sympy.Integer(0)
#: Limit on the derivatives -f'/z that are taken, and on the dimensions that they prove.
_MOST_STEPS = 12
#: A rational function with more poles takes long to simplify.
_MOST_POLES = 10


#: The largest d for which a kernel is proved to be positive definite on R^d, the reason, and
#: whether it is known not to be for larger d.
Proof = tuple[float, str, bool]


def prove_askey(piece: Piece) -> Proof | None:
    r"""Decide on Askey functions and their integrals; None for other kernels.

    :math:`(1 - z/R)_+^\ell` is positive definite exactly for :math:`\ell \ge (d+1)/2`.  An integral
    :math:`k(z) = \int_z^\infty t g(t)\,dt` has in dimension d the spectrum of g in dimension d + 2,
    times :math:`2\pi`, so that m integrations lower the largest d by 2m (H. Wendland, Piecewise
    polynomial, positive definite and compactly supported radial functions of minimal degree, Adv.
    Comput. Math. 4, 1995).
    """
    factors = _factor_at_support(piece)
    if factors is None:
        return None
    power, poly = factors
    for m in range(_MOST_STEPS):
        check_time()
        if poly.degree() == 0:
            if not sign(poly.LC()) > 0:
                return None
            bound = 2 * power - 1 - 2 * m
            steps = f"the result of {m} integration{'s' * (m > 1)} by t dt of " if m else ""
            answer = f"exactly for d <= {bound}" if bound >= 1 else "for no d"
            base = "1 - z" if piece.support == 1 else f"1 - z/{piece.support}"
            text = f"({base})_+^{power if power.is_Integer else f'({power})'}"
            reason = f"It is a multiple of {steps}{text}: positive definite {answer}."
            return max(int(sympy.floor(bound)), 0), reason, True
        # -k'/z of k = (R - z)^power p(z) has the power lowered by one, if z divides the polynomial.
        derivative = power * poly - sympy.Poly(piece.support - Z, Z) * poly.diff(Z)
        poly, remainder = sympy.div(derivative, sympy.Poly(Z, Z))
        power -= 1
        if power.is_negative or not remainder.is_zero:
            return None
    return None


def _factor_at_support(piece: Piece) -> tuple[sympy.Expr, sympy.Poly] | None:
    """Write a formula on [0, R] as (R - z)^power times a polynomial: (power, polynomial)."""
    power, rest = _ZERO, sympy.Integer(1)
    for factor in sympy.Mul.make_args(factorize(piece.expr)):
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


def prove_damped_cosine(expr: sympy.Expr) -> Proof | None:
    """Decide on c exp(-a z) cos(b z) with a, b, c > 0; None for other formulas."""
    c, rest = expr.as_independent(Z, as_Add=False)
    if not (c.is_positive and rest.is_Mul and len(rest.args) == 2):
        return None
    arguments = {f.func: f.args[0] for f in rest.args if f.args}
    if set(arguments) != {sympy.exp, sympy.cos}:
        return None
    a, b = sympy.expand(-arguments[sympy.exp] / Z), sympy.expand(arguments[sympy.cos] / Z)
    if a.free_symbols or b.free_symbols or not (a.is_positive and b.is_positive):
        return None
    dim = math.floor(float(sympy.pi / (2 * sympy.atan(b / a)))) + 1  # one more, against rounding
    while sign(a / b - sympy.cot(sympy.pi / (2 * dim))) < 0:
        dim -= 1
    reason = "exp(-a z) cos(b z) is positive definite exactly for a/b >= cot(pi/(2d))."
    return dim, reason, True


def rational_spectrum_dimension(expr: sympy.Expr) -> int | None:
    r"""An odd d in which a sum of z^n exp(-a z) cos(b z) is positive definite; 0 if none is found.

    None for other formulas.
    Up to factors > 0, a real sum of :math:`c z^n e^{-sz}`, s complex, has in d = 1 the spectrum
    :math:`S(w) = \mathrm{Re} \sum c\, n!/(s - iw)^{n+1}`; from d to d + 2, S becomes :math:`-S'/w`.
    """
    spectrum, rewritten = _ZERO, expr.rewrite(sympy.exp)
    if expanded_length(rewritten) > LONGEST_SUM:
        return 0
    terms = damped_terms(rewritten)
    if terms is None or not all(sympy.re(rate).is_positive for _, _, rate in terms):
        return None
    if len({rate for _, _, rate in terms}) > _MOST_POLES:
        return 0
    for c, n, rate in terms:
        spectrum += c * sympy.factorial(n) / (rate - sympy.I * Z) ** (n + 1)  # Z is w here
    spectrum = sympy.cancel(sympy.together(spectrum + spectrum.subs(sympy.I, -sympy.I)))
    dim = -1
    while dim < _MOST_STEPS and is_nonnegative(spectrum, _ZERO, sympy.oo):
        spectrum, dim = sympy.cancel(-spectrum.diff(Z) / Z), dim + 2
    return max(dim, 0)


def spline_dimension(analysis: LocalAnalysis) -> int:
    r"""1 if a spline of compact support is proved positive definite on the line, else 0.

    A piecewise polynomial in \|x\| whose only jumps are those of one derivative of odd order p,
    :math:`p!\,c_r` at the radii r and :math:`2 p!\,c_0` at 0, has up to positive factors the
    spectrum :math:`(-1)^{(p+1)/2}\,(c_0 + \sum_r c_r \cos(rw))\,w^{-p-1}`.
    """
    exprs, radii = analysis.exprs, [r for r, _ in analysis.radii]
    is_spline = all(e.is_polynomial(Z) for e in exprs) and exprs[-1:] == (_ZERO,)
    if not (radii and is_spline) or analysis.gaps:
        return 0
    # The jumps as multiples of z^p: the odd terms at 0, and the changes at the radii.
    jumps = [exprs[0] - exprs[0].subs(Z, -Z)]
    jumps += [(b - a).subs(Z, Z + r) for (a, b), r in zip(pairwise(exprs), radii, strict=True)]
    terms = [sympy.Poly(sympy.expand(jump), Z).terms() for jump in jumps]
    powers = {power for found in terms for (power,), c in found if c != 0}
    ratios = [r / radii[0] for r in radii]
    if len(powers) != 1 or not all(ratio.is_Rational for ratio in ratios):
        return 0
    (power,) = powers
    step, x = reduce(sympy.gcd, ratios), Z - 1  # x = cos(step radii[0] w)
    sizes = [sum(c for _, c in found) for found in terms]
    waves = (c * sympy.chebyshevt(n / step, x) for c, n in zip(sizes[1:], ratios, strict=True))
    spectrum = sympy.expand((-1) ** ((power + 1) // 2) * (sizes[0] / 2 + sympy.Add(*waves)))
    return int(power % 2 and is_nonnegative(spectrum, _ZERO, sympy.Integer(2)))

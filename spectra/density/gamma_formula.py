r"""Densities as formulas in w: Bessel functions, a hypergeometric function pFq, or Meijer's G.

A kernel whose Mellin transform M is a product of Gamma functions has the density

.. math:: \mu(w) = \frac{2^{1-d}}{\pi^{d/2}}\;\frac{1}{2\pi i}\int
          \frac{\Gamma(-\tau)}{\Gamma(d/2+\tau)} M(d+2\tau) \Bigl(\frac{w^2}{4}\Bigr)^\tau d\tau

Gauss's multiplication formula makes all coefficients of tau 1 or -1: this is Meijer's G.  If M has
no poles in Re tau > 0, the residues at tau = 0, 1, 2, ... sum to a hypergeometric function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import sympy

from spectra.density.closed_pairs.pair import W
from spectra.density.gamma_product import GammaProduct

__all__ = ["gamma_formula"]

_HALF = sympy.Rational(1, 2)
# Formulas with more parameters are too long to be useful.
_MOST_PARAMETERS = 12

#: (a, sign) of Gamma(a + sign s), with sign 1 or -1.
_Gamma = tuple[sympy.Expr, int]


def gamma_formula(products: Sequence[GammaProduct], dim: int) -> sympy.Expr | None:
    """mu(w) on R^dim of a sum of Gamma products; None if it is too long or not defined."""
    terms = [_density_formula(p, sympy.Integer(dim)) for p in products if p.coefficient != 0]
    if None in terms:
        return None
    total = sympy.Add(*terms)
    # A summand that is unbounded at z = 0 may have no transform, although the kernel has one.
    return None if total.has(sympy.nan, sympy.zoo) else total


def _density_formula(product: GammaProduct, dim: sympy.Expr) -> sympy.Expr | None:
    """mu(w) on R^dim of one Gamma product; None if it has too many parameters."""
    # With tau = common s every slope is an integer.
    slopes = [2 * b for _, b in (*product.above, *product.below)]
    common = math.lcm(*(int(slope.q) for slope in slopes))
    above = [(sympy.Integer(0), -common)]
    above += [(a + b * dim, 2 * b * common) for a, b in product.above]
    below = [(dim * _HALF, sympy.Integer(common))]
    below += [(c + e * dim, 2 * e * common) for c, e in product.below]
    front = product.coefficient * product.scale ** (-dim) * common
    front *= 2 ** (1 - dim) / sympy.pi ** (dim * _HALF)
    x = (W / (2 * product.scale)) ** (2 * common)
    numerator: list[_Gamma] = []
    denominator: list[_Gamma] = []
    for arguments, gammas, power in ((above, numerator, 1), (below, denominator, -1)):
        for offset, slope in arguments:
            constant, base, factors = _split_gamma(offset, slope)
            front *= constant**power
            x *= base**power
            gammas += factors
    for gamma in list(numerator):
        if gamma in denominator:
            numerator.remove(gamma)
            denominator.remove(gamma)
    if len(numerator) + len(denominator) > _MOST_PARAMETERS:
        return None
    return front * _inverse_mellin(numerator, denominator, x)


def _split_gamma(
    offset: sympy.Expr, slope: sympy.Integer
) -> tuple[sympy.Expr, sympy.Expr, list[_Gamma]]:
    """Gamma(offset + slope s) = constant * base^s * product of gammas, DLMF 5.5.6."""
    m = int(abs(slope))
    sign = 1 if slope > 0 else -1
    constant = (2 * sympy.pi) ** (_HALF * (1 - m)) * sympy.Integer(m) ** (offset - _HALF)
    gammas = [(sympy.expand((offset + r) / m), sign) for r in range(m)]
    return constant, sympy.Integer(m) ** slope, gammas


def _inverse_mellin(above: list[_Gamma], below: list[_Gamma], x: sympy.Expr) -> sympy.Expr:
    """(1/2 pi i) times the integral of x^s times a quotient of products of Gamma functions."""
    plus, minus = ([a for a, sign in above if sign == s] for s in (1, -1))
    plus_below, minus_below = ([a for a, sign in below if sign == s] for s in (1, -1))
    if minus == [0] and not minus_below and len(plus) <= len(plus_below) + 1:
        front = sympy.Mul(*map(sympy.gamma, plus)) / sympy.Mul(*map(sympy.gamma, plus_below))
        return front * _hypergeometric(plus, plus_below, -x)
    if not plus and not plus_below and not minus_below and len(minus) == 2:
        a, b = minus
        return 2 * x ** ((a + b) * _HALF) * sympy.besselk(a - b, 2 * sympy.sqrt(x))
    first, last = ([1 - a for a in offsets] for offsets in (plus, plus_below))
    return sympy.meijerg([first, minus_below], [minus, last], x)


def _hypergeometric(above: list[sympy.Expr], below: list[sympy.Expr], x: sympy.Expr) -> sympy.Expr:
    """The function pFq with its upper and lower parameters, or a simpler form of it."""
    if not above and not below:
        return sympy.exp(x)
    if len(above) == 1 and not below:
        return (1 - x) ** (-above[0])
    if not above and len(below) == 1:
        order = below[0] - 1
        root = sympy.sqrt(-4 * x)
        return sympy.gamma(below[0]) * (root / 2) ** (-order) * sympy.besselj(order, root)
    key = sympy.default_sort_key
    return sympy.hyper(sorted(above, key=key), sorted(below, key=key), x)

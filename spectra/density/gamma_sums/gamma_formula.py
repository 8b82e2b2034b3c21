r"""Densities of Gamma products as formulas in w: Bessel functions, one pFq, or Meijer's G.

.. math:: \mu(w) = \frac{2^{1-d}}{\pi^{d/2}}\;\frac{1}{2\pi i}\int
          \frac{\Gamma(-\tau)}{\Gamma(d/2+\tau)} M(d+2\tau) \Bigl(\frac{w^2}{4}\Bigr)^\tau d\tau

With Gauss's multiplication formula for each Gamma function of M this is a Meijer function, and the
sum of its residues at tau = n one hypergeometric function wherever M has no poles on that side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import sympy

from spectra.density.closed_pairs.pair import W
from spectra.density.gamma_sums.gamma_product import GammaProduct

__all__ = ["gamma_formula"]

_HALF = sympy.Rational(1, 2)
# More parameters than this make a formula that nobody reads.
_MOST_PARAMETERS = 12


def gamma_formula(products: Sequence[GammaProduct], dim: int) -> sympy.Expr | None:
    """mu(w) on R^dim of a sum of Gamma products; None if that is too long or infinite."""
    total = sympy.Integer(0)
    for product in products:
        if product.coefficient == 0:
            continue
        term = _transform(product, sympy.Integer(dim))
        if term is None:
            return None
        total += term
    # Summands that are too large at zero may have no transform each, where their sum has one.
    return None if total.has(sympy.nan, sympy.zoo) else total


def _transform(product: GammaProduct, dim: sympy.Expr) -> sympy.Expr | None:
    # tau = scale sigma makes every slope an integer.
    slopes = [2 * b for _, b in (*product.above, *product.below)]
    scale = math.lcm(*(int(s.q) for s in slopes))
    above = [(sympy.Integer(0), -scale)]
    above += [(a + b * dim, 2 * b * scale) for a, b in product.above]
    below = [(dim * _HALF, sympy.Integer(scale))]
    below += [(c + e * dim, 2 * e * scale) for c, e in product.below]
    front = product.coefficient * product.scale ** (-dim) * scale
    front *= 2 ** (1 - dim) / sympy.pi ** (dim * _HALF)
    x = (W / (2 * product.scale)) ** (2 * scale)
    up: list[tuple[sympy.Expr, int]] = []
    down: list[tuple[sympy.Expr, int]] = []
    for arguments, unit, way in ((above, up, 1), (below, down, -1)):
        for offset, slope in arguments:
            constant, base, parts = _multiplied(offset, slope)
            front *= constant**way
            x *= base**way
            unit += parts
    for part in list(up):
        if part in down:
            up.remove(part)
            down.remove(part)
    if len(up) + len(down) > _MOST_PARAMETERS:
        return None
    return front * _function(up, down, x)


def _multiplied(
    offset: sympy.Expr, slope: sympy.Integer
) -> tuple[sympy.Expr, sympy.Expr, list[tuple[sympy.Expr, int]]]:
    """Gamma(offset + slope s) = constant * base^s * prod Gamma(c +- s), DLMF 5.5.6."""
    m = int(abs(slope))
    sign = 1 if slope > 0 else -1
    constant = (2 * sympy.pi) ** (_HALF * (1 - m)) * sympy.Integer(m) ** (offset - _HALF)
    parts = [(sympy.expand((offset + r) / m), sign) for r in range(m)]
    return constant, sympy.Integer(m) ** slope, parts


def _function(
    up: list[tuple[sympy.Expr, int]], down: list[tuple[sympy.Expr, int]], x: sympy.Expr
) -> sympy.Expr:
    """(1/2 pi i) times the integral of prod Gamma(up) / prod Gamma(down) x^s."""
    rising, falling = ([c for c, sign in up if sign == way] for way in (1, -1))
    lower_rising, lower_falling = ([c for c, sign in down if sign == way] for way in (1, -1))
    is_series = len(rising) <= len(lower_rising) + 1
    if falling == [0] and not lower_falling and is_series:
        gammas = sympy.Mul(*map(sympy.gamma, rising)) / sympy.Mul(*map(sympy.gamma, lower_rising))
        return gammas * _hypergeometric(rising, lower_rising, -x)
    if not rising and not lower_rising and not lower_falling and len(falling) == 2:
        one, two = falling
        return 2 * x ** ((one + two) * _HALF) * sympy.besselk(one - two, 2 * sympy.sqrt(x))
    return sympy.meijerg(
        [[1 - c for c in rising], lower_falling], [falling, [1 - c for c in lower_rising]], x
    )


def _hypergeometric(above: list[sympy.Expr], below: list[sympy.Expr], x: sympy.Expr) -> sympy.Expr:
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

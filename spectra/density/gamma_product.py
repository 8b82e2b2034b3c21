r"""Mellin transforms of kernels on the half-line, as products of Gamma functions.

.. math:: M(s) = \int_0^\infty k(z) z^{s-1} dz = C\,\lambda^{-s}
          \prod_i\Gamma(a_i + b_i s) \Big/ \prod_j \Gamma(c_j + e_j s)

All a_i, b_i, c_j and e_j are rational, so cancellations of poles are exact.  The density is then

.. math:: \mu(w) = \frac{2^{1-d}}{\pi^{d/2}}\;\frac{1}{2\pi i}\int
          \frac{\Gamma(-\tau)}{\Gamma(d/2+\tau)} M(d+2\tau) \Bigl(\frac{w^2}{4}\Bigr)^\tau d\tau

Gauss's multiplication formula makes all coefficients of tau 1 or -1: this is Meijer's G.  If M has
no poles in Re tau > 0, the residues at tau = 0, 1, 2, ... sum to a hypergeometric function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy

from spectra.base.precision import Ball, working_precision
from spectra.density.closed_pairs.pair import (
    W,
    order_and_rate,
    parse_summand,
    positive_rate,
    summands,
)
from spectra.formula.ball_function import constant_ball
from spectra.formula.parsing import Z

__all__ = ["BITS", "GammaProduct", "gamma_formula", "gamma_product", "gamma_products"]

#: The argument offset + slope * s of a Gamma function.
_LinearArgument = tuple[sympy.Rational, sympy.Rational]

#: Working precision for values of the transforms, whose sums may cancel.
BITS = 192
_ONE, _HALF = sympy.Integer(1), sympy.Rational(1, 2)
# Formulas with more parameters are too long to be useful.
_MOST_PARAMETERS = 12

#: (a, sign) of Gamma(a + sign s), with sign 1 or -1.
_Gamma = tuple[sympy.Expr, int]


@dataclass(frozen=True)
class GammaProduct:
    """M(s) = coefficient * scale**(-s) * prod Gamma(above) / prod Gamma(below).

    Attributes
    ----------
    coefficient, scale : sympy numbers
        The scale is positive; it is an inverse length.
    above, below : tuple of (offset, slope)
        Arguments offset + slope * s of the Gamma functions.

    Examples
    --------
    >>> gamma_product(sympy.exp(-2 * Z))
    GammaProduct(coefficient=1, scale=2, above=((0, 1),), below=())
    """

    coefficient: sympy.Expr
    scale: sympy.Expr
    above: tuple[_LinearArgument, ...]
    below: tuple[_LinearArgument, ...] = ()

    @property
    def strip(self) -> tuple[sympy.Expr, sympy.Expr]:
        """The real parts of s between which the integral converges."""
        left = [-a / b for a, b in self.above if b > 0]
        right = [a / -b for a, b in self.above if b < 0]
        return sympy.Max(-sympy.oo, *left), sympy.Min(sympy.oo, *right)

    @property
    def vertical_decay(self) -> sympy.Expr:
        """The r for which |M(c + iy)|, for fixed c, is like exp(-r |y|) times a power of |y|."""
        slopes = sum(abs(b) for _, b in self.above) - sum(abs(b) for _, b in self.below)
        return slopes * sympy.pi / 2

    def radial(self, dim: int) -> GammaProduct:
        r"""The Mellin transform of the radial density rho on R^dim, without factors that cancel.

        .. math:: R(u) = \int_0^\infty\rho(w) w^{u-1} dw
                  = \frac{2^u\,\Gamma((u+d-1)/2)}{\Gamma(d/2)\,\Gamma((1-u)/2)}\,M(1-u) .

        This is Parseval's formula with the transform of Omega_d, DLMF 10.22.43.
        """
        above = [(a + b, -b) for a, b in self.above]
        below = [(a + b, -b) for a, b in self.below]
        above.append((sympy.Rational(dim - 1, 2), _HALF))
        below.append((_HALF, -_HALF))
        for argument in list(above):
            if argument in below:
                above.remove(argument)
                below.remove(argument)
        front = self.coefficient / self.scale / sympy.gamma(sympy.Rational(dim, 2))
        return GammaProduct(front, 1 / (2 * self.scale), tuple(above), tuple(below))

    def value(self, u: Ball) -> Ball:
        """M(u) at Arb's precision."""
        log_coefficient, log_scale = self._logs
        value = (log_coefficient - log_scale * u).exp()
        for a, b in self.above:
            value *= (constant_ball(a) + constant_ball(b) * u).gamma()
        for c, e in self.below:
            value *= (constant_ball(c) + constant_ball(e) * u).rgamma()
        return value

    @cached_property
    def _logs(self) -> tuple[Ball, Ball]:
        """Logarithms of the coefficient and the scale."""
        with working_precision(BITS):
            return constant_ball(self.coefficient).log(), constant_ball(self.scale).log()


def gamma_product(term: sympy.Expr) -> GammaProduct | None:
    """The Mellin transform of one summand in Z on [0, oo); None if it is not known.

    It is known for powers of z times exp(-c z^p), (A + B z^p)^(-alpha), K_nu(c z) or erfc(c z) with
    rational p (Erdelyi and others, Tables of Integral Transforms I, chapter 6).

    Examples
    --------
    >>> gamma_product(1 / (1 + Z) ** 2).above
    ((0, 1), (2, -1))
    >>> gamma_product(sympy.cos(Z)) is None
    True
    """
    summand = parse_summand(term)
    # The summand has the factor exp(-exponent).
    exponent, factors = summand.linear * Z + summand.quadratic * Z**2, []
    for factor in summand.factors:
        base, power = factor.as_base_exp()
        if base.is_number and base.is_positive:
            exponent -= sympy.expand(sympy.log(base) * power)
        else:
            factors.append(factor)
    constant, exponent = exponent.as_independent(Z, as_Add=True)
    coefficient, power = summand.coefficient * sympy.exp(-constant), summand.power
    if not (coefficient.is_real and _is_known(power)) or coefficient == 0:
        return None
    if len(factors) + (exponent != 0) != 1:
        return None
    readers = (_binomial, _bessel_k, _complementary_error) if factors else (_exponential,)
    candidates = (read(*(factors or [exponent])) for read in readers)
    found = next((product for product in candidates if product is not None), None)
    if found is None:
        return None
    # The factor z^power replaces s by s + power.
    return GammaProduct(
        found.coefficient * coefficient * found.scale**-power,
        found.scale,
        tuple((a + b * power, b) for a, b in found.above),
        tuple((c + e * power, e) for c, e in found.below),
    )


def gamma_products(expr: sympy.Expr) -> list[GammaProduct] | None:
    """The Mellin transforms of the summands of a formula in Z; None if one is not known.

    Examples
    --------
    >>> len(gamma_products((1 + Z) * sympy.exp(-Z)))
    2
    """
    found = [gamma_product(term) if term.has(Z) else None for term in summands(expr)]
    return None if None in found else [product for product in found if product is not None]


def _is_known(offset: sympy.Expr) -> bool:
    """Whether an offset is rational, or a symbol of a family; slopes are always rational."""
    return bool(offset.is_Rational or (offset.free_symbols and offset.is_real))


def _exponential(exponent: sympy.Expr) -> GammaProduct | None:
    """exp(-c z^p): Gamma(s/p) / p * (c^(1/p))^(-s)."""
    rate, order = _monomial(exponent) or (None, _ONE)
    if rate is None or not rate.is_positive:
        return None
    return GammaProduct(1 / order, rate ** (1 / order), ((sympy.Integer(0), 1 / order),))


def _monomial(expr: sympy.Expr) -> tuple[sympy.Expr, sympy.Rational] | None:
    """The c and p > 0 of c z^p, or None."""
    coefficient, rest = expr.as_independent(Z, as_Add=False)
    base, order = rest.as_base_exp()
    if base != Z or not order.is_Rational or not order.is_positive or not coefficient.is_real:
        return None
    return coefficient, order


def _binomial(factor: sympy.Expr) -> GammaProduct | None:
    """(A + B z^p)^(-alpha) = A^-alpha (1 + (z/L)^p)^-alpha, L = (A/B)^(1/p)."""
    base, power = factor.as_base_exp()
    if not _is_known(power) or not power.is_negative or not base.is_Add or len(base.args) != 2:
        return None
    constant, variable = base.as_independent(Z, as_Add=True)
    coefficient, order = _monomial(variable) or (None, _ONE)
    if coefficient is None or not constant.is_positive or not coefficient.is_positive:
        return None
    ratio, alpha = coefficient / constant, -power
    return GammaProduct(
        constant**power / order / sympy.gamma(alpha),
        ratio ** (1 / order),
        ((sympy.Integer(0), 1 / order), (alpha, -1 / order)),
    )


def _bessel_k(factor: sympy.Expr) -> GammaProduct | None:
    """K_nu(c z): 2^(s-2) Gamma((s-nu)/2) Gamma((s+nu)/2) c^(-s), DLMF 10.43.19."""
    nu, rate = order_and_rate(factor, sympy.besselk) or (None, _ONE)
    if nu is None or not _is_known(nu):
        return None
    return GammaProduct(sympy.Rational(1, 4), rate / 2, ((-nu / 2, _HALF), (nu / 2, _HALF)))


def _complementary_error(factor: sympy.Expr) -> GammaProduct | None:
    """erfc(c z): Gamma((s+1)/2) / (sqrt(pi) s) * c^(-s), by parts from exp(-(c z)^2)."""
    rate = positive_rate(factor.args[0]) if isinstance(factor, sympy.erfc) else None
    if rate is None:
        return None
    above = ((_HALF, _HALF), (sympy.Integer(0), _ONE))
    return GammaProduct(1 / sympy.sqrt(sympy.pi), rate, above, ((_ONE, _ONE),))


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

r"""Mellin transforms of kernels on the half-line, as products of Gamma functions.

.. math:: M(s) = \int_0^\infty k(z) z^{s-1} dz = C\,b^{-s}
          \prod_i\Gamma(a_i + b_i s) \Big/ \prod_j \Gamma(c_j + e_j s)

All of a, b, c, e are rational, so that poles are told from their cancellations exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy

from spectra.base.precision import Ball, working_precision
from spectra.density.closed_pairs.summands import positive_rate, read, scaled_argument, summands
from spectra.formula.evaluation.ball_function import number
from spectra.formula.reader.parsing import Z

__all__ = ["BITS", "GammaProduct", "LinearArgument", "gamma_product", "gamma_products"]

#: The argument offset + slope * s of a Gamma function.
LinearArgument = tuple[sympy.Rational, sympy.Rational]

#: Bits of the residues: terms of a sum of kernels cancel in them.  A sum that is not told from zero
#: by so many is zero.
BITS = 192
_ONE = sympy.Integer(1)
_HALF = sympy.Rational(1, 2)


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
    above: tuple[LinearArgument, ...]
    below: tuple[LinearArgument, ...] = ()

    @property
    def strip(self) -> tuple[sympy.Expr, sympy.Expr]:
        """The real parts of s between which the integral converges."""
        left = [-a / b for a, b in self.above if b > 0]
        right = [a / -b for a, b in self.above if b < 0]
        return sympy.Max(-sympy.oo, *left), sympy.Min(sympy.oo, *right)

    @property
    def decay(self) -> sympy.Expr:
        """t with abs(M(c + iy)) falling like exp(-t abs(y)) times a power; at most 0 if not."""
        slopes = sum(abs(b) for _, b in self.above) - sum(abs(b) for _, b in self.below)
        return slopes * sympy.pi / 2

    def radial(self, dim: int) -> GammaProduct:
        r"""That of the radial density in a dimension, in u = 1 - s; what cancels is left out.

        .. math:: R(u) = \int_0^\infty\rho(w) w^{u-1} dw
                  = \frac{2^u\,\Gamma((u+d-1)/2)}{\Gamma(d/2)\,\Gamma((1-u)/2)}\,M(1-u) ,

        Parseval's formula with the transform of Omega_d, DLMF 10.22.43.
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
        front, base = self.logs
        total = (front + base * u).exp()
        for arguments, is_above in ((self.above, True), (self.below, False)):
            for a, b in arguments:
                argument = number(a) + number(b) * u
                total *= argument.gamma() if is_above else argument.rgamma()
        return total

    @cached_property
    def logs(self) -> tuple[Ball, Ball]:
        """log C and -log b, so that C b^-s = exp(log C + s (-log b))."""
        with working_precision(BITS):
            return number(self.coefficient).log(), -number(self.scale).log()


def gamma_product(term: sympy.Expr) -> GammaProduct | None:
    """The Mellin transform of one summand in Z on [0, oo), or None where it is not in the table.

    The table: a power of z times one of exp(-c z^p), (A + B z^p)^(-alpha), K_nu(c z), erfc(c z),
    with rational p.
    (Erdelyi and others, Tables of Integral Transforms I, chapter 6.)

    Examples
    --------
    >>> gamma_product(1 / (1 + Z) ** 2).above
    ((0, 1), (2, -1))
    >>> gamma_product(sympy.cos(Z)) is None
    True
    """
    summand = read(term)
    exponent, factors = summand.linear * Z + summand.quadratic * Z**2, []
    for factor in summand.factors:
        base, top = factor.as_base_exp()
        if base.is_number and base.is_positive:
            exponent -= sympy.expand(sympy.log(base) * top)
        else:
            factors.append(factor)
    constant, exponent = exponent.as_independent(Z, as_Add=True)
    coefficient, power = summand.coefficient * sympy.exp(-constant), summand.power
    if not (coefficient.is_real and power.is_Rational) or coefficient == 0:
        return None
    if len(factors) + (exponent != 0) != 1:
        return None
    readers = (_binomial, _bessel_k, _complementary_error) if factors else (_exponential,)
    tried = (read_one(*(factors or [exponent])) for read_one in readers)
    found = next((product for product in tried if product is not None), None)
    if found is None:
        return None
    # Times z^power: s becomes s + power.
    return GammaProduct(
        found.coefficient * coefficient * found.scale**-power,
        found.scale,
        tuple((a + b * power, b) for a, b in found.above),
        tuple((c + e * power, e) for c, e in found.below),
    )


def gamma_products(expr: sympy.Expr) -> list[GammaProduct] | None:
    """The Mellin transforms of the summands of a formula in Z, None if one is not in the table.

    Examples
    --------
    >>> len(gamma_products((1 + Z) * sympy.exp(-Z)))
    2
    """
    found = [gamma_product(term) if term.has(Z) else None for term in summands(expr)]
    return None if None in found else [product for product in found if product is not None]


def _exponential(exponent: sympy.Expr) -> GammaProduct | None:
    """exp(-c z^p): Gamma(s/p) / p * (c^(1/p))^(-s)."""
    found = _monomial(exponent)
    if found is None or not found[0].is_positive:
        return None
    rate, order = found
    return GammaProduct(1 / order, rate ** (1 / order), ((sympy.Integer(0), 1 / order),))


def _monomial(expr: sympy.Expr) -> tuple[sympy.Expr, sympy.Rational] | None:
    """c and p > 0 of c z^p."""
    coefficient, rest = expr.as_independent(Z, as_Add=False)
    base, order = rest.as_base_exp()
    if base != Z or not order.is_Rational or not order.is_positive or not coefficient.is_real:
        return None
    return coefficient, order


def _binomial(factor: sympy.Expr) -> GammaProduct | None:
    """(A + B z^p)^(-alpha) = A^-alpha (1 + (z/L)^p)^-alpha, L = (A/B)^(1/p)."""
    base, top = factor.as_base_exp()
    if not top.is_Rational or not top.is_negative or not base.is_Add or len(base.args) != 2:
        return None
    constant, moving = base.as_independent(Z, as_Add=True)
    found = _monomial(moving)
    if found is None or not constant.is_positive or not found[0].is_positive:
        return None
    ratio, order = found[0] / constant, found[1]
    alpha = -top
    return GammaProduct(
        constant**top / order / sympy.gamma(alpha),
        ratio ** (1 / order),
        ((sympy.Integer(0), 1 / order), (alpha, -1 / order)),
    )


def _bessel_k(factor: sympy.Expr) -> GammaProduct | None:
    """K_nu(c z): 2^(s-2) Gamma((s-nu)/2) Gamma((s+nu)/2) c^(-s), DLMF 10.43.19."""
    match = scaled_argument(factor, sympy.besselk)
    if match is None or not match[0].is_Rational:
        return None
    nu, rate = match
    return GammaProduct(sympy.Rational(1, 4), rate / 2, ((-nu / 2, _HALF), (nu / 2, _HALF)))


def _complementary_error(factor: sympy.Expr) -> GammaProduct | None:
    """erfc(c z): Gamma((s+1)/2) / (sqrt(pi) s), DLMF 7.7."""
    if not isinstance(factor, sympy.erfc):
        return None
    rate = positive_rate(factor.args[0])
    if rate is None:
        return None
    above = ((_HALF, _HALF), (sympy.Integer(0), _ONE))
    return GammaProduct(1 / sympy.sqrt(sympy.pi), rate, above, ((_ONE, _ONE),))

"""Rational quadratics, mixtures of Gaussians over a Gamma law."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np
import sympy
from mpmath import mp
from scipy.special import gammaincinv

from spectra.base.numbers import FloatArray
from spectra.base.precision import working
from spectra.density.closed_pairs.log_bessel_k import log_scaled_bessel_k, log_scaled_bessel_k_error
from spectra.density.closed_pairs.pair import (
    CONSTANT,
    DIGITS,
    LEAST_SHARE,
    OUTSIDE,
    ROUNDING,
    CentredPair,
    Term,
    W,
)
from spectra.density.closed_pairs.summands import Summand, polynomial, tidy, to_mpf
from spectra.formula.reader.parsing import Z

__all__ = ["RationalQuadratic"]

# The elementary form of K of a half-integer order has one more term than this.
_LARGEST_ELEMENTARY_ORDER = 3


def _bessel_k_formula(order: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    """K_order(x) as an expression, elementary where it is short (DLMF 10.49.12)."""
    n = order - sympy.Rational(1, 2)
    if not (n.is_Integer and n <= _LARGEST_ELEMENTARY_ORDER):
        return sympy.besselk(order, x)
    terms = [
        sympy.factorial(n + k) / (sympy.factorial(k) * sympy.factorial(n - k)) / (2 * x) ** k
        for k in range(int(n) + 1)
    ]
    return sympy.sqrt(sympy.pi / (2 * x)) * sympy.exp(-x) * sympy.Add(*terms)


def _log_bessel_k(order: Any, x: Any) -> Any:
    """log K_order(x); mpmath's own function gives up for some large orders."""
    bits = mp.prec
    while True:
        with working(bits):
            value = flint.arb(x).bessel_k(flint.arb(order))
            if value.rel_accuracy_bits() > mp.prec // 2:
                return mp.mpf(value.log())
        bits *= 2


@dataclass(frozen=True)
class RationalQuadratic(CentredPair):
    r"""Spectral component of a rational quadratic (Cauchy) kernel, c (1 + z^2/b^2)^(-alpha).

    .. math:: \mu(w) = c\,\frac{2 b^d}{(4\pi)^{d/2}\Gamma(\alpha)} (bw/2)^{\alpha-d/2}
                       K_{d/2-\alpha}(bw)

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    alpha : sympy number
        Exponent, greater than 0.
    scale : sympy number
        b > 0, a length.
    coefficient : sympy number
        c = k(0), not zero.

    Notes
    -----
    A Gamma(alpha) mixture of Gaussians; the integral is DLMF 10.32.10.  At the origin the radial
    density behaves like w^(min(2 alpha, d) - 1), with a logarithm where 2 alpha = d.

    Examples
    --------
    >>> import numpy as np
    >>> r = RationalQuadratic(1, sympy.Integer(1), sympy.Integer(1), sympy.Integer(1))
    >>> round(float(np.exp(r.signed_log(np.array([2.0]))[1][0])), 12)     # exp(-w) at w = 2
    0.135335283237
    """

    has_one_sign = True

    dim: int
    alpha: sympy.Expr
    scale: sympy.Expr
    coefficient: sympy.Expr
    _order: float = field(init=False, repr=False, compare=False)
    _scale: float = field(init=False, repr=False, compare=False)
    _bessel_centre: float = field(init=False, repr=False, compare=False)

    @classmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """z^(2j) (A + B z^2)^(-alpha), A, B > 0, j <= alpha."""
        factor, j = s.lone_factor, s.even_power
        if factor is None or j is None:
            return None
        base, exponent = factor.as_base_exp()
        poly = polynomial(base)
        if poly is None or not exponent.is_number or not exponent.is_negative:
            return None
        scale, power = sympy.Integer(1), 1
        if poly.degree() > 2:
            (scale, roots) = sympy.factor_list(base)
            if len(roots) != 1:
                return None
            poly, power = sympy.Poly(roots[0][0], Z), roots[0][1]
        a, b, c = (poly.coeff_monomial(Z**i) for i in (0, 1, 2))
        if poly.degree() != 2 or b != 0 or not a.is_positive or not c.is_positive:
            return None
        alpha = -exponent * power
        if not (alpha - j).is_nonnegative:
            return None
        front = s.coefficient * scale**exponent * a ** (-alpha)
        length2 = tidy(a / c)
        # z^2 = b^2 [(1 + z^2/b^2) - 1]
        return [
            (
                CONSTANT if alpha == i else (alpha - i, sympy.sqrt(length2)),
                front * length2**j * sympy.binomial(j, i) * (-1) ** (j - i),
            )
            for i in range(j + 1)
        ]

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            alpha, b, c = to_mpf(self.alpha), to_mpf(self.scale), to_mpf(self.coefficient)
            half = mp.mpf(d) / 2
            order = float(abs(alpha - half))
            # The frequency is sqrt(2 s) / b times a Gaussian one, and s has the law Gamma(alpha).
            centre = float(mp.sqrt(4 * alpha * half) / b)
            x0 = b * mp.mpf(centre)
            log_centre = (
                mp.log(2 * b * abs(c)) - mp.loggamma(half) - mp.loggamma(alpha)
                + (alpha + half - 1) * mp.log(x0 / 2) + _log_bessel_k(abs(alpha - half), x0)
            )  # fmt: skip
            shares = (OUTSIDE, 1.0 - OUTSIDE)
            mixing = [max(float(gammaincinv(float(alpha), p)), LEAST_SHARE) for p in shares]
            chi = [float(gammaincinv(d / 2, p)) for p in shares]
            self._set(
                total=float(c),
                origin_exponent=float(min(2 * alpha, d) - 1),
                bulk=tuple(
                    2.0 * np.sqrt(s * y) / float(b) for s, y in zip(mixing, chi, strict=True)
                ),
                decay=np.inf,
                _sign=float(mp.sign(c)),
                _centre=centre,
                _log_centre=float(log_centre),
                _order=order,
                _scale=float(b),
                _bessel_centre=float(log_scaled_bessel_k(order, np.array(float(b) * centre))),
            )

    def _terms(self, w: FloatArray) -> tuple[FloatArray, ...]:
        return (
            self._origin_term(w, self.origin_exponent),
            log_scaled_bessel_k(self._order, self._scale * w),
            np.full_like(w, -self._bessel_centre),
        )

    def _conditioning(self, w: FloatArray) -> FloatArray:
        # x = b w is rounded, and the slope of the Bessel term in log x is at most this.
        x = self._scale * w
        slope = x * (x / (x + self._order + 1.0))
        at_centre = float(log_scaled_bessel_k_error(self._order, self._scale * self._centre))
        bessel = log_scaled_bessel_k_error(self._order, x) + at_centre
        return np.asarray(bessel / ROUNDING + slope)

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        alpha, b, half = self.alpha, self.scale, sympy.Rational(self.dim, 2)
        front = 2 * b**self.dim / ((4 * sympy.pi) ** half * sympy.gamma(alpha))
        order = alpha - half
        bessel = _bessel_k_formula(-order if order.is_negative else order, b * W)
        return sympy.powsimp(self.coefficient * front * (b * W / 2) ** order * bessel)

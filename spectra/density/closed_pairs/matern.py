"""Matern kernels, whose radii have multivariate t laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import sympy
from mpmath import mp
from scipy.special import betaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import (
    DIGITS,
    LEAST_SHARE,
    OUTSIDE,
    CentredPair,
    Term,
    W,
    log_ratio,
)
from spectra.density.closed_pairs.summands import (
    LARGEST_POWER,
    Summand,
    scaled_argument,
    tidy,
    to_mpf,
)

__all__ = ["Matern", "in_matern"]


@dataclass(frozen=True)
class Matern(CentredPair):
    r"""Spectral component of a Matern kernel, a multivariate t law of the frequency.

    .. math:: k(z) = c\,\frac{2^{1-\nu}}{\Gamma(\nu)} (az)^\nu K_\nu(az), \qquad
              \mu(w) = c\,\frac{\Gamma(\nu+d/2)}{\Gamma(\nu)\pi^{d/2}}
                       \frac{a^{2\nu}}{(a^2+w^2)^{\nu+d/2}}

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    nu : sympy number
        Smoothness, greater than 0; 1/2 is the Laplace kernel exp(-a z).
    rate : sympy number
        a > 0, in units of 1/length.
    coefficient : sympy number
        c = k(0), not zero.

    Notes
    -----
    Stein, Interpolation of Spatial Data (1999), section 2.7; the degrees of freedom of the t law
    are 2 nu.

    Examples
    --------
    >>> import numpy as np
    >>> m = Matern(1, sympy.Rational(1, 2), sympy.Integer(1), sympy.Integer(1))
    >>> float(np.exp(m.signed_log(np.array([1.0]))[1][0]) * np.pi)    # 2/(1 + w^2) at w = 1
    1.0
    """

    has_one_sign = True

    dim: int
    nu: sympy.Expr
    rate: sympy.Expr
    coefficient: sympy.Expr
    _nu: float = field(init=False, repr=False, compare=False)
    _rate: float = field(init=False, repr=False, compare=False)

    @classmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """z^n exp(-a z), or z^(nu + 2j) K_nu(a z)."""
        factor = s.lone_factor
        return _of_exponential(s) if factor is None else _of_bessel_k(s, factor)

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            nu, a, c = to_mpf(self.nu), to_mpf(self.rate), to_mpf(self.coefficient)
            # The mode of the radius, except in one dimension, where it is 0.
            centre = float(a * mp.sqrt(max(d - 1, 1) / (2 * nu + 1)))
            w0 = mp.mpf(centre)
            half = mp.mpf(d) / 2
            log_centre = (
                mp.log(2 * abs(c)) + mp.loggamma(nu + half) - mp.loggamma(nu) - mp.loggamma(half)
                + 2 * nu * mp.log(a) + (d - 1) * mp.log(w0) - (nu + half) * mp.log(a**2 + w0**2)
            )  # fmt: skip
            # w^2 / (a^2 + w^2) has the law Beta(d/2, nu).
            low = float(betaincinv(d / 2, float(nu), OUTSIDE))
            high = max(float(betaincinv(float(nu), d / 2, OUTSIDE)), LEAST_SHARE)
            self._set(
                total=float(c),
                origin_exponent=float(d - 1),
                bulk=(
                    float(a) * np.sqrt(low / (1.0 - low)),
                    float(a) * np.sqrt((1.0 - high) / high),
                ),
                decay=float(1 + 2 * nu),
                _sign=float(mp.sign(c)),
                _centre=centre,
                _log_centre=float(log_centre),
                _nu=float(nu),
                _rate=float(a),
            )

    def _terms(self, w: FloatArray) -> tuple[FloatArray, ...]:
        power = self._nu + 0.5 * self.dim
        w0, a = self._centre, self._rate
        # Each side in the form whose exponents do not cancel: w^(d-1) below, w^(-1-2nu) above.
        low = np.minimum(w, w0)
        high = np.maximum(w, w0)
        return (
            self._origin_term(low, self.dim - 1.0),
            self._origin_term(high, -1.0 - 2.0 * self._nu),
            -power
            * log_ratio(
                1.0 + (low / a) ** 2, 1.0 + (w0 / a) ** 2, ((low - w0) / a) * ((low + w0) / a)
            ),
            -power
            * log_ratio(
                1.0 + (a / high) ** 2,
                1.0 + (a / w0) ** 2,
                (a / w0) ** 2 * ((w0 - high) / high) * ((w0 + high) / high),
            ),
        )

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        nu, a, half = self.nu, self.rate, sympy.Rational(self.dim, 2)
        front = sympy.gamma(nu + half) / (sympy.gamma(nu) * sympy.pi**half)
        return self.coefficient * front * a ** (2 * nu) / (a**2 + W**2) ** (nu + half)


def _of_exponential(s: Summand) -> list[Term] | None:
    if s.factors or s.quadratic != 0 or not s.linear.is_positive:
        return None
    if not (s.power.is_Integer and 0 <= s.power <= LARGEST_POWER):
        return None
    rate = tidy(s.linear)
    return [
        ((nu, rate), value) for nu, value in in_matern(int(s.power), s.coefficient / rate**s.power)
    ]


def in_matern(power: int, value: sympy.Expr) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
    """Orders and coefficients of the Matern kernels whose sum is value * x^power exp(-x).

    The reverse Bessel polynomials theta_n(x) = sum_k (n+k)! / (2^k k! (n-k)!) x^(n-k) are a
    basis, and theta_n(x) exp(-x) / theta_n(0) is the Matern kernel of order n + 1/2.
    """
    rest = [sympy.Integer(0)] * power + [value]
    for n in range(power, -1, -1):
        theta = _reverse_bessel(n)
        share = rest[n]  # theta_n is monic
        if share != 0:
            rest = [r - share * t for r, t in zip(rest, theta, strict=False)]
            yield n + sympy.Rational(1, 2), share * theta[0]


def _reverse_bessel(n: int) -> list[sympy.Expr]:
    """Coefficients of theta_n, the constant one first."""
    return [
        sympy.Rational(
            sympy.factorial(2 * n - j),
            2 ** (n - j) * sympy.factorial(n - j) * sympy.factorial(j),
        )
        for j in range(n + 1)
    ]


def _of_bessel_k(s: Summand, factor: sympy.Expr) -> list[Term] | None:
    """By K_nu = K_(nu+2) - (2(nu+1)/x) K_(nu+1)."""
    match = scaled_argument(factor, sympy.besselk)
    if match is None:
        return None
    order, rate = abs(match[0]), match[1]
    # z^p K_nu(a z) = a^-p x^p K_nu(x)
    pending = [(s.power, order, s.coefficient / rate**s.power)]
    found: list[Term] = []
    while pending:
        power, nu, value = pending.pop()
        if power == nu and nu.is_positive:
            found.append(((nu, rate), value * sympy.gamma(nu) * 2 ** (nu - 1)))
        elif (power - nu).is_Integer and power > nu and (power - nu) % 2 == 0:
            pending.append((power, nu + 2, value))
            pending.append((power - 1, nu + 1, -2 * (nu + 1) * value))
        else:
            return None
    return found

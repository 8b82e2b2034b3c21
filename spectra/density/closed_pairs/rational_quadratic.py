r"""Rational quadratic (Cauchy) kernels, which are mixtures of Gaussians over a Gamma distribution.

.. math:: k(z) = c\,(1 + z^2/b^2)^{-\alpha}, \qquad
          \mu(w) = c\,\frac{2 b^d}{(4\pi)^{d/2}\Gamma(\alpha)} (bw/2)^{\alpha-d/2}
                   K_{d/2-\alpha}(bw)

The parameters are alpha > 0 and b > 0; the integral is DLMF 10.32.10.  At the origin the radial
density behaves like w^(min(2 alpha, d) - 1), with a logarithm if 2 alpha = d.
"""

from __future__ import annotations

import numpy as np
import sympy
from mpmath import mp
from scipy.special import gammaincinv, kve

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.matern import reverse_bessel
from spectra.density.closed_pairs.pair import TAILS, ClosedPair, Term, Values, W, log_ratio
from spectra.density.closed_pairs.summands import Summand, polynomial, tidy, to_mpf
from spectra.formula.reader.parsing import Z

__all__ = ["log_bessel_k_integral", "rational_quadratic", "read_rational_quadratic"]

# exp(-40) is below the rounding of a sum of positive terms.
_NEGLIGIBLE = 40.0


def read_rational_quadratic(s: Summand, dim: int) -> list[Term] | None:
    """z^(2j) (A + B z^2)^(-alpha), A, B > 0, j < alpha."""
    if s.lone_factor is None or not (s.power / 2).is_integer or not s.power.is_nonnegative:
        return None
    base, exponent = s.lone_factor.as_base_exp()
    poly = polynomial(base)
    if poly is None or not exponent.is_number or not exponent.is_negative:
        return None
    a, b, c = (poly.coeff_monomial(Z**i) for i in (0, 1, 2))
    j, alpha, length2 = s.power / 2, -exponent, tidy(a / c)
    if poly.degree() != 2 or b != 0 or not (a.is_positive and c.is_positive and alpha > j):
        return None
    # z^2 = b^2 ((1 + z^2/b^2) - 1)
    value = s.coefficient * a**exponent * length2**j
    return [
        ((alpha - i, sympy.sqrt(length2)), value * sympy.binomial(j, i) * (-1) ** (j - i))
        for i in range(int(j) + 1)
    ]


def rational_quadratic(dim: int, alpha: sympy.Expr, scale: sympy.Expr, c: sympy.Expr) -> ClosedPair:
    """That of a rational quadratic kernel."""
    power, b, half = to_mpf(alpha), to_mpf(scale), mp.mpf(dim) / 2
    order, origin = abs(power - half), 2 * min(power, half) - 1
    # The frequency is sqrt(2 s) / b times a normal one, and s has the distribution Gamma(alpha).
    centre = float(mp.sqrt(4 * power * half) / b)
    x = b * mp.mpf(centre)
    root = mp.hypot(order, x)
    front = mp.log(2 * b * abs(to_mpf(c))) - mp.loggamma(half) - mp.loggamma(power)
    front += origin * mp.log(x / 2) - root + order * mp.log((order + root) / 2)
    nu, length, sign = float(order), float(b), float(sympy.sign(c))
    x0 = length * centre
    root0 = np.hypot(nu, x0)
    mixing = np.maximum(gammaincinv(float(power), TAILS), 1e-200)  # it may underflow
    low, high = 2.0 * np.sqrt(mixing * gammaincinv(dim / 2, TAILS)) / length

    formula = _formula(dim, alpha, scale, c)

    def values(w: FloatArray) -> Values:
        x = length * w
        root = np.hypot(nu, x)
        change = (x - x0) * ((x + x0) / (root + root0))
        terms = (
            float(origin) * log_ratio(w, centre, w - centre),
            nu * log_ratio(nu + root, nu + root0, change),
            -change,
            log_bessel_k_integral(nu, x),
        )
        # x is rounded, and this is the slope of log K in log x.
        return terms, sign, 1.0, x * (x / (x + nu + 1.0))

    return ClosedPair(
        rational_quadratic, dim, (alpha, scale), c, formula, float(front), values,
        origin_exponent=float(origin),
        bulk=(low, high),
        has_one_sign=True,
    )  # fmt: skip


def log_bessel_k_integral(order: float, x: FloatArray) -> FloatArray:
    r"""Logarithm of the integral that is left of K without its powers and its exponential.

    .. math:: (x/2)^\nu K_\nu(x) = \left(\frac{\nu+R}{2}\right)^\nu e^{-R}\;\frac12
              \int_{-\infty}^\infty e^{-(R-\nu)(\cosh s-1)-\nu(e^s-1-s)}\,ds,
              \quad R = \sqrt{\nu^2+x^2}

    It is DLMF 10.32.9 about its saddle point.  The trapezoidal rule converges exponentially, and
    no terms cancel, for every order nu >= 0 and every x > 0.  For nu < 1 and x < 1/2, where it
    would be long, K is scipy's.
    """
    log = np.empty_like(x)
    is_small = (x < 0.5) & (order < 1.0)
    y, root = x[is_small], np.hypot(order, x[is_small])
    log[is_small] = np.log(kve(order, y)) - y + root + order * np.log(y / (order + root))
    y = x[~is_small]
    if y.size:
        root = np.hypot(order, y)
        gap = y * (y / (root + order))  # R - nu
        step = 2.0 * np.pi / (26.0 + 9.0 * np.sqrt(root))
        left = np.arccosh(1.0 + _NEGLIGIBLE / gap)
        left = np.minimum(left, _NEGLIGIBLE / order + 1.0) if order else left
        right = np.arccosh(1.0 + _NEGLIGIBLE / root)
        first, last = (int(np.max(end / step)) + 2 for end in (left, right))
        s = np.multiply.outer(step, np.arange(-first, last))
        bell = 2.0 * gap[:, None] * np.sinh(0.5 * s) ** 2 + order * (np.expm1(s) - s)
        log[~is_small] = np.log(0.5 * step * np.exp(-bell).sum(axis=-1))
    return log


def _formula(dim: int, alpha: sympy.Expr, scale: sympy.Expr, c: sympy.Expr) -> sympy.Expr:
    half, x = sympy.Rational(dim, 2), scale * W
    front = 2 * scale**dim / ((4 * sympy.pi) ** half * sympy.gamma(alpha))
    order = abs(alpha - half)
    bessel = sympy.besselk(order, x)
    n = order - sympy.Rational(1, 2)
    if n.is_Integer and n <= 3:  # K is elementary, and short
        terms = (t * x**j for j, t in enumerate(reverse_bessel(int(n))))
        bessel = sympy.sqrt(sympy.pi / 2) * sympy.exp(-x) * sympy.Add(*terms) / x**order
    return sympy.powsimp(c * front * (x / 2) ** (alpha - half) * bessel)

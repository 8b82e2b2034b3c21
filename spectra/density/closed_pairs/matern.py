r"""Matern kernels, and exponentials times waves, which are Matern kernels of a complex rate.

.. math:: k(z) = \Re\, c\,\frac{2^{1-\nu}}{\Gamma(\nu)} (az)^\nu K_\nu(az), \qquad
          \mu(w) = \frac{\Gamma(\nu+d/2)}{\Gamma(\nu)\pi^{d/2}}\,
                   \Re\,\frac{c\,a^{2\nu}}{(a^2+w^2)^{\nu+d/2}}

The parameters are nu > 0 and a with a positive real part.  If a is real, the frequency has a
multivariate t distribution with 2 nu degrees of freedom (Stein, Interpolation of Spatial Data,
1999, section 2.7).  Both sides are analytic in a; for nu = 1/2, a = r - ib and c = 1 the kernel is
exp(-r z) cos(b z).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy
from mpmath import mp
from scipy.special import betaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import TAILS, ClosedPair, Term, Values, W
from spectra.density.closed_pairs.summands import (
    Summand,
    positive_rate,
    scaled_argument,
    tidy,
    to_mpf,
)

__all__ = ["matern", "read_matern"]

# Higher powers times an exponential are left to other routes: the summands would cancel to fewer
# than 12 digits.
_LARGEST_POWER = 5


def read_matern(s: Summand, dim: int) -> list[Term] | None:
    """z^n exp(-a z), z^n exp(-a z) cos(b z), z^n exp(-a z) sin(b z) or z^nu K_nu(a z)."""
    match = scaled_argument(s.lone_factor, sympy.besselk) if s.lone_factor is not None else None
    if match is not None and s.power == abs(match[0]) > 0:
        nu, rate = s.power, match[1]
        return [((nu, rate), s.coefficient * sympy.gamma(nu) * 2 ** (nu - 1) / rate**nu)]
    if s.quadratic != 0 or not s.linear.is_positive or len(s.factors) > 1:
        return None
    if not (s.power.is_Integer and 0 <= s.power <= _LARGEST_POWER):
        return None
    rate, value = tidy(s.linear), s.coefficient
    for wave in s.factors:
        is_wave = isinstance(wave, sympy.cos | sympy.sin)
        frequency = positive_rate(wave.args[0]) if is_wave else None
        if frequency is None:
            return None
        rate -= sympy.I * tidy(frequency)
        value *= 1 if isinstance(wave, sympy.cos) else -sympy.I
    return [((nu, rate), share) for nu, share in _of_power(int(s.power), value / rate**s.power)]


def _of_power(power: int, value: sympy.Expr) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
    """Orders and coefficients of the Matern kernels whose sum is value * x^power exp(-x).

    theta_n(x) exp(-x) / theta_n(0) is the Matern kernel of order n + 1/2.
    """
    rest = [sympy.Integer(0)] * power + [value]
    for n in range(power, -1, -1):
        theta, share = reverse_bessel(n), rest[n]  # theta_n is monic
        if share != 0:
            rest = [r - share * t for r, t in zip(rest, theta, strict=False)]
            yield n + sympy.Rational(1, 2), share * theta[0]


def reverse_bessel(n: int) -> list[sympy.Expr]:
    """Coefficients of theta_n(x) = sqrt(2/pi) exp(x) x^(n+1/2) K_(n+1/2)(x), DLMF 10.49.12."""
    return [sympy.ff(2 * n - j, n) / (sympy.factorial(j) * 2 ** (n - j)) for j in range(n + 1)]


def matern(dim: int, nu: sympy.Expr, rate: sympy.Expr, c: sympy.Expr) -> ClosedPair:
    """That of a Matern kernel."""
    order, half = to_mpf(nu), mp.mpf(dim) / 2
    value, a = (mp.mpc(*map(to_mpf, x.as_real_imag())) for x in (c, rate))
    scale = abs(a)
    front = mp.log(2 * abs(value) / scale)
    front += mp.loggamma(order + half) - mp.loggamma(order) - mp.loggamma(half)
    # The real part of 50 digits may be an exact zero.
    phase = mp.chop(value / abs(value) * (a / scale) ** (2 * order), 1e-40)

    def values(w: FloatArray) -> Values:
        return _values(w, dim, float(order), complex(a), complex(phase))

    if rate.is_real:
        # w^2 / (a^2 + w^2) has the distribution Beta(d/2, nu).  The radius must not overflow.
        low = betaincinv(dim / 2, float(nu), TAILS[0])
        high = max(betaincinv(float(nu), dim / 2, TAILS[0]), 1e-200)
        ends = float(scale) * np.sqrt([low / (1.0 - low), (1.0 - high) / high])
    else:
        # Where the mass per unit of log w is more than 1 % of its maximum.
        w = float(scale) * np.geomspace(1e-6, 1e6, 2001)
        terms, _, size, _ = values(w)
        mass = sum(terms) + np.log(size * w)
        ends = w[mass >= mass.max() + np.log(0.01)]
    return ClosedPair(
        matern, dim, (nu, rate), c, _formula(dim, nu, rate, c), float(front), values,
        origin_exponent=dim - 1.0,
        bulk=(ends[0], ends[-1]),
        # If the leading term of the tail is imaginary, the next one, in (a/w)^2, is not.
        decay=float(1 + 2 * order) + (0.0 if phase.real else 2.0),
        has_one_sign=bool(rate.is_real),
    )  # fmt: skip


def _values(w: FloatArray, dim: int, nu: float, a: complex, phase: complex) -> Values:
    """By w^(d-1) |a^2+w^2|^(-nu-d/2) = |1 + a^2/w^2|^((1-d)/2) |a^2+w^2|^(-nu-1/2)."""
    scale, b = abs(a), abs(a.imag)
    u, real = w / scale, a.real / scale
    near, far = (np.hypot((w - pole) / scale, real) for pole in (b, -b))
    direct = np.log(near) + np.log(far)  # log|a^2 + u^2|
    cross = 2.0 * (a * a).real / scale**2
    share = _log_modulus(cross, 1.0 / u, direct - 2.0 * np.log(u))
    terms = -0.5 * (dim - 1) * share, -(nu + 0.5) * _log_modulus(cross, u, direct)
    if b == 0.0:
        return terms, phase.real, 1.0, 0.0
    power = nu + 0.5 * dim
    sine = 2.0 * (real / near) * (a.imag / scale / far)
    cosine = ((w - b) / scale / near) * ((w + b) / scale / far) + (real / near) * (real / far)
    angle = power * np.arctan2(sine, cosine)
    factor = phase.real * np.cos(angle) + phase.imag * np.sin(angle)
    small = np.minimum(np.abs(angle), 1.0)
    size = abs(phase.real) + abs(phase.imag) * small
    # The frequency is rounded, which counts near it; so is the angle.
    lost = 1.0 + 0.25 * (b / scale) / near
    turned = (power + np.abs(angle)) * lost * np.abs(sine)
    turned *= (abs(phase.real) * small + abs(phase.imag)) / size
    return terms, factor, size, power * lost + turned


def _log_modulus(cross: float, u: FloatArray, direct: FloatArray) -> FloatArray:
    """log|1 + a^2 u^2| for |a| = 1, to relative accuracy if it is small."""
    x = u * u * (u * u + cross)
    is_small = np.abs(x) < 0.5
    return np.where(is_small, 0.5 * np.log1p(np.where(is_small, x, 0.0)), direct)


def _formula(dim: int, nu: sympy.Expr, rate: sympy.Expr, c: sympy.Expr) -> sympy.Expr:
    half = sympy.Rational(dim, 2)
    front = sympy.gamma(nu + half) / (sympy.gamma(nu) * sympy.pi**half)
    if rate.is_real:
        return c * front * rate ** (2 * nu) / (rate**2 + W**2) ** (nu + half)
    pairs = (c, rate), (sympy.conjugate(c), sympy.conjugate(rate))
    return front / 2 * sympy.Add(*(
        c * sympy.expand(a ** (2 * nu)) / (sympy.expand(a**2) + W**2) ** (nu + half)
        for c, a in pairs
    ))  # fmt: skip

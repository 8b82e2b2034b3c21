r"""Matern kernels, with a complex rate a for exponentials times cosines and sines.

.. math:: k(z) = \Re\, c\,\frac{2^{1-\nu}}{\Gamma(\nu)} (az)^\nu K_\nu(az), \qquad
          \mu(w) = \frac{\Gamma(\nu+d/2)}{\Gamma(\nu)\pi^{d/2}}\,
                   \Re\,\frac{c\,a^{2\nu}}{(a^2+w^2)^{\nu+d/2}}

The parameters are nu > 0 and a with a positive real part.  If a is real, the frequency has a
multivariate t distribution with 2 nu degrees of freedom (Stein, Interpolation of Spatial Data,
1999, section 2.7).  The formulas hold for complex a and c, too: for nu = 1/2, a = r - ib and c = 1
the kernel is exp(-r z) cos(b z).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy
from mpmath import mp
from scipy.special import betaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import (
    TAILS,
    ClosedPair,
    FamilyKernel,
    Summand,
    TermValues,
    W,
    canonical,
    order_and_rate,
    positive_rate,
    to_mpf,
)

__all__ = ["matern", "matern_formula", "read_matern"]

# Higher powers times an exponential are left to other routes: sums of Matern kernels would cancel
# to fewer than 12 digits.
_LARGEST_POWER = 5


def read_matern(s: Summand, dim: int) -> list[FamilyKernel] | None:
    """Read c z^nu K_nu(a z), or c z^n exp(-a z), also times cos(b z) or sin(b z)."""
    order, rate = order_and_rate(s.single_factor, sympy.besselk) or (None, sympy.Integer(0))
    if order is not None and s.power == abs(order) > 0:
        nu = s.power
        return [((nu, rate), s.coefficient * sympy.gamma(nu) * 2 ** (nu - 1) / rate**nu)]
    if s.quadratic != 0 or not s.linear.is_positive or len(s.factors) > 1:
        return None
    if not (s.power.is_Integer and 0 <= s.power <= _LARGEST_POWER):
        return None
    rate, value = canonical(s.linear), s.coefficient
    for wave in s.factors:
        is_wave = isinstance(wave, sympy.cos | sympy.sin)
        frequency = positive_rate(wave.args[0]) if is_wave else None
        if frequency is None:
            return None
        # cos(b z) is the real part of exp(i b z), and sin(b z) that of -i exp(i b z).
        rate -= sympy.I * canonical(frequency)
        value *= 1 if isinstance(wave, sympy.cos) else -sympy.I
    return [((nu, rate), c) for nu, c in _decompose_power(int(s.power), value / rate**s.power)]


def _decompose_power(power: int, value: sympy.Expr) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
    """Orders and coefficients of the Matern kernels whose sum is value * x^power exp(-x).

    theta_n(x) exp(-x) / theta_n(0) is the Matern kernel of order n + 1/2.
    """
    remainder = [sympy.Integer(0)] * power + [value]
    for n in range(power, -1, -1):
        theta, lead = reverse_bessel(n), remainder[n]  # theta_n is monic
        if lead != 0:
            remainder = [r - lead * t for r, t in zip(remainder, theta, strict=False)]
            yield n + sympy.Rational(1, 2), lead * theta[0]


def reverse_bessel(n: int) -> list[sympy.Expr]:
    """Coefficients of theta_n(x) = sqrt(2/pi) exp(x) x^(n+1/2) K_(n+1/2)(x), DLMF 10.49.12."""
    return [sympy.ff(2 * n - j, n) / (sympy.factorial(j) * 2 ** (n - j)) for j in range(n + 1)]


def matern(dim: int, nu: sympy.Expr, rate: sympy.Expr, c: sympy.Expr) -> ClosedPair:
    """The density of a Matern kernel."""
    order, half = to_mpf(nu), mp.mpf(dim) / 2
    value, a = (mp.mpc(*map(to_mpf, x.as_real_imag())) for x in (c, rate))
    scale = abs(a)
    front = mp.log(2 * abs(value) / scale)
    front += mp.loggamma(order + half) - mp.loggamma(order) - mp.loggamma(half)
    # A part below 1e-40 is a rounding error of 50 digits: the phase is exactly real or imaginary.
    phase = mp.chop(value / abs(value) * (a / scale) ** (2 * order), 1e-40)

    def values(w: FloatArray) -> TermValues:
        return _values(w, dim, float(order), complex(a), complex(phase))

    if rate.is_real:
        # w^2 / (a^2 + w^2) has the distribution Beta(d/2, nu).  The radius must not overflow.
        low = betaincinv(dim / 2, float(nu), TAILS[0])
        high = max(betaincinv(float(nu), dim / 2, TAILS[0]), 1e-200)
        bulk = float(scale) * np.sqrt([low / (1.0 - low), (1.0 - high) / high])
    else:
        # The radii where w times the local size of rho is more than 1 % of its maximum.
        w = float(scale) * np.geomspace(1e-6, 1e6, 2001)
        terms, _, size, _ = values(w)
        log_size = sum(terms) + np.log(size * w)
        bulk = w[log_size >= log_size.max() + np.log(0.01)]
    return ClosedPair(
        matern, dim, (nu, rate), c, matern_formula(dim, nu, rate, c), float(front), values,
        origin_exponent=dim - 1.0,
        bulk=(bulk[0], bulk[-1]),
        # If the leading term of the tail is imaginary, the next one, in (a/w)^2, is not.
        decay=float(1 + 2 * order) + (0.0 if phase.real else 2.0),
        has_one_sign=bool(rate.is_real),
    )  # fmt: skip


def _values(w: FloatArray, dim: int, nu: float, a: complex, phase: complex) -> TermValues:
    """The :data:`TermValues` of a Matern kernel at radii w; ``phase`` is that of c a^(2 nu)."""
    # w^(d-1) |a^2 + w^2|^(-nu-d/2) is |1 + a^2/w^2|^((1-d)/2) |a^2 + w^2|^(-nu-1/2).
    scale, b = abs(a), abs(a.imag)
    u, real = w / scale, a.real / scale  # lengths in units of |a|
    near, far = (np.hypot((w - pole) / scale, real) for pole in (b, -b))
    log_modulus = np.log(near) + np.log(far)  # log|a^2 + w^2|
    twice_square = 2.0 * (a * a).real / scale**2
    log_ratio = _log_modulus(twice_square, 1.0 / u, log_modulus - 2.0 * np.log(u))
    log_modulus = _log_modulus(twice_square, u, log_modulus)
    terms = -0.5 * (dim - 1) * log_ratio, -(nu + 0.5) * log_modulus
    if b == 0.0:
        return terms, phase.real, 1.0, 0.0
    power = nu + 0.5 * dim
    sine = 2.0 * (real / near) * (a.imag / scale / far)
    cosine = ((w - b) / scale / near) * ((w + b) / scale / far) + (real / near) * (real / far)
    angle = power * np.arctan2(sine, cosine)  # of (a^2 + w^2)^power
    factor = phase.real * np.cos(angle) + phase.imag * np.sin(angle)
    small = np.minimum(np.abs(angle), 1.0)
    size = abs(phase.real) + abs(phase.imag) * small
    # Rounding of w - b, amplified near b, changes the modulus and the angle.
    amplified = 1.0 + 0.25 * (b / scale) / near
    angle_roundings = (power + np.abs(angle)) * amplified * np.abs(sine)
    angle_roundings *= (abs(phase.real) * small + abs(phase.imag)) / size
    return terms, factor, size, power * amplified + angle_roundings


def _log_modulus(twice_square: float, u: FloatArray, rough: FloatArray) -> FloatArray:
    """log|1 + a^2 u^2| for |a| = 1: if small, from twice_square = 2 Re a^2, else ``rough``."""
    x = u * u * (u * u + twice_square)  # |1 + a^2 u^2|^2 - 1
    is_small = np.abs(x) < 0.5
    return np.where(is_small, 0.5 * np.log1p(np.where(is_small, x, 0.0)), rough)


def matern_formula(dim: int, nu: sympy.Expr, rate: sympy.Expr, c: sympy.Expr) -> sympy.Expr:
    """mu(w) on R^dim of a Matern kernel, whose parameters may be symbols."""
    half = sympy.Rational(dim, 2)
    front = sympy.gamma(nu + half) / (sympy.gamma(nu) * sympy.pi**half)
    if rate.is_real:
        return c * front * rate ** (2 * nu) / (rate**2 + W**2) ** (nu + half)
    pairs = (c, rate), (sympy.conjugate(c), sympy.conjugate(rate))
    return front / 2 * sympy.Add(*(
        c * sympy.expand(a ** (2 * nu)) / (sympy.expand(a**2) + W**2) ** (nu + half)
        for c, a in pairs
    ))  # fmt: skip

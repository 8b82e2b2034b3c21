r"""Spectral components of kernels that are smooth away from z = 0, in every dimension.

Gaussians times polynomials in z^2, Matern kernels, rational quadratics and plane-wave means.
The Fourier convention is :math:`k(z) = \int e^{i\omega\cdot\Delta}\mu(d\omega)`, and
:math:`\rho(w) = S_{d-1} w^{d-1} \mu(w)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from spectra.density import EndTail, FastTail, PowerTail
from spectra.transform.smooth_pairs.bessel_k import log_scaled_bessel_k, log_scaled_bessel_k_error
from spectra.transform.smooth_pairs.centred import (
    DIGITS,
    ROUNDING,
    CentredComponent,
    exact,
    log_ratio,
)
from spectra.transform.smooth_pairs.laguerre import absolute_sum, laguerre_taylor, polynomial

__all__ = ["Gaussian", "Matern", "PlaneWaveMean", "RationalQuadratic", "W"]

FloatArray = NDArray[np.float64]
#: The radius of a frequency, the variable of the formulas of densities.
W = sympy.Symbol("w", positive=True)

# The bulk leaves out this share of a law on each side.
_OUTSIDE = 0.01
# A share of a law below this lies at no radius that a double can hold.
_LEAST_SHARE = 1e-200
# The elementary form of K of a half-integer order has one more term than this.
_LARGEST_ELEMENTARY_ORDER = 3
# exp(-y) is 0 at such a y for every use, and a polynomial of y does not overflow.
_LARGEST_OFFSET = 1e10


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
    """log K_order(x) to 30 digits, by the trapezoidal rule for DLMF 10.32.9.

    mpmath's own function gives up for some large orders.
    """
    saddle = mp.asinh(order / x)
    # The integrand is analytic for |Im t| < pi/2, and a Gaussian of this width at the saddle.
    step = min(mp.mpf(1) / 12, mp.sqrt(1 / mp.sqrt(x * x + order * order)) / 2)
    top = order * saddle - x * mp.cosh(saddle)

    def sweep(sign: int) -> Any:
        total, k = mp.mpf(0), 1 if sign > 0 else 0
        while True:
            t = saddle + sign * k * step
            log = order * t - x * mp.cosh(t) - top
            # Beyond the saddle, or the origin on the left, the integrand only falls.
            if log < -95:
                return total
            total += mp.exp(log)
            k += 1

    return top + mp.log(step / 2 * (sweep(1) + sweep(-1)))


@dataclass(frozen=True)
class Gaussian(CentredComponent):
    r"""Spectral component of a Gaussian times a polynomial in z^2.

    .. math:: k(z) = e^{-a z^2} \sum_j c_j z^{2j}

    .. math:: \mu(w) = (4\pi a)^{-d/2} e^{-y} \sum_j c_j\,j!\,a^{-j} L_j^{(d/2-1)}(y),
              \qquad y = w^2/(4a)

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    rate : sympy number
        a > 0, in units of 1/length^2.
    coefficients : tuple of sympy numbers
        c_0, c_1, ...; the last one is not zero.

    Notes
    -----
    The transform is DLMF 10.22.51 and its derivatives in a; the polynomial is stored as its
    Taylor series at the centre of the bulk, so that it keeps its digits at d = 1000.

    Examples
    --------
    >>> import numpy as np
    >>> g = Gaussian(1, sympy.Rational(1, 2), (sympy.Integer(1),))
    >>> sign, log = g.signed_log(np.array([1.0]))
    >>> round(float(np.exp(log[0])), 12)            # 2 phi(1)
    0.483941449038
    """

    dim: int
    rate: sympy.Expr
    coefficients: tuple[sympy.Expr, ...]
    _quarter: float = field(init=False, repr=False, compare=False)
    _taylor: FloatArray = field(init=False, repr=False, compare=False)
    _powers: FloatArray = field(init=False, repr=False, compare=False)

    @property
    def has_one_sign(self) -> bool:  # type: ignore[override]
        """Whether it is a Gaussian without a polynomial."""
        return len(self.coefficients) == 1

    def __post_init__(self) -> None:
        d, degree = self.dim, len(self.coefficients) - 1
        with mp.workdps(DIGITS):
            a = exact(self.rate)
            centre = float(mp.sqrt(2 * a * max(d - 1, 1)))
            y0, half = mp.mpf(centre) ** 2 / (4 * a), mp.mpf(d) / 2
            log_centre = (
                mp.log(2) - mp.loggamma(half) - y0
                + (d - 1) * mp.log(centre) - half * mp.log(4 * a)
            )  # fmt: skip
            scaled = [exact(c) * mp.factorial(j) / a**j for j, c in enumerate(self.coefficients)]
            taylor = laguerre_taylor(scaled, half - 1, y0)
            powers = laguerre_taylor(scaled, half - 1, mp.mpf(0))
            scale = max(abs(q) for q in taylor)
            # A sum of 50-digit terms this small is an exact zero.
            zero = mp.mpf(10) ** (10 - DIGITS) * max(abs(q) for q in powers)
            powers = [mp.mpf(0) if abs(q) < zero else q for q in powers]
            order = next(i for i, q in enumerate(powers) if q != 0)
            self._set(
                total=float(exact(self.coefficients[0])),
                origin_exponent=float(d - 1 + 2 * order),
                bulk=(
                    float(mp.sqrt(4 * a)) * float(np.sqrt(gammaincinv(d / 2, _OUTSIDE))),
                    float(mp.sqrt(4 * a))
                    * float(np.sqrt(gammaincinv(d / 2 + degree, 1 - _OUTSIDE))),
                ),
                tail=FastTail(),
                _sign=float(mp.sign(taylor[0])),
                _centre=centre,
                _log_centre=float(log_centre + mp.log(scale)),
                _quarter=float(1 / (4 * a)),
                _taylor=np.array([float(q / scale) for q in taylor]),
                _powers=np.array([float(q / scale) for q in powers]),
            )

    def _offset(self, w: FloatArray) -> FloatArray:
        """y(w) - y(centre)."""
        return (w - self._centre) * (w + self._centre) * self._quarter

    def _terms(self, w: FloatArray) -> tuple[FloatArray, ...]:
        return self._origin_term(w, self.dim - 1.0), -self._offset(w)

    def _conditioning(self, w: FloatArray) -> FloatArray:
        return np.full_like(w, 4.0 * (len(self._taylor) - 1))

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of the absolute value of the component at radii w > 0."""
        sign, log = CentredComponent.signed_log(self, w)
        if len(self._taylor) == 1:
            return sign, log
        t, y = self._arguments(w)
        about_centre, about_zero = polynomial(self._taylor, t), polynomial(self._powers, y)
        near = absolute_sum(self._taylor, t) <= absolute_sum(self._powers, y)
        value = np.where(near, about_centre, about_zero)
        with np.errstate(divide="ignore"):
            return np.sign(value), log + np.log(np.abs(value))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """Logarithm of the local size: the absolute terms of the polynomial, added."""
        log = CentredComponent.signed_log(self, w)[1]
        if len(self._taylor) == 1:
            return log
        t, y = self._arguments(w)
        # One more unit of y, so that the size is not small where the value passes through zero.
        size = np.minimum(
            absolute_sum(self._taylor, np.abs(t) + 1.0), absolute_sum(self._powers, y)
        )
        with np.errstate(divide="ignore"):
            # A density that vanishes at the origin underflows there: its logarithm is -inf.
            return np.asarray(log + np.log(size))

    def _arguments(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """y - y(centre) and y, cut where the exponential is 0 and the polynomial overflows."""
        w = np.asarray(w, dtype=float)
        with np.errstate(over="ignore"):
            t, y = self._offset(w), w * w * self._quarter
        return np.minimum(t, _LARGEST_OFFSET), np.minimum(y, _LARGEST_OFFSET)

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        a, half = self.rate, sympy.Rational(self.dim, 2)
        y = W**2 / (4 * a)
        total = sum(
            c * sympy.factorial(j) / a**j * sympy.assoc_laguerre(j, half - 1, y)
            for j, c in enumerate(self.coefficients)
        )
        return (4 * sympy.pi * a) ** (-half) * sympy.exp(-y) * total


@dataclass(frozen=True)
class Matern(CentredComponent):
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

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            nu, a, c = exact(self.nu), exact(self.rate), exact(self.coefficient)
            # The mode of the radius, except in one dimension, where it is 0.
            centre = float(a * mp.sqrt(max(d - 1, 1) / (2 * nu + 1)))
            w0 = mp.mpf(centre)
            half = mp.mpf(d) / 2
            log_centre = (
                mp.log(2 * abs(c)) + mp.loggamma(nu + half) - mp.loggamma(nu) - mp.loggamma(half)
                + 2 * nu * mp.log(a) + (d - 1) * mp.log(w0) - (nu + half) * mp.log(a**2 + w0**2)
            )  # fmt: skip
            # w^2 / (a^2 + w^2) has the law Beta(d/2, nu).
            low = float(betaincinv(d / 2, float(nu), _OUTSIDE))
            high = max(float(betaincinv(float(nu), d / 2, _OUTSIDE)), _LEAST_SHARE)
            self._set(
                total=float(c),
                origin_exponent=float(d - 1),
                bulk=(
                    float(a) * np.sqrt(low / (1.0 - low)),
                    float(a) * np.sqrt((1.0 - high) / high),
                ),
                tail=PowerTail(float(1 + 2 * nu)),
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


@dataclass(frozen=True)
class RationalQuadratic(CentredComponent):
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

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            alpha, b, c = exact(self.alpha), exact(self.scale), exact(self.coefficient)
            half = mp.mpf(d) / 2
            order = float(abs(alpha - half))
            # The frequency is sqrt(2 s) / b times a Gaussian one, and s has the law Gamma(alpha).
            centre = float(mp.sqrt(4 * alpha * half) / b)
            x0 = b * mp.mpf(centre)
            log_centre = (
                mp.log(2 * b * abs(c)) - mp.loggamma(half) - mp.loggamma(alpha)
                + (alpha + half - 1) * mp.log(x0 / 2) + _log_bessel_k(abs(alpha - half), x0)
            )  # fmt: skip
            shares = (_OUTSIDE, 1.0 - _OUTSIDE)
            mixing = [max(float(gammaincinv(float(alpha), p)), _LEAST_SHARE) for p in shares]
            chi = [float(gammaincinv(d / 2, p)) for p in shares]
            self._set(
                total=float(c),
                origin_exponent=float(min(2 * alpha, d) - 1),
                bulk=tuple(
                    2.0 * np.sqrt(s * y) / float(b) for s, y in zip(mixing, chi, strict=True)
                ),
                tail=FastTail(),
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


@dataclass(frozen=True)
class PlaneWaveMean(CentredComponent):
    r"""Spectral component of a plane-wave mean of a larger dimension, c Omega_m(R z), m > d.

    .. math:: \Omega_m(t) = \Gamma(m/2)(2/t)^{m/2-1}J_{m/2-1}(t), \qquad
              \mu(w) = c\,\frac{\Gamma(m/2)}{\pi^{d/2}\Gamma((m-d)/2)}
                       R^{2-m} (R^2-w^2)^{(m-d)/2-1}, \quad w < R

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    order_dim : sympy number
        m > d; it need not be an integer.
    radius : sympy number
        R > 0, a frequency; the density is 0 beyond it.
    coefficient : sympy number
        c = k(0), not zero.

    Notes
    -----
    The projection of the uniform law on a sphere of R^m: (w/R)^2 has the law
    Beta(d/2, (m - d)/2).  Sonine's first integral, DLMF 10.22.55.

    Examples
    --------
    >>> import numpy as np
    >>> one = sympy.Integer(1)
    >>> sinc = PlaneWaveMean(1, sympy.Integer(3), one, one)      # sin(z)/z in one dimension
    >>> np.exp(sinc.signed_log(np.array([0.2, 0.9, 1.1]))[1])
    array([1., 1., 0.])
    """

    has_one_sign = True

    dim: int
    order_dim: sympy.Expr
    radius: sympy.Expr
    coefficient: sympy.Expr
    _radius: float = field(init=False, repr=False, compare=False)
    _power: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            m, radius, c = exact(self.order_dim), exact(self.radius), exact(self.coefficient)
            half, rest = mp.mpf(d) / 2, (m - d) / 2
            centre = float(radius * mp.sqrt(d / m))
            share = (mp.mpf(centre) / radius) ** 2
            log_centre = (
                mp.log(2 * abs(c) / radius) - mp.log(mp.beta(half, rest))
                + (half - mp.mpf(1) / 2) * mp.log(share) + (rest - 1) * mp.log(1 - share)
            )  # fmt: skip
            ends = betaincinv(d / 2, float(rest), np.array([_OUTSIDE, 1.0 - _OUTSIDE]))
            self._set(
                total=float(c),
                origin_exponent=float(d - 1),
                bulk=tuple(float(x) for x in float(radius) * np.sqrt(ends)),
                tail=EndTail(float(radius), float(rest - 1)),
                _sign=float(mp.sign(c)),
                _centre=centre,
                _log_centre=float(log_centre),
                _radius=float(radius),
                _power=float(rest - 1),
            )

    def _terms(self, w: FloatArray) -> tuple[FloatArray, ...]:
        w0, end = self._centre, self._radius
        inside = np.minimum(w, end)
        gap = (end - inside) * (end + inside)
        edge = np.zeros_like(w)
        if self._power != 0.0:
            edge = self._power * log_ratio(
                gap, (end - w0) * (end + w0), (w0 - inside) * (w0 + inside)
            )
        edge[w >= end] = -np.inf
        return self._origin_term(w, self.dim - 1.0), edge

    def _conditioning(self, w: FloatArray) -> FloatArray:
        # The end itself is rounded: near it the distance to it has fewer digits.
        gap = np.maximum(self._radius - w, 0.0)
        near = np.divide(self._radius, gap, out=np.zeros_like(w), where=gap > 0.0)
        at_centre = self._radius / (self._radius - self._centre)
        return np.asarray(abs(self._power) * (near + at_centre))

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        m, radius, half = self.order_dim, self.radius, sympy.Rational(self.dim, 2)
        rest = m / 2 - half
        front = sympy.gamma(m / 2) / (sympy.pi**half * sympy.gamma(rest)) * radius ** (2 - m)
        inside = self.coefficient * front * (radius**2 - W**2) ** (rest - 1)
        return sympy.Piecewise((inside, radius > W), (0, True))

"""Gaussians times polynomials in z^2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy
from mpmath import mp
from scipy.special import gammaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import DIGITS, OUTSIDE, CentredPair, Term, W
from spectra.density.closed_pairs.summands import Summand, tidy, to_mpf
from spectra.formula.reader.parsing import Z

__all__ = ["Gaussian"]

# exp(-y) is 0 at such a y for every use, and a polynomial of y does not overflow.
_LARGEST_OFFSET = 1e10


@dataclass(frozen=True)
class Gaussian(CentredPair):
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

    @classmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """z^(2j) exp(-a z^2), by their rate; what goes with it is a polynomial in z."""
        j = s.even_power
        if s.factors or s.linear != 0 or not s.quadratic.is_positive or j is None:
            return None
        return [((s.quadratic,), s.coefficient * Z ** (2 * j))]

    @classmethod
    def tidy(cls, coefficient: sympy.Expr) -> sympy.Expr:
        """A polynomial in z, each coefficient in its short form."""
        terms = sympy.Poly(coefficient, Z).terms()
        return sympy.Add(*(tidy(c) * Z**power for (power,), c in terms))

    @classmethod
    def made(cls, dim: int, key: tuple[Any, ...], coefficient: sympy.Expr) -> Gaussian:
        """The Gaussian of a rate times a polynomial in z."""
        (rate,) = key
        return cls(dim, rate, tuple(reversed(sympy.Poly(coefficient, Z).all_coeffs()[::2])))

    @property
    def exact_total(self) -> sympy.Expr:
        """The total as an exact number."""
        return self.coefficients[0]

    @property
    def has_one_sign(self) -> bool:  # type: ignore[override]
        """Whether it is a Gaussian without a polynomial."""
        return len(self.coefficients) == 1

    def __post_init__(self) -> None:
        d, degree = self.dim, len(self.coefficients) - 1
        with mp.workdps(DIGITS):
            a = to_mpf(self.rate)
            centre = float(mp.sqrt(2 * a * max(d - 1, 1)))
            y0, half = mp.mpf(centre) ** 2 / (4 * a), mp.mpf(d) / 2
            log_centre = (
                mp.log(2) - mp.loggamma(half) - y0
                + (d - 1) * mp.log(centre) - half * mp.log(4 * a)
            )  # fmt: skip
            scaled = [to_mpf(c) * mp.factorial(j) / a**j for j, c in enumerate(self.coefficients)]
            taylor = _taylor_of_laguerre(scaled, half - 1, y0)
            powers = _taylor_of_laguerre(scaled, half - 1, mp.mpf(0))
            scale = max(abs(q) for q in taylor)
            # A sum of 50-digit terms this small is an exact zero.
            zero = mp.mpf(10) ** (10 - DIGITS) * max(abs(q) for q in powers)
            powers = [mp.mpf(0) if abs(q) < zero else q for q in powers]
            order = next(i for i, q in enumerate(powers) if q != 0)
            self._set(
                total=float(to_mpf(self.coefficients[0])),
                origin_exponent=float(d - 1 + 2 * order),
                bulk=(
                    float(mp.sqrt(4 * a)) * float(np.sqrt(gammaincinv(d / 2, OUTSIDE))),
                    float(mp.sqrt(4 * a))
                    * float(np.sqrt(gammaincinv(d / 2 + degree, 1 - OUTSIDE))),
                ),
                decay=np.inf,
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
        sign, log = CentredPair.signed_log(self, w)
        if len(self._taylor) == 1:
            return sign, log
        t, y = self._arguments(w)
        about_centre, about_zero = _polynomial(self._taylor, t), _polynomial(self._powers, y)
        near = _absolute_sum(self._taylor, t) <= _absolute_sum(self._powers, y)
        value = np.where(near, about_centre, about_zero)
        with np.errstate(divide="ignore"):
            return np.sign(value), log + np.log(np.abs(value))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """Logarithm of the local size: the absolute terms of the polynomial, added."""
        log = CentredPair.signed_log(self, w)[1]
        if len(self._taylor) == 1:
            return log
        t, y = self._arguments(w)
        # One more unit of y, so that the size is not small where the value passes through zero.
        size = np.minimum(
            _absolute_sum(self._taylor, np.abs(t) + 1.0), _absolute_sum(self._powers, y)
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


def _laguerre(degree: int, order: Any, y: Any) -> Any:
    """L_degree^(order)(y) by its recurrence; mpmath's series never ends at a zero of it."""
    before, value = mp.mpf(0), mp.mpf(1)
    for k in range(degree):
        before, value = value, ((2 * k + 1 + order - y) * value - (k + order) * before) / (k + 1)
    return value


def _taylor_of_laguerre(scaled: list[Any], order: Any, y: Any) -> list[Any]:
    """Taylor coefficients at y of sum_j scaled[j] L_j^(order), by DLMF 18.9.23."""
    return [
        mp.fsum(scaled[j] * _laguerre(j - i, order + i, y) for j in range(i, len(scaled)))
        * (-1) ** i
        / mp.factorial(i)
        for i in range(len(scaled))
    ]


def _polynomial(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """The value at x of a polynomial, the constant coefficient first."""
    return np.asarray(np.polynomial.polynomial.polyval(x, coefficients))


def _absolute_sum(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """The sum of the absolute terms of a polynomial, which its rounding error is relative to."""
    return _polynomial(np.abs(coefficients), np.abs(x))

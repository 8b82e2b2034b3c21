"""Waves under an exponential: Matern pairs of a complex rate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import sympy
from mpmath import mp

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.matern import in_matern
from spectra.density.closed_pairs.pair import Pair, Term, W
from spectra.density.closed_pairs.summands import (
    LARGEST_POWER,
    Summand,
    positive_rate,
    tidy,
    to_mpf,
)

__all__ = ["DampedWave"]

_DIGITS = 40
_EPS = float(np.finfo(float).eps)
# Rounding of the operations of a term, in units of its size.
_ROUNDING = 2.0
# The bulk is where the mass per unit of log w is this share of its largest value.
_BULK_SHARE = 1e-2
_BULK_REACH, _BULK_GRID = 1e6, 2001
# From so many |a| on the argument of a^2 + w^2 is known to rounding of itself.
_FAR = 2.0


@dataclass(frozen=True)
class DampedWave(Pair):
    r"""Spectral component of a Matern kernel of a complex rate, its real part.

    .. math:: k(z) = \Re\, C\,\frac{2^{1-\nu}}{\Gamma(\nu)} (az)^\nu K_\nu(az), \qquad
              \mu(w) = \frac{\Gamma(\nu+d/2)}{\Gamma(\nu)\pi^{d/2}}\,
                       \Re\,\frac{C a^{2\nu}}{(a^2+w^2)^{\nu+d/2}}

    For nu = 1/2 and C = 1 that is exp(-Re(a) z) cos(Im(a) z).  Both sides are analytic in the rate
    for Re(a) > 0, where a^2 + w^2 is never negative.

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    nu : sympy number
        Half an odd integer.
    rate : sympy number
        a, with positive real part and an imaginary part that is not zero.
    coefficient : sympy number
        C, not zero.

    Notes
    -----
    The real case is in Stein, Interpolation of Spatial Data (1999), section 2.7.

    Examples
    --------
    >>> c = DampedWave(1, sympy.Rational(1, 2), 1 + 2 * sympy.I, sympy.Integer(1))
    >>> sign, log = c.signed_log(np.array([2.0]))
    >>> bool(abs(np.exp(log[0]) - (1 / (1 + 16) + 1) / np.pi) < 1e-15)   # exp(-z) cos(2z)
    True
    """

    dim: int
    nu: sympy.Expr
    rate: sympy.Expr
    coefficient: sympy.Expr
    _log_front: float = field(init=False, repr=False, compare=False)
    _angle: float = field(init=False, repr=False, compare=False)
    _power: float = field(init=False, repr=False, compare=False)
    _damping: float = field(init=False, repr=False, compare=False)
    _frequency: float = field(init=False, repr=False, compare=False)
    _turned: bool = field(init=False, repr=False, compare=False)

    @classmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """z^n exp(-a z) cos(b z), or sin: the real part of an exponential of the rate a - ib."""
        if len(s.factors) != 1 or s.quadratic != 0 or not s.linear.is_positive:
            return None
        if not (s.power.is_Integer and 0 <= s.power <= LARGEST_POWER):
            return None
        (wave,) = s.factors
        if not isinstance(wave, sympy.cos | sympy.sin):
            return None
        frequency = positive_rate(wave.args[0])
        if frequency is None:
            return None
        rate = tidy(s.linear) - sympy.I * tidy(frequency)
        value = s.coefficient * (1 if isinstance(wave, sympy.cos) else -sympy.I)
        shares = in_matern(int(s.power), value / rate**s.power)
        return [((nu, rate), share) for nu, share in shares]

    @classmethod
    def tidy(cls, coefficient: sympy.Expr) -> sympy.Expr:
        """A complex number by its real and imaginary parts."""
        return sympy.expand(sympy.radsimp(coefficient))

    @property
    def _size(self) -> float:
        return float(np.hypot(self._damping, self._frequency))

    def __post_init__(self) -> None:
        with mp.workdps(_DIGITS):
            nu, half = to_mpf(self.nu), mp.mpf(self.dim) / 2
            a, b = (to_mpf(part) for part in self.rate.as_real_imag())
            c = mp.mpc(*(to_mpf(part) for part in self.coefficient.as_real_imag()))
            front = c * mp.mpc(a, b) ** (2 * nu)
            # Where the leading term of the tail is imaginary, the next one, in a^2/w^2, is not.
            leading = sympy.expand(self.coefficient * self.rate ** (2 * self.nu))
            turned = sympy.re(leading) == 0
            self._set(
                total=float(c.real),
                origin_exponent=float(self.dim - 1),
                decay=float(1 + 2 * nu) + (2.0 if turned else 0.0),
                _turned=turned,
                _log_front=float(
                    mp.log(2 * abs(front))
                    + mp.loggamma(nu + half) - mp.loggamma(nu) - mp.loggamma(half)
                ),
                _angle=float(mp.arg(front)),
                _power=float(nu + half),
                _damping=float(a),
                _frequency=float(b),
            )  # fmt: skip
        w = self._size * np.geomspace(1 / _BULK_REACH, _BULK_REACH, _BULK_GRID)
        mass = self.log_envelope(w) + np.log(w)
        inside = w[mass >= mass.max() + np.log(_BULK_SHARE)]
        self._set(bulk=(float(inside[0]), float(inside[-1])))

    def _parts(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Logarithm of the modulus, what a^2 + w^2 turns the phase by, and the error of that."""
        w = np.asarray(w, dtype=float)
        # In units of the larger of w and |a|, whose squares may leave the doubles.
        unit = np.maximum(w, self._size)
        u, a, b = w / unit, self._damping / unit, self._frequency / unit
        real, imaginary = (u - np.abs(b)) * (u + np.abs(b)) + a * a, 2.0 * a * b
        size = np.hypot(real, imaginary)
        log = (
            self._log_front
            + (self.dim - 1.0) * np.log(u)
            - (2.0 * self._power - self.dim + 1.0) * np.log(unit)
            - self._power * np.log(size)
        )
        turn = -self._power * np.arctan2(imaginary, real)
        # Near w = b the difference keeps the rounding of both.
        wrong = _EPS * _ROUNDING * (np.abs(real) + 2.0 * np.abs(b) * u + a * a + np.abs(imaginary))
        return log, turn, self._power * wrong / size

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        log, turn, _ = self._parts(w)
        # cos(turn +- pi/2), whose sine keeps the digits of a small turn.
        quarter = -np.sign(self._angle) * np.sin(turn)
        wave = quarter if self._turned else np.cos(self._angle + turn)
        with np.errstate(divide="ignore"):
            return np.sign(wave), log + np.log(np.abs(wave))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """Logarithm of the modulus of the complex density, times that of a small turn."""
        log, turn, _ = self._parts(w)
        with np.errstate(divide="ignore"):
            return log + np.log(np.minimum(np.abs(turn), 1.0)) if self._turned else log

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope."""
        log, turn, wrong = self._parts(w)
        w = np.asarray(w, dtype=float)
        unit = np.maximum(w, self._size)
        terms = (
            abs(self._log_front)
            + np.abs((self.dim - 1.0) * np.log(w / unit))
            + np.abs((2.0 * self._power - self.dim + 1.0) * np.log(unit))
            + np.abs(log)
            + np.abs(turn)
            + abs(self._angle)
            + self._power
        )
        if self._turned:
            near = w < _FAR * self._size
            wrong = wrong + np.where(near, wrong / np.minimum(np.abs(turn), 1.0), 0.0)
        return np.asarray(_ROUNDING * _EPS * (1.0 + terms) + wrong)

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        nu, half = self.nu, sympy.Rational(self.dim, 2)
        front = sympy.gamma(nu + half) / (sympy.gamma(nu) * sympy.pi**half)

        def one(c: sympy.Expr, a: sympy.Expr) -> sympy.Expr:
            return c * sympy.expand(a ** (2 * nu)) / (sympy.expand(a**2) + W**2) ** (nu + half)

        conjugate = sympy.conjugate(self.coefficient), sympy.conjugate(self.rate)
        return front / 2 * (one(self.coefficient, self.rate) + one(*conjugate))

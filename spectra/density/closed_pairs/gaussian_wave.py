"""Waves under a Gaussian, the terms of spectral mixtures, on the line and in space."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import sympy
from mpmath import mp

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import DIGITS, ROUNDING, Pair, Term, W
from spectra.density.closed_pairs.summands import Summand, positive_rate, tidy, to_mpf

__all__ = ["GaussianWave"]

# The bulk is so many standard deviations beside the frequency, and begins at this part of one.
_BULK, _LEAST = 3.0, 0.0125
# A bell that is so many of them from zero is looked at from its middle.
_NARROW = 4.0


@dataclass(frozen=True)
class GaussianWave(Pair):
    r"""Spectral component of a Gaussian times a wave, in d = 1 and d = 3.

    .. math:: k(z) = c\,e^{-a z^2}\cos(bz), \qquad G(u) = (4\pi a)^{-1/2} e^{-u^2/(4a)}

    .. math:: \rho_1(w) = c\,(G(w-b) + G(w+b)), \qquad
              \rho_3(w) = -w\rho_1'(w)
                        = \frac{c\,w}{2a}\left((w-b)G(w-b) + (w+b)G(w+b)\right)

    Parameters
    ----------
    dim : int
        Dimension, 1 or 3.
    rate : sympy number
        a > 0, in units of 1/length^2.
    frequency : sympy number
        b > 0, in units of 1/length.
    coefficient : sympy number
        c = k(0), not zero.

    Notes
    -----
    Wilson and Adams, Gaussian process kernels for pattern discovery and extrapolation (2013),
    equations 9 to 12, for d = 1.  Distances from b keep all digits, however narrow the bell.

    Examples
    --------
    >>> one = sympy.Integer(1)
    >>> g = GaussianWave(1, one / 2, 20 * one, one)
    >>> round(float(np.exp(g.signed_log(np.array([20.0]))[1][0]) * np.sqrt(2 * np.pi)), 12)
    1.0
    """

    dim: int
    rate: sympy.Expr
    frequency: sympy.Expr
    coefficient: sympy.Expr
    _front: float = field(init=False, repr=False, compare=False)
    _quarter: float = field(init=False, repr=False, compare=False)
    _middle: float = field(init=False, repr=False, compare=False)
    _rest: float = field(init=False, repr=False, compare=False)
    #: Radii are given as distances from this one, beyond it (1) or before it (-1).
    _pivot: float = field(init=False, repr=False, compare=False)
    _side: float = field(init=False, repr=False, compare=False)

    @classmethod
    def serves(cls, dim: int) -> bool:
        """Whether it is a closed pair there: in even dimensions it is none."""
        return dim in (1, 3)

    @classmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """exp(-a z^2) cos(b z)."""
        if len(s.factors) != 1 or s.linear != 0 or s.power != 0 or not s.quadratic.is_positive:
            return None
        (wave,) = s.factors
        if not isinstance(wave, sympy.cos):
            return None
        frequency = positive_rate(wave.args[0])
        if frequency is None:
            return None
        return [((tidy(s.quadratic), tidy(frequency)), s.coefficient)]

    @property
    def has_one_sign(self) -> bool:  # type: ignore[override]
        """Whether it is on the line."""
        return self.dim == 1

    def __post_init__(self) -> None:
        with mp.workdps(DIGITS):
            a, b, c = (to_mpf(x) for x in (self.rate, self.frequency, self.coefficient))
            middle, width = float(b), float(mp.sqrt(2 * a))
            front = mp.log(abs(c)) - mp.log(4 * mp.pi * a) / 2
            self._set(
                total=float(c),
                origin_exponent=float(self.dim - 1),
                bulk=(max(middle - _BULK * width, _LEAST * width), middle + _BULK * width),
                decay=np.inf,
                breaks=((middle, 0.0),) if middle > _NARROW * width else (),
                _front=float(front if self.dim == 1 else front - mp.log(2 * a)),
                _quarter=float(1 / (4 * a)),
                _middle=middle,
                _rest=float(b - middle),
                _pivot=0.0,
                _side=1.0,
            )

    def beside(self, radius: float, side: float) -> Self:
        """The same bell by the distance from any radius: its own middle may be close to that."""
        seen, width = copy(self), float(np.sqrt(0.5 / self._quarter))
        seen._set(
            _pivot=radius,
            _side=side,
            bulk=(_LEAST * width, _BULK * width),
            breaks=(),
            origin_exponent=0.0,
        )
        return seen

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of the absolute value of the component at radii w > 0."""
        log, value, _ = self._parts(w)
        with np.errstate(divide="ignore"):
            return np.sign(self.total * value), log + np.log(np.abs(value))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """Logarithm of the local size, which is not small where the value passes through zero."""
        log, _, size = self._parts(w)
        return np.asarray(log + np.log(size))

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error, relative to the envelope."""
        log, _, size = self._parts(w)
        u, w = self._apart(w)
        # The exponent is known to as many of its units as the distance is.
        bell = np.minimum(self._quarter * u * u, np.finfo(float).max)
        terms = 4.0 * bell + abs(self._front) + np.abs(np.log(w)) + np.abs(np.log(size))
        return np.asarray(ROUNDING * (2.0 + np.where(np.isfinite(log), terms, 0.0)))

    def _apart(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """w - b to all digits, and w."""
        step = self._side * np.asarray(w, dtype=float)
        return (step + (self._pivot - self._middle)) - self._rest, self._pivot + step

    def _parts(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Logarithm of what the bell at b and the front are, what that is multiplied by, and the
        size of that."""
        u, w = self._apart(w)
        with np.errstate(over="ignore"):
            log = self._front - self._quarter * u * u
            turn = 4.0 * self._quarter * self._middle * w
        # G(w + b) / G(w - b)
        other = np.exp(-turn)
        if self.dim == 1:
            return log, 1.0 + other, 1.0 + other
        width = np.sqrt(0.5 / self._quarter)
        lost = self._middle * np.expm1(-turn)
        far, near = (u, (w + self._middle) * other), (w * (1.0 + other), lost)
        is_near = turn < 1.0
        value = np.where(is_near, near[0] + near[1], far[0] + far[1])
        size = np.where(is_near, near[0] - near[1], np.abs(far[0]) + width + far[1])
        with np.errstate(over="ignore"):
            return log + np.log(w), value, size

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        a, b = self.rate, self.frequency
        below, above = (
            sympy.exp(-((W + side * b) ** 2) / (4 * a)) / sympy.sqrt(4 * sympy.pi * a)
            for side in (-1, 1)
        )
        if self.dim == 1:
            return self.coefficient * (below + above) / 2
        slope = ((W - b) * below + (W + b) * above) / (2 * a)
        return self.coefficient * slope / (4 * sympy.pi * W)

r"""A radial density at large radii as amplitude, phase and background, in doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.arrays import ComplexArray
from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray

__all__ = ["NO_POWERS", "OscillatingTail", "PowerSeries"]

#: x^exponent times exp(log) and a Chebyshev series in x^(1/root), with x = start/w: exponent, log,
#: root and series.
PowerSeries = tuple[float, float, int, NDArray[Any]]
NO_POWERS: PowerSeries = (math.inf, -math.inf, 1, np.zeros(1))
# Rounding of a phase, and the largest one.
_PHASE_EPS, _LARGEST_PHASE = float(np.finfo(np.longdouble).eps), 2.0**1020


@dataclass(frozen=True, eq=False)
class OscillatingTail:
    r"""The radial density for w >= start, as amplitude, phase and background.

    With s = R w and n = ``order``,

    .. math:: \rho(w) = A(w) \cos\theta(w) + b(w),\quad
              A e^{i\theta} = (1-n^2/s^2)^{-1/4} e^{i\theta_n(s)} a(w) ,

    where theta_n is Debye's phase of H_n.  The complex a is ``wave``, and b is ``slow``.
    """

    radius: tuple[float, float]  # the sum of two doubles
    start: float
    order: float
    quarter_turns: float
    wave: PowerSeries
    slow: PowerSeries
    fit_error: float

    @property
    def frequency(self) -> float:
        """The frequency R of the wave."""
        return self.radius[0]

    @property
    def exponent(self) -> float:
        """The amplitude behaves like ``w**-exponent``."""
        return self.wave[0]

    @property
    def background_exponent(self) -> float:
        """The background behaves like ``w**-background_exponent``; ``inf`` without one."""
        return self.slow[0]

    def _phase_variable(self, w: FloatArray) -> NDArray[np.longdouble]:
        """R w as long doubles, so that large phases keep their digits."""
        high, low = self.radius
        return np.asarray(np.minimum((np.longdouble(high) + low) * w, _LARGEST_PHASE))

    def _wave(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """A exp(i (theta - R w)) as a number near 1 and the logarithm of its unit."""
        s, n = self._phase_variable(w).astype(float), self.order
        q = n / s
        value, log = _evaluate(self.wave, self.start / w)
        # Debye's phase less s; two roots, since a square would leave the doubles.
        phase = n * np.arcsin(q) - n * (n / (s + np.sqrt(s - n) * np.sqrt(s + n)))
        turn = np.exp(1j * (phase - 0.5 * np.pi * self.quarter_turns))
        return value * turn, log - 0.25 * np.log1p(-q * q)

    def amplitude(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """exp(i (theta - R w)), which tends to a constant, and log A."""
        value, log = self._wave(w)
        return value / np.abs(value), log + np.log(np.abs(value))

    def background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of b, which does not oscillate."""
        value, log = _evaluate(self.slow, self.start / w)
        with np.errstate(divide="ignore"):
            return np.sign(value), log + np.log(np.abs(value))

    def evaluate(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Sign, logarithms of absolute value and local size A + |b|, and relative error."""
        (wave, unit), (slow, unit_b) = self._wave(w), _evaluate(self.slow, self.start / w)
        s = self._phase_variable(w)
        fast = (np.cos(s) + 1j * np.sin(s)).astype(complex)
        s = s.astype(float)
        top = np.maximum(unit, unit_b)
        share, share_b = np.exp(unit - top), np.exp(unit_b - top)
        value = (wave * fast).real * share + slow * share_b
        size = np.abs(wave) * share + np.abs(slow) * share_b
        envelope = top + np.log(size)
        # The series err relative to their largest value, which is at the start of the tail where
        # a weak leading singularity has not yet taken over.
        weight = np.maximum((share + share_b) / size, 1.0)
        # The phase sums terms of size n asin(n/s), each rounded; n/s itself is rounded too.
        phase = self.order * (np.arcsin(self.order / s) + 2.0 * self.order / s) + 16.0
        fall = (abs(self.exponent) + 1.0) * np.abs(np.log(w / self.start))
        error = self.fit_error * weight + EPS * (phase + fall + np.abs(envelope))
        error += np.minimum(_PHASE_EPS * s, 2.0)
        with np.errstate(divide="ignore"):
            return np.sign(value), top + np.log(np.abs(value)), envelope, error


def _evaluate(part: PowerSeries, x: FloatArray) -> tuple[NDArray[Any], FloatArray]:
    """The Chebyshev series, and the logarithm of what multiplies it."""
    exponent, log, root, series = part
    if math.isinf(exponent):
        return np.zeros_like(x), np.full_like(x, -np.inf)
    return chebyshev.chebval(2.0 * x ** (1.0 / root) - 1.0, series), log + exponent * np.log(x)

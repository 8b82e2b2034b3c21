r"""The density of a kernel of bounded support at large radii: a wave and a background."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.base.accuracy import EPS
from spectra.base.arrays import ComplexArray, FloatArray
from spectra.base.piecewise import Piecewise

__all__ = ["OscillatingTail"]

# The relative rounding error of R w as a long double, and a bound that keeps R w a finite double.
_PHASE_EPS, _LARGEST_PHASE = float(np.finfo(np.longdouble).eps), 2.0**1020


@dataclass(frozen=True, eq=False)
class OscillatingTail:
    r"""The radial density for w >= start of a kernel that vanishes beyond the distance R.

    With s = R w and n = ``order``,

    .. math:: \rho(w) = A(w) \cos\theta(w) + b(w),\quad
              A e^{i\theta} = (1-n^2/s^2)^{-1/4} e^{i\theta_n(s)} a(w),\quad
              \theta_n(s) = \sqrt{s^2-n^2} - n \arccos(n/s) - \pi/4 ,

    with Debye's phase theta_n of the Hankel function of order n.
    """

    support: tuple[float, float]  # R as the sum of two doubles
    start: float
    order: float
    quarter_turns: float  # n + 1/2 modulo 4: theta_n(s) - s tends to -pi/2 times this
    # The complex a and the real b behave like w^-exponent and w^-background_exponent: with
    # x = start/w they are x to these powers times polynomials in a root of x on [0, 1].
    exponent: float
    amplitude_series: Piecewise
    fit_error: float  # the error of both series, relative to their units
    background_exponent: float = math.inf
    background_series: Piecewise | None = None

    @property
    def frequency(self) -> float:
        """The number R: at large w the wave is close to cos(R w + constant)."""
        return self.support[0]

    def _phase_variable(self, w: FloatArray) -> NDArray[np.longdouble]:
        """R w as long doubles, so that large phases keep their digits."""
        high, low = self.support
        return np.asarray(np.minimum((np.longdouble(high) + low) * w, _LARGEST_PHASE))

    def _evaluate(
        self, exponent: float, series: Piecewise, w: FloatArray
    ) -> tuple[NDArray[Any], FloatArray]:
        """The polynomials at w, and the logarithm of the factor in front of them."""
        x = self.start / w
        return series(x), series.unit[0] + exponent * np.log(x)

    def _evaluate_background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.background_series is None:
            return np.zeros_like(w), np.full_like(w, -np.inf)
        return self._evaluate(self.background_exponent, self.background_series, w)

    def _wave(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """A exp(i (theta - R w)) as a complex number of modulus about 1 and a log factor."""
        s, n = self._phase_variable(w).astype(float), self.order
        q = n / s
        value, log_factor = self._evaluate(self.exponent, self.amplitude_series, w)
        # sqrt(s^2 - n^2) - s without cancellation; two roots, since s^2 may overflow.
        phase = n * np.arcsin(q) - n * (n / (s + np.sqrt(s - n) * np.sqrt(s + n)))
        rotation = np.exp(1j * (phase - 0.5 * np.pi * self.quarter_turns))
        return value * rotation, log_factor - 0.25 * np.log1p(-q * q)

    def amplitude(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """exp(i (theta - R w)), which tends to a constant, and log A."""
        value, log_factor = self._wave(w)
        return value / np.abs(value), log_factor + np.log(np.abs(value))

    def background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The sign of b and log|b|."""
        value, log_factor = self._evaluate_background(w)
        with np.errstate(divide="ignore"):
            return np.sign(value), log_factor + np.log(np.abs(value))

    def evaluate(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Sign, logarithms of absolute value and local size A + |b|, and relative error."""
        wave, log_wave = self._wave(w)
        background, log_background = self._evaluate_background(w)
        s = self._phase_variable(w)
        exp_is = (np.cos(s) + 1j * np.sin(s)).astype(complex)
        s = s.astype(float)
        top = np.maximum(log_wave, log_background)
        unit, background_unit = np.exp(log_wave - top), np.exp(log_background - top)
        value = (wave * exp_is).real * unit + background * background_unit
        size = np.abs(wave) * unit + np.abs(background) * background_unit
        envelope = top + np.log(size)
        # ``fit_error`` is relative to the units of the two series, which may exceed ``size``.
        weight = np.maximum((unit + background_unit) / size, 1.0)
        # The phase sums terms of size n asin(n/s), each rounded; n/s itself is rounded too.
        phase = self.order * (np.arcsin(self.order / s) + 2.0 * self.order / s) + 16.0
        power = (abs(self.exponent) + 1.0) * np.abs(np.log(w / self.start))
        error = self.fit_error * weight + EPS * (phase + power + np.abs(envelope))
        error += np.minimum(_PHASE_EPS * s, 2.0)
        with np.errstate(divide="ignore"):
            return np.sign(value), top + np.log(np.abs(value)), envelope, error

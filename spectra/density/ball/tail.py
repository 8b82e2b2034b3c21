r"""A radial density at large radii as amplitude, phase and background, in doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.arrays import ComplexArray
from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball
from spectra.density.components import Radial
from spectra.errors import ParameterError

__all__ = ["EdgeTail", "scaled", "two_doubles"]

_ANGLE_POINTS = 513
# Radii up to here can be split in halves whose products are doubles.
_LARGEST = 2.0**1020


def two_doubles(number: Ball) -> tuple[float, float]:
    """A number as the sum of two doubles."""
    high = float(number)
    return high, float(number - high)


def scaled(radius: tuple[float, float], w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """High and low part of R w (Dekker's product), so that large phases keep their digits.

    Examples
    --------
    >>> high, low = scaled((1 / 3, 1.850371707708594e-17), np.array([3e12]))
    >>> float(high[0])
    1000000000000.0
    """
    high, low = radius
    largest = _LARGEST / max(high, 1.0)
    if np.any(w > largest):
        raise ParameterError(
            f"The spectral density was asked for at the radius {np.max(w):.6g}, where the wave "
            f"of a kernel that ends at {high:.6g} has no phase in doubles. Ask for radii up to "
            f"{largest:.6g}."
        )
    product = high * w
    a1, a2 = _split(np.asarray(high))
    b1, b2 = _split(w)
    lost = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return product, lost + low * w


def _split(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    mantissa, exponent = np.frexp(a)
    c = 134217729.0 * mantissa  # 2^27 + 1: Veltkamp
    high = c - (c - mantissa)
    return np.ldexp(high, exponent), np.ldexp(mantissa - high, exponent)


def debye_phase(order: float, s: FloatArray) -> FloatArray:
    """The part sqrt(s^2 - n^2) - s + n arcsin(n/s) of the phase of H_n, which vanishes at oo."""
    # Two roots, since a square would leave the doubles at half of their exponents.
    root = np.sqrt(s - order) * np.sqrt(s + order)
    return np.asarray(order * np.arcsin(order / s) - order * (order / (s + root)))


@dataclass(frozen=True, eq=False)
class EdgeTail(Radial):
    r"""The radial density for w >= start, as amplitude, phase and background.

    With s = R w, n = ``order`` and the least edge exponent p,

    .. math:: \rho(w) = A(w) \cos\theta(w) + b(w),\quad
              A e^{i\theta} = a\,s^{d/2-p-1} (s^2-n^2)^{-1/4} e^{i\theta_n(s)} \gamma(1/s) ,

    where theta_n is Debye's phase of H_n.  gamma is made of Chebyshev series in 1/s, and b s^(1+m)
    is one in a root of 1/s.
    """

    radius: tuple[float, float]
    start: float
    start_scaled: float
    order: float
    quarter_turns: float
    amplitude_power: float
    amplitude_log: float
    families: tuple[tuple[float, ComplexArray], ...]
    background_power: float
    background_log: float
    background_root: int
    background_series: FloatArray
    fit_error: float

    def _gamma(self, x: FloatArray) -> ComplexArray:
        """gamma at x = start / s."""
        value = np.zeros(x.shape, dtype=complex)
        for offset, series in self.families:
            value += x**offset * chebyshev.chebval(2.0 * x - 1.0, series)
        return value

    @cached_property
    def _angles(self) -> FloatArray:
        """Arguments of gamma on a grid of sqrt(start / s), unwrapped from infinity inwards."""
        return np.unwrap(np.angle(self._gamma(np.linspace(0.0, 1.0, _ANGLE_POINTS) ** 2)))

    def _wave(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """log A, the large part s = R w of the phase, its rounding, and the slow rest of it."""
        s, low = scaled(self.radius, w)
        q, x = self.order / s, self.start_scaled / s
        gamma = self._gamma(x)
        power = self.amplitude_power * np.log(w / self.start)
        log = self.amplitude_log + power - 0.25 * np.log1p(-q * q) + np.log(np.abs(gamma))
        angle = np.angle(gamma)
        guess = np.interp(np.sqrt(x), np.linspace(0.0, 1.0, _ANGLE_POINTS), self._angles)
        angle = angle + 2.0 * np.pi * np.round((guess - angle) / (2.0 * np.pi))
        slow = debye_phase(self.order, s) + angle - 0.5 * np.pi * self.quarter_turns
        return np.asarray(log), s, low, slow

    def background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of b, which does not oscillate."""
        if math.isinf(self.background_power):
            return np.zeros_like(w), np.full_like(w, -np.inf)
        x = (self.start_scaled / scaled(self.radius, w)[0]) ** (1.0 / self.background_root)
        value = chebyshev.chebval(2.0 * x - 1.0, self.background_series)
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(value))
        power = self.background_power * np.log(w / self.start)
        return np.sign(value), log + self.background_log - power

    def amplitude(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """exp(i (theta - R w)), which tends to a constant, and log A."""
        log, _, _, slow = self._wave(w)
        return np.exp(1j * slow), log

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|; the large part of the phase is reduced without loss."""
        log_a, s, low, slow = self._wave(w)
        rest = low + slow
        sign_b, log_b = self.background(w)
        cosine = np.cos(s) * np.cos(rest) - np.sin(s) * np.sin(rest)
        top = np.maximum(log_a, log_b)
        value = cosine * np.exp(log_a - top) + sign_b * np.exp(log_b - top)
        with np.errstate(divide="ignore"):
            return np.sign(value), top + np.log(np.abs(value))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log(A + |b|)."""
        return np.asarray(np.logaddexp(self._wave(w)[0], self.background(w)[1]))

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound relative to the envelope."""
        log_a, s, *_ = self._wave(w)
        envelope = np.logaddexp(log_a, self.background(w)[1])
        # The series err relative to their largest value, which is at the start of the tail where
        # a weak leading singularity has not yet taken over.
        weight = np.exp(log_a - envelope) / np.abs(self._gamma(self.start_scaled / s))
        if not math.isinf(self.background_power):
            scale = self.background_log - self.background_power * np.log(w / self.start)
            weight = weight + np.exp(scale - envelope)
        # The phase sums terms of size n asin(n/s), each rounded; n/s itself is rounded too.
        q = self.order / s
        phase = self.order * (np.arcsin(q) + 2.0 * q) + 8.0
        log = (abs(self.amplitude_power) + 1.0) * np.abs(np.log(w / self.start))
        rounding = EPS * (phase + log + np.abs(envelope) + 8.0)
        return np.asarray(self.fit_error * np.maximum(weight, 1.0) + rounding)

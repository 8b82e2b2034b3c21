r"""A radial density at large radii as amplitude, phase and background, in doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.arrays import ComplexArray
from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball
from spectra.density.components import Evaluation, Radial
from spectra.errors import ParameterError

__all__ = ["EdgeTail", "scaled", "two_doubles"]

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

    def _wave(self, w: FloatArray) -> tuple[FloatArray, FloatArray, ComplexArray, ComplexArray]:
        """log A, log|gamma|, exp(i (theta - R w)), which tends to a constant, and exp(i R w)."""
        s, low = scaled(self.radius, w)
        q, x = self.order / s, self.start_scaled / s
        gamma = np.zeros(x.shape, dtype=complex)
        for offset, series in self.families:
            gamma += x**offset * chebyshev.chebval(2.0 * x - 1.0, series)
        size = np.log(np.abs(gamma))
        power = self.amplitude_power * np.log(w / self.start)
        log = self.amplitude_log + power - 0.25 * np.log1p(-q * q) + size
        slow = np.angle(gamma) + debye_phase(self.order, s) - 0.5 * np.pi * self.quarter_turns
        return log, size, np.exp(1j * slow), np.exp(1j * s) * np.exp(1j * low)

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
        log, _, turn, _ = self._wave(w)
        return turn, log

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The wave and the background; the local size is A + |b|."""
        log_a, size, turn, fast = self._wave(w)
        sign_b, log_b = self.background(w)
        top, envelope = np.maximum(log_a, log_b), np.logaddexp(log_a, log_b)
        value = (turn * fast).real * np.exp(log_a - top) + sign_b * np.exp(log_b - top)
        # The series err relative to their largest value, which is at the start of the tail where
        # a weak leading singularity has not yet taken over.
        weight, fall = np.exp(log_a - envelope - size), np.log(w / self.start)
        if not math.isinf(self.background_power):
            weight += np.exp(self.background_log - self.background_power * fall - envelope)
        # The phase sums terms of size n asin(n/s), each rounded; n/s itself is rounded too.
        q = self.order / (self.radius[0] * w)
        phase = self.order * (np.arcsin(q) + 2.0 * q) + 16.0
        rounding = phase + (abs(self.amplitude_power) + 1.0) * np.abs(fall) + np.abs(envelope)
        error = self.fit_error * np.maximum(weight, 1.0) + EPS * rounding
        with np.errstate(divide="ignore"):
            return np.sign(value), top + np.log(np.abs(value)), envelope, error

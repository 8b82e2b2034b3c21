r"""Sums of waves beyond a radius; addition, multiplication and integration give such sums again.

.. math:: f(w) = \Re \sum_j x^{a_j} \Bigl(\sum_k c_{jk} x^k\Bigr) e^{i b_j w}, \qquad
          x = W / w, \quad w \ge W

The spectral density of a kernel of bounded support has this form at large radii: each distance at
which the kernel is not smooth contributes one frequency b, and the origin contributes b = 0.
Terms of one frequency are separate waves if their powers do not differ by an integer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.polynomial.polynomial import polyval

from spectra.base.accuracy import ABSENT, DENSITY, SAME
from spectra.base.arrays import ComplexArray, FloatArray, NumberArray
from spectra.errors import ParameterError

__all__ = ["LEAST_PHASE", "Wave", "WaveSum", "amplitude", "values_of"]

# Rounding errors of frequencies, relative to the largest one, and of differences of powers.
_SAME_FREQUENCY, _SAME_POWER = DENSITY / 100.0, SAME
# Coefficients below this share of the largest one are dropped.
_NEGLIGIBLE = ABSENT / 100.0
# Most terms that integration by parts adds to a series; least b W for which they are accurate.
_MOST_TERMS, LEAST_PHASE = 40, 30.0

#: (frequency, power, series) is ``x**power * polyval(x, series) * exp(1j * frequency * w)`` with
#: x = W/w, frequency >= 0 and complex coefficients.
Wave = tuple[float, float, ComplexArray]


@final
@dataclass(frozen=True, eq=False)
class WaveSum:
    """The real part of a sum of waves on [start, oo); ``start`` is W.

    Use :meth:`of` to merge waves of equal frequency whose powers differ by an integer.

    Examples
    --------
    >>> rho = WaveSum.of(10.0, [(3.0, 2.0, np.array([1.0 + 0j]))])   # (10/w)^2 cos(3 w)
    >>> [(frequency, power) for frequency, power, _ in (rho * rho).waves]
    [(6.0, 4.0), (0.0, 4.0)]
    """

    start: float
    waves: tuple[Wave, ...]

    @classmethod
    def of(cls, start: float, waves: Iterable[Wave]) -> Self:
        """A sum of waves, merged by frequency and power."""
        return cls(start, tuple(_merge(list(waves))))

    def __call__(self, w: FloatArray) -> FloatArray:
        """Value at radii w >= start."""
        return values_of((self,), w)[0]

    def __add__(self, other: WaveSum) -> WaveSum:
        return WaveSum.of(self.start, [*self.waves, *other.waves])

    def __mul__(self, other: WaveSum) -> WaveSum:
        """The product; its frequencies are sums and differences of those of the factors."""
        found = []
        for b1, power1, series1 in self.waves:
            for b2, power2, series2 in other.waves:
                found.append((b1 + b2, power1 + power2, 0.5 * np.convolve(series1, series2)))
                series = 0.5 * np.convolve(series1, series2.conj())
                series = series if b1 >= b2 else series.conj()
                found.append((abs(b1 - b2), power1 + power2, series))
        return WaveSum.of(self.start, found)

    def scaled(self, factor: float, power: float = 0.0) -> WaveSum:
        """The sum times ``factor * (W/w)**power``."""
        return WaveSum(self.start, tuple((b, a + power, factor * c) for b, a, c in self.waves))

    def integral(self) -> WaveSum:
        r"""The function :math:`\int_w^\infty f` of w, found by integration by parts."""
        return WaveSum.of(self.start, (_integrate(*v, self.start) for v in self.waves))

    @cached_property
    def mass(self) -> float:
        """The integral from W to infinity."""
        return float(self.integral()(np.array([self.start]))[0])

    @cached_property
    def least_power(self) -> float:
        """The least power of W/w."""
        return min((power for _, power, _ in self.waves), default=np.inf)

    @cached_property
    def background(self) -> WaveSum:
        """The waves of frequency 0: the mean of the sum, as other waves have the mean 0."""
        return WaveSum(self.start, tuple(v for v in self.waves if v[0] == 0.0))

    @cached_property
    def frequencies(self) -> FloatArray:
        """The positive frequencies, ascending."""
        return np.unique([b for b, _, _ in self.waves if b > 0.0])

    def amplitudes(self, x: FloatArray) -> Iterator[tuple[float, ComplexArray]]:
        """Pairs of a frequency, which may be 0, and the sum of its amplitudes at x = W/w."""
        for b in sorted({b for b, _, _ in self.waves}):
            yield b, np.sum([amplitude(v, x) for v in self.waves if v[0] == b], axis=0)


def values_of(sums: Iterable[WaveSum], w: FloatArray) -> list[FloatArray]:
    """Values of several sums with the same start; shared exponentials are computed once."""
    w, found = np.asarray(w, dtype=float), []
    exponentials: dict[float, ComplexArray] = {}
    powers: dict[float, FloatArray] = {}
    for wave_sum in sums:
        x, out = wave_sum.start / w, np.zeros(w.shape)
        for b, power, series in wave_sum.waves:
            value = _polynomial(series, x)
            if b and b not in exponentials:
                half = exponentials.get(0.5 * b)
                exponentials[b] = np.exp(1j * (b * w)) if half is None else half * half
            value = value * exponentials[b] if b else value
            if power not in powers:
                powers[power] = x**power
            out += np.real(value) * powers[power]
        found.append(out)
    return found


def amplitude(wave: Wave, x: NumberArray) -> ComplexArray:
    """The factor before the exponential of a wave, at real or complex x = W/w."""
    return np.asarray(_polynomial(wave[2], x) * x ** wave[1])


def _polynomial(series: ComplexArray, x: NumberArray) -> NumberArray:
    """Values of a polynomial, computed in real arithmetic if its coefficients are real."""
    value: Any = polyval(x, series if np.any(series.imag) else series.real)
    return np.asarray(value)


def _integrate(frequency: float, power: float, c: ComplexArray, start: float) -> Wave:
    """The integral of a wave of series ``c`` from w to infinity, as a wave."""
    if frequency == 0.0:
        if power <= 1.0:
            raise ParameterError(
                f"A tail like w^-{power:g} has infinite mass: its power must exceed 1."
            )
        return 0.0, power - 1.0, start * c / (power - 1.0 + np.arange(c.size))
    phase = frequency * start
    if phase < LEAST_PHASE:
        raise ParameterError(
            f"A wave of frequency {frequency:g} has only {phase / (2.0 * math.pi):.2g} periods up "
            f"to the radius {start:g}, too few for the asymptotic series of its integral. Start "
            "the tail at a larger radius."
        )
    terms: list[complex] = []
    largest = float(np.abs(c).max(initial=0.0))
    for j in range(c.size + _MOST_TERMS):
        previous = (power + j - 1.0) * terms[-1] if terms else 0.0
        terms.append((previous - (c[j] if j < c.size else 0.0)) / (1j * phase))
        if j >= c.size and abs(terms[-1]) * phase < _NEGLIGIBLE * largest:
            break
    return frequency, power, np.asarray(start * np.array(terms), dtype=complex)


def _merge(waves: list[Wave]) -> list[Wave]:
    """Merge waves of equal frequency and power modulo 1, and drop negligible coefficients."""
    highest = max((b for b, _, _ in waves), default=0.0)
    merged: list[Wave] = []
    for frequency, power, series in sorted(waves, key=lambda v: v[1]):
        b = frequency if frequency > _SAME_FREQUENCY * highest else 0.0
        series = np.asarray(series if b else series.real, dtype=complex)
        for i, (old_b, old_power, old_series) in enumerate(merged):
            offset = power - old_power
            is_same = abs(old_b - b) <= _SAME_FREQUENCY * highest
            if is_same and abs(offset - round(offset)) < _SAME_POWER:
                total = np.zeros(max(old_series.size, round(offset) + series.size), dtype=complex)
                total[: old_series.size] += old_series
                total[round(offset) : round(offset) + series.size] += series
                merged[i] = old_b, old_power, total
                break
        else:
            merged.append((b, power, series))
    limit = _NEGLIGIBLE * max((float(np.abs(c).max()) for _, _, c in merged), default=0.0)
    found = []
    for frequency, power, series in merged:
        kept = np.flatnonzero(np.abs(series) > limit)
        if kept.size:
            # The first coefficients may have cancelled: the least power is then larger.
            first, last = int(kept[0]), int(kept[-1])
            found.append((frequency, power + first, series[first : last + 1]))
    return found

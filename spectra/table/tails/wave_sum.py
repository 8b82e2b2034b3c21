r"""Sums of waves beyond a radius, a class closed under addition, products and integration.

.. math:: f(w) = \Re \sum_j x^{a_j} \Bigl(\sum_k c_{jk} x^k\Bigr) e^{i b_j w}, \qquad
          x = W / w, \quad w \ge W

The spectral density of a kernel of bounded support has this form at large radii: each distance at
which the kernel is not smooth contributes one frequency b, and the origin contributes b = 0.  Two
powers of one frequency that do not differ by an integer belong to separate waves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.polynomial.polynomial import polyval

from spectra.base.arrays import ComplexArray, FloatArray, NumberArray
from spectra.errors import ParameterError

__all__ = ["LEAST_PHASE", "Wave", "WaveSum", "amplitude", "values_of"]

# Frequencies that differ by less than this, relative to the largest one, count as equal.
_SAME_FREQUENCY = 1e-14
# Powers that differ by an integer to this accuracy share one series.
_SAME_POWER = 1e-9
# Coefficients below this share of the largest one are dropped.
_NEGLIGIBLE = 1e-18
# Terms that integration by parts may add to a series, and the least b W for which it converges.
_MOST_TERMS, LEAST_PHASE = 40, 30.0


#: ``x**power * polyval(series, x) * exp(1j * frequency * w)`` with x = W/w: the frequency >= 0, the
#: power, and the complex coefficients of the powers of x, lowest first.
Wave = tuple[float, float, ComplexArray]


@final
@dataclass(frozen=True, eq=False)
class WaveSum:
    """The real part of a sum of waves on [start, oo).

    No two of them have one frequency and powers that differ by an integer.

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
        """The product, whose frequencies are sums and differences."""
        found = []
        for b, power, series in self.waves:
            for other_b, other_power, also in other.waves:
                found.append((b + other_b, power + other_power, 0.5 * np.convolve(series, also)))
                lower = 0.5 * np.convolve(series, also.conj())
                lower = lower if b >= other_b else lower.conj()
                found.append((abs(b - other_b), power + other_power, lower))
        return WaveSum.of(self.start, found)

    def scaled(self, factor: float, power: float = 0.0) -> WaveSum:
        """The sum times ``factor * (W/w)**power``."""
        return WaveSum(self.start, tuple((b, a + power, factor * c) for b, a, c in self.waves))

    def integral(self) -> WaveSum:
        r"""The integral :math:`\int_w^\infty f` as a function of w, by parts."""
        return WaveSum.of(self.start, (_integrate(*v, self.start) for v in self.waves))

    @cached_property
    def mass(self) -> float:
        """The integral from the start to infinity."""
        return float(self.integral()(np.array([self.start]))[0])

    @cached_property
    def lead(self) -> float:
        """The least power of W/w."""
        return min((power for _, power, _ in self.waves), default=np.inf)

    @cached_property
    def mean(self) -> WaveSum:
        """The waves of frequency 0: the mean over all phases."""
        return WaveSum(self.start, tuple(v for v in self.waves if v[0] == 0.0))

    @cached_property
    def frequencies(self) -> FloatArray:
        """The positive frequencies, ascending."""
        return np.unique([b for b, _, _ in self.waves if b > 0.0])

    def amplitudes(self, x: FloatArray) -> Iterator[tuple[float, ComplexArray]]:
        """The frequencies (0 included) and the sums of their amplitudes at x = W/w."""
        for b in sorted({b for b, _, _ in self.waves}):
            yield b, np.sum([amplitude(v, x) for v in self.waves if v[0] == b], axis=0)


def values_of(sums: Iterable[WaveSum], w: FloatArray) -> list[FloatArray]:
    """Values of several sums with one start; each exponential is computed once."""
    w, found = np.asarray(w, dtype=float), []
    known: dict[float, ComplexArray] = {}
    powers: dict[float, FloatArray] = {}
    for one in sums:
        x, out = one.start / w, np.zeros(w.shape)
        for b, power, series in one.waves:
            value = _polynomial(series, x)
            if b and b not in known:
                half = known.get(0.5 * b)
                known[b] = np.exp(1j * (b * w)) if half is None else half * half
            value = value * known[b] if b else value
            if power not in powers:
                powers[power] = x**power
            out += np.real(value) * powers[power]
        found.append(out)
    return found


def amplitude(wave: Wave, x: NumberArray) -> ComplexArray:
    """The factor of the exponential of a wave at x = W/w, which may be complex."""
    return np.asarray(_polynomial(wave[2], x) * x ** wave[1])


def _polynomial(series: ComplexArray, x: NumberArray) -> NumberArray:
    """The polynomial, in real arithmetic if everything is real."""
    value: Any = polyval(x, series if np.any(series.imag) else series.real)
    return np.asarray(value)


def _integrate(frequency: float, power: float, c: ComplexArray, start: float) -> Wave:
    if frequency == 0.0:
        if power <= 1.0:
            raise ParameterError(
                f"A tail like w^-{power:g} has infinite mass: its power must exceed 1."
            )
        return 0.0, power - 1.0, start * c / (power - 1.0 + np.arange(c.size))
    phase = frequency * start
    if phase < LEAST_PHASE:
        raise ParameterError(
            f"The frequency {frequency:g} turns only {phase / (2.0 * math.pi):.2g} times up "
            f"to the radius {start:g}, so its integral has no asymptotic series there. Start the "
            "tail at a larger radius."
        )
    found: list[complex] = []
    largest = float(np.abs(c).max(initial=0.0))
    for j in range(c.size + _MOST_TERMS):
        before = (power + j - 1.0) * found[-1] if found else 0.0
        found.append((before - (c[j] if j < c.size else 0.0)) / (1j * phase))
        if j >= c.size and abs(found[-1]) * phase < _NEGLIGIBLE * largest:
            break
    series = np.array(found, dtype=complex)
    series *= start
    return frequency, power, series


def _merge(waves: list[Wave]) -> list[Wave]:
    """One wave for each frequency and power modulo 1, without negligible coefficients."""
    top = max((b for b, _, _ in waves), default=0.0)
    groups: list[Wave] = []
    for frequency, power, series in sorted(waves, key=lambda v: v[1]):
        b = frequency if frequency > _SAME_FREQUENCY * top else 0.0
        series = np.asarray(series if b else series.real, dtype=complex)
        for i, (other, lowest, held) in enumerate(groups):
            gap = power - lowest
            same = abs(other - b) <= _SAME_FREQUENCY * top
            if same and abs(gap - round(gap)) < _SAME_POWER:
                both = np.zeros(max(held.size, round(gap) + series.size), dtype=complex)
                both[: held.size] += held
                both[round(gap) : round(gap) + series.size] += series
                groups[i] = other, lowest, both
                break
        else:
            groups.append((b, power, series))
    least = _NEGLIGIBLE * max((float(np.abs(c).max()) for _, _, c in groups), default=0.0)
    found = []
    for frequency, power, series in groups:
        some = np.flatnonzero(np.abs(series) > least)
        if some.size:
            # Leading terms may cancel, as those of a density that touches zero.
            first, last = int(some[0]), int(some[-1])
            found.append((frequency, power + first, series[first : last + 1]))
    return found

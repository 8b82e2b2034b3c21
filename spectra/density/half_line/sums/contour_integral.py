r"""One integral along a ray, of which every density here is a sum.

.. math:: g(x)\,\Re\int A(s + i\psi)\,G(x + s + i\psi)\,ds

with a function A of log z, for most the kernel, and with the waves G of :mod:`.hankel`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, sin

from spectra.base.caching import kept
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.analytic_region import SURVEY_BITS
from spectra.density.continuation.ray import Ray
from spectra.density.half_line.sums.hankel import hankel_waves
from spectra.density.half_line.waves.windows import Edge, window

__all__ = ["ContourIntegral"]

# A strand is looked at until its wave alone has fallen that many times as deep, and more.
_FAR, _MORE = 2.0, 100.0
# Kernels with waves are taken to be analytic so far beside the half-line.
_BESIDE_AXIS = 0.7
# Values times windows have so many bits more than their sums.
_SPARE_BITS = 16


@dataclass(eq=False)
class ContourIntegral:
    """One integral along a ray, and what is known of it beforehand.

    Attributes
    ----------
    ray : callable
        A on its ray, of bits.
    dim, regular : int, bool
        The dimension of its waves, and whether they are J.
    angle : float
        psi.
    low, high : float
        Beyond these s it is nothing.
    begin : float
        Before this s its terms fall at least like exp(s).
    growth : float
        A grows like exp(growth |Im z|).
    weight : callable, optional
        g, of x.
    """

    ray: Callable[[int], Ray]
    dim: int
    angle: float
    low: float = -inf
    high: float = inf
    begin: float = 0.0
    regular: bool = False
    growth: float = 0.0
    weight: Callable[[float], Ball] | None = None

    @property
    def room(self) -> float:
        """How far beside its ray A is taken to be analytic: as far as the half-line is."""
        return self.angle or _BESIDE_AXIS

    @kept
    def windowed(self, bits: int, low: Edge | None, high: Edge | None) -> Ray:
        """A times a window, which is 1 to all bits but beside its edges."""
        ray, more = self.ray(bits), bits + _SPARE_BITS
        if low is None and high is None:
            return ray
        depth = more * log(2.0)
        first = -inf if low is None else low.place + low.reach(depth, self.angle)
        last = inf if high is None else high.place - high.reach(depth, self.angle)

        def values(s: float, _bits: int) -> Ball:
            return ray(s) if first <= s <= last else ray(s) * window(low, high, s, self.angle)

        return Ray(values, self.angle, more)

    def waves(self, bits: int) -> Ray:
        """G."""
        return hankel_waves(self.dim, self.angle, bits, regular=self.regular)

    def log_terms(self, x: float, s: tuple[float, ...]) -> FloatArray:
        """log|g A G| at places."""
        ray, waves = self.ray(SURVEY_BITS), self.waves(SURVEY_BITS)
        log_terms = ray.log_sizes(s) + waves.log_sizes(tuple([x + t for t in s]))
        if self.weight is None:
            return log_terms
        with working(SURVEY_BITS):
            return log_terms + log_of(self.weight(x))

    def end(self, x: float, depth: float) -> float:
        """log z from which the wave has fallen so deep."""
        if self.angle == 0.0:
            return self.high
        w = exp(x)
        rate = -self.growth - w if self.regular else w - self.growth
        if rate <= 0.0:
            return inf
        far = log((_FAR * depth + _MORE + 10.0 * self.dim) / (rate * sin(self.angle)))
        return min(self.high, max(far, self.low + 1.0))

    def phase(self, x: float, high: float) -> float:
        """How far waves turn by the end, on the half-line."""
        return (exp(x) + self.growth) * exp(high) if self.angle == 0.0 else 0.0

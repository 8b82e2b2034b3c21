r"""Kernels with waves: every wave sends out a ray of its own, and makes its frequency singular.

With k = f_0 + 2 Re sum_b e^(ibz) f_b, and windows W_0 + W_1 = 1 that part z about a radius R,

.. math:: \int k\,z^{d/2} J(wz)\,dz = \int k W_0\,z^{d/2} J + \Re\int W_1 z^{d/2}\Bigl\{
          \bigl[f_0 + \sum_{b<w}(e^{ibz} f_b + e^{-ibz}\bar f_b)\bigr] H^{(1)}
          + \sum_{b>w} e^{ibz} f_b\,2J\Bigr\}\,dz,

the first along the half-line, and the others upwards, where all decay like exp(-|w - b| Im z).  How
close w is to b does not matter, but to sums at equal steps of log w: there the part of H that turns
slowly against the wave is summed by the distance of w from b (:mod:`.slow_turn`).  Above all
frequencies one ray from 0 carries the whole kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, log

import flint
import numpy as np

from spectra.base.caching import kept
from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, front, log_of
from spectra.density.continuation.analytic_region import DEEP, SURVEY_BITS, AnalyticRegion
from spectra.density.continuation.ray import to_any_bits
from spectra.density.continuation.sector import Box, is_analytic
from spectra.density.half_line.sums.blockwise import IGNORED, as_sampled
from spectra.density.half_line.sums.contour_integral import ContourIntegral
from spectra.density.half_line.sums.sampled import Sampled, Sampler
from spectra.density.half_line.waves.contour_sums import StrandSums
from spectra.density.half_line.waves.slow_turn import edge_at, reach, slow_turn
from spectra.density.half_line.waves.wave import Wave
from spectra.density.half_line.waves.windows import window
from spectra.errors import NoRouteError

__all__ = ["Beside", "WaveSums"]

# Frequencies so close to w, relative to them, are its neighbours.
_NEAR = 0.5
# Sums are taken no closer to a frequency than that; of neighbours so much further, and up to that
# distance.
_APART, _ASIDE, _WHOLE = 0.12, 0.15, 0.9
# Blocks of log w are no wider, and blocks of the logarithm of a distance.
_NARROW, _WIDE = 0.5, 4.0
# R in units of 1/w: where Hankel's series ends, and elsewhere, and how much more in high dimension.
_ENDS, _ENDS_BY_DIM, _LONG, _LONG_BY_SQUARE = 4.0, 0.5, 32.0, 0.25
# Waves are looked at so far beyond R.
_FAR = 45.0
# A gap that fast waves leave below all frequencies is resolved to exp(-60) of the largest value
# beside them, times the power of w with which densities begin.
_GAP, _BESIDE = -60.0, 0.01
# What turns slowly is resolved to that share of what it is added to.
_FLOOR = 1e-4
# Slopes are differences over that step.
_STEP = 2.0**-12
# How far up a density is known to be negligible is asked at so many times its lowest radius.
_LOOKS = 1.05 ** np.arange(60.0)
# Wider rays from R on have larger terms there.
_STEEPEST = 0.45


#: F, its errors, and the exponents of two that both are to be multiplied by.
Values = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Beside(Sampler):
    """The density of a kernel with waves by the distance above (1) or below (-1) a pivot.

    The distance is exact, where the radius is rounded.
    """

    sums: WaveSums
    pivot: float = 0.0
    side: float = 1.0

    def radii(self, base: float, offsets: FloatArray) -> FloatArray:
        """w at logarithms of the distance."""
        return self.pivot + self.side * np.exp(base + offsets)

    def at_nodes(self, base: float, offsets: FloatArray, power: float) -> Sampled:
        """Values at logarithms of the distance."""
        value, wrong, exponent = self.sums.at(self, base, offsets)
        dim = self.sums.dim
        if self.pivot == 0.0:
            return as_sampled(dim, value, wrong, exponent, base, offsets)
        w = self.radii(base, offsets)
        return as_sampled(dim, value / w, wrong / w, exponent, 0.0, np.zeros(w.size))


class WaveSums:
    """F = w rho of a kernel with waves, but for what stands before all integrals.

    Parameters
    ----------
    plane : Plane
        The kernel.
    waves : sequence of Wave
        What it is the sum of, by ascending frequency.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where a wave is singular, or grows, too close to the half-line.
    """

    def __init__(self, plane: AnalyticRegion, waves: Sequence[Wave], dim: int) -> None:
        self.plane, self.waves, self.dim = plane, tuple(waves), dim
        self._turning = [wave for wave in waves if wave.rate > 0.0]
        first = log(self._radius(False, self._turning[-1].rate)) - reach(0.0)
        middle = 0.5 * min(wave.widest(first, first + _FAR) for wave in waves)
        self.angle = min(middle, _STEEPEST)
        #: Angles of the ray from 0, the best one first.
        self._from_zero = (middle, self.angle)
        if self.angle == 0.0:
            raise NoRouteError(
                f"The waves of {plane.kernel.expr} are singular, or grow, too close to the real "
                "axis to be integrated along rays. A callable with decay= or support= is read by "
                "its values (docs/callables.md)."
            )

    def at(self, beside: Beside, base: float, offsets: FloatArray) -> Values:
        """F at logarithms of the distance from a pivot, each as it is found in its zone."""
        found = tuple(np.empty(offsets.size) for _ in range(3))
        keys = [self._key(w) for w in beside.radii(base, offsets).tolist()]
        for key in set(keys):
            here = np.array([k == key for k in keys])
            parts = self._in_zone(key, beside, base, offsets[here])
            for whole, part in zip(found, parts, strict=True):
                whole[here] = part
        value, wrong, exponent = found
        return value, wrong, exponent

    # --- zones of w -------------------------------------------------------------------------------

    def _key(self, w: float) -> tuple[int, ...]:
        """For each wave -1, 0 or 1: w is below it, about it or above it."""
        return tuple(
            0 if abs(w - wave.rate) < _NEAR * wave.rate else (1 if w > wave.rate else -1)
            for wave in self._turning
        )

    def _in_zone(
        self, key: tuple[int, ...], beside: Beside, base: float, offsets: FloatArray
    ) -> Values:
        """The sums at log w, and those at distances from the frequencies nearby."""
        w = beside.radii(base, offsets)
        if min(key) == 1 and w.min() >= self._unseen_from:
            return self._unseen(w)
        zone = self._zone(key)
        parts = [zone.at(base, offsets) if beside.pivot == 0.0 else _rounded(zone, np.log(w))]
        for wave, about in zip(self._turning, key, strict=True):
            if about == 0:
                sums = self._slow_sums(wave, key, _largest(parts[0]))
                parts += self._beside_frequency(wave, sums, beside, base, offsets)
        exponent = np.max([e for _, _, e in parts], axis=0)
        value, wrong = (
            np.sum([p[i] * np.exp2(p[2] - exponent) for p in parts], axis=0) for i in (0, 1)
        )
        return value, wrong, exponent

    @cached_property
    def _unseen_from(self) -> float:
        """The radius above all frequencies from which the density is proved to be negligible: an
        even kernel leaves none to the powers of its expansion at zero."""
        if not (self.plane.decays_fast and self.plane.is_even):
            return inf
        looks = (1.0 + _NEAR) * self._turning[-1].rate * _LOOKS
        negligible = self._highest() * IGNORED * front(self.dim, SURVEY_BITS) / looks[0]
        fall = self.plane.beyond(self.dim).fall(log_of(negligible), looks)
        return inf if fall is None else fall[0]

    def _unseen(self, w: FloatArray) -> Values:
        """A bound of its size, since nothing more is known: w times a density that falls."""
        most = w / ((1.0 + _NEAR) * self._turning[-1].rate)
        return most, 2.0 * most, np.full(w.shape, log_of(self._highest() * IGNORED) / log(2.0))

    def _slow_sums(
        self, wave: Wave, key: tuple[int, ...], size: Ball
    ) -> dict[float, tuple[StrandSums, float]]:
        """What turns slowly against a wave, above it (1) and below it (-1), as a part of something
        of a size, and what its series leaves out."""
        found = {side: self._slow(wave, side, self._zone_radius(key)) for side in (1.0, -1.0)}
        for sums, _ in found.values():
            sums.floor = max(sums.floor, _FLOOR * size)
        return found

    def _beside_frequency(
        self,
        wave: Wave,
        sums: dict[float, tuple[StrandSums, float]],
        beside: Beside,
        base: float,
        offsets: FloatArray,
    ) -> Iterator[Values]:
        """That part on each side of the frequency, and nothing on the other side."""
        b, w = wave.rate, beside.radii(base, offsets)
        above = beside.side > 0.0 if b == beside.pivot else w >= b
        for side, (slow, left_out) in sums.items():
            here = np.broadcast_to(above == (side > 0.0), w.shape)
            if not here.any():
                continue
            if b == beside.pivot:
                found = slow.at(base, offsets)
            else:
                # The frequency itself is a distance of its rounding from it.
                distance = np.maximum(side * (w[here] - b), EPS * b)
                found = _rounded(slow, np.log(distance), EPS * w[here] / distance)
            value, wrong, exponent = np.zeros(w.shape), np.zeros(w.shape), np.full(w.shape, -np.inf)
            value[here], wrong[here], exponent[here] = found
            wrong[here] += left_out * np.exp2(-exponent[here])
            yield value, wrong, exponent

    @kept
    def _slow(self, wave: Wave, side: float, radius: float) -> tuple[StrandSums, float]:
        """The part beside a frequency by the distance from it, and what its series leaves out."""
        rates = (1.0 - _NEAR) * wave.rate, (1.0 + _NEAR) * wave.rate
        strands, left_out = slow_turn(wave, side, edge_at(radius), self.angle, self.dim, rates)
        return self._sums(strands, (-inf, log(_WHOLE * wave.rate)), _WIDE), left_out

    @kept
    def _zone(self, key: tuple[int, ...]) -> StrandSums:
        """The sums at log w of a zone."""
        strands = [self._whole()] if min(key) == 1 else self._strands(key)
        widest = _WIDE if max(key) == -1 else _NARROW
        zone = self._sums(strands, self._bounds(key), widest)
        if max(key) == -1:
            zone.rise = float(self.dim)
            zone.floor = self._highest() * flint.arb(_GAP - self.dim * zone.bounds[1]).exp()
        elif min(key) == 1 and self.plane.decays_fast:
            zone.floor = self._highest() * IGNORED
        return zone

    @kept
    def _highest(self) -> Ball:
        """About the largest |F|, which is beside a frequency where a kernel decays fast."""
        sizes = []
        for wave in self._turning:
            x = np.log(wave.rate * np.array([1.0 - _BESIDE, 1.0 + _BESIDE]))
            found = self._in_zone(self._key(wave.rate), Beside(self), 0.0, x)
            sizes.append(_largest(found))
        return max(sizes)

    def _bounds(self, key: tuple[int, ...]) -> tuple[float, float]:
        """Between which log w the sums of a zone are taken."""
        least, most = [-inf], [inf]
        for wave, k in zip(self._turning, key, strict=True):
            share = _APART if k else _NEAR + _ASIDE
            if k >= 0:
                least.append(log(wave.rate * (1.0 + share if k else 1.0 - share)))
            if k <= 0:
                most.append(log(wave.rate * (1.0 - share if k else 1.0 + share)))
        return max(least), min(most)

    def _sums(
        self, strands: Sequence[ContourIntegral], bounds: tuple[float, float], widest: float
    ) -> StrandSums:
        name = str(self.plane.kernel.expr)
        return StrandSums(strands, self.dim, self.plane.resolution, bounds, widest, name)

    def _radius(self, by_series: bool, w: float) -> float:
        """R, so that Hankel's series serves beyond it where it is asked to."""
        if not by_series or self.dim % 2:
            return (_ENDS + _ENDS_BY_DIM * self.dim) / w
        return (_LONG + _LONG_BY_SQUARE * (0.5 * self.dim - 1.0) ** 2) / w

    def _zone_radius(self, key: tuple[int, ...]) -> float:
        about = [wave.rate for wave, k in zip(self._turning, key, strict=True) if k == 0]
        if not about:
            return self._radius(False, self._turning[-1].rate)
        return self._radius(True, (1.0 - _NEAR) * min(about))

    def _whole(self) -> ContourIntegral:
        """Above all frequencies: the kernel on one ray from 0."""
        low, high = self.plane.scale - DEEP, log(self._radius(False, self._turning[0].rate))
        kernel = self.plane.kernel
        angles = (a for a in self._from_zero if is_analytic(kernel, Box(low, high, 0.0, a)))
        angle = next(angles, None)
        if angle is None:
            raise NoRouteError(
                f"The kernel {kernel.expr} is singular too close to the real axis. A "
                "callable with decay= or support= is read by its values (docs/callables.md)."
            )
        begin = min(self.plane.scale, -log(self._turning[-1].rate))
        growth = self._turning[-1].rate
        ray = partial(self.plane.ray, angle)
        return ContourIntegral(ray, self.dim, angle, begin=begin, growth=growth)

    def _strands(self, key: tuple[int, ...]) -> list[ContourIntegral]:
        """The integrals of a zone that depend on log w."""
        radius = self._zone_radius(key)
        states = dict(zip(self._turning, key, strict=True))
        still = [wave for wave in self._turning if states[wave] == -1]
        downs = [wave for wave in self._turning if states[wave] == 1]
        ups = [wave for wave in self.waves if wave not in still]
        strands = self._on_axis(radius, still)
        if ups:
            growth = max((wave.rate for wave in downs), default=-min(wave.rate for wave in ups))
            waves = [(wave, False) for wave in ups] + [(wave, True) for wave in downs]
            strands.append(self._outside(waves, radius, growth))
        if still:
            waves, leaving = [(wave, False) for wave in still] * 2, self._leaving(still, radius)
            strands.append(self._outside(waves, leaving, -still[0].rate, regular=True))
        return strands

    def _leaving(self, still: Sequence[Wave], radius: float) -> float:
        """Where waves faster than w leave the half-line: Hankel's series is none of theirs."""
        return min(radius, self._radius(False, still[0].rate))

    def _outside(
        self,
        waves: Sequence[tuple[Wave, bool]],
        radius: float,
        growth: float,
        *,
        regular: bool = False,
    ) -> ContourIntegral:
        """Waves, or what is conjugate to them, from a radius on."""
        edge = edge_at(radius)

        def values(s: float, bits: int) -> Ball:
            z = flint.acb(s, flint.arb(self.angle)).exp()
            terms = (wave.carried(z, bits, conjugate=down) for wave, down in waves)
            return sum(terms, flint.acb(0)) * edge.above(s, self.angle)

        ray, low = to_any_bits(values, self.angle), edge.place - reach(self.angle)
        return ContourIntegral(ray, self.dim, self.angle, low, regular=regular, growth=growth)

    def _on_axis(self, radius: float, still: Sequence[Wave]) -> list[ContourIntegral]:
        """What is left on the half-line: up to a radius, and without fast waves from where these
        leave it."""
        first = edge_at(self._leaving(still, radius) if still else radius)
        last = edge_at(radius)
        axis, far, fastest = self.plane.ray, reach(0.0), self._turning[-1].rate

        def inside(s: float, bits: int) -> Ball:
            return axis(0.0, bits)(s) * first.below(s)

        def between(s: float, bits: int) -> Ball:
            z = flint.acb(flint.arb(s).exp())
            fast = sum((wave.carried(z, bits) for wave in still), flint.acb(0)).real
            return (axis(0.0, bits)(s) - 2 * fast) * window(first, last, s)

        ray, begin = to_any_bits(inside, 0.0), min(self.plane.scale, first.place)
        high = first.place + far
        found = [ContourIntegral(ray, self.dim, 0.0, high=high, begin=begin, growth=fastest)]
        if first != last:
            ray, slow = to_any_bits(between, 0.0), max(w.rate for w in self.waves if w not in still)
            low, high = first.place - far, last.place + far
            found.append(ContourIntegral(ray, self.dim, 0.0, low, high, growth=slow))
        return found


def _largest(found: Values) -> Ball:
    """The size of the largest of some values."""
    value, _, exponent = found
    i = int(np.argmax(np.log2(np.abs(value) + np.finfo(float).tiny) + exponent))
    return flint.arb(float(np.abs(value[i]))) * flint.arb(2) ** int(exponent[i])


def _rounded(sums: StrandSums, x: FloatArray, moved: FloatArray | float = 0.0) -> Values:
    """Sums at places that are rounded, and may be further off, by ``moved``."""
    value, wrong, exponent = sums.at(0.0, x)
    beside, _, other = sums.at(0.0, x + _STEP)
    slope = 2.0 / _STEP * np.abs(beside * np.exp2(other - exponent) - value) + np.abs(value)
    return value, wrong + (EPS * (1.0 + np.abs(x)) + moved) * slope, exponent

"""One sign of a measure: its mass, and the law of its radii from both ends.

Masses below and masses above are summed separately, so that both tails keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from spectra.base.enclosures import Enclosure, legendre_antiderivative, legendre_inverse
from spectra.base.numbers import FloatArray
from spectra.density.components import Atom
from spectra.measure.stretches import Stretch
from spectra.table.tails.wave_sum import WaveSum

__all__ = ["MeasurePart"]

# Where each panel is looked at for double zeros; near one, a density falls to this fraction of
# what it is on both sides, and the zero itself is below the second fraction.
_LOOKED_AT = np.linspace(-1.0, 1.0, 41)
_LOW, _TOUCHING = 0.03, 1e-10
_MINIMUM_STEPS = 8
# Powers of the mass so close to 1 belong to a density that is finite and not 0.
_PLAIN = 0.005


@dataclass(frozen=True, eq=False)
class MeasurePart:
    """One sign of a measure: its mass, and mass below and above every radius.

    Attributes
    ----------
    sign : int
        +1 or -1.
    mass : Enclosure
        Total mass of the part, positive.
    atoms : tuple of Atom
        Its atoms, with positive masses, which are apart from all masses below.
    stretches : tuple of Stretch
        Its absolutely continuous part by ranges of radii, ascending.
    waves : WaveSum or None
        Its density beyond the stretches, where it oscillates without end.
    """

    sign: int
    mass: Enclosure
    atoms: tuple[Atom, ...]
    stretches: tuple[Stretch, ...]
    waves: WaveSum | None = None

    @property
    def phase(self) -> float:
        """Phase of its plane waves: 0 for the positive part, pi for the negative one."""
        return 0.0 if self.sign > 0 else float(np.pi)

    def __repr__(self) -> str:
        held = [f"{len(self.atoms)} atoms", f"{len(self.stretches)} stretches"]
        held += ["waves without end"] if self.waves is not None else []
        return f"{'+' if self.sign > 0 else '-'} part of mass {self.mass}: {', '.join(held)}"

    @cached_property
    def beyond(self) -> float:
        """Mass of its waves, beyond the stretches."""
        return 0.0 if self.waves is None else self.waves.mass

    def _each(self, of_stretch: Callable[[Stretch], FloatArray]) -> FloatArray:
        """What every panel of every stretch has, in their order."""
        return np.concatenate([of_stretch(s) for s in self.stretches])

    @cached_property
    def start(self) -> FloatArray:
        """The t at which each panel starts, shape (n,)."""
        return self._each(lambda s: s.panels.edges[:-1])

    @cached_property
    def stop(self) -> FloatArray:
        """The t at which each panel stops."""
        return self._each(lambda s: s.panels.edges[1:])

    @cached_property
    def origin(self) -> FloatArray:
        """Origin of the chart of each panel, w = origin + way exp(way t)."""
        return self._each(lambda s: np.full(s.panels.errors.size, s.chart.origin))

    @cached_property
    def way(self) -> FloatArray:
        """Its way, 1 or -1."""
        return self._each(lambda s: np.full(s.panels.errors.size, s.chart.way))

    @cached_property
    def coefficients(self) -> FloatArray:
        """Legendre series of the density in each panel, shape (n, ORDER)."""
        return self._each(lambda s: s.panels.coefficients)

    @cached_property
    def errors(self) -> FloatArray:
        """Bound of the error of the mass of each panel."""
        return self._each(lambda s: s.panels.errors)

    @property
    def head(self) -> float:
        """Mass before the first panel."""
        return self.stretches[0].head.mid

    @property
    def tail(self) -> float:
        """Mass after the last panel, of the listed stretches."""
        return self.stretches[-1].tail.mid

    @property
    def rates(self) -> tuple[float, float]:
        """How fast the density per unit of t falls there."""
        return self.stretches[0].rates[0], self.stretches[-1].rates[1]

    @cached_property
    def masses(self) -> FloatArray:
        """Mass of each panel."""
        return np.asarray((self.stop - self.start) * self.coefficients[:, 0])

    @cached_property
    def below(self) -> FloatArray:
        """Mass below the panel edges, shape (n + 1,); gaps between stretches carry none."""
        return self.head + np.concatenate([[0.0], np.cumsum(self.masses)])

    @cached_property
    def above(self) -> FloatArray:
        """Mass above the panel edges."""
        inner = np.concatenate([np.cumsum(self.masses[::-1])[::-1], [0.0]])
        return self.beyond + self.tail + inner

    @cached_property
    def total(self) -> float:
        """Mass of the part as its panels add up to it."""
        atoms = float(sum(a.mass for a in self.atoms))
        return float(self.above[0] + self.head) + atoms

    @cached_property
    def distances(self) -> tuple[FloatArray, FloatArray]:
        """Distances of the ends of the panels from the origins of their charts."""
        return np.exp(self.way * self.start), np.exp(self.way * self.stop)

    @cached_property
    def low(self) -> FloatArray:
        """Radii at which the panels start."""
        return self._beside_origin(np.arange(self.start.size), self.distances[0])

    @cached_property
    def high(self) -> FloatArray:
        """Radii at which they stop."""
        return self._beside_origin(np.arange(self.start.size), self.distances[1])

    def _beside_origin(self, i: NDArray[np.intp], distance: FloatArray) -> FloatArray:
        """Radius at a distance from the origin of panel i, and below it where the panel is."""
        origin, way = self.origin[i], self.way[i]
        w = origin + way * distance
        return np.where(way < 0.0, np.minimum(w, np.nextafter(origin, 0.0)), w)

    def gaps(self) -> NDArray[np.intp]:
        """Indices of the panels that begin after a gap."""
        # Contiguous panels share their edge up to the rounding of two charts.
        jump = self.low[1:] > self.high[:-1] * (1.0 + 1e-12)
        return np.flatnonzero(jump) + 1

    def breaks(self) -> tuple[tuple[int, float], ...]:
        """Panels that begin where the density is not smooth, and the power of the mass there."""
        found = []
        begins = (self.origin[1:] != self.origin[:-1]) | (self.way[1:] != self.way[:-1])
        begins &= (self.origin[1:] > 0.0) & (self.way[1:] > 0.0)
        for i in np.flatnonzero(begins):
            first = self.coefficients[i + 1]
            near, far = (float(legendre.legval(x, first)) for x in (-1.0, 1.0))
            power = 1.0
            if 0.0 < near < far:
                power = float(np.log(far / near) / (self.stop[i + 1] - self.start[i + 1]))
            found.append((int(i) + 1, power if abs(power - 1.0) > _PLAIN else 1.0))
        return tuple(found)

    def double_zeros(self) -> FloatArray:
        """Radii inside the law at which the density touches zero, ascending.

        Each is a minimum of the density between two rises that is zero to the rounding of its
        series.  A radius of this kind is known to half the digits, and its mass to all of them.
        """
        width = _LOOKED_AT.size
        values = legendre.legval(_LOOKED_AT, self.coefficients.T).ravel()
        inner = (values[1:-1] <= values[:-2]) & (values[1:-1] < values[2:])
        # Where a stretch begins or ends the sign changes, and the zero is a simple one.
        ends = width * self.gaps()
        inner[np.concatenate([ends - 1, ends - 2])] = False
        found = []
        for j in np.flatnonzero(inner) + 1:
            before = float(values[max(j - width, 0) : j].max())
            after = float(values[j + 1 : j + 1 + width].max())
            lower, higher = min(before, after), max(before, after)
            if values[j] > _LOW * lower or lower < _LOW * higher:
                continue
            i, place = divmod(int(j), width)
            x = _LOOKED_AT[place]
            slope, curve = (legendre.legder(self.coefficients[i], m) for m in (1, 2))
            for _ in range(_MINIMUM_STEPS):
                step = legendre.legval(x, slope) / legendre.legval(x, curve)
                x = float(np.clip(x - step, -1.0, 1.0))
            if abs(legendre.legval(x, self.coefficients[i])) <= _TOUCHING * lower:
                half = 0.5 * (self.stop[i] - self.start[i])
                one = np.array([i])
                sides = (np.array([half * (1.0 + x)]), np.array([half * (1.0 - x)]))
                found.append(float(self._radius(one, *sides)[0]))
        return np.array(sorted(set(found)))

    def _radius(
        self, i: NDArray[np.intp], after_start: FloatArray, before_stop: FloatArray
    ) -> FloatArray:
        """Radius at a distance in t from the start and the stop of panel i; the nearer decides.

        Distances are counted from the end of a panel: t itself is rounded to |t| times more.
        """
        way, (low, high) = self.way[i], self.distances
        distance = np.where(
            np.abs(after_start) <= np.abs(before_stop),
            low[i] * np.exp(way * after_start),
            high[i] * np.exp(-way * before_stop),
        )
        return self._beside_origin(i, distance)

    def radius(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radius with this mass below and this mass above it; the smaller of the two decides.

        The two add up to the mass of the law without its atoms.
        """
        n = self.start.size
        from_above = above < below
        i = np.searchsorted(self.below, below, side="right") - 1
        high = n - np.searchsorted(self.above[::-1], above, side="left")
        i = np.clip(np.where(from_above, high, i), 0, n - 1)
        width = self.stop[i] - self.start[i]
        # Not the difference of two sums, which far out is nothing but their rounding.
        whole = width * self.coefficients[i, 0]
        under = np.where(from_above, self.above[i] - above, below - self.below[i])
        over = np.where(from_above, above - self.above[i + 1], self.below[i + 1] - below)
        # A mass at an edge belongs to either panel; rounding must not carry it beyond both.
        under = np.minimum(np.maximum(under, 0.0), whole)
        over = np.minimum(np.maximum(over, 0.0), whole)
        x = legendre_inverse(self.coefficients[i], 2.0 * under / width, 2.0 * over / width)
        after_start, before_stop = 0.5 * (1.0 + x) * width, 0.5 * (1.0 - x) * width
        with np.errstate(divide="ignore"):
            if self.head > 0:
                deep = (below < self.head) & ~from_above
                share = np.maximum(below[deep], 0.0) / self.head
                after_start[deep] = np.log(share) / self.rates[0]
                before_stop[deep] = np.inf
            if self.tail > 0:
                far = (above < self.beyond + self.tail) & from_above
                share = np.maximum(above[far] - self.beyond, 0.0) / self.tail
                before_stop[far] = np.log(share) / self.rates[1]
                after_start[far] = np.inf
        return self._radius(i, after_start, before_stop)

    def error_at(self, w: FloatArray) -> FloatArray:
        """Bound of the error of the mass of the panel that holds each radius."""
        i = np.searchsorted(self.low, w, side="right") - 1
        return np.asarray(self.errors[np.clip(i, 0, self.start.size - 1)])

    def split_at(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass below and mass above the radii, atoms apart."""
        i = np.clip(np.searchsorted(self.low, w, side="right") - 1, 0, self.start.size - 1)
        way, (low, high) = self.way[i], self.distances
        distance = np.maximum(way * (w - self.origin[i]), 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            after_start = way * np.log(distance / low[i])
            before_stop = -way * np.log(distance / high[i])
        half = 0.5 * (self.stop[i] - self.start[i])
        x = np.where(after_start < before_stop, after_start / half - 1.0, 1.0 - before_stop / half)
        x = np.clip(x, -1.0, 1.0)
        under, over = legendre_antiderivative(self.coefficients[i], x)
        below = self.below[i] + half * under
        above = self.above[i + 1] + half * over
        before = (i == 0) & (after_start < 0.0)
        if self.head > 0 and np.any(before):
            part = self.head * np.exp(self.rates[0] * after_start[before])
            below[before] = part
            above[before] = self.above[0] + (self.head - part)
        after = (i == self.start.size - 1) & (before_stop < 0.0)
        if self.tail > 0 and np.any(after):
            part = self.tail * np.exp(self.rates[1] * before_stop[after])
            above[after] = self.beyond + part
            below[after] = self.below[-1] + (self.tail - part)
        return below, above

"""One sign of a measure: its mass, and the distribution of its radii from both ends.

Masses below and masses above are summed separately, so that both tails keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre

from spectra.base.arrays import IntArray
from spectra.base.enclosures import Enclosure, legendre_antiderivative, legendre_inverse
from spectra.base.numbers import FloatArray
from spectra.density.components import Atom
from spectra.measure.panels import RadialPanels
from spectra.table.tails.wave_sum import WaveSum

__all__ = ["MeasurePart"]

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
        Its atoms, with positive masses, which are not in the masses below and above.
    panels : RadialPanels or None
        Its absolutely continuous part.
    waves : WaveSum or None
        Its density beyond the panels, if it oscillates without end.
    """

    sign: int
    mass: Enclosure
    atoms: tuple[Atom, ...]
    panels: RadialPanels | None
    waves: WaveSum | None = None

    @property
    def phase(self) -> float:
        """Phase of its plane waves: 0 for the positive part, pi for the negative one."""
        return 0.0 if self.sign > 0 else float(np.pi)

    def __repr__(self) -> str:
        count = 0 if self.panels is None else self.panels.start.size
        held = [f"{len(self.atoms)} atoms", f"{count} panels"]
        held += ["waves without end"] if self.waves is not None else []
        return f"{'+' if self.sign > 0 else '-'} part of mass {self.mass}: {', '.join(held)}"

    @property
    def resolved(self) -> RadialPanels:
        """The panels of a part that has some."""
        assert self.panels is not None
        return self.panels

    @cached_property
    def beyond(self) -> float:
        """Mass of its waves, beyond the panels."""
        return 0.0 if self.waves is None else self.waves.mass

    @property
    def head(self) -> float:
        """Mass before the first panel."""
        return self.resolved.head.mid

    @property
    def tail(self) -> float:
        """Mass after the last panel, without the waves."""
        return self.resolved.tail.mid

    @cached_property
    def below(self) -> FloatArray:
        """Mass below the panel edges, shape (n + 1,); gaps carry none."""
        return self.head + np.append(0.0, np.cumsum(self.resolved.masses))

    @cached_property
    def above(self) -> FloatArray:
        """Mass above the panel edges."""
        inner = np.append(np.cumsum(self.resolved.masses[::-1])[::-1], 0.0)
        return self.beyond + self.tail + inner

    @cached_property
    def total(self) -> float:
        """Mass of the part as its panels add up to it."""
        atoms = float(sum(a.mass for a in self.atoms))
        return float(self.above[0] + self.head) + atoms

    @cached_property
    def _distances(self) -> tuple[FloatArray, FloatArray]:
        """Distances of the ends of the panels from the origins of their charts."""
        p = self.resolved
        return np.exp(p.way * p.start), np.exp(p.way * p.stop)

    @cached_property
    def low(self) -> FloatArray:
        """Radii at which the panels start."""
        return self._beside_origin(np.arange(self.resolved.start.size), self._distances[0])

    @cached_property
    def high(self) -> FloatArray:
        """Radii at which they stop."""
        return self._beside_origin(np.arange(self.resolved.start.size), self._distances[1])

    def _beside_origin(self, i: IntArray, distance: FloatArray) -> FloatArray:
        """Radius at a distance from the origin of panel i, and below it if the panel is."""
        origin, way = self.resolved.origin[i], self.resolved.way[i]
        w = origin + way * distance
        return np.where(way < 0.0, np.minimum(w, np.nextafter(origin, 0.0)), w)

    def breaks(self) -> tuple[tuple[int, float], ...]:
        """Panels that begin where the density is not smooth, and the power of the mass there."""
        found = []
        p = self.resolved
        begins = (p.origin[1:] != p.origin[:-1]) | (p.way[1:] != p.way[:-1])
        begins &= (p.origin[1:] > 0.0) & (p.way[1:] > 0.0)
        for i in np.flatnonzero(begins) + 1:
            near, far = (float(legendre.legval(x, p.coefficients[i])) for x in (-1.0, 1.0))
            power = 1.0
            if 0.0 < near < far:
                power = float(np.log(far / near) / (p.stop[i] - p.start[i]))
            found.append((int(i), power if abs(power - 1.0) > _PLAIN else 1.0))
        return tuple(found)

    def _radius(self, i: IntArray, after_start: FloatArray, before_stop: FloatArray) -> FloatArray:
        """Radius at a distance in t from the start and the stop of panel i; the nearer decides.

        Distances are counted from the end of a panel: t itself is rounded to |t| times more.
        """
        way, (low, high) = self.resolved.way[i], self._distances
        distance = np.where(
            np.abs(after_start) <= np.abs(before_stop),
            low[i] * np.exp(way * after_start),
            high[i] * np.exp(-way * before_stop),
        )
        return self._beside_origin(i, distance)

    def radius(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radius with this mass below and this mass above it; the smaller of the two decides.

        The two add up to the mass of the part without its atoms.
        """
        p = self.resolved
        n = p.start.size
        from_above = above < below
        i = np.searchsorted(self.below, below, side="right") - 1
        high = n - np.searchsorted(self.above[::-1], above, side="left")
        i = np.clip(np.where(from_above, high, i), 0, n - 1)
        width = p.stop[i] - p.start[i]
        # Not the difference of two sums, which far out is nothing but their rounding.
        whole = p.masses[i]
        under = np.where(from_above, self.above[i] - above, below - self.below[i])
        over = np.where(from_above, above - self.above[i + 1], self.below[i + 1] - below)
        # A mass at an edge belongs to either panel; rounding must not carry it beyond both.
        under = np.minimum(np.maximum(under, 0.0), whole)
        over = np.minimum(np.maximum(over, 0.0), whole)
        x = legendre_inverse(p.coefficients[i], 2.0 * under / width, 2.0 * over / width)
        after_start, before_stop = 0.5 * (1.0 + x) * width, 0.5 * (1.0 - x) * width
        with np.errstate(divide="ignore"):
            if self.head > 0:
                deep = (below < self.head) & ~from_above
                share = np.maximum(below[deep], 0.0) / self.head
                after_start[deep] = np.log(share) / p.rates[0]
                before_stop[deep] = np.inf
            if self.tail > 0:
                far = (above < self.beyond + self.tail) & from_above
                share = np.maximum(above[far] - self.beyond, 0.0) / self.tail
                before_stop[far] = np.log(share) / p.rates[1]
                after_start[far] = np.inf
        return self._radius(i, after_start, before_stop)

    def _panel_of(self, w: FloatArray) -> IntArray:
        """The panel that holds each radius, or the nearest one before it."""
        i = np.searchsorted(self.low, w, side="right") - 1
        return np.clip(i, 0, self.low.size - 1)

    def error_at(self, w: FloatArray) -> FloatArray:
        """Bound of the error of the mass of the panel that holds each radius."""
        return np.asarray(self.resolved.errors[self._panel_of(w)])

    def split_at(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass below and mass above the radii, without atoms."""
        p, i = self.resolved, self._panel_of(w)
        way, (low, high) = p.way[i], self._distances
        distance = np.maximum(way * (w - p.origin[i]), 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            after_start = way * np.log(distance / low[i])
            before_stop = -way * np.log(distance / high[i])
        half = 0.5 * (p.stop[i] - p.start[i])
        x = np.where(after_start < before_stop, after_start / half - 1.0, 1.0 - before_stop / half)
        x = np.clip(x, -1.0, 1.0)
        under, over = legendre_antiderivative(p.coefficients[i], x)
        below = self.below[i] + half * under
        above = self.above[i + 1] + half * over
        before = (i == 0) & (after_start < 0.0)
        if self.head > 0 and np.any(before):
            part = self.head * np.exp(p.rates[0] * after_start[before])
            below[before] = part
            above[before] = self.above[0] + (self.head - part)
        after = (i == p.start.size - 1) & (before_stop < 0.0)
        if self.tail > 0 and np.any(after):
            part = self.tail * np.exp(p.rates[1] * before_stop[after])
            above[after] = self.beyond + part
            below[after] = self.below[-1] + (self.tail - part)
        return below, above

"""One sign of a measure: its mass, and radii and masses inside each of its panels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectra.base.arrays import IntArray
from spectra.base.enclosures import Enclosure, legendre_antiderivative, legendre_inverse
from spectra.base.numbers import FloatArray
from spectra.density.components import Atom
from spectra.measure.panels import RadialPanels
from spectra.table.tails.wave_sum import WaveSum

__all__ = ["MeasurePart"]


@dataclass(frozen=True, eq=False)
class MeasurePart:
    """One sign of a measure: atoms of positive mass, panels, and a sum of waves beyond them."""

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

    @cached_property
    def total(self) -> float:
        """Mass of the part as its panels add up to it."""
        total = float(sum(a.mass for a in self.atoms))
        if self.panels is not None:
            total += float(self.panels.masses.sum()) + self.panels.head.mid + self.panels.tail.mid
        return total if self.waves is None else total + self.waves.mass

    @property
    def resolved(self) -> RadialPanels:
        """The panels of a part that has some."""
        assert self.panels is not None
        return self.panels

    @cached_property
    def _distances(self) -> tuple[FloatArray, FloatArray]:
        """Distances of the ends of the panels from the origins of their charts."""
        p = self.resolved
        return np.exp(p.way * p.start), np.exp(p.way * p.stop)

    @cached_property
    def low(self) -> FloatArray:
        """Radii at which the panels start."""
        return self.resolved.at_distance(np.arange(self.resolved.start.size), self._distances[0])

    @cached_property
    def high(self) -> FloatArray:
        """Radii at which they stop."""
        return self.resolved.at_distance(np.arange(self.resolved.start.size), self._distances[1])

    def radius(self, panel: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radii with these masses below and above them inside each panel, shape (n, m)."""
        p, shape = self.resolved, below.shape
        i = np.repeat(panel, shape[1])
        half, way = 0.5 * (p.stop[i] - p.start[i]), p.way[i]
        x = legendre_inverse(p.coefficients[i], below.ravel() / half, above.ravel() / half)
        # Distances count from the nearer end of a panel: t itself is rounded to |t| times more.
        distance = np.where(
            x < 0.0,
            self._distances[0][i] * np.exp(way * half * (1.0 + x)),
            self._distances[1][i] * np.exp(-way * half * (1.0 - x)),
        )
        return p.at_distance(i, distance).reshape(shape)

    def masses(self, panel: IntArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Masses below and above radii w inside each panel, shape (n, m)."""
        p, i = self.resolved, np.repeat(panel, w.shape[1])
        half, way = 0.5 * (p.stop[i] - p.start[i]), p.way[i]
        distance = np.maximum(way * (w.ravel() - p.origin[i]), 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            after, before = (way * np.log(distance / d[i]) for d in self._distances)
        x = np.where(after < -before, after / half - 1.0, 1.0 + before / half)
        below, above = legendre_antiderivative(p.coefficients[i], np.clip(x, -1.0, 1.0))
        return (half * below).reshape(w.shape), (half * above).reshape(w.shape)

"""The distribution function of the radius of one part, and its inverse, from both ends.

Masses below and masses above are summed separately, so that both tails keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.measure.stretches import Closure, Stretch
from spectra.quadrature import LegendrePanels, legendre_antiderivative, legendre_inverse

__all__ = ["ContinuousLaw"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContinuousLaw:
    """Mass below and above every radius, for the listed stretches of one part.

    Attributes
    ----------
    start, stop, end : ndarray of shape (n,)
        Range of t of each panel, and the end of the spectrum of its chart (``nan`` for w = e^t).
    coefficients : ndarray of shape (n, ORDER)
        Legendre series of the density in each panel.
    low, high : ndarray of shape (n,)
        Radii at the ends of the panels.
    below, above : ndarray of shape (n + 1,)
        Mass below and above the panel edges; gaps between stretches carry none.
    head, tail : Closure
        What lies before the first panel and after the last one.
    beyond : float
        Mass of further lobes that are not listed.
    """

    start: FloatArray
    stop: FloatArray
    end: FloatArray
    coefficients: FloatArray
    low: FloatArray
    high: FloatArray
    below: FloatArray
    above: FloatArray
    head: Closure
    tail: Closure
    beyond: float

    @classmethod
    def of(cls, stretches: tuple[Stretch, ...], beyond: float) -> ContinuousLaw:
        """Join the panels of stretches that ascend."""
        panels: list[LegendrePanels] = [s.panels for s in stretches]
        end = np.concatenate(
            [
                np.full(p.errors.size, np.nan if s.chart.end is None else s.chart.end)
                for s, p in zip(stretches, panels, strict=True)
            ]
        )
        edges = [s.chart.radius(p.edges) for s, p in zip(stretches, panels, strict=True)]
        masses = np.concatenate([p.integrals for p in panels])
        head, tail = stretches[0].head, stretches[-1].tail
        return cls(
            start=np.concatenate([p.edges[:-1] for p in panels]),
            stop=np.concatenate([p.edges[1:] for p in panels]),
            end=end,
            coefficients=np.concatenate([p.coefficients for p in panels]),
            low=np.concatenate([e[:-1] for e in edges]),
            high=np.concatenate([e[1:] for e in edges]),
            below=head.mass + np.concatenate([[0.0], np.cumsum(masses)]),
            above=beyond + tail.mass + np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]]),
            head=head,
            tail=tail,
            beyond=beyond,
        )

    @property
    def mass(self) -> float:
        """Mass of the listed stretches and of the lobes beyond them."""
        return float(self.above[0] + self.head.mass)

    def gaps(self) -> NDArray[np.intp]:
        """Indices of the panels that begin after a gap."""
        # Contiguous panels share their edge up to the rounding of two charts.
        jump = self.low[1:] > self.high[:-1] * (1.0 + 1e-12)
        return np.flatnonzero(jump) + 1

    def _radius(self, i: NDArray[np.intp], t: FloatArray) -> FloatArray:
        end = self.end[i]
        ended = np.isfinite(end)
        w = np.empty_like(t)
        w[~ended] = np.exp(t[~ended])
        w[ended] = np.minimum(end[ended] - np.exp(-t[ended]), np.nextafter(end[ended], 0.0))
        return w

    def radius(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radius with this mass below and this mass above it; the smaller of the two decides.

        The two add up to the mass of the law.
        """
        n = self.start.size
        from_above = above < below
        i = np.searchsorted(self.below, below, side="right") - 1
        high = n - np.searchsorted(self.above[::-1], above, side="left")
        i = np.clip(np.where(from_above, high, i), 0, n - 1)
        width = self.stop[i] - self.start[i]
        whole = self.below[i + 1] - self.below[i]
        under = np.where(from_above, self.above[i] - above, below - self.below[i])
        over = np.where(from_above, above - self.above[i + 1], self.below[i + 1] - below)
        # A mass at an edge belongs to either panel; rounding must not carry it beyond both.
        under = np.minimum(np.maximum(under, 0.0), whole)
        over = np.minimum(np.maximum(over, 0.0), whole)
        x = legendre_inverse(self.coefficients[i], 2.0 * under / width, 2.0 * over / width)
        t = np.where(
            x > 0, self.stop[i] - 0.5 * (1.0 - x) * width, self.start[i] + 0.5 * (1.0 + x) * width
        )
        with np.errstate(divide="ignore"):
            if self.head.mass > 0:
                deep = (below < self.head.mass) & ~from_above
                share = np.maximum(below[deep], 0.0) / self.head.mass
                t[deep] = self.start[0] + np.log(share) / self.head.rate
            if self.tail.mass > 0:
                far = (above < self.beyond + self.tail.mass) & from_above
                share = np.maximum(above[far] - self.beyond, 0.0) / self.tail.mass
                t[far] = self.stop[-1] - np.log(share) / self.tail.rate
        return self._radius(i, t)

    def masses(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass below and mass above the radii."""
        i = np.clip(np.searchsorted(self.low, w, side="right") - 1, 0, self.start.size - 1)
        end = self.end[i]
        ended = np.isfinite(end)
        t = np.empty_like(w)
        with np.errstate(divide="ignore"):
            t[~ended] = np.log(w[~ended])
            t[ended] = -np.log(np.maximum(end[ended] - w[ended], 0.0))
        half = 0.5 * (self.stop[i] - self.start[i])
        x = np.clip((t - self.start[i]) / half - 1.0, -1.0, 1.0)
        under, over = legendre_antiderivative(self.coefficients[i], x)
        below = self.below[i] + half * under
        above = self.above[i + 1] + half * over
        before = t < self.start[0]
        before &= i == 0
        if self.head.mass > 0 and np.any(before):
            part = self.head.mass * np.exp(self.head.rate * (t[before] - self.start[0]))
            below[before] = part
            above[before] = self.above[0] + (self.head.mass - part)
        after = (i == self.start.size - 1) & (t > self.stop[-1])
        if self.tail.mass > 0 and np.any(after):
            part = self.tail.mass * np.exp(-self.tail.rate * (t[after] - self.stop[-1]))
            above[after] = self.beyond + part
            below[after] = self.below[-1] + (self.tail.mass - part)
        return below, above

r"""Exact draws of an isotropic frequency under a modulation of its coordinate along an axis.

The target is f(e.w) law(dw), f >= 0.  With the length R of w and the cosine c of its angle to the
axis, f vanishes up to :math:`|R c| = x_0` and then rises at most linearly to its bound, so the
proposal draws c among :math:`|c| > x_0 / R` alone and R in proportion to a step function above

.. math:: P(|c| > x_0 / R)\; \min(b, L (R - x_0)),

in layers of probability that shrink towards the far end of the law.  What is kept has exactly the
law of the target, and parts far out in the tail keep a useful share of their proposals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.special import betainc, betaincinv

from spectra.base.arrays import FloatArray
from spectra.table.radial.radial_law import RadialLaw

__all__ = ["AxialProposal"]

# Layers of probability: the survival shrinks by this factor from one to the next, so that the
# step function is near the weight, until it is below every draw of doubles.
_SHRINK = 0.75
_LEAST = 2.0**-60
# Bisection steps to the probability of a radius; 1 / 2^60 of a layer is below rounding.
_BISECTIONS = 120


@final
@dataclass(frozen=True, eq=False)
class AxialProposal:
    """Proposals of (R, c), with the envelope of f that they were drawn from.

    ``start``: x_0: f is zero for |e.w| < x_0; ``bound``: a bound of f; ``slope``: a bound of its
    slope from f(x_0) = 0 on; infinite where f(x_0) is not 0.
    """

    law: RadialLaw
    dim: int
    start: float
    bound: float
    slope: float

    def propose(
        self, n: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Radii, cosines and levels: keep a proposal where its f is above its level."""
        edges, heights = self._layers
        shares = np.cumsum(heights * np.diff(edges))
        layer = np.searchsorted(shares, rng.random(n) * shares[-1], side="right")
        layer = np.minimum(layer, heights.size - 1)
        low, high = edges[layer], edges[layer + 1]
        radii = self.law.isf(low + (high - low) * rng.random(n))
        beyond = self._beyond(radii)
        cosines = self._cosines(beyond, rng)
        # A proposal that cannot reach the support has the level infinity: it is never kept.
        with np.errstate(divide="ignore"):
            levels = rng.random(n) * heights[layer] / beyond
        return radii, cosines, levels

    @cached_property
    def total(self) -> float:
        """Mass of the proposals: E f / total is the share that is kept."""
        edges, heights = self._layers
        return float(heights @ np.diff(edges))

    @cached_property
    def _layers(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the layers in q = P(radius > R), ascending from 0, and the heights on them."""
        most = self._survival(self.start)
        count = int(np.ceil(np.log(_LEAST) / np.log(_SHRINK)))
        edges = np.concatenate([[0.0], most * _SHRINK ** np.arange(count, -1.0, -1.0)])
        # The weight grows with the radius, so that it is greatest at the lower end in q.
        return edges, self._weight(self.law.isf(edges[:-1]))

    def _survival(self, radius: float) -> float:
        """A probability q with isf(q) <= radius that is hardly more than P(R > radius)."""
        if radius == 0.0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high) if low else 0.5 * high
            if float(self.law.isf(middle)) > radius:
                low = middle
            else:
                high = middle
        return high

    def _weight(self, radii: FloatArray) -> FloatArray:
        reach = np.maximum(radii - self.start, 0.0)
        height = np.full(radii.shape, self.bound)
        if np.isfinite(self.slope):
            height = np.minimum(self.bound, self.slope * reach)
        return np.asarray(self._beyond(radii) * height)

    def _beyond(self, radii: FloatArray) -> FloatArray:
        """P(|c| > x_0 / R) for a uniform direction."""
        if self.start == 0.0:
            return np.ones(radii.shape)
        # A radius below the start, or 0, cannot reach the support.
        ratio = np.minimum(1.0, self.start / np.maximum(radii, self.start))
        if self.dim == 1:
            return np.asarray((ratio < 1.0).astype(float))
        return np.asarray(betainc(0.5 * (self.dim - 1), 0.5, (1.0 - ratio) * (1.0 + ratio)))

    def _cosines(self, beyond: FloatArray, rng: np.random.Generator) -> FloatArray:
        signs = np.where(rng.random(beyond.size) < 0.5, -1.0, 1.0)
        if self.dim == 1:
            return signs
        square = betaincinv(0.5 * (self.dim - 1), 0.5, rng.random(beyond.size) * beyond)
        return np.asarray(signs * np.sqrt(1.0 - square))

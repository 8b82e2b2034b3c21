"""A density in pieces, each a function of the distance to the frequency of a wave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component, Evaluation

__all__ = ["OneSidedPiece", "PiecewiseDensity"]

# Pieces overlap by this share, so that rounding leaves no gap between them.
_OVERLAP = 8.0 * EPS


#: (radius, side, near, far, density): the density at radius + side * distance, as a function of the
#: distance from near to far.
OneSidedPiece = tuple[float, float, float, float, Component]


@dataclass(frozen=True, eq=False)
class PiecewiseDensity(Component):
    """A density made of pieces, as a function of the distance to a radius on one side of it.

    Distances to that radius are not rounded; the density of w itself counts from radius 0.
    """

    pieces: tuple[OneSidedPiece, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    breaks: tuple[tuple[float, float], ...]
    end: float
    radius: float = 0.0
    side: float = 1.0

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The density at distances; its error includes rounding of distances to other radii."""
        x = np.asarray(w, dtype=float)
        w = self.radius + self.side * x
        found = np.multiply.outer((1.0, -np.inf, -np.inf, 0.0), np.ones_like(x))
        for radius, side, near, far, density in self.pieces:
            distance, least = x, float(np.finfo(float).tiny)
            if radius != self.radius:
                distance = side * (w - radius)
                least = max(least, EPS * radius)
            elif side != self.side:
                continue
            mine = (distance >= near) & (distance <= far * (1.0 + _OVERLAP))
            if mine.any():
                found[:, mine] = density.evaluate(np.maximum(distance[mine], least))
        sign, log, envelope, error = found
        for radius, exponent in self.breaks:
            if exponent < 0.0 and radius != self.radius:
                gap = np.abs(w - radius)
                error = error + 2.0 * EPS * radius / np.maximum(gap, EPS * radius)
        return sign, log, envelope, error

    def as_function_of_distance(self, radius: float, side: float) -> Component | None:
        """The density as a function of the distance to a frequency, on one side of it."""
        for *place, _, density in self.pieces:
            if place == [radius, side, 0.0]:
                power, bulk = density.origin_exponent, density.bulk
                return replace(self, radius=radius, side=side, origin_exponent=power, bulk=bulk)
        return None

    def feature_radii(self) -> FloatArray:
        """The telling radii of all pieces, ascending."""
        radii = [r + side * density.feature_radii() for r, side, _, _, density in self.pieces]
        return np.sort(np.concatenate(radii))

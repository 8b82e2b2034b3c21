"""A density in pieces, each a function of the distance to the frequency of a wave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component, Evaluation

__all__ = ["BetweenWaves", "Piece"]

# Pieces overlap by this share, so that rounding leaves no gap between them.
_OVERLAP = 8.0 * EPS


@dataclass(frozen=True, eq=False)
class Piece:
    """The density at radius + side * distance for near <= distance <= far."""

    radius: float
    side: float
    far: float
    density: Component
    near: float = 0.0


@dataclass(frozen=True, eq=False)
class BetweenWaves(Component):
    """A density made of pieces, as a function of the distance to a radius on one side of it.

    Distances to that radius are not rounded; the density of w itself counts from radius 0.
    """

    pieces: tuple[Piece, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    breaks: tuple[tuple[float, float], ...]
    end: float
    radius: float = 0.0
    side: float = 1.0

    def evaluate(self, w: FloatArray) -> Evaluation:
        """What the pieces say at distances, with the rounding of distances to other waves."""
        x = np.asarray(w, dtype=float)
        w = self.radius + self.side * x
        found = np.multiply.outer((1.0, -np.inf, -np.inf, 0.0), np.ones_like(x))
        for piece in self.pieces:
            distance, least = x, float(np.finfo(float).tiny)
            if piece.radius != self.radius:
                distance = piece.side * (w - piece.radius)
                least = max(least, EPS * piece.radius)
            elif piece.side != self.side:
                continue
            mine = (distance >= piece.near) & (distance <= piece.far * (1.0 + _OVERLAP))
            if mine.any():
                found[:, mine] = piece.density.evaluate(np.maximum(distance[mine], least))
        sign, log, envelope, error = found
        for radius, exponent in self.breaks:
            if exponent < 0.0 and radius != self.radius:
                gap = np.abs(w - radius)
                error = error + 2.0 * EPS * radius / np.maximum(gap, EPS * radius)
        return sign, log, envelope, error

    def beside(self, radius: float, side: float) -> Component | None:
        """The density from the distance to a frequency, which is not rounded."""
        for piece in self.pieces:
            if (piece.radius, piece.side, piece.near) == (radius, side, 0.0):
                power, bulk = piece.density.origin_exponent, piece.density.bulk
                return replace(self, radius=radius, side=side, origin_exponent=power, bulk=bulk)
        return None

    def telling_radii(self) -> FloatArray:
        """Those of the pieces."""
        radii = [p.radius + p.side * p.density.telling_radii() for p in self.pieces]
        return np.sort(np.concatenate(radii))

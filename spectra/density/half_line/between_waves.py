"""A density in pieces, each a function of the distance to the frequency of a wave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component

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

    def _evaluate_pieces(self, name: str, x: FloatArray, *beyond: float) -> FloatArray:
        """A method of the pieces, by its name, at distances; ``beyond`` where there is no piece."""
        x = np.asarray(x, dtype=float)
        found = np.multiply.outer(beyond, np.ones_like(x))
        for piece in self.pieces:
            distance, least = x, float(np.finfo(float).tiny)
            if piece.radius != self.radius:
                distance = piece.side * (self.radius + self.side * x - piece.radius)
                least = max(least, EPS * piece.radius)
            elif piece.side != self.side:
                continue
            mine = (distance >= piece.near) & (distance <= piece.far * (1.0 + _OVERLAP))
            if mine.any():
                found[:, mine] = getattr(piece.density, name)(np.maximum(distance[mine], least))
        return found

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|."""
        sign, log = self._evaluate_pieces("signed_log", w, 1.0, -np.inf)
        return sign, log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """The local size of log|rho|, as the pieces know it."""
        return np.asarray(self._evaluate_pieces("log_envelope", w, -np.inf)[0])

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Estimated error relative to the envelope, with the rounding of distances."""
        found = self._evaluate_pieces("relative_error", w, 0.0)[0]
        for radius, exponent in self.breaks:
            if exponent < 0.0 and radius != self.radius:
                gap = np.abs(self.radius + self.side * np.asarray(w) - radius)
                found = found + 2.0 * EPS * radius / np.maximum(gap, EPS * radius)
        return np.asarray(found)

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

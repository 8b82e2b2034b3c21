"""A density in pieces between the frequencies of slow waves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component

__all__ = ["BetweenWaves", "Piece", "Side", "error_fall"]


def error_fall(power: float, log_ratio: FloatArray) -> FloatArray:
    """How the error of distance * rho falls towards a radius, from 1 at the reach.

    A density may be a power or a logarithm of the distance there, or bounded.
    """
    t = np.minimum(log_ratio, 0.0)
    return np.asarray(np.exp(min(power + 1.0, 1.0) * t) * (1.0 - t))


@dataclass(frozen=True, eq=False)
class Side(Component):
    """The density as a function of the distance to a radius, on panels in its logarithm.

    ``series`` holds the Chebyshev coefficients of distance * rho, ``error`` is its absolute error.
    """

    edges: FloatArray
    series: FloatArray
    error: float
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float = np.inf

    def _values(self, x: FloatArray) -> FloatArray:
        """distance * rho at the logarithms of distances."""
        inside = np.clip(x, self.edges[0], self.edges[-1])
        which = np.clip(np.searchsorted(self.edges, inside) - 1, 0, len(self.series) - 1)
        low, high = self.edges[which], self.edges[which + 1]
        s = (2.0 * inside - low - high) / (high - low)
        value = np.polynomial.chebyshev.chebval(s, self.series[which].T, tensor=False)
        return np.asarray(value * np.exp((self.origin_exponent + 1.0) * np.minimum(x - inside, 0)))

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at distances."""
        x = np.log(np.asarray(w, float))
        value = self._values(x)
        with np.errstate(divide="ignore"):
            return np.sign(value), np.log(np.abs(value)) - x

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the logarithm of its error where that is larger."""
        least = np.log(self._wrong(w)) - np.log(w)
        return np.asarray(np.maximum(self.signed_log(w)[1], least))

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Estimated error relative to the envelope."""
        return np.asarray(np.exp(np.log(self._wrong(w)) - np.log(w) - self.log_envelope(w)))

    def _wrong(self, w: FloatArray) -> FloatArray:
        """The error, which falls towards the radius."""
        fall = error_fall(self.origin_exponent, np.log(w) - self.edges[-1])
        return np.asarray(self.error * fall + 1e-300)

    def telling_radii(self) -> FloatArray:
        """The edges of the panels."""
        return np.asarray(np.exp(self.edges))


@dataclass(frozen=True, eq=False)
class Piece:
    """The density for low < w < high, from its value at w = pivot + side * distance."""

    low: float
    high: float
    pivot: float
    side: float
    density: Component

    def distance(self, w: FloatArray) -> FloatArray:
        """The distance to the pivot, which is rounded."""
        least = max(EPS * self.pivot, np.finfo(float).tiny)
        return np.asarray(np.maximum(self.side * (w - self.pivot), least))


@dataclass(frozen=True, eq=False)
class BetweenWaves(Component):
    """A density made of pieces that follow one another; it is 0 beyond the last."""

    pieces: tuple[Piece, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    breaks: tuple[tuple[float, float], ...]
    end: float

    def _by_pieces(
        self, w: FloatArray, known: Callable[[Component, FloatArray], Any], *beyond: float
    ) -> list[FloatArray]:
        w = np.asarray(w, dtype=float)
        found = np.multiply.outer(beyond, np.ones_like(w))
        for piece in self.pieces:
            mine = (w >= piece.low) & (w < piece.high)
            if mine.any():
                found[:, mine] = known(piece.density, piece.distance(w[mine]))
        return list(found)

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        sign, log = self._by_pieces(w, lambda c, x: c.signed_log(x), 1.0, -np.inf)
        return sign, log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the logarithm of its error where that is larger."""
        return self._by_pieces(w, lambda c, x: c.log_envelope(x), -np.inf)[0]

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Estimated error relative to the envelope, with the rounding of distances."""
        found = self._by_pieces(w, lambda c, x: c.relative_error(x), 0.0)[0]
        for radius, exponent in self.breaks:
            if exponent < 0.0:
                gap = np.maximum(np.abs(w - radius), EPS * radius)
                found = found + 2.0 * EPS * radius / gap
        return found

    def beside(self, radius: float, side: float) -> Component | None:
        """The density from the distance to a frequency, which is not rounded."""
        mine = (p for p in self.pieces if p.pivot == radius and p.side == side)
        return next((_Beside(piece, self) for piece in mine), None)

    def telling_radii(self) -> FloatArray:
        """Those of the pieces."""
        radii = [p.pivot + p.side * p.density.telling_radii() for p in self.pieces]
        return np.sort(np.concatenate(radii))


class _Beside(Component):
    """A density as a function of the distance to a frequency, on one side of it."""

    def __init__(self, piece: Piece, whole: BetweenWaves) -> None:
        self.piece, self.whole = piece, whole
        self.reach = piece.high - piece.low
        self.origin_exponent = piece.density.origin_exponent
        self.total, self.bulk, self.decay = 0.0, piece.density.bulk, whole.decay

    def _known(
        self, w: FloatArray, ask: Callable[[Component, FloatArray], Any]
    ) -> list[FloatArray]:
        """What the piece knows within its reach, and the whole density beyond it."""
        w = np.asarray(w, float)
        radii = np.maximum(self.piece.pivot + self.piece.side * w, np.finfo(float).tiny)
        pairs = zip(ask(self.piece.density, w), ask(self.whole, radii), strict=True)
        return [np.where(w < self.reach, near, far) for near, far in pairs]

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at distances."""
        sign, log = self._known(w, lambda c, x: c.signed_log(x))
        return sign, log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the logarithm of its error where that is larger."""
        return self._known(w, lambda c, x: (c.log_envelope(x),))[0]

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Estimated error relative to the envelope."""
        return self._known(w, lambda c, x: (c.relative_error(x),))[0]

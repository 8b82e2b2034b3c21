r"""A density that is singular at the frequencies of the waves of its kernel.

A wave :math:`z^{-a} e^{ibz}` of a kernel makes its density behave like
:math:`|w - b|^{a - (d+1)/2}` on both sides of b, next to functions that are smooth there.  The
density is known on stretches from each frequency to the middle of two, as a function of the
distance to the frequency: so it keeps its digits however close the two are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.density import Component, Tail
from spectra.numeric import FloatArray
from spectra.quadrature import EPS
from spectra.transform.panelled import Panelled

__all__ = ["BetweenWaves", "Side"]

# A rounded frequency rounds the distance: densities are taken to change by so many e-folds of it.
_STEEPNESS = 2.0


@dataclass(frozen=True, eq=False)
class Side:
    """The density from ``low`` to ``high``, as a function of the distance to a pivot.

    Attributes
    ----------
    low, high : float
        Radii; one of them is the pivot.
    pivot, side : float
        w = pivot + side * distance.
    density : Panelled
        The density at a distance.
    is_exact : bool
        Whether the pivot is the frequency itself, and not a double next to it.
    """

    low: float
    high: float
    pivot: float
    side: float
    density: Panelled
    is_exact: bool = True

    def distance(self, w: FloatArray) -> FloatArray:
        """The distance to the pivot; at the pivot itself the least there is in doubles, or its
        rounding."""
        least = np.finfo(float).tiny if self.is_exact else EPS * self.pivot
        return np.maximum(self.side * (w - self.pivot), least)

    def relative_error(self, distance: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the frequency: as far
        as the density changes on the way to twice the distance, and as far as a power of it does
        where that has no bound."""
        bound = self.density.relative_error(distance)
        if self.is_exact:
            return bound
        moved = EPS * self.pivot / distance
        if self.density.origin_exponent < 0.0:
            return bound + _STEEPNESS * moved
        (sign, log), (other, beyond) = map(self.density.signed_log, (distance, 2.0 * distance))
        envelope = self.density.log_envelope(distance)
        change = np.abs(sign * np.exp(log - envelope) - other * np.exp(beyond - envelope))
        return bound + 2.0 * _STEEPNESS * moved * change


@dataclass(frozen=True, eq=False)
class BetweenWaves(Component):
    """A component made of sides that follow one another; it is 0 beyond the last one.

    Attributes
    ----------
    sides : tuple of Side
        From radius 0 to infinity, or to the end of the spectrum.
    """

    sides: tuple[Side, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    tail: Tail
    breaks: tuple[tuple[float, float], ...]

    def _each(self, w: FloatArray) -> Iterator[tuple[NDArray[np.bool_], Side, FloatArray]]:
        """Which radii are on each side, and their distances to its pivot."""
        which = np.searchsorted([s.low for s in self.sides[1:]], w, side="right")
        for i, side in enumerate(self.sides):
            mine = (which == i) & (w < side.high)
            if np.any(mine):
                yield mine, side, side.distance(w[mine])

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        w = np.asarray(w, dtype=float)
        sign, log = np.ones_like(w), np.full_like(w, -np.inf)
        for mine, side, distance in self._each(w):
            sign[mine], log[mine] = side.density.signed_log(distance)
        return sign, log

    def beside(self, radius: float, side: float) -> Component | None:
        """The side of a frequency, from the distance itself."""
        mine = (s.density for s in self.sides if s.pivot == radius and s.side == side)
        return next(mine, None)

    def telling_radii(self) -> FloatArray:
        """Those of its sides."""
        return np.concatenate([s.pivot + s.side * s.density.telling_radii() for s in self.sides])

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the largest value nearby where the density passes through zero."""
        w = np.asarray(w, dtype=float)
        log = np.full_like(w, -np.inf)
        for mine, side, distance in self._each(w):
            log[mine] = side.density.log_envelope(distance)
        return log

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the frequency."""
        w = np.asarray(w, dtype=float)
        bound = np.zeros_like(w)
        for mine, side, distance in self._each(w):
            bound[mine] = side.relative_error(distance)
        return bound

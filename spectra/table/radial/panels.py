r"""The density of a radius on panels: Legendre series, power laws, and points.

Each panel has a chart, the map :math:`w = o + s\,e^{s t}` of a variable t to the radius.  The
origin o is 0 or a radius at which the density is not smooth; the side s is 1 for radii above
o and -1 for radii below it.  There are three kinds of panels:

=====  =====  ====================================================================================
power  side   panel
=====  =====  ====================================================================================
0      1, -1  a series: the density per unit of t on [start, stop], a Legendre series in [-1, 1]
> 0    1, -1  a power law: the mass at distances <= r from o is c r^(1/power), r <= exp(s start)
< 0    1      a power law: the mass at distances >= r from o is c r^(1/power), r >= exp(start)
0      0      a point: a mass at w = origin
=====  =====  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from spectra.base.arrays import FloatArray, IntArray, frozen_array, reduce_to_fields
from spectra.base.enclosures import ORDER, legendre_antiderivative, legendre_inverse
from spectra.errors import ParameterError

__all__ = ["Panels"]

# Relative overlap allowed between neighboring panels (rounding).
_OVERLAP_TOLERANCE = 1e-9


@final
@dataclass(frozen=True, eq=False)
class Panels:
    """A density of the radius on n panels in ascending order.

    Parameters
    ----------
    charts : array_like, shape (n, 5)
        Origin, side, start, stop and power of each panel; for a power law start = stop.
    series : array_like, shape (n, m)
        At most 20 Legendre coefficients of a series; the mass of a power law or point, then zeros.

    Examples
    --------
    >>> uniform = Panels([[0.0, 1.0, 0.0, 0.0, 1.0]], [[1.0]])      # on [0, 1]
    >>> uniform.low, uniform.high
    (array([0.]), array([1.]))
    """

    charts: FloatArray
    series: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "charts", frozen_array(self.charts, "charts of panels", 2))
        series = frozen_array(self.series, "series of panels", 2)
        if series.shape[1] < ORDER:
            series = frozen_array(np.pad(series, ((0, 0), (0, ORDER - series.shape[1]))), "", 2)
        object.__setattr__(self, "series", series)
        if self.charts.shape != (len(series), 5) or series.shape[1] > ORDER:
            raise ParameterError(
                f"Panels need charts of shape (n, 5) and series of shape (n, m), m <= {ORDER}; got "
                f"the shapes {self.charts.shape} and {self.series.shape}."
            )
        origin, side, start, stop, power = self.charts.T
        known = np.all(np.isin(side, (-1.0, 0.0, 1.0))) and not np.any(power[side == 0.0])
        if not known or np.any(origin < 0.0) or np.any(start > stop) or np.any(self.masses < 0.0):
            raise ParameterError(
                "A panel has an unknown chart, an origin or a mass below 0, or start > stop."
            )
        if np.any(self.low[1:] < self.high[:-1] * (1.0 - _OVERLAP_TOLERANCE)):
            raise ParameterError("The radii of panels must ascend: check the order of the rows.")

    __reduce__ = reduce_to_fields

    @classmethod
    def points(cls, radii: ArrayLike, masses: ArrayLike) -> Self:
        """Points of the given masses at ascending radii."""
        charts = np.zeros((np.size(radii), 5))
        charts[:, 0] = radii
        return cls(charts, np.reshape(masses, (-1, 1)))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """The panels of all parts, sorted by radius."""
        charts = np.concatenate([p.charts for p in parts])
        series = np.concatenate([p.series for p in parts])
        # The middle sorts a point correctly, as points lie at the edges of other panels.
        order = np.argsort(np.concatenate([p.low + p.high for p in parts]), kind="stable")
        return cls(charts[order], series[order])

    def scaled(self, factor: float) -> Self:
        """The panels with all masses multiplied by a factor."""
        return type(self)(self.charts, factor * self.series)

    @property
    def size(self) -> int:
        """Number of panels."""
        return len(self.charts)

    @cached_property
    def are_series(self) -> NDArray[np.bool_]:
        """Which panels are series."""
        return np.asarray((self.charts[:, 1] != 0.0) & (self.charts[:, 4] == 0.0))

    @cached_property
    def masses(self) -> FloatArray:
        """Mass of each panel."""
        width = np.where(self.are_series, 2.0 * self.half_widths, 1.0)
        return np.asarray(width * self.series[:, 0])

    @cached_property
    def half_widths(self) -> FloatArray:
        """Half of stop - start, for each panel."""
        _, _, start, stop, _ = self.charts.T
        return np.asarray(0.5 * (stop - start))

    @cached_property
    def are_upper_ends(self) -> NDArray[np.bool_]:
        """Which panels are power laws towards infinity, or towards an origin above them."""
        _, side, _, _, power = self.charts.T
        return np.asarray((power < 0.0) | ((power > 0.0) & (side < 0.0)))

    @cached_property
    def low(self) -> FloatArray:
        """Smallest radius of each panel."""
        origin, side, _, _, power = self.charts.T
        w = self._at_distance(np.arange(self.size), np.where(side == 0.0, 0.0, self._distances[0]))
        return np.asarray(np.where((power != 0.0) & ~self.are_upper_ends, origin, w))

    @cached_property
    def high(self) -> FloatArray:
        """Largest radius of each panel; may be infinite."""
        origin, side, _, _, power = self.charts.T
        w = self._at_distance(np.arange(self.size), np.where(side == 0.0, 0.0, self._distances[1]))
        return np.where(self.are_upper_ends, np.where(power < 0.0, np.inf, origin), w)

    @cached_property
    def _distances(self) -> tuple[FloatArray, FloatArray]:
        """Distances from the origin at start and at stop."""
        _, side, start, stop, _ = self.charts.T
        return np.exp(side * start), np.exp(side * stop)

    def _at_distance(self, i: IntArray, distance: FloatArray) -> FloatArray:
        """Radii at distances from the origins of panels i, never rounded up to the origin."""
        origin, side = self.charts[i, 0], self.charts[i, 1]
        w = origin + side * distance
        return np.asarray(np.where(side < 0.0, np.minimum(w, np.nextafter(origin, 0.0)), w))

    def _radius_at(self, i: IntArray, x: FloatArray) -> FloatArray:
        """Radii at x in [-1, 1] of the series i."""
        half = self.charts[i, 1] * self.half_widths[i]
        # Computed from the nearer edge: exp(t) at a large |t| would have a larger rounding error.
        from_start = self._distances[0][i] * np.exp(half * (1.0 + x))
        from_stop = self._distances[1][i] * np.exp(-half * (1.0 - x))
        return self._at_distance(i, np.where(x < 0.0, from_start, from_stop))

    @cached_property
    def _inverse(self) -> Callable[[IntArray, FloatArray, FloatArray], FloatArray]:
        """The x of series from the integrals over [-1, x] and [x, 1]."""
        return legendre_inverse(self.series)

    def radii(self, i: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        """The radius in panel i[k] with masses below[k] and above[k] of the panel, for each k."""
        w: FloatArray = self.charts[i, 0].copy()
        some = np.flatnonzero(self.are_series[i])
        # Points do without the inverse, which takes a second to prepare for 1e5 panels.
        if some.size:
            j = i[some]
            half = self.half_widths[j]
            x = self._inverse(j, below[some] / half, above[some] / half)
            w[some] = self._radius_at(j, x)
        some = np.flatnonzero(self.charts[i, 4])
        j = i[some]
        share = np.where(self.are_upper_ends[j], above[some], below[some]) / self.masses[j]
        with np.errstate(divide="ignore", over="ignore"):
            w[some] = self._at_distance(j, self._distances[0][j] * share ** self.charts[j, 4])
        return w

    def evaluate(self, i: IntArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The masses of panel i[k] below and above w[k], and its density there, for each k."""
        origin, side, _, _, power = self.charts[i].T
        mass, distance = self.masses[i], np.maximum(side * (w - origin), 0.0)
        below = np.where(w >= origin, mass, 0.0)
        above, density = mass - below, np.where(w == origin, np.inf, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            some = np.flatnonzero(self.are_series[i])
            j, half, r = i[some], self.half_widths[i[some]], distance[some]
            # t - start >= 0 and t - stop <= 0
            from_start, from_stop = (side[some] * np.log(r / ends[j]) for ends in self._distances)
            x = np.where(from_start < -from_stop, from_start / half - 1.0, 1.0 + from_stop / half)
            inside, x = np.abs(x) <= 1.0, np.clip(x, -1.0, 1.0)
            lower, higher = legendre_antiderivative(self.series[j], x)
            below[some], above[some] = half * lower, half * higher
            value = np.maximum(legendre.legval(x, self.series[j].T, tensor=False), 0.0)
            density[some] = np.where(inside, value / r, 0.0)
            some = np.flatnonzero(power)
            j, e, r = i[some], power[some], distance[some]
            share = (r / self._distances[0][j]) ** (1.0 / e)
            # The mass between w and the origin, or between w and infinity.
            end_mass = mass[some] * np.minimum(share, 1.0)
            rest = mass[some] - end_mass
            below[some] = np.where(self.are_upper_ends[j], rest, end_mass)
            above[some] = np.where(self.are_upper_ends[j], end_mass, rest)
            density[some] = np.where(share <= 1.0, end_mass / (np.abs(e) * r), 0.0)
        return below, above, density

    def series_at(self, i: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """w, dw/dx and the density per unit of x of each series i[k] at all x[k], shaped like x."""
        flat = np.repeat(i, x.shape[1])
        w = self._radius_at(flat, x.ravel()).reshape(x.shape)
        half = self.half_widths[i][:, None]
        slope = half * np.abs(w - self.charts[i, 0, None])
        series = self.series[i].T[:, :, None]
        return w, slope, half * legendre.legval(x, series, tensor=False)

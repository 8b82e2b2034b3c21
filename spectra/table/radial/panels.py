r"""The density of a radius on panels: series in the logarithm of a distance, powers, and points.

A panel maps t to the radius :math:`w = o + s\,e^{s t}`: its chart.  The origin o is 0 or a radius
at which the density is not smooth; the way (direction) s is 1 for radii above o and -1 below it.

========  =====  =================================================================================
power     way    the panel
========  =====  =================================================================================
0         1, -1  the mass per unit of t is a Legendre series in x in [-1, 1] on [start, stop]
not 0     1, -1  an end: the distance is exp(way start) share^power, with the share of its mass
                 counted from infinity (power < 0), or from the origin (power > 0)
0         0      a point: the mass at w = origin
========  =====  =================================================================================
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

# Relative gap or overlap allowed between neighbouring panels (rounding).
_JOIN_TOLERANCE = 1e-9


@final
@dataclass(frozen=True, eq=False)
class Panels:
    """A density of radii on panels in ascending order, each with its mass.

    Parameters
    ----------
    charts : array_like, shape (n, 5)
        Origin, way, start, stop and power of each panel.  An end has one edge, start = stop.
    series : array_like, shape (n, m)
        At most 20 Legendre coefficients of the mass per unit of t; of points and ends the mass.

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
                f"Panels need rows of five numbers and as many series; got the shapes "
                f"{self.charts.shape} and {self.series.shape}."
            )
        origin, way, start, stop, power = self.charts.T
        known = np.all(np.isin(way, (-1.0, 0.0, 1.0))) and not np.any(power[way == 0.0])
        if not known or np.any(origin < 0.0) or np.any(start > stop) or np.any(self.masses < 0.0):
            raise ParameterError(
                "A panel has an unknown chart, an origin or a mass below 0, or ends that fall."
            )
        if np.any(self.low[1:] < self.high[:-1] * (1.0 - _JOIN_TOLERANCE)):
            raise ParameterError("The radii of panels must ascend: check the order of the rows.")

    __reduce__ = reduce_to_fields

    @classmethod
    def points(cls, radii: ArrayLike, masses: ArrayLike) -> Self:
        """Points of the given masses, in ascending order."""
        charts = np.zeros((np.size(radii), 5))
        charts[:, 0] = radii
        return cls(charts, np.reshape(masses, (-1, 1)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The panels of all parts in the order of their radii."""
        charts, series = (
            np.concatenate([getattr(p, n) for p in parts]) for n in cls.__match_args__
        )
        # Points lie at the ends of other panels.
        order = np.argsort(np.concatenate([p.low + p.high for p in parts]), kind="stable")
        return cls(charts[order], series[order])

    def scaled(self, factor: float) -> Self:
        """The same radii with the masses times a factor."""
        return type(self)(self.charts, factor * self.series)

    @property
    def size(self) -> int:
        """Number of panels."""
        return len(self.charts)

    @cached_property
    def are_series(self) -> NDArray[np.bool_]:
        """Which panels are neither points nor ends."""
        return np.asarray((self.charts[:, 1] != 0.0) & (self.charts[:, 4] == 0.0))

    @cached_property
    def masses(self) -> FloatArray:
        """Mass of each panel."""
        width = np.where(self.are_series, self.charts[:, 3] - self.charts[:, 2], 1.0)
        return np.asarray(width * self.series[:, 0])

    @cached_property
    def from_above(self) -> NDArray[np.bool_]:
        """Which panels are ends at the largest radii."""
        _, way, _, _, power = self.charts.T
        return np.asarray((power < 0.0) | ((power > 0.0) & (way < 0.0)))

    @cached_property
    def low(self) -> FloatArray:
        """Radii at which the panels start."""
        origin, way, _, _, power = self.charts.T
        w = self._at_distance(np.arange(self.size), np.where(way == 0.0, 0.0, self._distances[0]))
        return np.asarray(np.where((power != 0.0) & ~self.from_above, origin, w))

    @cached_property
    def high(self) -> FloatArray:
        """Radii at which the panels stop; infinite for an end that goes to infinity."""
        origin, way, _, _, power = self.charts.T
        w = self._at_distance(np.arange(self.size), np.where(way == 0.0, 0.0, self._distances[1]))
        w = np.where(self.from_above, np.where(power < 0.0, np.inf, origin), w)
        return np.asarray(w)

    @cached_property
    def _distances(self) -> tuple[FloatArray, FloatArray]:
        """Distances of the edges from the origins."""
        _, way, start, stop, _ = self.charts.T
        return np.exp(way * start), np.exp(way * stop)

    def _at_distance(self, i: IntArray, distance: FloatArray) -> FloatArray:
        """Radii at distances from the origins of panels i; none is rounded to a later origin."""
        origin, way = self.charts[i, 0], self.charts[i, 1]
        w = origin + way * distance
        return np.asarray(np.where(way < 0.0, np.minimum(w, np.nextafter(origin, 0.0)), w))

    def _radius_at(self, i: IntArray, x: FloatArray) -> FloatArray:
        """Radii at places x in [-1, 1] of series."""
        _, way, start, stop, _ = self.charts[i].T
        half = 0.5 * way * (stop - start)
        # Distances count from the nearer edge: t itself is rounded to |t| times more.
        from_start = self._distances[0][i] * np.exp(half * (1.0 + x))
        from_stop = self._distances[1][i] * np.exp(-half * (1.0 - x))
        return self._at_distance(i, np.where(x < 0.0, from_start, from_stop))

    @cached_property
    def _inverse(self) -> Callable[[IntArray, FloatArray, FloatArray], FloatArray]:
        """Places in series from the masses below and above them."""
        return legendre_inverse(self.series)

    def radii(self, i: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radii with these masses below and above them inside the panels i, shape (m,)."""
        w: FloatArray = self.charts[i, 0].copy()
        some = np.flatnonzero(self.are_series[i])
        # A law of points needs no inverse, which takes a second for 1e5 of them.
        if some.size:
            j = i[some]
            half = 0.5 * (self.charts[j, 3] - self.charts[j, 2])
            x = self._inverse(j, below[some] / half, above[some] / half)
            w[some] = self._radius_at(j, x)
        some = np.flatnonzero(self.charts[i, 4])
        j = i[some]
        share = np.where(self.from_above[j], above[some], below[some]) / self.masses[j]
        with np.errstate(divide="ignore", over="ignore"):
            w[some] = self._at_distance(j, self._distances[0][j] * share ** self.charts[j, 4])
        return w

    def parts(self, i: IntArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Masses below and above radii w inside the panels i, and the density, shape (m,)."""
        origin, way, start, stop, power = self.charts[i].T
        mass, distance = self.masses[i], np.maximum(way * (w - origin), 0.0)
        below = np.where(w >= origin, mass, 0.0)
        above, density = mass - below, np.where(w == origin, np.inf, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            some = np.flatnonzero(self.are_series[i])
            j, half, d = i[some], 0.5 * (stop - start)[some], distance[some]
            after, before = (way[some] * np.log(d / edges[j]) for edges in self._distances)
            x = np.where(after < -before, after / half - 1.0, 1.0 + before / half)
            inside, x = np.abs(x) <= 1.0, np.clip(x, -1.0, 1.0)
            lower, higher = legendre_antiderivative(self.series[j], x)
            below[some], above[some] = half * lower, half * higher
            value = np.maximum(legendre.legval(x, self.series[j].T, tensor=False), 0.0)
            density[some] = np.where(inside, value / d, 0.0)
            some = np.flatnonzero(power)
            j, e, d = i[some], power[some], distance[some]
            share = (d / self._distances[0][j]) ** (1.0 / e)
            own = mass[some] * np.minimum(share, 1.0)
            rest = mass[some] - own
            below[some] = np.where(self.from_above[j], rest, own)
            above[some] = np.where(self.from_above[j], own, rest)
            density[some] = np.where(share <= 1.0, own / (np.abs(e) * d), 0.0)
        return below, above, density

    def at(self, i: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Radius, its slope and the mass per unit of x of series i at places x, shape (m, n)."""
        flat = np.repeat(i, x.shape[1])
        w = self._radius_at(flat, x.ravel()).reshape(x.shape)
        half = 0.5 * (self.charts[i, 3] - self.charts[i, 2])[:, None]
        slope = half * np.abs(w - self.charts[i, 0, None])
        series = self.series[i].T[:, :, None]
        return w, slope, half * legendre.legval(x, series, tensor=False)

r"""Piecewise polynomials in a chart of the radius: the form of densities, laws and interpolants.

A panel is an interval [start, stop] of the variable t of a *chart*, a map of t to the radius w:

====  =====  ===================================================================================
root  side   chart
====  =====  ===================================================================================
0     1, -1  w = origin + side exp(side t): the logarithm of the distance from an origin
r     1      w = t^r: the radius itself (r = 1), or a root of it
====  =====  ===================================================================================

On it a function is a Legendre series of ORDER terms in x in [-1, 1].  A density is held per unit of
t, so that its integral over a panel is (stop - start) times the first coefficient.  A density has
two more kinds of panels.  They have no width, and the first number of their series is their mass:

=====  =====  ====================================================================================
power  side   panel
=====  =====  ====================================================================================
> 0    1, -1  a power law: the mass at distances <= r from the origin is c r^(1/power)
< 0    1      a power law: the mass at distances >= r from the origin is c r^(1/power)
0      0      a point: a mass at w = origin
=====  =====  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.accuracy import NOISE, SAME
from spectra.base.arrays import FloatArray, IntArray, frozen_array, reduce_to_fields
from spectra.base.series import (
    NODES,
    ORDER,
    WEIGHTS,
    antiderivative,
    invert_integrals,
    series_through,
    sign_changes,
    values_at,
)
from spectra.errors import ParameterError

__all__ = ["LOG_RADIUS", "Chart", "Piecewise"]


@dataclass(frozen=True)
class Chart:
    r"""An increasing map of a variable t to the radius w, or several; see the table above.

    A chart with ``root`` 0 resolves a behavior :math:`|w - origin|^\beta` on one side of ``origin``
    (1: above it, -1: below it), and one with a root resolves fractional powers of w at 0.
    """

    origin: Any = 0.0
    side: Any = 1.0
    root: int = 0

    def at_distance(self, distance: FloatArray) -> FloatArray:
        """origin + side * distance, never rounded to the origin unless that is 0."""
        w = np.asarray(self.origin + self.side * distance)
        rounded = (w == self.origin) & (self.side * self.origin != 0.0)
        if not rounded.any():
            return w
        return np.where(rounded, np.nextafter(self.origin, self.origin + self.side), w)

    def radius(self, t: FloatArray, offset: ArrayLike = 0.0) -> FloatArray:
        """Radius w at t + offset, a sum that is not rounded in a chart with ``root`` 0."""
        if self.root:
            return (t + np.asarray(offset)) ** self.root
        return self.at_distance(np.exp(self.side * t) * np.exp(self.side * np.asarray(offset)))

    def variable(self, w: FloatArray, start: ArrayLike = 0.0) -> FloatArray:
        """t - start at the radius w."""
        if self.root:
            return w ** (1.0 / self.root) - np.asarray(start)
        distance = np.maximum(self.side * (w - self.origin), 0.0)
        return self.side * np.log(distance / np.exp(self.side * np.asarray(start)))

    def slope(self, w: FloatArray) -> FloatArray:
        """dw/dt at the radius w."""
        if self.root:
            return self.root * w ** (1.0 - 1.0 / self.root)
        return np.abs(w - self.origin)

    def log_slope(self, t: FloatArray) -> FloatArray:
        """Logarithm of dw/dt = |w - origin|, of a chart with ``root`` 0."""
        return self.side * t


#: The chart whose variable is log w.
LOG_RADIUS = Chart()


@dataclass(frozen=True, eq=False)
class Piecewise:
    """A function or a density on n panels, ascending in the radius.

    Attributes
    ----------
    charts : array_like, shape (n, 5)
        Origin, side, start, stop and power of each panel; start = stop for a power law or point.
    series : array_like, shape (n, m)
        At most ORDER Legendre coefficients; the mass of a power law or point, then zeros.
    root : int
        The root of all charts; 0 for logarithms of distances.
    unit : ndarray of shape (n,)
        Logarithms of the units of ``series`` and ``errors``; 0 by default.
    errors : ndarray of shape (n, ORDER)
        Bounds of the errors at the NODES; 0 by default.

    Examples
    --------
    >>> uniform = Piecewise([[0.0, 1.0, 0.0, 0.0, 1.0]], [[1.0]])      # on [0, 1]
    >>> uniform.low, uniform.high
    (array([0.]), array([1.]))
    """

    charts: Any
    series: Any
    root: int = 0
    unit: FloatArray = field(default_factory=lambda: np.zeros(1))
    errors: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))

    def __post_init__(self) -> None:
        charts, series = frozen_array(self.charts, "charts of panels", 2), np.array(self.series)
        series = np.pad(series, ((0, 0), (0, max(ORDER - series.shape[-1], 0))))
        if not np.iscomplexobj(series):
            series = frozen_array(series, "series of panels", 2)
        if charts.shape != (len(series), 5) or series.shape[1] > ORDER:
            raise ParameterError(
                f"Panels need charts of shape (n, 5) and series of shape (n, m), m <= {ORDER}; got "
                f"the shapes {charts.shape} and {series.shape}."
            )
        origin, side, start, stop, power = charts.T
        known = np.all(np.isin(side, (-1.0, 0.0, 1.0))) and not np.any(power[side == 0.0])
        if not known or np.any(origin < 0.0) or np.any(start > stop):
            raise ParameterError(
                "A panel has an unknown chart, an origin below 0, or start > stop."
            )
        unit = np.broadcast_to(self.unit, len(series))
        errors = np.broadcast_to(self.errors, series.shape)
        self.__dict__.update(charts=charts, series=series, unit=unit, errors=errors)
        if np.any(self.low[1:] < self.high[:-1] * (1.0 - SAME)):
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
        # The middle sorts a point correctly, as points lie at the edges of other panels.
        order = np.argsort(np.concatenate([p.low + p.high for p in parts]), kind="stable")
        columns = zip(*((p.charts, p.series, p.unit, p.errors) for p in parts), strict=True)
        charts, series, unit, errors = (np.concatenate(c)[order] for c in columns)
        return cls(charts, series, parts[0].root, unit, errors)

    def _replaced(self, **columns: Any) -> Self:
        """The same panels with other columns, which are not checked again."""
        new = object.__new__(type(self))
        for column in columns.values():
            column.setflags(write=False)
        names = ("charts", "series", "root", "unit", "errors")
        new.__dict__.update({name: getattr(self, name) for name in names} | columns)
        return new

    def __getitem__(self, rows: Any) -> Self:
        """Some of the panels."""
        names = ("charts", "series", "unit", "errors")
        return self._replaced(**{name: getattr(self, name)[rows] for name in names})

    def scaled(self, factor: ArrayLike) -> Self:
        """The series times a factor, or one for each panel; without errors and units."""
        series = np.reshape(factor, (-1, 1)) * self.series
        unit, errors = np.zeros(self.size), np.broadcast_to(0.0, series.shape)
        return self._replaced(series=series, unit=unit, errors=errors)

    # --- geometry ---------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of panels."""
        return len(self.charts)

    @cached_property
    def are_series(self) -> NDArray[np.bool_]:
        """Which panels are series."""
        return (self.charts[:, 1] != 0.0) & (self.charts[:, 4] == 0.0)

    @cached_property
    def half_widths(self) -> FloatArray:
        """Half of stop - start, for each panel."""
        return 0.5 * (self.charts[:, 3] - self.charts[:, 2])

    @cached_property
    def are_upper_ends(self) -> NDArray[np.bool_]:
        """Which panels are power laws towards infinity, or towards an origin above them."""
        _, side, _, _, power = self.charts.T
        return (power < 0.0) | ((power > 0.0) & (side < 0.0))

    @cached_property
    def low(self) -> FloatArray:
        """Smallest radius of each panel."""
        is_lower_end = (self.charts[:, 4] != 0.0) & ~self.are_upper_ends
        w = self._chart(slice(None)).radius(self.charts[:, 2])
        return np.where(is_lower_end, self.charts[:, 0], w)

    @cached_property
    def high(self) -> FloatArray:
        """Largest radius of each panel; may be infinite."""
        end = np.where(self.charts[:, 4] < 0.0, np.inf, self.charts[:, 0])
        w = self._chart(slice(None)).radius(self.charts[:, 3])
        return np.where(self.are_upper_ends, end, w)

    def _chart(self, i: Any) -> Chart:
        """The charts of the panels i."""
        return Chart(self.charts[i, 0], self.charts[i, 1], self.root)

    def radius(self, i: IntArray, x: FloatArray) -> FloatArray:
        """Radii at x in [-1, 1] of the panels i."""
        # From the nearer edge: exp(t) at a large |t| would have a larger rounding error.
        is_low = x < 0.0
        edge = np.where(is_low, self.charts[i, 2], self.charts[i, 3])
        return self._chart(i).radius(edge, self.half_widths[i] * np.where(is_low, 1.0 + x, x - 1.0))

    def position(self, i: IntArray, w: FloatArray) -> FloatArray:
        """The x in [-1, 1] of radii in the panels i; beyond these ends outside a panel."""
        half, chart = self.half_widths[i], self._chart(i)
        # t - start >= 0 and t - stop <= 0
        from_start, from_stop = (chart.variable(w, self.charts[i, k]) for k in (2, 3))
        return np.where(from_start < -from_stop, from_start / half - 1.0, 1.0 + from_stop / half)

    def panel_at(self, w: FloatArray) -> IntArray:
        """The panels that hold radii; the first or last one for radii outside of all."""
        return np.maximum(np.searchsorted(self.low, w, side="right") - 1, 0)

    # --- functions --------------------------------------------------------------------------------

    def __call__(self, w: FloatArray) -> NDArray[Any]:
        """Values at radii in the units of the panels; of a density, per unit of t."""
        flat = np.ravel(np.asarray(w, dtype=float))
        i = self.panel_at(flat)
        return self.at(i, self.position(i, flat)).reshape(np.shape(w))

    def at(self, i: IntArray, x: FloatArray) -> NDArray[Any]:
        """The series i[k] at x[k] in [-1, 1], in their units; rows of points if x has two axes."""
        return values_at(self.series[i], x)

    def series_at(self, i: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """w, dw/dx and the density per unit of x of each series i[k] at all x[k], shaped like x."""
        flat, half = np.repeat(i, x.shape[1]), self.half_widths[i][:, None]
        w = self.radius(flat, x.ravel())
        slope = self._chart(flat).slope(w).reshape(x.shape)
        return w.reshape(x.shape), half * slope, half * self.at(i, x)

    @cached_property
    def truncation(self) -> FloatArray:
        """The size of the last coefficients: estimates of the errors of the series."""
        return np.abs(self.series[:, -3:]).max(axis=1)

    @cached_property
    def series_errors(self) -> FloatArray:
        """The largest error of each series: errors of values, amplified, and of truncation."""
        return NOISE * (self.errors.max(axis=1) + self.truncation)

    @cached_property
    def masses(self) -> FloatArray:
        """The integral over each panel."""
        width = np.where(self.are_series, 2.0 * self.half_widths, 1.0)
        return width * self.series[:, 0] * np.exp(self.unit)

    @cached_property
    def mass_errors(self) -> FloatArray:
        """Bounds of the errors of the masses: those of the values, and of the series."""
        errors = self.errors @ WEIGHTS + self.truncation / ORDER
        return self.half_widths * np.exp(self.unit) * errors

    def restricted(self, row: IntArray, low: FloatArray, high: FloatArray) -> Self:
        """The panels row[k] restricted to low[k] <= x <= high[k]."""
        charts, series, errors = self.charts[row], self.series[row], self.errors[row]
        half = self.half_widths[row]
        middle = charts[:, 2] + half
        charts[:, 2] = np.where(low == -1.0, charts[:, 2], middle + half * low)
        charts[:, 3] = np.where(high == 1.0, charts[:, 3], middle + half * high)
        cut = np.flatnonzero((low > -1.0) | (high < 1.0))
        x = low[cut, None] + 0.5 * (high - low)[cut, None] * (1.0 + NODES)
        series[cut] = series_through(self.at(row[cut], x))
        # Errors are known at the nodes of the whole panel; between two, take the larger one.
        after = np.clip(np.searchsorted(NODES, x), 1, ORDER - 1)
        around = (np.take_along_axis(errors[cut], k, axis=1) for k in (after - 1, after))
        errors[cut] = np.maximum(*around)
        return self._replaced(charts=charts, series=series, unit=self.unit[row], errors=errors)

    def split(self) -> tuple[Self, FloatArray]:
        """The panels cut at sign changes, and the truncation of the parent of each."""
        each, (row, x) = np.arange(self.size), sign_changes(self.series)
        row, low = np.append(each, row), np.append(np.full(self.size, -1.0), x)
        order = np.lexsort((low, row))
        row, low = row[order], low[order]
        high = np.where(np.append(row[1:] == row[:-1], False), np.roll(low, -1), 1.0)
        row, low, high = row[high > low], low[high > low], high[high > low]
        return self.restricted(row, low, high), self.truncation[row]

    # --- distributions ----------------------------------------------------------------------------

    def cumulative(self, i: IntArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The masses of panel i[k] below and above w[k], and its density there, for each k."""
        origin, side, start, _, power = self.charts[i].T
        mass = self.masses[i]
        below = np.where(w >= origin, mass, 0.0)
        above, density = mass - below, np.where(w == origin, np.inf, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            some = np.flatnonzero(self.are_series[i])
            j, half, x = i[some], self.half_widths[i[some]], self.position(i[some], w[some])
            inside, x = np.abs(x) <= 1.0, np.clip(x, -1.0, 1.0)
            lower, higher = antiderivative(self.series[j], x)
            below[some], above[some] = half * lower, half * higher
            value = np.maximum(self.at(j, x), 0.0) / self._chart(j).slope(w[some])
            density[some] = np.where(inside, value, 0.0)
            some = np.flatnonzero(power)
            j, e = i[some], power[some]
            r = np.maximum(side * (w - origin), 0.0)[some]
            share = (r / np.exp(side * start)[some]) ** (1.0 / e)
            # The mass between w and the origin, or between w and infinity.
            end_mass = mass[some] * np.minimum(share, 1.0)
            rest = mass[some] - end_mass
            below[some] = np.where(self.are_upper_ends[j], rest, end_mass)
            above[some] = np.where(self.are_upper_ends[j], end_mass, rest)
            density[some] = np.where(share <= 1.0, end_mass / (np.abs(e) * r), 0.0)
        return below, above, density

    @cached_property
    def _invert(self) -> Callable[[IntArray, FloatArray, FloatArray], FloatArray]:
        """The x of series from the integrals over [-1, x] and [x, 1]."""
        return invert_integrals(self.series)

    def inverse(self, i: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        """The radius in panel i[k] with masses below[k] and above[k] of the panel, for each k."""
        w: FloatArray = self.charts[i, 0].copy()
        some = np.flatnonzero(self.are_series[i])
        # Points do without the inverse, which takes a second to prepare for 1e5 panels.
        if some.size:
            j = i[some]
            half = self.half_widths[j]
            w[some] = self.radius(j, self._invert(j, below[some] / half, above[some] / half))
        some = np.flatnonzero(self.charts[i, 4])
        _, side, start, _, power = self.charts[i[some]].T
        share = np.where(self.are_upper_ends[i[some]], above[some], below[some])
        share /= self.masses[i[some]]
        with np.errstate(divide="ignore", over="ignore"):
            w[some] = self._chart(i[some]).at_distance(np.exp(side * start) * share**power)
        return w

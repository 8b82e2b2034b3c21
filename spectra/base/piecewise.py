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
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray
from scipy.optimize.elementwise import find_root

from spectra.base.accuracy import EPS, NOISE, SAME, SERIES
from spectra.base.arrays import FloatArray, IntArray, frozen_array, reduce_to_fields
from spectra.base.enclosures import Enclosure
from spectra.base.limits import check_time
from spectra.errors import AccuracyError, ParameterError

__all__ = [
    "NODES",
    "ORDER",
    "RADIANS",
    "WEIGHTS",
    "Chart",
    "Integrand",
    "Piecewise",
    "antiderivative",
    "fit",
    "interpolate",
    "series_through",
]

#: A function of points t of shape (n, ORDER), a row for each panel.  It returns the values; or
#: values, bounds of their errors, and the logarithm of the unit of both for each row, (n,), so that
#: values far below 1e-308 do not underflow.
Integrand = Callable[[FloatArray], Any]

# Terms of a series; 20 resolve a smooth density on [w, e w], or 10 radians of a wave.
ORDER, RADIANS = 20, 10.0
# A panel that is not accepted after this many bisections contains a singularity.
_MOST_BISECTIONS, _MOST_PANELS = 48, 20_000
# A panel of half-width above 1/64 is bisected if the error at one node exceeds the value at another
# whose own relative error is below 1e-3: that value would be lost in the error of the panel.
_ACCURATE, _LEAST_HALF = 1e-3, 1.0 / 64.0
# Halley's iteration ends after a step this small relative to the distance from -1 (its next step is
# below rounding), or if the integral misses its target by fewer roundings than these.
_LAST_STEP, _MOST_STEPS, _ROUNDINGS = 1e-6, 70, 1e5

NODES, WEIGHTS = legendre.leggauss(ORDER)
_DEGREES = np.arange(ORDER)
# Values at the nodes -> Legendre coefficients.  Products of weights and polynomials have errors of
# 4e-15, since the nodes are rounded; this inverse, improved by Newton's method, has errors of 3e-16.
_AT_NODES = legendre.legvander(NODES.astype(np.longdouble), ORDER - 1)
_TO_SERIES = np.linalg.inv(_AT_NODES.astype(float)).astype(np.longdouble)
_TO_SERIES = (_TO_SERIES + _TO_SERIES @ (np.eye(ORDER) - _AT_NODES @ _TO_SERIES)).astype(float)
# Coefficients of f -> coefficients of its antiderivative that vanishes at -1, and of f'.
_ANTIDERIVATIVE = legendre.legint(np.eye(ORDER), lbnd=-1, axis=0)
_DERIVATIVE = legendre.legder(np.eye(ORDER), axis=0)
# Points for a first guess of inverses, and points between which a series has no unseen sign change,
# except for pairs of roots: next to one, |series| is below this share of its largest value.
_GRID = np.linspace(-1.0, 1.0, 65)
_ROOT_GRID, _SMALL = -np.cos(np.linspace(0.0, np.pi, 49)), 0.03
_ROOT_BASIS = legendre.legvander(_ROOT_GRID, ORDER - 1).T


def series_through(values: NDArray[Any]) -> NDArray[Any]:
    """Legendre coefficients from values at the NODES, along the last axis."""
    return np.asarray(values @ _TO_SERIES.T)


@dataclass(frozen=True)
class Chart:
    r"""An increasing map of a variable t to the radius w, see the table above.

    A chart with ``root`` 0 resolves a behavior :math:`|w - origin|^\beta` on one side of ``origin``
    (1: above it, -1: below it), and one with a root resolves fractional powers of w at 0.
    """

    origin: float = 0.0
    side: float = 1.0
    root: int = 0

    def radius(self, t: FloatArray) -> FloatArray:
        """Radius w at t, never rounded to the origin of a logarithm."""
        if self.root:
            return np.asarray(t**self.root)
        return _at_distance(self.origin, self.side, np.exp(self.side * t))

    def variable(self, w: FloatArray) -> FloatArray:
        """The variable t at the radius w."""
        if self.root:
            return np.asarray(w ** (1.0 / self.root))
        return np.asarray(self.side * np.log(self.side * (w - self.origin)))

    def log_slope(self, t: FloatArray) -> FloatArray:
        """Logarithm of dw/dt = |w - origin|, of a chart with ``root`` 0."""
        return self.side * t


def _at_distance(origin: Any, side: Any, distance: FloatArray) -> FloatArray:
    """origin + side * distance, never rounded to the origin unless that is 0."""
    w = np.asarray(origin + side * distance)
    rounded = (w == origin) & (side * origin != 0.0)
    return np.where(rounded, np.nextafter(origin, origin + side), w) if rounded.any() else w


@final
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
    unit : ndarray of shape (n,), optional
        Logarithms of the units of ``series`` and ``errors``; 0 by default.
    errors : ndarray of shape (n, ORDER), optional
        Bounds of the errors at the NODES.

    Examples
    --------
    >>> uniform = Piecewise([[0.0, 1.0, 0.0, 0.0, 1.0]], [[1.0]])      # on [0, 1]
    >>> uniform.low, uniform.high
    (array([0.]), array([1.]))
    >>> p = fit(np.cos, [0.0, 4.0], Chart(root=1))
    >>> bool(abs(p(np.array([1.0]))[0] - np.cos(1.0)) < 1e-15), f"{p.integral():.12f}"
    (True, '-0.756802495308')
    """

    charts: FloatArray
    series: FloatArray
    root: int = 0
    unit: FloatArray | None = None
    errors: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "charts", frozen_array(self.charts, "charts of panels", 2))
        series = np.atleast_2d(np.array(self.series))
        if series.shape[1] < ORDER:
            series = np.pad(series, ((0, 0), (0, ORDER - series.shape[1])))
        if not np.iscomplexobj(series):
            series = frozen_array(series, "series of panels", 2)
        object.__setattr__(self, "series", series)
        if self.charts.shape != (len(series), 5) or series.shape[1] > ORDER:
            raise ParameterError(
                f"Panels need charts of shape (n, 5) and series of shape (n, m), m <= {ORDER}; got "
                f"the shapes {self.charts.shape} and {self.series.shape}."
            )
        origin, side, start, stop, power = self.charts.T
        known = np.all(np.isin(side, (-1.0, 0.0, 1.0))) and not np.any(power[side == 0.0])
        if not known or np.any(origin < 0.0) or np.any(start > stop):
            raise ParameterError(
                "A panel has an unknown chart, an origin below 0, or start > stop."
            )
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
        """The panels of all parts, sorted by radius; with their errors if all of them have some."""
        columns = zip(*((p.charts, p.series, p.unit, p.errors) for p in parts), strict=True)
        # The middle sorts a point correctly, as points lie at the edges of other panels.
        order = np.argsort(np.concatenate([p.low + p.high for p in parts]), kind="stable")
        charts, series, unit, errors = (
            None if any(a is None for a in c) else np.concatenate(c)[order] for c in columns
        )
        return cls(charts, series, parts[0].root, unit, errors)

    def __getitem__(self, rows: Any) -> Self:
        """Some of the panels."""
        columns = (None if a is None else a[rows] for a in (self.unit, self.errors))
        return type(self)(self.charts[rows], self.series[rows], self.root, *columns)

    def scaled(self, factor: Any) -> Self:
        """The series times a factor, or one for each panel; without errors and units."""
        return type(self)(self.charts, np.reshape(factor, (-1, 1)) * self.series, self.root)

    # --- geometry ---------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of panels."""
        return len(self.charts)

    @cached_property
    def are_series(self) -> NDArray[np.bool_]:
        """Which panels are series."""
        return np.asarray((self.charts[:, 1] != 0.0) & (self.charts[:, 4] == 0.0))

    @cached_property
    def half_widths(self) -> FloatArray:
        """Half of stop - start, for each panel."""
        return np.asarray(0.5 * (self.charts[:, 3] - self.charts[:, 2]))

    @cached_property
    def middles(self) -> FloatArray:
        """The middle of each panel in t."""
        return np.asarray(0.5 * (self.charts[:, 2] + self.charts[:, 3]))

    @cached_property
    def are_upper_ends(self) -> NDArray[np.bool_]:
        """Which panels are power laws towards infinity, or towards an origin above them."""
        _, side, _, _, power = self.charts.T
        return np.asarray((power < 0.0) | ((power > 0.0) & (side < 0.0)))

    @cached_property
    def _distances(self) -> tuple[FloatArray, FloatArray]:
        """Distances from the origin at start and at stop."""
        _, side, start, stop, _ = self.charts.T
        if self.root:
            return start**self.root, stop**self.root
        return np.where(side, np.exp(side * start), 0.0), np.where(side, np.exp(side * stop), 0.0)

    @cached_property
    def low(self) -> FloatArray:
        """Smallest radius of each panel."""
        origin, _, _, _, power = self.charts.T
        w = self._at_distance(np.arange(self.size), self._distances[0])
        return np.asarray(np.where((power != 0.0) & ~self.are_upper_ends, origin, w))

    @cached_property
    def high(self) -> FloatArray:
        """Largest radius of each panel; may be infinite."""
        origin, _, _, _, power = self.charts.T
        w = self._at_distance(np.arange(self.size), self._distances[1])
        return np.where(self.are_upper_ends, np.where(power < 0.0, np.inf, origin), w)

    def _at_distance(self, i: IntArray, distance: FloatArray) -> FloatArray:
        return _at_distance(self.charts[i, 0], self.charts[i, 1], distance)

    def radius(self, i: IntArray, x: FloatArray) -> FloatArray:
        """Radii at x in [-1, 1] of the panels i."""
        half = self.half_widths[i]
        if self.root:
            return np.asarray((self.charts[i, 2] + half * (1.0 + x)) ** self.root)
        half = self.charts[i, 1] * half
        # Computed from the nearer edge: exp(t) at a large |t| would have a larger rounding error.
        from_start = self._distances[0][i] * np.exp(half * (1.0 + x))
        from_stop = self._distances[1][i] * np.exp(-half * (1.0 - x))
        return self._at_distance(i, np.where(x < 0.0, from_start, from_stop))

    def position(self, i: IntArray, w: FloatArray) -> FloatArray:
        """The x in [-1, 1] of radii in the panels i; beyond these ends outside a panel."""
        half = self.half_widths[i]
        if self.root:
            return np.asarray((w ** (1.0 / self.root) - self.charts[i, 2]) / half - 1.0)
        side = self.charts[i, 1]
        r = np.maximum(side * (w - self.charts[i, 0]), 0.0)
        # t - start >= 0 and t - stop <= 0
        from_start, from_stop = (side * np.log(r / ends[i]) for ends in self._distances)
        return np.where(from_start < -from_stop, from_start / half - 1.0, 1.0 + from_stop / half)

    def panel_at(self, w: FloatArray) -> IntArray:
        """The panels that hold radii; the first or last one for radii outside of all."""
        return np.maximum(np.searchsorted(self.low, w, side="right") - 1, 0)

    # --- functions --------------------------------------------------------------------------------

    def __call__(self, w: FloatArray) -> NDArray[Any]:
        """Values at radii, of a density per unit of t, for units of 1."""
        w = np.asarray(w, dtype=float)
        i = self.panel_at(w.ravel())
        return self.at(i, self.position(i, w.ravel())).reshape(w.shape)

    def at(self, i: IntArray, x: FloatArray) -> NDArray[Any]:
        """The series i[k] at x[k] in [-1, 1], in their units; rows of points if x has two axes."""
        series = self.series[i].T
        return np.asarray(legendre.legval(x, series[(..., *[None] * (x.ndim - 1))], tensor=False))

    @cached_property
    def truncation(self) -> FloatArray:
        """The size of the last coefficients: estimates of the errors of the series."""
        return np.asarray(np.abs(self.series[:, -3:]).max(axis=1))

    @cached_property
    def series_errors(self) -> FloatArray:
        """The largest error of each series: errors of values, amplified, and of truncation."""
        noise = 0.0 if self.errors is None else NOISE * self.errors.max(axis=1)
        return np.asarray(noise + NOISE * self.truncation)

    @cached_property
    def masses(self) -> FloatArray:
        """The integral over each panel."""
        width = np.where(self.are_series, 2.0 * self.half_widths, 1.0)
        unit = 1.0 if self.unit is None else np.exp(self.unit)
        return np.asarray(width * self.series[:, 0] * unit)

    @cached_property
    def mass_errors(self) -> FloatArray:
        """Bounds of the errors of the masses: those of the values, and of the series."""
        errors = 0.0 if self.errors is None else self.errors @ WEIGHTS
        width = self.half_widths if self.unit is None else self.half_widths * np.exp(self.unit)
        return np.asarray(width * (errors + self.truncation / ORDER))

    def integral(self) -> Enclosure:
        """The integral over all panels."""
        rounding = 5.0 * EPS * float(np.abs(self.masses).sum())
        return Enclosure(float(self.masses.sum()), float(self.mass_errors.sum()) + rounding)

    def series_at(self, i: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """w, dw/dx and the density per unit of x of each series i[k] at all x[k], shaped like x."""
        flat = np.repeat(i, x.shape[1])
        w = self.radius(flat, x.ravel()).reshape(x.shape)
        half = self.half_widths[i][:, None]
        return w, half * np.abs(w - self.charts[i, 0, None]), half * self.at(i, x)

    def restricted(self, row: IntArray, low: FloatArray, high: FloatArray) -> Self:
        """The panels row[k] restricted to low[k] <= x <= high[k]."""
        charts, series, errors = self.charts[row], self.series[row], self.errors
        middle, half = 0.5 * (charts[:, 2] + charts[:, 3]), 0.5 * (charts[:, 3] - charts[:, 2])
        charts[:, 2] = np.where(low == -1.0, charts[:, 2], middle + half * low)
        charts[:, 3] = np.where(high == 1.0, charts[:, 3], middle + half * high)
        cut = np.flatnonzero((low > -1.0) | (high < 1.0))
        x = low[cut, None] + 0.5 * (high - low)[cut, None] * (1.0 + NODES)
        series[cut] = series_through(self.at(row[cut], x))
        if errors is not None:
            # Errors are known at the nodes of the whole panel; between two, take the larger one.
            errors, after = errors[row], np.clip(np.searchsorted(NODES, x), 1, ORDER - 1)
            around = (np.take_along_axis(errors[cut], k, axis=1) for k in (after - 1, after))
            errors[cut] = np.maximum(*around)
        unit = None if self.unit is None else self.unit[row]
        return type(self)(charts, series, self.root, unit, errors)

    def split(self) -> tuple[Self, FloatArray]:
        """The panels cut where their series change sign, and the truncation of the parent of each.

        Between its extrema a series has at most one root, so small extrema are found first.
        """
        each = np.arange(self.size)
        rows, points = np.repeat(each, _ROOT_GRID.size), np.tile(_ROOT_GRID, self.size)
        values = np.abs(self.series @ _ROOT_BASIS)
        small = (values <= _SMALL * values.max(axis=1, keepdims=True)).ravel()
        row, x = _sign_changes(self.series @ _DERIVATIVE.T, rows, points, small)
        rows, points = _by_row(np.append(rows, row), np.append(points, x))
        row, x = _sign_changes(self.series, rows, points)
        row, low = _by_row(np.append(each, row), np.append(np.full(self.size, -1.0), x))
        high = np.where(np.append(row[1:] == row[:-1], False), np.roll(low, -1), 1.0)
        row, low, high = (a[high > low] for a in (row, low, high))
        return self.restricted(row, low, high), self.truncation[row]

    # --- distributions ----------------------------------------------------------------------------

    def cumulative(self, i: IntArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The masses of panel i[k] below and above w[k], and its density there, for each k."""
        origin, side, _, _, power = self.charts[i].T
        mass, distance = self.masses[i], np.maximum(side * (w - origin), 0.0)
        below = np.where(w >= origin, mass, 0.0)
        above, density = mass - below, np.where(w == origin, np.inf, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            some = np.flatnonzero(self.are_series[i])
            j, half, x = i[some], self.half_widths[i[some]], self.position(i[some], w[some])
            inside, x = np.abs(x) <= 1.0, np.clip(x, -1.0, 1.0)
            lower, higher = antiderivative(self.series[j], x)
            below[some], above[some] = half * lower, half * higher
            value = np.maximum(self.at(j, x), 0.0)
            density[some] = np.where(inside, value / distance[some], 0.0)
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

    @cached_property
    def _invert(self) -> Callable[[IntArray, FloatArray, FloatArray], FloatArray]:
        """The x of series from the integrals over [-1, x] and [x, 1]."""
        return _inverse(self.series)

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
        j = i[some]
        share = np.where(self.are_upper_ends[j], above[some], below[some]) / self.masses[j]
        with np.errstate(divide="ignore", over="ignore"):
            w[some] = self._at_distance(j, self._distances[0][j] * share ** self.charts[j, 4])
        return w


def fit(
    function: Integrand,
    edges: ArrayLike,
    chart: Chart = Chart(),
    *,
    tolerance: float = SERIES,
    absolute: float = 0.0,
    negligible: float = np.inf,
    bisections: int = _MOST_BISECTIONS,
    keep: bool = False,
    has_units: bool = False,
    exact: bool = False,
) -> Piecewise:
    """Fit panels to a piecewise smooth function of t, and bisect them until they resolve it.

    A panel is accepted when its last three coefficients are below ``tolerance`` times its largest
    value (so that far tails keep relative precision), below ``absolute``, or below the errors of
    the function; or when its values are below exp(-``negligible``) times the largest of all.

    Parameters
    ----------
    function : callable
        An :data:`Integrand`.
    edges : array_like
        Ends of the first panels in t, ascending; they include the breaks of the function.
    chart : Chart
        The map of t to the radius.
    bisections : int
        After so many bisections, raise an AccuracyError; or accept all panels, if ``keep``.
    has_units : bool
        Whether series stay divided by the units of the function.
    exact : bool
        Whether the function has two arguments, whose sum is t: its rounding would be visible.
    """
    edges = np.asarray(edges, dtype=float)
    left, right = edges[:-1], edges[1:]
    done: list[tuple[NDArray[Any], ...]] = []
    log_peak = -np.inf
    for depth in range(bisections + 1):
        check_time()
        half = 0.5 * (right - left)
        middle, offset = (left + half)[:, None], half[:, None] * NODES
        found = function(middle, offset) if exact else function(middle + offset)
        values, errors, unit = _check_sample(found, middle + offset)
        series, size = series_through(values), np.abs(values).max(axis=1)
        truncation, noise = np.abs(series[:, -3:]).max(axis=1), NOISE * errors.max(axis=1)
        # Accurate values that are smaller than the errors at other nodes.
        lost = (np.abs(values) < noise[:, None]) & (errors < _ACCURATE * np.abs(values))
        loses_values = lost.any(axis=1) & (half > _LEAST_HALF)
        allowed = np.maximum(np.maximum(tolerance * size, absolute), noise)
        good = (truncation <= allowed) & ~loses_values
        with np.errstate(divide="ignore"):
            log_size = unit + np.log(size)
        log_peak = max(log_peak, float(log_size.max(initial=-np.inf)))
        good |= log_size < log_peak - negligible
        good |= keep and depth == bisections
        done.append(tuple(a[good] for a in (left, right, series, unit, errors)))
        if np.all(good):
            break
        middles = middle[~good, 0]
        left = np.concatenate([left[~good], middles])
        right = np.concatenate([middles, right[~good]])
        if depth == bisections or left.size > _MOST_PANELS:
            raise AccuracyError(
                f"The function is not smooth: polynomials did not resolve it on {left.size} panels "
                f"between {chart.radius(left.min()):.6g} and {chart.radius(right.max()):.6g}. It has "
                "a singularity or a jump there, or errors that are larger than stated; the exponent "
                "of its tail or origin may be wrong."
            )
    columns = [np.concatenate(c) for c in zip(*done, strict=True)]
    left, right, series, unit, errors = (c[np.argsort(columns[0])] for c in columns)
    charts = np.zeros((left.size, 5))
    charts[:, :4] = np.stack([*np.broadcast_arrays(chart.origin, chart.side, left), right], axis=1)
    if not has_units:
        scale = np.exp(unit)[:, None]
        series, errors, unit = series * scale, errors * scale, None
    return Piecewise(charts, series, chart.root, unit, errors)


def interpolate(
    function: Callable[[FloatArray], FloatArray], z_max: float, tolerance: float
) -> Piecewise:
    """Interpolate a function of the distance on [0, z_max] with an error of about ``tolerance``."""
    ends, limits = np.linspace(0.0, z_max, 5), {"tolerance": 0.0, "absolute": tolerance}
    sample = lambda z: function(z.ravel()).reshape(z.shape)  # noqa: E731
    return fit(sample, ends, Chart(root=1), bisections=30, keep=True, **limits)


def _check_sample(found: Any, t: FloatArray) -> tuple[NDArray[Any], FloatArray, FloatArray]:
    """Values, errors and units of a function at t, all of them finite."""
    if not isinstance(found, tuple):
        found = found, np.zeros(t.shape), np.zeros(len(t))
    finite = np.isfinite(found[0]) & np.isfinite(found[1])
    if not np.all(finite):
        raise AccuracyError(
            "The integrand is not finite where the variable of integration is "
            f"{t[~finite][0]:.6g}. Report the kernel and the dimension: it should be finite."
        )
    return found


def _sign_changes(
    series: FloatArray, rows: IntArray, points: FloatArray, near: Any = True
) -> tuple[IntArray, FloatArray]:
    """Rows and roots of series between neighboring points of each row; points ascend by row.

    Only between points of which one is ``near``.
    """

    def value(x: FloatArray, row: IntArray) -> FloatArray:
        return np.asarray(legendre.legval(x, series[row].T, tensor=False))

    positive, near = value(points, rows) >= 0.0, np.broadcast_to(near, rows.shape)
    changes = (rows[1:] == rows[:-1]) & (positive[1:] != positive[:-1]) & (near[1:] | near[:-1])
    i = np.flatnonzero(changes)
    if not i.size:
        return rows[i], points[i]
    return rows[i], np.asarray(find_root(value, (points[i], points[i + 1]), args=(rows[i],)).x)


def _by_row(rows: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Points sorted by row, then by size."""
    order = np.lexsort((points, rows))
    return rows[order], points[order]


def antiderivative(series: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Integrals of Legendre series from -1 to x and from x to 1, each without cancellation.

    Examples
    --------
    >>> below, above = antiderivative(np.eye(ORDER)[:1], np.array([-0.5]))
    >>> float(below[0]), float(above[0])
    (0.5, 1.5)
    """
    primitive = series @ _ANTIDERIVATIVE.T
    basis = legendre.legvander(x, ORDER)
    below = np.einsum("nj,nj->n", primitive, basis)
    # P_j(1) = 1; subtracting P_j(x) from it in the sum avoids cancellation for x near 1.
    above = np.einsum("nj,nj->n", primitive, 1.0 - basis)
    return below, above


def _inverse(series: FloatArray) -> Callable[[IntArray, FloatArray, FloatArray], FloatArray]:
    """The inverses of the integrals of positive series: a function of (rows, below, above).

    It returns points x in [-1, 1].  At x[i], the series with the index rows[i] has the integral
    below[i] from -1 to x[i] and above[i] from x[i] to 1.  The equation of the smaller integral is
    solved, for relative precision at both ends, by Halley's method safeguarded by bisection.
    """
    # Append the reflected series, whose integrals from -1 are the integrals of the others up to 1.
    both = np.concatenate([series, series * (-1.0) ** _DEGREES])
    integrals: FloatArray = both @ _ANTIDERIVATIVE.T
    # Coefficients of the integrals, the series and their derivatives, for one sum.
    terms = np.zeros((ORDER + 1, 3, len(both)))
    terms[:, 0], terms[:-1, 1] = integrals.T, both.T
    terms[:-2, 2] = legendre.legder(both.T)
    # The first guess is the inverse of the linear interpolant of each integral.
    table = np.maximum.accumulate(integrals @ legendre.legvander(_GRID, ORDER).T, axis=1)
    table /= np.where(table[:, -1:] > 0.0, table[:, -1:], 1.0)
    # One ascending array for one search: row i lies in [2i, 2i + 1].
    flat = (table + 2.0 * np.arange(len(table))[:, None]).ravel()

    def guess(rows: IntArray, share: FloatArray) -> FloatArray:
        k = np.searchsorted(flat, share + 2.0 * rows, side="right") - 1 - rows * _GRID.size
        k = np.clip(k, 0, _GRID.size - 2)
        first, last = table[rows, k], table[rows, k + 1]
        part = np.clip((share - first) / np.where(last > first, last - first, 1.0), 0.0, 1.0)
        return np.asarray(_GRID[k] + (_GRID[1] - _GRID[0]) * part)

    def points(rows: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        whole, target, reflected = below + above, np.minimum(below, above), below > above
        rows = rows + len(series) * reflected
        x = guess(rows, target / np.where(whole > 0.0, whole, 1.0))
        low, high = -np.ones_like(x), np.ones_like(x)
        at_end = target <= 4.0 * EPS * whole
        x[at_end] = -1.0
        active = np.flatnonzero(~at_end)
        for _ in range(_MOST_STEPS if active.size else 0):
            at = x[active]
            basis, columns = legendre.legvander(at, ORDER).T, np.take(terms, rows[active], axis=2)
            value, density, slope = np.einsum("jn,jkn->kn", basis, columns)
            excess = value - target[active]
            low[active] = np.where(excess < 0.0, at, low[active])
            high[active] = np.where(excess > 0.0, at, high[active])
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = excess / density
                new = at - step / np.clip(1.0 - 0.5 * step * slope / density, 0.5, 2.0)
            # Not strict: a step of zero is inside the bracket.
            inside = (new >= low[active]) & (new <= high[active])
            # Near a zero of the series the integral reaches its target before x converges.
            allowed = np.minimum(whole[active], _ROUNDINGS * target[active])
            settled = np.abs(excess) <= EPS * allowed
            new = np.where(inside, new, np.where(settled, at, 0.5 * (low[active] + high[active])))
            x[active] = new = np.where(excess == 0.0, at, new)
            # A bisection is never the last step.
            large = np.abs(new - at) > np.maximum(_LAST_STEP * (1.0 + at), 1e-9)
            active = active[(large | ~inside) & ~settled]
            if active.size == 0:
                break
        return np.where(reflected, -x, x)

    return points

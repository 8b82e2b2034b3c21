"""Where a density changes its sign: ranges of one sign on grids that see every component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.base.enclosures import EPS, bracketed_roots
from spectra.base.numbers import FloatArray
from spectra.density.charts import (
    Chart,
    RadialSum,
    break_depths,
    charts_between,
    require_moderate_scale,
)
from spectra.density.components import Component

__all__ = ["COARSE_STEP", "NEGLIGIBLE", "TRUST", "Intervals", "sign_intervals", "unseen_around"]

# A component is followed until it falls below exp(-92) = 1e-40 of its peak.
NEGLIGIBLE = 92.0
# A sign counts when the value exceeds its error bound this many times.
TRUST = 4.0
# The step in t of grids on which signs and sizes are looked at first (chosen).
COARSE_STEP = 0.1
# Radii outside exp(+-340) are not looked at: their squares overflow. What lies beyond is closed
# with the power law seen there.
_FARTHEST = 340.0
# The distance to the end of a spectrum is followed to exp(-40) of the end: a double ends there.
_END_DEPTH = 40.0
# A local minimum of the balance of positive and negative summands may hide two roots.  It is sought
# on a grid, then on one between the neighbours of its lowest point, to 1e-10 of the first.
_MINIMUM_GRID = np.linspace(0.0, 1.0, 33)
_MINIMUM_ROUNDS = 8
# A radius and its logarithm are rounded to so many units of rounding.
_ROUNDED = 4.0
# Signs that errors hide are sought so much farther each time, which passes over no part of a
# density whose width is a fifth of its distance.
_FARTHER = 1.2
# Places of a grid that are closer in t are one.
_SAME_PLACE = 1e-9
# So many steps around each sign change are halved, until no more changes are found, so often at
# most: a wave of constant frequency is ever shorter in log w, and no sign changes are seen for a
# dozen steps where they are a period long.
_AROUND, _HALVINGS = 33, 12


@dataclass(frozen=True, eq=False)
class Intervals:
    """|rho| dw/dt, with its error, on ranges of one sign that follow one another in one chart.

    Attributes
    ----------
    density : RadialSum
    chart : Chart
    grid : ndarray
        Places in t that are close where the density changes much.
    bounds : ndarray of shape (n + 1,)
        The t between the ranges, and at both ends.
    signs : ndarray of shape (n,)
        Signs of the density in the ranges.
    first, last : bool
        Whether the first range begins at the radius 0, and whether the last one runs to the end
        of a spectrum.
    """

    density: RadialSum
    chart: Chart
    grid: FloatArray
    bounds: FloatArray
    signs: NDArray[np.int_]
    first: bool
    last: bool

    def sign(self, t: FloatArray) -> FloatArray:
        """Sign of the density at t."""
        at = np.searchsorted(self.bounds[:-1], t, side="right") - 1
        return self.signs[np.maximum(at, 0)].astype(float)

    def __call__(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values and errors at t."""
        positive, negative, error = self.density.values(self.chart, t)
        return self.sign(t) * (positive - negative), error

    def smaller(self, t: FloatArray, *, log_scale: float) -> tuple[FloatArray, FloatArray]:
        """min(positive, negative), scaled by its peak; its error is relative to itself."""
        above = self.sign(t) > 0.0
        sizes, errors, _ = self.density.logs(self.chart, t)
        smaller, error = (np.where(above, under, over) for over, under in (sizes, errors))
        return np.exp(smaller - log_scale), np.exp(error - log_scale)


def sign_intervals(
    density: RadialSum, *, cut: float = np.inf
) -> tuple[tuple[Intervals, ...], FloatArray]:
    """Ranges of one sign, from radius 0 to the end (or to ``cut``), and the sign changes.

    Signs are read on a grid that is fine where the mass is, and refined between; a value counts
    only where it exceeds its error, and local minima of the balance of the positive and the
    negative summands are followed, so that a double root is not missed.
    """
    require_moderate_scale(density.components)
    places = np.concatenate([np.empty(0), *(c.telling_radii() for c in density.components)])
    found, is_cut = _segments(density, cut)
    segments = [(chart, _joined(chart, t, places)) for chart, t in found]
    bounds: list[FloatArray] = []
    signs: list[list[int]] = []
    changes: list[float] = []
    for chart, t in segments:
        roots, seen = _roots_on_grid(density, chart, t, signs[-1][-1] if signs else 0)
        if signs and signs[-1][-1] * seen[0] < 0:
            changes.append(float(chart.radius(t[0])))
        bounds.append(np.array([t[0], *roots, t[-1]]))
        signs.append(seen)
        changes.extend(float(chart.radius(np.array(r))) for r in roots)
    # A leading range whose sign could not be read takes the sign of what follows.
    known = next((s for seen in signs for s in seen if s), 1)
    return tuple(
        Intervals(
            density,
            chart,
            grid,
            bounds[i],
            np.array([s or known for s in signs[i]]),
            first=i == 0,
            # A closure belongs to what runs to the end of a spectrum.
            last=chart.origin < cut if chart.way < 0.0 else i == len(segments) - 1 and not is_cut,
        )
        for i, (chart, grid) in enumerate(segments)
    ), np.array(sorted(changes))


def unseen_around(density: RadialSum, w: FloatArray) -> FloatArray:
    """How far from radii, on both sides, the error of a density may hide its sign.

    Beside a change of sign that is how far off it may be; up to a fifth more is said.
    """
    t = np.log(w)
    sides = np.repeat([[-1.0], [1.0]], w.size, axis=1)
    reach = sides * _ROUNDED * EPS * (1.0 + np.abs(t))
    hidden = np.ones(sides.shape, dtype=bool)
    while hidden.any():
        at = np.clip(t + reach, -_FARTHEST, _FARTHEST)
        ratio, bound = density.balance(Chart(), at[hidden])
        # Where there is nothing at all, nothing is hidden.
        seen = (np.abs(ratio) > TRUST * bound) | ((ratio == 0.0) & (bound == 0.0))
        hidden[hidden] = ~seen & (np.abs(at[hidden]) < _FARTHEST)
        reach[hidden] *= _FARTHER
    return np.asarray((w * np.abs(np.expm1(reach))).max(axis=0, initial=0.0))


def _segments(density: RadialSum, cut: float) -> tuple[list[tuple[Chart, FloatArray]], bool]:
    """Charts in the order of the radius, each with a grid fine enough to see every sign, and
    whether they end at the cut."""
    components = density.components
    depths = _depths(components)
    low = min(_extent(c, -1.0) for c in components)
    if depths:
        low = min(low, float(np.log(min(0.5 * min(depths), cut))) - 1.0)
    ends = [float(np.log(r)) for r in depths]
    ends += [_extent(c, 1.0) for c in components if np.isinf(c.end)]
    segments: list[tuple[Chart, FloatArray]] = []
    last_one = float(np.log(cut))
    for chart, start, stop in charts_between(depths, low, min(max(ends), last_one)):
        if chart.origin == 0.0:
            segments.append((chart, _grid(components, start, stop)))
            continue
        t = np.linspace(start, stop, 2 + int((stop - start) / 0.05))
        if chart.origin == max(depths):
            # Beyond the last break lies all that is far.
            first, last = np.log(chart.radius(t[[0, -1]]))
            between = chart.variable(np.exp(_grid(components, first, last)[1:-1]))
            t = np.union1d(t, between[(between > start) & (between < stop)])
        segments.append((chart, t))
    return segments, last_one <= max(ends)


def _depths(components: Sequence[Component]) -> dict[float, float]:
    """How deep breaks and ends are followed; the end of all is closed with the power seen there."""
    found = break_depths(components, _END_DEPTH)
    last = max(component.end for component in components)
    return {r: _END_DEPTH if r == last else depth for r, depth in found.items()}


def _extent(component: Component, side: float) -> float:
    """The t = log w beyond which the component is negligible, seen from its bulk."""
    start = float(np.log(component.bulk[0] if side < 0 else component.bulk[1]))
    limit = side * _FARTHEST
    if np.isfinite(component.end):
        limit = min(limit, float(np.log(component.end)) - 1e-3)
        start = min(start, limit - 1e-3)
    if side > 0 and component.tail is not None:
        return limit
    t = start + (limit - start) * np.linspace(0.0, 1.0, 400) ** 2
    log = component.log_envelope(np.exp(t)) + t
    alive = np.flatnonzero(log > log.max() - NEGLIGIBLE)
    return float(t[min(alive[-1] + 1, t.size - 1)])


def _grid(components: Sequence[Component], low: float, high: float) -> FloatArray:
    """Fine steps of log w around every bulk and through oscillations, coarse ones far away."""
    pieces = [np.arange(low, high, COARSE_STEP), np.array([high])]
    for c in components:
        near, far = np.log(c.bulk[0]), np.log(c.bulk[1])
        # A law of origin exponent p is about 1/sqrt(p) wide in log w.
        step = min(0.04, 0.2 / np.sqrt(abs(c.origin_exponent) + 1.0))
        pieces.append(np.arange(near - 2.0, far + 2.0, step))
        if c.tail is not None:
            wave = np.pi / c.tail.frequency
            stop = min(np.exp(high), 1e6 * wave)
            pieces.append(np.log(np.arange(0.125 * wave, stop, 0.125 * wave)))
    grid = np.unique(np.concatenate(pieces))
    return grid[(grid >= low) & (grid <= high)]


def _joined(chart: Chart, t: FloatArray, places: FloatArray) -> FloatArray:
    """A grid with the places that lie between its ends.

    Of two that differ by rounding one is kept, or a minimum is sought on the wrong side of both.
    """
    low, high = chart.radius(t[[0, -1]])
    joined = np.union1d(t, chart.variable(places[(places > low) & (places < high)]))
    apart = np.diff(joined[:-1], prepend=-np.inf) > _SAME_PLACE
    return np.append(joined[:-1][apart], joined[-1])


def _roots_on_grid(
    density: RadialSum, chart: Chart, t: FloatArray, sign_before: int
) -> tuple[list[float], list[int]]:
    ends = t[[0, -1]]
    t, ratio, bound = _trusted(density, chart, t)
    if t.size == 0:
        return [], [sign_before]
    if not density.proved_sign:
        t, ratio, bound = _with_waves_between(density, chart, t, ratio, bound)
        t, ratio = _with_hidden_roots(density, chart, t, ratio, bound)
    signs = np.sign(ratio)
    where = np.flatnonzero(signs[1:] != signs[:-1])
    roots = np.empty(0)
    if where.size:
        roots = bracketed_roots(
            lambda x: density.balance(chart, x)[0],
            t[where],
            t[where + 1],
            value_low=ratio[where],
            value_high=ratio[where + 1],
        )
    inside = [float(r) for r in roots if ends[0] < r < ends[1]]
    return inside, [int(signs[0]), *(int(s) for s in signs[where + 1])]


def _trusted(
    density: RadialSum, chart: Chart, t: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The places where the sign is known, with the balance there and its error."""
    ratio, bound = density.balance(chart, t)
    known = np.abs(ratio) > TRUST * bound
    return t[known], ratio[known], bound[known]


def _with_waves_between(
    density: RadialSum, chart: Chart, t: FloatArray, ratio: FloatArray, bound: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Halve steps around sign changes as long as that finds more of them."""
    found = 0
    for _ in range(_HALVINGS):
        changed = np.sign(ratio[1:]) != np.sign(ratio[:-1])
        before, found = found, int(np.count_nonzero(changed))
        if found <= before:
            break
        near = np.convolve(changed, np.ones(_AROUND))[_AROUND // 2 :][: changed.size] > 0.5
        more = _trusted(density, chart, 0.5 * (t[:-1] + t[1:])[near])
        joined = (np.concatenate(pair) for pair in zip((t, ratio, bound), more, strict=True))
        t, ratio, bound = joined
        order = np.argsort(t, kind="stable")
        t, ratio, bound = t[order], ratio[order], bound[order]
    return t, ratio, bound


def _with_hidden_roots(
    density: RadialSum, chart: Chart, t: FloatArray, ratio: FloatArray, bound: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Add the bottoms of local minima of |ratio| that reach the other sign.

    What lies lower by no more than two errors is a level, whose rounding has no end of minima.
    """
    size, signs = np.abs(ratio), np.sign(ratio)
    hidden = size[1:-1] <= np.minimum(size[:-2], size[2:])
    hidden &= (signs[:-2] == signs[1:-1]) & (signs[2:] == signs[1:-1])
    hidden &= np.maximum(size[:-2], size[2:]) - size[1:-1] > 2.0 * bound[1:-1]
    inner = np.flatnonzero(hidden) + 1
    low, high, side = t[inner - 1], t[inner + 1], signs[inner]
    for _ in range(_MINIMUM_ROUNDS):
        if not side.size:
            break
        x = low[:, None] + (high - low)[:, None] * _MINIMUM_GRID
        value, bound = density.balance(chart, x)
        height = side[:, None] * value
        lowest = 1 + np.argmin(height[:, 1:-1], axis=1)
        before, at, after = (
            np.take_along_axis(height, (lowest + k)[:, None], axis=1)[:, 0] for k in (-1, 0, 1)
        )
        rows = np.arange(side.size)
        crossed = at < -TRUST * bound[rows, lowest]
        t = np.append(t, x[rows, lowest][crossed])
        ratio = np.append(ratio, value[rows, lowest][crossed])
        # A smooth minimum between even points is lower by an eighth of the second difference.
        left = ~crossed & (at <= np.maximum(before, after) - at)
        low, high = x[rows, lowest - 1][left], x[rows, lowest + 1][left]
        side = side[left]
    order = np.argsort(t)
    return t[order], ratio[order]

"""Stretches of the radius on which a density keeps its sign, and their masses.

A stretch holds the resolved density, so that the mass below or above every radius, and the radius
of every mass, follow without another integral.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from spectra.charts import Chart, RadialSum, require_moderate_scale
from spectra.density import Component, EndTail, OscillatingTail
from spectra.quadrature import (
    EPS,
    ORDER,
    Enclosure,
    Integrand,
    LegendrePanels,
    bracketed_roots,
    resolve_each,
)

__all__ = ["Closure", "Interval", "Stretch", "overlap", "refined", "sign_intervals", "stretches_of"]

FloatArray = NDArray[np.float64]

# Radii outside exp(+-340) are not looked at: their squares overflow. What lies beyond is closed
# with the power law seen there.
_FARTHEST = 340.0
# A component is followed until it falls below exp(-92) = 1e-40 of its peak.
_NEGLIGIBLE = 92.0
# Values below this are on their way to denormal numbers, which keep no digits.
_UNDERFLOW = 1e-260
# The distance to the end of a spectrum is followed to exp(-40) of the end: a double ends there.
_END_DEPTH = 40.0
# A sign counts when the value exceeds its error bound this many times.
_TRUST = 4.0
# A local minimum of the balance of positive and negative summands may hide a double root only if a
# neighbour on the grid is this many times higher.
_DOUBLE_ROOT_RISE = 4.0
_COARSE_STEP = 0.1
# Such a minimum is sought on a grid, then on one between the neighbours of its lowest point, to
# 1e-10 of the first.
_MINIMUM_GRID = np.linspace(0.0, 1.0, 33)
_MINIMUM_ROUNDS = 8


@dataclass(frozen=True)
class Closure:
    """The mass beyond the last panel, where the density per unit of t falls like exp(-rate |t|)."""

    mass: float
    error: float
    rate: float


NOTHING = Closure(0.0, 0.0, np.inf)


@dataclass(frozen=True, eq=False)
class Stretch:
    """A range of radii on which the density has one sign, resolved in the variable of a chart.

    Attributes
    ----------
    sign : int
        +1 or -1, the sign of the density.
    chart : Chart
        The map of t to the radius.
    panels : LegendrePanels
        |rho(w)| dw/dt.
    integrand : callable
        What the panels resolve: values and errors at an array of t.  Stretches in one chart share
        it.
    head, tail : Closure
        Mass below the first panel and above the last one.
    """

    sign: int
    chart: Chart
    panels: LegendrePanels
    integrand: Integrand
    head: Closure = NOTHING
    tail: Closure = NOTHING

    @property
    def mass(self) -> Enclosure:
        """Mass of the stretch, its closures included."""
        inner = self.panels.integral
        return Enclosure(
            inner.mid + self.head.mass + self.tail.mass,
            inner.rad + self.head.error + self.tail.error,
        )


@dataclass(frozen=True)
class Interval:
    """A range of t in a chart on which the density keeps its sign."""

    sign: int
    chart: Chart
    start: float
    stop: float
    first: bool
    last: bool


def sign_intervals(
    density: RadialSum, *, cut: float = np.inf
) -> tuple[tuple[Interval, ...], FloatArray]:
    """Ranges of one sign, from radius 0 to the end (or to ``cut``), and the sign changes.

    Signs are read on a grid that is fine where the mass is, and refined between; a value counts
    only where it exceeds its error, and local minima of the balance of the positive and the
    negative summands are followed, so that a double root is not missed.
    """
    require_moderate_scale(density.components)
    intervals: list[Interval] = []
    changes: list[float] = []
    sign = 0
    segments = _segments(density, cut)
    for i, (chart, t) in enumerate(segments):
        roots, signs = _roots_on_grid(density, chart, t, sign)
        bounds = [float(t[0]), *roots, float(t[-1])]
        sign = signs[-1]
        for j, s in enumerate(signs):
            intervals.append(
                Interval(
                    s,
                    chart,
                    bounds[j],
                    bounds[j + 1],
                    first=i == 0 and j == 0,
                    last=j == len(signs) - 1 and _closes(segments, i, cut),
                )
            )
        changes.extend(float(chart.radius(np.array(r))) for r in roots)
    # A leading range whose sign could not be read takes the sign of what follows.
    known = next((x.sign for x in intervals if x.sign), 1)
    merged = []
    for x in intervals:
        known = x.sign or known
        merged.append(Interval(known, x.chart, x.start, x.stop, x.first, x.last))
    for before, after in pairwise(merged):
        if before.chart != after.chart and before.sign != after.sign:
            changes.append(float(after.chart.radius(np.array(after.start))))
    return tuple(merged), np.array(sorted(changes))


def _closes(segments: list[tuple[Chart, FloatArray]], i: int, cut: float) -> bool:
    """Whether segment i runs to the end of a spectrum, so that a closure belongs to it."""
    chart, t = segments[i]
    if chart.end is not None:
        return chart.end < cut
    return i == len(segments) - 1 and bool(t[-1] < np.log(cut))


def stretches_of(density: RadialSum, intervals: Sequence[Interval]) -> tuple[Stretch, ...]:
    """Resolve |rho| on ranges of one sign.

    Raises
    ------
    AccuracyError
        Where a component is not as smooth as its tail and its origin exponent say.
    """
    found = []
    for run in _runs(intervals):
        size = _Size(density, run)
        for interval, inner in zip(run.intervals, _integrate(size, run), strict=True):
            if inner is not None:
                panels, head, tail = inner
                found.append(Stretch(interval.sign, run.chart, panels, size, head, tail))
    return tuple(found)


def refined(stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """The same stretches on panels half as wide: an independent quadrature to check against."""
    found: list[Stretch] = []
    for integrand, together in groupby(stretches, key=lambda s: s.integrand):
        group = list(together)
        ranges = []
        for stretch in group:
            edges = stretch.panels.edges
            ranges.append(np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])])))
        finer = resolve_each(integrand, ranges)
        found += (replace(s, panels=p) for s, p in zip(group, finer, strict=True))
    return tuple(found)


def overlap(density: RadialSum, intervals: Sequence[Interval]) -> Enclosure:
    """Integral of min(positive summands, negative summands), to relative accuracy."""
    peak = -np.inf
    for x in intervals:
        t = np.linspace(x.start, x.stop, 257)
        found = density.logs(x.chart, t)
        peak = max(peak, float(np.minimum(found.positive, found.negative).max()))
    if peak == -np.inf:
        return Enclosure(0.0, 0.0)
    total = Enclosure(0.0, 0.0)
    for run in _runs(intervals):
        for inner in _integrate(_Smaller(density, run, peak), run):
            if inner is not None:
                panels, head, tail = inner
                total = total + panels.integral
                total = total + Enclosure(head.mass + tail.mass, head.error + tail.error)
    scale = float(np.exp(peak))
    return Enclosure(total.mid * scale, total.rad * scale + float(np.finfo(float).tiny))


@dataclass(frozen=True, eq=False)
class _Run:
    """Ranges of one sign that follow one another in one chart."""

    intervals: tuple[Interval, ...]
    starts: FloatArray
    signs: FloatArray

    @property
    def chart(self) -> Chart:
        return self.intervals[0].chart

    def sign(self, t: FloatArray) -> FloatArray:
        """Sign of the density at t."""
        at = np.searchsorted(self.starts, t, side="right") - 1
        return np.asarray(self.signs[np.maximum(at, 0)])


def _runs(intervals: Sequence[Interval]) -> Iterator[_Run]:
    for _, group in groupby(intervals, key=lambda x: x.chart):
        together = tuple(group)
        starts = np.array([x.start for x in together])
        yield _Run(together, starts, np.array([float(x.sign) for x in together]))


@dataclass(frozen=True, eq=False)
class _Smaller:
    """min(positive, negative), scaled by its peak; its error is relative to itself."""

    density: RadialSum
    run: _Run
    log_scale: float

    def __call__(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = self.density.logs(self.run.chart, t)
        above = self.run.sign(t) > 0.0
        smaller = np.where(above, found.negative, found.positive)
        error = np.where(above, found.negative_error, found.positive_error)
        return np.exp(smaller - self.log_scale), np.exp(error - self.log_scale)


@dataclass(frozen=True, eq=False)
class _Size:
    """|rho| dw/dt on ranges of one sign, with its error."""

    density: RadialSum
    run: _Run

    def __call__(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        positive, negative, error = self.density.values(self.run.chart, t)
        return self.run.sign(t) * (positive - negative), error


_Found = tuple[LegendrePanels, Closure, Closure]


def _integrate(function: _Size | _Smaller, run: _Run) -> list[_Found | None]:
    """Panels between the points where the integrand is negligible, and a closure at open ends.

    The integrand is asked about all ranges of a run at a time; one of zero mass has None.
    """
    grids = [
        np.linspace(x.start, x.stop, 33 + int((x.stop - x.start) / _COARSE_STEP))
        for x in run.intervals
    ]
    values, errors = function(np.concatenate(grids))
    ends = np.cumsum([t.size for t in grids])[:-1]
    seen = list(zip(grids, np.split(values, ends), np.split(errors, ends), strict=True))
    ranges = [_relevant(x, *s) for x, s in zip(run.intervals, seen, strict=True)]
    wanted = [_first_edges(*r) for r in ranges if r is not None]
    resolved = iter(resolve_each(function, wanted))
    found: list[_Found | None] = []
    for interval, (t, value, error), part in zip(run.intervals, seen, ranges, strict=True):
        if part is None:
            width = (interval.stop - interval.start) / t.size
            lost = float((np.abs(value) + error).sum()) * width
            edges = np.array([interval.start, interval.stop])
            empty = LegendrePanels(edges, np.zeros((1, ORDER)), np.array([lost]))
            found.append((empty, NOTHING, NOTHING) if lost else None)
            continue
        head = _close(function, part[0], +1.0, t, value, error) if interval.first else NOTHING
        tail = _close(function, part[1], -1.0, t, value, error) if interval.last else NOTHING
        found.append((next(resolved), head, tail))
    return found


def _relevant(
    interval: Interval, t: FloatArray, value: FloatArray, error: FloatArray
) -> tuple[float, float] | None:
    """The t between which a range of one sign is not negligible; None where all of it is."""
    trusted = value > _TRUST * error
    if not np.any(trusted & (value > _UNDERFLOW)):
        return None
    peak = float(value[trusted].max())
    relevant = np.flatnonzero(trusted & (value > peak * np.exp(-_NEGLIGIBLE)))
    low = float(t[max(relevant[0] - 1, 0)])
    high = float(t[min(relevant[-1] + 1, t.size - 1)])
    if interval.last and relevant[-1] + 1 < t.size and not trusted[relevant[-1] + 1]:
        high = float(t[relevant[-1]])
    return low, high


def _first_edges(low: float, high: float) -> FloatArray:
    return np.linspace(low, high, 2 + int((high - low) / 4.0))


def _close(
    function: _Size | _Smaller,
    at: float,
    inward: float,
    grid: FloatArray,
    value: FloatArray,
    error: FloatArray,
) -> Closure:
    """Mass beyond the last panel: the exponential law seen over the last two steps of t."""
    # The interval may be narrow, and beyond its other end the density has the other sign.
    step = min(1.0, 0.5 * abs(at - float(grid[-1 if inward > 0 else 0])))
    f, e = function(at + inward * step * np.array([0.0, 0.5, 1.0]))
    beyond = grid < at if inward > 0 else grid > at
    spacing = float(grid[1] - grid[0])
    noise = float((np.abs(value[beyond]) + error[beyond]).sum()) * spacing
    if not (f[0] > _TRUST * e[0] and f[1] > f[0] and f[2] > f[1]):
        return Closure(0.0, noise + abs(float(f[0])) + float(e[0]), np.inf)
    near = 2.0 / step * float(np.log(f[1] / f[0]))
    far = 2.0 / step * float(np.log(f[2] / f[1]))
    mass = float(f[0]) / near
    # The rate settles exponentially fast, so its change over one step bounds what it still moves.
    drift = abs(near - far) / near + 4.0 * float(e[0] / f[0] + e[1] / f[1]) / near
    return Closure(mass, mass * min(drift + 4.0 * EPS, 1.0) + float(e[0]) / near, near)


def _segments(density: RadialSum, cut: float) -> list[tuple[Chart, FloatArray]]:
    """Charts in the order of the radius, each with a grid fine enough to see every sign."""
    components = density.components
    ends = {c.tail.radius for c in components if isinstance(c.tail, EndTail)}
    depth = _depths(components)
    open_ended = any(not isinstance(c.tail, EndTail) for c in components)
    low = min(_extent(c, -1.0) for c in components)
    high = max([_extent(c, 1.0) for c in components if not isinstance(c.tail, EndTail)], default=0)
    high = min(high, float(np.log(cut)))
    segments: list[tuple[Chart, FloatArray]] = []
    last = 0.0
    for end in sorted(ends | set(depth)):
        if last == 0.0:
            middle = float(np.log(min(0.5 * end, cut)))
            segments.append((Chart(), _grid(components, min(low, middle - 1.0), middle)))
            last = 0.5 * end
        elif last in depth and last < cut:
            middle = min(0.5 * (last + end), cut)
            segments.append((Chart(start=last), _from_start(last, middle, depth[last])))
            last = middle
        if last >= cut:
            return segments
        chart = Chart(end)
        start = float(-np.log(end - last))
        stop = float(-np.log(end)) + depth.get(end, _END_DEPTH)
        if cut < end:
            stop = min(stop, float(-np.log(end - cut)))
        segments.append((chart, np.linspace(start, stop, 2 + int((stop - start) / 0.05))))
        last = min(end, cut)
    if open_ended:
        start = low if last == 0.0 else float(np.log(last))
        if high > start and last < cut:
            grid = _grid(components, start, high)
            if last in depth:
                near = _from_start(last, float(np.exp(grid[1])), depth[last])
                grid = np.concatenate([near, np.log(np.exp(grid[2:]) - last)])
                segments.append((Chart(start=last), np.unique(grid)))
            else:
                segments.append((Chart(), grid))
    return segments


def _depths(components: Sequence[Component]) -> dict[float, float]:
    """How many e-folds of the distance to each break matter: the mass beyond is rounding."""
    found: dict[float, float] = {}
    for radius, exponent in (b for c in components for b in c.breaks):
        found[radius] = max(found.get(radius, 0.0), _END_DEPTH / (1.0 + exponent))
    return found


def _from_start(start: float, stop: float, depth: float) -> FloatArray:
    """A grid in log(w - start), from nothing to ``stop``."""
    low, high = float(np.log(start)) - depth, float(np.log(stop - start))
    return np.linspace(low, high, 2 + int((high - low) / 0.05))


def _extent(component: Component, side: float) -> float:
    """The t = log w beyond which the component is negligible, seen from its bulk."""
    start = float(np.log(component.bulk[0] if side < 0 else component.bulk[1]))
    limit = side * _FARTHEST
    if isinstance(component.tail, EndTail):
        limit = min(limit, float(np.log(component.tail.radius)) - 1e-3)
        start = min(start, limit - 1e-3)
    if side > 0 and isinstance(component.tail, OscillatingTail):
        return limit
    t = start + (limit - start) * np.linspace(0.0, 1.0, 400) ** 2
    log = component.log_envelope(np.exp(t)) + t
    alive = np.flatnonzero(log > log.max() - _NEGLIGIBLE)
    return float(t[min(alive[-1] + 1, t.size - 1)])


def _grid(components: Sequence[Component], low: float, high: float) -> FloatArray:
    """Fine steps of log w around every bulk and through oscillations, coarse ones far away."""
    pieces = [np.arange(low, high, _COARSE_STEP), np.array([high])]
    for c in components:
        near, far = np.log(c.bulk[0]), np.log(c.bulk[1])
        # A law of origin exponent p is about 1/sqrt(p) wide in log w.
        step = min(0.04, 0.2 / np.sqrt(abs(c.origin_exponent) + 1.0))
        pieces.append(np.arange(near - 2.0, far + 2.0, step))
        if isinstance(c.tail, OscillatingTail):
            wave = np.pi / c.tail.frequency
            stop = min(np.exp(high), 1e6 * wave)
            pieces.append(np.log(np.arange(0.125 * wave, stop, 0.125 * wave)))
    grid = np.unique(np.concatenate(pieces))
    return grid[(grid >= low) & (grid <= high)]


def _roots_on_grid(
    density: RadialSum, chart: Chart, t: FloatArray, sign_before: int
) -> tuple[list[float], list[int]]:
    ratio, bound = density.balance(chart, t)
    trusted = np.abs(ratio) > _TRUST * bound
    ends = t[[0, -1]]
    t, ratio = t[trusted], ratio[trusted]
    if t.size == 0:
        return [], [sign_before]
    t, ratio = _with_hidden_roots(density, chart, t, ratio)
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


def _with_hidden_roots(
    density: RadialSum, chart: Chart, t: FloatArray, ratio: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Add the bottoms of local minima of |ratio| that reach the other sign."""
    # Beside a double root between grid points one neighbour is at least nine times as high.
    size, signs = np.abs(ratio), np.sign(ratio)
    hidden = np.maximum(size[:-2], size[2:]) > _DOUBLE_ROOT_RISE * size[1:-1]
    hidden &= size[1:-1] <= np.minimum(size[:-2], size[2:])
    hidden &= (signs[:-2] == signs[1:-1]) & (signs[2:] == signs[1:-1])
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
        crossed = at < -_TRUST * bound[rows, lowest]
        t = np.append(t, x[rows, lowest][crossed])
        ratio = np.append(ratio, value[rows, lowest][crossed])
        # A smooth minimum between grid points is lower by an eighth of the second difference.
        left = ~crossed & (at <= np.maximum(before, after) - at)
        low, high = x[rows, lowest - 1][left], x[rows, lowest + 1][left]
        side = side[left]
    order = np.argsort(t)
    return t[order], ratio[order]

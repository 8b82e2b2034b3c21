"""Ranges of radii on which a density is fitted, with first panels that see all of its features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart, break_depths, charts_between, require_moderate_scale
from spectra.density.components import Component

__all__ = ["chart_ranges"]

# A component is followed until it falls below exp(-92) = 1e-40 of its peak.
_NEGLIGIBLE = 92.0
# Radii outside exp(+-340) are not looked at: their squares overflow.
_FARTHEST = 340.0
# The distance to the end of a spectrum is followed to exp(-40) of the end: a double ends there.
_END_DEPTH = 40.0
# Widths of the first panels in t: far from all masses, beside a break, and near a bulk, where a
# density w^p exp(-w^2) is about 1/sqrt(p) wide.
_WIDE, _BESIDE_BREAK, _BULK, _STEEP = 1.5, 1.0, 0.5, 3.0
# Beyond all bulks a density per unit of t falls like exp(-rate t), and the first panels are wider
# if that is slow, down to this rate.
_SLOWEST = 0.25
# Radians of a wave on a panel: its 20 nodes resolve as many.
_RADIANS = 4.0
# No panel starts with more of the radii at which a numerical density shows its features.
_MOST_PLACES = 20


def chart_ranges(
    components: Sequence[Component], cut: float, ends: Sequence[float] = ()
) -> tuple[list[tuple[Chart, FloatArray]], bool]:
    """Charts in ascending order of the radius that cover all components up to ``cut``.

    Each comes with the edges of its first panels, to which the radii ``ends`` belong; the flag says
    whether mass may lie beyond.
    """
    require_moderate_scale(components)
    depths = break_depths(components, _END_DEPTH)
    end = max(c.end for c in components)
    depths = {r: _END_DEPTH if r == end else depth for r, depth in depths.items()}
    log_cut = float(np.log(cut))
    low = min(log_cut - 1.0, *(_find_extent(c, -1.0) for c in components))
    if depths:
        low = min(low, float(np.log(min(0.5 * min(depths), cut))) - 1.0)
    last = max(
        *(float(np.log(r)) for r in depths),
        *(_find_extent(c, 1.0) for c in components if np.isinf(c.end)),
        low,
    )
    places = np.sort(np.concatenate([np.empty(0), *(c.feature_radii() for c in components)]))
    found = []
    charts = charts_between(depths, low, min(last, log_cut))
    for chart, start, stop in charts:
        edges = np.linspace(start, stop, 2 + int((stop - start) / _BESIDE_BREAK))
        if not chart.origin:
            edges = _place_edges(components, start, stop)
        elif chart.origin == max(depths) and chart.way > 0.0:
            # Beyond the last break lies all that is far.
            first, far = np.log(chart.radius(edges[[0, -1]]))
            between = chart.variable(np.exp(_place_edges(components, first, far)[1:-1]))
            edges = np.union1d(edges, between[(between > start) & (between < stop)])
        w = chart.radius(edges[[0, -1]])
        inside, also = (r[(r > w[0]) & (r < w[1])] for r in (places, np.asarray(ends)))
        edges = np.union1d(edges, chart.variable(also))
        found.append((chart, _divide_by_places(edges, chart.variable(inside))))
    return found, chart.origin < cut if chart.way < 0.0 else log_cut > last


def _find_extent(component: Component, side: float) -> float:
    """The t = log w beyond which the component is negligible, seen from its bulk."""
    start = float(np.log(component.bulk[0] if side < 0 else component.bulk[1]))
    limit = side * _FARTHEST
    if side > 0 and np.isfinite(component.end):
        limit = min(limit, float(np.log(component.end)) - 1e-3)
        start = min(start, limit - 1e-3)
    if side > 0 and component.tail is not None:
        return limit
    t = start + (limit - start) * np.linspace(0.0, 1.0, 400) ** 2
    log = component.log_envelope(np.exp(t)) + t
    alive = np.flatnonzero(log > log.max() - _NEGLIGIBLE)
    return float(t[min(alive[-1] + 1, t.size - 1)])


def _place_edges(components: Sequence[Component], low: float, high: float) -> FloatArray:
    """Edges of panels in log w: narrow near every bulk and along waves, wide elsewhere."""
    bulks = np.log([c.bulk for c in components]) + np.array([-2.0, 2.0])
    steep = [min(_BULK, _STEEP / np.sqrt(1.0 + abs(c.origin_exponent))) for c in components]
    fastest = max((c.tail.frequency for c in components if c.tail is not None), default=0.0)
    beyond = _WIDE / np.clip(min(c.decay for c in components) - 1.0, _SLOWEST, 1.0)
    edges = [low]
    while edges[-1] < high:
        t = edges[-1]
        widths = [beyond if t > bulks.max() else _WIDE]
        widths += [w for w, (a, b) in zip(steep, bulks, strict=True) if a - _WIDE < t < b]
        edges.append(t + min(*widths, _RADIANS / max(fastest * np.exp(t), 1e-300)))
    return np.array([*edges[:-1], high])


def _divide_by_places(edges: FloatArray, places: FloatArray) -> FloatArray:
    """Edges with so few places between them that a panel passes over no feature."""
    while True:
        full = np.flatnonzero(np.diff(np.searchsorted(places, edges)) > _MOST_PLACES)
        if not full.size:
            return edges
        edges = np.insert(edges, full + 1, 0.5 * (edges[full] + edges[full + 1]))

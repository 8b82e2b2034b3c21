"""Ranges of radii on which a density is fitted, and first panels that see all of its features.

Most of the mass of a component is in its *bulk*; at a *break* it is not smooth.  A *chart* maps a
variable t to the radius w: t is log w, or +-log|w - r| above or below a break r.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectra.base.accuracy import FOLDS, LARGEST_LOG
from spectra.base.fitting import RADIANS
from spectra.base.numbers import FloatArray
from spectra.base.piecewise import Chart
from spectra.density.charts import break_depths, charts_between, require_moderate_scale
from spectra.density.components import Component

__all__ = ["first_panels"]

# The range of a component ends where it is exp(-92) = 1e-40 of its peak.
_NEGLIGIBLE = 92.0
# Widths of the first panels in t: far from all bulks, next to a break, and near a bulk, at most
# _AT_BULK and _BULK_SCALE/sqrt(1 + p), since w^p exp(-w^2) has a width of about 1/sqrt(p).
_WIDE, _NEAR_BREAK, _AT_BULK, _BULK_SCALE = 1.5, 1.0, 0.5, 3.0
# Beyond all bulks a density per unit of t falls like exp(-rate t), and the width is _WIDE/rate for
# rates between this one and 1.
_SLOWEST = 0.25


def first_panels(
    components: Sequence[Component], cut: float, extra_edges: Sequence[float] = ()
) -> tuple[list[tuple[Chart, FloatArray]], bool]:
    """Charts that cover all components up to the radius ``cut``, and panels of each chart.

    Charts ascend in the radius.  Each is paired with the edges of its panels, in its variable t;
    the radii ``extra_edges`` and the edges of the panels of components are among them.  The flag
    says whether mass may lie beyond the panels.
    """
    require_moderate_scale(components)
    # The charts at a break cover distances from it down to exp(-depth) times its radius.
    depths = break_depths(components, FOLDS)
    end = max(c.end for c in components)
    depths = {r: FOLDS if r == end else depth for r, depth in depths.items()}
    log_cut = float(np.log(cut))
    low = min(log_cut - 1.0, *(_find_extent(c, -1.0) for c in components))
    if depths:
        low = min(low, float(np.log(min(0.5 * min(depths), cut))) - 1.0)
    last = max(
        *(float(np.log(r)) for r in depths),
        *(_find_extent(c, 1.0) for c in components if np.isinf(c.end)),
        low,
    )
    radii = np.concatenate([np.asarray(extra_edges), *(c.edges() for c in components)])
    found = []
    for chart, start, stop in charts_between(depths, low, min(last, log_cut)):
        edges = np.linspace(start, stop, 2 + int((stop - start) / _NEAR_BREAK))
        if not chart.origin:
            edges = _place_edges(components, start, stop)
        elif chart.origin == max(depths) and chart.side > 0.0:
            # The last chart extends to infinity: far from the break, log w is the better variable.
            first, far = np.log(chart.radius(edges[[0, -1]]))
            between = chart.variable(np.exp(_place_edges(components, first, far)[1:-1]))
            edges = np.union1d(edges, between[(between > start) & (between < stop)])
        low_w, high_w = chart.radius(edges[[0, -1]])
        inside = radii[(radii > low_w) & (radii < high_w)]
        found.append((chart, np.union1d(edges, chart.variable(inside))))
    return found, chart.origin < cut if chart.side < 0.0 else log_cut > last


def _find_extent(component: Component, side: float) -> float:
    """The log w below (side -1) or above (side 1) its bulk at which a component is negligible."""
    start = float(np.log(component.bulk[0] if side < 0 else component.bulk[1]))
    limit = side * LARGEST_LOG
    if side > 0 and np.isfinite(component.end):
        limit = min(limit, float(np.log(component.end)) - 1e-3)
        start = min(start, limit - 1e-3)
    if side > 0 and component.tail is not None:
        return limit
    t = start + (limit - start) * np.linspace(0.0, 1.0, 400) ** 2
    log = component.log_envelope(np.exp(t)) + t
    relevant = np.flatnonzero(log > log.max() - _NEGLIGIBLE)
    return float(t[min(relevant[-1] + 1, t.size - 1)])


def _place_edges(components: Sequence[Component], low: float, high: float) -> FloatArray:
    """Edges of panels in log w: narrow near every bulk and where it oscillates, wide elsewhere."""
    bulks = np.log([c.bulk for c in components]) + np.array([-2.0, 2.0])
    near = [min(_AT_BULK, _BULK_SCALE / np.sqrt(1.0 + abs(c.origin_exponent))) for c in components]
    fastest = max((c.tail.frequency for c in components if c.tail is not None), default=0.0)
    beyond = _WIDE / np.clip(min(c.decay for c in components) - 1.0, _SLOWEST, 1.0)
    edges = [low]
    while edges[-1] < high:
        t = edges[-1]
        widths = [beyond if t > bulks.max() else _WIDE]
        widths += [w for w, (a, b) in zip(near, bulks, strict=True) if a - _WIDE < t < b]
        edges.append(t + min(*widths, RADIANS / max(fastest * np.exp(t), 1e-300)))
    return np.array([*edges[:-1], high])

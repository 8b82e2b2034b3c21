"""A density on panels of one sign each, which give its sign changes, masses and Jordan parts.

The density is multiplied by dw/dt, with the radius w as a function of the variable t of a chart,
and fitted by piecewise polynomials, which are cut at their real roots.  Each piece has the sign of
its integral.  First panels see all features of the density: most of the mass of a component is in
its *bulk*, and at a *break* it is not smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectra.base.accuracy import EPS, FOLDS, LARGEST_LOG, NOISE
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.enclosures import Enclosure
from spectra.base.fitting import RADIANS, fit
from spectra.base.piecewise import Chart, Piecewise
from spectra.base.series import NODES, ORDER, WEIGHTS
from spectra.density.components import (
    Component,
    break_depths,
    charts_between,
    proved_sign,
    require_moderate_scale,
    sample_density,
)

__all__ = ["ZERO", "SignedDensity", "fit_signed"]

ZERO = Enclosure(0.0, 0.0)
# Panels are not bisected where values are below exp(-3000) of the largest: no bulk is there.
_VANISHED = 3000.0
# The range of a component ends where it is exp(-92) = 1e-40 of its peak.
_NEGLIGIBLE = 92.0
# Widths of the first panels in t: far from all bulks, next to a break, and near a bulk, at most
# _AT_BULK and _BULK_SCALE/sqrt(1 + p), since w^p exp(-w^2) has a width of about 1/sqrt(p).
_WIDE, _NEAR_BREAK, _AT_BULK, _BULK_SCALE = 1.5, 1.0, 0.5, 3.0
# Beyond all bulks a density per unit of t falls like exp(-rate t), and the width is _WIDE/rate for
# rates between this one and 1.
_SLOWEST = 0.25


def _first_panels(
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


@dataclass(frozen=True, eq=False)
class SignedDensity:
    """A density on panels of one sign each.

    Attributes
    ----------
    pieces : Piecewise
        The absolute value of the density; the density itself on panels of unknown sign.
    sign : ndarray
        1, -1, or 0 if it is unknown.
    error, sign_error : ndarray
        Bounds of the error of each mass, and of the mass that may have the other sign.
    """

    pieces: Piecewise
    sign: IntArray
    error: FloatArray
    sign_error: FloatArray

    def mass(self, sign: int) -> Enclosure:
        """Mass of the panels of a sign; its error includes mass on others of uncertain sign."""
        own = self.sign == sign
        mid, sign_error = float(self.pieces.masses[own].sum()), float(self.sign_error[~own].sum())
        return Enclosure(mid, float(self.error[own].sum()) + EPS * mid + sign_error)

    def part(self, sign: int) -> Piecewise | None:
        """The panels of a sign; None if they have no mass."""
        own = (self.sign == sign) & (self.pieces.masses > 0.0)
        return self.pieces[own] if own.any() else None

    def sign_changes(self) -> FloatArray:
        """The radii between panels of known and different signs."""
        known = np.flatnonzero(self.sign)
        last, first = known[:-1], known[1:]
        differs = self.sign[first] != self.sign[last]
        # If panels of unknown sign lie between, the change is placed in their middle.
        return self.pieces.low[(last[differs] + 1 + first[differs]) // 2]


def fit_signed(
    components: Sequence[Component],
    dim: int,
    *,
    cut: float = np.inf,
    extra_edges: Sequence[float] = (),
) -> SignedDensity:
    """Fit a density at all radii up to ``cut`` on panels of constant sign.

    The radii ``extra_edges`` are edges of panels.  The panels of a single component that has some
    are taken as they are.
    """
    charts, has_mass_beyond = _first_panels(components, cut, extra_edges)
    found = []
    for chart, edges in charts:
        known = components[0].panels_in(chart) if len(components) == 1 else None
        first = np.stack([edges[:-1], edges[1:]], axis=1)
        if known is not None:
            required = chart.variable(np.array([w for w in extra_edges if w > 0.0]))
            known, first = _fill_gaps(known, edges, required)
            found.append(known)
        sample = sample_density(components, dim, chart)
        found.append(fit(sample, first, chart, negligible=_VANISHED))
    signed = _assign_signs(Piecewise.join(found), proved_sign(components))
    return _add_ends(signed, charts[-1][0] if has_mass_beyond else None)


def _fill_gaps(
    known: Piecewise, edges: FloatArray, required: FloatArray
) -> tuple[Piecewise, FloatArray]:
    """The known panels between the first and the last edge, and first panels for all other t.

    Known panels with a ``required`` edge inside are left out.
    """
    start, stop = known.charts[:, 2], known.charts[:, 3]
    whole = np.searchsorted(required, stop) == np.searchsorted(required, start, side="right")
    known = known[(start >= edges[0]) & (stop <= edges[-1]) & whole]
    start, stop = known.charts[:, 2], known.charts[:, 3]
    covers = np.searchsorted(start, edges, side="right") > np.searchsorted(stop, edges)
    ends = np.unique(np.concatenate([edges[~covers], start, stop]))
    first = np.stack([ends[:-1], ends[1:]], axis=1)
    return known, first[~np.isin(first[:, 0], start)]


def _assign_signs(density: Piecewise, proved: int) -> SignedDensity:
    """Cut panels at roots.

    A panel of unknown sign has the sign of the nearest panels of known sign, if these agree.
    """
    pieces, truncation = density.split()
    errors, width = pieces.errors, pieces.half_widths
    values = np.abs(pieces.at(np.arange(pieces.size), np.tile(NODES, (pieces.size, 1))))
    error = width * ((errors + 4.0 * EPS * values) @ WEIGHTS + truncation / ORDER)
    sign_error = width * (np.maximum(errors - values, 0.0) @ WEIGHTS)
    has_sign = np.any(values > NOISE * (errors + truncation[:, None]), axis=1)
    sign = np.where(has_sign, np.sign(pieces.series[:, 0]), 0.0).astype(int)
    sign = np.where(sign * proved < 0, 0, sign)
    known = np.flatnonzero(sign)
    if known.size:
        i = np.searchsorted(known, np.arange(sign.size))
        after = sign[known[np.minimum(i, known.size - 1)]] * (i < known.size)
        before = sign[known[np.maximum(i - 1, 0)]] * (i > 0)
        sign = np.where((sign == 0) & (after == before), after, sign)
    # Signs are known where values are far below 1e-308, masses are not.
    unit = np.exp(pieces.unit)
    error, sign_error, size = error * unit, sign_error * unit, np.abs(pieces.masses) + error * unit
    # A piece of the wrong sign counts as 0.
    wrong = pieces.masses * sign < 0.0
    pieces = pieces.scaled(unit * np.where(wrong, 0, np.where(sign == 0, 1, sign)))
    sign_error = np.where(sign == 0, size, sign_error)
    return SignedDensity(pieces, sign, np.where(wrong, size, error), sign_error)


def _add_ends(p: SignedDensity, last_chart: Chart | None) -> SignedDensity:
    """Power laws for the mass below the first panel of known sign, and above the last one.

    The latter only if the panel is in ``last_chart``.  Panels of unknown sign there become errors.
    """
    known = np.flatnonzero(p.sign)
    if not known.size:
        return p
    first, last = int(known[0]), int(known[-1])
    ends = [(first, 1, slice(first))]
    if Chart(*p.pieces.charts[last, :2]) == last_chart:
        ends.append((last, -1, slice(last + 1, None)))
    kept = slice(first, last + 1 if len(ends) == 2 else None)
    parts = [SignedDensity(p.pieces[kept], p.sign[kept], p.error[kept], p.sign_error[kept])]
    for k, inward, dropped in ends:
        chart, mass = _extrapolate(p.pieces[[k]], float(p.error[k]), inward)
        unknown = p.sign_error[dropped].sum(keepdims=True)
        end = Piecewise(chart[None], [[mass.mid]])
        end_mass = SignedDensity(end, p.sign[[k]], mass.rad + unknown, unknown)
        parts.insert(0 if inward > 0 else len(parts), end_mass)
    columns = zip(*((q.sign, q.error, q.sign_error) for q in parts), strict=True)
    return SignedDensity(
        Piecewise.join([q.pieces for q in parts]), *(np.concatenate(c) for c in columns)
    )


def _extrapolate(panel: Piecewise, error: float, inward: int) -> tuple[FloatArray, Enclosure]:
    """The mass beyond the first panel (inward 1) or the last one (-1), and its power-law panel."""
    width = 2.0 * float(panel.half_widths[0])
    step = min(1.0, width)
    x = inward * (np.array([0.0, step, 2.0 * step]) / width - 1.0)
    f, e = panel.at(np.zeros(3, dtype=int), x), error / width
    # The density per unit of t falls like exp(-rate |t|).
    first, rate = float(f[0]), np.inf
    mass = Enclosure(0.0, abs(first) + e)
    if first > NOISE * e and np.all(np.diff(f) > 0.0):
        rate, earlier = (2.0 / step * np.log(f[1:] / f[:-1])).tolist()
        # The rate converges exponentially, so its change over half a step bounds its later changes.
        drift = abs(rate - earlier) + 4.0 * e * float((1.0 / f[:2]).sum())
        bound = first / rate * min(drift / rate + 4.0 * EPS, 1.0) + e / rate
        mass = Enclosure(first / rate, bound)
    row = panel.charts[0].copy()
    row[2:4], row[4] = row[2 if inward > 0 else 3], inward * row[1] / rate
    return row, mass

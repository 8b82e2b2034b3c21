"""A density as one piecewise polynomial, from which its signs and its masses are read.

In the charts of :mod:`spectra.density.charts` a density of the radius per unit of t is a Legendre
series on each of a few panels.  The panels are cut at the real roots of their series, and each
piece has the sign of its integral if a value on it exceeds its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectra.base.arrays import IntArray
from spectra.base.enclosures import (
    ANALYSIS,
    EPS,
    NODES,
    RESOLVED,
    WEIGHTS,
    Enclosure,
    close_tail,
    legendre_series,
    resolve,
)
from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart, proved_sign, sample_density
from spectra.density.components import Component
from spectra.measure.ranges import chart_ranges
from spectra.measure.roots import split_points
from spectra.table.radial.panels import Panels

__all__ = ["TRUST", "ZERO", "RadialPanels", "radial_panels"]

# A sign counts if a value exceeds its error bound this many times.
TRUST = 4.0
ZERO = Enclosure(0.0, 0.0)
# The fields of RadialPanels that have a row for each panel come first.
_COLUMNS = 8
# Panels below exp(-3000) of the largest one are not refined; far from a narrow bulk every one is.
_VANISHED = 3000.0


@dataclass(frozen=True, eq=False)
class RadialPanels:
    """|rho| dw/dt on panels of one sign, ascending in the radius.

    The first eight arrays have a row for each panel: its chart, w = origin + way exp(way t), and
    its ends in t; the Legendre series of |rho| dw/dt in x in [-1, 1]; the sign, 0 if errors hide it
    and the neighbors differ; the error bound of its mass, and how much of that may have the other
    sign.

    ``head`` and ``tail`` are the masses below the first panel of known sign and above the last one,
    where the density per unit of t falls like exp(-rate |t|).
    """

    origin: FloatArray
    way: FloatArray
    start: FloatArray
    stop: FloatArray
    coefficients: FloatArray
    sign: IntArray
    errors: FloatArray
    doubts: FloatArray
    head: Enclosure = ZERO
    tail: Enclosure = ZERO
    rates: tuple[float, float] = (np.inf, np.inf)
    sign_changes: FloatArray = field(default_factory=lambda: np.empty(0))

    @cached_property
    def masses(self) -> FloatArray:
        """Mass of each panel."""
        return np.asarray((self.stop - self.start) * self.coefficients[:, 0])

    @cached_property
    def known(self) -> IntArray:
        """The panels whose sign is known."""
        return np.flatnonzero(self.sign)

    def mass(self, sign: int) -> Enclosure:
        """Mass of a sign, with the mass of the other sign that may belong to it."""
        own = self.sign == sign
        mid, rad = float(self.masses[own].sum()), float(self.errors[own].sum())
        for end, closure in ((0, self.head), (-1, self.tail)):
            if self.known.size and self.sign[self.known[end]] == sign:
                mid, rad = mid + closure.mid, rad + closure.rad
        return Enclosure(mid, rad + EPS * mid + self.doubt(sign))

    def doubt(self, sign: int) -> float:
        """How much mass of other panels may have this sign."""
        return float(self.doubts[self.sign != sign].sum())

    def of_sign(self, sign: int) -> Panels | None:
        """The panels of a sign, with the ends that belong to it; None if it has no mass."""
        own = np.flatnonzero((self.sign == sign) & (self.masses > 0.0))
        if not self.mass(sign).mid > 0.0:
            return None
        columns = (self.origin, self.way, self.start, self.stop, np.zeros(self.sign.size))
        charts, series = np.stack(columns, axis=1)[own], self.coefficients[own]
        for end, closure, edges in ((0, self.head, self.start), (-1, self.tail, self.stop)):
            i = int(self.known[end])
            if self.sign[i] == sign and closure.mid > 0.0:
                power = (-1.0 if end else 1.0) * self.way[i] / self.rates[end]
                row = [self.origin[i], self.way[i], edges[i], edges[i], power]
                mass = np.append(closure.mid, np.zeros(series.shape[1] - 1))
                at = len(charts) if end else 0
                charts, series = np.insert(charts, at, row, 0), np.insert(series, at, mass, 0)
        return Panels(charts, series)

    def radii(self, i: IntArray, t: FloatArray) -> FloatArray:
        """Radii at t in panels i."""
        w = self.origin[i] + self.way[i] * np.exp(self.way[i] * t)
        return np.where(self.way[i] < 0.0, np.minimum(w, np.nextafter(self.origin[i], 0.0)), w)


def radial_panels(
    components: Sequence[Component],
    dim: int,
    *,
    cut: float = np.inf,
    ends: Sequence[float] = (),
) -> RadialPanels:
    """Fit a density from radius 0 to its end, or to ``cut``, and read its signs.

    Panels end at the radii ``ends``.
    """
    ranges, is_open = chart_ranges(components, cut, ends)
    found = []
    for chart, edges in ranges:
        fit = resolve(sample_density(components, dim, chart), edges, negligible=_VANISHED)
        found.append(_cut_at_roots(chart, fit))
    panels = _assign_signs(_join(found), proved_sign(components))
    panels = _merge_half_waves(_list_sign_changes(panels))
    return _close_ends(panels, ranges[-1][0] if is_open else None)


def _join(parts: Sequence[RadialPanels]) -> RadialPanels:
    names = [f.name for f in fields(RadialPanels)[:_COLUMNS]]
    rows: dict[str, Any] = {n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    return RadialPanels(**rows)


def _cut_at_roots(chart: Chart, fit: tuple[FloatArray, ...]) -> RadialPanels:
    """Cut panels at the real roots of their series; signs are those of the integrals."""
    row, low, high = split_points(fit[2])
    start, stop, coefficients, errors, left_out, unit = (column[row] for column in fit)
    whole = (low == -1.0) & (high == 1.0)
    half = 0.5 * (stop - start)
    middle = start + half
    cut = np.flatnonzero(~whole)
    x = low[cut, None] + 0.5 * (high - low)[cut, None] * (1.0 + NODES)
    values = legendre_series(coefficients[cut], x)
    coefficients[cut] = values @ ANALYSIS.T
    # Between two nodes the larger of their errors counts.
    after = np.clip(np.searchsorted(NODES, x), 1, NODES.size - 1)
    beside = (np.take_along_axis(errors[cut], k, axis=1) for k in (after - 1, after))
    errors[cut] = np.maximum(*beside)
    values = legendre_series(coefficients, np.broadcast_to(NODES, errors.shape))
    size, width = np.abs(values), 0.5 * half * (high - low) * np.exp(unit)
    seen = np.any(size > TRUST * (errors + left_out[:, None]), axis=1)
    sign = np.where(seen, np.sign(coefficients[:, 0]), 0.0).astype(int)
    return RadialPanels(
        origin=np.full(row.size, chart.origin),
        way=np.full(row.size, chart.way),
        start=np.where(low == -1.0, start, middle + half * low),
        stop=np.where(high == 1.0, stop, middle + half * high),
        coefficients=coefficients * np.exp(unit)[:, None],
        sign=sign,
        errors=width * ((errors + 4.0 * EPS * size) @ WEIGHTS + left_out / NODES.size),
        doubts=width * (np.maximum(errors - size, 0.0) @ WEIGHTS),
    )


def _assign_signs(panels: RadialPanels, proved: int) -> RadialPanels:
    """Give what errors hide the sign of its neighbors, if they agree, and make series positive."""
    sign = np.where(panels.sign * proved < 0, 0, panels.sign)
    known = np.flatnonzero(sign)
    if not known.size:
        return replace(panels, sign=sign, doubts=np.abs(panels.masses) + panels.errors)
    place = np.searchsorted(known, np.arange(sign.size))
    after = sign[known[np.minimum(place, known.size - 1)]] * (place < known.size)
    before = sign[known[np.maximum(place - 1, 0)]] * (place > 0)
    sign = np.where(sign == 0, np.where(after == before, after, 0), sign)
    size = np.abs(panels.masses) + panels.errors
    coefficients = panels.coefficients * np.where(sign == 0, 1, sign)[:, None]
    wrong = (coefficients[:, 0] < 0.0) & (sign != 0)
    coefficients[wrong] = 0.0
    return replace(
        panels,
        sign=sign,
        coefficients=coefficients,
        errors=np.where(wrong, size, panels.errors),
        doubts=np.where(sign == 0, size, panels.doubts),
    )


def _list_sign_changes(panels: RadialPanels) -> RadialPanels:
    """List the radii between panels of known and different signs."""
    k = panels.known
    differs = panels.sign[k[1:]] != panels.sign[k[:-1]]
    # Between two signs that are not neighbors any radius may be the change.
    i = (k[:-1][differs] + 1 + k[1:][differs]) // 2
    return replace(panels, sign_changes=panels.radii(i, panels.start[i]))


def _merge_half_waves(p: RadialPanels) -> RadialPanels:
    """Make one panel of each half-wave on two panels, if one series resolves it."""
    new = (p.sign[1:] != p.sign[:-1]) | (p.way[1:] != p.way[:-1]) | (p.origin[1:] != p.origin[:-1])
    first = np.flatnonzero(np.append(True, new))
    i = first[(np.diff(np.append(first, p.sign.size)) == 2) & (p.sign[first] != 0)]
    half = 0.5 * (p.stop[i + 1] - p.start[i])
    t = p.start[i, None] + half[:, None] * (1.0 + NODES)
    held = i[:, None] + (t > p.stop[i, None])
    x = 2.0 * (t - p.start[held]) / (p.stop[held] - p.start[held]) - 1.0
    values = legendre_series(p.coefficients[held.ravel()], x.reshape(-1, 1)).reshape(t.shape)
    series = values @ ANALYSIS.T
    left_out = half * np.abs(series[:, -3:]).max(axis=1)
    errors = p.errors[i] + p.errors[i + 1]
    good = left_out <= np.maximum(RESOLVED * half * np.abs(values).max(axis=1), 2.0 * errors)
    i = i[good]
    rows = {f.name: np.delete(getattr(p, f.name), i + 1, axis=0) for f in fields(p)[:_COLUMNS]}
    at = i - np.arange(i.size)
    rows["stop"][at], rows["coefficients"][at] = p.stop[i + 1], series[good]
    rows["errors"][at] = (errors + left_out / NODES.size)[good]
    rows["doubts"][at] += p.doubts[i + 1]
    return replace(p, **rows)


def _close_ends(panels: RadialPanels, last: Chart | None) -> RadialPanels:
    """Add the mass below the first panel and above the last one, by the power laws seen there."""
    if not panels.known.size:
        return panels
    first, end = panels.known[[0, -1]]
    head, rate = _close_end(panels, int(first), 1)
    tail, rates = ZERO, (rate, np.inf)
    if Chart(panels.origin[end], panels.way[end]) == last:
        tail, rate = _close_end(panels, int(end), -1)
        rates = (rates[0], rate)
    return replace(panels, head=head, tail=tail, rates=rates)


def _close_end(panels: RadialPanels, i: int, inward: int) -> tuple[Enclosure, float]:
    """Mass beyond panel i, and the rate at which the density falls there."""
    width = float(panels.stop[i] - panels.start[i])
    step = min(1.0, width)
    x = inward * (np.array([[0.0, step, 2.0 * step]]) / width - 1.0)
    f = legendre_series(panels.coefficients[i : i + 1], x)[0]
    e = np.full(3, panels.errors[i] / width)
    if not (f[0] > TRUST * e[0] and f[1] > f[0] and f[2] > f[1]):
        return Enclosure(0.0, abs(float(f[0])) + float(e[0])), np.inf
    return close_tail(f, e, step)

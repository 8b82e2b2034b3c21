"""A density as one piecewise polynomial, from which its signs and its masses are read.

In the charts of :mod:`spectra.density.charts` a density of the radius per unit of t is a Legendre
series on each of a few panels.  The panels are cut at the real roots of their series, and each
piece has the sign of its integral if a value on it exceeds its error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spectra.base.enclosures import (
    EPS,
    NODES,
    ORDER,
    PANEL_TOLERANCE,
    TO_LEGENDRE,
    WEIGHTS,
    Enclosure,
    fit_legendre,
    integrate_tail,
    legendre_series,
)
from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart, proved_sign, sample_density
from spectra.density.components import Component
from spectra.measure.ranges import chart_ranges
from spectra.measure.roots import split_points
from spectra.table.radial.panels import Panels

__all__ = [
    "TRUST",
    "ZERO",
    "SignedPanels",
    "mass_of_sign",
    "panels_of_sign",
    "radial_panels",
    "radii_at",
    "sign_changes",
]

# A sign counts if a value exceeds its error bound this many times.
TRUST = 4.0
ZERO = Enclosure(0.0, 0.0)
# Panels below exp(-3000) of the largest one are not refined; far from a narrow bulk every one is.
_VANISHED = 3000.0
# The columns of a chart, as those of the panels of a table.
_CHART = ("origin", "way", "start", "stop", "power")
# Of each panel the chart; the Legendre series of |rho| dw/dt in x in [-1, 1], or the mass of an end
# (power not 0); the sign, 0 if errors hide it and the neighbors differ; the error bound of its mass
# and how much of that may have the other sign.
_NUMBERS = (*((name, float) for name in _CHART), ("errors", float), ("doubts", float))
_PANEL = np.dtype([*_NUMBERS, ("sign", int), ("series", float, (ORDER,))])
#: Panels of one sign each, ascending in the radius.
SignedPanels = NDArray[np.void]


def radial_panels(
    components: Sequence[Component],
    dim: int,
    *,
    cut: float = np.inf,
    ends: Sequence[float] = (),
) -> SignedPanels:
    """Fit a density from radius 0 to its end, or to ``cut``, and read its signs.

    Panels end at the radii ``ends``.
    """
    ranges, is_open = chart_ranges(components, cut, ends)
    found = []
    for chart, edges in ranges:
        fit = fit_legendre(sample_density(components, dim, chart), edges, negligible=_VANISHED)
        found.append(_cut_at_roots(chart, fit))
    panels = np.concatenate(found)
    _assign_signs(panels, proved_sign(components))
    return _close_ends(_merge_half_waves(panels), ranges[-1][0] if is_open else None)


def mass_of_sign(panels: SignedPanels, sign: int) -> Enclosure:
    """Mass of a sign, with the mass of the other sign that may belong to it."""
    own = panels["sign"] == sign
    mid, doubt = float(_masses(panels[own]).sum()), float(panels["doubts"][~own].sum())
    return Enclosure(mid, float(panels["errors"][own].sum()) + EPS * mid + doubt)


def panels_of_sign(panels: SignedPanels, sign: int) -> Panels | None:
    """The panels of a sign; None if it has no mass."""
    own = panels[(panels["sign"] == sign) & (_masses(panels) > 0.0)]
    if not own.size:
        return None
    return Panels(np.stack([own[name] for name in _CHART], axis=1), own["series"])


def sign_changes(panels: SignedPanels) -> FloatArray:
    """The radii between panels of known and different signs."""
    known = np.flatnonzero(panels["sign"])
    last, first = known[:-1], known[1:]
    differs = panels["sign"][first] != panels["sign"][last]
    # Between two signs that are not neighbors any radius may be the change.
    rows = panels[(last[differs] + 1 + first[differs]) // 2]
    return radii_at(rows, rows["start"])


def radii_at(panels: SignedPanels, t: FloatArray) -> FloatArray:
    """Radii at t in panels."""
    origin, way = panels["origin"], panels["way"]
    w = origin + way * np.exp(way * t)
    return np.asarray(np.where(way < 0.0, np.minimum(w, np.nextafter(origin, 0.0)), w))


def _masses(panels: SignedPanels) -> FloatArray:
    width = np.where(panels["power"] == 0.0, panels["stop"] - panels["start"], 1.0)
    return np.asarray(width * panels["series"][:, 0])


def _cut_at_roots(chart: Chart, fit: tuple[FloatArray, ...]) -> SignedPanels:
    """Cut panels at the real roots of their series; signs are those of the integrals."""
    row, low, high = split_points(fit[2])
    start, stop, series, errors, left_out, log_unit = (column[row] for column in fit)
    half = 0.5 * (stop - start)
    middle = start + half
    cut = np.flatnonzero((low > -1.0) | (high < 1.0))
    x = low[cut, None] + 0.5 * (high - low)[cut, None] * (1.0 + NODES)
    series[cut] = legendre_series(series[cut], x) @ TO_LEGENDRE.T
    # Between two nodes the larger of their errors counts.
    after = np.clip(np.searchsorted(NODES, x), 1, NODES.size - 1)
    beside = (np.take_along_axis(errors[cut], k, axis=1) for k in (after - 1, after))
    errors[cut] = np.maximum(*beside)
    size = np.abs(legendre_series(series, np.broadcast_to(NODES, errors.shape)))
    unit = np.exp(log_unit)
    width = 0.5 * half * (high - low) * unit
    seen = np.any(size > TRUST * (errors + left_out[:, None]), axis=1)
    panels = np.zeros(row.size, _PANEL)
    panels["origin"], panels["way"] = chart.origin, chart.side
    panels["start"] = np.where(low == -1.0, start, middle + half * low)
    panels["stop"] = np.where(high == 1.0, stop, middle + half * high)
    panels["series"] = series * unit[:, None]
    panels["sign"] = np.where(seen, np.sign(series[:, 0]), 0.0)
    panels["errors"] = width * ((errors + 4.0 * EPS * size) @ WEIGHTS + left_out / NODES.size)
    panels["doubts"] = width * (np.maximum(errors - size, 0.0) @ WEIGHTS)
    return panels


def _assign_signs(panels: SignedPanels, proved: int) -> None:
    """Give what errors hide the sign of its neighbors, if they agree, and make series positive."""
    sign = np.where(panels["sign"] * proved < 0, 0, panels["sign"])
    known = np.flatnonzero(sign)
    if known.size:
        place = np.searchsorted(known, np.arange(sign.size))
        after = sign[known[np.minimum(place, known.size - 1)]] * (place < known.size)
        before = sign[known[np.maximum(place - 1, 0)]] * (place > 0)
        sign = np.where((sign == 0) & (after == before), after, sign)
    size = np.abs(_masses(panels)) + panels["errors"]
    panels["sign"], panels["doubts"] = sign, np.where(sign == 0, size, panels["doubts"])
    panels["series"] *= np.where(sign == 0, 1, sign)[:, None]
    wrong = (panels["series"][:, 0] < 0.0) & (sign != 0)
    panels["series"][wrong], panels["errors"][wrong] = 0.0, size[wrong]


def _merge_half_waves(p: SignedPanels) -> SignedPanels:
    """Make one panel of each half-wave on two panels, if one series resolves it."""
    new = np.any([p[name][1:] != p[name][:-1] for name in ("sign", "way", "origin")], axis=0)
    first = np.flatnonzero(np.append(True, new))
    i = first[(np.diff(np.append(first, p.size)) == 2) & (p["sign"][first] != 0)]
    half = 0.5 * (p["stop"][i + 1] - p["start"][i])
    t = p["start"][i, None] + half[:, None] * (1.0 + NODES)
    held = p[i[:, None] + (t > p["stop"][i, None])]
    x = 2.0 * (t - held["start"]) / (held["stop"] - held["start"]) - 1.0
    values = legendre_series(held["series"].reshape(-1, ORDER), x.reshape(-1, 1)).reshape(t.shape)
    series = values @ TO_LEGENDRE.T
    left_out = half * np.abs(series[:, -3:]).max(axis=1)
    errors = p["errors"][i] + p["errors"][i + 1]
    good = left_out <= np.maximum(PANEL_TOLERANCE * half * np.abs(values).max(axis=1), 2.0 * errors)
    i = i[good]
    p["stop"][i], p["series"][i] = p["stop"][i + 1], series[good]
    p["errors"][i] = (errors + left_out / NODES.size)[good]
    p["doubts"][i] += p["doubts"][i + 1]
    return np.delete(p, i + 1)


def _close_ends(panels: SignedPanels, last: Chart | None) -> SignedPanels:
    """Add the mass below the first panel and above the last one, by the power laws seen there.

    There the density per unit of t falls like exp(-rate abs(t)).
    """
    known = np.flatnonzero(panels["sign"])
    if not known.size:
        return panels
    head, tail = panels[known[[0]]], panels[known[[-1]]]
    is_open = Chart(tail["origin"][0], tail["way"][0]) == last
    found = [_close_end(head, 1), panels] + ([_close_end(tail, -1)] if is_open else [])
    return np.concatenate(found)


def _close_end(panel: SignedPanels, inward: int) -> SignedPanels:
    """The mass beyond the first panel (inward 1) or the last one (-1), as an end."""
    width = float(panel["stop"][0] - panel["start"][0])
    step = min(1.0, width)
    x = inward * (np.array([[0.0, step, 2.0 * step]]) / width - 1.0)
    f, e = legendre_series(panel["series"], x)[0], np.full(3, panel["errors"][0] / width)
    mass, rate = Enclosure(0.0, abs(float(f[0])) + float(e[0])), np.inf
    if f[0] > TRUST * e[0] and f[1] > f[0] and f[2] > f[1]:
        mass, rate = integrate_tail(f, e, step)
    end = panel.copy()
    end["start" if inward < 0 else "stop"] = end["stop" if inward < 0 else "start"]
    end["power"] = inward * end["way"] / rate
    end["series"], end["errors"], end["doubts"] = 0.0, mass.rad, 0.0
    end["series"][0, 0] = mass.mid
    return end

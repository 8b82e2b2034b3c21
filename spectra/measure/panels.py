"""A density as a piecewise polynomial, which gives its signs, sign changes and masses.

The density is multiplied by dw/dt, with the radius w as a function of the variable t of a chart
(:mod:`spectra.density.charts`), and fitted by a Legendre series on each of a few panels.  Panels
are cut at the real roots of the series.  Each piece has the sign of its integral.
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
from spectra.measure.ranges import first_panels
from spectra.measure.roots import split_at_roots
from spectra.table.radial.panels import Panels

__all__ = [
    "ZERO",
    "SignedPanels",
    "fit_signed_panels",
    "mass_of_sign",
    "panels_of_sign",
    "radii_at",
    "sign_changes",
]

# A sign is known if a value is larger than this many error bounds.
_SIGN_MARGIN = 4.0
ZERO = Enclosure(0.0, 0.0)
# Panels are not bisected where values are below exp(-3000) of the largest: no bulk is there.
_VANISHED = 3000.0
# Chart, range of t, and power: 0 for a series, 1/s if the mass within (s > 0) or beyond (s < 0) a
# distance r of the origin of the chart is like r^s (see spectra.table.radial.panels).
_CHART = ("origin", "side", "start", "stop", "power")
# ``error`` bounds the error of the mass, ``sign_error`` the mass that may have the other sign.
# ``sign`` is 0 if it is unknown.  ``series`` has the Legendre coefficients of |rho| dw/dt (or rho
# dw/dt if sign = 0) on [-1, 1]; if the power is not 0, its first number is the mass beyond panels.
_NUMBERS = (*((name, float) for name in _CHART), ("error", float), ("sign_error", float))
_PANEL = np.dtype([*_NUMBERS, ("sign", int), ("series", float, (ORDER,))])
#: An array of _PANEL, ascending in the radius; the density has one sign on each panel.
SignedPanels = NDArray[np.void]


def fit_signed_panels(
    components: Sequence[Component],
    dim: int,
    *,
    cut: float = np.inf,
    extra_edges: Sequence[float] = (),
) -> SignedPanels:
    """Fit a density at all radii up to ``cut`` on panels of constant sign.

    The radii ``extra_edges`` are edges of panels.
    """
    charts, has_mass_beyond = first_panels(components, cut, extra_edges)
    found = []
    for chart, edges in charts:
        fit = fit_legendre(sample_density(components, dim, chart), edges, negligible=_VANISHED)
        found.append(_cut_at_roots(chart, fit))
    panels = np.concatenate(found)
    _assign_signs(panels, proved_sign(components))
    return _add_ends(_merge_half_waves(panels), charts[-1][0] if has_mass_beyond else None)


def mass_of_sign(panels: SignedPanels, sign: int) -> Enclosure:
    """Mass of the panels of a sign; its error includes mass on other panels of uncertain sign."""
    own = panels["sign"] == sign
    mid, sign_error = float(_masses(panels[own]).sum()), float(panels["sign_error"][~own].sum())
    return Enclosure(mid, float(panels["error"][own].sum()) + EPS * mid + sign_error)


def panels_of_sign(panels: SignedPanels, sign: int) -> Panels | None:
    """The panels of a sign as those of a table; None if they have no mass."""
    own = panels[(panels["sign"] == sign) & (_masses(panels) > 0.0)]
    if not own.size:
        return None
    return Panels(np.stack([own[name] for name in _CHART], axis=1), own["series"])


def sign_changes(panels: SignedPanels) -> FloatArray:
    """The radii between panels of known and different signs."""
    known = np.flatnonzero(panels["sign"])
    last, first = known[:-1], known[1:]
    differs = panels["sign"][first] != panels["sign"][last]
    # If panels of unknown sign lie between, the change is placed in their middle.
    rows = panels[(last[differs] + 1 + first[differs]) // 2]
    return radii_at(rows, rows["start"])


def radii_at(panels: SignedPanels, t: FloatArray) -> FloatArray:
    """Radii at values t of the variables of the charts of panels."""
    origin, side = panels["origin"], panels["side"]
    w = origin + side * np.exp(side * t)
    return np.asarray(np.where(side < 0.0, np.minimum(w, np.nextafter(origin, 0.0)), w))


def _masses(panels: SignedPanels) -> FloatArray:
    width = np.where(panels["power"] == 0.0, panels["stop"] - panels["start"], 1.0)
    return np.asarray(width * panels["series"][:, 0])


def _cut_at_roots(chart: Chart, fit: tuple[FloatArray, ...]) -> SignedPanels:
    """Cut panels of ``fit_legendre`` at the roots of their series, and find the signs."""
    _, _, series, *_ = fit
    row, low, high = split_at_roots(series)
    start, stop, series, errors, truncation, log_unit = (column[row] for column in fit)
    half = 0.5 * (stop - start)
    middle = start + half
    cut = np.flatnonzero((low > -1.0) | (high < 1.0))
    x = low[cut, None] + 0.5 * (high - low)[cut, None] * (1.0 + NODES)
    series[cut] = legendre_series(series[cut], x) @ TO_LEGENDRE.T
    # Errors are known at the nodes of the whole panel; between two, take the larger one.
    after = np.clip(np.searchsorted(NODES, x), 1, NODES.size - 1)
    neighbors = (np.take_along_axis(errors[cut], k, axis=1) for k in (after - 1, after))
    errors[cut] = np.maximum(*neighbors)
    size = np.abs(legendre_series(series, np.broadcast_to(NODES, errors.shape)))
    unit = np.exp(log_unit)
    width = 0.5 * half * (high - low) * unit
    has_sign = np.any(size > _SIGN_MARGIN * (errors + truncation[:, None]), axis=1)
    panels = np.zeros(row.size, _PANEL)
    panels["origin"], panels["side"] = chart.origin, chart.side
    panels["start"] = np.where(low == -1.0, start, middle + half * low)
    panels["stop"] = np.where(high == 1.0, stop, middle + half * high)
    panels["series"] = series * unit[:, None]
    panels["sign"] = np.where(has_sign, np.sign(series[:, 0]), 0.0)
    panels["error"] = width * ((errors + 4.0 * EPS * size) @ WEIGHTS + truncation / NODES.size)
    panels["sign_error"] = width * (np.maximum(errors - size, 0.0) @ WEIGHTS)
    return panels


def _assign_signs(panels: SignedPanels, proved: int) -> None:
    """Replace unknown signs by the nearest known ones, if these agree, and make series >= 0."""
    sign = np.where(panels["sign"] * proved < 0, 0, panels["sign"])
    known = np.flatnonzero(sign)
    if known.size:
        i = np.searchsorted(known, np.arange(sign.size))
        after = sign[known[np.minimum(i, known.size - 1)]] * (i < known.size)
        before = sign[known[np.maximum(i - 1, 0)]] * (i > 0)
        sign = np.where((sign == 0) & (after == before), after, sign)
    size = np.abs(_masses(panels)) + panels["error"]
    panels["sign"], panels["sign_error"] = sign, np.where(sign == 0, size, panels["sign_error"])
    panels["series"] *= np.where(sign == 0, 1, sign)[:, None]
    wrong = (panels["series"][:, 0] < 0.0) & (sign != 0)
    panels["series"][wrong], panels["error"][wrong] = 0.0, size[wrong]


def _merge_half_waves(p: SignedPanels) -> SignedPanels:
    """Merge two panels between consecutive sign changes into one, if one series resolves both."""
    differs = np.any([np.diff(p[name]) != 0 for name in ("sign", "side", "origin")], axis=0)
    first = np.flatnonzero(np.append(True, differs))
    i = first[(np.diff(np.append(first, p.size)) == 2) & (p["sign"][first] != 0)]
    half = 0.5 * (p["stop"][i + 1] - p["start"][i])
    t = p["start"][i, None] + half[:, None] * (1.0 + NODES)
    source = p[i[:, None] + (t > p["stop"][i, None])]
    x = 2.0 * (t - source["start"]) / (source["stop"] - source["start"]) - 1.0
    values = legendre_series(source["series"].reshape(-1, ORDER), x.reshape(-1, 1)).reshape(t.shape)
    series = values @ TO_LEGENDRE.T
    truncation = half * np.abs(series[:, -3:]).max(axis=1)
    errors = p["error"][i] + p["error"][i + 1]
    accepted = np.maximum(PANEL_TOLERANCE * half * np.abs(values).max(axis=1), 2.0 * errors)
    good = truncation <= accepted
    i = i[good]
    p["stop"][i], p["series"][i] = p["stop"][i + 1], series[good]
    p["error"][i] = (errors + truncation / NODES.size)[good]
    p["sign_error"][i] += p["sign_error"][i + 1]
    return np.delete(p, i + 1)


def _add_ends(panels: SignedPanels, last_chart: Chart | None) -> SignedPanels:
    """Add the mass below the first panel, and above the last one if it is in ``last_chart``."""
    known = np.flatnonzero(panels["sign"])
    if not known.size:
        return panels
    first, last = panels[known[[0]]], panels[known[[-1]]]
    has_mass_beyond = Chart(last["origin"][0], last["side"][0]) == last_chart
    found = [_extrapolate(first, 1), panels] + ([_extrapolate(last, -1)] if has_mass_beyond else [])
    return np.concatenate(found)


def _extrapolate(panel: SignedPanels, inward: int) -> SignedPanels:
    """The mass beyond the first panel (inward 1) or the last one (-1), as a panel with a power."""
    width = float(panel["stop"][0] - panel["start"][0])
    step = min(1.0, width)
    x = inward * (np.array([[0.0, step, 2.0 * step]]) / width - 1.0)
    f, e = legendre_series(panel["series"], x)[0], np.full(3, panel["error"][0] / width)
    # The density per unit of t falls like exp(-rate |t|).
    mass, rate = Enclosure(0.0, abs(float(f[0])) + float(e[0])), np.inf
    if f[0] > _SIGN_MARGIN * e[0] and f[1] > f[0] and f[2] > f[1]:
        mass, rate = integrate_tail(f, e, step)
    end = panel.copy()
    end["start" if inward < 0 else "stop"] = end["stop" if inward < 0 else "start"]
    end["power"] = inward * end["side"] / rate
    end["series"], end["error"], end["sign_error"] = 0.0, mass.rad, 0.0
    end["series"][0, 0] = mass.mid
    return end

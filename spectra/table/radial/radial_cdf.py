"""Probability and density at a radius, read off the inverse CDF that a law is stored as."""

from __future__ import annotations

import numpy as np

from spectra.base.arrays import FloatArray, IntArray
from spectra.table.radial.panels import PanelKind, Panels, local_share, local_slope
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["JOIN_TOLERANCE", "place_of"]

# Radii at the joins of panels miss each other by rounding and the fit, relative to the panel.
JOIN_TOLERANCE = 1e-9
# Halvings of [-1, 1] down to neighbouring doubles around 1.
_HALVINGS = 54


def place_of(
    sides: tuple[Panels, Panels], split: float, tail: WaveTail | None, w: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The probabilities below and above radii w, and the density there.

    The smaller of the two probabilities has its own digits, the other is 1 less it.  The radii are
    flat and not negative; infinite ones lie above everything.
    """
    left, right = sides
    below, density = _on_side(left, w, ascending=True)
    above = 1.0 - below
    further = np.flatnonzero(below >= split)
    above[further], density[further] = _on_side(right, w[further], ascending=False)
    if tail is not None:
        far = np.flatnonzero((w >= tail.start) & np.isfinite(w))
        above[far], density[far] = np.minimum(tail.sf(w[far]), tail.mass), tail.pdf(w[far])
        above[np.isinf(w)] = 0.0
    below[further] = 1.0 - above[further]
    for side in sides:
        ends = side.end_radii
        atoms = ends[(ends[:, 0] == ends[:, 1]) & (side.kinds != PanelKind.TAIL_POWER), 0]
        density[np.isin(w, atoms)] = np.inf
    return below, above, density


def _on_side(panels: Panels, w: FloatArray, *, ascending: bool) -> tuple[FloatArray, FloatArray]:
    """Probability that the panels of one side hold up to (or from) the radii, and the density."""
    c, density = np.full(w.shape, panels.edges[0]), np.zeros(w.shape)
    if not panels.size:
        return c, density
    ends = panels.end_radii.copy()
    # The rounding of a panel may let it begin a little before its neighbour ends.
    if panels.kinds[0] == PanelKind.TAIL_POWER:
        ends[0, 0] = np.inf
    sign = 1.0 if ascending else -1.0
    starts = np.maximum.accumulate(sign * ends[:, 0])
    at = np.searchsorted(starts, sign * w, side="right" if ascending else "left") - 1
    some = np.flatnonzero(at >= 0)
    i, goal = at[some], sign * w[some]
    # A gap no wider than neighbours may miss each other by is none: the law has its density there.
    slack = np.where(ends[i, 0] == ends[i, 1], 0.0, JOIN_TOLERANCE * np.abs(ends[i, 1]))
    end = sign * ends[i, 1] + slack
    passed = goal >= end if ascending else goal > end
    c[some] = panels.edges[i + 1]
    inside = some[~passed]
    if inside.size:
        c[inside], density[inside] = _inside(panels, at[inside], w[inside], sign)
    return c, density


def _inside(
    panels: Panels, i: IntArray, w: FloatArray, sign: float
) -> tuple[FloatArray, FloatArray]:
    """Probability and density at radii that their panels i pass through."""
    rows, kinds, exponents = panels.coefficients[i], panels.kinds[i], panels.exponents[i]
    low, width = panels.edges[i], np.diff(panels.edges)[i]
    before, after = np.full(w.shape, -1.0), np.ones(w.shape)
    for _ in range(_HALVINGS):
        middle = 0.5 * (before + after)
        short = sign * _values(rows, middle) < sign * w
        before, after = np.where(short, middle, before), np.where(short, after, middle)
    after = np.where(sign * _values(rows, np.full(w.shape, -1.0)) >= sign * w, -1.0, after)
    place = 0.5 * (1.0 + after)
    first = np.flatnonzero(i == 0)
    near_origin = panels.places_near_origin(w[first])
    place[first] = np.where(np.isnan(near_origin), place[first], near_origin)
    share = local_share(kinds, exponents, place[:, None])[:, 0]
    slopes = rows[:, 1:] * np.arange(1.0, rows.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = local_slope(kinds, exponents, place[:, None])[:, 0]
        density = width * slope / np.abs(_values(slopes, 2.0 * place - 1.0))
    power = kinds == PanelKind.TAIL_POWER
    share[power] = (w[power] / rows[power, 0]) ** -exponents[power]
    density[power] = width[power] * exponents[power] * share[power] / w[power]
    return low + width * share, density


def _values(rows: FloatArray, t: FloatArray) -> FloatArray:
    """Each row of monomial coefficients at its own t."""
    out = np.zeros(t.shape)
    for column in rows.T[::-1]:
        out = out * t + column
    return out

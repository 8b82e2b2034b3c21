"""Probability and density at a radius, read off the inverse CDF that a law is stored as."""

from __future__ import annotations

import numpy as np

from spectra.base.arrays import FloatArray
from spectra.table.radial.panels import PanelKind, Panels
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["JOIN_TOLERANCE", "place_of"]

# Radii at the joins of panels miss each other by rounding and the fit, relative to the radius.
JOIN_TOLERANCE = 1e-9


def place_of(
    left: Panels, right: Panels, tail: WaveTail | None, w: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The probabilities below and above radii w >= 0, shape (n,), and the density there.

    The smaller of the two probabilities has its own digits, the other is 1 less it.
    """
    below = _probability(left, w, 1.0)
    above, density = 1.0 - below, _density(left, below, w)
    further = np.flatnonzero(below >= left.edges[-1])
    above[further] = _probability(right, w[further], -1.0)
    density[further] = _density(right, above[further], w[further])
    if tail is not None:
        far = np.flatnonzero((w >= tail.start) & np.isfinite(w))
        above[far], density[far] = np.minimum(tail.sf(w[far]), tail.mass), tail.pdf(w[far])
        above[np.isinf(w)] = 0.0
    below[further] = 1.0 - above[further]
    # A continuous law has no mass at 0, whatever the rounding of its first panel.
    below[w == 0.0], above[w == 0.0] = 0.0, 1.0
    for side in (left, right):
        masses, atoms = np.diff(side.edges)[side.are_atoms], side.end_radii[side.are_atoms, 0]
        density[np.isin(w, atoms)] = np.inf
        below[w == 0.0] += masses[atoms == 0.0].sum()
        above[w == 0.0] -= masses[atoms == 0.0].sum()
    return below, above, density


def _probability(panels: Panels, w: FloatArray, sign: float) -> FloatArray:
    """The least probability at which the radius is past w, by bisection over all doubles."""
    first, last = panels.edges[[0, -1]].view(np.int64)
    before, after = np.full(w.shape, first - 1), np.full(w.shape, last)
    while panels.size and np.any(after - before > 1):
        middle = (before + after + 1) // 2
        radii = panels.radii(middle.view(np.float64))
        short = radii <= w if sign > 0.0 else radii > w
        before, after = np.where(short, middle, before), np.where(short, after, middle)
    return after.view(np.float64)


def _density(panels: Panels, c: FloatArray, w: FloatArray) -> FloatArray:
    """Density at radii w, which have the probabilities c on one side; 0 in a gap."""
    if not panels.size:
        return np.zeros(w.shape)
    i, x, r = panels.locate(c)
    _, slope, density = (a[:, 0] for a in panels.at_place(i, r[:, None]))
    tail = np.flatnonzero(panels.kinds[i] == PanelKind.TAIL_POWER)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = density / np.abs(slope)
        mass = np.diff(panels.edges)[i[tail]]
        density[tail] = mass * panels.exponents[i[tail]] * x[tail] / w[tail]
        radii = panels.radii(c)
        gap = np.isin(c, panels.edges) & ~(np.abs(radii - w) <= JOIN_TOLERANCE * radii)
    return np.where(gap, 0.0, density)

"""Stretches of the radius on which a density keeps its sign, and their masses.

A stretch holds the resolved density, so that the mass below or above every radius, and the radius
of every mass, follow without another integral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from spectra.base.enclosures import EPS, ORDER, Enclosure, Integrand, LegendrePanels, resolve
from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart
from spectra.measure.sign_intervals import COARSE_STEP, NEGLIGIBLE, TRUST, Intervals

__all__ = ["ZERO", "Stretch", "closed", "overlap", "refined", "stretches_of"]

# Values below this are on their way to denormal numbers, which keep no digits.
_UNDERFLOW = 1e-260
# Beside the ends of a range, points are so many times nearer from one to the next, so many times.
_NEARER, _NEAREST = 4.0, 12
# Places nearer than this share of a step are one.
_SAME = 1e-9
# A panel begins with no more of the places at which signs are read.
_MOST_PLACES = 160


#: A mass beyond the last panel, where the density per unit of t falls like exp(-rate |t|), and that
#: rate.
Closure = tuple[Enclosure, float]
ZERO = Enclosure(0.0, 0.0)


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
    head, tail : Enclosure
        Mass below the first panel and above the last one.
    rates : tuple of float
        The density per unit of t falls like exp(-rate |t|) there.
    doubt : float
        What of its mass may have the other sign: the integral of what errors exceed values by.
    """

    sign: int
    chart: Chart
    panels: LegendrePanels
    integrand: Integrand
    head: Enclosure = ZERO
    tail: Enclosure = ZERO
    rates: tuple[float, float] = (np.inf, np.inf)
    doubt: float = 0.0

    @property
    def mass(self) -> Enclosure:
        """Mass of the stretch, its closures included."""
        parts = (self.panels.integral, self.head, self.tail)
        return Enclosure(sum(p.mid for p in parts), sum(p.rad for p in parts))


def stretches_of(runs: Sequence[Intervals]) -> tuple[Stretch, ...]:
    """Resolve |rho| on ranges of one sign.

    Raises
    ------
    AccuracyError
        Where a component is not as smooth as its tail and its origin exponent say.
    """
    return tuple(stretch for run in runs for stretch in _integrate(run, run))


def refined(stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """The same stretches on panels half as wide: an independent quadrature to check against."""
    found: list[Stretch] = []
    for integrand, together in groupby(stretches, key=lambda s: s.integrand):
        group = list(together)
        ranges = []
        for stretch in group:
            edges = stretch.panels.edges
            ranges.append(np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])])))
        finer = resolve(integrand, ranges)
        found += (replace(s, panels=p) for s, p in zip(group, finer, strict=True))
    return tuple(found)


def overlap(runs: Sequence[Intervals]) -> Enclosure:
    """Integral of min(positive summands, negative summands), to relative accuracy."""
    peak = -np.inf
    for run in runs:
        for start, stop in pairwise(run.bounds):
            sizes, *_ = run.density.logs(run.chart, np.linspace(start, stop, 257))
            peak = max(peak, float(sizes.min(axis=0).max()))
    if peak == -np.inf:
        return ZERO
    total = ZERO
    for run in runs:
        for stretch in _integrate(partial(run.smaller, log_scale=peak), run):
            total = total + stretch.mass
    scale = float(np.exp(peak))
    return Enclosure(total.mid * scale, total.rad * scale + float(np.finfo(float).tiny))


def _integrate(function: Integrand, run: Intervals) -> list[Stretch]:
    """Panels between the points where the integrand is negligible, and a closure at open ends.

    The integrand is asked about all ranges at a time; one of zero mass is left out.
    """
    ends = list(pairwise(run.bounds))
    grids = [_grid(run, a, b) for a, b in ends]
    seen = _sampled(function, grids)
    doubts = _doubts(seen, _sampled(function, [_near_the_ends(t) for t in grids]))
    last = [run.last and i == len(ends) - 1 for i in range(len(ends))]
    ranges = [_relevant(*s, closes=c) for s, c in zip(seen, last, strict=True)]
    edges = [_first_edges(*r, run.grid) for r in ranges if r is not None]
    resolved = iter(resolve(function, edges))
    found: list[Stretch] = []
    for i, (sample, part, doubt) in enumerate(zip(seen, ranges, doubts, strict=True)):
        t, sign = sample[0], int(run.signs[i])
        if part is None:
            lost = _size(sample, t == t)
            empty = LegendrePanels(t[[0, -1]], np.zeros((1, ORDER)), np.array([lost]))
            if lost:
                found.append(Stretch(sign, run.chart, empty, function, doubt=lost))
            continue
        low, high = part
        masses, rates = [_left_out(sample, out) for out in (t < low, t > high)], [np.inf, np.inf]
        if run.first and i == 0:
            masses[0], rates[0] = _close(function, low, +1.0, sample)
        if last[i]:
            masses[1], rates[1] = _close(function, high, -1.0, sample)
        closed_by = (masses[0], masses[1], (rates[0], rates[1]))
        found.append(Stretch(sign, run.chart, next(resolved), function, *closed_by, doubt))
    return found


#: Ascending t, and the values and errors there.
_Sample = tuple[FloatArray, FloatArray, FloatArray]


def _sampled(function: Integrand, grids: Sequence[FloatArray]) -> list[_Sample]:
    values, errors = function(np.concatenate(grids))
    ends = np.cumsum([t.size for t in grids])[:-1]
    return list(zip(grids, np.split(values, ends), np.split(errors, ends), strict=True))


def _near_the_ends(t: FloatArray) -> FloatArray:
    """Points between the ends of a grid and their neighbours, closer and closer to the ends."""
    shares = _NEARER ** -np.arange(1.0, _NEAREST + 1)
    after, before = t[0] + (t[1] - t[0]) * shares[::-1], t[-1] - (t[-1] - t[-2]) * shares
    return np.concatenate([after, before])


def _doubts(seen: Sequence[_Sample], near: Sequence[_Sample]) -> list[float]:
    """The integral of what errors exceed values by; next to a zero it ends within a grid step."""
    found = []
    for both in zip(seen, near, strict=True):
        t, value, error = (np.concatenate(pair) for pair in zip(*both, strict=True))
        order = np.argsort(t, kind="stable")
        found.append(float(np.trapezoid(np.maximum(error - value, 0.0)[order], t[order])))
    return found


def _size(sample: _Sample, some: NDArray[np.bool_]) -> float:
    """The integral of the size of what is at some places, with its error."""
    if not some.any():
        return 0.0
    t, value, error = sample
    return float(((np.abs(value) + error) * np.gradient(t))[some].sum())


def _left_out(sample: _Sample, beyond: NDArray[np.bool_]) -> Enclosure:
    """The mass of a range beyond its panels, towards a zero, where no sign can be trusted."""
    return Enclosure(0.0, _size(sample, beyond))


def _relevant(
    t: FloatArray, value: FloatArray, error: FloatArray, *, closes: bool
) -> tuple[float, float] | None:
    """The t between which a range of one sign is not negligible; None where all of it is.

    ``closes`` says that it runs to the end of a spectrum.
    """
    trusted = value > TRUST * error
    if not np.any(trusted & (value > _UNDERFLOW)):
        return None
    peak = float(value[trusted].max())
    relevant = np.flatnonzero(trusted & (value > peak * np.exp(-NEGLIGIBLE)))
    low = float(t[max(relevant[0] - 1, 0)])
    high = float(t[min(relevant[-1] + 1, t.size - 1)])
    if closes and relevant[-1] + 1 < t.size and not trusted[relevant[-1] + 1]:
        high = float(t[relevant[-1]])
    return low, high


def _grid(run: Intervals, low: float, high: float) -> FloatArray:
    """Places between two t, even ones and those that show what changes much."""
    even = np.linspace(low, high, 33 + int((high - low) / COARSE_STEP))
    inside = run.grid[(run.grid > low) & (run.grid < high)]
    near = np.searchsorted(even, inside)
    apart = np.minimum(inside - even[near - 1], even[near] - inside)
    return np.sort(np.concatenate([even, inside[apart > _SAME * (even[1] - even[0])]]))


def _first_edges(low: float, high: float, grid: FloatArray) -> FloatArray:
    """Panels with so few places of a grid that none of what changes much is passed over."""
    edges = np.linspace(low, high, 2 + int((high - low) / 4.0))
    while True:
        full = np.flatnonzero(np.diff(np.searchsorted(grid, edges)) > _MOST_PLACES)
        if not full.size:
            return edges
        edges = np.insert(edges, full + 1, 0.5 * (edges[full] + edges[full + 1]))


def _close(function: Integrand, at: float, inward: float, sample: _Sample) -> Closure:
    """Mass beyond the last panel: the exponential law seen over the last two steps of t."""
    grid = sample[0]
    # The interval may be narrow, and beyond its other end the density has the other sign.
    step = min(1.0, 0.5 * abs(at - float(grid[-1 if inward > 0 else 0])))
    f, e = function(at + inward * step * np.array([0.0, 0.5, 1.0]))
    if not (f[0] > TRUST * e[0] and f[1] > f[0] and f[2] > f[1]):
        noise = _size(sample, grid < at if inward > 0 else grid > at)
        return Enclosure(0.0, noise + abs(float(f[0])) + float(e[0])), np.inf
    return closed(f, e, step)


def closed(values: FloatArray, errors: FloatArray, step: float) -> Closure:
    """What lies beyond the last panel, by values at its end and half a step and a step before."""
    near, far = (2.0 / step * float(np.log(values[i + 1] / values[i])) for i in (0, 1))
    mass = float(values[0]) / near
    # The rate settles exponentially fast, so its change over one step bounds what it still moves.
    drift = abs(near - far) + 4.0 * float(errors[0] / values[0] + errors[1] / values[1])
    error = mass * min(drift / near + 4.0 * EPS, 1.0) + float(errors[0]) / near
    return Enclosure(mass, error), near

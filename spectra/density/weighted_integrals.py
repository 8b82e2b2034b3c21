"""Integrals of one function against many weights, on panels that serve all of them at once.

Function and weights are held by sign and logarithm, so that windows of a density in 256 dimensions
neither overflow nor vanish; each integral has a unit of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spectra.base.enclosures import ANALYSIS, NODES, WEIGHTS
from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart, charts_between

__all__ = [
    "Integrand",
    "Parts",
    "ScaledIntegrals",
    "Weight",
    "added",
    "below",
    "no_integrals",
    "panels",
    "weighted",
]

# Panels are bisected until the last Legendre coefficients are below this share of the integral.
_RESOLVED = 1e-14
_ROUNDS, _MOST_PANELS = 30, 4000
# Coefficients below the first share of the values on a panel that keep the second share of
# themselves on both of its halves are rounding, which no bisection removes.
_FAINT, _KEPT = 1e-6, 0.25
# No wave is so fast that it is unresolved after so many bisections everywhere on a panel.
_DEEP = 5
# Twenty nodes resolve so many radians of a wave, so many e-folds of a power, and a chi law of d
# degrees of freedom, whose logarithm has the deviation 1/sqrt(2 d), on so many deviations.
_RADIANS, _STEP, _DEVIATIONS = 9.0, 1.4, 8.0
# Beyond this exponentials overflow; what is so much larger than the unit is not resolved anyway.
_LARGEST_LOG = 700.0
_LEAST_NORMAL = float(np.finfo(float).tiny)


#: Logarithms of what a function is above and below zero, and of its error, per unit of a variable.
Parts = tuple[FloatArray, FloatArray, FloatArray]
#: What is integrated, at the variable t of a chart.
Integrand = Callable[[Chart, FloatArray], Parts]
#: Sign and logarithm of a weight at a radius.
Weight = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
#: Rows of numbers for each weight: the logarithm of a unit and, in it, an integral, a bound of its
#: error, and the integral of absolute values.
ScaledIntegrals = FloatArray


def no_integrals(count: int) -> ScaledIntegrals:
    """Integrals that are zero."""
    return np.array([np.full(count, -np.inf), *np.zeros((3, count))])


def added(*parts: ScaledIntegrals) -> ScaledIntegrals:
    """Sums of integrals against the same weights, in the largest of their units."""
    unit = np.max([part[0] for part in parts], axis=0)
    finite = np.where(np.isfinite(unit), unit, 0.0)
    return np.array([unit, *sum(part[1:] * np.exp(part[0] - finite) for part in parts)])


def weighted(
    integrand: Integrand, pieces: Sequence[tuple[Chart, FloatArray]], weights: Sequence[Weight]
) -> ScaledIntegrals:
    """Integrals of a function against each weight, over pieces made by :func:`panels`.

    All that bisection does not resolve is counted as an error of the integrals.

    Examples
    --------
    >>> ones = lambda chart, t: (chart.log_slope(t), -np.inf + 0 * t, -np.inf + 0 * t)
    >>> law = lambda w: (np.ones_like(w), -w)
    >>> ((log_unit, integral, *_),) = weighted(ones, panels(-40.0, 4.0, {}, [], 1), [law]).T
    >>> bool(abs(integral * np.exp(log_unit) - 1.0) < 1e-14)
    True
    """
    charts = [chart for chart, _ in pieces]
    left, right = (
        np.concatenate([edges[cut] for _, edges in pieces]) for cut in (slice(-1), slice(1, None))
    )
    which = np.repeat(np.arange(len(pieces)), [edges.size - 1 for _, edges in pieces])
    # The last coefficients of what each panel is half of.
    before = np.full((len(weights), left.size), np.inf)
    unit, sums = np.full(len(weights), np.nan), np.zeros((3, len(weights)))
    for level in range(_ROUNDS):
        half = 0.5 * (right - left)
        seen = _weighed(integrand, charts, which, left, half, weights)
        if level == 0:
            unit = seen[:2].max(axis=(0, 2, 3))
            unit = np.where(np.isfinite(unit), unit, 0.0)
        above, under, error = _exp(seen - unit[:, None, None])
        value = above - under
        coefficients = np.abs(value @ ANALYSIS.T[:, -3:]).max(axis=2)
        wrong = half * (error @ WEIGHTS)
        tail, size = half * coefficients, half * (np.abs(value) @ WEIGHTS)
        absolute = sums[2] + size.sum(axis=1)
        fine = tail <= np.maximum(_RESOLVED * absolute[:, None], wrong)
        fine |= _is_rounding(coefficients, value, before, level)
        good = np.all(fine, axis=0) | (level == _ROUNDS - 1 or left.size > _MOST_PANELS)
        # Of a wave that is not resolved the last coefficients tell nothing.
        rows = (half * (value @ WEIGHTS), np.where(fine, tail, size) + wrong, size)
        sums += np.array([row[:, good].sum(axis=1) for row in rows])
        if np.all(good):
            break
        middle = (left + half)[~good]
        left = np.concatenate([left[~good], middle])
        right = np.concatenate([middle, right[~good]])
        which, before = np.tile(which[~good], 2), np.tile(coefficients[:, ~good], 2)
    return np.array([unit, *sums])


def _weighed(
    integrand: Integrand,
    charts: Sequence[Chart],
    which: NDArray[np.intp],
    left: FloatArray,
    half: FloatArray,
    weights: Sequence[Weight],
) -> FloatArray:
    """Integrand times weights at the nodes of panels: (its three logarithms, weights, panels,
    nodes)."""
    t = (left + half)[:, None] + half[:, None] * NODES
    found = np.empty((3, len(weights), *t.shape))
    for i, chart in enumerate(charts):
        mine = which == i
        if np.any(mine):
            own, radius = integrand(chart, t[mine]), chart.radius(t[mine])
            for j, weight in enumerate(weights):
                found[:, j, mine] = _times(own, *weight(radius))
    return found


def _times(logs: Parts, sign: FloatArray, log: FloatArray) -> FloatArray:
    """What an integrand becomes by a weight."""
    above, under, error = logs
    parts = np.where(sign > 0.0, above, under), np.where(sign > 0.0, under, above), error
    return np.add(parts, log)


def _exp(log: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.minimum(log, _LARGEST_LOG)))


def _is_rounding(
    coefficients: FloatArray, value: FloatArray, before: FloatArray, level: int
) -> NDArray[np.bool_]:
    """Which panels are as smooth as rounding lets them be: both halves of a panel alike."""
    kept = coefficients > _KEPT * before
    if level < _DEEP:
        kept &= coefficients <= _FAINT * np.abs(value).max(axis=2)
    return kept & np.roll(kept, kept.shape[1] // 2, axis=1)


def below(
    integrand: Integrand, weights: Sequence[Weight], low: float, power: float
) -> ScaledIntegrals:
    """Integrals from 0 to exp(low), where the integrand goes like the radius to power - 1.

    How much the power that is seen differs from the one stated is their error.
    """
    t = np.array([low, low + 1.0])
    near, found = integrand(Chart(), t), no_integrals(len(weights))
    for i, weight in enumerate(weights):
        above, under, error = _times(near, *weight(np.exp(t)))
        rise = np.maximum(above, under)
        if np.all(np.isfinite(rise)):
            unit = max(rise[0], error[0])
            mass = (np.exp(above[0] - unit) - np.exp(under[0] - unit)) / power
            drift = min(2.0 * abs((rise[1] - rise[0]) / power - 1.0), 1.0) * abs(mass)
            found[:, i] = unit, mass, drift + np.exp(error[0] - unit) / power, abs(mass)
    return found


def panels(
    low: float,
    high: float,
    breaks: Mapping[float, float],
    waves: Sequence[tuple[float, float]],
    dim: int,
) -> list[tuple[Chart, FloatArray]]:
    """Charts from exp(low) to exp(high), and first panels in their variables.

    Parameters
    ----------
    low, high : float
        Logarithms of radii.
    breaks : mapping of radius to depth
        Radii at which a function is not smooth: charts end there, and go so many e-folds deep.
    waves : sequence of (frequency, radius)
        Waves of the integrand, each with the radius up to which it has it.
    dim : int
        Dimension; in high ones laws are narrow.
    """
    return [
        (chart, _edges(chart, start, stop, waves, dim))
        for chart, start, stop in charts_between(breaks, low, high)
    ]


def _edges(
    chart: Chart, start: float, stop: float, waves: Sequence[tuple[float, float]], dim: int
) -> FloatArray:
    step = min(_STEP, _DEVIATIONS / float(np.sqrt(2.0 * dim)))
    edges = [start]
    while edges[-1] < stop and len(edges) < _MOST_PANELS:
        at = np.array(edges[-1])
        radius, slope = float(chart.radius(at)), float(np.exp(chart.log_slope(at)))
        fastest = max((f for f, limit in waves if radius < limit), default=0.0)
        edges.append(edges[-1] + min(step, _RADIANS / max(fastest * slope, _LEAST_NORMAL)))
    edges[-1] = stop
    return np.array(edges)

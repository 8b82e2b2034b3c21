"""Integrals of one function against many weights, on panels that serve all of them at once.

Function and weights are held by sign and logarithm, so that windows of a density in 256 dimensions
neither overflow nor vanish; each integral has a unit of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.charts import Chart, charts_between
from spectra.numeric import FloatArray
from spectra.quadrature import ANALYSIS, NODES, WEIGHTS

__all__ = ["Integrand", "ScaledIntegral", "Values", "Weight", "below", "panels", "weighted"]

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


class ScaledIntegral(NamedTuple):
    """exp(log_unit) times: an integral, a bound of its error, the integral of absolute values."""

    log_unit: float
    mid: float
    rad: float
    size: float

    def plus(self, other: ScaledIntegral) -> ScaledIntegral:
        """The sum, in the larger unit."""
        unit = max(self.log_unit, other.log_unit)
        if unit == -np.inf:
            return self
        mine, theirs = (float(np.exp(x.log_unit - unit)) for x in (self, other))
        pairs = zip(self[1:], other[1:], strict=True)
        return ScaledIntegral(unit, *(mine * a + theirs * b for a, b in pairs))


class Values(NamedTuple):
    """Values per unit of t, as shares of exp(top), and the logarithm of their errors."""

    top: FloatArray
    share: FloatArray
    log_error: FloatArray


#: What is integrated, at the variable t of a chart.
Integrand = Callable[[Chart, FloatArray], Values]
#: Sign and logarithm of a weight at a radius.
Weight = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def weighted(
    integrand: Integrand, pieces: Sequence[tuple[Chart, FloatArray]], weights: Sequence[Weight]
) -> list[ScaledIntegral]:
    """Integrals of a function against each weight, over pieces made by :func:`panels`.

    What bisection does not resolve is counted as an error of the integrals.

    Examples
    --------
    >>> ones = lambda chart, t: Values(chart.log_slope(t), 1.0 + 0 * t, np.full_like(t, -np.inf))
    >>> law = lambda w: (np.ones_like(w), -w)
    >>> (found,) = weighted(ones, panels(-40.0, 4.0, {}, [], 1), [law])
    >>> bool(abs(found.mid * np.exp(found.log_unit) - 1.0) < 1e-14)
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
            unit = seen.top.max(axis=(1, 2))
            unit = np.where(np.isfinite(unit), unit, 0.0)
        value = seen.share * _exp(seen.top - unit[:, None, None])
        coefficients = np.abs(value @ ANALYSIS.T[:, -3:]).max(axis=2)
        wrong = half * (_exp(seen.log_error - unit[:, None, None]) @ WEIGHTS)
        tail, size = half * coefficients, half * (np.abs(value) @ WEIGHTS)
        absolute = sums[2] + size.sum(axis=1)
        fine = tail <= np.maximum(_RESOLVED * absolute[:, None], wrong)
        fine |= _is_rounding(coefficients, value, before, level)
        good = np.all(fine, axis=0) | (level == _ROUNDS - 1 or left.size > _MOST_PANELS)
        rows = (half * (value @ WEIGHTS), tail + wrong, size)
        sums += np.array([row[:, good].sum(axis=1) for row in rows])
        if np.all(good):
            break
        middle = (left + half)[~good]
        left = np.concatenate([left[~good], middle])
        right = np.concatenate([middle, right[~good]])
        which, before = np.tile(which[~good], 2), np.tile(coefficients[:, ~good], 2)
    return [ScaledIntegral(*map(float, row)) for row in zip(unit, *sums, strict=True)]


def _weighed(
    integrand: Integrand,
    charts: Sequence[Chart],
    which: NDArray[np.intp],
    left: FloatArray,
    half: FloatArray,
    weights: Sequence[Weight],
) -> Values:
    """Integrand times weights at the nodes of panels: (weights, panels, nodes)."""
    t = (left + half)[:, None] + half[:, None] * NODES
    found = [np.empty((len(weights), *t.shape)) for _ in range(3)]
    for i, chart in enumerate(charts):
        mine = which == i
        if np.any(mine):
            own, radius = integrand(chart, t[mine]), chart.radius(t[mine])
            for j, weight in enumerate(weights):
                sign, log = weight(radius)
                row = (own.top + log, sign * own.share, own.log_error + log)
                for into, part in zip(found, row, strict=True):
                    into[j, mine] = part
    return Values(*found)


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
) -> list[ScaledIntegral]:
    """Integrals from 0 to exp(low), where the integrand goes like the radius to power - 1.

    How much the power that is seen differs from the one stated is their error.
    """
    t = np.array([low, low + 1.0])
    near = integrand(Chart(), t)
    found = []
    for weight in weights:
        sign, log = weight(np.exp(t))
        rise = near.top + log
        if not np.all(np.isfinite(rise)):
            found.append(ScaledIntegral(-np.inf, 0.0, 0.0, 0.0))
            continue
        mass = float(sign[0] * near.share[0]) / power
        drift = min(2.0 * abs(float(rise[1] - rise[0]) / power - 1.0), 1.0) * abs(mass)
        error = float(np.exp(near.log_error[0] - near.top[0])) / power
        found.append(ScaledIntegral(float(rise[0]), mass, drift + error, abs(mass)))
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
    waves = _fastest(waves)
    edges = [start]
    while edges[-1] < stop and len(edges) < _MOST_PANELS:
        at = np.array(edges[-1])
        radius, slope = float(chart.radius(at)), float(np.exp(chart.log_slope(at)))
        fastest = max((f for f, limit in waves if radius < limit), default=0.0)
        edges.append(edges[-1] + min(step, _RADIANS / max(fastest * slope, _LEAST_NORMAL)))
    edges[-1] = stop
    return np.array(edges)


def _fastest(waves: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The waves than which none is as fast and reaches as far."""
    found: list[tuple[float, float]] = []
    for frequency, radius in sorted(waves, reverse=True):
        if not found or radius > found[-1][1]:
            found.append((frequency, radius))
    return found

r"""Masses of the Jordan parts of oscillating densities, by a smooth window and means over phases.

With a window chi that falls smoothly from 1 at W/2 to 0 at W, approximately

.. math:: \int \rho_\pm = \int \rho_\pm \chi + \int \frac{G \pm B}{2}\,(1 - \chi),

where B is the part of the density rho that does not oscillate, and G the mean of \|rho\| over the
phases of its waves, uniform and independent unless frequencies have a ratio of small integers.  The
error decreases faster than every power of the number of oscillations between W/2 and W.  The first
integral is a sum over panels of constant sign; the second integrand is smooth.  For one wave of
amplitude A > \|B\|, :math:`G = (2/\pi)(\sqrt{A^2 - B^2} + B \arcsin(B/A))`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import erfc

from spectra.base.accuracy import DENSITY, EPS
from spectra.base.arrays import ComplexArray, FloatArray, IntArray, panel_rule
from spectra.base.enclosures import Enclosure
from spectra.base.series import NODES, WEIGHTS
from spectra.density.components import Component
from spectra.measure.panels import SignedDensity
from spectra.measure.wave_split import tail_start, tail_waves, wave_error
from spectra.table.wave_sum import WaveSum

__all__ = ["oscillating_masses", "radius_for_masses"]

# W in half-periods: at least this many of the common frequency of each group and, if there are
# several groups, this many of the highest frequency; at most this many of the highest frequency.
_COMMON_HALVES, _HIGHEST_HALVES, _MOST_HALVES = 200, 1000, 6000
# Frequencies are in one group if their ratio is a fraction with at most this denominator, up to
# this relative error.
_DENOMINATOR, _SAME_RATIO = 30, DENSITY
# The window is erfc(12 (x - 1/2))/2 with x = log2(2 w/W): to rounding 1 for x < 0 and 0 for x > 1.
_STEEPNESS = 12.0
# Largest width, in the variable t of a panel, on which the window is a polynomial to rounding.
_WIDEST = 0.1
# Ends of the intervals beyond W, as (p - 1) log(w/W) if rho decays like w^-p; nodes of each.
_ENDS, _NODES_BEYOND = np.linspace(2.5, 37.5, 15), 16
# Phases per oscillation: for the mean over a group that one more follows, or several; for zeros.
_PHASES, _ZERO_PHASES = (256, 48), 24


def _group_multiples(frequencies: FloatArray) -> list[list[tuple[float, int]]]:
    """Group frequencies that are multiples of a common frequency: pairs (frequency, multiple)."""
    ratios: list[dict[float, Fraction]] = []
    for b in frequencies.tolist():
        for group in ratios:
            first = next(iter(group))
            ratio = Fraction(b / first).limit_denominator(_DENOMINATOR)
            if abs(float(ratio) * first - b) < _SAME_RATIO * b and ratio:
                group[b] = ratio
                break
        else:
            ratios.append({b: Fraction(1)})
    groups = []
    for group in ratios:
        # The first ratio is 1, so that the multiples have no common divisor.
        common = math.lcm(*(ratio.denominator for ratio in group.values()))
        groups.append([(b, int(ratio * common)) for b, ratio in group.items()])
    # A group of one frequency is last: mean_size() has a formula for the last mean.
    return sorted(groups, key=lambda group: -len(group))


def radius_for_masses(components: Sequence[Component]) -> float:
    """The end W of the window, up to which :func:`oscillating_masses` needs panels."""
    frequencies = np.unique([c.tail.frequency for c in components if c.tail is not None])
    groups = _group_multiples(frequencies)
    lowest = float(min(b / m for group in groups for b, m in group[:1]))
    highest = float(frequencies[-1])
    radius = max(_COMMON_HALVES / lowest, (_HIGHEST_HALVES if len(groups) > 1 else 0) / highest)
    radius = min(radius, _MOST_HALVES / highest)
    return max(4.1 * tail_start(components), math.pi * radius)  # waves are needed from W/4 on


def oscillating_masses(
    components: Sequence[Component], near: SignedDensity, radius: float
) -> dict[int, Enclosure]:
    """Masses of the positive part (key 1) and the negative part (key -1) of a density.

    ``near`` is the density up to ``radius``, the value of :func:`radius_for_masses`.
    """
    rho = tail_waves(components, 0.25 * radius)
    w = np.array([2.0 * rho.start])
    # Relative error of the waves: of the fit, and of the components themselves.
    of_components = max(float(c.relative_error(w)[0]) for c in components if np.isfinite(c.decay))
    relative = wave_error(components, rho) + 2.0 * of_components
    # The difference between two windows estimates the error of the method.
    result, other = (_integrate_window(near, rho, w, relative) for w in (radius, 0.5 * radius))
    of_panels = float(near.error.sum())
    return {
        s: Enclosure(result[s].mid, result[s].rad + of_panels + abs(result[s].mid - other[s].mid))
        for s in (1, -1)
    }


def _integrate_window(
    signed: SignedDensity, rho: WaveSum, radius: float, relative_error: float
) -> dict[int, Enclosure]:
    """The masses with the window that ends at ``radius``; ``relative_error`` is that of ``rho``."""
    panels, masses = signed.pieces, signed.pieces.masses.copy()
    # Each panel where the window is not 1 is cut into pieces on which it is a polynomial.
    cut = np.flatnonzero(panels.are_series & (panels.high > 0.5 * radius))
    pieces = np.arange(int(np.ceil(2.0 * panels.half_widths[cut].max(initial=0.0) / _WIDEST)) or 1)
    x = (((2.0 * pieces + 1.0)[:, None] + NODES) / pieces.size - 1.0).ravel()
    weights = np.tile(WEIGHTS, pieces.size) / pieces.size
    w, _, values = panels.series_at(cut, np.broadcast_to(x, (cut.size, x.size)))
    masses[cut] = (values * _window(np.log2(2.0 * w / radius))) @ weights
    near = {s: float(masses[signed.sign == s].sum()) for s in (1, -1)}

    groups = _group_multiples(rho.frequencies)

    def size(w: FloatArray) -> FloatArray:
        """G at radii w."""
        amplitudes = dict(rho.amplitudes(rho.start / w))
        background = amplitudes.pop(0.0, np.zeros(w.size, complex)).real
        return mean_size(background, [[(amplitudes[b], m) for b, m in group] for group in groups])

    # Integrate from W/2 on in log_ratio = log(w/W).
    edges = np.append(np.linspace(-math.log(2.0), 0.0, 5), _ENDS / (rho.least_power - 1.0))
    log_ratio, weights = (each.ravel() for each in panel_rule(edges[:-1], edges[1:], _NODES_BEYOND))
    w = radius * np.exp(log_ratio)
    weights *= w * _window(-log_ratio / math.log(2.0))
    sizes, means = size(w), rho.background(w)
    error = (8.0 * EPS + relative_error) * float(weights @ np.abs([sizes, means]).sum(axis=0))
    return {
        sign: Enclosure(near[sign] + 0.5 * float(weights @ (sizes + sign * means)), 0.5 * error)
        for sign in (1, -1)
    }


def _window(x: FloatArray) -> FloatArray:
    """chi at x = log2(2 w/W): 1 for x < 0 and 0 for x > 1, to rounding."""
    return np.asarray(0.5 * erfc(_STEEPNESS * (x - 0.5)))


def mean_size(x: FloatArray, groups: Sequence[Sequence[tuple[ComplexArray, int]]]) -> FloatArray:
    r"""Mean of \|x + sum over groups of Re sum_j z_j exp(i m_j theta)\|, for pairs (z_j, m_j).

    Each group has its own uniform phase theta, independent of the others.
    """
    if not groups:
        return np.abs(x)
    group, rest = groups[0], groups[1:]
    if not rest and len(group) == 1:
        return _mean_of_one_wave(x, np.abs(group[0][0]))
    if not rest:
        return _mean_of_one_group(x, group)
    count = _PHASES[len(rest) > 1] * max(m for _, m in group)
    total = np.zeros(x.size)
    for theta in (np.arange(count) + 0.5) * (2.0 * np.pi / count):
        waves = sum((z * np.exp(1j * m * theta)).real for z, m in group)
        total += mean_size(x + waves, rest)
    return total / count


def _mean_of_one_wave(x: FloatArray, a: FloatArray) -> FloatArray:
    """Mean of \\|x + a cos(theta)\\|."""
    x = np.abs(x)
    ratio = np.minimum(x / np.maximum(a, 1e-300), 1.0)
    root = np.sqrt((1.0 - ratio) * (1.0 + ratio))
    oscillating = 2.0 / np.pi * (a * root + x * np.arcsin(ratio))
    return np.where(x < a, oscillating, x)


def _mean_of_one_group(x: FloatArray, group: Sequence[tuple[ComplexArray, int]]) -> FloatArray:
    """Mean of \\|x + Re sum_j z_j exp(i m_j theta)\\|, by antiderivatives between its zeros."""

    def value(theta: FloatArray, rows: IntArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta)).real for z, m in group)
        return np.asarray(x[rows] + waves)

    def antiderivative(theta: FloatArray, rows: IntArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta) / (1j * m)).real for z, m in group)
        return np.asarray(x[rows] * theta + waves)

    count, each = _ZERO_PHASES * max(m for _, m in group), np.arange(x.size)
    theta = np.linspace(0.0, 2.0 * np.pi, count + 1)
    grid = value(theta, each[:, None])
    row, column = np.nonzero(grid[:, 1:] * grid[:, :-1] < 0.0)
    zeros = find_root(value, (theta[column], theta[column + 1]), args=(row,)).x
    total: FloatArray = np.sign(grid[:, -1]) * antiderivative(np.full(x.size, 2.0 * np.pi), each)
    total = total - np.sign(grid[:, 0]) * antiderivative(np.zeros(x.size), each)
    np.add.at(total, row, 2.0 * np.sign(grid[row, column]) * antiderivative(zeros, row))
    return total / (2.0 * np.pi)

r"""Masses of the Jordan parts of oscillating densities, by a window and means over phases.

With a window chi that falls smoothly from 1 at W/2 to 0 at W,

.. math:: \int \rho_\pm = \int \rho_\pm \chi + \int \frac{G \pm B}{2}\,(1 - \chi),

where B is the part of the density that does not oscillate and G the mean of \|rho\| over the phases
of its waves.  The error decreases faster than every power of the number of waves in the window.
The first integral is a sum over ranges of constant sign, the second integrand is smooth.  For one
wave of amplitude A, :math:`G = (2/\pi)(\sqrt{A^2 - B^2} + B \arcsin(B/A))`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.polynomial import legendre
from scipy.optimize.elementwise import find_root
from scipy.special import erfc

from spectra.base.arrays import ComplexArray, IntArray, panel_rule
from spectra.base.enclosures import EPS, NODES, WEIGHTS, Enclosure
from spectra.base.numbers import FloatArray
from spectra.density.components import Component
from spectra.measure.oscillating.wave_split import settled_radius, wave_error, waves_of
from spectra.measure.panels import SignedPanels, radii_at
from spectra.table.tails.wave_sum import WaveSum

__all__ = ["masses_by_window", "window_radius"]

# Half waves up to the end of the window: of the common frequency; of the highest frequency, if
# there is no common one; the largest number of the highest frequency.
_TURNS, _FREE_TURNS, _MOST_TURNS = 200, 1000, 6000
# Frequencies have one phase if their ratio is a fraction with at most this denominator.
_DENOMINATOR, _SAME_RATIO = 30, 1e-12
# The window is erfc(12 x)/2 across a factor of 2: constant to rounding at both ends.
_STEEPNESS = 12.0
# Largest width in t on which the window is a polynomial to rounding.
_WIDEST = 0.1
# Ends of ranges beyond W, as numbers of e-folds of what is left, and Gauss nodes for each range.
_BEYOND, _BEYOND_NODES = np.linspace(2.5, 37.5, 15), 16
# Points of one turn for means over one other phase and over several, and for sign changes.
_PHASES, _SIGNS = (256, 48), 24


def _group_by_phase(frequencies: FloatArray) -> list[list[tuple[float, int]]]:
    """Frequencies in groups of one phase, each with its multiple of a common frequency."""
    found: list[dict[float, Fraction]] = []
    for b in frequencies.tolist():
        for group in found:
            first = next(iter(group))
            ratio = Fraction(b / first).limit_denominator(_DENOMINATOR)
            if abs(float(ratio) * first - b) < _SAME_RATIO * b and ratio:
                group[b] = ratio
                break
        else:
            found.append({b: Fraction(1)})
    out = []
    for group in found:
        # The first ratio is 1, so that the multiples have no common divisor.
        common = math.lcm(*(ratio.denominator for ratio in group.values()))
        out.append([(b, int(ratio * common)) for b, ratio in group.items()])
    # The mean over the phase of a single wave has a formula: it is taken last.
    return sorted(out, key=lambda group: -len(group))


def window_radius(components: Sequence[Component]) -> float:
    """W, up to which the sign changes of the density are needed."""
    frequencies = np.unique([c.tail.frequency for c in components if c.tail is not None])
    groups = _group_by_phase(frequencies)
    lowest = float(min(b / m for group in groups for b, m in group[:1]))
    fastest = float(frequencies[-1])
    turns = max(_TURNS / lowest, (_FREE_TURNS if len(groups) > 1 else 0) / fastest)
    turns = min(turns, _MOST_TURNS / fastest)
    return max(4.1 * settled_radius(components), math.pi * turns)


def masses_by_window(
    components: Sequence[Component], panels: SignedPanels, radius: float
) -> dict[int, Enclosure]:
    """Masses of the positive and the negative part, by sign, of a density that oscillates.

    ``panels`` hold the density up to ``radius``, which is from :func:`window_radius`.
    """
    rho = waves_of(components, 0.25 * radius)
    at = np.array([2.0 * rho.start])
    # Relative error of the waves: as sums, and as the components state it.
    stated = max(float(c.relative_error(at)[0]) for c in components if np.isfinite(c.decay))
    seen = wave_error(components, rho) + 2.0 * stated
    wide, narrow = (_masses_with(panels, rho, w, seen) for w in (radius, 0.5 * radius))
    listed = float(panels["errors"].sum())
    return {
        s: Enclosure(wide[s].mid, wide[s].rad + listed + abs(wide[s].mid - narrow[s].mid))
        for s in (1, -1)
    }


def _masses_with(
    panels: SignedPanels, rho: WaveSum, radius: float, seen: float
) -> dict[int, Enclosure]:
    width = panels["stop"] - panels["start"]
    # Wide panels are evaluated in pieces.
    pieces = np.arange(int(np.ceil(width.max() / _WIDEST)) or 1)
    x = (((2.0 * pieces + 1.0)[:, None] + NODES) / pieces.size - 1.0).ravel()
    weights = np.tile(WEIGHTS, pieces.size) / pieces.size
    values = legendre.legval(x, panels["series"].T)
    t = panels["start"][:, None] + 0.5 * width[:, None] * (1.0 + x)
    w = radii_at(panels[:, None], t)
    masses = 0.5 * width * ((values * _window(np.log2(2.0 * w / radius))) @ weights)
    # The mass of an end at radius 0.
    masses += np.where(panels["power"] != 0.0, panels["series"][:, 0], 0.0)
    near = {s: float(masses[panels["sign"] == s].sum()) for s in (1, -1)}

    groups = _group_by_phase(rho.frequencies)

    def size(w: FloatArray) -> FloatArray:
        parts = dict(rho.amplitudes(rho.start / w))
        background = parts.pop(0.0, np.zeros(w.size, complex)).real
        return mean_size(background, [[(parts[b], m) for b, m in group] for group in groups])

    # Beyond W/2, integrate in t = log(w/W) up to where nothing is left, without a unit of length.
    edges = np.append(np.linspace(-math.log(2.0), 0.0, 5), _BEYOND / (rho.lead - 1.0))
    t, weights = (each.ravel() for each in panel_rule(edges[:-1], edges[1:], _BEYOND_NODES))
    w = radius * np.exp(t)
    weights *= w * _window(-t / math.log(2.0))
    sizes, means = size(w), rho.mean(w)
    error = (8.0 * EPS + seen) * float(weights @ np.abs([sizes, means]).sum(axis=0))
    return {
        sign: Enclosure(near[sign] + 0.5 * float(weights @ (sizes + sign * means)), 0.5 * error)
        for sign in (1, -1)
    }


def _window(x: FloatArray) -> FloatArray:
    """chi at x = log2(2 w/radius): 1 for x < 0 and 0 for x > 1, to rounding."""
    return np.asarray(0.5 * erfc(_STEEPNESS * (x - 0.5)))


def mean_size(x: FloatArray, groups: Sequence[Sequence[tuple[ComplexArray, int]]]) -> FloatArray:
    r"""Mean over independent phases of \|x + sum over groups of Re sum_j z_j exp(i m_j theta)\|."""
    if not groups:
        return np.abs(x)
    group, rest = groups[0], groups[1:]
    if not rest and len(group) == 1:
        return _mean_of_one(np.abs(group[0][0]), x)
    if not rest:
        return _mean_of_group(x, group)
    count = _PHASES[len(rest) > 1] * max(m for _, m in group)
    total = np.zeros(x.size)
    for theta in (np.arange(count) + 0.5) * (2.0 * np.pi / count):
        moved = sum((z * np.exp(1j * m * theta)).real for z, m in group)
        total += mean_size(x + moved, rest)
    return total / count


def _mean_of_one(a: FloatArray, x: FloatArray) -> FloatArray:
    """Mean of \\|x + a cos(theta)\\|."""
    x = np.abs(x)
    ratio = np.minimum(x / np.maximum(a, 1e-300), 1.0)
    root = np.sqrt((1.0 - ratio) * (1.0 + ratio))
    inside = 2.0 / np.pi * (a * root + x * np.arcsin(ratio))
    return np.where(x < a, inside, x)


def _mean_of_group(x: FloatArray, group: Sequence[tuple[ComplexArray, int]]) -> FloatArray:
    """The same for waves of one phase: antiderivatives between the zeros."""

    def value(theta: FloatArray, rows: IntArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta)).real for z, m in group)
        return np.asarray(x[rows] + waves)

    def antiderivative(theta: FloatArray, rows: IntArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta) / (1j * m)).real for z, m in group)
        return np.asarray(x[rows] * theta + waves)

    count, each = _SIGNS * max(m for _, m in group), np.arange(x.size)
    theta = np.linspace(0.0, 2.0 * np.pi, count + 1)
    grid = value(theta, each[:, None])
    row, column = np.nonzero(grid[:, 1:] * grid[:, :-1] < 0.0)
    zeros = find_root(value, (theta[column], theta[column + 1]), args=(row,)).x
    total: FloatArray = np.sign(grid[:, -1]) * antiderivative(np.full(x.size, 2.0 * np.pi), each)
    total = total - np.sign(grid[:, 0]) * antiderivative(np.zeros(x.size), each)
    np.add.at(total, row, 2.0 * np.sign(grid[row, column]) * antiderivative(zeros, row))
    return total / (2.0 * np.pi)

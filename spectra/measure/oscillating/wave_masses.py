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
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.polynomial import legendre
from scipy.special import erfc

from spectra.base.arrays import ComplexArray, IntArray
from spectra.base.enclosures import EPS, NODES, WEIGHTS, Enclosure, close_tail, integral_of, resolve
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
# Integrals end with a power law once they have decreased by this number of e-folds.
_E_FOLDS = 37.0
_TOLERANCE, _FREE_TOLERANCE = 1e-14, 1e-9
# Points of one turn for means over one other phase and over several; points at which a sign change
# is sought, and bisections around it.
_PHASES, _SIGNS, _HALVINGS = (256, 48), 24, 30


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

    tolerance = _FREE_TOLERANCE if len(groups) > 1 else _TOLERANCE
    sizes = _integrate_beyond(size, radius, tolerance, seen)
    means = _integrate_beyond(rho.mean, radius, _TOLERANCE, seen)
    error = 0.5 * (sizes.rad + means.rad)
    return {
        sign: Enclosure(near[sign] + 0.5 * (sizes.mid + sign * means.mid), error)
        for sign in (1, -1)
    }


def _integrate_beyond(
    function: Callable[[FloatArray], FloatArray], radius: float, tolerance: float, seen: float
) -> Enclosure:
    """Integral of 1 - chi times a function with a power tail and the relative error ``seen``."""

    def weighted(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # t is log(2 w/radius), so that the unit of length does not matter.
        w = 0.5 * radius * np.exp(t.ravel())
        value = function(w) * w
        beyond = value * _window(1.0 - t.ravel() / math.log(2.0))
        error = (8.0 * EPS + seen) * np.abs(value)
        return beyond.reshape(t.shape), error.reshape(t.shape), np.zeros(len(t))

    probe = weighted(np.array([3.0, 4.0]))[0]
    if not np.all(probe != 0.0):
        return Enclosure(0.0, 0.0)
    rate = max(float(np.log(probe[0] / probe[1])), 0.05)
    middle = math.log(2.0)
    last = middle + min(_E_FOLDS / rate, 300.0)
    edges = np.union1d(np.linspace(0.0, middle, 5), np.linspace(middle, last, 9))
    found = integral_of(resolve(weighted, edges, tolerance=tolerance))
    end, error, _ = weighted(last - np.array([0.0, 0.5, 1.0]))
    sign = math.copysign(1.0, float(end[0]))
    tail, _ = close_tail(sign * end, error, 1.0)
    return Enclosure(found.mid + sign * tail.mid, found.rad + tail.rad)


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

    def value(rows: IntArray, theta: FloatArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta)).real for z, m in group)
        return np.asarray(x[rows] + waves)

    def antiderivative(rows: IntArray, theta: FloatArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta) / (1j * m)).real for z, m in group)
        return np.asarray(x[rows] * theta + waves)

    count, each = _SIGNS * max(m for _, m in group), np.arange(x.size)
    theta = np.linspace(0.0, 2.0 * np.pi, count + 1)
    grid = value(each[:, None], theta)
    row, column = np.nonzero(grid[:, 1:] * grid[:, :-1] < 0.0)
    low, high = theta[column], theta[column + 1]
    sign = np.sign(grid[row, column])
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        same = value(row, middle) * sign > 0.0
        low[same], high[~same] = middle[same], middle[~same]
    total: FloatArray = np.sign(grid[:, -1]) * antiderivative(each, np.full(x.size, 2.0 * np.pi))
    total = total - np.sign(grid[:, 0]) * antiderivative(each, np.zeros(x.size))
    np.add.at(total, row, 2.0 * sign * antiderivative(row, low))
    return total / (2.0 * np.pi)

r"""Oscillating densities: tails as sums of waves, masses, and nonnegative parts.

Beyond a radius W a density is :math:`\rho = \Re\sum_j w^{-a_j} E_j(1/w) e^{i b_j w}`, with smooth
functions :math:`E_j`.  With a power g of the radius, of the size of rho,

.. math:: p_\pm = \frac{(\rho \pm g)^2}{4 g} \ge 0, \qquad p_+ - p_- = \rho .

Both parts are sums of waves, and the zeros of rho are not needed.  Their mass is about a tenth
larger than that of the Jordan parts beyond W, whose masses are means over phases.

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
from numpy.polynomial import Chebyshev, Polynomial, chebyshev
from scipy.optimize.elementwise import find_root
from scipy.special import erfc

from spectra.base.accuracy import DENSITY, EPS, SAME
from spectra.base.arrays import ComplexArray, FloatArray, IntArray, panel_rule
from spectra.base.enclosures import Enclosure
from spectra.base.series import NODES, WEIGHTS
from spectra.density.components import Component, SignedLog
from spectra.errors import AccuracyError
from spectra.measure.panels import SignedDensity
from spectra.table.wave_tail import LEAST_PHASE, Wave, WaveSum

__all__ = ["constant_sign", "oscillating_masses", "radius_for_masses", "split_tail",
           "tail_start", "tail_waves", "wave_error"]  # fmt: skip

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
# Terms of a Chebyshev series in a root of W/w, and how many of the last ones estimate its relative
# error.  Below the error _ENOUGH no other root is tried; above _LARGEST_ERROR the fit fails.
_TERMS, _LAST, _ENOUGH, _LARGEST_ERROR = 28, 6, 18.0 * EPS, 4e3 * DENSITY
# Roots of W/w, tried in this order.
_ROOTS = (1, 2, 3, 4, 5, 6)
# Splitting by squares adds 12 % to the mass beyond W.  W grows until the mass beyond it is 1/170 of
# the total (0.07 % added), but at most to _ENOUGH_PHASE/frequency for the highest frequency.  An
# error is raised if more than _MOST_PHASE/frequency is needed.
_MASS_RATIO, _ENOUGH_PHASE, _MOST_PHASE = 170.0, 1000.0 * np.pi, 4000.0 * np.pi
# Points at which waves are compared with the density, up to this multiple of W.
_SAMPLES, _FAR = 200, 8.0
# Tails start at this multiple of the radius from which their expansions hold.
_MARGIN = 1.25


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
    return 0.5 * erfc(_STEEPNESS * (x - 0.5))


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
        return x[rows] + waves

    def antiderivative(theta: FloatArray, rows: IntArray) -> FloatArray:
        waves = sum((z[rows] * np.exp(1j * m * theta) / (1j * m)).real for z, m in group)
        return x[rows] * theta + waves

    count, each = _ZERO_PHASES * max(m for _, m in group), np.arange(x.size)
    theta = np.linspace(0.0, 2.0 * np.pi, count + 1)
    grid = value(theta, each[:, None])
    row, column = np.nonzero(grid[:, 1:] * grid[:, :-1] < 0.0)
    zeros = find_root(value, (theta[column], theta[column + 1]), args=(row,)).x
    total: FloatArray = np.sign(grid[:, -1]) * antiderivative(np.full(x.size, 2.0 * np.pi), each)
    total = total - np.sign(grid[:, 0]) * antiderivative(np.zeros(x.size), each)
    np.add.at(total, row, 2.0 * np.sign(grid[row, column]) * antiderivative(zeros, row))
    return total / (2.0 * np.pi)


def tail_start(components: Sequence[Component]) -> float:
    """A radius beyond which every component is a wave, a power of the radius, or negligible."""
    radius = 0.0
    for c in components:
        last = c.end if np.isfinite(c.end) else 4.0 * c.bulk[1]
        radius = max(radius, last if c.tail is None else _MARGIN * c.tail.start)
    return radius


def tail_waves(components: Sequence[Component], start: float) -> WaveSum:
    """The density on [start, oo) as a sum of waves; raises an AccuracyError if the fit fails."""
    found: list[Wave] = []
    for c in components:
        if c.tail is not None:
            found += _fit_waves(c.tail.amplitude, start, c.tail.frequency, c.tail.exponent)
            if np.isfinite(c.tail.background_exponent):
                found += _fit_waves(c.tail.background, start, 0.0, c.tail.background_exponent)
        elif np.isfinite(c.decay) and not np.isfinite(c.end):
            found += _fit_waves(c.signed_log, start, 0.0, c.decay)
    return WaveSum.of(start, found)


def wave_error(components: Sequence[Component], rho: WaveSum) -> float:
    """Largest error of the waves ``rho`` at sample radii, relative to the components' sizes."""
    w = rho.start * np.geomspace(1.0, _FAR, _SAMPLES)
    value, size = np.zeros(w.size), np.zeros(w.size)
    for c in components:
        sign, log = c.signed_log(w)
        value += sign * np.exp(log)
        size += np.exp(c.log_envelope(w))
    return float((np.abs(rho(w) - value) / size).max())


def _fit_waves(function: SignedLog, start: float, frequency: float, power: float) -> list[Wave]:
    """Fit (start/w)^power times a series in start/w, or in a root of it, to a function of w."""
    best, error, root = np.zeros(1, dtype=complex), np.inf, 1
    nodes = chebyshev.chebpts1(_TERMS)
    for candidate in _ROOTS:
        ratio = (2.0 / (1.0 + nodes)) ** candidate
        factor, log = function(start * ratio)
        values = factor * np.exp(log + power * np.log(ratio))
        real, imag = (chebyshev.chebfit(nodes, v, _TERMS - 1) for v in (values.real, values.imag))
        fit = real + 1j * imag
        size = float(np.abs(fit).max())
        if size == 0.0:
            return []
        fit_error = float(np.abs(fit[-_LAST:]).max()) / size
        if fit_error < 0.1 * error:
            best, error, root = fit, fit_error, candidate
        if error < _ENOUGH:
            break
    if not error < _LARGEST_ERROR:
        raise AccuracyError(
            f"The part of frequency {frequency:g} of an oscillating density is not smooth in 1/w "
            f"or a root of 1/w beyond w = {start:g}: the relative error of a series is "
            f"{error:.1e}. Tabulate the summands of the kernel separately."
        )
    # Drop the last coefficients: the conversion to powers amplifies their rounding errors.
    accurate = np.flatnonzero(np.abs(best) > 4.0 * np.abs(best[-_LAST:]).max())
    best = best[: int(accurate[-1]) + 1]
    polynomial = Chebyshev(best, domain=[0.0, 1.0]).convert(kind=Polynomial)
    coefficients = np.asarray(polynomial.coef, dtype=np.complex128)
    # The powers j, j + root, ... of the root of start/w form one wave.
    series = [(power + j / root, coefficients[j::root]) for j in range(root)]
    return [(frequency, exponent, c) for exponent, c in series if np.any(c)]


def split_by_squares(rho: WaveSum) -> dict[int, WaveSum]:
    """The nonnegative parts p+ (key 1) and p- (key -1); only one part if the sign is constant."""
    sign = constant_sign(rho)
    if sign:
        return {sign: rho.scaled(float(sign))}
    square, a = rho * rho, rho.least_power
    # g = kappa (W/w)^a; this kappa minimizes the mass of both parts.
    kappa = float(np.sqrt(square.background.scaled(1.0, -a).mass * (a - 1.0) / rho.start))
    quarter_g = WaveSum.of(rho.start, [(0.0, a, np.array([0.25 * kappa + 0j]))])
    even = square.scaled(0.25 / kappa, -a) + quarter_g
    return {s: even + rho.scaled(0.5 * s) for s in (1, -1)}


def constant_sign(rho: WaveSum) -> int:
    """The sign of a sum of waves if its part of frequency 0 exceeds the other ones, else 0."""
    x = np.linspace(1.0, 0.0, 400, endpoint=False)
    amplitudes = {b: amplitude / x**rho.least_power for b, amplitude in rho.amplitudes(x)}
    background = amplitudes.pop(0.0, np.zeros(x.size)).real
    waves = np.sum([np.abs(a) for a in amplitudes.values()], axis=0)
    sign = 1 if background[0] > 0.0 else -1
    return sign if np.all(sign * background >= waves * (1.0 - SAME)) else 0


def split_tail(
    components: Sequence[Component], last_atom: float, total_mass: float
) -> tuple[dict[int, WaveSum], float]:
    """The nonnegative parts of a tail by sign (1 and -1), and a bound of the error of their masses.

    The tail starts beyond ``last_atom``, at a radius W at which the split adds little mass to the
    ``total_mass`` of the density.
    """
    radius = max(tail_start(components), last_atom * (1.0 + SAME))
    rho = tail_waves(components, radius)
    # If rho has one sign, the split adds no mass, and a larger W only adds zeros to the panels.
    if not constant_sign(rho):
        highest = float(rho.frequencies[-1])
        gap = float(np.diff(rho.frequencies, prepend=0.0).min())
        if LEAST_PHASE / gap > _MOST_PHASE / highest:
            raise AccuracyError(
                f"The density oscillates with frequencies that differ by only {gap:.3g}, so its "
                f"tail starts at the radius {LEAST_PHASE / gap:.3g}, which is too large. Tabulate "
                "the summands of the kernel separately."
            )
        radius = max(radius, 1.01 * LEAST_PHASE / gap)
        mass = sum(p.mass for p in split_by_squares(tail_waves(components, radius)).values())
        # The mass beyond W falls like a power of W.
        larger = radius * (_MASS_RATIO * mass / total_mass) ** (1.0 / (rho.least_power - 1.0))
        rho = tail_waves(components, max(radius, min(larger, _ENOUGH_PHASE / highest)))
    parts = split_by_squares(rho)
    return parts, wave_error(components, rho) * sum(p.mass for p in parts.values())

r"""Oscillating tails of densities as sums of waves, and as differences of nonnegative sums.

Beyond a radius W a density is :math:`\rho = \Re\sum_j w^{-a_j} E_j(1/w) e^{i b_j w}`, with smooth
functions :math:`E_j`.  With a power g of the radius, of the size of rho,

.. math:: p_\pm = \frac{(\rho \pm g)^2}{4 g} \ge 0, \qquad p_+ - p_- = \rho .

Both parts are sums of waves, and the zeros of rho are not needed.  Their mass is about a tenth
larger than that of the Jordan parts beyond W.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, chebyshev

from spectra.base.accuracy import DENSITY, EPS, SAME
from spectra.density.components import Component, SignedLog
from spectra.errors import AccuracyError
from spectra.table.wave_sum import LEAST_PHASE, Wave, WaveSum

__all__ = ["constant_sign", "split_tail", "tail_start", "tail_waves", "wave_error"]

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

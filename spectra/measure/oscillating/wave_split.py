r"""Oscillating tails of densities as sums of waves, and as differences of nonnegative sums.

Beyond a radius W a density is :math:`\rho = \Re\sum_j w^{-a_j} E_j(1/w) e^{i b_j w}`.  With a power
k of the radius, of the size of rho,

.. math:: p_\pm = \frac{(\rho \pm k)^2}{4 k} \ge 0, \qquad p_+ - p_- = \rho .

Both parts are sums of waves, found without the zeros of rho.  Their mass is about a tenth larger
than that of the Jordan parts beyond W.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, chebyshev

from spectra.density.components import Component, SizedFunction
from spectra.errors import AccuracyError
from spectra.table.tails.wave_sum import LEAST_PHASE, Wave, WaveSum

__all__ = [
    "settled_radius",
    "sign_of",
    "split_beyond",
    "split_by_squares",
    "wave_error",
    "waves_of",
]

# Chebyshev terms of a series in a root of W/w; relative errors of its fit: goal and limit.
_TERMS, _GOAL, _LIMIT = 28, 4e-15, 4e-9
# The number of last coefficients that estimate this error.
_LAST = 6
# Roots of W/w, tried in this order.
_ROOTS = (1, 2, 3, 4, 5, 6)
# The sign is constant if the background reaches the size of the waves, up to this share.
_TOUCHING = 1e-9
# Splitting by squares adds 12 % to the mass beyond W; W grows until that is .07 % of the norm, but
# not beyond the second phase of the highest frequency.  Parts that need the third are refused.
_ADDED, _ENOUGH_TURNS, _MOST_TURNS = 170.0, 1000.0 * np.pi, 4000.0 * np.pi
# Points at which waves are compared with the density, up to this multiple of their start.
_PLACES, _FAR = 200, 8.0
# Tails start at this multiple of the radius from which their expansions hold.
_MARGIN = 1.25


def settled_radius(components: Sequence[Component]) -> float:
    """A radius beyond which every component is a wave, a power of the radius, or negligible."""
    radius = 0.0
    for c in components:
        last = c.end if np.isfinite(c.end) else 4.0 * c.bulk[1]
        radius = max(radius, last if c.tail is None else _MARGIN * c.tail.start)
    return radius


def waves_of(components: Sequence[Component], start: float) -> WaveSum:
    """The density on [start, oo) as a sum of waves; an AccuracyError if it is none."""
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
    """Largest error of waves at a few radii, relative to the size of the components."""
    w = rho.start * np.geomspace(1.0, _FAR, _PLACES)
    value, size = np.zeros(w.size), np.zeros(w.size)
    for c in components:
        sign, log = c.signed_log(w)
        value += sign * np.exp(log)
        size += np.exp(c.log_envelope(w))
    return float((np.abs(rho(w) - value) / size).max())


def _fit_waves(function: SizedFunction, start: float, frequency: float, power: float) -> list[Wave]:
    """Fit waves to a slow function of the radius: the best series in a root of start/w."""
    best, smallest, root = np.zeros(1, dtype=complex), np.inf, 1
    nodes = chebyshev.chebpts1(_TERMS)
    for tried in _ROOTS:
        farther = (2.0 / (1.0 + nodes)) ** tried
        factor, log = function(start * farther)
        values = factor * np.exp(log + power * np.log(farther))
        real, imag = (chebyshev.chebfit(nodes, v, _TERMS - 1) for v in (values.real, values.imag))
        fit = real + 1j * imag
        size = float(np.abs(fit).max())
        if size == 0.0:
            return []
        left = float(np.abs(fit[-_LAST:]).max()) / size
        if left < 0.1 * smallest:
            best, smallest, root = fit, left, tried
        if smallest < _GOAL:
            break
    if not smallest < _LIMIT:
        raise AccuracyError(
            f"The part of frequency {frequency:g} of an oscillating density is not smooth in 1/w "
            f"or a root of it beyond w = {start:g}: a series leaves {smallest:.1e}. Tabulate the "
            "summands of the kernel separately."
        )
    # The change to powers amplifies the rounding errors of the last coefficients: drop them.
    some = np.flatnonzero(np.abs(best) > 4.0 * np.abs(best[-_LAST:]).max())
    best = best[: int(some[-1]) + 1]
    on_unit = Chebyshev(best, domain=[0.0, 1.0]).convert(kind=Polynomial)
    powers = np.asarray(on_unit.coef, dtype=np.complex128)
    return [
        (frequency, power + j / root, powers[j::root])
        for j in range(root)
        if np.any(powers[j::root])
    ]


def split_by_squares(rho: WaveSum) -> dict[int, WaveSum]:
    """The two nonnegative parts of a sum of waves, by sign; only one if its sign is constant."""
    sign = sign_of(rho)
    if sign:
        return {sign: rho.scaled(float(sign))}
    square, a = rho * rho, rho.lead
    # The level of the least mass of both parts.
    kappa = float(np.sqrt(square.mean.scaled(1.0, -a).mass * (a - 1.0) / rho.start))
    level = WaveSum.of(rho.start, [(0.0, a, np.array([0.25 * kappa + 0j]))])
    even = square.scaled(0.25 / kappa, -a) + level
    return {s: even + rho.scaled(0.5 * s) for s in (1, -1)}


def sign_of(rho: WaveSum) -> int:
    """The sign of a sum of waves if its background is as large as all its waves, else 0."""
    x = np.linspace(1.0, 0.0, 400, endpoint=False)
    parts = {b: amplitude / x**rho.lead for b, amplitude in rho.amplitudes(x)}
    background = parts.pop(0.0, np.zeros(x.size)).real
    waves = np.sum([np.abs(a) for a in parts.values()], axis=0)
    sign = 1 if background[0] > 0.0 else -1
    return sign if np.all(sign * background >= waves * (1.0 - _TOUCHING)) else 0


def split_beyond(
    components: Sequence[Component], atom: float, norm: float
) -> tuple[dict[int, WaveSum], float]:
    """The parts of a density beyond a radius W that adds little mass to the ``norm``, by sign.

    W exceeds the radius of the last ``atom``.  With it comes a bound of the error of the mass of a
    part.
    """
    radius = max(settled_radius(components), atom * (1.0 + 1e-9))
    rho = waves_of(components, radius)
    # A constant sign needs no split, and the smallest radius leaves the fewest double zeros below.
    if not sign_of(rho):
        fastest = float(rho.frequencies[-1])
        gap = float(np.diff(rho.frequencies, prepend=0.0).min())
        if LEAST_PHASE / gap > _MOST_TURNS / fastest:
            raise AccuracyError(
                f"The density oscillates with frequencies that differ by {gap:.3g} only, so that "
                f"their sum settles beyond the radius {LEAST_PHASE / gap:.3g}. Tabulate the "
                "summands of the kernel separately."
            )
        radius = max(radius, 1.01 * LEAST_PHASE / gap)
        mass = sum(p.mass for p in split_by_squares(waves_of(components, radius)).values())
        # The mass falls like a power of W.
        farther = radius * (_ADDED * mass / norm) ** (1.0 / (rho.lead - 1.0))
        rho = waves_of(components, max(radius, min(farther, _ENOUGH_TURNS / fastest)))
    parts = split_by_squares(rho)
    return parts, wave_error(components, rho) * sum(p.mass for p in parts.values())

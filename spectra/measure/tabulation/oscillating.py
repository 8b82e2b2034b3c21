"""The lobes beyond the listed ones as one pair of short series, never cut.

See :class:`spectra.table.tails.lobed_tail.LobedTail` for what the series mean.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.enclosures import EPS, legendre_inverse
from spectra.base.numbers import FloatArray
from spectra.errors import AccuracyError
from spectra.measure import MeasurePart
from spectra.measure.oscillating.one_frequency import LobedTailMass
from spectra.measure.tabulation.fit import END_PROBABILITY
from spectra.table.tails.lobe_shares import share_before
from spectra.table.tails.lobed_tail import LobedTail
from spectra.table.tails.mixed_tail import MixedTail, starts_at

__all__ = ["fit_tail"]

_MASS_TERMS = (16, 28, 48, 80)
# Terms in the root of 1/s: a power of 1/s is one of x of a degree that is as many times higher.
_ACROSS_LOBES = {1: 20, 2: 20}
_ACROSS_LONG = 56
# The long series serve lobes that join without a zero, where the density only nearly vanishes.
_ALONG_LOBE = (18, 26, 36, 60, 100)
# Coefficients left out of the series of the mass, as a share of the whole part, and of that of the
# radius, as a share of the period.
_GOAL = 1e-15
_RESOLVED_RADIUS = 1e-13
_CHECK_INDICES = 23
_CHECK_PLACES = 48
# Lobes after which the sum over all lobes is started again.
_LATER = 8


def _phases(
    low: FloatArray, high: FloatArray, series: FloatArray, zeros: int, v: FloatArray
) -> FloatArray:
    """Phase, from the centre of each lobe, at places v along it; see ``lobe_shares``.

    The lobes reach from ``low`` to ``high``, and the rows of ``series`` are their densities.
    """
    whole = np.repeat(2.0 * series[:, 0], v.size)
    # Each side from its own end, so that both keep their digits.
    before, after = (np.tile(share_before(zeros, x), low.size) for x in (v, 1.0 - v))
    rows = np.repeat(series, v.size, axis=0)
    x = legendre_inverse(rows, before * whole, after * whole).reshape(-1, v.size)
    return np.asarray(low[:, None] + 0.5 * (high - low)[:, None] * (1.0 + x))


def fit_tail(part: MeasurePart) -> tuple[LobedTail | MixedTail | None, float]:
    """The lobes of a part that are not listed, as probabilities; and the error."""
    sign, mass = part.sign, part.total
    waves = part.lobes
    if waves and waves[0].begins is None:
        tail = _fit_lobed_tail(waves[0], sign, mass)
        return tail, _lobed_tail_error(tail, waves[0], sign, mass)
    tails, error = [], 0.0
    for wave in waves:
        # Of less no draw comes.
        if wave.mass_from(wave.first_of(sign), sign).mid > END_PROBABILITY * mass:
            tails.append(_fit_lobed_tail(wave, sign, mass))
            error += _lobed_tail_error(tails[-1], wave, sign, mass)
    if not tails:
        return None, 0.0
    start = waves[0].listed_to
    if not all(starts_at(tail, start) for tail in tails):
        raise AccuracyError(
            f"Lobes of both signs of the density become equal so slowly beyond w = {start:.4g}, "
            "beside waves of other frequencies, that no series holds where each begins. Tabulate "
            "the summands of the kernel apart."
        )
    mixed = MixedTail(start, tuple(tails))
    return mixed, error + abs(mixed.mass - part.beyond / mass)


def _fit_lobed_tail(lobes: LobedTailMass, sign: int, mass: float) -> LobedTail:
    """Series for all lobes of one sign that count, as probabilities of a part."""
    kappa = 0.5 * lobes.first_of(sign)
    period = 2.0 * np.pi / lobes.tail.frequency
    sigma = lobes.decay(sign) - 1.0
    root = lobes.root
    for terms in _MASS_TERMS:
        nodes = chebyshev.chebpts1(terms)
        s = kappa * (2.0 / (1.0 + nodes)) ** root
        masses, _ = lobes.mass_beyond(2.0 * s, sign)
        fit = chebyshev.chebfit(nodes, masses * s**sigma / mass, terms - 1)
        series = np.asarray(fit, dtype=float)
        if np.abs(series[-3:]).max() * kappa**-sigma < _GOAL:
            break
    across_lobes = _ACROSS_LOBES.get(root, _ACROSS_LONG)
    x = chebyshev.chebpts1(across_lobes)
    s = kappa * (2.0 / (1.0 + x)) ** root
    index = 2.0 * s
    low, high = -lobes.half_widths(index, sign, -1), lobes.half_widths(index, sign, +1)
    density = lobes.series(index, sign, low, high)
    # Each lobe begins where the one before it ends, at a double zero or none.
    joined = bool(np.all(high - low >= 2.0 * np.pi * (1.0 - 4.0 * EPS)))
    best: FloatArray = np.zeros((1, 1))
    zeros, smallest = 1, np.inf
    for along in _ALONG_LOBE:
        # Lobes that join may nearly touch zero between them.
        for tried in (2, 1) if joined else (1,):
            v = chebyshev.chebpts1(along)
            phi = _phases(low, high, density, tried, 0.5 * (1.0 + v))
            w, _ = lobes.radius(2.0 * np.pi * s[:, None] + phi)
            # w - period s, without the subtraction.
            offset = (phi - lobes.shift(w)) / lobes.tail.frequency
            across = np.asarray(chebyshev.chebfit(x, offset, across_lobes - 1), dtype=float)
            grid = np.asarray(chebyshev.chebfit(v, across.T, along - 1), dtype=float).T
            left_out = float(np.abs(grid[:, -3:]).max())
            if left_out < smallest:
                best, zeros, smallest = grid, tried, left_out
            if left_out < _RESOLVED_RADIUS * period:
                return LobedTail(kappa, period, sigma, series, grid, root, tried)
    return LobedTail(kappa, period, sigma, series, best, root, zeros)


def _lobed_tail_error(tail: LobedTail, lobes: LobedTailMass, sign: int, mass: float) -> float:
    """Largest error of the tail in probability, at indices and places off the nodes of the fit."""
    s = tail.kappa * np.concatenate(
        [1.0 + 7.0 * np.linspace(0.0, 1.0, _CHECK_INDICES) ** 2, np.geomspace(9.3, 1e8, 9)]
    )
    v = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_CHECK_PLACES) + 0.31) / _CHECK_PLACES)
    share = share_before(tail.zeros, v)
    beyond, _ = lobes.mass_beyond(2.0 * s, sign)
    w = np.asarray(tail.radius(s, v), dtype=float)
    offset = w - tail.period * s[:, None]
    near = s[:, None] < 1e5 + 0.0 * v
    stored = chebyshev.chebgrid2d(2.0 * tail.place(s) - 1.0, 2.0 * v - 1.0, tail.radius_series)
    offset = np.where(near, offset, stored)
    phi = lobes.tail.frequency * offset + lobes.shift(w)
    low = np.broadcast_to(-lobes.half_widths(2.0 * s, sign, -1)[:, None], phi.shape)
    index = np.broadcast_to(2.0 * s[:, None], phi.shape)
    before, _ = lobes.pieces(index, sign, low, np.maximum(phi, low))
    exact = (beyond[:, None] - before) / mass
    held = tail.survival(s)
    table = held[:, None] - share * (held - tail.survival(s + 1.0))[:, None]
    # The sum over all lobes is asymptotic in the index: started later, it is another sum.
    index = 2.0 * (tail.kappa + np.arange(_LATER + 1.0))
    total, _ = lobes.mass_beyond(index[[0, -1]], sign)
    one_by_one = float(lobes.lobe_masses(index[:-1], sign)[0].sum())
    summed = abs(float(total[0] - total[1]) - one_by_one) / mass
    return float(np.abs(exact - table).max() + summed)

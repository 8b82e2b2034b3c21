r"""What turns slowly against a wave beside its frequency, by the distance from it.

.. math:: e^{-ibz} H^{(1)}_n(wz) = \sqrt{\tfrac{2}{\pi w z}}\, e^{-i\pi(d-1)/4}\,
          e^{i(w-b)z} \sum_j \frac{i^j a_j(n)}{(wz)^j}

(DLMF 10.17.5; below b its conjugate) is the wave of dimension one at the distance of w from b,
times powers of 1/w.  About b these are powers of 1/w - 1/b, of which few are left close to b: for
each of them there is a sum at equal steps of the logarithm of the distance.
"""

from __future__ import annotations

from functools import lru_cache, partial
from math import comb, exp, floor, log
from typing import Any

import flint
import numpy as np

from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.analytic_region import SURVEY_BITS
from spectra.density.continuation.continuation import number
from spectra.density.continuation.ray import to_any_bits
from spectra.density.half_line.sums.contour_integral import ContourIntegral
from spectra.density.half_line.waves.wave import Wave
from spectra.density.half_line.waves.windows import Edge

__all__ = ["edge_at", "reach", "slow_turn"]

# Windows part z about R, whose logarithm is a multiple of 1/16, so sharply, and beyond their
# reach they are below exp(-64).
_PLACES, _SHARPNESS, _SILENT = 16.0, 8.0, 64.0
# Terms of Hankel's series at most; what they leave out is below exp(-44) of what is about R, where
# it can be.
_MOST_TERMS, _ENOUGH = 64, 44.0
# Waves are looked at so far beyond R, in these steps of log z.
_FAR, _LOOK = 45.0, 0.5
# What does not depend on the power is kept at so many distances.
_KEPT = 1024


def edge_at(radius: float) -> Edge:
    """The window beyond a radius."""
    return Edge(floor(log(radius) * _PLACES) / _PLACES, _SHARPNESS)


def reach(angle: float) -> float:
    """How far windows reach on a ray."""
    return edge_at(1.0).reach(_SILENT, angle)


def slow_turn(
    wave: Wave, side: float, edge: Edge, angle: float, dim: int, between: tuple[float, float]
) -> tuple[list[ContourIntegral], float]:
    """Its sums, and what Hankel's series leaves out of them, at most.

    Parameters
    ----------
    wave : Wave
        f exp(ibz).
    side : float
        Whether w is above b (1) or below it (-1).
    edge : Edge
        The window beyond R.
    angle : float
        That of the ray.
    dim : int
        Dimension d >= 1.
    between : tuple of float
        Where w is.
    """
    count, left_out = _series_length(wave, edge, dim, between)
    low = edge.place - reach(angle)

    def amplitude(s: float, bits: int) -> Ball:
        z = flint.acb(s, flint.arb(angle)).exp()
        return wave.at(z, bits, conjugate=side > 0.0) * edge.above(s, angle)

    shared = to_any_bits(amplitude, angle)

    def values(m: int, s: float, bits: int) -> Ball:
        log_z = flint.acb(s, flint.arb(angle))
        phase = flint.acb(0, -int(side)) * flint.acb.pi() * (dim - 1) / 4
        front = (phase + log_z * (dim - 1 - 2 * m) / 2).exp()
        series = _series(dim, int(side), count, m, bits)((-log_z).exp() / number(wave.frequency))
        return front * series * shared(bits)(s)

    @lru_cache(maxsize=_KEPT)
    def place(x: float, _bits: int) -> tuple[Ball, Ball]:
        b, distance = number(wave.frequency).real, int(side) * flint.arb(x).exp()
        w = b + distance
        return -distance / (b * w), (w.log() * (dim + 1) / 2).exp() / abs(distance)

    def weight(m: int, x: float) -> Ball:
        power, front = place(x, flint.ctx.prec)
        return power**m * front

    powers = [
        ContourIntegral(
            to_any_bits(partial(values, m), angle), 1, angle, low, weight=partial(weight, m)
        )
        for m in range(count)
    ]
    return powers, left_out


def _series_length(
    wave: Wave, edge: Edge, dim: int, between: tuple[float, float]
) -> tuple[int, float]:
    """How many terms of Hankel's series, and what it leaves of F then, at most.

    On the half-line the rest is less than twice the next term times exp(|n^2 - 1/4|/(wz))
    (DLMF 10.17(iii)).
    """
    if dim % 2:
        return max((dim - 1) // 2, 1), 0.0
    w, last = between
    order, power = 0.5 * dim - 1.0, 0.5 * (dim - 1)
    s = np.arange(edge.place - reach(0.0), edge.place + _FAR, _LOOK)
    with working(SURVEY_BITS):
        step = np.array([log_of(edge.above(float(t))) for t in s])
        numbers = [log_of(_hankel_number(dim, j)) for j in range(_MOST_TERMS + 1)]
    sizes = wave.log_sizes(s, 0.0) + step + (power + 1.0) * s
    sizes += abs(order**2 - 0.25) * np.exp(-s) / w
    rests = [
        float(np.logaddexp.reduce(sizes - j * (s + log(w)))) + numbers[j]
        for j in range(len(numbers))
    ]
    # Farther out amplitudes may be large together, where a frequency is close.
    here = float(sizes[s <= edge.place + 1.0].max())
    enough = np.flatnonzero(np.array(rests) < here - _ENOUGH)
    best = int(enough[0]) if enough.size else int(np.argmin(rests))
    front = log(2.0 * _LOOK) + 0.5 * (dim + 1) * log(last)
    return max(best, 1), exp(rests[best] + front)


@lru_cache(maxsize=256)
def _series(dim: int, side: int, count: int, m: int, bits: int) -> Any:
    """sum_j C(j, m) (i side)^j a_j u^(j-m), the terms of Hankel's series with (1/w - 1/b)^m."""
    with working(bits):
        turn = flint.acb(0, side)
        terms = [comb(j, m) * turn**j * _hankel_number(dim, j) for j in range(m, count)]
        return flint.acb_poly(terms)


def _hankel_number(dim: int, j: int) -> Ball:
    """a_j of order d/2 - 1 (DLMF 10.17.1)."""
    found = flint.arb(1)
    for k in range(1, j + 1):
        found = found * ((dim - 2) ** 2 - (2 * k - 1) ** 2) / (8 * k)
    return found

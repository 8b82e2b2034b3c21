r"""The half-line in smooth parts, each with a step of its own.

On the half-line itself waves turn by w z an e-fold, so that equal steps of s = log z that resolve
the farthest ones are wasted on all others.  With smooth steps at s_1 > s_2 > ...

.. math:: 1 = \sum_i W_i(s), \qquad
          W_i(s) = \tfrac12\operatorname{erfc}(c_{i+1}(s_{i+1} - s))
                 - \tfrac12\operatorname{erfc}(c_i(s_i - s)),

each part converges at its own steps, since the error function is entire: at Im s = a it has grown
by no more than exp(c^2 a^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, floor, log2, pi, sqrt
from typing import NamedTuple

import flint

from spectra.base.precision import Ball, working

__all__ = ["Edge", "Piece", "Span", "pieces", "window"]

# An edge is so many e-folds below the one before, and steps are so many times longer there.
_APART, _LONGER = 1.5, 4
# Steps are as long as poles and waves allow where half of the decay is left to do: there a pole at
# a fixed distance from the axis weighs most.  So much below that they may be longer.
_FIRST_APART = 2.0
# An edge costs the longer steps exp(c^2 a^2) = exp(16), and what is still seen beyond it some more.
_GROWTH, _COST = 4.0, 24.0
# Edges that are softer part nothing.
_SOFTEST = 2.0
# Edges are at multiples of 1/16; on other rays than the half-line, where many blocks are to have
# them in common, of 4.
_PLACES, _PLACES_ASIDE = 16.0, 0.25


@dataclass(frozen=True)
class Span:
    """A range of s = log z in which the terms are above exp(-depth) of the largest one.

    ``peak`` is the logarithm of that one, and beyond ``half`` they are below exp(-depth/2) of it.
    """

    low: float
    high: float
    peak: float
    half: float


class Edge(NamedTuple):
    """A smooth step at a place: erfc(sharpness * (place - s))/2."""

    place: float
    sharpness: float

    def reach(self, depth: float, angle: float = 0.0) -> float:
        """So far from the place, on a ray, the step is 0 or 1 up to exp(-depth)."""
        return sqrt(depth / self.sharpness**2 + angle**2)

    def above(self, s: float, angle: float = 0.0) -> Ball:
        """The step that rises to 1 beyond its place, at s + i angle."""
        return _half_erfc(self.sharpness * (self.place - s), -self.sharpness * angle)

    def below(self, s: float, angle: float = 0.0) -> Ball:
        """What that leaves of 1."""
        return _half_erfc(self.sharpness * (s - self.place), self.sharpness * angle)


def window(low: Edge | None, high: Edge | None, s: float, angle: float = 0.0) -> Ball:
    """W(s + i angle) between two edges, or beyond one where the other is None; with as many digits
    where it is small."""
    if low is None:
        return flint.arb(1) if high is None else high.below(s, angle)
    if high is None:
        return low.above(s, angle)
    if s < 0.5 * (low.place + high.place):
        return low.above(s, angle) - high.above(s, angle)
    return high.below(s, angle) - low.below(s, angle)


def _half_erfc(x: float, y: float) -> Ball:
    """erfc(x + iy)/2."""
    if y:
        return flint.acb(x, y).erfc() / 2
    return _real_half_erfc(x, flint.ctx.prec)


@lru_cache(maxsize=1 << 16)
def _real_half_erfc(x: float, bits: int) -> Ball:
    # Places, steps and sharpness are dyadic, so that edges of many parts have arguments in common.
    with working(bits):
        return 1 - _real_half_erfc(-x, bits) if x < 0.0 else flint.arb(x).erfc() / 2


@dataclass(frozen=True)
class Piece:
    """A part of a ray between two edges, ``coarser`` times fewer steps on it, and where its terms
    are; of several rays, of which."""

    coarser: int
    low: float
    high: float
    edges: tuple[Edge | None, Edge | None] = (None, None)
    of: int = 0

    def terms(self, step: int) -> float:
        """How many there are at steps 2**-step of the finest part."""
        return (self.high - self.low) * 2.0**step / self.coarser


def pieces(
    span: Span, phase: float, depth: float, step: int, first_step: int, angle: float = 0.0
) -> list[Piece]:
    """Parts of a ray for waves that turn by ``phase`` an e-fold at the half of the span.

    Parameters
    ----------
    span : Span
        Where the terms are.
    phase : float
        w z there.
    depth : float
        What is below exp(-depth) of the largest term is nothing.
    step, first_step : int
        The finest steps are 2**-step, and none is longer than 2**-first_step.
    angle : float
        That of the ray.
    """
    edges: list[Edge] = []
    places = _PLACES_ASIDE if angle else _PLACES
    while True:
        place, longer = span.half - _FIRST_APART - _APART * len(edges), _LONGER ** (len(edges) + 1)
        room = 2.0 * pi * 2.0**step / longer - phase * exp(place - span.half)
        if longer * 2.0**-step > 2.0**-first_step or room <= 0.0:
            break
        # The errors are exp(-a * room); edges are powers of 2, so that blocks have them in common.
        sharpness = 2.0 ** floor(log2(_GROWTH * room / (depth + _COST)))
        # At t beyond where steps may be so long the errors have grown by up to exp(depth * t).
        apart = depth / (4.0 * sharpness**2)
        edge = Edge(floor((place - apart) * places) / places, sharpness)
        if sharpness < _SOFTEST or edge.place - edge.reach(depth, angle) < span.low:
            break
        edges.append(edge)
    found = []
    for i, (high, low) in enumerate(zip([None, *edges], [*edges, None], strict=True)):
        first, last = span.low, span.high
        if low is not None:
            first = low.place - low.reach(depth, angle)
        if high is not None:
            last = min(high.place + high.reach(depth, angle), span.high)
        found.append(Piece(_LONGER**i, first, last, (low, high)))
    return found

r"""Radial densities as sums along a ray, with an error that is observed.

.. math:: w \rho(w) = \frac{2^{1-d/2}}{\Gamma(d/2)} \Re\, h\sum_n k(z_n)\,G(w z_n),
          \qquad z_n = e^{nh + i\psi},\quad G(y) = y^{d/2+1} H_{d/2-1}(y).

G depends on log w + log z only, so that the sums at equal steps of log w are one product of two
polynomials, and N + M values of G serve N M terms.  The angle is tried as the steps are.  On the
real axis, angle 0, J stands in the place of H, and nothing has to be continued.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from spectra.base.caching import kept
from spectra.base.numbers import FloatArray
from spectra.base.precision import log_of
from spectra.density.continuation.analytic_region import DEEP, SURVEY_BITS, AnalyticRegion
from spectra.density.half_line.sums.blocks import Block
from spectra.density.half_line.sums.blockwise import (
    BLOCK,
    DEPTH,
    FIRST_SPACING,
    GOOD,
    LARGEST_BITS,
    MOST_TERMS,
    Blockwise,
)
from spectra.density.half_line.sums.contour_integral import ContourIntegral
from spectra.density.half_line.sums.grid import Sums
from spectra.density.half_line.waves.windows import Piece, Span, pieces

__all__ = ["RaySums"]

# Blocks are wider, at wider steps, where no wave turns: as wide as w^d gains exp(128) on, and on
# which what falls loses exp(12).
_WIDEST, _CALM_SPACING = 4.0, 4
_RISE, _FALL = 128.0, 12.0
_LARGEST = 700.0
# The half-line serves without a look at other angles where it has no more terms than that, which
# cost what the look does.
_FEW_TERMS = 8000
# Steps are tried 4 times as long where errors may be what is cut off, or rounded.
_LONGER = 4.0
# The kernel is taken to be analytic so far beside the half-line, until that is seen.
_STRIP = 0.2
# Terms are looked at in such steps of log z, and beside each place; longer sums do not end.
_COARSE, _BESIDE, _ENDLESS = 0.5, 1.0 / 16.0, 400.0


class RaySums(Blockwise):
    """Values of a density at the nodes of panels of log w, whose ends are dyadic.

    Parameters
    ----------
    plane : Plane
        The kernel.
    dim : int
        Dimension d >= 1.
    """

    def __init__(self, plane: AnalyticRegion, dim: int) -> None:
        super().__init__(dim, plane.resolution)
        self.plane = plane
        self._width = BLOCK
        self._spacing = FIRST_SPACING
        self._rooms: dict[float, float] = {}
        self._strip = max((_STRIP, *plane.angles(dim)))
        # Waves turn beyond it.
        self._border = float(np.floor(-plane.scale / BLOCK) * BLOCK)

    def _new_block(self, x: float) -> tuple[float, float, int]:
        before = x < self._border
        width = self._width if before or self.plane.is_tame(self.dim) else BLOCK
        while before and np.floor(x / width) * width + width > self._border:
            width /= 2.0
        first = _CALM_SPACING if width > BLOCK else FIRST_SPACING
        return float(np.floor(x / width) * width), width, max(self._spacing - 1, first)

    def _keep_width(self, found: Sums, width: float) -> None:
        """Up to twice as many e-folds, as far as a density that rises or falls so fast allows."""
        logs = np.array([log_of(size) for size in found.sizes])
        falls = -np.diff(logs[np.isfinite(logs)]) * 2.0**found.block.spacing
        most = min(2.0 * width, _WIDEST, _RISE / self.dim, _FALL / max(falls.max(initial=0.0), 1.0))
        self._width = float(2.0 ** np.floor(np.log2(max(most, BLOCK))))

    def _keep_spacing(self, spacing: int) -> None:
        # The neighbours of wide steps would reach far beyond a block that needs small ones.
        self._spacing = spacing

    def _best(self, block: Block) -> Sums | None:
        """The first sums that are good, or else the best."""
        best: Sums | None = None
        for angle, most in self._order(block):
            found = self._refined(block, angle, most=most)
            if found is not None and (best is None or found.worst < best.worst):
                best = found
            if best is not None and best.worst <= GOOD:
                return best
        return best

    def _unreached(self, block: Block) -> str:
        return (
            f"The density of {self.plane.kernel.expr} is not reached near log w = "
            f"{block.start:.4g}: the kernel is singular, or grows, too close to the real axis. "
            "A callable with decay= or support= is read by its values (docs/callables.md)."
        )

    def _order(self, block: Block) -> Iterator[tuple[float, float]]:
        """The angles, those first that are expected to take the fewest terms, and how many terms
        each may take: as many as the next one is expected to; in the end as many as can be."""
        ends = self.plane.decays_fast
        on_axis = self._span(block, 0.0, self._depth) if ends else None
        largest = np.inf if on_axis is None else on_axis.peak
        here = np.inf if self.plane.is_tame(self.dim) else self._expected_terms(block, 0.0, largest)
        if here <= _FEW_TERMS:
            yield 0.0, 2.0 * _FEW_TERMS
        expected = {a: self._expected_terms(block, a, largest) for a in self.plane.angles(self.dim)}
        if here <= _FEW_TERMS and 0.0 in expected:
            expected[0.0] = 2.0 * _FEW_TERMS
        angles = sorted((a for a, n in expected.items() if n < np.inf), key=lambda a: expected[a])
        for angle, after in pairwise(angles):
            yield angle, max(expected[after], 2.0 * _FEW_TERMS)
        for angle in reversed(angles):
            yield angle, MOST_TERMS

    def _expected_terms(self, block: Block, angle: float, largest: float) -> float:
        """As many as would take that long; terms larger than on the axis take more bits."""
        span = self._span(block, angle, self._depth)
        if span is None:
            return np.inf
        lost = max(span.peak - largest, 0.0)
        if not lost < LARGEST_BITS:
            return np.inf
        depth = max(self._depth, DEPTH + lost)
        span = self._span(block, angle, depth)
        if span is None:
            return np.inf
        step = self._expected_step(block, angle, span, depth)
        terms = sum(p.terms(step + 1) for p in self._pieces(block, angle, span, step))
        return float(terms * (1.0 + lost / (np.log(2.0) * self._bits)) ** 2)

    def _expected_step(self, block: Block, angle: float, span: Span, depth: float) -> int:
        """The error is exp(-2 pi a/h), times exp(w z a) where the ray is the half-line itself."""
        wanted = depth - DEPTH - np.log(GOOD)
        room = self._rooms.get(angle, wanted / (angle or self._strip))
        if not angle:
            room += self._phase(block, span)
        return max(int(np.ceil(np.log2(room / (2.0 * np.pi)))), self._first)

    def _phase(self, block: Block, span: Span) -> float:
        """w z where half of the decay is left to do."""
        return float(np.exp(min(block.ends[1] + span.half, _LARGEST)))

    def _pieces(self, block: Block, angle: float, span: Span, step: int) -> list[Piece]:
        if angle:
            return [Piece(1, span.low, span.high)]
        return pieces(span, self._phase(block, span), self._depth, step, self._first)

    def _learn(
        self, block: Block, angle: float, span: Span, step: int, fallen: float, needed: float
    ) -> None:
        """Keep what 2 pi/h must be, beside the waves, where the error of a step has fallen so far;
        infinitely far where it is not seen, and longer steps, which may do as well, are tried."""
        room = 2.0 * np.pi * 2.0**step - (0.0 if angle else self._phase(block, span))
        if room > 0.0 and fallen > 0.0:
            self._rooms[angle] = room * min(max(needed / fallen, 1.0 / _LONGER), 1.0)

    @kept
    def _strand(self, angle: float, of: int) -> ContourIntegral:
        return ContourIntegral(partial(self.plane.ray, angle), self.dim, angle)

    # --- where terms are --------------------------------------------------------------------------

    def _span(self, block: Block, angle: float, depth: float) -> Span | None:
        spans = [self._span_at(x, angle, depth) for x in block.ends]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        return Span(
            min(span.low for span in known),
            max(span.high for span in known),
            max(span.peak for span in known),
            max(span.half for span in known),
        )

    @kept
    def _span_at(self, x: float, angle: float, depth: float) -> Span | None:
        """Where terms are above exp(-depth) of the largest one, at one log w."""
        strand, scale, end = self._strand(angle, 0), self.plane.scale, self.plane.end
        ray, waves = strand.ray(SURVEY_BITS), strand.waves(SURVEY_BITS)

        def log_term(s: float) -> float:
            # The larger of two: a kernel may pass through zero at a place that is looked at.
            return max(ray.log_size(t) + waves.log_size(x + t) for t in (s, s + _BESIDE))

        def later(s: float) -> float:
            """What terms beyond a place may be: a kernel may rise again, and G grows like
            y^((d+1)/2) at most."""
            places, most = self._largest_beyond(angle)
            i = int(np.searchsorted(places, s))
            if i == places.size:
                return -np.inf
            return waves.log_size(x + s) - 0.5 * (self.dim + 1) * s + float(most[i])

        def earlier(s: float) -> float:
            """The same of terms before a place, where a kernel may be small: there G rises."""
            places, most = self._largest_before(angle)
            i = int(np.searchsorted(places, s)) - 1
            return -np.inf if i < 0 else waves.log_size(x + s) + float(most[i])

        turn = np.log(0.5 * self.dim + 0.5) - x
        begin, high = sorted((scale, min(turn, end + 1.0)))
        # Whole multiples of the spacing, so that other blocks meet the same places.
        low = float(np.floor(begin / _COARSE) * _COARSE)
        peak, s = -np.inf, low
        while True:
            term = log_term(s)
            if not term < np.inf:
                if angle == 0.0 and s > end:
                    break
                return None
            peak = max(peak, term)
            if s >= high and max(term, later(s)) < peak - depth:
                break
            if s - low > _ENDLESS:
                return None
            s += _COARSE
        high = s
        while max(term := log_term(low), earlier(low)) > peak - depth:
            peak, low = max(peak, term), low - _COARSE
            if high - low > 2.0 * _ENDLESS:
                return None
        half = high
        while log_term(half) < peak - 0.5 * depth:
            half -= _COARSE / 4.0
        return Span(low, high, peak, half)

    @kept
    def _largest_beyond(self, angle: float) -> tuple[FloatArray, FloatArray]:
        """The largest k z^((d+1)/2) beyond places on a ray."""
        apart = min(_COARSE, 2.0 ** (2 - self.plane.resolution))
        end = np.log(self.plane.reach(self.dim))
        places = np.arange(np.floor(self.plane.scale), end + apart, apart)
        weighted = self._log_sizes(angle, places) + 0.5 * (self.dim + 1) * places
        return places, np.maximum.accumulate(weighted[::-1])[::-1]

    @kept
    def _largest_before(self, angle: float) -> tuple[FloatArray, FloatArray]:
        """The largest k before places on a ray."""
        scale = np.floor(self.plane.scale)
        places = np.arange(scale - DEEP, scale + _COARSE, _COARSE)
        return places, np.maximum.accumulate(self._log_sizes(angle, places))

    def _log_sizes(self, angle: float, places: FloatArray) -> FloatArray:
        """log|k| on a ray, the larger of two beside each place."""
        ray = self.plane.ray(angle, SURVEY_BITS)
        return np.array([max(ray.log_size(float(t)) for t in (s, s + _BESIDE)) for s in places])

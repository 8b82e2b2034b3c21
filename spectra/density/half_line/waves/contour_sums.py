r"""Densities that are sums of several integrals, each along a ray of its own.

.. math:: F(x) = \sum_i g_i(x)\,\Re\, h\sum_n A_i(s_n + i\psi_i)\,G_i(x + s_n + i\psi_i),
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, exp, floor, inf, log, log2, pi

import numpy as np

from spectra.base.caching import kept
from spectra.base.numbers import FloatArray
from spectra.density.half_line.sums.blocks import MARGIN, Block
from spectra.density.half_line.sums.blockwise import DEPTH, FIRST_SPACING, GOOD, Blockwise
from spectra.density.half_line.sums.contour_integral import ContourIntegral
from spectra.density.half_line.sums.grid import Sums
from spectra.density.half_line.waves.windows import Piece, Span, pieces
from spectra.errors import NoRouteError

__all__ = ["StrandSums"]

# Terms are looked at in such steps of log z, the larger of two beside each place.
_LOOK, _BESIDE = 0.25, 1.0 / 16.0
# Sums are so deep at first: products of what grows and what falls have doubles for bounds.
_FIRST_DEPTH = 64.0
# Blocks have these widths, and steps 2^-k up to a last k; on one of them products of what grows and
# what falls range over so many times their depth, since they have doubles for bounds.
_WIDTHS, _LAST_SPACING, _RANGE = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125), 10, 9.0


class StrandSums(Blockwise):
    """F from the sums of all strands.

    Parameters
    ----------
    strands : sequence of Strand
        The integrals.
    dim : int
        Dimension d >= 1.
    first_step : int
        Steps of log z are 2^-k from this k on.
    bounds : tuple of float
        Between these x the strands are known.
    widest : float
        Blocks are no wider.
    name : str
        The kernel, for messages.
    """

    def __init__(
        self,
        strands: Sequence[ContourIntegral],
        dim: int,
        first_step: int,
        bounds: tuple[float, float],
        widest: float,
        name: str,
    ) -> None:
        super().__init__(dim, first_step)
        self.strands, self.bounds, self.widest, self.name = strands, bounds, widest, name
        self._depths: dict[float, float] = {}

    def _new_block(self, x: float) -> tuple[float, float, int]:
        """The widest block with the longest steps whose neighbours are within the bounds."""
        for spacing in range(FIRST_SPACING, _LAST_SPACING + 1):
            margin = MARGIN * 2.0**-spacing
            for width in (width for width in _WIDTHS if width <= self.widest):
                low = floor(x / width) * width
                if self._is_known(low - margin, low + width + margin):
                    return low, width, spacing
        raise NoRouteError(f"No sums of {self.name} are known near w = {exp(x):.6g}.")

    def _is_known(self, low: float, high: float) -> bool:
        """Whether all strands are, and end soon enough, between these x."""
        growing = (s.growth for s in self.strands if s.angle and not s.regular and s.growth > 0.0)
        growth = max(growing, default=0.0)
        ends = growth == 0.0 or exp(high) <= _RANGE * (exp(low) - growth)
        return ends and self.bounds[0] <= low and high <= self.bounds[1]

    def _best(self, block: Block) -> Sums | None:
        # What one block has asked for is dear on others far from it.
        nearest = min(self._depths, key=lambda start: abs(start - block.start), default=None)
        self._depth = _FIRST_DEPTH if nearest is None else self._depths[nearest]
        found = self._refined(block, 0.0)
        self._depths[block.start] = self._depth
        return found

    def _unreached(self, block: Block) -> str:
        return (
            f"The density of {self.name} is not reached near w = {exp(block.start):.6g}: one of "
            "its waves does not end on its ray. Design a finite measure for your range of "
            "distances (design)."
        )

    def _span(self, block: Block, angle: float, depth: float) -> Span | None:
        found = self._spans(block.ends, depth)
        return None if found is None else found[0]

    @kept
    def _spans(
        self, ends: tuple[float, float], depth: float
    ) -> tuple[Span, list[Span | None]] | None:
        """Where the terms of all strands are above exp(-depth) of the largest one, and where those
        of each are, at either end of a block."""
        profiles: list[tuple[FloatArray, FloatArray]] = []
        for strand in self.strands:
            end = max(strand.end(x, depth) for x in ends)
            if end == inf:
                return None
            start = max(strand.low, strand.begin - depth)
            s = _LOOK * np.arange(floor(start / _LOOK), ceil(end / _LOOK) + 1.0)
            looks = [tuple((s + t).tolist()) for t in (0.0, _BESIDE)]
            log_terms = [strand.log_terms(x, look) for x in ends for look in looks]
            profiles.append((s, np.max(log_terms, axis=0)))
        peak = max(float(terms.max()) for _, terms in profiles)
        if not peak < inf:
            return None
        spans: list[Span | None] = []
        for strand, (s, terms) in zip(self.strands, profiles, strict=True):
            seen = s[terms > peak - depth]
            if not seen.size:
                spans.append(None)
                continue
            low, high = float(seen[0]) - _LOOK, float(seen[-1]) + _LOOK
            calm = high if strand.angle == 0.0 else min(high, strand.begin, -ends[1])
            spans.append(Span(low, high, peak, calm))
        known = [span for span in spans if span is not None]
        return Span(min(p.low for p in known), max(p.high for p in known), peak, 0.0), spans

    def _each(self, block: Block) -> Iterator[tuple[int, ContourIntegral, Span]]:
        """The strands that have terms, and where."""
        found = self._spans(block.ends, self._depth)
        assert found is not None
        for i, (strand, span) in enumerate(zip(self.strands, found[1], strict=True)):
            if span is not None:
                yield i, strand, span

    def _pieces(self, block: Block, angle: float, span: Span, step: int) -> list[Piece]:
        """Those that begin at 0 in parts, which have longer steps where nothing turns."""
        found: list[Piece] = []
        for i, strand, own in self._each(block):
            if strand.low > -inf:
                found.append(Piece(1, own.low, own.high, of=i))
                continue
            phase = strand.phase(block.ends[1], own.half)
            parts = pieces(own, phase, self._depth, step, self._first, strand.angle)
            found += [replace(part, of=i) for part in parts]
        return found

    def _expected_step(self, block: Block, angle: float, span: Span, depth: float) -> int:
        wanted = depth - DEPTH - log(GOOD)
        rooms = [
            wanted / strand.room + strand.phase(block.ends[1], min(strand.high, own.high) - 1.0)
            for _, strand, own in self._each(block)
        ]
        return max(ceil(log2(max(rooms) / (2.0 * pi))), self._first)

    def _strand(self, angle: float, of: int) -> ContourIntegral:
        return self.strands[of]

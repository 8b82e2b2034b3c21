"""Densities between sums at equal steps of log w, and the steps, bits and lengths those take.

A sum is known by its ball, which holds all rounding and all cancellation, and by what half the step
changes; the step, the bits and the length are tried until both are small.  Between the equal steps
of a block a density is interpolated.
"""

from __future__ import annotations

from abc import abstractmethod

import flint
import numpy as np

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, front, log_of, ratio, working
from spectra.density.continuation.analytic_region import SURVEY_BITS
from spectra.density.half_line.sums.blocks import Block, over_block
from spectra.density.half_line.sums.contour_integral import ContourIntegral
from spectra.density.half_line.sums.grid import RESOLVED, Sums, in_doubles
from spectra.density.half_line.sums.sampled import Sampled, Sampler
from spectra.density.half_line.waves.windows import Piece, Span
from spectra.errors import NoRouteError

__all__ = [
    "BLOCK",
    "DEPTH",
    "FIRST_SPACING",
    "GOOD",
    "IGNORED",
    "LARGEST_BITS",
    "MOST_TERMS",
    "Blockwise",
    "as_sampled",
]

#: Errors below this share of the value are as good as any: series on panels keep 1e-14.
GOOD = 2e-15
#: Terms below exp(-46) of what is sought are left out: 1e-20.
DEPTH = 46.0
_KNOWN = 0.1
# What rounding may leave of a value; more bits are taken in steps.
_BLUR = 1e-18
#: Beyond exp(-102) of the largest w |rho| no digit is asked for; panels end at exp(-96).
IGNORED = float(np.exp(-102.0))
_BITS_AT_ONCE, _BITS_APART, _DEPTH_AT_ONCE, _SLACK = 512.0, 128, 200.0, 4.0
_NEIGHBOURS = 2
#: Bits at most, and terms; steps are 2^-k, to the last.
LARGEST_BITS, MOST_TERMS = 8192, 200000
_LAST_STEP = 14
# Where sums converge, half a step that gains fewer e-folds says that something else is wrong.
_LEAST_GAIN, _CONVERGES = 2.0, 8.0
#: Densities are summed over so many e-folds of the radius at once, at steps 2^-k of log w.
BLOCK, FIRST_SPACING = 0.5, 5
_LAST_SPACING = 10
# A look is at so many of those.
_LOOKED_AT = 4
# What is between sums is compared with others at so many radii an e-fold, beside them by that share
# of their steps, on places that sums of the kernel share where they can; what is missed there may
# be missed elsewhere, so many times.
_CHECKED, _ASIDE, _FINER, _MISSED = 3, 0.38, 3, 2.0
# Errors less than exp(8) above what is cut off, or rounded, may be that.
_UNSEEN = 8.0


class Blockwise(Sampler):
    """F = w rho, but for what stands before all integrals, from sums at equal steps of log w.

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    first_step : int
        Steps of log z are 2^-k from this k on.
    """

    def __init__(self, dim: int, first_step: int) -> None:
        self.dim = dim
        self._first = first_step
        self._bits = SURVEY_BITS * (1 + (2 * dim) // SURVEY_BITS)
        self._depth = DEPTH
        self._top: tuple[float, Ball] | None = None
        #: What is smaller than that, times exp(rise x), is not resolved.
        self.floor, self.rise = flint.arb(0), 0.0
        self._blocks: dict[tuple[float, float], Sums] = {}
        self._missed: dict[Sums, tuple[float, bool]] = {}

    # --- what is summed ---------------------------------------------------------------------------

    @abstractmethod
    def _best(self, block: Block) -> Sums | None:
        """Sums over a block, as good as they are found; None where their terms do not end."""

    @abstractmethod
    def _unreached(self, block: Block) -> str:
        """What is said where there are none."""

    @abstractmethod
    def _new_block(self, x: float) -> tuple[float, float, int]:
        """The lower end, the width and the first spacing of a block with a place."""

    @abstractmethod
    def _span(self, block: Block, angle: float, depth: float) -> Span | None:
        """Where the terms of a sum are above exp(-depth) of the largest one, at either end of a
        block; None where they do not end."""

    @abstractmethod
    def _expected_step(self, block: Block, angle: float, span: Span, depth: float) -> int:
        """That k at whose step the error is expected to be small."""

    @abstractmethod
    def _pieces(self, block: Block, angle: float, span: Span, step: int) -> list[Piece]:
        """The sum in parts."""

    @abstractmethod
    def _strand(self, angle: float, of: int) -> ContourIntegral:
        """What a part is of."""

    def _learn(
        self, block: Block, angle: float, span: Span, step: int, fallen: float, needed: float
    ) -> None:
        """Keep that the error of a step has fallen by so many e-folds where so many were needed."""

    def _keep_width(self, found: Sums, width: float) -> None:
        """Keep what a block says of how wide the next one may be."""

    def _keep_spacing(self, spacing: int) -> None:
        """Keep the spacing that a block has taken."""

    # --- values -----------------------------------------------------------------------------------

    def at_nodes(self, base: float, offsets: FloatArray, power: float) -> Sampled:
        """Values from the sums around them."""
        return as_sampled(self.dim, *self.at(base, offsets), base, offsets)

    def look(self, x: float) -> tuple[Sampled, FloatArray]:
        """Values at a few radii from log w = x on, and their log w: sums, and nothing between."""
        block = Block(x, FIRST_SPACING, _LOOKED_AT)
        found = self._seen(self._reached(block, self._best(block)))
        places, exponent = np.array(block.places), found.exponent.astype(float)
        seen = as_sampled(self.dim, found.mantissa, found.error, exponent, x, places - x)
        return seen, places

    def at(self, base: float, offsets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """F at log w = base + offsets, its errors, and exponents of two that both are to be
        multiplied by; ``base`` is dyadic."""
        value, wrong, exponent = (np.empty(offsets.size) for _ in range(3))
        left = np.ones(offsets.size, dtype=bool)
        while left.any():
            low, width = self._covering(float((base + offsets[left]).min()))
            here = left & (base + offsets < low + width)
            found = self._in_block(low, width, base, offsets[here])
            value[here], wrong[here], exponent[here] = found
            left &= ~here
        return value, wrong, exponent

    def _covering(self, x: float) -> tuple[float, float]:
        """The lower end and the width of a block with a place: one that is known, or the next."""
        for low, width in self._blocks:
            if low <= x < low + width:
                return low, width
        low, width, spacing = self._new_block(x)
        block = Block.over(low, width, spacing)
        found = self._reached(block, self._best(block))
        self._keep_width(found, width)
        self._blocks[low, width] = self._seen(found)
        return low, width

    def _again(self, block: Block, found: Sums) -> Sums:
        """Sums over another block in the way of those that were found."""
        return self._reached(block, self._refined(block, found.angle, first=found.step))

    def _reached(self, block: Block, sums: Sums | None) -> Sums:
        if sums is None:
            raise NoRouteError(self._unreached(block))
        return sums

    def _in_block(
        self, low: float, width: float, base: float, offsets: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values between the equal steps, which are halved until they resolve the density."""
        while True:
            found = self._blocks[low, width]
            value, wrong, exponent, resolved = found.at(base, offsets)
            if resolved and found not in self._missed:
                self._missed[found] = self._between(low, width, found)
            missed, is_little = self._missed.get(found, (0.0, False))
            if found.block.spacing == _LAST_SPACING or (resolved and is_little):
                self._keep_spacing(found.block.spacing)
                return value, wrong + missed, exponent
            between = self._again(found.block.between(), found)
            self._blocks[low, width] = self._seen(found.interleaved(between))

    def _between(self, low: float, width: float, found: Sums) -> tuple[float, bool]:
        """What sums miss of others between them beyond their errors, in their own units, and
        whether that is of no account.

        Waves that turn by a whole number at each step are seen there only.
        """
        spacing = found.block.spacing
        fine = max(2.0 ** -(found.step + 1), 2.0 ** -(spacing + _FINER))
        offset = round(_ASIDE * 2.0**-spacing / fine) * fine
        aside = Block(low + offset, _CHECKED, max(int(width * 2.0**_CHECKED), 1))
        sums = self._again(aside, found)
        value, wrong, exponent, _ = found.at(low, np.array(aside.places) - low)
        exact, sizes = (in_doubles(balls, exponent) for balls in (sums.values, sums.sizes))
        missed = float((np.abs(value - exact) - wrong - sums.worst * sizes).max())
        return _MISSED * max(missed, 0.0), missed <= RESOLVED * float(np.abs(exact).max())

    def _seen(self, found: Sums) -> Sums:
        """The sums, whose largest value is noted unless they are all error."""
        if found.worst < _KNOWN:
            self._top = self._highest(found.sizes, found.block)
        return found

    # --- bits, lengths and steps ------------------------------------------------------------------

    def _refined(
        self, block: Block, angle: float, *, first: int | None = None, most: float = MOST_TERMS
    ) -> Sums | None:
        """Sums of smaller and smaller steps; None where their terms do not end, or are too many."""
        span = self._span(block, angle, self._depth)
        if span is None:
            return None
        step = self._first if first is None else first
        coarse: list[Ball] | None = None
        parts: list[Piece] = []
        best: Sums | None = None
        before = np.inf
        while step <= _LAST_STEP:
            span = self._span(block, angle, self._depth)
            if span is None:
                return best
            if coarse is None:
                if first is None:
                    step = max(self._expected_step(block, angle, span, self._depth), step)
                parts = self._pieces(block, angle, span, step)
            if sum(p.terms(step + 1) for p in parts) > most:
                return best
            if coarse is None:
                coarse = self._summed(block, angle, step, parts, shifted=False)
                if self._asks_for_more(coarse, block, span):
                    coarse = None
                    continue
            between = self._summed(block, angle, step, parts, shifted=True)
            with working(self._bits):
                values = [(a + b) / 2 for a, b in zip(coarse, between, strict=True)]
                apart = [abs(a - b).upper() / 2 for a, b in zip(coarse, between, strict=True)]
                sizes = self._sizes(values, block)
                seen = max(ratio(a, z) for a, z in zip(apart, sizes, strict=True))
            if self._asks_for_more(values, block, span):
                coarse = None
                continue
            blur, cancelled = self._lost(values, block, span)
            # What is cut off falls from there on, at least like z, or like the exponential.
            cut = float(np.exp(min(cancelled - self._depth, 0.0)))
            found = Sums(block, values, sizes, seen + blur + cut, angle, step)
            if best is None or found.worst < best.worst:
                best = found
            largest = max(log_of(a) for a in apart)
            stalled = before - _LEAST_GAIN < largest < span.peak - _CONVERGES
            if best.worst <= GOOD:
                fallen = span.peak - largest
                if fallen > self._depth - _UNSEEN or seen < blur * np.exp(_UNSEEN):
                    fallen = np.inf
                self._learn(block, angle, span, step, fallen, cancelled - np.log(GOOD))
            if best.worst <= GOOD or stalled:
                return best
            coarse, step, before = values, step + 1, largest
        return best

    def _summed(
        self, block: Block, angle: float, step: int, parts: list[Piece], *, shifted: bool
    ) -> list[Ball]:
        """The sums at all radii of a block, at log z = n h or half a step further."""
        total = [flint.arb(0)] * block.count
        for piece in parts:
            h = 2.0**-step * piece.coarser
            first, last = int(np.floor(piece.low / h)), int(np.ceil(piece.high / h))
            s = [(n + 0.5 * shifted) * h for n in range(first, last + 1)]
            with working(self._bits):
                sums = self._of_piece(block, angle, piece, s)
                total = [t + h * x for t, x in zip(total, sums, strict=True)]
        return total

    def _of_piece(self, block: Block, angle: float, piece: Piece, s: list[float]) -> list[Ball]:
        """The sum of a part over some s = log z at all radii of a block."""
        strand = self._strand(angle, piece.of)
        ray, waves = strand.windowed(self._bits, *piece.edges), strand.waves(self._bits)
        sums = over_block(ray, s, block, waves)
        if strand.weight is None:
            return sums
        return [v * strand.weight(x) for v, x in zip(sums, block.places, strict=True)]

    def _sizes(self, values: list[Ball], block: Block) -> list[Ball]:
        """The envelope; beyond the largest value known what is negligible is not resolved."""
        sizes = _envelope(values)
        place, top = self._highest(sizes, block)
        return [
            max(
                size,
                self.floor * flint.arb(self.rise * x).exp(),
                *([top * IGNORED] if x > place else []),
            )
            for x, size in zip(block.places, sizes, strict=True)
        ]

    def _highest(self, sizes: list[Ball], block: Block) -> tuple[float, Ball]:
        """Where the largest value is that has been seen, and what it is."""
        i = max(range(len(sizes)), key=lambda i: sizes[i])
        here = (block.places[i], sizes[i])
        return here if self._top is None or sizes[i] > self._top[1] else self._top

    def _lost(self, values: list[Ball], block: Block, span: Span) -> tuple[float, float]:
        """What rounding leaves of the sums, and how far below their largest term they are."""
        with working(self._bits):
            sizes = self._sizes(values, block)
            blur = max(ratio(v.rad(), z) for v, z in zip(values, sizes, strict=True))
            return blur, span.peak - min(log_of(z) for z in sizes)

    def _asks_for_more(self, values: list[Ball], block: Block, span: Span) -> bool:
        """Take as many bits, and sums as long, as what cancels asks for."""
        blur, cancelled = self._lost(values, block, span)
        more_bits, more_depth = blur > _BLUR, cancelled + DEPTH > self._depth
        if self._bits >= LARGEST_BITS or not (more_bits or more_depth):
            return False
        if more_bits:
            bits = min(np.log2(blur / _BLUR), _BITS_AT_ONCE)
            self._bits += _BITS_APART * int(np.ceil(bits / _BITS_APART))
        if more_depth:
            # A little more, so that the next look is the last one.
            self._depth += min(cancelled + DEPTH + _SLACK - self._depth, _DEPTH_AT_ONCE)
        return True


def _envelope(values: list[Ball]) -> list[Ball]:
    """The largest of neighbouring sizes: a density may pass through zero at a node."""
    sizes = [abs(v).mid() for v in values]
    return [max(sizes[max(i - _NEIGHBOURS, 0) : i + _NEIGHBOURS + 1]) for i in range(len(sizes))]


def as_sampled(
    dim: int,
    value: FloatArray,
    wrong: FloatArray,
    exponent: FloatArray,
    base: float,
    offsets: FloatArray,
) -> Sampled:
    """rho = F/w at log w = base + offsets: a short logarithm of its size, and what that leaves."""
    with working(SURVEY_BITS):
        before = front(dim, SURVEY_BITS)
        units, logs = [], []
        for size, e, offset in zip(np.abs(value) + wrong, exponent, offsets, strict=True):
            x = flint.arb(base) + flint.arb(float(offset))
            scale = before * flint.arb(2) ** int(e)
            log = float(((flint.arb(float(size)) * scale).log() - x).mid())
            logs.append(float(np.round(8.0 * log) / 8.0))
            units.append(float((scale / (flint.arb(logs[-1]) + x).exp()).mid()))
    unit = np.array(units)
    return Sampled(value * unit, wrong * unit, np.array(logs))

r"""Radial densities as sums along a ray, with an error that is observed.

.. math:: w \rho(w) = \frac{2^{1-d/2}}{\Gamma(d/2)} \Re\, h\sum_n k(z_n)\,G(w z_n),
          \qquad z_n = e^{nh + i\psi},\quad G(y) = y^{d/2+1} H_{d/2-1}(y).

G depends on log w + log z only, so that the sums at equal steps of log w are one product of two
polynomials, and N + M values of G serve N M terms.  A sum is known by its ball, which holds all
rounding and all cancellation, and by what half the step changes; the angle, the step, the bits and
the length are tried until both are small.  On the real axis, angle 0, J stands in the place of H,
and nothing has to be continued.  Between the equal steps a density is interpolated.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import flint
import numpy as np

from spectra.errors import NoRouteError
from spectra.numeric import FloatArray
from spectra.quadrature import NODES
from spectra.transform.rays.blocks import Block, Sums, over_block
from spectra.transform.rays.grid import RESOLVED, Grid
from spectra.transform.rays.hankel import hankel_waves
from spectra.transform.rays.plane import SURVEY_BITS, Plane
from spectra.transform.rays.precision import Ball, front, log_of, ratio, working
from spectra.transform.rays.sampled import Sampled, Sampler
from spectra.transform.rays.spans import Spans
from spectra.transform.rays.windows import Piece, Span, Window, Windowed, pieces

__all__ = ["RaySums"]

# Errors below this share of the value are as good as any: series on panels keep 1e-14.
_GOOD = 2e-15
# Terms below exp(-46) of what is sought are left out: 1e-20.
_DEPTH = 46.0
_KNOWN = 0.1
# What rounding may leave of a value; more bits are taken in steps.
_BLUR = 1e-18
# Beyond exp(-102) of the largest w |rho| no digit is asked for; panels end at exp(-96).
_IGNORED = float(np.exp(-102.0))
_BITS_AT_ONCE, _BITS_APART, _DEPTH_AT_ONCE, _SLACK = 512.0, 128, 200.0, 4.0
_NEIGHBOURS = 2
# Steps 2^-k: to the last, and while the sum has no more than this many terms.
_LAST_STEP, _MOST_TERMS = 14, 200000
# Where sums converge, half a step that gains fewer e-folds says that something else is wrong.
_LEAST_GAIN, _CONVERGES = 2.0, 8.0
# Densities are summed over so many e-folds of the radius at once, at steps 2^-k of log w; over more
# of them, at wider steps, where no wave turns: as many as w^d gains exp(128) on, and on which what
# falls loses exp(12).
_BLOCK, _WIDEST, _FIRST_SPACING, _CALM_SPACING, _LAST_SPACING = 0.5, 4.0, 5, 4, 10
_RISE, _FALL = 128.0, 12.0
# A look is at so many of those.
_LOOKED_AT = 4
# A grid is compared with sums at so many radii an e-fold, beside it by that share of its steps, on
# places that sums of the kernel share where they can; what it misses there it may miss elsewhere,
# so many times.
_CHECKED, _ASIDE, _FINER, _MISSED = 3, 0.38, 3, 2.0
_MOST_BITS = 8192
_LARGEST = 700.0
# The half-line serves without a look at other angles where it has no more terms than that, which
# cost what the look does.
_FEW_TERMS = 8000
# Errors less than exp(8) above what is cut off, or rounded, may be that; steps are then tried 4
# times as long.
_UNSEEN, _LONGER = 8.0, 4.0
# The kernel is taken to be analytic so far beside the half-line, until that is seen.
_STRIP = 0.2


class RaySums(Sampler):
    """Values of a density at the nodes of panels of log w, whose ends are dyadic.

    Parameters
    ----------
    plane : Plane
        The kernel.
    dim : int
        Dimension d >= 1.
    """

    def __init__(self, plane: Plane, dim: int) -> None:
        self.plane, self.dim = plane, dim
        self._bits = SURVEY_BITS * (1 + (2 * dim) // SURVEY_BITS)
        self._depth = _DEPTH
        self._top: tuple[float, Ball] | None = None
        self._grids: dict[tuple[float, float], tuple[Block, Sums, Grid]] = {}
        self._width = _BLOCK
        self._spacing = _FIRST_SPACING
        self._rooms: dict[float, float] = {}
        self._first = plane.resolution
        self._spans = Spans(plane, dim)
        self._strip = max((_STRIP, *plane.angles(dim)))
        self._missed: dict[tuple[float, float, int], tuple[float, bool]] = {}
        # Waves turn beyond it.
        self._border = float(np.floor(-plane.reach.scale / _BLOCK) * _BLOCK)
        self._windowed: dict[tuple[float, int, Window], Windowed] = {}

    def on_panel(self, low: float, high: float, power: float | None = None) -> Sampled:
        """Values at the nodes of a panel, or of one that is linear in w where a power is given."""
        if power is None:
            base, offsets = low, 0.5 * (high - low) * (1.0 + NODES)
        else:
            base, offsets = high, np.log(0.5 * (1.0 + NODES))
        value, wrong, exponent = (np.empty(offsets.size) for _ in range(3))
        left = np.ones(offsets.size, dtype=bool)
        while left.any():
            low, width = self._covering(float((base + offsets[left]).min()))
            here = left & (base + offsets < low + width)
            found = self._in_block(low, width, base, offsets[here])
            value[here], wrong[here], exponent[here] = found
            left &= ~here
        return self._sampled(value, wrong, exponent, base, offsets)

    def look(self, x: float) -> tuple[Sampled, FloatArray]:
        """Values at a few radii from log w = x on, and their log w: sums, and nothing between."""
        block = Block(x, _FIRST_SPACING, _LOOKED_AT)
        grid = self._grid(block, self._best(block))
        places = np.array(block.places)
        exponent = grid.exponent.astype(float)
        return self._sampled(grid.mantissa, grid.error, exponent, x, places - x), places

    def _sampled(
        self, value: FloatArray, wrong: FloatArray, exponent: FloatArray, base: float, t: FloatArray
    ) -> Sampled:
        """rho = F/w, its size a short logarithm and what that leaves a double."""
        with working(SURVEY_BITS):
            before = front(self.dim, SURVEY_BITS)
            units, logs = [], []
            for size, e, offset in zip(np.abs(value) + wrong, exponent, t, strict=True):
                x = flint.arb(base) + flint.arb(float(offset))
                scale = before * flint.arb(2) ** int(e)
                log = float(((flint.arb(float(size)) * scale).log() - x).mid())
                logs.append(float(np.round(8.0 * log) / 8.0))
                units.append(float((scale / (flint.arb(logs[-1]) + x).exp()).mid()))
        unit = np.array(units)
        return Sampled(value * unit, wrong * unit, np.array(logs))

    def _covering(self, x: float) -> tuple[float, float]:
        """The lower end and the width of a block with a place: one that is known, or the next."""
        for low, width in self._grids:
            if low <= x < low + width:
                return low, width
        before = x < self._border
        width = self._width if before or self.plane.is_tame(self.dim) else _BLOCK
        while before and np.floor(x / width) * width + width > self._border:
            width /= 2.0
        return float(np.floor(x / width) * width), width

    def _next_width(self, block: Block, found: Sums, width: float) -> float:
        """Up to twice as many e-folds, as far as a density that rises or falls so fast allows."""
        logs = np.array([log_of(size) for size in found.sizes])
        falls = -np.diff(logs[np.isfinite(logs)]) * 2.0**block.spacing
        most = min(2.0 * width, _WIDEST, _RISE / self.dim, _FALL / max(falls.max(initial=0.0), 1.0))
        return float(2.0 ** np.floor(np.log2(max(most, _BLOCK))))

    def _in_block(
        self, low: float, width: float, base: float, offsets: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values between the equal steps, which are halved until they resolve the density."""
        place = (low, width)
        if place not in self._grids:
            first = _CALM_SPACING if width > _BLOCK else _FIRST_SPACING
            block = Block.over(low, width, max(self._spacing - 1, first))
            found = self._best(block)
            self._width = self._next_width(block, found, width)
            self._grids[place] = (block, found, self._grid(block, found))
        while True:
            block, found, grid = self._grids[place]
            value, wrong, exponent, resolved = grid.at(base, offsets)
            key = (low, width, block.spacing)
            if resolved and key not in self._missed:
                self._missed[key] = self._between(low, width, block, found, grid)
            missed, is_little = self._missed.get(key, (0.0, False))
            if block.spacing == _LAST_SPACING or (resolved and is_little):
                # The neighbours of wide steps would reach far beyond a block that needs small ones.
                self._spacing = block.spacing
                return value, wrong + missed, exponent
            halved, sums = block.halved(), found.interleaved(self._again(block.between(), found))
            self._grids[place] = (halved, sums, self._grid(halved, sums))

    def _between(
        self, low: float, width: float, block: Block, found: Sums, grid: Grid
    ) -> tuple[float, bool]:
        """What the grid misses of sums that are not on it beyond its errors, in its own units, and
        whether that is of no account.

        Waves that turn by a whole number at each step are seen there only.
        """
        fine = max(2.0 ** -(found.step + 1), 2.0 ** -(block.spacing + _FINER))
        offset = round(_ASIDE * 2.0**-block.spacing / fine) * fine
        aside = Block(low + offset, _CHECKED, int(width * 2.0**_CHECKED))
        sums = self._again(aside, found)
        value, wrong, exponent, _ = grid.at(low, np.array(aside.places) - low)
        with working(SURVEY_BITS):
            units = [flint.arb(2) ** -int(e) for e in exponent]
            exact = np.array(
                [float((v * u).mid()) for v, u in zip(sums.values, units, strict=True)]
            )
            sizes = np.array([float((z * u).mid()) for z, u in zip(sums.sizes, units, strict=True)])
        missed = float((np.abs(value - exact) - wrong - sums.worst * sizes).max())
        return _MISSED * max(missed, 0.0), missed <= RESOLVED * float(np.abs(exact).max())

    def _grid(self, block: Block, found: Sums) -> Grid:
        # What is all error says nothing of what is negligible elsewhere.
        if found.worst < _KNOWN:
            self._top = self._highest(found.sizes, block)
        ln2 = float(np.log(2.0))
        exponent = [round(log_of(z) / ln2) if z > 0 else -_MOST_BITS for z in found.sizes]
        with working(SURVEY_BITS):
            units = [flint.arb(2) ** -e for e in exponent]
            value = [float((v * u).mid()) for v, u in zip(found.values, units, strict=True)]
            size = [float((z * u).mid()) for z, u in zip(found.sizes, units, strict=True)]
        return Grid(
            block.start,
            2.0**-block.spacing,
            np.array(value),
            np.array(exponent),
            found.worst * np.array(size),
        )

    def _best(self, block: Block) -> Sums:
        """The first sums that are good, or else the best."""
        best: Sums | None = None
        for angle, most in self._order(block):
            found = self._on_ray(block, angle, most=most)
            if found is not None and (best is None or found.worst < best.worst):
                best = found
            if best is not None and best.worst <= _GOOD:
                return best
        return self._reached(block, best)

    def _again(self, block: Block, found: Sums) -> Sums:
        """Sums over another block as those that were found."""
        sums = self._on_ray(block, found.angle, first=found.step)
        return self._reached(block, sums)

    def _reached(self, block: Block, sums: Sums | None) -> Sums:
        if sums is None:
            raise NoRouteError(
                f"The density of {self.plane.kernel.expr} is not reached near log w = "
                f"{block.start:.4g}: the kernel is singular, or grows, too close to the real axis. "
                "A callable with decay= or support= is read by its values (docs/callables.md)."
            )
        return sums

    def _order(self, block: Block) -> Iterator[tuple[float, float]]:
        """The angles, those first that are expected to take the fewest terms, and how many terms
        each may take: as many as the next one is expected to; in the end as many as can be."""
        ends = bool(np.isfinite(self.plane.reach.end))
        on_axis = self._span(block, 0.0) if ends else None
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
            yield angle, _MOST_TERMS

    def _expected_terms(self, block: Block, angle: float, largest: float) -> float:
        """As many as would take that long; terms larger than on the axis take more bits."""
        span = self._span(block, angle)
        if span is None:
            return np.inf
        lost = max(span.peak - largest, 0.0)
        if not lost < _MOST_BITS:
            return np.inf
        depth = max(self._depth, _DEPTH + lost)
        span = self._spans.over(block.ends, angle, depth)
        if span is None:
            return np.inf
        step = self._expected_step(block, angle, span, depth)
        terms = sum(p.terms(step + 1) for p in self._pieces(block, angle, span, step))
        return float(terms * (1.0 + lost / (np.log(2.0) * self._bits)) ** 2)

    def _expected_step(self, block: Block, angle: float, span: Span, depth: float) -> int:
        """The error is exp(-2 pi a/h), times exp(w z a) where the ray is the half-line itself."""
        wanted = depth - _DEPTH - np.log(_GOOD)
        room = self._rooms.get(angle, wanted / (angle or self._strip))
        if not angle:
            room += self._phase(block, span)
        return max(int(np.ceil(np.log2(room / (2.0 * np.pi)))), self._first)

    def _phase(self, block: Block, span: Span) -> float:
        """w z where half of the decay is left to do."""
        return float(np.exp(min(block.ends[1] + span.half, _LARGEST)))

    def _pieces(self, block: Block, angle: float, span: Span, step: int) -> list[Piece]:
        if angle:
            return [Piece(Window(None, None), 1, span.low, span.high)]
        return pieces(span, self._phase(block, span), self._depth, step, self._first)

    def _learn(
        self, block: Block, angle: float, span: Span, step: int, fallen: float, needed: float
    ) -> None:
        """Keep what 2 pi/h must be, beside the waves, where the error of a step has fallen so far;
        infinitely far where it is not seen, and longer steps, which may do as well, are tried."""
        room = 2.0 * np.pi * 2.0**step - (0.0 if angle else self._phase(block, span))
        if room > 0.0 and fallen > 0.0:
            self._rooms[angle] = room * min(max(needed / fallen, 1.0 / _LONGER), 1.0)

    def _on_ray(
        self, block: Block, angle: float, *, first: int | None = None, most: float = _MOST_TERMS
    ) -> Sums | None:
        """Sums of smaller and smaller steps; None where their terms do not end, or are too many."""
        span = self._span(block, angle)
        if span is None:
            return None
        step = self._first if first is None else first
        coarse: list[Ball] | None = None
        parts: list[Piece] = []
        best: Sums | None = None
        before = np.inf
        while step <= _LAST_STEP:
            span = self._span(block, angle)
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
            found = Sums(values, sizes, seen + blur + cut, angle, step)
            if best is None or found.worst < best.worst:
                best = found
            largest = max(log_of(a) for a in apart)
            stalled = before - _LEAST_GAIN < largest < span.peak - _CONVERGES
            if best.worst <= _GOOD:
                fallen = span.peak - largest
                if fallen > self._depth - _UNSEEN or seen < blur * np.exp(_UNSEEN):
                    fallen = np.inf
                self._learn(block, angle, span, step, fallen, cancelled - np.log(_GOOD))
            if best.worst <= _GOOD or stalled:
                return best
            coarse, step, before = values, step + 1, largest
        return best

    def _sizes(self, values: list[Ball], block: Block) -> list[Ball]:
        """The envelope; beyond the largest value known what is negligible is not resolved."""
        sizes = _envelope(values)
        place, top = self._highest(sizes, block)
        return [
            max(size, top * _IGNORED) if x > place else size
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
        more_bits, more_depth = blur > _BLUR, cancelled + _DEPTH > self._depth
        if self._bits >= _MOST_BITS or not (more_bits or more_depth):
            return False
        if more_bits:
            bits = min(np.log2(blur / _BLUR), _BITS_AT_ONCE)
            self._bits += _BITS_APART * int(np.ceil(bits / _BITS_APART))
        if more_depth:
            # A little more, so that the next look is the last one.
            self._depth += min(cancelled + _DEPTH + _SLACK - self._depth, _DEPTH_AT_ONCE)
        return True

    def _summed(
        self, block: Block, angle: float, step: int, parts: list[Piece], *, shifted: bool
    ) -> list[Ball]:
        """h sum k G at all radii of a block, at z = exp(n h) or half a step further."""
        waves = hankel_waves(self.dim, angle, self._bits)
        total = [flint.arb(0)] * block.count
        for piece in parts:
            h = 2.0**-step * piece.coarser
            first, last = int(np.floor(piece.low / h)), int(np.ceil(piece.high / h))
            s = [(n + 0.5 * shifted) * h for n in range(first, last + 1)]
            with working(self._bits):
                sums = over_block(self._values(angle, piece.window), s, block, waves)
                total = [t + h * x for t, x in zip(total, sums, strict=True)]
        return total

    def _values(self, angle: float, window: Window) -> Windowed:
        key = (angle, self._bits, window)
        if key not in self._windowed:
            self._windowed[key] = Windowed(self.plane.ray(angle, self._bits), window)
        return self._windowed[key]

    def _span(self, block: Block, angle: float) -> Span | None:
        return self._spans.over(block.ends, angle, self._depth)


def _envelope(values: list[Ball]) -> list[Ball]:
    """The largest of neighbouring sizes: a density may pass through zero at a node."""
    sizes = [abs(v).mid() for v in values]
    found = []
    for i in range(len(sizes)):
        near = sizes[max(i - _NEIGHBOURS, 0) : i + _NEIGHBOURS + 1]
        found.append(max(near))
    return found

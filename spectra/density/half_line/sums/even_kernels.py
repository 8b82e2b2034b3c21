r"""Densities of even analytic kernels in odd dimension, by the trapezoidal rule on the whole line.

In odd d the wave of a kernel is elementary, and even as a function of z:

.. math:: \rho(w) = \frac{2^{(3-d)/2}}{\sqrt\pi\,\Gamma(d/2)} \int_0^\infty k(z)\,B(wz)\,dz,
          \qquad B_{-1} = \cos y,\; B_0 = y\sin y,\; B_{n+1} = (2n+1)B_n - y^2 B_{n-1},

with B = B_n and n = (d - 3)/2.  Where k is even and analytic for \|Im z\| < a, equal steps h of z
err by exp(-a (2 pi/h - w)), and one set of values serves all w.  A sum is known by its ball, which
holds all rounding and all cancellation, and by what half the step changes.  Steps are never longer
than those from which the kernel itself is read between its values, so that no wave is taken for
one of another frequency.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import flint
import numpy as np

from spectra.base.caching import kept
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, front, log_of, ratio, working
from spectra.density.continuation.analytic_region import SURVEY_BITS, AnalyticRegion
from spectra.density.half_line.sums.sampled import Sampled, Sampler, envelope, sampled
from spectra.errors import NoRouteError

__all__ = ["EvenSums"]

# Errors below this share of the value are as good as any: series on panels keep 1e-14.
_GOOD = 2e-15
# Terms below exp(-46) of what is sought are left out, and more of them in steps of so many e-folds.
_DEPTH, _DEEPER = 46.0, 32.0
# What rounding may leave of a value; more bits are taken in steps.
_BLUR, _BITS_APART, _MOST_BITS = 1e-18, 64, 4096
# Beyond exp(-102) of the largest w |rho| no digit is asked for; panels end at exp(-96).
_IGNORED = 102.0
# The kernel between its values is known to that share of its largest one.
_READ = 1e-21
# Places at which it is read, at multiples of the golden ratio, which no step divides.
_PLACES, _GOLDEN = 12, 0.6180339887498949
# Of pi/h at which the kernel is resolved, exp(-48), so much is left above w; more where it does not
# suffice.
_FIRST_SHARE, _LAST_SHARE = 0.25, 4.0
_LARGEST_LOSS = 1000.0
_FIRST_STEPS, _MOST_TERMS = 16, 30_000
# Above, waves have so many terms that one ray takes less time.
_HIGHEST_DIMENSION = 7
# Sizes are looked at at these steps of log z, from so far below the scale until so many in
# turn are negligible.
_LOOK, _BEFORE, _ENDED = 1.0 / 16.0, 6.0, 8


class EvenSums(Sampler):
    """Values of a density at the nodes of panels of log w.

    Parameters
    ----------
    plane : Plane
        An even kernel that is analytic beside the line and decays fast.
    dim : int
        An odd dimension.
    """

    def __init__(self, plane: AnalyticRegion, dim: int) -> None:
        self.plane, self.dim = plane, dim
        self._bits = SURVEY_BITS
        self._depth = _DEPTH + _DEEPER
        self._top = -np.inf
        self._share = _FIRST_SHARE

    @staticmethod
    def serves(plane: AnalyticRegion, dim: int) -> bool:
        """Whether dimension and kernel are of the kind."""
        ends = plane.decays_fast
        return ends and dim % 2 == 1 and dim <= _HIGHEST_DIMENSION and plane.is_even

    def at_nodes(self, base: float, offsets: FloatArray, power: float) -> Sampled:
        """Values, each a sum of its own."""
        x = base + offsets
        # What a power takes to 0 is compared with its neighbours without it.
        weights = -power * (offsets - offsets.max())
        best = self._summed(base, offsets, self._first_step(x.max()), weights)
        while best[0] > _GOOD and self._share < _LAST_SHARE:
            self._share *= 2.0
            best = min(
                best,
                self._summed(base, offsets, self._first_step(x.max()), weights),
                key=lambda f: f[0],
            )
        self._top = max(
            self._top, max(float(t) + log_of(v) for t, v in zip(x, best[1], strict=True))
        )
        return sampled(best[1], best[2])

    @cached_property
    def _resolving(self) -> int:
        """Steps 2^-j from which the kernel is read between its values:
        k(z) = sum_n k(n h) sinc(z/h - n)."""
        scale, end = self.plane.scale, float(np.exp(self.plane.end))
        j = int(
            np.ceil(max(np.log2(_FIRST_STEPS) - scale / np.log(2.0), -np.log2(self.plane.finest)))
        )
        with working(SURVEY_BITS):
            places = [flint.arb(end * ((i * _GOLDEN) % 1.0)) for i in range(1, _PLACES + 1)]
            exact = [self.plane.kernel(flint.acb(z), SURVEY_BITS).real for z in places]
            while True:
                count = _whole(self._range(-np.inf, _DEPTH + _DEEPER)[1] * 2.0**j)
                if count > _MOST_TERMS:
                    raise NoRouteError(
                        f"The kernel {self.plane.kernel.expr} is not known between "
                        f"{_MOST_TERMS} values: it is singular too close to the line."
                    )
                terms = [self._value(self._bits, n * 2.0**-j) for n in range(count)]
                read = [_between(terms, z * flint.arb(2) ** j) for z in places]
                wrong = max(abs(a - b).upper() for a, b in zip(read, exact, strict=True))
                if wrong <= _READ * max(abs(t) for t in (*exact, *terms)).upper():
                    return j
                j += 1

    def _first_step(self, x: float) -> int:
        """The fine steps are 2^-j; the coarse ones, twice as long, are as they should be."""
        room = 2.0 * float(np.exp(x)) + self._share * np.pi * 2.0**self._resolving
        return max(self._resolving, int(np.ceil(np.log2(room / np.pi))))

    def _summed(
        self, base: float, offsets: FloatArray, step: int, weights: FloatArray
    ) -> tuple[float, list[Ball], list[Ball]]:
        """Values and bounds of their errors, and the worst error of all beside the envelope."""
        x = base + offsets
        while True:
            peak, last = self._range(float(x.max()), self._depth)
            count = _whole(last * 2.0**step)
            if count > _MOST_TERMS:
                raise NoRouteError(
                    f"The density of {self.plane.kernel.expr} in d = {self.dim} takes more than "
                    f"{_MOST_TERMS} values of the kernel: it is singular too close to the line."
                )
            with working(self._bits):
                w = [(flint.arb(base) + flint.arb(float(t))).exp() for t in offsets]
                pairs = self._pairs(w, step, count)
                values = [fine for _, fine in pairs]
                logs = envelope([log_of(v) for v in values], weights)
                # Beyond the largest value known what is negligible is not resolved.
                top = self._top if self._top > -np.inf else peak - _IGNORED
                floor = max(top, float((logs + x).max())) - _IGNORED
                logs = np.maximum(logs, floor - x)
                sizes = [flint.arb(size).exp() for size in logs]
                blur = max(ratio(v.rad(), z) for v, z in zip(values, sizes, strict=True))
                cancelled = peak - float(logs.min())
                if self._asks_for_more(blur, cancelled):
                    continue
                cut = float(np.exp(cancelled - self._depth))
                errors = [
                    abs(coarse - fine).upper() + cut * z
                    for (coarse, fine), z in zip(pairs, sizes, strict=True)
                ]
                worst = max(ratio(e, z) for e, z in zip(errors, sizes, strict=True))
            return worst, values, errors

    def _asks_for_more(self, blur: float, cancelled: float) -> bool:
        more_bits, more_depth = blur > _BLUR, cancelled + _DEPTH > self._depth
        if self._bits >= _MOST_BITS or not (more_bits or more_depth):
            return False
        if more_bits:
            lost = np.log2(min(blur, 2.0**_LARGEST_LOSS) / _BLUR)
            self._bits += _BITS_APART * int(np.ceil(lost / _BITS_APART))
        if more_depth:
            self._depth = cancelled + _DEPTH + _DEEPER
        return True

    def _range(self, log_w: float, depth: float) -> tuple[float, float]:
        """Logarithm of the largest term at most, and where terms are exp(-depth) of it."""
        axis = self.plane.ray(0.0, SURVEY_BITS)
        grow = 0.5 * (self.dim - 1)
        s, peak, below = self.plane.scale - _BEFORE, -np.inf, 0
        last = s
        while below < _ENDED or s < self.plane.end:
            term = axis.log_size(s) + s + grow * max(s + log_w, 0.0)
            peak = max(peak, term)
            last, below = (s, 0) if term > peak - depth else (last, below + 1)
            s += _LOOK
        return peak, float(np.exp(last + 2.0 * _LOOK))

    def _pairs(self, radii: list[Ball], step: int, count: int) -> list[tuple[Ball, Ball]]:
        """For each radius the sums of steps 2^(1-step) and 2^-step.

        sum_n a_n x^n = sum_i x^(bi) sum_(j<b) a_(bi+j) x^j: powers are taken one by one, because
        balls in the plane grow with every turn.
        """
        block = 4 * int(np.ceil(np.sqrt(count) / 4.0))
        turns = [(flint.acb(0, 1) * w * flint.arb(2) ** -step).exp() for w in radii]
        small = [_powers(x, block) for x in turns]
        large = [_powers(p[-1] * x, -(-count // block)) for p, x in zip(small, turns, strict=True)]
        found = [[flint.arb(0)] * 2 for _ in radii]
        for odd in (0, 1):
            columns = [[p[j] for p in small] for j in range(odd, block, 2)]
            waves = flint.arb_mat(
                [[x.real for x in row] + [x.imag for x in row] for row in columns]
            )
            values = self._in_blocks(self._bits, step, count, block, odd)
            for (power, sine, factor), matrix in zip(_wave(self.dim), values, strict=True):
                inner = matrix * waves
                for m, w in enumerate(radii):
                    total = flint.acb(0)
                    for i, turn in enumerate(large[m]):
                        total += turn * flint.acb(inner[i, m], inner[i, len(radii) + m])
                    found[m][odd] += w**power * factor * (total.imag if sine else total.real)
        # The wave is B times (2/pi)^(1/2).
        scale = (8 / flint.arb.pi()).sqrt() * flint.arb(2) ** -step * front(self.dim, self._bits)
        return [(scale * a, scale * (a + b) / 2) for a, b in found]

    @kept
    def _in_blocks(
        self, bits: int, step: int, count: int, block: int, odd: int
    ) -> list[flint.arb_mat]:
        """For each power of z in the wave: k z^power at even or at odd places, in rows."""
        h, found = 2.0**-step, []
        values = [self._value(bits, n * h) for n in range(count)]
        values[0] = values[0] / 2
        values += [flint.arb(0)] * (-count % block)
        for power, _, _ in _wave(self.dim):
            terms = [v * flint.arb(n * h) ** power for n, v in enumerate(values)]
            rows = [terms[i + odd : i + block : 2] for i in range(0, len(terms), block)]
            found.append(flint.arb_mat(rows))
        return found

    @kept
    def _value(self, bits: int, z: float) -> Ball:
        """k(z); at 0 beside it, where an even function differs by the square."""
        scale = float(np.exp(self.plane.scale))
        with working(bits + 16):
            at = flint.arb(z) if z else flint.arb(scale) * flint.arb(2) ** -bits
            return self.plane.kernel(flint.acb(at), bits).real


def _whole(count: float) -> int:
    """As many terms in steps of an eighth, so that other depths find what was computed."""
    step = 2.0 ** np.floor(np.log2(count) - 3.0)
    return int(np.ceil(count / step) * step)


def _powers(x: Ball, count: int) -> list[Ball]:
    """1, x, x^2, ..., each a product of two halves."""
    found = [flint.acb(1), x]
    for n in range(2, count):
        found.append(found[n // 2] * found[n - n // 2])
    return found[:count]


def _between(terms: list[Ball], place: Ball) -> Ball:
    """sum_n terms[|n|] sinc(place - n)."""
    total = terms[0] / place
    for n, term in enumerate(terms[1:], start=1):
        pair = 1 / (place - n) + 1 / (place + n)
        total += -term * pair if n % 2 else term * pair
    return total * (flint.arb.pi() * place).sin() / flint.arb.pi()


@lru_cache(maxsize=32)
def _wave(dim: int) -> tuple[tuple[int, bool, int], ...]:
    """B as terms (power of y, whether with sin y or with cos y, factor)."""
    before: dict[int, int] = {0: 1}  # cos y
    if dim == 1:
        return ((0, False, 1),)
    wave: dict[int, int] = {1: 1}  # y sin y
    for n in range((dim - 3) // 2):
        after = {p: (2 * n + 1) * c for p, c in wave.items()}
        for p, c in before.items():
            after[p + 2] = after.get(p + 2, 0) - c
        before, wave = wave, after
    # Even multiples of y go with cos y, odd ones with sin y, in turn.
    return tuple((p, bool(p % 2), c) for p, c in sorted(wave.items()) if c)

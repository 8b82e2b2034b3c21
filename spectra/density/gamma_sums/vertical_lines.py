r"""A radial density from its Mellin transform, by sums on vertical lines.

.. math:: \rho(w) = \sum_{poles\ passed} (\dots) w^{-u_p}
          + \frac{h}{2\pi}\sum_j R(c + i h j)\,w^{-c-ihj}

The trapezoidal rule is exact but for the images of rho at w exp(2 pi m / h), which neighbouring
lines bound.  Every line gives rho at every w; near the saddle point of w nothing cancels, so the
line with the least bound is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Radial
from spectra.density.gamma_sums.poles import Pole, RadialMellin

__all__ = ["Line", "best_of", "lines_of"]

ComplexArray = NDArray[np.complex128]

# Lines this many standard deviations of log w apart lose a factor exp(0.08) between them.
_LINE_STEP = 0.8
# Poles passed on each side; beyond so many the expansion has long been exact, or diverges.
POLES = 20
_MOST_LINES = 400
# Poles closer than this leave no room for a line between them.
_LEAST_GAP = 0.1
# Images are wanted below exp(-41) = 1e-18.
_IMAGES = 41.0
# The share of the distance to a pole by which the lines that bound the images are moved.
_MOVE = 0.85
# Beyond so many deviations a neighbouring line no longer bounds the images any better.
_WIDEST_MOVE = 9.0
# The absolute sums that bound the images are integrals only to a factor.
_MARGIN_OF_IMAGES = 1.0
# Lines run here between two poles: the middle is often a zero of R, where its logarithm is -inf.
_BETWEEN = 0.4613
# Inner lines keep this share of the strip (or of 1) away from its poles.
_MARGIN = 0.2
# A line ends where R is below this share of its largest value.
_END = 1e-19
_BLOCK = 64
_MOST_NODES = 12_000
# A complex logarithm of Gamma errs by about its rounding; found by comparison with 40 digits.
_GAMMA_ROUNDING = 1.5 * EPS
# Without poles on the right, lines are followed until the density is below exp(-230) = 1e-100.
_DEPTH = 230.0


@dataclass(frozen=True, eq=False)
class Line(Radial):
    """Samples of R on Re u = place, and the poles between it and the strip.

    As an ending it is the sum over these poles alone, and the line is the error of that.

    Attributes
    ----------
    place : float
    t, samples : ndarray
        Heights, and h R / (2 pi exp(log_scale)); doubled where the lower half is the conjugate.
    log_scale, log_size : float
        ``log_size`` is the logarithm of the sum of the absolute samples.
    error : float
        Rounding and truncation of the samples, relative to exp(log_size).
    height : float
        Mean of abs(t), weighted by the absolute samples.
    move, log_images : float
        The images are below exp(log_images[0] - (place - move) x) + exp(log_images[1] -
        (place + move) x) at x = log w.
    poles : tuple of Pole
        The poles that were passed, with what each adds to rho.
    """

    place: float
    t: FloatArray
    samples: ComplexArray
    log_scale: float
    log_size: float
    error: float
    height: float
    move: float
    log_images: tuple[float, float]
    poles: tuple[Pole, ...]

    def log_bound(self, x: FloatArray) -> FloatArray:
        """Logarithm of the sum of the absolute terms, at x = log w."""
        return np.asarray(np.logaddexp(self.log_size - self.place * x, self.power_sum(x)[1]))

    def log_error(self, x: FloatArray) -> FloatArray:
        """Logarithm of a bound of the error at x = log w, where x itself is exact."""
        size = self.log_size - self.place * x
        exponents = np.abs(self.place * x) + abs(self.log_scale) + np.abs(size)
        relative = self.error + EPS * (8.0 + exponents + self.height * (1.0 + np.abs(x)))
        below = self.log_images[0] - (self.place - self.move) * x
        above = self.log_images[1] - (self.place + self.move) * x
        total = np.logaddexp(size + np.log(relative), np.logaddexp(below, above))
        if self.poles:
            powers = self.power_sum(x)[1]
            steepest = max(abs(float(p.place)) for p in self.poles)
            # Logarithms of coefficients and of their sum are rounded as often as they are large.
            largest = max(abs(p.log_scale) for p in self.poles)
            count = 8.0 + len(self.poles) + largest
            terms = count + 2.0 * steepest * np.abs(x) + 2.0 * np.abs(powers)
            total = np.logaddexp(total, powers + np.log(EPS * terms))
        return np.asarray(total)

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| of the poles; -inf without any, where rho is below every use."""
        mantissa, size = self.power_sum(np.log(w))
        with np.errstate(divide="ignore"):
            return np.sign(mantissa), np.log(np.abs(mantissa)) + size

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """The sum of absolute powers and of the line."""
        return self.log_bound(np.log(w))

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error of the poles alone, relative to the envelope; 1 without any."""
        y = np.log(w)
        size = self.log_bound(y)
        steepest = max((abs(float(p.place)) for p in self.poles), default=0.0)
        largest = 16.0 + max((abs(p.log_scale) for p in self.poles), default=0.0)
        rounding = EPS * (largest + 4.0 * np.abs(size) + 4.0 * steepest * (1.0 + np.abs(y)))
        return np.asarray(rounding + np.exp(self.log_size - self.place * y - size))

    def power_sum(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the poles add at x = log w, as mantissa and log of the sum of absolute terms."""
        if not self.poles:
            return np.zeros_like(x), np.full_like(x, -np.inf)
        signs, logs = [], []
        for pole in self.poles:
            value = np.zeros_like(x)
            size = np.zeros_like(x)
            factor = 1.0
            for m, c in enumerate(pole.coefficients):
                value = value + c * factor * (-x) ** m
                size = size + abs(c) * factor * np.abs(x) ** m
                factor /= m + 1.0
            some = size > 0.0
            signs.append(np.divide(value, size, out=np.zeros_like(x), where=some))
            log = np.log(size, out=np.full_like(x, -np.inf), where=some)
            logs.append(log + (pole.log_scale - float(pole.place) * x))
        total = np.logaddexp.reduce(logs, axis=0)
        mantissa = np.zeros_like(x)
        for sign, log in zip(signs, logs, strict=True):
            mantissa += sign * np.exp(log - total)
        return mantissa, np.asarray(total)

    def values(self, x: FloatArray, log_unit: FloatArray) -> FloatArray:
        """rho at x = log w, divided by exp(log_unit)."""
        waves = np.exp(-1j * np.outer(x, self.t)) @ self.samples
        value = waves.real * np.exp(self.log_scale - self.place * x - log_unit)
        powers, log_powers = self.power_sum(x)
        if self.poles:
            value = value + powers * np.exp(log_powers - log_unit)
        return np.asarray(value)


def lines_of(mellin: RadialMellin) -> tuple[Line, ...] | None:
    """Lines for every radius, sorted by place; None where R falls too slowly along them."""
    first, last = mellin.strip
    left = mellin.poles(-1, POLES)
    right = mellin.poles(1, POLES) if last is not None else []
    plan: list[tuple[float, float, tuple[Pole, ...]]] = []
    plan += [(place, room, ()) for place, room in _inner_places(mellin, first, last)]
    for found in (left, right):
        for k, (near, far) in enumerate(pairwise(found), start=1):
            gap = abs(float(far.place - near.place))
            if gap >= _LEAST_GAP:
                passed = tuple(p for p in found[:k] if any(p.coefficients))
                place = float(near.place) + _BETWEEN * float(far.place - near.place)
                plan.append((place, _BETWEEN * gap, passed))
    lines = []
    for place, room, passed in sorted(plan, key=lambda item: item[0]):
        line = _line(mellin, place, room, passed)
        if line is None:
            return None
        lines.append(line)
    if last is None:
        lines.extend(_deep_lines(mellin, lines[-1], float(first)))
    return tuple(lines)


def best_of(lines: Sequence[Line], x: FloatArray) -> NDArray[np.intp]:
    """The line with the least bound of its error at each x."""
    return np.asarray(np.argmin([line.log_error(x) for line in lines], axis=0))


def _inner_places(
    mellin: RadialMellin, first: sympy.Rational, last: sympy.Rational | None
) -> list[tuple[float, float]]:
    """Places inside the strip, with the room around them."""
    start = float(first)
    stop = float(last) if last is not None else start + 2.0
    width = stop - start
    middle = start + _BETWEEN * width
    margin = _MARGIN * min(width, 1.0)
    found = []
    for way in (-1.0, 1.0):
        place = middle
        while start + margin <= place <= stop - margin:
            room = min(place - start, stop - place)
            found.append((place, room))
            place += way * _step(mellin, place, 0.25 * width)
    return sorted(set(found))


def _step(mellin: RadialMellin, place: float, most: float) -> float:
    spread = mellin.spread(place)
    return most if spread == 0.0 else min(_LINE_STEP / spread**0.5, most)


def _deep_lines(mellin: RadialMellin, line: Line, first: float) -> Iterator[Line]:
    """Lines further and further to the right, until what they describe is negligible."""
    floor = None
    for _ in range(_MOST_LINES):
        place = line.place + _step(mellin, line.place, 0.25 * (line.place - first))
        following = _line(mellin, place, place - first, ())
        if following is None:
            return
        # The radius where both lines are equally good, and the mass there per unit of log w.
        x = (following.log_size - line.log_size) / (following.place - line.place)
        depth = float(following.log_size - following.place * x + x)
        floor = depth - _DEPTH if floor is None else max(floor, depth - _DEPTH)
        line = following
        yield line
        if depth < floor:
            return


def _line(mellin: RadialMellin, place: float, room: float, passed: tuple[Pole, ...]) -> Line | None:
    deviation = mellin.spread(place) ** 0.5
    move = _MOVE * room
    if not passed and move * deviation > _WIDEST_MOVE:
        move = _WIDEST_MOVE / deviation
    inner = 0.0 if passed else 0.5 * (move * deviation) ** 2
    step = 2.0 * np.pi * move / (_IMAGES + inner)
    samples = _samples(mellin, place, step)
    sides = [_samples(mellin, place + way * move, step) for way in (-1.0, 1.0)]
    if samples is None or sides[0] is None or sides[1] is None:
        return None
    below, above = (side[2] - 2.0 * np.pi * move / step for side in sides if side is not None)
    t, values, log_size, log_scale, error = samples
    size = np.abs(values)
    return Line(
        place=place,
        t=t,
        samples=values,
        log_scale=log_scale,
        log_size=log_size,
        error=error,
        height=float(size @ np.abs(t) / size.sum()),
        move=move,
        log_images=(below + _MARGIN_OF_IMAGES, above + _MARGIN_OF_IMAGES),
        poles=passed,
    )


def _samples(
    mellin: RadialMellin, place: float, step: float
) -> tuple[FloatArray, ComplexArray, float, float, float] | None:
    """Heights, samples, logarithms of their absolute sum and of their unit, and their error."""
    ways = (1.0,) if mellin.is_real else (1.0, -1.0)
    heights, logs, rounding = [], [], []
    for way in ways:
        start = 0 if way > 0 else 1
        peak = -np.inf
        while True:
            if start > _MOST_NODES:
                return None
            t = way * step * np.arange(start, start + _BLOCK)
            values, sizes = mellin.logs(np.asarray(place + 1j * t, dtype=np.complex128))
            heights.append(t)
            logs.append(np.array(values))
            rounding.append(np.array(sizes))
            top = np.max(logs[-1].real, axis=0)
            peak = max(peak, float(top.max()))
            start += _BLOCK
            if top[-1] < peak + np.log(_END) and top[-1] < top[0]:
                break
    every: FloatArray = np.concatenate(heights)
    log = np.concatenate(logs, axis=1)
    scale = float(log.real.max())
    parts = np.exp(log - scale)
    weight = np.where(every == 0.0, 1.0, 2.0 if mellin.is_real else 1.0) * step / (2.0 * np.pi)
    samples: ComplexArray = parts.sum(axis=0) * weight
    absolute = np.abs(parts) * weight
    size = float(np.abs(samples).sum())
    wrong = _GAMMA_ROUNDING * float((absolute * (1.0 + np.concatenate(rounding, axis=1))).sum())
    # Past the last sample R falls at least as fast as over the last block.
    left_out = sum(float(np.abs(parts[:, -1]).sum()) for _ in ways) * _BLOCK * float(weight.max())
    return every, samples, float(np.log(size)) + scale, scale, (wrong + left_out) / size

r"""The density at log-uniform radii, by the trapezoidal rule along one ray.

With y = w z, z = exp(s + i angle), a kernel that is analytic between the half-line and the ray has

.. math:: w\rho(w) = \Re \int k(z)\,g(wz)\,ds, \qquad
          g(y) = \frac{2^{1-d/2}}{\Gamma(d/2)}\, y^{d/2+1} H^{(1)}_{d/2-1}(y).

The trapezoidal rule converges geometrically.  g depends on log w + s only, so that the sums at all
log-uniform radii are one product of two polynomials.  Both factors are rounded to integers at a
fixed unit far below the largest value of w rho, and the integers are multiplied exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, floor, log, log2, pi, tan

import flint
import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working_precision
from spectra.density.half_line.half_line_formula import HalfLineFormula
from spectra.density.half_line.hankel_factor import find_range, hankel_factor
from spectra.errors import AccuracyError

__all__ = ["MARGIN", "NEGLIGIBLE", "RaySums", "Samples", "survey_kernel"]

# Below this share of its largest value w rho counts as 0.
NEGLIGIBLE = 1e-16
# The error of a sum is about the square of its difference from the sum at twice the step.
_STEPS_AGREE = 2e-8
# An end of the range below this share of the peak is rounding if it falls no further.
_ROUNDED = 1e-13
# Bits kept below the largest value of w rho, and the most bits including those that cancel.
_KEPT_BITS, _MOST_BITS = 72, 6000
# Steps are 2^-n; sums with more terms are refused.
_FIRST_STEP, _LAST_STEP, _MOST_TERMS, _MOST_HALVINGS = 2, 12, 60_000, 2
# Errors fall like exp(-2 pi a/step) times the growth of g on the ray at angle - a.
_DEPTH = 26.0
# A survey of the kernel on a ray: its step in s, its most steps, its start below the scale.
_LOOK, _MOST_LOOKS, _BEFORE = 0.25, 140, 12.0
# The widest range of log w.
_WIDEST = 1400.0
# Interpolation needs so many samples on both sides, and rounds by so many units.
MARGIN, _ROUNDING = 20, 16.0

_BINOMIALS = np.cumprod([1.0, *((2 * MARGIN - j) / j for j in range(1, 2 * MARGIN))])
_WEIGHTS = _BINOMIALS * (-1.0) ** np.arange(2 * MARGIN)


@dataclass(frozen=True, eq=False)
class Samples:
    """w rho at log w = (first + n) step, n = 0, 1, ..., and its estimated absolute error.

    ``first`` is a multiple of 1/2.
    """

    step: float
    first: float
    values: FloatArray
    error: float

    @cached_property
    def peak(self) -> float:
        """The largest absolute value."""
        return float(np.abs(self.values).max())

    @property
    def rounding(self) -> float:
        """The rounding of interpolated samples."""
        return _ROUNDING * EPS * self.peak

    @cached_property
    def logs(self) -> FloatArray:
        """log w."""
        return np.asarray((self.first + np.arange(self.values.size)) * self.step, dtype=float)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The log w between which samples are interpolated."""
        return float(self.logs[MARGIN]), float(self.logs[-1 - MARGIN])

    def __call__(self, log_w: FloatArray) -> FloatArray:
        """w rho between the samples, by the polynomial through the nearest 40 of them."""
        nearest = np.floor(log_w / self.step - self.first)
        start = np.clip(nearest.astype(int) + 1 - MARGIN, 0, self.values.size - 2 * MARGIN)
        index = start[:, None] + np.arange(2 * MARGIN)
        # The grid is exact in doubles, and so are differences from what is nearest.
        rest = (log_w - (self.first + nearest) * self.step) / self.step
        apart = (rest + (nearest - start))[:, None] - np.arange(2 * MARGIN)
        near = np.abs(apart) < 1e-9
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = _WEIGHTS / apart
            found = (terms * self.values[index]).sum(axis=1) / terms.sum(axis=1)
        hit = near.any(axis=1)
        found[hit] = self.values[index][near]
        return np.asarray(found)

    def difference(self, other: Samples) -> float:
        """The largest difference from other samples, where both are interpolated."""
        coarse, fine = sorted((self, other), key=lambda samples: -samples.step)
        (low, high), logs = coarse.ends, fine.logs
        shared = (logs > low) & (logs < high)
        if not shared.any():
            return np.inf
        return float(np.abs(coarse(logs[shared]) - fine.values[shared]).max())


class RaySums:
    """Sums of a kernel along one ray.

    ``shift`` = 1/2 moves radii by half a step from multiples of the step: two rays, one of them
    shifted, show the error of the interpolation, too.  Sums are computed for log w above ``lowest``
    only.
    """

    def __init__(
        self,
        kernel: HalfLineFormula,
        dim: int,
        angle: float,
        *,
        shift: float = 0.0,
        lowest: float = -np.inf,
    ) -> None:
        self.kernel, self.dim, self.angle = kernel, dim, angle
        self.shift, self.lowest = shift, lowest
        self._find_range = partial(find_range, dim, angle)
        self._known: dict[tuple[float, int], Ball] = {}
        last = np.inf if lowest == -np.inf else self._find_range(200.0)[1] - lowest
        #: Bits below which the kernel is not needed.
        self.floor = _KEPT_BITS + 4 + int(self._find_range(60.0)[2] / log(2.0))
        self.largest, self.end = survey_kernel(kernel, angle, self.floor, last)

    @property
    def first_step(self) -> int:
        """The exponent n of the first step 2^-n that can be enough."""
        needed = self.dim / (2.0 * tan(self.angle)) + _DEPTH / self.angle
        least = _FIRST_STEP if self.lowest == -np.inf else _FIRST_STEP + 3
        return max(least, ceil(log2(needed / pi)))

    @property
    def cost(self) -> float:
        """About what sums on this ray cost, to compare rays."""
        return 2.0**self.first_step * (100.0 + self.floor + max(self.largest, 0.0))

    def samples(self, low: float, high: float, least_peak: float = 0.0) -> Samples:
        """w rho for log w from low to high; the step is halved until that changes nothing."""
        for n in range(self.first_step, min(self.first_step + _MOST_HALVINGS, _LAST_STEP) + 1):
            found, change = self._sum_at_step(low, high, 2.0**-n)
            peak = max(found.peak, least_peak)
            if change < _STEPS_AGREE * peak:
                return replace(found, error=change**2 / max(peak, 1e-300) * 4.0)
        raise AccuracyError(f"the sums on the ray of angle {self.angle} do not settle")

    def whole(self, least_peak: float = 0.0, stop: float = np.inf) -> Samples:
        """Samples at all log w from ``lowest`` to ``stop`` at which w rho is not negligible.

        ``least_peak`` is a lower bound of the largest w |rho| anywhere.
        """
        centre = 0.5 * log(self.dim) - self.kernel.scale
        low, high = centre - 6.0, centre + 6.0
        if self.lowest > -np.inf:
            low, high = self.lowest, self.lowest + 6.0
        centre = max(low, min(centre, high))
        before = [np.inf, np.inf]
        while True:
            top = min(high, max(stop, centre) + (MARGIN + 4) * 2.0**-self.first_step)
            found = self.samples(low, top, least_peak)
            peak = max(found.peak, least_peak)
            least = max(NEGLIGIBLE * peak, found.error)
            last = max(int(0.5 / found.step), 2) + MARGIN
            sizes = np.abs(found.values)
            ends = [float(sizes[:last].max()), float(sizes[-last:].max())]
            # What is small and falls no further is rounding.
            done = [
                end <= least or (end < _ROUNDED * peak and end > 0.5 * old)
                for end, old in zip(ends, before, strict=True)
            ]
            done = [done[0] or low == self.lowest, done[1] or top < high]
            if all(done):
                return found
            before = ends
            if not done[0]:
                low -= max(0.7 * (centre - low), 2.0)
            if not done[1]:
                high += max(0.7 * (high - centre), 2.0)
            if high - low > _WIDEST:
                raise AccuracyError("the density falls too slowly at an end")

    def _sum_at_step(self, low: float, high: float, step: float) -> tuple[Samples, float]:
        """The sums at one step, and how far those at twice the step are from them."""
        cancelled = max(self._find_range(_KEPT_BITS)[2] + max(self.largest, 0.0), 0.0) / log(2.0)
        if _KEPT_BITS + cancelled > _MOST_BITS:
            raise AccuracyError(f"the kernel cancels too much on the ray of angle {self.angle}")
        least_y, most_y, top = self._find_range(_KEPT_BITS + cancelled)
        end = min(self.end, most_y - max(low, self.lowest))
        a0, a1 = floor((least_y - high) / step), ceil(end / step)
        j0, j1 = floor(low / step), ceil(high / step)
        if a1 - a0 > _MOST_TERMS or a1 - a0 + j1 - j0 > 2 * _MOST_TERMS:
            raise AccuracyError(f"the sums on the ray of angle {self.angle} are too long")
        units = [int(_KEPT_BITS + size / log(2.0)) + 2 for size in (top, max(self.largest, 0.0))]
        # Few different precisions, so that values are shared.
        work = 64 * ceil((_KEPT_BITS + cancelled) / 64 + 1)
        k = [
            _round_to_integers(self._evaluate_kernel(i * step, work), units[0])
            for i in range(a0, a1 + 1)
        ]
        places = [(i + self.shift) * step for i in range(a0 + j0, a1 + j1 + 1)]
        nothing = flint.fmpz(0), flint.fmpz(0)
        g = [
            _round_to_integers(hankel_factor(self.dim, self.angle, s, work), units[1])
            if least_y <= s <= most_y
            else nothing
            for s in places
        ]
        return _correlate(k, g, j0 + self.shift, step, sum(units))

    def _evaluate_kernel(self, s: float, bits: int) -> Ball:
        if (s, bits) not in self._known:
            value = self.kernel.value(s, self.angle, bits)
            if not value.is_finite():
                raise AccuracyError(f"the kernel is singular on the ray of angle {self.angle}")
            self._known[s, bits] = value
        return self._known[s, bits]


def survey_kernel(
    kernel: HalfLineFormula, angle: float, bits: int, last: float = np.inf
) -> tuple[float, float]:
    """The largest log|k| on a ray, and the s from which on it is below so many bits."""
    sizes: list[float] = []
    s = kernel.scale - _BEFORE
    while len(sizes) <= _MOST_LOOKS and s < max(last, kernel.scale - 4.0):
        sizes.append(kernel.log_size(s, angle, bits))
        if not sizes[-1] < log(2.0) * _MOST_BITS:
            raise AccuracyError(f"the kernel grows on the ray of angle {angle}")
        if s > kernel.scale and max(sizes[-3:]) == -np.inf:
            return max(sizes), s - 2 * _LOOK
        s += _LOOK
    return max(sizes), np.inf


#: Real and imaginary part as integers.
_Pair = tuple[flint.fmpz, flint.fmpz]


def _correlate(
    k: list[_Pair], g: list[_Pair], first: float, step: float, unit: int
) -> tuple[Samples, float]:
    """Sums over even and over odd terms, at all radii, as samples; and half their difference."""
    count, size = len(k), len(g) - len(k) + 1
    scale = flint.arb(2) ** -unit * 2 * step
    real, imag = (flint.fmpz_poly([pair[i] for pair in g]) for i in (0, 1))
    zero = flint.fmpz(0)
    halves = []
    for odd in (0, 1):
        one, other = (
            flint.fmpz_poly([v[i] if n % 2 == odd else zero for n, v in enumerate(k)][::-1])
            for i in (0, 1)
        )
        total = one * real - other * imag
        with working_precision(64):
            sums = [float((total[count - 1 + j] * scale).mid()) for j in range(size)]
        halves.append(np.array(sums))
    even, uneven = halves
    if not np.all(np.isfinite(even) & np.isfinite(uneven)):
        raise AccuracyError("the density leaves the range of doubles")
    change = float(np.abs(even - uneven).max()) / 2.0
    return Samples(step, first, (even + uneven) / 2.0, change), change


def _round_to_integers(value: Ball, unit: int) -> _Pair:
    """Both parts times 2^unit, rounded down."""
    found = []
    for part in (value.real, value.imag):
        mantissa, exponent = part.mid().man_exp()
        shift = int(exponent) + unit
        found.append(mantissa << shift if shift >= 0 else mantissa >> -shift)
    return found[0], found[1]

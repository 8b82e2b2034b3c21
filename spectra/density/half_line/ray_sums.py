r"""The density at radii equidistant in log w, by the trapezoidal rule along one ray.

With y = w z, z = exp(s + i angle), a kernel that is analytic between the half-line and the ray has

.. math:: w\rho(w) = \Re \int k(z)\,g(wz)\,ds, \qquad
          g(y) = \frac{2^{1-d/2}}{\Gamma(d/2)}\, y^{d/2+1} H^{(1)}_{d/2-1}(y).

The trapezoidal rule in s converges geometrically.  g depends on log w + s only, so that the sums at
all these radii are one product of two polynomials.  Both factors are rounded to integers in a
unit far below the largest value of w rho, and the integers are multiplied exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil, floor, lgamma, log, log2, pi, sin, tan

import flint
import numpy as np

from spectra.base.accuracy import ABSENT, DENSITY, EPS, SAME
from spectra.base.bessel_k import bessel_k, bessel_k_half_integer
from spectra.base.limits import check_time
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working_precision
from spectra.density.half_line.half_line_formula import HalfLineFormula
from spectra.errors import AccuracyError

__all__ = ["MARGIN", "NEGLIGIBLE", "RaySums", "Samples", "hankel_factor", "survey_kernel"]

# Values of w rho below this share of the largest count as 0.
NEGLIGIBLE = ABSENT
# Sums at one step and at twice the step may differ by this share of the largest.  The error of the
# former is about the square of the difference.
_STEPS_AGREE = 2e4 * DENSITY
# Values below this share of the largest are rounding errors if they fall no further.
_ROUNDED = DENSITY / 10.0
# Bits kept below the largest value of w rho, and the most bits including those that cancel.
_KEPT_BITS, _MOST_BITS = 72, 6000
# Steps are 2^-n: least and largest n.  Largest number of terms of a sum, of halvings of a step.
_LEAST_N, _LARGEST_N, _MOST_TERMS, _MOST_HALVINGS = 2, 12, 60_000, 2
# Sums at twice the first step have an error of about exp(-26), and those at the step its square.
_LOG_ERROR = 26.0
# The number of values of g that are kept: all kernels in one dimension use the same.
_CACHE_SIZE = 1 << 17
# A survey of the kernel on a ray: its step in s, its most steps, its start below log_scale.
_SURVEY_STEP, _MOST_SURVEY_STEPS, _SURVEY_START = 0.25, 140, 12.0
# The widest range of log w: that of the doubles.
_WIDEST = 1400.0
# Interpolation uses this many samples on either side.  Its rounding error, in units of EPS.
MARGIN, _ROUNDING = 24, 16.0

# Barycentric weights of 2 MARGIN equidistant nodes.
_BINOMIALS = np.cumprod([1.0, *((2 * MARGIN - j) / j for j in range(1, 2 * MARGIN))])
_WEIGHTS = _BINOMIALS * (-1.0) ** np.arange(2 * MARGIN)


@dataclass(frozen=True, eq=False)
class Samples:
    """Values of w rho at log w = (first + n) step, n = 0, 1, ..., with one absolute error."""

    step: float
    first: float  # a multiple of 1/2
    values: FloatArray
    error: float

    @cached_property
    def peak(self) -> float:
        """The largest absolute value."""
        return float(np.abs(self.values).max())

    @property
    def rounding(self) -> float:
        """The rounding error of interpolated samples."""
        return _ROUNDING * EPS * self.peak

    @cached_property
    def log_w(self) -> FloatArray:
        """The logarithms of the radii."""
        return np.asarray((self.first + np.arange(self.values.size)) * self.step, dtype=float)

    @cached_property
    def log_range(self) -> tuple[float, float]:
        """The least and the largest log w at which samples are interpolated."""
        return float(self.log_w[MARGIN]), float(self.log_w[-1 - MARGIN])

    def __call__(self, log_w: FloatArray) -> FloatArray:
        """w rho at any log w in the range, by the polynomial through the nearest 48 samples."""
        below = np.floor(log_w / self.step - self.first)
        start = np.clip(below.astype(int) + 1 - MARGIN, 0, self.values.size - 2 * MARGIN)
        index = start[:, None] + np.arange(2 * MARGIN)
        # The log w of samples are exact doubles, and so is the difference from the next one below.
        rest = (log_w - (self.first + below) * self.step) / self.step
        offsets = (rest + (below - start))[:, None] - np.arange(2 * MARGIN)
        at_node = np.abs(offsets) < SAME
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = _WEIGHTS / offsets
            found = (terms * self.values[index]).sum(axis=1) / terms.sum(axis=1)
        found[at_node.any(axis=1)] = self.values[index][at_node]
        return found

    def difference(self, other: Samples) -> float:
        """The largest difference from other samples, at radii in both ranges."""
        coarse, fine = sorted((self, other), key=lambda samples: -samples.step)
        low, high = coarse.log_range
        shared = (fine.log_w > low) & (fine.log_w < high)
        if not shared.any():
            return np.inf
        return float(np.abs(coarse(fine.log_w[shared]) - fine.values[shared]).max())


class RaySums:
    """Sums of a kernel times g along the ray of an angle in radians, for log w >= ``lowest``.

    ``shift`` = 1/2 moves log w by half a step from the multiples of the step: the difference of two
    rays, one of them shifted, includes the error of the interpolation.
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
        self._kernel_values: dict[tuple[float, int], Ball] = {}
        # |g(wz)| is below 2^-200 for all w > exp(lowest) from this s on.
        last = np.inf if lowest == -np.inf else _find_range(dim, angle, 200.0)[1] - lowest
        *_, log_max_g = _find_range(dim, angle, _KEPT_BITS)
        #: The kernel counts as 0 below 2^-bits.
        self.bits = _KEPT_BITS + 4 + int(log_max_g / log(2.0))
        self.log_max, self.end = survey_kernel(kernel, angle, self.bits, last)

    @property
    def first_n(self) -> int:
        """The exponent n of the first step 2^-n that can be small enough."""
        # For every a < angle, the relative error of a step is exp(-2 pi a/step) times the growth of
        # g from this ray to that of angle - a, about exp(a d/(2 tan(angle))).
        needed = self.dim / (2.0 * tan(self.angle)) + _LOG_ERROR / self.angle
        # A density may be singular below ``lowest``, and interpolation needs closer samples.
        least = _LEAST_N if self.lowest == -np.inf else _LEAST_N + 3
        return max(least, ceil(log2(needed / pi)))

    @property
    def cost(self) -> float:
        """An estimate that compares the times of sums on different rays."""
        return 2.0**self.first_n * (100.0 + self.bits + max(self.log_max, 0.0))

    def sample(self, low: float, high: float, least_peak: float = 0.0) -> Samples:
        """w rho for log w from low to high; the step is halved until that changes nothing."""
        for n in range(self.first_n, min(self.first_n + _MOST_HALVINGS, _LARGEST_N) + 1):
            found = self._sum_at_step(low, high, 2.0**-n)
            peak = max(found.peak, least_peak)
            if found.error < _STEPS_AGREE * peak:
                return replace(found, error=found.error**2 / max(peak, 1e-300) * 4.0)
        raise AccuracyError(f"the sums on the ray of angle {self.angle} do not settle")

    def sample_all(self, least_peak: float = 0.0, stop: float = np.inf) -> Samples:
        """Sample at all log w from ``lowest`` to ``stop`` at which w rho is not negligible.

        ``least_peak`` is a lower bound of the largest w |rho| at all radii.
        """
        # Most of the mass is at w of about d^(1/2) / scale.
        centre = 0.5 * log(self.dim) - self.kernel.log_scale
        low, high = centre - 6.0, centre + 6.0
        if self.lowest > -np.inf:
            low, high = self.lowest, self.lowest + 6.0
        centre = max(low, min(centre, high))
        before = [np.inf, np.inf]
        while True:
            top = min(high, max(stop, centre) + (MARGIN + 4) * 2.0**-self.first_n)
            found = self.sample(low, top, least_peak)
            peak = max(found.peak, least_peak)
            least = max(NEGLIGIBLE * peak, found.error)
            count = max(int(0.5 / found.step), 2) + MARGIN  # half a unit of log w, and the margin
            sizes = np.abs(found.values)
            ends = [float(sizes[:count].max()), float(sizes[-count:].max())]
            # Small values that do not fall when the range grows by 70 % are rounding errors.
            done = [
                end <= least or (end < _ROUNDED * peak and end > 0.5 * previous)
                for end, previous in zip(ends, before, strict=True)
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

    def _sum_at_step(self, low: float, high: float, step: float) -> Samples:
        """The sums at one step, with their largest difference from twice the step as the error."""
        log_max = max(self.log_max, 0.0)
        *_, log_max_g = _find_range(self.dim, self.angle, _KEPT_BITS)
        cancelled = max(log_max_g + log_max, 0.0) / log(2.0)
        if _KEPT_BITS + cancelled > _MOST_BITS:
            raise AccuracyError(f"too much cancellation in sums on the ray of angle {self.angle}")
        log_y0, log_y1, log_max_g = _find_range(self.dim, self.angle, _KEPT_BITS + cancelled)
        end = min(self.end, log_y1 - max(low, self.lowest))
        # s is i step for i0 <= i <= i1, and log w is (j + shift) step for j0 <= j <= j1.
        i0, i1 = floor((log_y0 - high) / step), ceil(end / step)
        j0, j1 = floor(low / step), ceil(high / step)
        if i1 - i0 > _MOST_TERMS or i1 - i0 + j1 - j0 > 2 * _MOST_TERMS:
            raise AccuracyError(f"the sums on the ray of angle {self.angle} are too long")
        # An error of either factor is multiplied by the other one.
        k_bits, g_bits = (int(_KEPT_BITS + size / log(2.0)) + 2 for size in (log_max_g, log_max))
        # A multiple of 64, so that few precisions occur and values of g are used again.
        work = 64 * ceil((_KEPT_BITS + cancelled) / 64 + 1)
        terms = range(i0, i1 + 1)
        k = [_to_integers(self._evaluate_kernel(i * step, work), k_bits) for i in terms]
        log_y = [(i + self.shift) * step for i in range(i0 + j0, i1 + j1 + 1)]
        zero = flint.fmpz(0), flint.fmpz(0)
        g = [
            _to_integers(hankel_factor(self.dim, self.angle, x, work), g_bits)
            if log_y0 <= x <= log_y1
            else zero
            for x in log_y
        ]
        return _correlate(k, g, j0 + self.shift, step, k_bits + g_bits)

    def _evaluate_kernel(self, s: float, bits: int) -> Ball:
        if (s, bits) not in self._kernel_values:
            value = self.kernel.value(s, self.angle, bits)
            if not value.is_finite():
                raise AccuracyError(f"the kernel is singular on the ray of angle {self.angle}")
            self._kernel_values[s, bits] = value
        return self._kernel_values[s, bits]


def survey_kernel(
    kernel: HalfLineFormula, angle: float, bits: int, last: float = np.inf
) -> tuple[float, float]:
    """The largest log|k| on a ray for s < last, and the s from which |k| < 2^-bits (or inf)."""
    sizes: list[float] = []
    s = kernel.log_scale - _SURVEY_START
    while len(sizes) <= _MOST_SURVEY_STEPS and s < max(last, kernel.log_scale - 4.0):
        sizes.append(kernel.log_size(s, angle, bits))
        if not sizes[-1] < log(2.0) * _MOST_BITS:
            raise AccuracyError(f"the kernel grows on the ray of angle {angle}")
        if s > kernel.log_scale and max(sizes[-3:]) == -np.inf:
            return max(sizes), s - 2 * _SURVEY_STEP
        s += _SURVEY_STEP
    return max(sizes), np.inf


@lru_cache(maxsize=_CACHE_SIZE)
def hankel_factor(dim: int, angle: float, s: float, bits: int) -> Ball:
    """g(y) at y = exp(s + i angle), to about this many bits."""
    check_time()
    # The sum for K of half-integer order loses about d/3 bits to cancellation.
    with working_precision(bits + dim // 3):
        log_y, half = flint.acb(flint.arb(s), flint.arb(angle)), flint.arb(dim) / 2
        front = (flint.arb(2).log() * (1 - half) - half.lgamma()).exp()
        power = front * ((half + 1) * log_y).exp()
        y = log_y.exp()
        # H^(1)_n(y) = factor K_n(-iy), n = d/2 - 1 (DLMF 10.27.8).
        i = flint.acb(0, 1)
        factor = 2 / (flint.arb.pi() * i) * (-i * flint.arb.pi() * (half - 1) / 2).exp()
        if dim % 2:
            k = bessel_k_half_integer(max(dim - 3, 0) // 2, -i * y)
        else:
            k = bessel_k(dim // 2 - 1, -i * y, flint.ctx.prec)
        return power * factor * k


def _find_range(dim: int, angle: float, bits: float) -> tuple[float, float, float]:
    """The least and largest log|y| with |g| above 2^-bits on a ray, and the largest log|g|."""
    drop = bits * log(2.0)
    # For large y, |g| is about exp(front) |y|^((d+1)/2) exp(-Im y).
    front = (1.0 - 0.5 * dim) * log(2.0) - lgamma(0.5 * dim)
    y = 0.5 * max(dim, 2) * np.exp(np.arange(-5.0, 30.0, 0.05))
    sizes = front + 0.5 * (dim + 1) * np.log(y) - y * sin(angle)
    significant = y[sizes > -drop - 3.0]
    high = float(np.log(significant[-1])) if significant.size else 0.0
    # At 0 it is about y^2, and y for d = 1.
    low = -(drop + 5.0) / (1.0 if dim == 1 else 2.0)
    return low, high + 0.1, max(float(sizes.max()), 0.0) + 1.0


#: The real and the imaginary part as integers.
_Pair = tuple[flint.fmpz, flint.fmpz]


def _correlate(k: list[_Pair], g: list[_Pair], first: float, step: float, bits: int) -> Samples:
    """The sums step 2^-bits Re sum_i k_i g_(i+j), j = 0, 1, ...

    The terms of even i alone, or of odd i alone, are half the sum at twice the step.
    """
    count, size = len(k), len(g) - len(k) + 1
    unit = flint.arb(2) ** -bits * 2 * step
    real_g, imag_g = (flint.fmpz_poly([pair[part] for pair in g]) for part in (0, 1))
    zero = flint.fmpz(0)
    sums = []
    for parity in (0, 1):
        real_k, imag_k = (
            flint.fmpz_poly([v[part] if i % 2 == parity else zero for i, v in enumerate(k)][::-1])
            for part in (0, 1)
        )
        product = real_k * real_g - imag_k * imag_g
        with working_precision(64):
            found = [float((product[count - 1 + j] * unit).mid()) for j in range(size)]
        sums.append(np.array(found))
    even, odd = sums
    if not np.all(np.isfinite(even) & np.isfinite(odd)):
        raise AccuracyError("the density leaves the range of doubles")
    return Samples(step, first, (even + odd) / 2.0, float(np.abs(even - odd).max()) / 2.0)


def _to_integers(value: Ball, bits: int) -> _Pair:
    """Both parts times 2^bits, rounded down."""
    found = []
    for part in (value.real, value.imag):
        mantissa, exponent = part.mid().man_exp()
        shift = int(exponent) + bits
        found.append(mantissa << shift if shift >= 0 else mantissa >> -shift)
    return found[0], found[1]

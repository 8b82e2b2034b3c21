r"""The ascending series of a formula on a ball, summed in integers, and its panels in doubles.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

The terms cancel like e^s, so they are summed as fixed-point integers of as many bits as the
result asks for.  The set-up then stores F on panels as exp(linear) times a Chebyshev series:
no evaluation cancels anything, whatever the kernel and the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError
from spectra.transform.ball import BallForm
from spectra.transform.tail import chebyshev_coefficients

__all__ = ["AscendingSeries", "Panels", "build_panels"]

FloatArray = NDArray[np.float64]

# Every value carries at least this many correct bits, relative to the largest of its batch.
_TARGET_BITS = 68
_DEGREE = 18
_FIRST_PANELS = 6
# A panel is split until its last coefficients are below this share of its largest value.
_PANEL_TOLERANCE = 2e-16
# A slope is split off where log|F| differs from a line by less than this.
_CURVATURE = 1.0
# No entire function of exponential type 1 needs panels this narrow.
_LEAST_PANEL = 1e-4
# Off-node points where the stored panels are compared with the series.
_CHECK_POINTS = np.array([-0.983, 0.041, 0.871])


class AscendingSeries:
    """F(s) of a formula, to 68 bits of the largest value of each batch."""

    def __init__(self, form: BallForm, dim: int) -> None:
        self._form = form
        self._dim = dim
        self._bits = 160
        self._restart()

    def _restart(self) -> None:
        self._stream = self._form.moments(self._dim, self._bits)
        self._moments: list[tuple[int, int]] = []

    def __call__(self, s: Sequence[float | Fraction] | FloatArray) -> list[Any]:
        """Values F(s), as mpmath numbers."""
        exact = [Fraction(v) ** 2 for v in s]
        while True:
            bits = self._bits
            squares = np.array(
                [(q.numerator << bits) // q.denominator for q in exact], dtype=object
            )
            total, error = self._sum(squares)
            size = max(abs(t) for t in total)
            missing = (error << _TARGET_BITS).bit_length() - size.bit_length() + 1
            if missing <= 0:
                with mpmath.workprec(_TARGET_BITS + 8):
                    return [mpmath.ldexp(mpmath.mpf(int(t)), -2 * bits) for t in total]
            self._bits = bits + missing + 32
            self._restart()

    def _sum(self, squares: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Sums of the series times 4^bits, and a bound of their rounding errors."""
        bits = self._bits
        terms = np.array([1 << bits] * len(squares), dtype=object)
        total = terms * 0
        error = 0
        n = 0
        while True:
            top = int(terms.max())
            if len(self._moments) <= n:
                self._moments.append(next(self._stream))
            moment, moment_error = self._moments[n]
            total = total - terms * moment if n % 2 else total + terms * moment
            # A term has been rounded down n times, each by less than itself relative to 2^bits
            # and by one unit.
            error += top * moment_error + (abs(moment) + 1) * (2 * n * ((top >> bits) + 1) + 2)
            if top == 0:
                return total, error
            terms = (terms * squares >> bits) // (2 * (n + 1) * (self._dim + 2 * n))
            n += 1


@dataclass(frozen=True)
class Panels:
    """F on panels: F(s) = exp(level + slope t) * sum c_k T_k(t), t = (s - middle) / half.

    ``error`` bounds the error of each panel relative to exp(level + slope t) * size, and
    ``knot_logs`` are logarithms at the edges whose linear interpolant bounds log|F|.
    """

    edges: FloatArray
    level: FloatArray
    slope: FloatArray
    size: FloatArray
    coefficients: FloatArray
    error: FloatArray
    knot_logs: FloatArray

    def _locate(self, high: FloatArray, low: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        index = np.clip(np.searchsorted(self.edges, high, side="right") - 1, 0, len(self.level) - 1)
        middle = 0.5 * (self.edges[index] + self.edges[index + 1])
        half = 0.5 * (self.edges[index + 1] - self.edges[index])
        return index, ((high - middle) + low) / half

    def signed_log(self, high: FloatArray, low: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|F| at s = high + low."""
        index, t = self._locate(high, low)
        c = self.coefficients
        b1 = np.zeros_like(t)
        b2 = np.zeros_like(t)
        for k in range(c.shape[0] - 1, 0, -1):
            b1, b2 = c[k, index] + 2.0 * t * b1 - b2, b1
        value = c[0, index] + t * b1 - b2
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(value))
        return np.sign(value), log + (self.level[index] + self.slope[index] * t)

    def log_envelope(self, high: FloatArray) -> FloatArray:
        """A continuous bound of log|F|, near the largest value of each panel."""
        return np.asarray(np.interp(high, self.edges, self.knot_logs))

    def relative_error(self, high: FloatArray) -> FloatArray:
        """Error bound relative to :meth:`log_envelope`, without the rounding of the logarithm."""
        index, _ = self._locate(high, np.zeros_like(high))
        return np.asarray(self.error[index])


@dataclass(frozen=True)
class _Panel:
    left: float
    right: float
    level: float
    slope: float
    size: float
    coefficients: FloatArray
    error: float


def build_panels(series: AscendingSeries, stop: float) -> Panels:
    """Panels of F on [0, stop]; each is split in halves until its Chebyshev series ends."""
    ends = np.linspace(0.0, stop, _FIRST_PANELS + 1)
    waiting = [(float(a), float(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)][::-1]
    done: list[_Panel] = []
    while waiting:
        left, right = waiting.pop()
        panel = _fit(series, left, right)
        if panel is None:
            middle = 0.5 * (left + right)
            if right - left < _LEAST_PANEL * stop:
                raise AccuracyError(
                    f"The density on the panel {left:.17g} <= R w <= {right:.17g} is no polynomial "
                    "to rounding, although it is an entire function: please report the kernel."
                )
            waiting += [(middle, right), (left, middle)]
        else:
            done.append(panel)
    logs = np.array([p.level + np.log(p.size) for p in done])
    slopes = np.array([p.slope for p in done])
    knots = np.maximum(np.append(logs - slopes, -np.inf), np.append(-np.inf, logs + slopes))
    return Panels(
        edges=np.array([p.left for p in done] + [stop]),
        level=np.array([p.level for p in done]),
        slope=slopes,
        size=np.array([p.size for p in done]),
        coefficients=np.array([p.coefficients for p in done]).T,
        error=np.array([p.error for p in done]),
        knot_logs=knots,
    )


def _fit(series: AscendingSeries, left: float, right: float) -> _Panel | None:
    nodes = chebyshev.chebpts1(_DEGREE + 1)
    t = np.concatenate([nodes, _CHECK_POINTS])
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    # Exact nodes: rounded ones would be off by s eps, which is more than the panel may err.
    values = series([Fraction(middle) + Fraction(half) * Fraction(x) for x in t])
    sizes = np.array([float(mpmath.log(abs(v))) if v else -math.inf for v in values])
    level, slope = float(np.max(sizes)), 0.0
    if all(v > 0 for v in values) or all(v < 0 for v in values):
        first, last = sizes[0], sizes[_DEGREE]
        steep = (last - first) / (t[_DEGREE] - t[0])
        # Near a zero the logarithm is far from linear, and a slope would only add terms.
        if np.max(np.abs(sizes - (0.5 * (first + last) + steep * t))) < _CURVATURE:
            level, slope = float(0.5 * (first + last)), float(steep)
    with mpmath.workprec(_TARGET_BITS + 16):
        logs = [mpmath.mpf(level) + mpmath.mpf(slope) * x for x in t]
        scaled = np.array(
            [float(v * mpmath.exp(-log)) for v, log in zip(values, logs, strict=True)]
        )
    coefficients = chebyshev_coefficients(scaled[: _DEGREE + 1])
    dense = np.linspace(-1.0, 1.0, 65)
    size = float(np.max(np.abs(chebyshev.chebval(dense, coefficients))))
    tail = float(np.max(np.abs(coefficients[-3:])))
    if not tail <= _PANEL_TOLERANCE * size:
        return None
    miss = np.abs(chebyshev.chebval(t, coefficients) - scaled)
    # Rounding of a Clenshaw sum grows with the sum of the coefficients.
    rounding = 4.0 * np.finfo(float).eps * float(np.sum(np.abs(coefficients)))
    error = (2.0 * float(np.max(miss)) + 4.0 * tail + rounding) / size
    return _Panel(left, right, level, slope, size * (1 + 1e-3), coefficients, error)

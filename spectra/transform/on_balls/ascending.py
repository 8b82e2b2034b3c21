r"""The ascending series of a formula on a ball, summed in integers, and its panels in doubles.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

The terms cancel like e^s, so they are summed as fixed-point integers of as many bits as the
result asks for.  The set-up then stores F on panels as exp(linear) times a Chebyshev series:
no evaluation cancels anything, whatever the kernel and the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError
from spectra.numeric import FloatArray
from spectra.transform.on_balls.ball import RadialForm
from spectra.transform.on_balls.tail import chebyshev_coefficients

__all__ = ["AscendingSeries", "PanelRow", "Panels", "build_panels"]

#: Level, slope, size, coefficients and error of a panel: see :class:`Panels`.
PanelRow = tuple[float, float, float, FloatArray, float]

# Every value carries at least this many correct bits, relative to the largest of its batch.
_TARGET_BITS = 68
# Precisions are multiples of this, so that few lists of moments are kept.
_BITS_STEP = 128
_DEGREE = 32
_FIRST_PANELS = 4
# A panel is split while one half is larger than the other by this, unless it is shorter than
# half a period: the error is relative to the largest value of the panel.
_UNEVEN = 8.0
_HALF_PERIOD = 3.0
# A panel is split until its last coefficients are below this share of its largest value.
_PANEL_TOLERANCE = 2e-16
# No entire function of exponential type 1 needs panels this narrow.
_LEAST_PANEL = 1e-4
# Off-node points where the stored panels are compared with the series.
_CHECK_POINTS = np.array([-0.983, 0.041, 0.871])


class AscendingSeries:
    """F(s) of a formula, to 68 bits of the largest value of each batch."""

    def __init__(self, form: RadialForm, dim: int) -> None:
        self._form = form
        self._dim = dim
        self._extra_bits = 32
        self._moments: dict[int, tuple[Iterator[tuple[int, int]], list[tuple[int, int]]]] = {}

    def __call__(self, s: Sequence[float | Fraction] | FloatArray) -> list[Any]:
        """Values F(s), as mpmath numbers."""
        exact = [Fraction(v) ** 2 for v in s]
        lost = _lost_bits(0.5 * self._dim - 1.0, math.sqrt(max(exact)))
        while True:
            whole = lost + _TARGET_BITS + self._extra_bits
            bits = _BITS_STEP * (whole // _BITS_STEP + 1)
            squares = np.array(
                [(q.numerator << bits) // q.denominator for q in exact], dtype=object
            )
            total, error = self._sum(squares, bits)
            size = max(abs(t) for t in total)
            missing = (error << _TARGET_BITS).bit_length() - size.bit_length() + 1
            if missing <= 0:
                with mpmath.workprec(_TARGET_BITS + 8):
                    return [mpmath.ldexp(mpmath.mpf(int(t)), -2 * bits) for t in total]
            self._extra_bits += missing

    def _sum(self, squares: NDArray[Any], bits: int) -> tuple[NDArray[Any], int]:
        """Sums of the series times 4^bits, and a bound of their rounding errors."""
        if bits not in self._moments:
            self._moments[bits] = (self._form.moments(self._dim, bits), [])
        stream, moments = self._moments[bits]
        terms = np.array([1 << bits] * len(squares), dtype=object)
        total = terms * 0
        error = 0
        n = 0
        while True:
            top = int(terms.max())
            if len(moments) <= n:
                moments.append(next(stream))
            moment, moment_error = moments[n]
            total = total - terms * moment if n % 2 else total + terms * moment
            # A term has been rounded down n times, each by less than itself relative to 2^bits
            # and by one unit.
            error += top * moment_error + (abs(moment) + 1) * (2 * n * ((top >> bits) + 1) + 2)
            if top == 0:
                return total, error
            terms = (terms * squares >> bits) // (2 * (n + 1) * (self._dim + 2 * n))
            n += 1


def _lost_bits(order: float, s: float) -> int:
    """Bits that cancel in the series of 0F1(; order + 1; -s^2/4)."""
    order = max(order, 0.5)
    grown = math.hypot(order, s)
    lost = grown - order + order * math.log(2.0 * order / (order + grown))
    return math.ceil(max(lost - _debye_exponent(order, s), 0.0) / math.log(2.0))


def _debye_exponent(order: float, s: float) -> float:
    """The exponent of Debye for the size of 0F1(; order + 1; -s^2/4), zero at s = 0."""
    if s >= order:
        return order * math.log(2.0 * order / s) - order
    root = math.sqrt((order - s) * (order + s))
    return root - order + order * math.log(2.0 * order / (order + root))


def _debye_slope(order: float, s: float) -> float:
    """Derivative of :func:`_debye_exponent`."""
    root = math.sqrt((order - s) * (order + s)) if s < order else 0.0
    return -s / (order + root) if s < order else -order / s


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

    @classmethod
    def of(cls, edges: Sequence[float], rows: Sequence[PanelRow]) -> Panels:
        """Panels between edges, from level, slope, size, coefficients and error of each."""
        level, slope, size, coefficients, error = map(np.array, zip(*rows, strict=True))
        logs = level + np.log(size)
        knots = np.maximum(np.append(logs - slope, -np.inf), np.append(-np.inf, logs + slope))
        return cls(np.array(edges), level, slope, size, coefficients.T, error, knots)

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


def build_panels(series: AscendingSeries, order: float, stop: float) -> Panels:
    """Panels of F on [0, stop]; each is split in halves until its Chebyshev series ends.

    ``order`` is that of the Bessel function J(s) (2/s)^order which F resembles.
    """
    ends = np.linspace(0.0, stop, _FIRST_PANELS + 1)
    waiting = [(float(a), float(b)) for a, b in pairwise(ends)][::-1]
    starts: list[float] = []
    rows: list[PanelRow] = []
    while waiting:
        left, right = waiting.pop()
        row = _fit(series, order, left, right)
        if row is None:
            middle = 0.5 * (left + right)
            if right - left < _LEAST_PANEL * stop:
                raise AccuracyError(
                    f"The density on the panel {left:.17g} <= R w <= {right:.17g} is no polynomial "
                    "to rounding, although it is an entire function: please report the kernel."
                )
            waiting += [(middle, right), (left, middle)]
        else:
            starts.append(left)
            rows.append(row)
    return Panels.of([*starts, stop], rows)


def _fit(series: AscendingSeries, order: float, left: float, right: float) -> PanelRow | None:
    nodes = chebyshev.chebpts1(_DEGREE + 1)
    t = np.concatenate([nodes, _CHECK_POINTS])
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    # Exact nodes: rounded ones would be off by s eps, which is more than the panel may err.
    values = series([Fraction(middle) + Fraction(half) * Fraction(x) for x in t])
    slope = half * _debye_slope(order, middle)
    level = float(mpmath.log(max(abs(v) for v in values)))
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
    halves = [float(np.max(np.abs(scaled[t * side >= 0]))) for side in (-1, 1)]
    if right - left > _HALF_PERIOD and max(halves) > _UNEVEN * min(halves):
        return None
    miss = np.abs(chebyshev.chebval(t, coefficients) - scaled)
    # Rounding of a Clenshaw sum grows with the sum of the coefficients.
    rounding = 4.0 * np.finfo(float).eps * float(np.sum(np.abs(coefficients)))
    error = (2.0 * float(np.max(miss)) + 4.0 * tail + rounding) / size
    return level, slope, size * (1 + 1e-3), coefficients, error

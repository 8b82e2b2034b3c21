r"""The ascending series of a formula on a ball, summed in integers, and its panels in doubles.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

The terms cancel like e^s, so they are summed as fixed-point integers of as many bits as the
result asks for.  The set-up then stores the density on panels as a power times a series in w: no
evaluation cancels anything, whatever the kernel and the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.errors import AccuracyError
from spectra.numeric import FloatArray
from spectra.transform.on_balls.ball import RadialForm, to_mpf
from spectra.transform.panel import (
    Panel,
    bisected,
    checked_panel,
    middle_of,
    places,
    short,
    slope_between,
)

__all__ = ["AscendingSeries", "build_panels"]

# Every value carries at least this many correct bits, relative to the largest of its batch.
_TARGET_BITS = 68
# Precisions are multiples of this, so that few lists of moments are kept.
_BITS_STEP = 128
_DEGREE = 32
_PLACES = places(_DEGREE)
_FIRST_PANELS = 4
# A panel is split while one half is larger than the other by this, unless it is shorter than
# half a period: the error is relative to the largest value of the panel.
_UNEVEN = 8.0
_HALF_PERIOD = 3.0
# Next to the origin no power of w makes both ends of a panel alike.
_UNEVEN_AT_ZERO = 2.0
# A panel is split until its last coefficients are below this share of its largest value.
_PANEL_TOLERANCE = 2e-16
# No entire function of exponential type 1 needs panels this narrow.
_LEAST_PANEL = 1e-4


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


def build_panels(
    series: AscendingSeries, radius: sympy.Expr, dim: int, order: float, stop: float
) -> tuple[Panel, ...]:
    """Panels of the radial density from 0 to a radius, each split until its series ends.

    ``order`` is that of the Bessel function J(s) (2/s)^order which F resembles where it waves.
    """
    with mpmath.workprec(120 + 2 * dim.bit_length()):
        exact = to_mpf(radius)
        mantissa, exponent = exact.man_exp
        scale = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        # rho = R C s^(d-1) F(s), C = 2^(2-d) / Gamma(d/2)^2, s = R w.
        constant = dim * mpmath.log(exact) + (2 - dim) * mpmath.log(2)
        constant -= 2 * mpmath.loggamma(mpmath.mpf(dim) / 2)
    fit = partial(_fit, series, scale, dim, order, constant, _LEAST_PANEL * stop)
    ends = [-np.inf, *np.log(np.linspace(0.0, stop, _FIRST_PANELS + 1)[1:])]
    return bisected(ends, fit, lambda low, high: float(np.log(0.5 * np.exp([low, high]).sum())))


def _fit(
    series: AscendingSeries,
    radius: Fraction,
    dim: int,
    order: float,
    constant: Any,
    narrowest: float,
    low: float,
    high: float,
) -> Panel | None:
    """The panel between two logarithms of radii, if its series ends."""
    begin = float(np.exp(low))
    middle, half = middle_of(begin, high)
    if 2.0 * half < narrowest:
        raise AccuracyError(
            f"The density on a panel at w = {middle:.17g} is no polynomial to rounding, although "
            "it is an entire function: please report the kernel."
        )
    # Exact nodes: rounded ones would be off by s eps, which is more than the panel may err.
    places = [Fraction(middle) + Fraction(half) * Fraction(x) for x in _PLACES]
    values = series([radius * w for w in places])
    with mpmath.workprec(_TARGET_BITS + 32):
        x = [mpmath.log(w) for w in places]
        sizes = np.array([float(mpmath.log(abs(v))) for v in values])
        turn = 0.0
        if begin and len({v > 0 for v in values}) == 1:
            nodes = slice(_DEGREE + 1)
            turn = slope_between(np.array(x, dtype=float)[nodes], sizes[nodes])
        elif begin:  # So few waves show no power of their own.
            at = float(radius) * middle
            turn = at * _debye_slope(order, at)
        slope = dim - 1 + short(turn)
        logs = [constant + (dim - 1 - slope) * t for t in x]
        level = short(float(max(sizes + np.array(logs, dtype=float))))
        scaled = np.array(
            [float(v * mpmath.exp(log - level)) for v, log in zip(values, logs, strict=True)]
        )
    shown = low if begin else high - 1.0
    panel, left_out = checked_panel(shown, high, begin, (level, slope), scaled)
    halves = [float(np.max(np.abs(scaled[_PLACES * side >= 0]))) for side in (-1, 1)]
    uneven = max(halves) > (_UNEVEN if begin else _UNEVEN_AT_ZERO) * min(halves)
    if uneven and 2.0 * half * float(radius) > _HALF_PERIOD:
        return None
    return panel if left_out <= _PANEL_TOLERANCE * panel.top else None

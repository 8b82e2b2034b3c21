r"""The ascending series of a formula on a ball, summed in balls, and its panels in doubles.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

The terms cancel like e^s, so they are summed in as many bits as the result asks for.  The set-up
then stores the density on panels as a power times a series in w: no evaluation cancels anything,
whatever the kernel and the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import flint
import numpy as np

from spectra.base.precision import Ball, log_of, working
from spectra.density.ball.ball_form import to_ball
from spectra.density.ball.numeric.numeric_ball import RadialForm
from spectra.density.panels.panel import (
    Panel,
    bisected,
    checked_panel,
    middle_of,
    places,
    short,
    slope_between,
)
from spectra.errors import AccuracyError

__all__ = ["AscendingSeries", "build_panels"]

# Every value carries at least this many correct bits, relative to the largest of its batch.
_TARGET_BITS = 68
# Precisions are multiples of this, so that few lists of moments are kept.
_BITS_STEP = 128
# Bits of nodes and of powers of them, which are exact.
_NODE_BITS = 256
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


@dataclass(eq=False)
class AscendingSeries:
    """F(R w) of a formula, to 68 bits of the largest value of each batch."""

    form: RadialForm
    dim: int
    _bits: int = field(default=_BITS_STEP, init=False)
    _known: dict[int, tuple[Iterator[Ball], list[Ball]]] = field(default_factory=dict, init=False)

    @property
    def front(self) -> Ball:
        """R^d 2^(2-d) / Gamma(d/2)^2, with which rho(w) = front w^(d-1) F(R w)."""
        d, radius = self.dim, to_ball(self.form.radius)
        return radius**d * flint.arb(2) ** (2 - d) / (flint.arb(d) / 2).gamma() ** 2

    def __call__(self, w: Sequence[Ball]) -> list[Ball]:
        """Values F(R w) at exact radii."""
        while True:
            with working(self._bits):
                radius = to_ball(self.form.radius)
                values = self._sums([(radius * x) ** 2 for x in w])
                size = max(v.abs_lower() for v in values)
                wrong = max(v.rad() for v in values)
                if wrong * 2.0**_TARGET_BITS < size:
                    return values
                lost = log_of(wrong / size) / math.log(2.0) if size > 0 else self._bits
            self._bits += _BITS_STEP * (1 + int(lost + _TARGET_BITS) // _BITS_STEP)

    def _sums(self, squares: list[Ball]) -> list[Ball]:
        """Sums of the series at s^2, with what they leave out in their balls."""
        bits, half = self._bits, flint.arb(self.dim) / 2
        if bits not in self._known:
            self._known[bits] = (self.form.moments(self.dim), [])
        moments, known = self._known[bits]
        largest = max(q.upper() for q in squares) / 4
        coefficients, factor, size = [], flint.arb(1), flint.arb(1)
        n = 0
        # In the end each bound is at most half of the one before it.
        while not (size < flint.arb(2) ** -bits and 2 * largest < n * (half + n)):
            if n == len(known):
                known.append(next(moments))
            coefficients.append(factor * known[n])
            factor = factor / (-4 * (n + 1) * (half + n))
            size = size * largest / ((n + 1) * (half + n))
            n += 1
        series = flint.arb_poly(coefficients)
        rest = flint.arb(0, 2 * size.upper() * max(abs(m).upper() for m in known))
        return [series(q) + rest for q in squares]


def _debye_slope(order: float, s: float) -> float:
    """Slope of Debye's exponent for the size of 0F1(; order + 1; -s^2/4)."""
    root = math.sqrt((order - s) * (order + s)) if s < order else 0.0
    return -s / (order + root) if s < order else -order / s


def build_panels(series: AscendingSeries, order: float, stop: float) -> tuple[Panel, ...]:
    """Panels of the radial density from 0 to a radius, each split until its series ends.

    ``order`` is that of the Bessel function J(s) (2/s)^order which F resembles where it waves.
    """
    fit = partial(_fit, series, order, _LEAST_PANEL * stop)
    ends = [-np.inf, *np.log(np.linspace(0.0, stop, _FIRST_PANELS + 1)[1:])]
    return bisected(ends, fit, lambda low, high: float(np.log(0.5 * np.exp([low, high]).sum())))


def _fit(
    series: AscendingSeries, order: float, narrowest: float, low: float, high: float
) -> Panel | None:
    """The panel between two logarithms of radii, if its series ends."""
    dim, radius = series.dim, float(series.form.radius)
    begin = float(np.exp(low))
    middle, half = middle_of(begin, high)
    if 2.0 * half < narrowest:
        raise AccuracyError(
            f"The density on a panel at w = {middle:.17g} is no polynomial to rounding, although "
            "it is an entire function: please report the kernel."
        )
    with working(_NODE_BITS):
        # Exact nodes: rounded ones would be off by s eps, which is more than the panel may err.
        w = [flint.arb(middle) + flint.arb(half) * flint.arb(x) for x in _PLACES]
        values = [v.mid() for v in series(w)]
        x = [v.log() for v in w]
        sizes = np.array([log_of(v) for v in values])
        turn = 0.0
        if begin and len({v > 0 for v in values}) == 1:
            nodes = slice(_DEGREE + 1)
            turn = slope_between(np.array(x, dtype=float)[nodes], sizes[nodes])
        elif begin:  # So few waves show no power of their own.
            turn = radius * middle * _debye_slope(order, radius * middle)
        slope = dim - 1 + short(turn)
        front = series.front.log()
        logs = [front + (dim - 1 - slope) * t for t in x]
        level = short(float(max(sizes + np.array(logs, dtype=float))))
        scaled = np.array(
            [float(v * (log - level).exp()) for v, log in zip(values, logs, strict=True)]
        )
    shown = low if begin else high - 1.0
    panel, left_out = checked_panel(shown, high, begin, (level, slope), scaled)
    halves = [float(np.max(np.abs(scaled[_PLACES * side >= 0]))) for side in (-1, 1)]
    uneven = max(halves) > (_UNEVEN if begin else _UNEVEN_AT_ZERO) * min(halves)
    if uneven and 2.0 * half * radius > _HALF_PERIOD:
        return None
    return panel if left_out <= _PANEL_TOLERANCE * panel.top else None

r"""The radial density of a formula on a ball up to moderate radii, from its ascending series.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

The terms cancel like e^s, so they are summed with as many bits as the result needs.  The density
is then stored as powers next to w = 0 and on Chebyshev panels of log w beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import flint
import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working
from spectra.density.ball.ball_form import BallForm, to_ball
from spectra.density.panels.log_panels import DEGREE, Panels, Powers, fit_panels

__all__ = ["AscendingSeries", "build_panels", "front_of"]

# Every value carries at least this many correct bits, relative to the largest of its batch.
_TARGET_BITS = 68
# Precisions are multiples of this, so that few lists of moments are kept.
_BITS_STEP = 128
# Bits of the nodes of panels and of powers of them.
_NODE_BITS = 256
# Bits of the moments next to the origin: those of high powers of 1 - x cancel.
_MOMENT_BITS = 1024
# Powers of w^2 next to the origin, and the s^2 / d up to which they are used.
_POWERS, _NEAR = 12, 0.25
# A panel holds so many radians of the wave of the edge, and no more growth than exp(this).
_RADIANS, _GROWTH = 0.5 * DEGREE, 256.0
# Values above this size relative to the nearby ones are not zero.
_ZERO_BITS = 56


def front_of(form: BallForm, dim: int) -> Ball:
    """R^d 2^(2-d) / Gamma(d/2)^2, with which rho(w) = front w^(d-1) F(R w)."""
    radius = to_ball(form.radius)
    return radius**dim * flint.arb(2) ** (2 - dim) / (flint.arb(dim) / 2).gamma() ** 2


@dataclass(eq=False)
class AscendingSeries:
    """F(R w) of a formula, with which rho(w) = front w^(d-1) F(R w)."""

    form: BallForm
    dim: int
    _bits: int = field(default=_BITS_STEP, init=False)
    _known: dict[int, tuple[Iterator[Ball], list[Ball]]] = field(default_factory=dict, init=False)

    def taylor(self, count: int) -> list[Ball]:
        """Coefficients of F in powers of s^2."""
        moments, factor, found = self.form.moments(self.dim), flint.arb(1), []
        for n in range(count):
            found.append(factor * next(moments))
            factor = factor / (-4 * (n + 1) * (flint.arb(self.dim) / 2 + n))
        return found

    def __call__(self, w: Sequence[Ball]) -> list[Ball]:
        """Values F(R w) at exact radii; those of w^d F have 68 bits of the largest of them."""
        while True:
            with working(self._bits):
                radius = to_ball(self.form.radius)
                values = self._sums([(radius * x) ** 2 for x in w])
                weighted = [v * x**self.dim for v, x in zip(values, w, strict=True)]
                size = max(v.abs_lower() for v in weighted)
                wrong = max(v.rad() for v in weighted)
                if wrong * 2.0**_TARGET_BITS < size:
                    return values
                lost = log_of(wrong / size) / math.log(2.0) if size > 0 else self._bits
            # At least by a fourth: each new precision asks for all moments again.
            more = max(int(lost) + _TARGET_BITS, self._bits // 4)
            self._bits += _BITS_STEP * (1 + more // _BITS_STEP)

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


def build_panels(series: AscendingSeries, stop: float) -> tuple[Powers, Panels]:
    """The density next to the origin as powers of w, and on panels from there to a radius."""
    radius, dim = float(series.form.radius), series.dim
    first = math.sqrt(_NEAR * dim)
    edges, last = [math.log(first / radius)], math.log(stop)
    while edges[-1] < last:
        s = radius * math.exp(edges[-1])
        width = min(1.0, math.log1p(_RADIANS / s), _GROWTH / dim)
        edges.append(last if edges[-1] + 1.2 * width > last else edges[-1] + width)
    return _beginning(series, first), fit_panels(partial(_sample, series), edges)


def _sample(
    series: AscendingSeries, centre: float, offsets: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """w rho on a panel, as :func:`fit_panels` takes it."""
    with working(_NODE_BITS):
        w = [(flint.arb(centre) * flint.arb(float(t)).exp()).mid() for t in offsets]
        front = front_of(series.form, series.dim)
        values = [front * x**series.dim * v for x, v in zip(w, series(w), strict=True)]
        log = max(log_of(v) for v in values)
        unit = flint.arb(-log).exp()
        scaled = np.array([float((v * unit).mid()) for v in values])
        wrong = np.array([float((v.rad() * unit).upper()) for v in values])
    return scaled, wrong + EPS * np.abs(scaled), log


def _beginning(series: AscendingSeries, reach: float) -> Powers:
    """The density at R w < reach as a sum of powers."""
    dim = series.dim
    with working(_MOMENT_BITS + series.form.cancelled_bits):
        radius = to_ball(series.form.radius)
        scale = (reach / radius).mid()
        found = [c * (radius * scale) ** (2 * n) for n, c in enumerate(series.taylor(_POWERS))]
        least = max(abs(c).upper() for c in found) * flint.arb(2) ** -_ZERO_BITS
        first = next(n for n, c in enumerate(found) if abs(c) > least)
        logs = (front_of(series.form, dim) * scale ** (dim - 1)).log()
        sizes = [float(logs) + max(log_of(c), -1e3) for c in found[first:]]
        signs = [float(np.sign(float(c.mid()))) for c in found[first:]]
    exponents = np.asarray(dim - 1.0 + 2.0 * np.arange(first, _POWERS))
    wrong = np.full(exponents.size, 2.0 * EPS)
    return Powers(exponents, np.array(signs), np.array(sizes), wrong, float(scale))

r"""The radial density of a formula on a ball up to moderate radii, from its ascending series.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

The terms cancel like e^s, so they are summed with as many bits as the result needs.  The density
is then stored as powers next to w = 0 and on Chebyshev panels of log w beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import flint
import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.density.ball.ball_form import BallForm, to_ball
from spectra.density.panels.log_panels import DEGREE, Panels, Powers, fit_panels

__all__ = ["Values", "ascending_series", "build_panels", "front_of"]

#: F(R w) of a formula at exact radii, with which rho(w) = front w^(d-1) F(R w).
Values = Callable[[Sequence[Ball]], list[Ball]]

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


def ascending_series(form: BallForm, dim: int) -> Values:
    """Values F(R w) at exact radii; those of w^d F have 68 bits of the largest of them."""
    bits, moments = _BITS_STEP, form.moments(dim)
    known: list[Ball] = []

    def values(w: Sequence[Ball]) -> list[Ball]:
        nonlocal bits, moments, known
        while True:
            with working_precision(bits):
                radius = to_ball(form.radius)
                found = _sum_series(moments, known, dim, [(radius * x) ** 2 for x in w])
                weighted = [v * x**dim for v, x in zip(found, w, strict=True)]
                size = max(v.abs_lower() for v in weighted)
                wrong = max(v.rad() for v in weighted)
                if wrong * 2.0**_TARGET_BITS < size:
                    return found
                lost = log_magnitude(wrong / size) / math.log(2.0) if size > 0 else bits
            # At least by a fourth: each new precision asks for all moments again.
            more = max(int(lost) + _TARGET_BITS, bits // 4)
            bits += _BITS_STEP * (1 + more // _BITS_STEP)
            moments, known = form.moments(dim), []

    return values


def _sum_series(
    moments: Iterator[Ball], known: list[Ball], dim: int, squares: list[Ball]
) -> list[Ball]:
    """Sums of the series at s^2, with what they leave out in their balls."""
    half, least = flint.arb(dim) / 2, flint.arb(2) ** -flint.ctx.prec
    largest = max(q.upper() for q in squares) / 4
    coefficients, factor, size = [], flint.arb(1), flint.arb(1)
    n = 0
    # In the end each bound is at most half of the one before it.
    while not (size < least and 2 * largest < n * (half + n)):
        if n == len(known):
            known.append(next(moments))
        coefficients.append(factor * known[n])
        factor = factor / (-4 * (n + 1) * (half + n))
        size = size * largest / ((n + 1) * (half + n))
        n += 1
    series = flint.arb_poly(coefficients)
    rest = flint.arb(0, 2 * size.upper() * max(abs(m).upper() for m in known))
    return [series(q) + rest for q in squares]


def build_panels(form: BallForm, dim: int, values: Values, stop: float) -> tuple[Powers, Panels]:
    """The density next to the origin as powers of w, and on panels from there to a radius."""
    radius = float(form.radius)
    first = math.sqrt(_NEAR * dim)
    edges, last = [math.log(first / radius)], math.log(stop)
    while edges[-1] < last:
        s = radius * math.exp(edges[-1])
        width = min(1.0, math.log1p(_RADIANS / s), _GROWTH / dim)
        edges.append(last if edges[-1] + 1.2 * width > last else edges[-1] + width)
    return _beginning(form, dim, first), fit_panels(partial(_sample, form, dim, values), edges)


def _sample(
    form: BallForm, dim: int, values: Values, centre: float, offsets: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """w rho on a panel, as :func:`fit_panels` takes it."""
    with working_precision(_NODE_BITS):
        w = [(flint.arb(centre) * flint.arb(float(t)).exp()).mid() for t in offsets]
        front = front_of(form, dim)
        found = [front * x**dim * v for x, v in zip(w, values(w), strict=True)]
        log = max(log_magnitude(v) for v in found)
        unit = flint.arb(-log).exp()
        scaled = np.array([float((v * unit).mid()) for v in found])
        wrong = np.array([float((v.rad() * unit).upper()) for v in found])
    return scaled, wrong + EPS * np.abs(scaled), log


def _beginning(form: BallForm, dim: int, reach: float) -> Powers:
    """The density at R w < reach as a sum of powers."""
    with working_precision(_MOMENT_BITS + form.cancelled_bits):
        radius = to_ball(form.radius)
        scale = (reach / radius).mid()
        moments, factor, found = form.moments(dim), flint.arb(1), []
        for n in range(_POWERS):
            found.append(factor * next(moments))
            factor *= (radius * scale) ** 2 / (-4 * (n + 1) * (flint.arb(dim) / 2 + n))
        least = max(abs(c).upper() for c in found) * flint.arb(2) ** -_ZERO_BITS
        first = next(n for n, c in enumerate(found) if abs(c) > least)
        logs = (front_of(form, dim) * scale ** (dim - 1)).log()
        sizes = [float(logs) + max(log_magnitude(c), -1e3) for c in found[first:]]
        signs = [float(np.sign(float(c.mid()))) for c in found[first:]]
    exponents = np.asarray(dim - 1.0 + 2.0 * np.arange(first, _POWERS))
    wrong = np.full(exponents.size, 2.0 * EPS)
    return Powers(exponents, np.array(signs), np.array(sizes), wrong, float(scale))

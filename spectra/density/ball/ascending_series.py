r"""The density of a formula on a ball z <= R at small and moderate radii, from its power series.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx , \qquad s = R w .

The terms cancel by a factor of about e^s, so the precision is raised until the sum is accurate.
The density is stored as powers of w next to 0, and as Chebyshev series in log w beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import flint
import numpy as np

from spectra.base.accuracy import EPS
from spectra.base.fitting import RADIANS
from spectra.base.limits import check_time
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.density.ball.ball_form import BallForm, to_arb
from spectra.density.oscillating_tail import OscillatingTail
from spectra.density.panel_density import PanelDensity, Powers, fit_pieces

__all__ = ["ExactValues", "ascending_series", "build_density", "front_factor"]

#: F(R w) of a formula at a list of exact radii w.
ExactValues = Callable[[Sequence[Ball]], list[Ball]]

# Correct bits of the values, relative to the largest in a list.
_TARGET_BITS = 68
# The precision is raised by multiples of this.
_BITS_STEP = 128
# Working precision for the nodes of panels and their powers.
_NODE_BITS = 256
# Working precision for moments in the series next to w = 0, where high powers of 1 - x cancel.
_MOMENT_BITS = 1024
# Number of powers of w^2 next to w = 0, and the s^2 / d up to which they are used.
_POWERS, _NEAR = 12, 0.25
# Largest width of a panel on which a series resolves a wave to rounding, in radians.  The powers
# are used a little beyond the first edge.
_EXACT_RADIANS, _OVERLAP = 0.7 * RADIANS, 1.0 + 1e-8
# Leading coefficients below 2^-56 of the largest are taken as zero, and left out.
_ZERO_BITS = 56


def front_factor(form: BallForm, dim: int) -> Ball:
    """The factor R^d 2^(2-d) / Gamma(d/2)^2 of rho(w) = factor * w^(d-1) F(R w)."""
    radius = to_arb(form.radius)
    return radius**dim * flint.arb(2) ** (2 - dim) / (flint.arb(dim) / 2).gamma() ** 2


def ascending_series(form: BallForm, dim: int) -> ExactValues:
    """The function F(R w); w^d F has 68 correct bits relative to the largest value in a list."""
    bits, moments = _BITS_STEP, form.moments(dim)
    known: list[Ball] = []

    def values(w: Sequence[Ball]) -> list[Ball]:
        nonlocal bits, moments, known
        while True:
            check_time()
            with working_precision(bits):
                radius = to_arb(form.radius)
                found = _sum_series(moments, known, dim, [(radius * x) ** 2 for x in w])
                weighted = [v * x**dim for v, x in zip(found, w, strict=True)]
                size = max(v.abs_lower() for v in weighted)
                error = max(v.rad() for v in weighted)
                if error * 2.0**_TARGET_BITS < size:
                    return found
                missing = log_magnitude(error / size) / math.log(2.0) if size > 0 else bits
            # At least a fourth more, since a new precision computes all moments again.
            more = max(int(missing) + _TARGET_BITS, bits // 4)
            bits += _BITS_STEP * (1 + more // _BITS_STEP)
            moments, known = form.moments(dim), []

    return values


def _sum_series(
    moments: Iterator[Ball], known: list[Ball], dim: int, squares: list[Ball]
) -> list[Ball]:
    """Sums of the series at values of s^2; ``known`` are the first moments, which it extends."""
    half, least = flint.arb(dim) / 2, flint.arb(2) ** -flint.ctx.prec
    largest = max(q.upper() for q in squares) / 4
    coefficients, factor, size = [], flint.arb(1), flint.arb(1)  # size bounds |term / moment|
    n = 0
    # Stop when terms are negligible and each is at most half of the one before.
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


def build_density(
    form: BallForm, dim: int, values: ExactValues, stop: float, tail: OscillatingTail | None = None
) -> PanelDensity:
    """The density as powers of w next to 0, on panels up to the radius ``stop``, and its tail.

    Without a tail it is negligible beyond the panels.
    """
    radius = float(form.radius)
    first = math.sqrt(_NEAR * dim)
    edges, last = [math.log(first / radius)], math.log(stop)
    while edges[-1] < last:
        s = radius * math.exp(edges[-1])
        # Up to s = d/2 the density does not oscillate, but for a factor w^d.
        width = min(1.0, math.log1p(_EXACT_RADIANS * max(0.5 * dim / s, 1.0) / s))
        edges.append(last if edges[-1] + 1.2 * width > last else edges[-1] + width)
    # Multiples of 2^-30, so that the middles of panels are exact.
    edges = [math.ldexp(round(math.ldexp(t, 30)), -30) for t in edges]
    log_turn = max([t for t in edges if radius * math.exp(t) < 0.5 * dim], default=edges[0])
    sample = partial(_sample, form, dim, values, log_turn)
    beginning = _expand_at_zero(form, dim, first * _OVERLAP)
    density = PanelDensity(
        pieces=fit_pieces(sample, edges, exact=True),
        total=float(form.value_at_zero),
        origin_exponent=float(beginning.exponents[0]),
        bulk=(0.0, stop),
        decay=np.inf if tail is None else min(tail.exponent, tail.background_exponent),
        beginning=beginning,
        ending=tail or beginning,
        tail=tail,
        growth=float(dim),
        log_turn=log_turn,
    )
    low, high = density.find_bulk()
    if tail is not None:
        return replace(density, bulk=(low, stop))
    ending = Powers.vanishing(stop, float(density.log_size[-1]) - last)
    return replace(density, bulk=(low, high), ending=ending)


def _sample(
    form: BallForm,
    dim: int,
    values: ExactValues,
    log_turn: float,
    middle: FloatArray,
    offset: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """w rho at w = exp(middle + offset), times (exp(log_turn) / w)^dim below exp(log_turn)."""
    found, errors, logs = np.empty(offset.shape), np.empty(offset.shape), np.empty(len(offset))
    with working_precision(_NODE_BITS):
        front = front_factor(form, dim)
        at_turn = front * flint.arb(log_turn).exp() ** dim
        for i, row in enumerate(offset.tolist()):
            t = flint.arb(float(middle[i, 0]))
            w = [(t + flint.arb(x)).exp().mid() for x in row]
            each = values(w)
            if float(middle[i, 0]) < log_turn:
                each = [at_turn * v for v in each]
            else:
                each = [front * x**dim * v for x, v in zip(w, each, strict=True)]
            logs[i] = max(log_magnitude(v) for v in each)
            scale = flint.arb(-logs[i]).exp()
            found[i] = [float((v * scale).mid()) for v in each]
            errors[i] = [float((v.rad() * scale).upper()) for v in each]
    return found, errors + EPS * np.abs(found), logs


def _expand_at_zero(form: BallForm, dim: int, largest: float) -> Powers:
    """The density at R w < largest as a sum of powers of w / scale, scale = largest / R."""
    with working_precision(_MOMENT_BITS + form.cancelled_bits):
        radius = to_arb(form.radius)
        scale = (largest / radius).mid()
        moments, factor, found = form.moments(dim), flint.arb(1), []
        for n in range(_POWERS):
            found.append(factor * next(moments))
            factor *= (radius * scale) ** 2 / (-4 * (n + 1) * (flint.arb(dim) / 2 + n))
        least = max(abs(c).upper() for c in found) * flint.arb(2) ** -_ZERO_BITS
        first = next(n for n, c in enumerate(found) if abs(c) > least)
        log_front = float((front_factor(form, dim) * scale ** (dim - 1)).log())
        log_sizes = [log_front + max(log_magnitude(c), -1e3) for c in found[first:]]
        signs = [float(np.sign(float(c.mid()))) for c in found[first:]]
    exponents = np.asarray(dim - 1.0 + 2.0 * np.arange(first, _POWERS))
    errors = np.full(exponents.size, 2.0 * EPS)
    return Powers(exponents, np.array(signs), np.array(log_sizes), errors, float(scale))

r"""The density of a formula on a ball at large radii: its edge oscillates, its origin does not.

Near the edge tau = 1 - x^2 is small and k = sum kappa_j tau^(p+j); Sonine's integral turns each
term into a Hankel function.  Near the origin the odd powers c x^m leave an algebraic part:

.. math:: \int_0^1 k x^{d/2} J_{d/2-1}(sx)\,dx = \mathrm{Re} \sum_j
          \kappa_j 2^{p+j} \Gamma(p+j+1) s^{-p-j-1} H^{(1)}_{d/2+p+j}(s)
          + \sum_{m\ \mathrm{odd}} c_m \frac{2^{d/2+m}\Gamma((d+m)/2)}{\Gamma(-m/2)} s^{-d/2-1-m}.

Both series end for polynomials in z^2 and are exact there; otherwise they are asymptotic, with a
least term that decreases like e^-s.  Here s = R w.  Sonine: DLMF 10.22.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
import numpy as np
import sympy
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working
from spectra.density.ball.ascending_series import Values, front_of
from spectra.density.ball.ball_form import BallForm, to_ball
from spectra.density.panels.log_panels import chebyshev_coefficients
from spectra.density.panels.oscillating_tail import NO_SERIES, OscillatingTail, PowerSeries
from spectra.errors import AccuracyError

__all__ = ["build_tail"]

# Optimal truncation of the edge series leaves about e^-phase; 42 is e^-42 = 6e-19.
_FIRST_PHASE = 42.0
# The edge series in 1 - x^2 itself has its least term, about e^(-s/2), near index s/2; flat edges
# (large exponents) reach it later.  Found by trial; the loop below raises them where needed.
_FIRST_START = 76.0
_START_PER_EXPONENT = 4.0
_GROWTH = 1.2
_MAX_TRIES = 12
# The tail is accepted where its series end and agree with the ascending series to this.
_TAIL_TOLERANCE = 4e-15
_TRUNCATION = 1e-17
_DEGREES = (26, 52, 104, 208)
_FIT_TOLERANCE = 3e-16
# Where the tail is compared with the ascending series, as multiples of its start.
_CHECK_POINTS = (1.0, 1.013, 1.057, 1.131)
_GUARD_BITS = 130
# Terms of the expansions at the ends.
_MOST_TERMS = 400
# A Hankel function is computed with at most so many times the bits of its result.
_MOST_BITS = 64


#: An exponent at the edge and the coefficients kappa_j of tau^(exponent + j).
_Wave = tuple[sympy.Expr, list[Ball]]


def _hankel_modulation(order: sympy.Expr, s: Ball) -> Ball:
    """H_order(s) / (sqrt(2/(pi s)) exp(i(s - order pi/2 - pi/4))) at an exact s.

    By K_order(-is), DLMF 10.27.8.
    """

    def value() -> Ball:
        z = flint.acb(0, -s)
        return (2 * z / flint.arb.pi()).sqrt() * z.bessel_k(to_ball(order), scaled=True)

    return flint.good(value, maxprec=_MOST_BITS * flint.ctx.prec, parts=False)


def _first_start(order: float, exponent: float, *, exact: bool) -> float:
    """The s where sqrt(s^2-n^2) - n acos(n/s) reaches _FIRST_PHASE, rounded up a little.

    Where the edge series is infinite its least term, of index s/2, must be small too.
    """
    s = order + _FIRST_PHASE
    if not exact:
        s = max(s, _FIRST_START + _START_PER_EXPONENT * exponent)
    while math.sqrt(s * s - order * order) - order * math.acos(order / s) < _FIRST_PHASE:
        s *= 1.05
    return s


def build_tail(form: BallForm, dim: int, values: Values) -> OscillatingTail:
    """The tail of a formula, started where it agrees with ``values`` of its ascending series."""
    lead = float(form.edge_exponents[0])
    start = _first_start(0.5 * dim + lead, lead, exact=form.has_finite_edge)
    best = math.inf
    for k in range(_MAX_TRIES):
        tail = _compare(_tail_from(form, dim, start * _GROWTH**k), form, dim, values)
        if tail.fit_error <= _TAIL_TOLERANCE:
            return tail
        best = min(best, tail.fit_error)
    raise AccuracyError(
        f"The expansion at the edge of a kernel on a ball in dimension {dim} misses the integral "
        f"by {best:.1e} of the local amplitude: the formula has a complex singularity near one of "
        "its ends. Write the kernel as a sum of one that is smoother there and one with a shorter "
        "support, or design a finite measure for the range of your data (design)."
    )


def _tail_from(form: BallForm, dim: int, start: float) -> OscillatingTail:
    """The expansions at the edge and at the origin for R w >= start."""
    p0, length = form.edge_exponents[0], min(_MOST_TERMS, int(1.3 * start) + 24)
    # The recursion of Hankel functions in their order widens balls by up to 1.3 bits a step.
    bits = int(_GUARD_BITS + 4.5 * float(p0) + 1.3 * length) + form.cancelled_bits
    with working(bits):
        s, radius = flint.arb(start), to_ball(form.radius)
        waves = _edge_waves(form, dim, length, s)
        size = abs(sum(_hankel_terms(*waves[0], dim, s)))
        unit = _front(p0, dim, s) * size
        constant = 2 * radius / (flint.arb(dim) / 2).gamma()
        wave, wave_error = _fit_waves(waves, dim, s, size)
        background = _fit_background(form, dim, length, s, unit, constant)
        high = float(radius)
        order = sympy.Rational(dim, 2) + p0
        return OscillatingTail(
            support=(high, float(radius - high)),
            start=start / high,
            order=float(order),
            quarter_turns=float((order + sympy.Rational(1, 2)) % 4),
            amplitude_series=PowerSeries(
                float(p0) + 1.5 - 0.5 * dim, float((constant * unit).log()), *wave
            ),
            background_series=background,
            fit_error=wave_error + 4 * EPS * float(np.sum(np.abs(background.coefficients))),
        )


def _front(exponent: sympy.Expr, dim: int, s: Ball) -> Ball:
    """s^(d/2) 2^(p-d/2) Gamma(p+1) s^(-p-1) (2/(pi s))^(1/2), the unit of a wave."""
    p = to_ball(exponent)
    shape = (s / 2) ** (flint.arb(dim) / 2 - p) / s
    return (p + 1).gamma() * shape * (2 / (flint.arb.pi() * s)).sqrt()


def _edge_waves(form: BallForm, dim: int, length: int, s: Ball) -> list[_Wave]:
    """The expansions at the edge, with as many terms as count from s on."""
    waves: list[_Wave] = []
    for p in form.edge_exponents:
        whole = int(sympy.floor(p))
        series = form.edge_series(p - whole, whole + length)[whole:]
        while len(series) > 1 and series[-1] == 0:
            series.pop()
        unit = _front(p, dim, s)
        sizes = [t.abs_upper() * unit for t in _hankel_terms(p, series, dim, s)]
        if not waves:
            floor = _TRUNCATION * sizes[0]
        ends = len(sizes) < length and not form.exponents
        waves.append((p, series[: max(_count_terms(sizes, floor, ends=ends), 1)]))
    return waves


def _hankel_terms(exponent: sympy.Expr, kappa: list[Ball], dim: int, s: Ball) -> list[Ball]:
    """The terms of the Hankel sum at an exact s in units of its front, without their phase."""
    order = sympy.Rational(dim, 2) + exponent
    before, now = _hankel_modulation(order, s), _hankel_modulation(order + 1, s)
    p, n = to_ball(exponent), to_ball(order)
    weight, turn, found = flint.acb(1), flint.acb(0, 2) / s, []
    for j, c in enumerate(kappa):
        found.append(c * weight * before)
        weight *= -turn * (p + j + 1)
        before, now = now, turn * (n + j + 1) * now + before
    return found


def _fit_waves(
    waves: list[_Wave], dim: int, s0: Ball, size: Ball
) -> tuple[tuple[int, NDArray[Any]], float]:
    """The sum of waves in units of the first one, less Debye's phase, as root and series."""
    p0 = waves[0][0]
    n, root = to_ball(sympy.Rational(dim, 2) + p0), math.lcm(*(int((p - p0).q) for p, _ in waves))

    def modulation(y: float) -> Ball:
        s = (s0 / flint.arb(y) ** root).mid()
        q, side = n / s, (s * s - n * n).sqrt()
        delta = n * q.asin() - n * n / (s + side)
        common = flint.acb(0, -delta).exp() * (1 - q * q).sqrt().sqrt() / size
        total = flint.acb(0)
        for p, kappa in waves:
            turn = flint.acb(0, to_ball(p0 - p) * flint.arb.pi() / 2).exp()
            unit = _front(p, dim, s) / _front(p0, dim, s)
            total += sum(_hankel_terms(p, kappa, dim, s)) * turn * unit
        return total * common

    for degree in _DEGREES:
        values = [modulation(y) for y in _unit_nodes(degree)]
        fit = chebyshev_coefficients(np.array([complex(v) for v in values]))
        if np.max(np.abs(fit[-3:])) <= _FIT_TOLERANCE:
            break
    error = 4.0 * max(float(v.rad()) for v in values) + 4.0 * float(np.max(np.abs(fit[-3:])))
    return (root, _trim(fit)), error + 4.0 * EPS * float(np.sum(np.abs(fit)))


def _fit_background(
    form: BallForm, dim: int, length: int, s0: Ball, unit: Ball, constant: Ball
) -> PowerSeries:
    """The background constant * sum b_m s^(-1-m) of the powers x^m at the origin."""
    terms, half = [], flint.arb(dim) / 2
    for m, c in form.odd_origin_terms(length):
        power = to_ball(m)
        ratio = (half + power / 2).gamma() * (-power / 2).rgamma()
        terms.append((m, to_ball(c) * ratio * flint.arb(2) ** power * s0 ** (-1 - power)))
    sizes = [abs(b).upper() for _, b in terms]
    floor = _TRUNCATION * (unit + sum(sizes[:1]))
    terms = terms[: _count_terms(sizes, floor, ends=form.has_finite_origin)]
    if not terms:
        return NO_SERIES
    first = terms[0][0]
    root = math.lcm(*(Fraction(m - first).denominator for m, _ in terms))
    lead = max(b.abs_upper() for _, b in terms)
    powers = [(int(root * (m - first)), b / lead) for m, b in terms]
    values = [sum(b * flint.arb(y) ** k for k, b in powers) for y in _unit_nodes(powers[-1][0] + 2)]
    series = chebyshev_coefficients(np.array(values, dtype=float))
    log_factor = float((constant * lead).log())
    return PowerSeries(1.0 + float(first), log_factor, root, _trim(series))


def _compare(tail: OscillatingTail, form: BallForm, dim: int, values: Values) -> OscillatingTail:
    """The tail with what it misses by, against the ascending series, in its error."""
    w = tail.start * np.array(_CHECK_POINTS)
    front, excess = front_of(form, dim), 0.0
    for at, sign, log, envelope, claimed in zip(w, *tail.evaluate(w), strict=True):
        # One by one: a batch is exact relative to its largest value, and these differ widely.
        x = flint.arb(float(at))
        (exact,) = values([x])
        found = int(sign) * flint.arb(float(log)).exp()
        miss = (front * x ** (dim - 1) * exact - found) * flint.arb(-float(envelope)).exp()
        excess = max(excess, float(abs(miss)) - float(claimed))
    return replace(tail, fit_error=tail.fit_error + 2.0 * excess)


def _unit_nodes(degree: int) -> FloatArray:
    return np.asarray(0.5 * (chebyshev.chebpts1(degree + 1) + 1.0))


def _trim(series: NDArray[Any]) -> NDArray[Any]:
    """The series without the coefficients that are below its rounding."""
    floor = 0.05 * EPS * np.max(np.abs(series))
    kept = np.flatnonzero(np.abs(series) > floor)
    return series[: (kept[-1] + 1 if kept.size else 1)]


def _count_terms(sizes: list[Ball], floor: Ball, *, ends: bool) -> int:
    """How many terms to keep: up to two in a row below ``floor``, or up to the least pair.

    ``ends`` says that the list is the whole series.
    """
    pairs = [max(pair) for pair in pairwise(sizes)]
    small = [j for j, pair in enumerate(pairs) if pair <= floor]
    if small or ends or not pairs:
        return small[0] if small else len(sizes)
    return pairs.index(min(pairs))

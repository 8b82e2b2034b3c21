r"""The density of a formula on a ball: a power series in w, and expansions at large radii.

With x = z / R and s = R w the power series is

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx
          = \sum_n \frac{(-s^2/4)^n}{n!\,(d/2)_n} \int_0^1 k(Rx)\,x^{d-1+2n}\,dx .

Its terms cancel by a factor of about e^s, so the precision is raised until the sum is accurate.
The density is stored as powers of w next to 0, and on panels of log w beyond.

At large radii the expansion k = sum kappa_j tau^(p+j) in tau = 1 - x^2 at the edge
gives the oscillating part: Sonine's integral (DLMF 10.22) makes a Hankel function of each term.
The powers c_m x^m at the origin that are no even integers give the algebraic part:

.. math:: \int_0^1 k x^{d/2} J_{d/2-1}(sx)\,dx = \mathrm{Re} \sum_j
          \kappa_j 2^{p+j} \Gamma(p+j+1) s^{-p-j-1} H^{(1)}_{d/2+p+j}(s)
          + \sum_m c_m \frac{2^{d/2+m}\Gamma((d+m)/2)}{\Gamma(-m/2)} s^{-d/2-1-m}.

Both series are finite and exact for polynomials in z^2.  Otherwise they are asymptotic, with a
least term that decreases exponentially in s.  They are compared with the power series at a few
radii.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.base.accuracy import EPS, NEGLIGIBLE, NOISE
from spectra.base.fitting import RADIANS, fit
from spectra.base.limits import check_time
from spectra.base.numbers import FloatArray
from spectra.base.piecewise import Chart, Piecewise
from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.density.ball.ball_form import BallForm, to_arb
from spectra.density.components import OscillatingTail
from spectra.density.panel_density import PanelDensity, Powers, fit_pieces
from spectra.errors import AccuracyError

__all__ = ["ascending_series", "ball_component", "build_density"]

# Least phase of the Hankel function, in radians, at the start of the tail: see ``_first_start``.
_FIRST_PHASE = 42.0
# First s of the tail for an infinite edge series, whose least term (j = s/2) is about e^(-s/2):
# s for the edge exponent 0, and the increase of s for each unit of the exponent.
_FIRST_START, _START_PER_EXPONENT = 76.0, 4.0
# The start is multiplied by 1.2 until the tail is accurate.
_GROWTH, _MAX_TRIES = 1.2, 12
# Accepted error of the tail, relative to the local size.
_TAIL_TOLERANCE = 18.0 * EPS
# Accepted size of the last coefficients of a series.
_FIT_TOLERANCE = 1.5 * EPS
# Radii where the tail is compared with the power series in w, as multiples of its start.
_CHECK_POINTS = (1.0, 1.013, 1.057, 1.131)
_GUARD_BITS = 130  # working precision beyond the bits that cancel
_MOST_TERMS = 400  # of the expansion at the edge
# Arb computes a Hankel function with at most so many times the working precision.
_MOST_PRECISION = 64

#: An edge exponent p and the coefficients kappa_j of tau^(p + j).
_EdgeSeries = tuple[sympy.Expr, list[Ball]]
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


def _scaled_hankel(order: sympy.Expr, s: Ball) -> Ball:
    """H_n(s) / (sqrt(2/(pi s)) exp(i(s - n pi/2 - pi/4))), n = order, from K_n, DLMF 10.27.8."""

    def value() -> Ball:
        z = flint.acb(0, -s)
        return (2 * z / flint.arb.pi()).sqrt() * z.bessel_k(to_arb(order), scaled=True)

    return flint.good(value, maxprec=_MOST_PRECISION * flint.ctx.prec, parts=False)


def _first_start(order: float, exponent: float, *, is_finite: bool) -> float:
    """An s where the phase sqrt(s^2-n^2) - n acos(n/s) of H_n exceeds _FIRST_PHASE, n = order.

    If the edge series is not finite, its least term must be small, too.
    """
    s = order + _FIRST_PHASE
    if not is_finite:
        s = max(s, _FIRST_START + _START_PER_EXPONENT * exponent)
    while math.sqrt(s * s - order * order) - order * math.acos(order / s) < _FIRST_PHASE:
        s *= 1.05
    return s


def _build_tail(form: BallForm, dim: int, values: ExactValues) -> OscillatingTail:
    """The density at large radii, beginning where it agrees with ``values`` of the power series."""
    lead = float(form.edge_exponents[0])
    start = _first_start(0.5 * dim + lead, lead, is_finite=form.has_finite_edge_series)
    best = math.inf
    for k in range(_MAX_TRIES):
        tail = _compare(_expand_tail(form, dim, start * _GROWTH**k), form, dim, values)
        if tail.fit_error <= _TAIL_TOLERANCE:
            return tail
        best = min(best, tail.fit_error)
    raise AccuracyError(
        f"The expansion at the edge of a kernel with a support differs from the density in "
        f"dimension {dim} by {best:.1e} of its amplitude: the formula has a complex singularity "
        "near the edge or near 0. Write the kernel as a sum of one that is smoother there and one "
        "with a shorter support, or design a finite measure for the range of your data (design)."
    )


def ball_component(form: BallForm, dim: int) -> PanelDensity:
    """The density on R^dim of a formula on a ball.

    Examples
    --------
    >>> import numpy as np, sympy
    >>> from spectra.formula.parsing import Z
    >>> from spectra.density.ball.ball_form import read_ball_form
    >>> component = ball_component(read_ball_form(1 - Z, sympy.Integer(1)), 1)
    >>> sign, log = component.signed_log(np.array([2.0]))
    >>> bool(abs(np.exp(log[0]) - (1 - np.cos(2.0)) / (2 * np.pi)) < 1e-15)
    True
    """
    values = ascending_series(form, dim)
    tail = _build_tail(form, dim, values)
    return build_density(form, dim, values, tail.start, tail)


def _expand_tail(form: BallForm, dim: int, start: float) -> OscillatingTail:
    """The expansions at the edge and at the origin for R w >= start."""
    p0, length = form.edge_exponents[0], min(_MOST_TERMS, int(1.3 * start) + 24)
    # The recursion of Hankel functions in their order loses up to 1.3 bits a step.
    bits = int(_GUARD_BITS + 4.5 * float(p0) + 1.3 * length) + form.cancelled_bits
    with working_precision(bits):
        s, radius = flint.arb(start), to_arb(form.radius)
        edge = _truncate_edge_series(form, dim, length, s)
        size = abs(sum(_hankel_terms(*edge[0], dim, s)))
        wave_size = _front(p0, dim, s) * size
        constant = 2 * radius / (flint.arb(dim) / 2).gamma()
        wave, wave_error = _fit_wave(edge, dim, s, size)
        decay, background = _fit_background(form, dim, length, s, wave_size, constant)
        high, order = float(radius), sympy.Rational(dim, 2) + p0
        return OscillatingTail(
            support=(high, float(radius - high)),
            start=start / high,
            order=float(order),
            quarter_turns=float((order + sympy.Rational(1, 2)) % 4),
            exponent=float(p0) + 1.5 - 0.5 * dim,
            amplitude_series=_in_units(wave, constant * wave_size),
            background_exponent=decay,
            background_series=background,
            fit_error=wave_error + _rounding(background),
        )


def _front(exponent: sympy.Expr, dim: int, s: Ball) -> Ball:
    """The factor s^(d/2) 2^(p-d/2) Gamma(p+1) s^(-p-1) (2/(pi s))^(1/2) of a Hankel sum."""
    p = to_arb(exponent)
    shape = (s / 2) ** (flint.arb(dim) / 2 - p) / s
    return (p + 1).gamma() * shape * (2 / (flint.arb.pi() * s)).sqrt()


def _truncate_edge_series(form: BallForm, dim: int, length: int, s: Ball) -> list[_EdgeSeries]:
    """The expansions at the edge, without the terms that are negligible from s on."""
    found: list[_EdgeSeries] = []
    for p in form.edge_exponents:
        integer = int(sympy.floor(p))
        series = form.edge_series(p - integer, integer + length)[integer:]
        while len(series) > 1 and series[-1] == 0:
            series.pop()
        front = _front(p, dim, s)
        sizes = [term.abs_upper() * front for term in _hankel_terms(p, series, dim, s)]
        if not found:
            negligible = NEGLIGIBLE * sizes[0]
        is_complete = len(sizes) < length and not form.fitted_exponents
        kept = max(_count_terms(sizes, negligible, is_complete=is_complete), 1)
        found.append((p, series[:kept]))
    return found


def _hankel_terms(exponent: sympy.Expr, kappa: list[Ball], dim: int, s: Ball) -> list[Ball]:
    """The terms of the Hankel sum relative to its front and phase."""
    order = sympy.Rational(dim, 2) + exponent
    hankel, following = _scaled_hankel(order, s), _scaled_hankel(order + 1, s)
    p, n = to_arb(exponent), to_arb(order)
    weight, step, found = flint.acb(1), flint.acb(0, 2) / s, []
    for j, c in enumerate(kappa):
        found.append(c * weight * hankel)
        weight *= -step * (p + j + 1)
        hankel, following = following, step * (n + j + 1) * following + hankel
    return found


def _fit_wave(edge: list[_EdgeSeries], dim: int, s0: Ball, size: Ball) -> tuple[Piecewise, float]:
    """The oscillating part as a function of s0/s, and its error.

    It is relative to ``size``, Debye's phase and the front of the first Hankel sum.
    """
    p0 = edge[0][0]
    n, root = to_arb(sympy.Rational(dim, 2) + p0), math.lcm(*(int((p - p0).q) for p, _ in edge))

    def amplitude(y: float) -> Ball:
        s = (s0 / flint.arb(y) ** root).mid()
        ratio, root_of_difference = n / s, (s * s - n * n).sqrt()
        # Debye's phase sqrt(s^2 - n^2) - n acos(n/s) - pi/4 minus s - n pi/2 - pi/4.
        debye_phase = n * ratio.asin() - n * n / (s + root_of_difference)
        common = flint.acb(0, -debye_phase).exp() * (1 - ratio * ratio).sqrt().sqrt() / size
        total = flint.acb(0)
        for p, kappa in edge:
            phase = flint.acb(0, to_arb(p0 - p) * flint.arb.pi() / 2).exp()
            front = _front(p, dim, s) / _front(p0, dim, s)
            total += sum(_hankel_terms(p, kappa, dim, s)) * phase * front
        return total * common

    radii = [0.0]

    def sample(t: FloatArray) -> NDArray[Any]:
        values = [amplitude(y) for y in t.ravel().tolist()]
        radii.extend(float(v.rad()) for v in values)
        return np.array([complex(v) for v in values]).reshape(t.shape)

    wave = fit(sample, [0.0, 1.0], Chart(root=root), tolerance=0.0, absolute=_FIT_TOLERANCE)
    error = NOISE * (max(radii) + float(wave.truncation.max()))
    return wave, error + _rounding(wave)


def _rounding(series: Piecewise | None) -> float:
    """Rounding errors of sums of series."""
    return 0.0 if series is None else NOISE * EPS * float(np.abs(series.series).sum(axis=1).max())


def _in_units(series: Piecewise, factor: Ball) -> Piecewise:
    """The series times a factor, which may not be a double."""
    return replace(series, unit=np.full(series.size, float(factor.log())))


def _fit_background(
    form: BallForm, dim: int, length: int, s0: Ball, wave_size: Ball, constant: Ball
) -> tuple[float, Piecewise | None]:
    """The algebraic part, constant * sum c_m 2^m Gamma((d+m)/2) / Gamma(-m/2) s^(-1-m)."""
    terms, half = [], flint.arb(dim) / 2
    for m, c in form.non_even_origin_terms(length):
        power = to_arb(m)
        ratio = (half + power / 2).gamma() * (-power / 2).rgamma()
        terms.append((m, to_arb(c) * ratio * flint.arb(2) ** power * s0 ** (-1 - power)))
    sizes = [abs(b).upper() for _, b in terms]
    negligible = NEGLIGIBLE * (wave_size + sum(sizes[:1]))
    terms = terms[: _count_terms(sizes, negligible, is_complete=form.has_finite_origin_series)]
    if not terms:
        return math.inf, None
    first = terms[0][0]
    root = math.lcm(*(Fraction(m - first).denominator for m, _ in terms))
    largest = max(b.abs_upper() for _, b in terms)
    powers = [(int(root * (m - first)), b / largest) for m, b in terms]

    def sample(t: FloatArray) -> FloatArray:
        values = [sum(b * flint.arb(y) ** k for k, b in powers) for y in t.ravel().tolist()]
        return np.array(values, dtype=float).reshape(t.shape)

    panels = fit(sample, [0.0, 1.0], Chart(root=root), tolerance=0.0, absolute=_FIT_TOLERANCE)
    return 1.0 + float(first), _in_units(panels, constant * largest)


def _compare(
    tail: OscillatingTail, form: BallForm, dim: int, values: ExactValues
) -> OscillatingTail:
    """The tail, with its difference from the power series in w included in ``fit_error``."""
    radii = tail.start * np.array(_CHECK_POINTS)
    front, excess = front_factor(form, dim), 0.0
    for radius, sign, log, log_size, error in zip(radii, *tail.evaluate(radii), strict=True):
        # Values in one list have errors relative to the largest, and these differ widely.
        w = flint.arb(float(radius))
        (exact,) = values([w])
        found = int(sign) * flint.arb(float(log)).exp()
        difference = (front * w ** (dim - 1) * exact - found) * flint.arb(-float(log_size)).exp()
        excess = max(excess, float(abs(difference)) - float(error))
    return replace(tail, fit_error=tail.fit_error + 2.0 * excess)


def _count_terms(sizes: list[Ball], negligible: Ball, *, is_complete: bool) -> int:
    """The number of terms before two negligible ones; else all of a complete series.

    An asymptotic series is cut before its least pair of terms.
    """
    pairs = [max(pair) for pair in pairwise(sizes)]
    small = [j for j, pair in enumerate(pairs) if pair <= negligible]
    if small or is_complete or not pairs:
        return small[0] if small else len(sizes)
    return pairs.index(min(pairs))

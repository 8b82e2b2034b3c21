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
from spectra.density.ball.ascending_series import AscendingSeries, front_of
from spectra.density.ball.ball_form import to_ball
from spectra.density.ball.tail import EdgeTail, two_doubles
from spectra.density.panels.log_panels import chebyshev_coefficients
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
_DEGREES = (26, 52, 104)
_FIT_TOLERANCE = 3e-16
# Where the tail is compared with the ascending series, as multiples of its start.
_CHECK_POINTS = (1.0, 1.013, 1.057, 1.131)
_GUARD_BITS = 130
# Terms of the expansions at the ends.
_MOST_TERMS = 400
# How often the bits of a Hankel function are doubled.
_DOUBLINGS = 6


#: An exponent at the edge and the coefficients kappa_j of tau^(exponent + j).
_Wave = tuple[sympy.Expr, list[Ball]]
#: Powers m of x at the origin and the terms b_m of the background that they make.
_Background = list[tuple[int | Fraction, Ball]]


def _hankel_modulation(order: sympy.Expr, s: Ball) -> Ball:
    """H_order(s) / (sqrt(2/(pi s)) exp(i(s - order pi/2 - pi/4))) at an exact s.

    By K_order(-is), DLMF 10.27.8.
    """
    bits = work = flint.ctx.prec
    for _ in range(_DOUBLINGS):
        with working(work):
            z = flint.acb(0, -s)
            value = (2 * z / flint.arb.pi()).sqrt() * z.bessel_k(to_ball(order), scaled=True)
        if value.rel_accuracy_bits() > bits - 8:
            break
        work *= 2
    return value


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


def build_tail(series: AscendingSeries) -> EdgeTail:
    """The tail of a formula, started where it agrees with the ascending series."""
    form, dim = series.form, series.dim
    lead = float(form.edge_exponents[0])
    start = _first_start(0.5 * dim + lead, lead, exact=form.has_finite_edge)
    best = math.inf
    for k in range(_MAX_TRIES):
        tail = _Ends(series, start * _GROWTH**k).tail()
        if tail.fit_error <= _TAIL_TOLERANCE:
            return tail
        best = min(best, tail.fit_error)
    raise AccuracyError(
        f"The expansion at the edge of a kernel on a ball in dimension {dim} misses the integral "
        f"by {best:.1e} of the local amplitude: the formula has a complex singularity near one of "
        "its ends. Write the kernel as a sum of one that is smoother there and one with a shorter "
        "support, or design a finite measure for the range of your data (design)."
    )


class _Ends:
    """The expansions of a formula at the edge and at the origin, in balls, from one start on."""

    def __init__(self, series: AscendingSeries, start: float) -> None:
        self.series, self.form, self.dim = series, series.form, series.dim
        self.start, self.s = start, flint.arb(start)
        self.exponents = self.form.edge_exponents
        self.order = sympy.Rational(self.dim, 2) + self.exponents[0]
        self.length = min(_MOST_TERMS, int(1.3 * start) + 24)
        # The recursion of Hankel functions in their order widens balls by up to 1.3 bits a step.
        self.bits = (
            int(_GUARD_BITS + 4.5 * float(self.exponents[0]) + 1.3 * self.length)
            + self.form.cancelled_bits
        )

    def tail(self) -> EdgeTail:
        """The tail, with what it misses the ascending series by in its error."""
        with working(self.bits):
            waves, floor = [], None
            for exponent in self.exponents:
                series = self._kappa(exponent)
                sizes = [t.abs_upper() for t in self._terms(exponent, series, self.s)]
                floor = _TRUNCATION * sizes[0] if floor is None else floor
                ends = len(sizes) < self.length and not self.form.exponents
                count = _truncate(sizes, floor / self._scale(exponent), ends=ends)
                waves.append((exponent, series[: max(count, 1)]))
            size = abs(sum(self._terms(*waves[0], self.s)))
            unit = self._edge_unit() * size
            return self._compared(self._fit(waves, size, self._background(unit), unit))

    def _kappa(self, exponent: sympy.Expr) -> list[Ball]:
        """The coefficients kappa_j of tau^(exponent + j) at the edge."""
        whole = int(sympy.floor(exponent))
        series = self.form.edge_series(exponent - whole, whole + self.length)[whole:]
        while len(series) > 1 and series[-1] == 0:
            series.pop()
        return series

    def _terms(self, exponent: sympy.Expr, coefficients: list[Ball], s: Ball) -> list[Ball]:
        """The terms of the Hankel sum at an exact s, without their phase at infinity."""
        order = sympy.Rational(self.dim, 2) + exponent
        before, now = _hankel_modulation(order, s), _hankel_modulation(order + 1, s)
        p, n = to_ball(exponent), to_ball(order)
        weight, turn, found = flint.acb(1), flint.acb(0, 2) / s, []
        for j, c in enumerate(coefficients):
            found.append(c * weight * before)
            weight *= -turn * (p + j + 1)
            before, now = now, turn * (n + j + 1) * now + before
        return found

    def _scale(self, exponent: sympy.Expr) -> Ball:
        """What puts a wave in units of the first one, at the start."""
        p, p0 = to_ball(exponent), to_ball(self.exponents[0])
        return (p + 1).gamma() * (p0 + 1).rgamma() * (2 / self.s) ** (p - p0)

    def _edge_unit(self) -> Ball:
        """s^(d/2) 2^(p-d/2) Gamma(p+1) s^(-p-1) (2/(pi s))^(1/2) at the start."""
        s, p = self.s, to_ball(self.exponents[0])
        shape = (s / 2) ** (flint.arb(self.dim) / 2 - p) / s
        return (p + 1).gamma() * shape * (2 / (flint.arb.pi() * s)).sqrt()

    def _background(self, unit: Ball) -> _Background:
        """Terms (m, b_m) of the background sum b_m s^(-1-m), in units of 2 R / Gamma(d/2)."""
        terms, half = [], flint.arb(self.dim) / 2
        for m, c in self.form.odd_origin_terms(self.length):
            power = to_ball(m)
            ratio = (half + power / 2).gamma() * (-power / 2).rgamma()
            terms.append((m, to_ball(c) * ratio * flint.arb(2) ** power))
        sizes = [abs(b * self.s ** to_ball(-1 - m)).upper() for m, b in terms]
        floor = _TRUNCATION * (unit + sum(sizes[:1]))
        return terms[: _truncate(sizes, floor, ends=self.form.has_finite_origin)]

    def _fit(self, waves: list[_Wave], size: Ball, background: _Background, unit: Ball) -> EdgeTail:
        n, p0 = to_ball(self.order), to_ball(self.exponents[0])

        def modulations(x: float) -> list[Ball]:
            s = (self.s / flint.arb(x)).mid()
            q, root = n / s, (s * s - n * n).sqrt()
            delta = n * q.asin() - n * n / (s + root)
            common = flint.acb(0, -delta).exp() * (1 - q * q).sqrt().sqrt() / size
            values = []
            for wave in waves:
                turn = flint.acb(0, (p0 - to_ball(wave[0])) * flint.arb.pi() / 2).exp()
                value = sum(self._terms(*wave, s)) * common * turn * self._scale(wave[0])
                values.append(value)
            return values

        for degree in _DEGREES:
            rows = [modulations(x) for x in _unit_nodes(degree)]
            columns = [np.array([complex(v) for v in each]) for each in zip(*rows, strict=True)]
            fits = [chebyshev_coefficients(column) for column in columns]
            if all(np.max(np.abs(f[-3:])) <= _FIT_TOLERANCE for f in fits):
                break
        fit_error = 4.0 * max(float(v.rad()) for row in rows for v in row)
        for f in fits:
            fit_error += float(4 * np.max(np.abs(f[-3:])) + 4 * EPS * np.sum(np.abs(f)))
        offsets = [float(e - self.exponents[0]) for e in self.exponents]
        stored = tuple((o, _trim(f)) for o, f in zip(offsets, fits, strict=True))
        radius = to_ball(self.form.radius)
        constant = 2 * radius / (flint.arb(self.dim) / 2).gamma()
        power_b, log_b, root_b, series_b = _background_series(background, self.s, constant)
        fit_error += 4 * EPS * float(np.sum(np.abs(series_b)))
        high, low = two_doubles(radius)
        return EdgeTail(
            radius=(high, low),
            start=self.start / high,
            start_scaled=self.start,
            order=float(self.order),
            quarter_turns=float((self.order + sympy.Rational(1, 2)) % 4),
            amplitude_power=0.5 * self.dim - float(self.exponents[0]) - 1.5,
            amplitude_log=float((constant * unit).log()),
            families=stored,
            background_power=power_b,
            background_log=log_b,
            background_root=root_b,
            background_series=series_b,
            fit_error=fit_error,
        )

    def _compared(self, tail: EdgeTail) -> EdgeTail:
        """The tail with what it misses by, against the ascending series, in its error."""
        w = tail.start * np.array(_CHECK_POINTS)
        front = front_of(self.form, self.dim)
        sign, log = tail.signed_log(w)
        excess = 0.0
        columns = zip(w, sign, log, tail.log_envelope(w), tail.relative_error(w), strict=True)
        for at, sg, lg, envelope, claimed in columns:
            # One by one: a batch is exact relative to its largest value, and these differ widely.
            x = flint.arb(float(at))
            (exact,) = self.series([x])
            scale = flint.arb(-float(envelope)).exp()
            found = int(sg) * flint.arb(float(lg)).exp()
            miss = float(abs((front * x ** (self.dim - 1) * exact - found) * scale))
            excess = max(excess, miss - float(claimed))
        return replace(tail, fit_error=tail.fit_error + 2.0 * excess)


def _background_series(
    terms: _Background, s0: Ball, constant: Ball
) -> tuple[float, float, int, FloatArray]:
    """Power, logarithm at s0, root q and Chebyshev series in (s0/s)^(1/q) of the background."""
    if not terms:
        return math.inf, 0.0, 1, np.zeros(1)
    first = terms[0][0]
    root = math.lcm(*(Fraction(m - first).denominator for m, _ in terms))
    sizes = [(int(root * (m - first)), b * s0 ** to_ball(-1 - m)) for m, b in terms]
    lead = max(v.abs_upper() for _, v in sizes)
    nodes = _unit_nodes(sizes[-1][0] + 2)
    values = [sum(v * flint.arb(x) ** k for k, v in sizes) / lead for x in nodes]
    series = chebyshev_coefficients(np.array(values, dtype=float))
    return 1.0 + float(first), float((constant * lead).log()), root, _trim(series)


def _unit_nodes(degree: int) -> FloatArray:
    return np.asarray(0.5 * (chebyshev.chebpts1(degree + 1) + 1.0))


def _trim(series: NDArray[Any]) -> NDArray[Any]:
    """The series without the coefficients that are below its rounding."""
    floor = 0.05 * EPS * np.max(np.abs(series))
    kept = np.flatnonzero(np.abs(series) > floor)
    return series[: (kept[-1] + 1 if kept.size else 1)]


def _truncate(sizes: list[Ball], floor: Ball, *, ends: bool) -> int:
    """How many terms to keep: up to two in a row below ``floor``, or up to the least pair.

    ``ends`` says that the list is the whole series.
    """
    pairs = [max(pair) for pair in pairwise(sizes)]
    small = [j for j, pair in enumerate(pairs) if pair <= floor]
    if small or ends or not pairs:
        return small[0] if small else len(sizes)
    return pairs.index(min(pairs))

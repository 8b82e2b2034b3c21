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
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError
from spectra.numeric import FloatArray
from spectra.transform.on_balls.ascending import AscendingSeries
from spectra.transform.on_balls.ball import RadialForm, to_mpf
from spectra.transform.on_balls.tail import (
    EPS,
    EdgeTail,
    ScaledRadius,
    edge_angles,
)
from spectra.transform.panel import chebyshev_coefficients

__all__ = ["build_tail"]

# Optimal truncation of the edge series leaves about e^-phase; 42 is e^-42 = 6e-19.
_FIRST_PHASE = 42.0
# The edge series in 1 - x^2 itself has its least term, about e^(-s/2), near index s/2; flat edges
# (large exponents) reach it later.  Found by trial; the loop below raises them where needed.
_FIRST_START = 76.0
_START_PER_EXPONENT = 4.0
# From this exponent on (chosen) the edge may be so flat that its wave is nothing beside the
# background long before its series serves.
_FLAT = 12.0
# What the background may fall to, relative to its leading power, while it bounds that wave.
_STEADY = 0.1
_STEADY_POINTS = 513
_GROWTH = 1.2
_MAX_TRIES = 12
# The tail is accepted where its series end and agree with the ascending series to this.
_TAIL_TOLERANCE = 4e-15
_TRUNCATION = 1e-17
_MAX_TERMS = 400
_DEGREES = (26, 52, 104)
_FIT_TOLERANCE = 3e-16
# Where the tail is compared with the ascending series, as multiples of its start.
_CHECK_POINTS = (1.0, 1.013, 1.057, 1.131, 1.27, 1.55)
_GUARD_BITS = 90


def hankel_modulation(order: Any, s: Any) -> tuple[Any, Any]:
    """H_order(s) / (sqrt(2/(pi s)) exp(i(s - order pi/2 - pi/4))) by Hankel's expansion.

    Returns
    -------
    value : mpc
    error : mpf
        The first term left out, relative to 1 (DLMF 10.17.5).
    """
    # In integers: hundreds of terms, which cancel like exp(n^2/2s), at each of many nodes.
    bits = mpmath.mp.prec
    four_square = int(mpmath.ldexp(4 * order * order, bits))
    divisor = int(mpmath.ldexp(8 * s, bits))
    limit = int(order) + 1
    term = 1 << bits
    parts = [term, 0]
    k = 0
    while True:
        factor = four_square - ((2 * k + 1) ** 2 << bits)
        if term == 0 or (k > limit and abs(factor) >= (k + 1) * divisor):
            break
        term = term * factor // ((k + 1) * divisor)
        k += 1
        parts[k % 2] += -term if k % 4 >= 2 else term
    value = mpmath.mpc(*(mpmath.ldexp(mpmath.mpf(p), -bits) for p in parts))
    return value, mpmath.ldexp(mpmath.mpf(abs(term)), -bits)


@dataclass(frozen=True)
class _Family:
    """One class of edge exponents: the sum over j of kappa_j tau^(power + j)."""

    power: Any
    order: Any
    coefficients: list[Any]
    ends: bool

    def __call__(self, s: Any, terms: int) -> tuple[Any, list[Any], Any]:
        """The Hankel sum without its phase at infinity: value, sizes of terms, Hankel error."""
        previous, error = hankel_modulation(self.order, s)
        current, _ = hankel_modulation(self.order + 1, s)
        total = mpmath.mpc(0)
        sizes = []
        weight = mpmath.mpc(1)
        for j in range(min(terms, len(self.coefficients))):
            term = self.coefficients[j] * weight * previous
            total += term
            sizes.append(abs(term))
            weight *= -2j * (self.power + j + 1) / s
            previous, current = (
                current,
                2j * (self.order + j + 1) / s * current + previous,
            )
        return total, sizes, error * abs(self.coefficients[0])


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


def build_tail(
    form: RadialForm, dim: int, series: AscendingSeries, *, least_start: float = 0.0
) -> EdgeTail:
    """The tail of a formula, started where it agrees with the ascending series.

    Below R w = ``least_start`` no start is tried.

    Raises
    ------
    AccuracyError
        Where no start within reach brings the two series together.
    """
    exponents = form.edge_exponents
    lead = float(exponents[0])
    order = 0.5 * dim + lead
    if lead >= _FLAT and not form.has_finite_edge:
        start = max(_first_start(order, lead, exact=True), least_start)
        tail = _TailBuilder(form, dim, start).build(series)
        if tail is not None and tail.fit_error <= _TAIL_TOLERANCE:
            return tail
    start = max(_first_start(order, lead, exact=form.has_finite_edge), least_start)
    best = math.inf
    for _ in range(_MAX_TRIES):
        tail = _TailBuilder(form, dim, start).build(series)
        if tail is not None:
            if tail.fit_error <= _TAIL_TOLERANCE:
                return tail
            best = min(best, tail.fit_error)
        start *= _GROWTH
    raise AccuracyError(
        f"The edge expansion of a kernel on a ball in dimension {dim} misses the ascending series "
        f"by {best:.1e} of the local amplitude up to R w = {start:.0f}. Its tail cannot be trusted "
        'there: use spectral_density(..., route="numeric").'
    )


class _TailBuilder:
    """The mpmath part of the set-up, at one start."""

    def __init__(self, form: RadialForm, dim: int, start: float) -> None:
        self.form = form
        self.dim = dim
        self.exponents = form.edge_exponents
        self.order = sympy.Rational(dim, 2) + self.exponents[0]
        n = float(self.order)
        self.bits = int(_GUARD_BITS + 40 + 1.5 * (n * n / start + 3.0 * float(self.exponents[0])))
        self.radius = ScaledRadius.of(form.radius)
        self.start = start / self.radius.high
        self.start_scaled = start

    def build(self, series: AscendingSeries) -> EdgeTail | None:
        """The tail, or None where its series do not reach the tolerance at this start."""
        with mpmath.workprec(self.bits):
            s = mpmath.mpf(self.start_scaled)
            families = [self._family(e) for e in self.exponents]
            counts = []
            left_out = mpmath.mpf(0)
            leading = None
            share = mpmath.mpf(1)
            for family in families:
                _, sizes, hankel_error = family(s, _MAX_TERMS)
                if leading is None:
                    leading = sizes[0]
                    share = self._share(self._edge_unit() * leading)
                scale = self._offset_scale(family)
                floor = _TRUNCATION * leading / (scale * share)
                terms, left = _truncate(sizes, floor, ends=family.ends)
                if share < _TRUNCATION:
                    terms = max(terms, 1)
                if terms == 0:
                    return None
                counts.append(terms)
                left_out += scale * (left + hankel_error)
            size = abs(families[0](s, counts[0])[0])
            unit = self._edge_unit() * size
            background, left_background = self._background(unit)
            at_start = unit + abs(sum(b * s ** (-1 - to_mpf(m)) for m, b in background))
            truncation = float((left_out * self._edge_unit() + left_background) / at_start)
            if truncation > _TAIL_TOLERANCE / 4:
                return None
            tail = self._fit(families, counts, size, background, unit, truncation, float(share))
            return None if tail is None else self._compared(tail, series)

    def _compared(self, tail: EdgeTail, series: AscendingSeries) -> EdgeTail:
        """The tail with what it misses by, against the ascending series, in its error."""
        w = self.start * np.array(_CHECK_POINTS)
        high, low = self.radius(w)
        # One by one: a batch is exact relative to its largest value, and these differ widely.
        exact = [series([Fraction(a) + Fraction(b)])[0] for a, b in zip(high, low, strict=True)]
        sign, log = tail.signed_log(w)
        envelope = tail.log_envelope(w)
        half = mpmath.mpf(self.dim) / 2
        radius = to_mpf(self.form.radius)
        claimed = tail.relative_error(w)
        excess = 0.0
        for x, f, sg, lg, env, bound in zip(w, exact, sign, log, envelope, claimed, strict=True):
            constant = radius * mpmath.ldexp(1, 2 - self.dim) / mpmath.gamma(half) ** 2
            rho = constant * (radius * mpmath.mpf(x)) ** (self.dim - 1) * f
            scale = mpmath.exp(-mpmath.mpf(env))
            miss = abs(float(rho * scale - sg * mpmath.exp(lg) * scale))
            excess = max(excess, miss - bound)
        return replace(tail, fit_error=tail.fit_error + 2.0 * excess)

    def _family(self, exponent: sympy.Rational) -> _Family:
        power = to_mpf(exponent)
        whole = int(sympy.floor(exponent))
        length = whole + _series_length(self.start_scaled)
        series = self.form.edge_series(exponent - whole, length, to_mpf)[whole:]
        while len(series) > 1 and series[-1] == 0:
            series.pop()
        order = to_mpf(sympy.Rational(self.dim, 2) + exponent)
        return _Family(power, order, series, len(series) < length - whole)

    def _offset_scale(self, family: _Family) -> Any:
        """|factor| that puts a family in units of the first one, at the start."""
        p, p0 = family.power, to_mpf(self.exponents[0])
        s = mpmath.mpf(self.start_scaled)
        return mpmath.gammaprod([p + 1], [p0 + 1]) * (2 / s) ** (p - p0)

    def _edge_unit(self) -> Any:
        """s^(d/2) 2^(p-d/2) Gamma(p+1) s^(-p-1) (2/(pi s))^(1/2) at the start."""
        s = mpmath.mpf(self.start_scaled)
        p = to_mpf(self.exponents[0])
        shape = (s / 2) ** (mpmath.mpf(self.dim) / 2 - p) / s
        return mpmath.gamma(p + 1) * shape * mpmath.sqrt(2 / (mpmath.pi * s))

    def _share(self, unit: Any) -> Any:
        """A bound of the part of the edge wave in the density, here and further out; 1 for none."""
        background, _ = self._background(unit)
        if not background or float(self.exponents[0]) - 0.5 * (self.dim - 1) <= background[0][0]:
            return mpmath.mpf(1)
        s = mpmath.mpf(self.start_scaled)
        first = background[0][0]
        sizes = [(float(m - first), float(b * s ** (-1 - to_mpf(m)))) for m, b in background]
        x = np.linspace(0.0, 1.0, _STEADY_POINTS)
        course = np.abs(np.sum([v * x**k for k, v in sizes], axis=0))
        if np.min(course) < _STEADY * course[-1]:
            return mpmath.mpf(1)
        return min(unit / (_STEADY * mpmath.mpf(course[-1])), mpmath.mpf(1))

    def _background(self, unit: Any) -> tuple[list[tuple[Any, Any]], Any]:
        """Terms (m, b_m) of the background sum b_m s^(-1-m), in units of 2 R / Gamma(d/2).

        The second value bounds the terms left out.
        """
        s = mpmath.mpf(self.start_scaled)
        half = mpmath.mpf(self.dim) / 2
        raw = self.form.odd_origin_terms(_series_length(self.start_scaled))
        if not raw:
            return [], mpmath.mpf(0)
        finite = self.form.has_finite_origin
        terms = []
        sizes = []
        for m, c in raw:
            power = to_mpf(m)
            ratio = mpmath.gamma(half + power / 2) * mpmath.rgamma(-power / 2)
            value = to_mpf(c) * ratio * mpmath.mpf(2) ** power
            terms.append((m, value))
            sizes.append(abs(value) * s ** (-1 - power))
        floor = _TRUNCATION * (unit + sizes[0])
        number, left = _truncate(sizes, floor, ends=finite)
        return terms[:number], left

    def _fit(
        self,
        families: list[_Family],
        counts: list[int],
        size: Any,
        background: list[tuple[Any, Any]],
        unit: Any,
        truncation: float,
        share: float,
    ) -> EdgeTail | None:
        s0 = mpmath.mpf(self.start_scaled)
        n = to_mpf(self.order)
        p0 = to_mpf(self.exponents[0])

        def modulations(s: Any) -> list[Any]:
            q = n / s
            root = mpmath.sqrt(s * s - n * n)
            delta = n * mpmath.asin(q) - n * n / (s + root)
            common = mpmath.expj(-delta) * mpmath.sqrt(mpmath.sqrt(1 - q * q)) / size
            values = []
            for family, terms in zip(families, counts, strict=True):
                p = family.power
                turn = mpmath.expj(-(p - p0) * mpmath.pi / 2)
                values.append(family(s, terms)[0] * common * turn * self._offset_scale(family))
            return values

        for degree in _DEGREES:
            nodes = _unit_nodes(degree)
            rows = [modulations(s0 / mpmath.mpf(x)) for x in nodes]
            fits = [chebyshev_coefficients(row) for row in np.array(rows, dtype=complex).T]
            if all(share * np.max(np.abs(f[-3:])) <= _FIT_TOLERANCE for f in fits):
                break
        else:
            return None
        fit_error = 2.0 * truncation
        for f in fits:
            fit_error += share * float(4 * np.max(np.abs(f[-3:])) + 4 * EPS * np.sum(np.abs(f)))
        offsets = [float(e - self.exponents[0]) for e in self.exponents]
        stored = tuple((o, _trim(f)) for o, f in zip(offsets, fits, strict=True))
        constant = 2 * to_mpf(self.form.radius) / mpmath.gamma(mpmath.mpf(self.dim) / 2)
        power_b, log_b, root_b, series_b = _background_series(background, s0, constant)
        fit_error += 4 * EPS * float(np.sum(np.abs(series_b)))
        return EdgeTail(
            radius=self.radius,
            start=self.start,
            start_scaled=self.start_scaled,
            order=float(self.order),
            quarter_turns=float((self.order + sympy.Rational(1, 2)) % 4),
            amplitude_power=0.5 * self.dim - float(self.exponents[0]) - 1.5,
            amplitude_log=float(mpmath.log(constant * unit)),
            families=stored,
            angles=edge_angles(stored),
            background_power=power_b,
            background_log=log_b,
            background_root=root_b,
            background_series=series_b,
            fit_error=fit_error,
        )


def _background_series(
    terms: list[tuple[Any, Any]], s0: Any, constant: Any
) -> tuple[float, float, int, FloatArray]:
    """Power, logarithm at s0, root q and Chebyshev series in (s0/s)^(1/q) of the background."""
    if not terms:
        return math.inf, 0.0, 1, np.zeros(1)
    first = terms[0][0]
    root = math.lcm(*(Fraction(m - first).denominator for m, _ in terms))
    sizes = [(int(root * (m - first)), b * s0 ** (-1 - to_mpf(m))) for m, b in terms]
    lead = max(abs(v) for _, v in sizes)
    nodes = _unit_nodes(sizes[-1][0] + 2)
    values = [sum(v * mpmath.mpf(x) ** k for k, v in sizes) / lead for x in nodes]
    series = chebyshev_coefficients(np.array(values, dtype=float))
    return 1.0 + float(first), float(mpmath.log(constant * lead)), root, _trim(series)


def _unit_nodes(degree: int) -> FloatArray:
    return np.asarray(0.5 * (chebyshev.chebpts1(degree + 1) + 1.0))


def _trim(series: NDArray[Any]) -> NDArray[Any]:
    """The series without the coefficients that are below its rounding."""
    floor = 0.05 * EPS * np.max(np.abs(series))
    kept = np.flatnonzero(np.abs(series) > floor)
    return series[: (kept[-1] + 1 if kept.size else 1)]


def _series_length(start: float) -> int:
    """Beyond about 1.2 s terms the expansions grow again."""
    return min(_MAX_TERMS, int(1.3 * start) + 24)


def _truncate(sizes: list[Any], floor: Any, *, ends: bool) -> tuple[int, Any]:
    """How many terms to keep, and the size of what is left out.

    ``ends`` says that the list is the whole series.  Otherwise the sum stops where two terms in a
    row are below ``floor``, or at the least pair.
    """
    best, best_size = len(sizes), None
    for j in range(len(sizes) - 1):
        pair = max(sizes[j], sizes[j + 1])
        if pair <= floor:
            return j, pair
        if best_size is None or pair < best_size:
            best, best_size = j, pair
    if ends:
        return len(sizes), mpmath.mpf(0)
    return best, (sizes[-1] if best_size is None else best_size)

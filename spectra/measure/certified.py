r"""Proved bounds of the masses of spectral measures, in ball arithmetic (python-flint).

The kernel is a signed sum of the terms on the left.  Their spectral measures are on the right, as
distributions of V = w^2, where w is the length of a frequency; h = d/2.

======================================  =====================================================
Gaussian exp(-a z^2), times z^(2j)      a sum of Gamma(h + i) distributions of V/(4a), i <= j
Matern of order nu and rate a           the Beta(h, nu) distribution of V/(a^2 + V)
======================================  =====================================================

The densities are :math:`V^{h-1} g(V)`, where g is an elementary function.

1. Find an interval of V with less mass outside than the tolerance.
2. Bisect it until a Taylor polynomial with Lagrange's remainder proves the sign of the sum of the
   densities, or the mass of the interval is below the tolerance.
3. Integrate over the intervals of one sign, by incomplete Gamma and Beta functions.

The mass omitted in steps 1 and 2 is added to the radius of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import sympy

from spectra.base.accuracy import EPS
from spectra.base.enclosures import Enclosure
from spectra.base.limits import check_time, stage
from spectra.base.precision import Ball, working_precision
from spectra.density.closed_pairs import ClosedPair, gaussian, laguerre_sum, matern
from spectra.density.components import SpectralDensity
from spectra.errors import NoRouteError
from spectra.formula.ball_function import constant_ball

__all__ = ["CertifiedMasses", "proved_masses"]

# The tolerance is 2^-bits times the sum of the absolute weights; more bits are tried if the terms
# cancel.  The working precision has three times as many bits.
_TOLERANCE_BITS = (68, 136, 272)
_RELATIVE_RADIUS = 2.0**-57  # largest radius of M+ and M-, as a fraction of M+ + M-
# Degree of the remainder of the Taylor polynomials (flint keeps ten terms of a series), and the
# longest interval of log V on which they are used.
_DEGREE, _LONGEST = 9, 1.0
# Intervals that are examined at most; the first is [exp(-2^j), exp(2^k)] with j, k < 20.
_MOST_INTERVALS, _FARTHEST = 20_000, 20
_TINY = 5e-324  # the least positive double

#: A weight, g as a function of a power series in V, and the probabilities below and above a V.
_Term = tuple[Ball, Callable[[Any], Any], Callable[[Ball], tuple[Ball, Ball]]]


@dataclass(frozen=True, repr=False)
class CertifiedMasses:
    """Proved enclosures of M+, M- and M+ + M-."""

    positive_mass: Enclosure
    negative_mass: Enclosure
    mass: Enclosure

    def __repr__(self) -> str:
        return f"M+ = {self.positive_mass}, M- = {self.negative_mass}, M+ + M- = {self.mass}"


def proved_masses(name: str, density: SpectralDensity | None, radius: float) -> CertifiedMasses:
    """Proved enclosures of the masses of a density: see ``SpectralMeasure.certified``.

    ``name`` is that of the measure, for the error message; a finite ``radius`` truncates it.
    """
    try:
        with stage("proving the masses", has_limit=False):
            return _prove(density, radius)
    except NoRouteError as error:
        raise NoRouteError(
            f"The masses of the {name} are not proved: {error}. Proofs cover sums of Gaussian "
            "(times polynomials in z^2) and Matern kernels, and closed forms whose densities all "
            "have one sign. measure.mass is an estimate with a stated error."
        ) from error


def _prove(density: SpectralDensity | None, radius: float) -> CertifiedMasses:
    if radius < float("inf"):
        raise NoRouteError("it is truncated")
    if density is None or density.route != "lookup":
        raise NoRouteError("it has no density in closed form")
    for bits in _TOLERANCE_BITS:
        with working_precision(3 * bits):
            plus, minus = _continuous_masses(density.components, density.dim, bits)
            if max(plus.rad(), minus.rad()) <= _RELATIVE_RADIUS * (plus + minus).abs_lower():
                for atom in density.atoms:
                    mass = flint.arb(atom.mass, atom.error)
                    plus, minus = (plus + mass, minus) if atom.mass > 0 else (plus, minus - mass)
                return CertifiedMasses(*map(_enclosure, (plus, minus, plus + minus)))
    raise NoRouteError("its components nearly cancel")


def _continuous_masses(components: Sequence[Any], dim: int, bits: int) -> tuple[Ball, Ball]:
    """M+ and M- of the absolutely continuous part."""
    zero = flint.arb(0)
    totals = [_ball(c.exact_total) for c in components if isinstance(c, ClosedPair)]
    total = sum(totals, zero)
    if len(totals) == len(components) and all(c.has_one_sign for c in components):
        if all(t > 0 for t in totals):
            return total, zero
        if all(t < 0 for t in totals):
            return zero, -total
    half = flint.arb(dim) / 2
    terms = [term for c in components for term in _terms(c, half)]
    tolerance = flint.arb(2) ** -bits * sum((abs(weight) for weight, *_ in terms), zero)
    intervals, omitted = _signed_intervals(terms, half, tolerance)
    masses = {1: zero, -1: zero}
    for low, high, sign in intervals:
        for weight, _, probabilities in terms:
            probability = probabilities(high)[0] - probabilities(low)[0]
            masses[sign] += sign * weight * probability
    plus, minus = (masses[sign].union(masses[sign] + omitted) for sign in (1, -1))
    if not (plus - minus).overlaps(total):
        raise AssertionError("Proved masses do not add up to k(0): the proof has an error.")
    return plus, minus


def _ball(c: Any) -> Ball:
    """A ball that contains an exact number, at the working precision."""
    return constant_ball(sympy.sympify(c, strict=True)).real


def _enclosure(ball: Ball) -> Enclosure:
    """An enclosure of the ball, with doubles as midpoint and radius."""
    if not ball.is_finite():
        raise NoRouteError("a ball became infinite at the working precision")
    mid = float(ball.mid())
    # The conversion to float may be wrong by one unit in the last place.
    mid += float((ball - flint.arb(mid)).mid())
    difference = ball - flint.arb(mid)
    radius = float(difference.abs_upper().mid()) * (1.0 + 2.0 * EPS) + _TINY
    return Enclosure(mid, 0.0 if difference.is_zero() else radius, rigorous=True)


def _signed_intervals(
    terms: Sequence[_Term], half: Ball, tolerance: Ball
) -> tuple[list[tuple[Any, ...]], Ball]:
    """Intervals (low, high, sign) of V, and a bound of the absolute mass outside all of them."""
    waiting = [(_find_end(terms, -1, tolerance), _find_end(terms, 1, tolerance))]
    found: list[tuple[Any, ...]] = []
    omitted, count = 2 * tolerance, 0
    while waiting:
        check_time()
        low, high = waiting.pop()
        count += 1
        if count > _MOST_INTERVALS:
            raise NoRouteError("its sign changes could not be isolated")
        value = _range_of_sum(terms, low, high)
        if value > 0 or value < 0:
            sign = 1 if value > 0 else -1
            if found and found[-1][1:] == (low, sign):
                low = found.pop()[0]  # join intervals of one sign
            found.append((low, high, sign))
            continue
        # The density of log V is V^h g.
        mass = (abs(value) * high**half * (high / low).log()).abs_upper()
        if mass < tolerance / 64:  # a few dozen of these are below the tolerance
            omitted += mass
            continue
        middle = (low * high).sqrt().mid()
        waiting += [(middle, high), (low, middle)]
    return found, omitted


def _find_end(terms: Sequence[_Term], side: int, tolerance: Ball) -> Ball:
    """A value of V with mass below the tolerance above it (side 1) or below it (side -1)."""
    for power in range(_FARTHEST):
        v = flint.arb(side * 2**power).exp().mid()
        masses = [abs(weight) * probabilities(v)[side > 0] for weight, _, probabilities in terms]
        if sum(masses) < tolerance:
            return v
    raise NoRouteError("its mass is spread over too many powers of ten")


def _range_of_sum(terms: Sequence[_Term], low: Ball, high: Ball) -> Ball:
    """A ball that contains the sum of weight * g on [low, high]."""

    def taylor(v: Ball) -> list[Ball]:
        series = flint.arb_series([v, 1])
        total = sum(weight * g(series) for weight, g, _ in terms)
        return [total[k] for k in range(_DEGREE + 1)]

    interval = flint.arb(low).union(flint.arb(high))
    direct, *_, value = taylor(interval)  # the last coefficient is the remainder
    if direct > 0 or direct < 0 or not (high / low).log() < _LONGEST:
        return direct
    for c in reversed(taylor(interval.mid())[:_DEGREE]):
        value = value * (interval - interval.mid()) + c
    return value


def _terms(component: Any, half: Ball) -> Iterator[_Term]:
    """The terms of a component; a NoRouteError if it is neither Gaussian nor Matern."""
    if not isinstance(component, ClosedPair):
        raise NoRouteError("one of its components has no closed form")
    family, parameters = component.family, component.parameters
    # A Matern kernel of a complex rate oscillates.
    if family not in (gaussian, matern) or not all(p.is_real for p in parameters):
        raise NoRouteError(f"no proof is known for one of its components ({family.__name__})")
    if family is matern:
        nu, rate = map(_ball, parameters)
        yield _ball(component.coefficient), *_beta(half, nu, rate**2)
        return
    (rate,) = parameters
    # t^i times the density of Gamma(h) is (h)_i times that of Gamma(h + i).
    for i, q in enumerate(laguerre_sum(component.dim, rate, component.coefficient)):
        weight = _ball(sympy.simplify(q * sympy.rf(sympy.Rational(component.dim, 2), i)))
        yield weight, *_gamma(half, i, 1 / (4 * _ball(rate)))


def _gamma(half: Ball, i: int, scale: Ball) -> tuple[Any, Any]:
    """g and the probabilities of V if scale V has the distribution Gamma(half + i)."""
    order = half + i
    factor = scale**order / order.gamma()

    def probabilities(v: Ball) -> tuple[Ball, Ball]:
        y = scale * v
        return y.gamma_lower(order, regularized=1), y.gamma_upper(order, regularized=1)

    return lambda v: factor * v**i * (-scale * v).exp(), probabilities


def _beta(half: Ball, nu: Ball, square: Ball) -> tuple[Any, Any]:
    """g and the probabilities of V if V / (square + V) has the distribution Beta(half, nu)."""
    order = half + nu
    factor = square**nu * order.gamma() / (half.gamma() * nu.gamma())

    def probabilities(v: Ball) -> tuple[Ball, Ball]:
        if v > square:  # beta_lower is slow for arguments near 1
            above = (square / (square + v)).beta_lower(nu, half, regularized=1)
            return 1 - above, above
        below = (v / (square + v)).beta_lower(half, nu, regularized=1)
        return below, 1 - below

    return lambda v: factor * (-order * (square + v).log()).exp(), probabilities

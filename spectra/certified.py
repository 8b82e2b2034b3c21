r"""Masses of spectral measures with a proof, in ball arithmetic (python-flint).

Proofs cover signed sums of two kinds of kernels.  With h = d/2, the distribution of V = w^2 is

======================================  ==================================================
Gaussian exp(-a z^2), times z^(2j)      V/(4a): Gamma distributions of orders h, ..., h + j
Matern of order nu and rate a           V/(a^2 + V): the distribution Beta(h, nu)
======================================  ==================================================

and its density is :math:`V^{h-1} g(V)`, where g is an elementary function.

1. Ends: radii outside which less mass lies than the tolerance.
2. Signs: the range between is bisected until a Taylor polynomial with Lagrange's remainder proves
   the sign of the sum of the g, or until less mass is left than the tolerance.
3. Masses: on ranges of one sign they are differences of incomplete Gamma and Beta functions.

The mass left out in 1 and 2 is added to the radius.  The numbers of the kernel are read exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import sympy

from spectra.base.enclosures import EPS, Enclosure
from spectra.base.limits import stage
from spectra.base.precision import Ball, working_precision
from spectra.density.closed_pairs import ClosedPair, gaussian, laguerre_sum, matern
from spectra.errors import NoRouteError
from spectra.formula.evaluation import number
from spectra.measure import SpectralMeasure

__all__ = ["CertifiedMasses", "proved_masses"]

# Mass that may be left out, relative to the sum of the norms of the components: 2^-bits, with more
# bits where the components cancel.  The working precision is three times that.
_TOLERANCE_BITS = (68, 136, 272)
# Radius of the result relative to its mass; a double has 2^-53.
_ENOUGH = 2.0**-57
# Degree of the Taylor polynomials (flint keeps ten terms of a series), and the longest range of
# log V on which one is tried.
_DEGREE, _LONGEST = 9, 1.0
# More ranges than this are refused, and so is mass beyond exp(2^this) or below its inverse.
_MOST_RANGES, _FARTHEST = 20_000, 20
# The least positive double.
_TINY = 5e-324

#: A weighted distribution of V: its weight, g at a power series in V, and the shares of the mass
#: below and above a ball.
_Term = tuple[Ball, Callable[[Any], Any], Callable[[Ball], tuple[Ball, Ball]]]


@dataclass(frozen=True, repr=False)
class CertifiedMasses:
    """M+, M- and M+ + M- of a measure, in enclosures that are proved (``rigorous=True``)."""

    positive_mass: Enclosure
    negative_mass: Enclosure
    mass: Enclosure

    def __repr__(self) -> str:
        return f"M+ = {self.positive_mass}, M- = {self.negative_mass}, M+ + M- = {self.mass}"


def proved_masses(measure: SpectralMeasure) -> CertifiedMasses:
    """Masses of a measure with a proof in ball arithmetic: see ``SpectralMeasure.certified``."""
    try:
        with stage("proving the masses", has_limit=False):
            return _proved(measure)
    except NoRouteError as why:
        raise NoRouteError(
            f"The masses of the {measure!r} are not proved: {why}. Proofs cover sums of Gaussian "
            "(times polynomials in z^2) and Matern kernels, and closed forms whose densities all "
            "have one sign. measure.mass is an estimate with a stated error."
        ) from why


def _proved(measure: SpectralMeasure) -> CertifiedMasses:
    density = measure.density
    if measure.radius < float("inf"):
        raise NoRouteError("it is truncated")
    if density is None or density.route != "lookup":
        raise NoRouteError("it has no density in closed form")
    for bits in _TOLERANCE_BITS:
        with working_precision(3 * bits):
            up, down = _continuous(density.components, density.dim, bits)
            if max(up.rad(), down.rad()) <= _ENOUGH * (up + down).abs_lower():
                for atom in density.atoms:
                    mass = flint.arb(atom.mass, atom.error)
                    up, down = (up + mass, down) if atom.mass > 0 else (up, down - mass)
                return CertifiedMasses(_enclosure(up), _enclosure(down), _enclosure(up + down))
    raise NoRouteError("its components cancel to more digits than are computed")


def _continuous(components: Sequence[Any], dim: int, bits: int) -> tuple[Ball, Ball]:
    """M+ and M- of the absolutely continuous part."""
    nothing = flint.arb(0)
    totals = [_exact(c.exact_total) for c in components if isinstance(c, ClosedPair)]
    total = sum(totals, nothing)
    if len(totals) == len(components) and all(c.has_one_sign for c in components):
        if all(t > 0 for t in totals):
            return total, nothing
        if all(t < 0 for t in totals):
            return nothing, -total
    half = flint.arb(dim) / 2
    terms = [term for c in components for term in _terms(c, half)]
    tolerance = flint.arb(2) ** -bits * sum((abs(weight) for weight, *_ in terms), nothing)
    ranges, loose = _signed_ranges(terms, half, tolerance)
    masses = {1: nothing, -1: nothing}
    for low, high, sign in ranges:
        for weight, _, shares in terms:
            masses[sign] += sign * weight * (shares(high)[0] - shares(low)[0])
    up, down = (masses[s].union(masses[s] + loose) for s in (1, -1))
    if not (up - down).overlaps(total):
        raise AssertionError("Proved masses do not add up to k(0): the proof has an error.")
    return up, down


def _exact(c: Any) -> Ball:
    """The ball of an exact number, at the working precision."""
    return number(sympy.sympify(c, strict=True)).real


def _enclosure(ball: Ball) -> Enclosure:
    """The ball with its midpoint rounded to a double and its radius enlarged by that."""
    if not ball.is_finite():
        raise NoRouteError("the working precision was lost")
    mid = float(ball.mid())
    # The conversion may miss the nearest double by one.
    mid += float((ball - flint.arb(mid)).mid())
    away = ball - flint.arb(mid)
    radius = float(away.abs_upper().mid()) * (1.0 + 2.0 * EPS) + _TINY
    return Enclosure(mid, 0.0 if away.is_zero() else radius, rigorous=True)


def _signed_ranges(
    terms: Sequence[_Term], half: Ball, tolerance: Ball
) -> tuple[list[tuple[Any, ...]], Ball]:
    """Ranges (low, high, sign) of V, and a bound of the absolute mass outside all of them."""
    waiting = [(_end(terms, -1, tolerance), _end(terms, 1, tolerance))]
    found: list[tuple[Any, ...]] = []
    loose, looked = 2 * tolerance, 0
    while waiting:
        low, high = waiting.pop()
        looked += 1
        if looked > _MOST_RANGES:
            raise NoRouteError("its sign changes could not be isolated")
        value = _values_over(terms, low, high)
        if value > 0 or value < 0:
            sign = 1 if value > 0 else -1
            if found and found[-1][1:] == (low, sign):
                low = found.pop()[0]
            found.append((low, high, sign))
            continue
        # The density of log V is V^h g.
        mass = (abs(value) * high**half * (high / low).log()).abs_upper()
        if mass < tolerance / 64:
            loose += mass
            continue
        middle = (low * high).sqrt().mid()
        waiting += [(middle, high), (low, middle)]
    return found, loose


def _end(terms: Sequence[_Term], side: int, tolerance: Ball) -> Ball:
    """V beyond (side 1) or below which (side -1) at most the tolerance lies."""
    for power in range(_FARTHEST):
        v = flint.arb(side * 2**power).exp().mid()
        if sum(abs(weight) * shares(v)[side > 0] for weight, _, shares in terms) < tolerance:
            return v
    raise NoRouteError("its mass spreads over too many powers of ten")


def _values_over(terms: Sequence[_Term], low: Ball, high: Ball) -> Ball:
    """The sum of the g over [low, high], as a ball."""

    def taylor(v: Ball) -> list[Ball]:
        series = flint.arb_series([v, 1])
        total = sum(weight * density(series) for weight, density, _ in terms)
        return [total[k] for k in range(_DEGREE + 1)]

    wide = flint.arb(low).union(flint.arb(high))
    rough, *_, value = taylor(wide)
    if rough > 0 or rough < 0 or not (high / low).log() < _LONGEST:
        return rough
    for c in reversed(taylor(wide.mid())[:_DEGREE]):
        value = value * (wide - wide.mid()) + c
    return value


def _terms(component: Any, half: Ball) -> Iterator[_Term]:
    """The distributions of a component, if a proof is known for it."""
    if not isinstance(component, ClosedPair):
        raise NoRouteError("one of its components has no closed form")
    family, parameters = component.family, component.parameters
    # A Matern kernel of a complex rate is a wave.
    if family not in (gaussian, matern) or not all(p.is_real for p in parameters):
        raise NoRouteError(f"no proof is known for one of its components ({family.__name__})")
    if family is matern:
        nu, rate = map(_exact, parameters)
        yield _exact(component.coefficient), *_beta(half, nu, rate**2)
        return
    (rate,) = parameters
    for i, q in enumerate(laguerre_sum(component.dim, rate, component.coefficient)):
        weight = _exact(sympy.simplify(q * sympy.rf(sympy.Rational(component.dim, 2), i)))
        yield weight, *_gamma(half, i, 1 / (4 * _exact(rate)))


def _gamma(half: Ball, i: int, scale: Ball) -> tuple[Any, Any]:
    """g and the shares of V if scale V has the distribution Gamma(half + i)."""
    order = half + i
    front = scale**order / order.gamma()

    def shares(v: Ball) -> tuple[Ball, Ball]:
        y = scale * v
        return y.gamma_lower(order, regularized=1), y.gamma_upper(order, regularized=1)

    return lambda v: front * v**i * (-scale * v).exp(), shares


def _beta(half: Ball, nu: Ball, square: Ball) -> tuple[Any, Any]:
    """g and the shares of V if V / (square + V) has the distribution Beta(half, nu)."""
    order = half + nu
    front = square**nu * order.gamma() / (half.gamma() * nu.gamma())

    def shares(v: Ball) -> tuple[Ball, Ball]:
        if v > square:  # near 1 the function is slow
            above = (square / (square + v)).beta_lower(nu, half, regularized=1)
            return 1 - above, above
        below = (v / (square + v)).beta_lower(half, nu, regularized=1)
        return below, 1 - below

    return lambda v: front * (-order * (square + v).log()).exp(), shares

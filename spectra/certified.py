r"""Masses of spectral measures with a proof, in ball arithmetic (python-flint).

Proofs cover signed sums of three kinds of kernels.  With h = d/2, the density of V = w^2 of each is
:math:`V^{h-1} g(V)`, where

==================  ==========================================================================
Gaussian            :math:`g = \lambda^h e^{-\lambda V} Q(\lambda V)/\Gamma(h)`, lambda = 1/(4a)
Matern              :math:`g = c\,a^{2\nu}(a^2+V)^{-\nu-h}\,\Gamma(\nu+h)/(\Gamma(\nu)\Gamma(h))`
rational quadratic  :math:`g = c\,(b/2)^d\,2(x/2)^\mu K_\mu(x)/(\Gamma(\alpha)\Gamma(h))`,
                    :math:`x = b\sqrt V,\ \mu = \alpha-h`
==================  ==========================================================================

and Q is the sum of Laguerre polynomials that belongs to a Gaussian times a polynomial in z^2.

1. Ends: Markov's inequality, with moments of V that are Gamma functions, gives radii outside which
   less mass lies than the tolerance.
2. Signs: the range between is bisected until a Taylor polynomial with Lagrange's remainder proves
   the sign of the sum of the g, or until less mass is left than the tolerance.
3. Masses: on ranges of one sign the components are integrated in t = log w by Arb's quadrature,
   which is rigorous for integrands that return no finite value where they are not analytic.

The mass left out in 1 and 2 is added to the radius.  The numbers of the kernel are read exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import sympy

from spectra.base.enclosures import EPS, Enclosure
from spectra.base.limits import stage
from spectra.base.precision import Ball, working
from spectra.density.closed_pairs import (
    GAUSSIAN,
    MATERN,
    RATIONAL_QUADRATIC,
    ClosedPair,
    coefficients,
)
from spectra.errors import NoRouteError
from spectra.formula.evaluation import number
from spectra.measure import SpectralMeasure

__all__ = ["CertifiedMasses", "proved_masses"]

# Mass that may be left out, relative to the sum of the norms of the components: 2^-bits, with more
# bits where the components cancel.  The working precision is three times that.
_TOLERANCE_BITS = (68, 136, 272)
# Radius of the result relative to its mass; a double has 2^-53.
_ENOUGH = 2.0**-57
# Degree of the Taylor polynomials, and the longest range of log V on which one is tried.
_DEGREE, _LONGEST = 16, 1.0
# More ranges than this are refused.
_MOST_RANGES = 20_000
# For x below the first share of the bits Arb does not use the expansion of K in 1/x: 2x/log(2) bits
# cancel, and for real x beyond the second share it takes a hundred times as long.
_EXPANDED, _SLOW, _CANCELLED = 0.6, 0.14, 3.4
# The least positive double.
_TINY = 5e-324
# Bits of the orders of Bessel functions, more than the largest working precision.
_ORDER_BITS = 4096


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
            "(times polynomials in z^2), Matern and rational quadratic kernels, and closed forms "
            "whose densities all have one sign. measure.mass is an estimate with a stated error."
        ) from why


def _proved(measure: SpectralMeasure) -> CertifiedMasses:
    density = measure.density
    if measure.radius < float("inf"):
        raise NoRouteError("it is truncated")
    if density is None or density.route != "lookup":
        raise NoRouteError("it has no density in closed form")
    for bits in _TOLERANCE_BITS:
        with working(3 * bits):
            up, down = _continuous(density.components, bits)
            if max(up.rad(), down.rad()) <= _ENOUGH * (up + down).abs_lower():
                for atom in density.atoms:
                    mass = flint.arb(atom.mass, atom.error)
                    up, down = (up + mass, down) if atom.mass > 0 else (up, down - mass)
                return CertifiedMasses(_enclosure(up), _enclosure(down), _enclosure(up + down))
    raise NoRouteError("its components cancel to more digits than are computed")


def _continuous(components: Sequence[Any], bits: int) -> tuple[Ball, Ball]:
    """M+ and M- of the absolutely continuous part."""
    nothing = flint.arb(0)
    totals = [_exact(c.exact_total) for c in components if isinstance(c, ClosedPair)]
    total = sum(totals, nothing)
    if len(totals) == len(components) and all(c.has_one_sign for c in components):
        if all(t > 0 for t in totals):
            return total, nothing
        if all(t < 0 for t in totals):
            return nothing, -total
    laws = [_law(c) for c in components]
    tolerance = flint.arb(2) ** -bits * sum((law.moment(nothing) for law in laws), nothing)
    ranges, loose = _signed_ranges(laws, tolerance)
    masses = {1: nothing, -1: nothing}
    for low, high, sign in ranges:
        for law in laws:
            masses[sign] += sign * _integral(law, low, high, tolerance)
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


def _signed_ranges(laws: Sequence[_Law], tolerance: Ball) -> tuple[list[tuple[Any, ...]], Ball]:
    """Ranges (low, high, sign) of V, and a bound of the absolute mass outside all of them."""
    waiting = [(_end(laws, -1, tolerance), _end(laws, 1, tolerance))]
    found: list[tuple[Any, ...]] = []
    loose, looked = 2 * tolerance, 0
    while waiting:
        low, high = waiting.pop()
        looked += 1
        if looked > _MOST_RANGES:
            raise NoRouteError("its sign changes could not be isolated")
        value = _values_over(laws, low, high)
        if value > 0 or value < 0:
            sign = 1 if value > 0 else -1
            if found and found[-1][1:] == (low, sign):
                low = found.pop()[0]
            found.append((low, high, sign))
            continue
        # The density of log V is V^h g.
        mass = (abs(value) * high ** laws[0].half * (high / low).log()).abs_upper()
        if mass < tolerance / 64:
            loose += mass
            continue
        middle = (low * high).sqrt().mid()
        waiting += [(middle, high), (low, middle)]
    return found, loose


def _end(laws: Sequence[_Law], side: int, tolerance: Ball) -> Ball:
    """V beyond (side 1) or below which (side -1) at most the tolerance lies.

    For s > 0 the mass beyond v is at most E V^s / v^s, and that below v at most v^s E V^-s.
    """
    logs = []
    for law in laws:
        limit = abs(law.limits[side > 0])
        orders = [limit * j / 8 if limit.is_finite() else flint.arb(2) ** j for j in range(1, 8)]
        bounds = [
            ((law.moment(side * s) * len(laws) / tolerance).log() / s).upper() for s in orders
        ]
        logs.append(min(b for b in bounds if b.is_finite()))
    end = (side * max(logs).ceil()).exp()
    return end.upper() if side > 0 else end.lower()


def _values_over(laws: Sequence[_Law], low: Ball, high: Ball) -> Ball:
    """The sum of the g over [low, high], as a ball."""
    wide = flint.arb(low).union(flint.arb(high))
    rough = sum((law.taylor(wide, 1)[0] for law in laws), flint.arb(0))
    if rough > 0 or rough < 0 or not (high / low).log() < _LONGEST:
        return rough
    middle = wide.mid()
    rows = [law.taylor(middle, _DEGREE) for law in laws]
    value = sum((law.taylor(wide, _DEGREE + 1)[-1] for law in laws), flint.arb(0))
    for column in reversed(list(zip(*rows, strict=True))):
        value = value * (wide - middle) + sum(column, flint.arb(0))
    return value


def _integral(law: _Law, low: Ball, high: Ball, tolerance: Ball) -> Ball:
    """The signed mass of one component on [low, high] in V, integrated in t = log w."""

    def density(t: Any, analytic: bool) -> Any:
        return 2 * (2 * law.half * t).exp() * law.value(t.exp(), analytic)

    found = flint.acb.integral(density, low.log() / 2, high.log() / 2, abs_tol=tolerance / 64)
    if not found.is_finite():
        raise NoRouteError("an integral between sign changes did not converge")
    return found.real


@dataclass(frozen=True)
class _Law:
    """The distribution of V for one component, with h as ``half``."""

    half: Ball
    limits: tuple[Ball, Ball]  # the orders between which V has moments
    moment: Callable[[Ball], Ball]  # upper bound of the integral of V^s times the absolute density
    taylor: Callable[[Ball, int], list[Ball]]  # the first Taylor coefficients of g at V > 0
    value: Callable[[Any, bool], Any]  # g at a complex ball of w; not finite if it is to be
    # analytic there and is not


def _gaussian(dim: int, rate: sympy.Expr, polynomial: sympy.Expr) -> _Law:
    """exp(-a z^2) times a polynomial in z^2: V has Gamma distributions."""
    half, scale = flint.arb(dim) / 2, 1 / (4 * _exact(rate))
    front = scale**half / half.gamma()
    # Q(y) = sum_j c_j j! a^-j L_j^(h-1)(y), and
    # j! [y^i] L_j^(h-1) = (-1)^i binomial(j, i) (h + i)_(j - i).
    scaled = [c / rate**j for j, c in enumerate(coefficients(polynomial))]
    h, powers, monomials = sympy.Rational(dim, 2), range(len(scaled)), []
    for i in powers:
        terms = (scaled[j] * sympy.binomial(j, i) * sympy.rf(h + i, j - i) for j in powers[i:])
        monomials.append(_exact(sympy.simplify((-1) ** i * sympy.Add(*terms))))

    def moment(s: Ball) -> Ball:
        terms = (abs(q) * (half + i + s).gamma() for i, q in enumerate(monomials))
        return sum(terms, flint.arb(0)) * scale**-s / half.gamma()

    def taylor(v: Ball, count: int) -> list[Ball]:
        waves = [front * (-scale * v).exp()]
        for k in range(1, count):
            waves.append(-waves[-1] * scale / k)
        found = flint.arb_poly(waves) * polynomial_of(flint.arb_poly([scale * v, scale]))
        return [found[k] for k in range(count)]

    def value(w: Any, analytic: bool) -> Any:
        y = scale * w * w
        return front * (-y).exp() * flint.acb_poly(monomials)(y)

    polynomial_of = flint.arb_poly(monomials)
    return _Law(half, (-half, flint.arb("inf")), moment, taylor, value)


def _matern(dim: int, nu: sympy.Expr, rate: sympy.Expr, c: sympy.Expr) -> _Law:
    """A Matern kernel: V / (a^2 + V) has a Beta distribution."""
    half, smoothness, total = flint.arb(dim) / 2, _exact(nu), _exact(c)
    square, order = _exact(rate) ** 2, smoothness + half
    norm = smoothness.gamma() * half.gamma()
    front = total * square**smoothness * order.gamma() / norm

    def moment(s: Ball) -> Ball:
        return abs(total) * square**s * (half + s).gamma() * (smoothness - s).gamma() / norm

    def taylor(v: Ball, count: int) -> list[Ball]:
        found = [front * (-order * (square + v).log()).exp()]
        for k in range(count - 1):
            found.append(-found[-1] * (order + k) / ((k + 1) * (square + v)))
        return found

    def value(w: Any, analytic: bool) -> Any:
        # The logarithm has a branch cut.
        return front * (-order * (square + w * w).log(analytic=analytic)).exp()

    return _Law(half, (-half, smoothness), moment, taylor, value)


def _cauchy(dim: int, alpha: sympy.Expr, scale: sympy.Expr, c: sympy.Expr) -> _Law:
    """A rational quadratic (Cauchy) kernel: V is a product of two Gamma variables."""
    half, power, total = flint.arb(dim) / 2, _exact(alpha), _exact(c)
    length = _exact(scale)
    quarter, norm = length**2 / 4, half.gamma() * power.gamma()
    front = 2 * total * quarter**half / norm
    with working(_ORDER_BITS):
        order = _exact(alpha - sympy.Rational(dim, 2))
        orders = [order - k for k in range(_DEGREE + 1)]

    def moment(s: Ball) -> Ball:
        return abs(total) * quarter**-s * (half + s).gamma() * (power + s).gamma() / norm

    def taylor(v: Ball, count: int) -> list[Ball]:
        # g is a mixture of exp(-s V), so that all its derivatives are monotone.
        rows = [taylor_at(end, count) for end in {v.lower(), v.upper()}]
        return [a.union(b) for a, b in zip(rows[0], rows[-1], strict=True)]

    def taylor_at(v: Ball, count: int) -> list[Ball]:
        # With Y_mu(c) = c^(mu/2) K_mu(2 sqrt(c)): Y_mu' = -Y_(mu-1), and
        # c Y_(mu-1) + mu Y_mu = Y_(mu+1), whose terms are positive for mu < 0.
        at = quarter * v
        found: list[Ball] = []
        for k, mu in enumerate(orders[:count]):
            if k >= 2 and mu < -1:
                found.append((found[k - 2] - (mu + 1) * found[k - 1]) / at)
            else:
                found.append(at ** (mu / 2) * _bessel_k(2 * at.sqrt(), mu).real)
        factor = front
        for k in range(count):
            found[k] = found[k] * factor
            factor = -factor * quarter / (k + 1)
        return found

    def value(w: Any, analytic: bool) -> Any:
        x = length * w
        return front * (x / 2).pow(order, analytic=analytic) * _bessel_k(x, order)

    return _Law(half, (-half.min(power), flint.arb("inf")), moment, taylor, value)


def _bessel_k(x: Any, order: Ball) -> Any:
    """K at a ball with Re x > 0, where it is analytic; elsewhere not a finite ball.

    It is K at the middle, and the radius times a bound of K': |K_mu(x)| <= K_mu(Re x), and K_mu
    grows with |mu|, so that |K_mu'(x)| <= K_(|mu|+1)(Re x).  Arb's own ball is e^(2x) times wider.
    """
    x = flint.acb(x)
    if not x.real > 0:
        return flint.acb("nan")
    middle = flint.acb(x.real.mid(), x.imag.mid())
    with working(_ORDER_BITS):
        above = abs(order) + 1
    slope = _bessel_k_at(flint.acb(x.real.lower()), above).abs_upper()
    away = flint.arb(0, (abs(x - middle) * slope).abs_upper())
    return _bessel_k_at(middle, order) + flint.acb(away, away)


def _bessel_k_at(x: Any, order: Ball) -> Any:
    bits, size = flint.ctx.prec, abs(x)
    if size < _EXPANDED * bits:
        bits = int(max(bits + 32 + _CANCELLED * float(size), float(size) / _SLOW))
    with working(bits):
        return x.bessel_k(flint.acb(order))


_LAWS: dict[Any, Any] = {GAUSSIAN: _gaussian, MATERN: _matern, RATIONAL_QUADRATIC: _cauchy}


def _law(c: Any) -> _Law:
    """The law of a component, if a proof is known for it."""
    if not isinstance(c, ClosedPair):
        raise NoRouteError("one of its components has no closed form")
    # A Matern kernel of a complex rate is a wave.
    if c.family not in _LAWS or not all(p.is_real for p in c.parameters):
        raise NoRouteError(f"no proof is known for one of its components ({c.family.name})")
    law: _Law = _LAWS[c.family](c.dim, *c.parameters, c.coefficient)
    return law

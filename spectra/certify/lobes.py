r"""Masses of sums of Bessel functions, the densities of polynomials in z^2 on a ball.

A kernel :math:`\sum_j\beta_j(1-z^2/R^2)^{p_j}` with :math:`p_j = p_0 + j` has, in x = R w,

.. math:: \rho\,dw = \sum_j\beta_j C_j\,x^{-s_j}J_{m_j}(x)\,dx, \qquad
          m_j = d/2+p_j,\; s_j = p_j+1-d/2,\; C_j = 2^{s_j}\Gamma(p_j+1)/\Gamma(d/2)

(Sonine's first integral).  The lobes up to a far zero are differences of the antiderivative, a
1F2, at the zeros; the phase proves that none was missed; the rest is :mod:`.waves`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import sympy

from spectra.certify.balls import Ball, Unproved, exact_ball, flint, precision
from spectra.certify.entire import EntireFunction
from spectra.certify.hankel import hankel_coefficients, hankel_remainder
from spectra.certify.mixtures import MassBalls
from spectra.certify.signs import enclosed_zero, proved_ranges
from spectra.certify.waves import OUTER, Wave, absolute_tail, discs_of
from spectra.transform.on_balls.ball import BallForm, RimPower
from spectra.transform.on_balls.compact import BallComponent

__all__ = ["BesselSum", "Lobes", "bessel_j", "bessel_masses", "bessel_sum", "proved_lobes"]

_BITS = 192
# Exponents and factors are balls as narrow as the longest sums need.
_EXACT_BITS = 4096
# The tail starts at the larger of these: about 16 lobes, and well beyond the transition of J_m.
_LEAST_START = 60.0
_START_BY_ORDER = 3.5
# Points of a double grid for each lobe, where sign changes are seen first.
_GRID = 12
# Sums with later starts of the tail would take seconds to isolate.
_LONGEST_BISECTION = 240.0
# Beyond this x the antiderivative is computed from infinity, by so many parts at most.
_FAR = 150
_MOST_PARTS = 400
_TERMS = 40


@dataclass(frozen=True)
class BesselSum:
    """rho dw = x^(d-1) sum_j b_j x^(-m_j) J_(m_j)(x) dx.

    Attributes
    ----------
    dim : int
    first : sympy number
        p_0, the leading exponent at the edge.
    weights : tuple of sympy numbers
        beta_0, beta_1, ... of the powers p_0, p_0 + 1, ...
    """

    dim: int
    first: sympy.Expr
    weights: tuple[sympy.Expr, ...]

    @property
    def half(self) -> Ball:
        """d/2."""
        return flint.arb(self.dim) / 2

    @cached_property
    def powers(self) -> list[Ball]:
        """p_0, p_0 + 1, ..., at the precision of the first use."""
        with precision(_EXACT_BITS):
            first = exact_ball(self.first)
            return [first + j for j in range(len(self.weights))]

    @cached_property
    def orders(self) -> list[Ball]:
        """m_j = d/2 + p_j."""
        with precision(_EXACT_BITS):
            return [self.half + p for p in self.powers]

    @cached_property
    def factors(self) -> list[Ball]:
        """b_j = beta_j C_j."""
        with precision(_EXACT_BITS):
            return [
                exact_ball(beta)
                * flint.arb(2) ** (p + 1 - self.half)
                * (p + 1).gamma()
                / self.half.gamma()
                for beta, p in zip(self.weights, self.powers, strict=True)
            ]

    def value(self, x: Ball) -> Ball:
        """sum_j b_j x^(-m_j) J_(m_j)(x), the sign of the density."""
        total = flint.arb(0)
        for b, order in zip(self.factors, self.orders, strict=True):
            total = total + b * x**-order * bessel_j(order, x)
        return total

    def slope(self, x: Ball) -> Ball:
        """The derivative of :meth:`value`: (x^-m J_m)' = -x^-m J_(m+1)."""
        total = flint.arb(0)
        for b, order in zip(self.factors, self.orders, strict=True):
            total = total - b * x**-order * bessel_j(order + 1, x)
        return total

    def size(self, x: Ball) -> Ball:
        """Bound of the absolute value over a narrow ball, from |J| <= 1 in the slope."""
        slope = flint.arb(0)
        for b, order in zip(self.factors, self.orders, strict=True):
            slope = slope + abs(b) * x.lower() ** -order
        return abs(self.value(x.mid())) + x.rad() * slope

    def mass_below(self, x: Ball) -> Ball:
        """The signed mass of [0, x] at an exact x."""
        total = flint.arb(0)
        for b, p, order in zip(self.factors, self.powers, self.orders, strict=True):
            beyond = _beyond(p + 1 - self.half, order, x) if x > _FAR else None
            if beyond is None:
                total = total + b * self._ascending(order, x)
            else:
                # The whole integral is 1 / C_j: beta_j is the value at z = 0.
                total = total - b * beyond
                total = total + b * (self.half.gamma() / (p + 1).gamma()) * flint.arb(2) ** (
                    self.half - p - 1
                )
        return total

    def _ascending(self, order: Ball, x: Ball) -> Ball:
        """The integral of t^(d-1-m) J_m(t) over [0, x], whose 1F2 cancels about 1.45 x bits."""
        with precision(flint.ctx.prec + int(1.5 * float(x)) + 64):
            front = x**self.dim / (flint.arb(2) ** order * (order + 1).gamma() * self.dim)
            return front * (-x * x / 4).hypgeom([self.half], [order + 1, self.half + 1])

    def entire(self, up_to: float) -> EntireFunction:
        """:meth:`value` on [0, up_to]; by Poisson's integral x^-m J_m has its largest derivatives,
        and its largest value, at 0."""

        def coefficients(terms: int) -> list[Ball]:
            total = [flint.arb(0)] * (terms + 1)
            for b, order in zip(self.factors, self.orders, strict=True):
                term = b / (flint.arb(2) ** order * (order + 1).gamma())
                for n in range(terms + 1):
                    total[n] = total[n] + term
                    term = -term / (4 * (n + 1) * (order + n + 1))
            return total

        bound = flint.arb(0)
        for b, order in zip(self.factors, self.orders, strict=True):
            bound = bound + abs(b) / (flint.arb(2) ** order * (order + 1).gamma())
        return EntireFunction(coefficients, bound, up_to)

    def wave(self, start: float, outer: float = OUTER, terms: int = _TERMS) -> Wave:
        """The expansion at x >= start and in the discs of radius ``outer`` x around them."""
        near = (1 - flint.arb(outer)) * flint.arb(start)
        cosine = (1 - flint.arb(outer) ** 2).sqrt()
        root = (2 / flint.arb.pi()).sqrt()
        coefficients = [flint.acb(0)] * terms
        remainder = flint.arb(0)
        unit = [flint.acb(1), flint.acb(0, 1), flint.acb(-1), flint.acb(0, -1)]
        for j, (b, order) in enumerate(zip(self.factors, self.orders, strict=True)):
            known = hankel_coefficients(order, terms - j)
            for k in range(terms - j):
                # e^(-i m_j pi/2) x^(-s_j) carries (-i)^j x^-j relative to the first term.
                place = coefficients[j + k]
                coefficients[j + k] = place + b * root * known[k] * unit[(k - j) % 4]
            remainder = remainder + abs(b) * root * hankel_remainder(
                order, known[terms - j], terms - j, cosine, near
            )
        power = self.powers[0] + flint.arb(3) / 2 - self.half
        phase = self.orders[0] * flint.arb.pi() / 2 + flint.arb.pi() / 4
        return Wave(power, phase, coefficients, remainder)


def bessel_j(order: Ball, x: Ball) -> Ball:
    """J_order(x) at an exact x, with what is lost between its two regimes added to the bits.

    An order that is no half-integer is a ball, and its radius grows like e^x in the ascending
    series, which Arb uses up to where the asymptotic one is good enough.
    """
    wanted = flint.arb(2) ** (24 - flint.ctx.prec)
    value = x.bessel_j(order)
    bits = flint.ctx.prec
    limit = bits + int(3.0 * float(x)) + 256
    while not value.rad() < wanted and bits < limit:
        bits += max(64, bits // 2)
        with precision(bits):
            value = x.bessel_j(order)
    return value


def _beyond(power: Ball, order: Ball, x: Ball) -> Ball | None:
    r"""The integral of t^-s J_m(t) over [x, inf), or None where x is too small for it.

    By parts, with :math:`t^{m+1}J_m = (t^{m+1}J_{m+1})'`:

    .. math:: -\sum_{i<K} x^{-s-i}J_{m+1+i}(x)\prod_{l<i}(s+m+1+2l)

    and |J| <= 1 bounds what is left.
    """
    goal = flint.arb(2) ** -flint.ctx.prec
    with precision(flint.ctx.prec + 64):
        before, now = bessel_j(order, x), bessel_j(order + 1, x)
        total = flint.arb(0)
        factor = x**-power
        index = order + 1
        grown = power + order + 1
        for i in range(_MOST_PARTS):
            total = total - factor * now
            factor = factor * grown / x
            rest = factor * x / (power + i)
            if rest < goal:
                return total + flint.arb(0, rest.abs_upper())
            if grown > x:
                return None
            grown = grown + 2
            before, now = now, 2 * index / x * now - before
            index = index + 1
    return None


def bessel_sum(component: BallComponent) -> BesselSum:
    """The density of a component as a sum of Bessel functions.

    Raises
    ------
    Unproved
        Where the kernel is no polynomial in z^2 times one power of 1 - z^2/R^2.
    """
    form = component.form
    if not (isinstance(form, BallForm) and form.is_even and len(form.parts) == 1):
        raise Unproved("the kernel is no polynomial in z^2 times one power of 1 - z^2/R^2")
    factor, monomials = form.parts[0]
    if not isinstance(factor, RimPower):
        raise Unproved("the kernel is no polynomial in z^2 times one power of 1 - z^2/R^2")
    length = max(m for m, _ in monomials) // 2 + 1
    series = form.edge_series(factor.power, length, sympy.sympify)
    exact = [sympy.nsimplify(c) if c.is_Rational else sympy.simplify(c) for c in series]
    skip = next(i for i, c in enumerate(exact) if c != 0)
    kept = exact[skip:]
    while kept[-1] == 0:
        kept.pop()
    return BesselSum(component.dim, factor.power + skip, tuple(kept))


@dataclass(frozen=True)
class Lobes:
    """The first lobes of a density, all of them found, and the absolute mass beyond them.

    Attributes
    ----------
    density : BesselSum
    zeros : list of arb
        Balls around its first zeros in x.
    below : list of arb
        The signed mass of [0, x] at 0 and at the midpoints of those balls.
    loose : arb
        Upper bound of the mass between the midpoints and the zeros.
    tail : arb
        The absolute mass beyond the last zero.
    total : arb
        The signed mass.
    """

    density: BesselSum
    zeros: list[Ball]
    below: list[Ball]
    loose: Ball
    tail: Ball
    total: Ball

    @property
    def mass(self) -> Ball:
        """The absolute mass."""
        inner = sum((abs(b - a) for a, b in pairwise(self.below)), flint.arb(0))
        return inner + flint.arb(0, self.loose.abs_upper()) + self.tail


def proved_lobes(component: BallComponent, up_to: float = 0.0) -> Lobes:
    """The lobes up to x = ``up_to`` at least, at the working precision.

    Raises
    ------
    Unproved
        Where the kernel is of another kind, or the lobes could not be told apart.
    """
    density = bessel_sum(component)
    zeros = _zeros(component, density, max(_start(density), up_to))
    wave = density.wave(float(zeros[-1].lower()))
    _prove_complete(density, wave, zeros)
    below = [flint.arb(0)] + [density.mass_below(z.mid()) for z in zeros]
    # Between a zero and the midpoint of its ball the sign is not known.
    loose = flint.arb(0)
    for z in zeros:
        loose = loose + (4 * z.rad() * density.size(z) * z ** (density.dim - 1)).abs_upper()
    total = exact_ball(component.form.value_at_zero)
    return Lobes(density, zeros, below, loose, absolute_tail(wave, zeros[-1]), total)


def bessel_masses(component: BallComponent) -> MassBalls:
    """M+, M- and their sum of a density that is a sum of Bessel functions.

    Raises
    ------
    Unproved
        Where the kernel is of another kind, or the lobes could not be told apart.
    """
    with precision(_BITS):
        lobes = proved_lobes(component)
        mass, total = lobes.mass, lobes.total
        return MassBalls((mass + total) / 2, (mass - total) / 2, mass, None, (), True)


def _start(density: BesselSum) -> float:
    """Where the expansion of the tail has settled."""
    start = max(_LEAST_START, _START_BY_ORDER * float(density.orders[0]) ** 2)
    limit = _LONGEST_BISECTION if len(density.weights) > 1 else 1e6
    while start <= limit:
        try:
            discs_of(density.wave(start), flint.arb(start))
        except Unproved:
            start *= 1.25
        else:
            return start
    raise Unproved(f"the zeros of a sum of Bessel functions up to {start:.3g} are too many")


def _zeros(component: BallComponent, density: BesselSum, start: float) -> list[Ball]:
    """Balls around sign changes up to the first one beyond x = start, by Newton's method."""
    radius = float(component.form.radius)
    grid = np.arange(1, int((start + 2 * np.pi) * _GRID / np.pi) + 1) * (np.pi / _GRID)
    sign, _ = component.signed_log(np.asarray(grid / radius))
    changes = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    return [
        enclosed_zero(density.value, density.slope, float(grid[i]), float(grid[i + 1]))
        for i in changes
    ]


def _prove_complete(density: BesselSum, wave: Wave, zeros: list[Ball]) -> None:
    """No zero was missed.

    For one Bessel function the phase theta(x) increases from -pi/2, and the n-th zero is at
    (n - 1/2) pi; for a sum, bisection isolates all zeros up to the start of the tail.
    """
    if not all(a.upper() < b.lower() for a, b in pairwise(zeros)):
        raise Unproved("two sign changes of the density could not be told apart")
    if len(density.weights) == 1:
        # A negative height turns the wave by pi, and J_m itself not.
        phase = wave.argument(zeros[-1]) - wave.coefficients[0].arg()
        count = phase / flint.arb.pi() + flint.arb(1) / 2
        if not (count.rad() < 0.25 and count.contains(len(zeros))):
            raise Unproved(f"{len(zeros)} zeros were found where there are {count.str(5)}")
        return
    width = flint.arb(2) ** -80
    end = (zeros[-1].upper() + width).upper()
    entire = density.entire(float(end) + 1.0)
    found = proved_ranges(entire.jet, flint.arb(0), end, width=width)
    brackets = [r for r in found if r.sign == 0]
    if len(brackets) != len(zeros) or not all(r.roots == 1 for r in brackets):
        raise Unproved(f"{len(brackets)} zeros are there where {len(zeros)} were found")

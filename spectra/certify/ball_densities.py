r"""Densities of kernels on a ball, as sums of hypergeometric functions of x = R w.

.. math:: \rho\,dw = x^{d-1} f(x)\,dx, \qquad
          f = \sum_j b_j\; {}_pF_q(a_j; c_j; -x^2/4)

Each of these functions is the transform of a positive kernel on the unit ball, which is 1 at 0, so
that all its derivatives are at most 1 in size, and its power series in :math:`-x^2/4` has
coefficients of at most :math:`1/n!^2`.  A kernel :math:`\sum_j\beta_j(1-z^2/R^2)^{p_j}` with
:math:`p_j = p_0 + j` has

.. math:: \rho\,dw = \sum_j\beta_j C_j\,x^{-s_j}J_{m_j}(x)\,dx, \qquad
          m_j = d/2+p_j,\; s_j = p_j+1-d/2,\; C_j = 2^{s_j}\Gamma(p_j+1)/\Gamma(d/2)

(Sonine's first integral); that of the arc-cosine kernel is in :mod:`.arccosine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul

import flint
import sympy

from spectra.certify.balls import Ball, Unproved, exact_ball, precision
from spectra.certify.expansions import Expansion, hankel_expansion
from spectra.certify.waves import OUTER, Wave, discs_of, integrated
from spectra.transform.on_balls.ball import BallForm, RimPower
from spectra.transform.on_balls.compact import BallComponent

__all__ = ["EXACT_BITS", "BallDensity", "Terms", "bessel_density", "bessel_j", "bessel_sum"]

#: Exponents and factors are balls as narrow as the longest sums need.
EXACT_BITS = 4096
# Terms of the expansion at infinity, if no other number is asked for.
_TERMS = 40
# The tail starts at the larger of these: about 16 lobes, and well beyond the transition of J_m.
_LEAST_START, _START_BY_ORDER = 60.0, 3.5
# Sums with later starts of the tail would take seconds to isolate.
_LONGEST_BISECTION, _LONGEST = 240.0, 1e6
# Beyond this x the antiderivative comes from the expansion where that leaves out this much at most.
_FAR, _NOTHING = 150, 2.0**-120
# A series about 0 loses so many bits for each unit of x, and a few more.
_BITS_BY_SIZE, _MORE_BITS = 1.5, 64
# Terms of a Taylor series over a ball of x, and from where on that of Bessel functions is found by
# their equation.
_ORDER, _NEAR = 18, 3.0

Numbers = tuple[Ball, ...]
#: b, a and c of each function.
Terms = tuple[tuple[Ball, Numbers, Numbers], ...]


@dataclass(frozen=True)
class BallDensity:
    """A density, the mass of it, and where its tail may start.

    Attributes
    ----------
    dim : int
    terms : tuple of (arb, tuple of arb, tuple of arb)
        b, a and c of each function, to 4096 bits.
    total : arb
        The signed mass.
    expansion : callable
        ``expansion(near, cosine, terms)``: the wave at |z| >= near with cos(arg z) >= cosine, and
        the background, or None.
    start : float
        Where the expansion of the tail has settled.
    counted_from : (float, int) or None
        From where on the phase counts the zeros, and the terms of the expansion that do it; None
        where the phase of a single Bessel function counts all of them.
    """

    dim: int
    terms: Terms
    total: Ball
    expansion: Callable[[Ball, Ball, int], tuple[Wave, Wave | None]]
    start: float = 0.0
    counted_from: tuple[float, int] | None = None

    @property
    def orders(self) -> list[Ball]:
        """m_j of a sum of Bessel functions."""
        return [_moved(lower, -1)[0] for _, _, lower in self.terms]

    @property
    def factors(self) -> list[Ball]:
        """Their factors: f is the sum of factor x^-m J_m(x)."""
        pairs = zip(self.terms, self.orders, strict=True)
        return [b * flint.arb(2) ** m * lower[0].gamma() for (b, _, lower), m in pairs]

    @property
    def bound(self) -> Ball:
        """Bound of |f| and of all its derivatives."""
        return sum((abs(b) for b, _, _ in self.terms), flint.arb(0))

    def value(self, x: Ball) -> Ball:
        """f at an exact x, the sign of the density."""
        parts = (b * _function(upper, lower, x) for b, upper, lower in self.terms)
        return sum(parts, flint.arb(0))

    def slope(self, x: Ball) -> Ball:
        """f' at an exact x."""
        total = flint.arb(0)
        for b, upper, lower in self.terms:
            ratio = _product(upper) / _product(lower)
            total = total - b * ratio * x / 2 * _function(_moved(upper, 1), _moved(lower, 1), x)
        return total

    def size(self, x: Ball) -> Ball:
        """Bound of |f| over a narrow ball, from |J| <= 1 in the slope, or |f'| <= 1."""
        steep = flint.arb(0)
        for b, upper, lower in self.terms:
            order = lower[0] - 1
            steep = steep + abs(b) * (1 if upper else lower[0].gamma() * (x.lower() / 2) ** -order)
        return abs(self.value(x.mid())) + x.rad() * steep

    def mass_below(self, x: Ball) -> Ball:
        """The signed mass of [0, x] at an exact x."""
        if x > _FAR and not self.terms[0][1]:
            beyond = integrated(self.tail(x, 0.0)[0])
            if beyond.size(x) * x**-beyond.power < _NOTHING:
                return self.total - beyond.value(x)
        h, total = flint.arb(self.dim) / 2, flint.arb(0)
        for b, upper, lower in self.terms:
            total = total + b * _function((*upper, h), (*lower, h + 1), x)
        return x**self.dim / self.dim * total

    def taylor(self, x: Ball, terms: int) -> Ball:
        """The first terms of the Taylor series of f about an exact point."""
        if x > _NEAR and not self.terms[0][1]:
            pairs = zip(self.factors, self.orders, strict=True)
            return sum((b * _bessel_taylor(m, x, terms) for b, m in pairs), flint.arb_poly([0]))
        with precision(_bits(x), cap=terms):
            place = flint.acb_series([x, 1])
            total = flint.acb_series([0])
            for b, *numbers in self.terms:
                upper, lower = ([flint.acb_series([n]) for n in row] for row in numbers)
                total = total + b * flint.acb_series.hypgeom(upper, lower, -place * place / 4)
            return flint.arb_poly([total[k].real for k in range(terms)])

    def jet(self, x: Ball) -> tuple[Ball, Ball]:
        """Balls of f and f' over a ball of x, by Taylor's formula at its middle."""
        middle, radius = x.mid(), flint.arb(x.rad())
        series = self.taylor(middle, _ORDER)
        found = []
        for k, part in enumerate((series, series.derivative())):
            rest = self.bound * radius ** (_ORDER - k) / flint.arb(_ORDER - k).fac()
            found.append(part(x - middle) + flint.arb(0, rest.abs_upper()))
        return found[0], found[1]

    def tail(
        self, start: float | Ball, outer: float = OUTER, terms: int = _TERMS
    ) -> tuple[Wave, Wave | None]:
        """The expansion at x >= start and in the discs of radius ``outer`` x around them."""
        share = flint.arb(outer)
        return self.expansion((1 - share) * start, (1 - share**2).sqrt(), terms)


def _product(numbers: Iterable[Ball]) -> Ball:
    return reduce(mul, numbers, flint.arb(1))


def _moved(numbers: Numbers, by: int) -> Numbers:
    """The numbers plus an integer, with all their bits."""
    with precision(EXACT_BITS):
        return tuple(n + by for n in numbers)


def _bits(x: Ball) -> int:
    """The precision that leaves the digits of a series about 0 at x."""
    return int(flint.ctx.prec + _BITS_BY_SIZE * float(x)) + _MORE_BITS


def _function(upper: Numbers, lower: Numbers, x: Ball) -> Ball:
    """The hypergeometric function at -x^2/4."""
    if not upper:
        (order,) = _moved(lower, -1)
        return lower[0].gamma() * (x / 2) ** -order * bessel_j(order, x)
    with precision(_bits(x)):
        return (-x * x / 4).hypgeom(list(upper), list(lower))


def _bessel_taylor(order: Ball, x: Ball, terms: int) -> Ball:
    """The Taylor series of f = x^-m J_m, from x f'' + (2m + 1) f' + x f = 0."""
    scale = x**-order
    # f' = -x^-m J_(m+1)
    found = [scale * bessel_j(order, x), -scale * bessel_j(order + 1, x)]
    for k in range(terms - 2):
        before = found[k - 1] if k else flint.arb(0)
        drag = (k + 1) * (k + 1 + 2 * order) * found[k + 1]
        found.append(-(drag + x * found[k] + before) / (x * (k + 1) * (k + 2)))
    return flint.arb_poly(found)


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


def bessel_density(dim: int, first: sympy.Expr, weights: tuple[sympy.Expr, ...]) -> BallDensity:
    """The density of the kernel sum_j beta_j (1 - z^2/R^2)^(p_0 + j).

    Parameters
    ----------
    dim : int
    first : sympy number
        p_0, the leading exponent at the edge.
    weights : tuple of sympy numbers
        beta_0, beta_1, ...

    Raises
    ------
    Unproved
        Where the tail of a sum starts too late.
    """
    with precision(EXACT_BITS):
        h, power = flint.arb(dim) / 2, exact_ball(first)
        terms, parts = [], []
        for j, beta in enumerate(map(exact_ball, weights)):
            p, order = power + j, power + j + h
            # beta C_j 2^-m / Gamma(m + 1)
            front = beta * flint.arb(2) ** (1 - 2 * h) * (p + 1).gamma() / h.gamma()
            terms.append((front / (order + 1).gamma(), (), (order + 1,)))
            parts.append((order, front * flint.arb(2) ** order))
        total = exact_ball(sum(weights, sympy.Integer(0)))

    def expansion(near: Ball, cosine: Ball, count: int) -> tuple[Wave, None]:
        root, pi = (2 / flint.arb.pi()).sqrt(), flint.arb.pi()
        wave = Expansion([flint.acb(0)] * count, flint.arb(0), near)
        for j, (order, factor) in enumerate(parts):
            # e^(-i m_j pi/2) x^(-s_j) carries (-i)^j x^-j relative to the first term.
            turn = flint.acb(0, -1) ** j * factor * root
            wave = wave + hankel_expansion(order, count, cosine, near).shifted(j).scaled(turn)
        order = parts[0][0]
        power = order + flint.arb(3) / 2 - dim
        return Wave(power, order * pi / 2 + pi / 4, wave.coefficients, wave.remainder), None

    several = len(terms) > 1
    density = BallDensity(dim, tuple(terms), total, expansion)
    start = max(_LEAST_START, _START_BY_ORDER * float(parts[0][0]) ** 2)
    while start <= (_LONGEST_BISECTION if several else _LONGEST):
        try:
            discs_of(density.tail(start)[0], flint.arb(start))
        except Unproved:
            start *= 1.25
        else:
            counted = (start, _TERMS) if several else None
            return replace(density, start=start, counted_from=counted)
    raise Unproved(f"the zeros of a sum of Bessel functions up to {start:.3g} are too many")


def bessel_sum(component: BallComponent) -> BallDensity:
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
    return bessel_density(component.dim, factor.power + skip, tuple(kept))

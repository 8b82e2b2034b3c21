r"""Densities of kernels on a ball, as sums of hypergeometric functions of x = R w.

.. math:: \rho\,dw = x^{d-1} f(x)\,dx, \qquad
          f = \sum_j b_j\; {}_pF_q(a_j; c_j; -x^2/4)

Each of these functions is the transform of a positive kernel on the unit ball, which is 1 at 0, so
that all its derivatives are at most 1 in size, and its power series in :math:`-x^2/4` has
coefficients of at most :math:`1/n!^2`.  :mod:`.ball_kernels` says which kernels have such ones.

In the complex plane :math:`f = x^{-m}J_m` has

.. math:: |f(z)| \le f(0)\,e^{|\mathrm{Im} z|}, \qquad
          |f(z)| \le \sqrt{2/\pi}\,|z|^{-m-1/2}\cosh(\mathrm{Im} z)\,
          e^{|m^2-1/4|/\mathrm{Re} z}

(DLMF 10.14.4; the second is the bound of :mod:`.expansions` without terms).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import mul

import flint

from spectra.certify.balls import Ball, precision
from spectra.certify.expansions import background_at_infinity, summed, wave_at_infinity
from spectra.certify.waves import OUTER, Wave, integrated

__all__ = ["EXACT_BITS", "BallDensity", "Term"]

#: Exponents and factors are balls as narrow as the longest sums need.
EXACT_BITS = 4096
# Terms of the expansion at infinity, if no other number is asked for.
_TERMS = 40
# Beyond this x the antiderivative comes from the expansion where that leaves out this much at most.
_FAR, _NOTHING = 150, 2.0**-120
# A series about 0 loses so many bits for each unit of x, and a few more.
_BITS_BY_SIZE, _MORE_BITS = 1.5, 64
# Terms of a Taylor series over a ball of x, and from where on that of Bessel functions is found by
# their equation.
_ORDER, _NEAR = 18, 3.0
# Terms of a Taylor series about a point, for ranges of a lobe at most; and of that about 0, which
# serves below, with more for larger x.
_LOCAL_TERMS, _LONGEST = 56, 8.0
_LEAST_TERMS, _TERMS_BY_RANGE = 60, 1.5

Numbers = tuple[Ball, ...]
#: b, a and c of a function.
Term = tuple[Ball, Numbers, Numbers]


@dataclass(frozen=True)
class BallDensity:
    """A density, the mass of it, and where its tail may start.

    Attributes
    ----------
    dim : int
    terms : tuple of (arb, tuple of arb, tuple of arb)
        b, a and c of each function, to 4096 bits: all are 0F1, or all 1F2.
    total : arb
        The signed mass.
    start : float
        Where the expansion of the tail has settled.
    counted_from : float or None
        From where on the phase counts the zeros; None where that of a single Bessel function
        counts all of them.
    """

    dim: int
    terms: tuple[Term, ...]
    total: Ball
    start: float = 0.0
    counted_from: float | None = None

    @property
    def is_wave(self) -> bool:
        """Whether it is a sum of Bessel functions, whose waves have no background."""
        return not self.terms[0][1]

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

    def size_over(self, span: Ball) -> Ball:
        """Bound of x^(d-1) |f| over a narrow ball, from |J| <= 1 in the slope, or |f'| <= 1."""
        if not span > 0:
            return self.size_in_disc(flint.arb(0), span.abs_upper())
        steep = flint.arb(0)
        for b, upper, lower in self.terms:
            order = lower[0] - 1
            bessel = lower[0].gamma() * (span.lower() / 2) ** -order
            steep = steep + abs(b) * (1 if upper else bessel)
        return (abs(self.value(span.mid())) + span.rad() * steep) * span ** (self.dim - 1)

    def size_in_disc(self, centre: Ball, reach: Ball) -> Ball:
        """Bound of x^(d-1) |f| in a disc, for a sum of Bessel functions."""
        far, near = centre + reach, centre - reach
        first = second = flint.arb(0)
        for b, order in zip(self.factors, self.orders, strict=True):
            front = abs(b) * far ** (self.dim - 1)
            first = first + front / (flint.arb(2) ** order * (order + 1).gamma())
            if near > 0:
                turn = (abs(order * order - flint.arb(1) / 4) / near).exp()
                second = second + front * near ** -(order + flint.arb(1) / 2) * turn
        first = first * reach.exp()
        second = second * (2 / flint.arb.pi()).sqrt() * reach.cosh()
        return first.min(second) if near > 0 else first

    def mass_below(self, x: Ball) -> Ball:
        """The signed mass of [0, x] at an exact x."""
        if x > _FAR and self.is_wave:
            beyond = integrated(self.tail(x, 0.0)[0])
            if beyond.size(x) * x**-beyond.power < _NOTHING:
                return self.total - beyond.value(x)
        h, total = flint.arb(self.dim) / 2, flint.arb(0)
        for b, upper, lower in self.terms:
            total = total + b * _function((*upper, h), (*lower, h + 1), x)
        return x**self.dim / self.dim * total

    def taylor(self, x: Ball, terms: int) -> Ball:
        """The first terms of the Taylor series of f about an exact point."""
        if x > _NEAR and self.is_wave:
            pairs = zip(self.factors, self.orders, strict=True)
            return sum((b * _bessel_taylor(m, x, terms) for b, m in pairs), flint.arb_poly([0]))
        with precision(_bits(x), cap=terms):
            place = flint.acb_series([x, 1])
            total = flint.acb_series([0])
            for b, *numbers in self.terms:
                upper, lower = ([flint.acb_series([n]) for n in row] for row in numbers)
                total = total + b * flint.acb_series.hypgeom(upper, lower, -place * place / 4)
            return flint.arb_poly([total[k].real for k in range(terms)])

    def series(self, x: Ball, terms: int) -> Ball:
        """A Taylor polynomial of x^(d-1) f about an exact point."""
        return flint.arb_poly([x, 1]) ** (self.dim - 1) * self.taylor(x, terms)

    def expansion(self, centre: Ball, reach: Ball) -> tuple[Ball, int, Ball] | None:
        """Where the density is expanded for [centre - reach, centre + reach], by so many terms, and
        what mass they leave out; None where that is too long."""
        at, far, terms = centre, centre + reach, _LOCAL_TERMS
        if centre - reach < _NEAR:
            at, terms = flint.arb(0), 2 * (_LEAST_TERMS + int(_TERMS_BY_RANGE * float(far)))
        elif not reach < _LONGEST:
            return None
        rest = self.bound * far ** (self.dim - 1) * (far - at) ** (terms + 1)
        return at, terms, rest / flint.arb(terms + 1).fac()

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
        """The wave, and its background, at x >= start and in the discs of radius ``outer`` x."""
        share = flint.arb(outer)
        place = near, *_ = (1 - share) * start, (1 - share**2).sqrt(), terms
        waves = [(b, wave_at_infinity(upper, lower, *place)) for b, upper, lower in self.terms]
        wave = summed(waves, near, self.dim - 1)
        if self.is_wave:
            return wave, None
        flat = [(b, background_at_infinity(upper, lower, *place)) for b, upper, lower in self.terms]
        return wave, summed(flat, near, self.dim - 1)


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
        return lower[0].gamma() * (x / 2) ** -order * _bessel_j(order, x)
    with precision(_bits(x)):
        return (-x * x / 4).hypgeom(list(upper), list(lower))


def _bessel_taylor(order: Ball, x: Ball, terms: int) -> Ball:
    """The Taylor series of f = x^-m J_m, from x f'' + (2m + 1) f' + x f = 0."""
    scale = x**-order
    # f' = -x^-m J_(m+1)
    found = [scale * _bessel_j(order, x), -scale * _bessel_j(order + 1, x)]
    for k in range(terms - 2):
        before = found[k - 1] if k else flint.arb(0)
        drag = (k + 1) * (k + 1 + 2 * order) * found[k + 1]
        found.append(-(drag + x * found[k] + before) / (x * (k + 1) * (k + 2)))
    return flint.arb_poly(found)


def _bessel_j(order: Ball, x: Ball) -> Ball:
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

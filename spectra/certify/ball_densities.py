r"""Densities of kernels on a ball, as sums of hypergeometric functions of x = R w.

.. math:: \rho\,dw = x^{d-1} f(x)\,dx, \qquad
          f = \sum_j b_j\; {}_pF_q(a_j; c_j; -x^2/4)

Each of these functions is the transform of a positive kernel on the unit ball, which is 1 at 0, so
that all its derivatives are at most 1 in size, and its power series in :math:`-x^2/4` has
coefficients of at most :math:`1/n!^2`.  :mod:`.ball_kernels` says which kernels have such ones.

In the complex plane :math:`f = {}_0F_1(m+1; -x^2/4) = \Gamma(m+1)(x/2)^{-m}J_m` has

.. math:: |f(z)| \le e^{|\mathrm{Im} z|}, \qquad
          |f(z)| \le \pi^{-1/2}\,\Gamma(m+1)\,|z/2|^{-m-1/2}\cosh(\mathrm{Im} z)\,
          e^{|m^2-1/4|/\mathrm{Re} z}

(DLMF 10.14.4; the second is the bound of :mod:`.expansions` without terms).
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

from spectra.certify.balls import EXACT_BITS, Ball, precision
from spectra.certify.expansions import background_at_infinity, summed, wave_at_infinity
from spectra.certify.waves import OUTER, Wave, integrated

__all__ = ["BallDensity", "Term"]

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
    def bound(self) -> Ball:
        """Bound of |f| and of all its derivatives."""
        return sum((abs(b) for b, _, _ in self.terms), flint.arb(0))

    def value(self, x: Ball) -> Ball:
        """f at an exact x, the sign of the density."""
        parts = (b * _function(upper, lower, x) for b, upper, lower in self.terms)
        return sum(parts, flint.arb(0))

    def slope(self, x: Ball) -> Ball:
        """f' at an exact x."""
        return self.taylor(x, 2)[1]

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
        size = self.bound * reach.exp()
        if near > 0:
            second, half = flint.arb(0), flint.arb(1) / 2
            for b, _, (c,) in self.terms:
                turn = (abs((c - 1) ** 2 - half**2) / near).exp()
                second = second + abs(b) * c.gamma() * (near / 2) ** (half - c) * turn
            size = size.min(second / flint.arb.pi().sqrt() * reach.cosh())
        return size * far ** (self.dim - 1)

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
            parts = (b * _bessel_taylor(c, x, terms) for b, _, (c,) in self.terms)
            return sum(parts, flint.arb_poly([0]))
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

    def expansion(self, centre: Ball, reach: Ball) -> tuple[Ball, int, Ball]:
        """Where the density is expanded for [centre - reach, centre + reach], by so many terms, and
        what mass they leave out; infinite where that is too long."""
        at, far, terms = centre, centre + reach, _LOCAL_TERMS
        if centre - reach < _NEAR:
            at, terms = flint.arb(0), 2 * (_LEAST_TERMS + int(_TERMS_BY_RANGE * float(far)))
        elif not reach < _LONGEST:
            return at, terms, flint.arb("inf")
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


def _bits(x: Ball) -> int:
    """The precision that leaves the digits of a series about 0 at x."""
    return int(flint.ctx.prec + _BITS_BY_SIZE * float(x)) + _MORE_BITS


def _function(upper: Numbers, lower: Numbers, x: Ball) -> Ball:
    """The hypergeometric function at -x^2/4."""
    if not upper:
        return _bessel(lower[0], x)
    with precision(_bits(x)):
        return (-x * x / 4).hypgeom(list(upper), list(lower))


def _bessel(c: Ball, x: Ball) -> Ball:
    """0F1(; c; -x^2/4) = Gamma(m + 1) (x/2)^-m J_m at an exact x, with m = c - 1.

    An order that is no half-integer is a ball, and its radius grows like e^x in the ascending
    series, which Arb uses up to where the asymptotic one is good enough: as many bits are added.
    """
    with precision(EXACT_BITS):
        order = c - 1
    bits = flint.ctx.prec
    wanted, limit = flint.arb(2) ** (24 - bits), bits + int(3.0 * float(x)) + 256
    value = x.bessel_j(order)
    while not value.rad() < wanted and bits < limit:
        bits += max(64, bits // 2)
        with precision(bits):
            value = x.bessel_j(order)
    return c.gamma() * (x / 2) ** -order * value


def _bessel_taylor(c: Ball, x: Ball, terms: int) -> Ball:
    """The Taylor series of f = 0F1(; c; -x^2/4), from x f'' + (2 c - 1) f' + x f = 0."""
    with precision(EXACT_BITS):
        above = c + 1
    found = [_bessel(c, x), -x / (2 * c) * _bessel(above, x)]
    for k in range(terms - 2):
        before = found[k - 1] if k else flint.arb(0)
        drag = (k + 1) * (k + 2 * c - 1) * found[k + 1]
        found.append(-(drag + x * found[k] + before) / (x * (k + 1) * (k + 2)))
    return flint.arb_poly(found)

r"""One sign of a sum of Bessel functions as a law of x = R w: its lobes, and local polynomials.

By Poisson's integral all derivatives of :math:`f = x^{-m}J_m` are at most
:math:`f(0) = 2^{-m}/\Gamma(m+1)`, which bounds what its Taylor series leave out.  In the complex
plane

.. math:: |f(z)| \le f(0)\,e^{|\mathrm{Im} z|}, \qquad
          |f(z)| \le \sqrt{2/\pi}\,|z|^{-m-1/2}\cosh(\mathrm{Im} z)\,
          e^{|m^2-1/4|/\mathrm{Re} z}

(DLMF 10.14.4; the second is the bound of :mod:`.expansions` without terms).
"""

from __future__ import annotations

import flint

from spectra.certify.ball_densities import BallDensity
from spectra.certify.balls import Ball, Unproved
from spectra.certify.lobes import Lobes
from spectra.certify.table_panels import LocalCdf, Stretch, TabulatedLaw

__all__ = ["LobedLaw"]

# Terms of a Taylor series about a point, for ranges of a lobe at most.
_TERMS = 56
_LONGEST = 8.0
_MOST_LEFT_OUT = 2.0**-66
# Up to this x the series about 0 serves, with so many terms and more for larger x.
_NEAR = 3.0
_LEAST_TERMS, _TERMS_BY_RANGE = 60, 1.5


class LobedLaw(TabulatedLaw):
    """The law of x = R w: its stretches are the lobes of its sign that were enclosed.

    Parameters
    ----------
    lobes : Lobes
    sign : int
    radius : arb
        R, the unit of x.
    """

    def __init__(self, lobes: Lobes, sign: int, radius: Ball) -> None:
        self.density: BallDensity = lobes.density
        self.sign, self.unit = sign, radius
        self.mass = (lobes.mass + sign * lobes.total) / 2
        self.loose = lobes.loose / self.mass
        ends = [flint.arb(0), *lobes.zeros]
        self.stretches = []
        before = flint.arb(0)
        for i, low in enumerate(ends[:-1]):
            share = sign * (lobes.below[i + 1] - lobes.below[i])
            if share > 0:
                self.stretches.append(Stretch(low, ends[i + 1], lobes.below[i], before))
                before = before + share
        if not (self.mass > 0 and self.stretches):
            raise Unproved(f"no lobe was proved to have the sign {sign:+d}")

    def signed(self, x: Ball) -> Ball:
        return self.density.mass_below(x)

    def beyond(self, index: int) -> Ball:
        """Probability from the start of a lobe on."""
        return 1 - self.stretches[index].before / self.mass

    def size(self, centre: Ball, reach: Ball) -> Ball:
        far, near = centre + reach, centre - reach
        first = second = flint.arb(0)
        d = self.density
        for b, order in zip(d.factors, d.orders, strict=True):
            front = abs(b) * far ** (d.dim - 1)
            first = first + front / (flint.arb(2) ** order * (order + 1).gamma())
            if near > 0:
                turn = (abs(order * order - flint.arb(1) / 4) / near).exp()
                second = second + front * near ** -(order + flint.arb(1) / 2) * turn
        first = first * reach.exp()
        second = second * (2 / flint.arb.pi()).sqrt() * reach.cosh()
        return ((first.min(second) if near > 0 else first) / self.mass).abs_upper()

    def local(self, stretch: int, centre: Ball, reach: Ball) -> LocalCdf | None:
        """The CDF of a lobe, continued beyond its ends, on [centre - reach, centre + reach]."""
        d = self.density
        at, far, terms = centre, centre + reach, _TERMS
        if centre - reach < _NEAR:
            at, terms = flint.arb(0), 2 * (_LEAST_TERMS + int(_TERMS_BY_RANGE * float(far)))
        elif not reach < _LONGEST:
            return None
        rest = d.bound * far ** (d.dim - 1) * (far - at) ** (terms + 1)
        rest = rest / flint.arb(terms + 1).fac() / self.mass
        if not rest < _MOST_LEFT_OUT:
            return None
        polynomial = flint.arb_poly([at, 1]) ** (d.dim - 1) * d.taylor(at, terms)
        polynomial = polynomial.integral() * (self.sign / self.mass)
        return LocalCdf(at, polynomial + self.cdf(stretch, self.signed(at)), rest)

    def over(self, span: Ball) -> Ball:
        if not span > 0:
            return self.size(flint.arb(0), span.abs_upper())
        size = self.density.size(span) * span ** (self.density.dim - 1)
        return (size / self.mass).abs_upper()

r"""One sign of a density as a law of x = unit * w in ball arithmetic.

The law :math:`\max(0, \pm\rho)/M_\pm` consists of the ranges of x in which the density was proved
to have that sign; on each its CDF is a signed mass and a constant.  Its density gives values, local
series and bounds: that of lobes is in :mod:`.ball_densities`, that of mixtures here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import flint

from spectra.certify.ball_densities import BallDensity
from spectra.certify.balls import Ball, Unproved, hull, precision
from spectra.certify.mixtures import law_of, signed_ranges
from spectra.density.spectral_density import Component

__all__ = ["MixtureDensity", "SignedLaw", "law_of_mixture"]

# What the terms of a local series may leave out.
_MOST_LEFT_OUT = 2.0**-66
# Terms of a Taylor series of the density, and the longest ranges, relative to the distance of the
# nearest singularity.
_TERMS = 60
_LONGEST = 0.35
# A bound needs no more bits.
_BOUND_BITS = 64
# Discs in which the density is bounded, relative to that distance; or to the range, where there is
# no singularity.  A Gaussian beside a heavy tail grows where the real part of V is small.
_DISCS = (0.85, 0.6, 0.4, 0.2, 0.1)
_ENTIRE_DISCS = (8.0, 4.0, 3.0, 2.0)


class MixtureDensity:
    """The signed density of w of a sum of components without oscillation.

    Parameters
    ----------
    components : sequence of Component
        Gaussian, Matern and rational quadratic components.
    """

    def __init__(self, components: Sequence[Component]) -> None:
        self.laws = [law_of(c) for c in components]
        self.dim = self.laws[0].dim
        self.analytic_at_zero = all(law.analytic_at_zero for law in self.laws)

    def below(self, v: Ball) -> Ball:
        """The signed mass of [0, v] of V = w^2."""
        if v.is_zero():
            return flint.arb(0)
        return sum((law.mass(flint.arb(0), v) for law in self.laws), flint.arb(0))

    def mass_below(self, w: Ball) -> Ball:
        """The signed mass of [0, w] at an exact w."""
        return self.below(w * w)

    def size_below(self, w: Ball) -> Ball:
        """Upper bound of the absolute mass of [0, w]."""
        return sum((law.size_below(w * w) for law in self.laws), flint.arb(0))

    def series(self, w: Ball, terms: int) -> Ball:
        """The first terms of the Taylor series of the density about an exact w."""
        with precision(flint.ctx.prec, cap=terms):
            found = self._at(flint.arb_series([w, 1]))
        return flint.arb_poly([found[k] for k in range(terms)])

    def _at(self, w: Ball) -> Ball:
        v = w * w
        total = sum((law.series(v) for law in self.laws), flint.arb_series([0]))
        return 2 * w ** (self.dim - 1) * total

    def expansion(self, centre: Ball, reach: Ball) -> tuple[Ball, int, Ball]:
        """Where the density is expanded for [centre - reach, centre + reach], by so many terms, and
        what mass they leave out; infinite where a singularity is too close."""
        room = min((law.room(centre) for law in self.laws), key=float)
        if not (centre > 0 and reach < _LONGEST * room):
            return centre, 0, flint.arb("inf")
        unit, shares = (room, _DISCS) if room.is_finite() else (reach, _ENTIRE_DISCS)

        def left_out(disc: Ball) -> Ball:
            # Cauchy's estimate.
            ratio = reach / disc
            return self.size_in_disc(centre, disc) * reach * ratio**_TERMS / (1 - ratio)

        discs = [share * unit for share in shares]
        with precision(_BOUND_BITS):
            return centre, _TERMS, min((left_out(d) for d in discs if reach < d), key=float)

    def size_in_disc(self, centre: Ball, reach: Ball) -> Ball:
        """Upper bound of the density in a disc; infinite where that reaches a singularity."""
        total = sum((law.size_in_disc(centre, reach) for law in self.laws), flint.arb(0))
        return 2 * (centre + reach) ** (self.dim - 1) * total

    def size_over(self, span: Ball) -> Ball:
        """Upper bound of the absolute density over a narrow ball."""
        with precision(flint.ctx.prec, cap=1):
            return abs(self._at(flint.arb_series([span]))[0])


class SignedLaw:
    """The law of one sign.

    Parameters
    ----------
    density : MixtureDensity or BallDensity
        The signed density of x.
    sign : int
    unit : arb
    ranges : iterable of (arb, arb, arb, arb)
        Low end, high end and the signed masses below both, of each range of the sign.
    mass : arb or None
        The mass of the sign; None where the ranges have all of it.
    loose : arb
        Upper bound of the mass whose sign was not proved.
    """

    def __init__(
        self,
        density: MixtureDensity | BallDensity,
        sign: int,
        unit: Ball,
        ranges: Iterable[tuple[Ball, Ball, Ball, Ball]],
        mass: Ball | None,
        loose: Ball,
    ) -> None:
        self.density, self.sign, self.unit = density, sign, unit
        #: Balls around the ends of the stretches of x on which the law is analytic, the last of
        #: which may be infinite; and the signed mass of [0, low], and the mass of those before.
        self.stretches: list[tuple[Ball, Ball]] = []
        self.begun: list[tuple[Ball, Ball]] = []
        before = flint.arb(0)
        for low, high, below, up_to in ranges:
            self.stretches.append((low, high))
            self.begun.append((below, before))
            before = before + sign * (up_to - below)
        #: The mass of the sign.
        self.mass = before if mass is None else mass
        if not (self.mass > 0 and self.stretches):
            raise Unproved(f"no radius was proved to have the sign {sign:+d}")
        #: Upper bound of the probability whose sign was not proved.
        self.loose = loose / self.mass

    def local(self, stretch: int, centre: Ball, reach: Ball) -> tuple[Ball, Ball] | None:
        """The CDF of a stretch, continued beyond its ends, on [centre - reach, centre + reach].

        A place, and a polynomial in the distance from it, whose first coefficient holds what the
        others leave out.  The centre is exact.  None where the range is too long, or reaches a
        singularity.
        """
        at, terms, rest = self.density.expansion(centre, reach)
        if not rest / self.mass < _MOST_LEFT_OUT:
            return None
        polynomial = self.density.series(at, terms).integral() * (self.sign / self.mass)
        begun = self.cdf(stretch, self.density.mass_below(at))
        return at, polynomial + begun + flint.arb(0, (rest / self.mass).abs_upper())

    def size(self, centre: Ball, reach: Ball) -> Ball:
        """Upper bound of the density of x in a disc; infinite where it reaches a singularity."""
        return (self.density.size_in_disc(centre, reach) / self.mass).abs_upper()

    def stretch_at(self, x: Ball) -> int:
        """Index of the stretch nearest to a point."""

        def distance(i: int) -> float:
            low, high = self.stretches[i]
            return max(float((low - x).mid()), float((x - high).mid()), 0.0)

        return min(range(len(self.stretches)), key=distance)

    def below(self, x: Ball) -> Ball:
        """Enclosure of the CDF at an exact point, within the stretches that are known."""
        if not x > 0:
            return flint.arb(0)
        index = self.stretch_at(x)
        found = self.cdf(index, self.density.mass_below(x))
        return found + flint.arb(0, self.beyond_ends(index, x, x))

    def cdf(self, stretch: int, signed: Ball) -> Ball:
        """The CDF where the signed mass from 0 is ``signed``, in a stretch or beyond its ends."""
        from_low, before = self.begun[stretch]
        return (before + self.sign * (signed - from_low)) / self.mass

    def beyond(self, stretch: int) -> Ball:
        """Probability from the start of a stretch on."""
        return 1 - self.begun[stretch][1] / self.mass

    def beyond_ends(self, stretch: int, low: Ball, high: Ball) -> Ball:
        """Upper bound of what the continuation counts on [low, high] beyond a stretch."""
        (first, last), bound = self.stretches[stretch], flint.arb(0)
        density = self.density
        if isinstance(density, MixtureDensity) and not (low > 0 or density.analytic_at_zero):
            # No polynomial is used at the origin, and next to nothing lies below the first zero.
            low = first
            bound = density.size_below(low) if low > 0 else bound
        for a, b in ((low, first), (last, high)):
            if not a >= b:
                over = density.size_over(hull(a.lower(), b.upper()))
                bound = bound + (b - a).abs_upper() * over.abs_upper()
        return (bound / self.mass).abs_upper()


def law_of_mixture(components: Sequence[Component], sign: int, bits: int) -> SignedLaw:
    """The law of w of one sign of a sum of components, at the working precision of so many bits."""
    density = MixtureDensity(components)
    found, loose, _ = signed_ranges(density.laws, bits)
    ranges = [
        (r.low.sqrt(), r.high.sqrt(), density.below(r.low), density.below(r.high))
        for r in found
        if r.sign == sign
    ]
    return SignedLaw(density, sign, flint.arb(1), ranges, None, loose)

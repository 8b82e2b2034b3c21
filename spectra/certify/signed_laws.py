r"""One sign of a density as a law of x = unit * w in ball arithmetic.

The law :math:`\max(0, \pm\rho)/M_\pm` consists of the ranges of x in which the density was proved
to have that sign; on each its CDF is a signed mass and a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import flint

from spectra.certify.ball_densities import BallDensity
from spectra.certify.balls import Ball, Unproved, hull
from spectra.certify.lobes import Lobes
from spectra.certify.mixture_densities import MixtureDensity
from spectra.certify.mixtures import signed_ranges
from spectra.density import Component

__all__ = ["LocalCdf", "SignedLaw", "law_of_lobes", "law_of_mixture"]

# What the terms of a local series may leave out.
_MOST_LEFT_OUT = 2.0**-66


@dataclass(frozen=True)
class LocalCdf:
    """The CDF near a point as a polynomial in x - centre, up to ``rest``."""

    centre: Ball
    polynomial: Ball
    rest: Ball

    def __call__(self, x: Ball) -> Ball:
        """The CDF at x."""
        return self.polynomial(x - self.centre) + flint.arb(0, self.rest.abs_upper())


@dataclass(frozen=True)
class Stretch:
    """A range of x that the law has, on which it is analytic.

    Attributes
    ----------
    low, high : arb
        Balls around its ends; the last one may be infinite.
    from_low : arb
        The signed mass of [0, low].
    before : arb
        Mass of the stretches of the law before it.
    """

    low: Ball
    high: Ball
    from_low: Ball
    before: Ball


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
        self.stretches: list[Stretch] = []
        before = flint.arb(0)
        for low, high, below, up_to in ranges:
            self.stretches.append(Stretch(low, high, below, before))
            before = before + sign * (up_to - below)
        #: The mass of the sign.
        self.mass = before if mass is None else mass
        if not (self.mass > 0 and self.stretches):
            raise Unproved(f"no radius was proved to have the sign {sign:+d}")
        #: Upper bound of the probability whose sign was not proved.
        self.loose = loose / self.mass

    def local(self, stretch: int, centre: Ball, reach: Ball) -> LocalCdf | None:
        """The CDF of a stretch, continued beyond its ends, on [centre - reach, centre + reach].

        The centre is exact.  None where the range is too long, or reaches a singularity.
        """
        at, terms, rest = self.density.expansion(centre, reach)
        if not rest / self.mass < _MOST_LEFT_OUT:
            return None
        polynomial = self.density.series(at, terms).integral() * (self.sign / self.mass)
        begun = self.cdf(stretch, self.density.mass_below(at))
        return LocalCdf(at, polynomial + begun, rest / self.mass)

    def size(self, centre: Ball, reach: Ball) -> Ball:
        """Upper bound of the density of x in a disc; infinite where it reaches a singularity."""
        return (self.density.size_in_disc(centre, reach) / self.mass).abs_upper()

    def stretch_at(self, x: Ball) -> int:
        """Index of the stretch nearest to a point."""

        def distance(i: int) -> float:
            ends = self.stretches[i]
            return max(float((ends.low - x).mid()), float((x - ends.high).mid()), 0.0)

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
        at = self.stretches[stretch]
        return (at.before + self.sign * (signed - at.from_low)) / self.mass

    def beyond(self, stretch: int) -> Ball:
        """Probability from the start of a stretch on."""
        return 1 - self.stretches[stretch].before / self.mass

    def beyond_ends(self, stretch: int, low: Ball, high: Ball) -> Ball:
        """Upper bound of what the continuation counts on [low, high] beyond a stretch."""
        at, bound = self.stretches[stretch], flint.arb(0)
        density = self.density
        if isinstance(density, MixtureDensity) and not (low > 0 or density.analytic_at_zero):
            # No polynomial is used at the origin, and next to nothing lies below the first zero.
            low = at.low
            bound = density.size_below(low) if low > 0 else bound
        for a, b in ((low, at.low), (at.high, high)):
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


def law_of_lobes(lobes: Lobes, sign: int, radius: Ball) -> SignedLaw:
    """The law of x = radius * w of one sign: its stretches are the lobes that were enclosed."""
    ends = pairwise([flint.arb(0), *lobes.zeros])
    found = zip(ends, pairwise(lobes.below), strict=True)
    ranges = [(*xs, *masses) for xs, masses in found if sign * (masses[1] - masses[0]) > 0]
    mass = (lobes.mass + sign * lobes.total) / 2
    return SignedLaw(lobes.density, sign, radius, ranges, mass, lobes.loose)

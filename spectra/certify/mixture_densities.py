"""Densities of radii of mixtures in ball arithmetic: values, local series and bounds."""

from __future__ import annotations

from collections.abc import Sequence

import flint

from spectra.certify.balls import Ball, precision
from spectra.certify.mixtures import law_of
from spectra.density import Component

__all__ = ["MixtureDensity"]

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

"""One sign of a mixture as a law of radii in ball arithmetic: its exact CDF and density."""

from __future__ import annotations

from collections.abc import Sequence

import flint

from spectra.certify.balls import Ball, Unproved, precision
from spectra.certify.laws import Law
from spectra.certify.mixtures import law_of, signed_ranges
from spectra.certify.table_panels import LocalCdf, Stretch, TabulatedLaw
from spectra.density import Component

__all__ = ["ProvedLaw"]

# Terms of a Taylor series of the density, and the longest ranges, relative to the distance of the
# nearest singularity.
_TERMS = 60
_LONGEST = 0.35
_MOST_LEFT_OUT = 2.0**-66
# A bound needs no more bits.
_BOUND_BITS = 64
# Discs in which the density is bounded, relative to that distance; or to the range, where there is
# no singularity.  A Gaussian beside a heavy tail grows where the real part of V is small.
_DISCS = (0.85, 0.6, 0.4, 0.2, 0.1)
_ENTIRE_DISCS = (8.0, 4.0, 3.0, 2.0)


class ProvedLaw(TabulatedLaw):
    r"""The law of radii of one sign, :math:`\max(0, \pm\rho)/M_\pm`, at the working precision.

    Parameters
    ----------
    components : sequence of Component
        Gaussian, Matern and rational quadratic components.
    sign : int
    bits : int
        The working precision.

    """

    def __init__(self, components: Sequence[Component], sign: int, bits: int) -> None:
        self.laws: list[Law] = [law_of(c) for c in components]
        self.sign = sign
        self.unit = flint.arb(1)
        ranges, loose, _ = signed_ranges(self.laws, bits)
        self.stretches = []
        self.mass = flint.arb(0)
        for part in ranges:
            if part.sign == sign:
                begun = self._below(part.low)
                high = part.high.sqrt() if part.high.is_finite() else part.high
                self.stretches.append(Stretch(part.low.sqrt(), high, begun, self.mass))
                self.mass += sign * (self._below(part.high) - begun)
        if not self.mass > 0:
            raise Unproved(f"no radius was proved to have the sign {sign:+d}")
        self.loose = loose / self.mass

    @property
    def dim(self) -> int:
        """Dimension of the frequencies."""
        return self.laws[0].dim

    def _below(self, v: Ball) -> Ball:
        """The signed mass of [0, v] of V = w^2."""
        if v.is_zero():
            return flint.arb(0)
        return sum((law.mass(flint.arb(0), v) for law in self.laws), flint.arb(0))

    def signed(self, x: Ball) -> Ball:
        return self._below(x * x)

    def _density(self, w: Ball) -> Ball:
        """The density at a power series of radii, continued beyond the stretches with its sign."""
        v = w * w
        total = sum((law.series(v) for law in self.laws), flint.arb_series([0]))
        return 2 * self.sign / self.mass * w ** (self.dim - 1) * total

    def local(self, stretch: int, centre: Ball, reach: Ball) -> LocalCdf | None:
        """The CDF of a stretch, continued beyond its ends, on [centre - reach, centre + reach]."""
        room = self._room(centre)
        if not (centre > 0 and (room is None or reach < _LONGEST * room)):
            return None
        unit, shares = (reach, _ENTIRE_DISCS) if room is None else (room, _DISCS)
        discs = [share * unit for share in shares]
        with precision(_BOUND_BITS):
            rests = [self._left_out(centre, reach, disc) for disc in discs if reach < disc]
        rest = min(rests, key=float, default=flint.arb("inf"))
        if not rest < _MOST_LEFT_OUT:
            return None
        with precision(flint.ctx.prec, cap=_TERMS):
            series = self._density(flint.arb_series([centre, 1]))
        polynomial = flint.arb_poly([series[k] for k in range(_TERMS)]).integral()
        return LocalCdf(centre, polynomial + self.cdf(stretch, self.signed(centre)), rest)

    def _left_out(self, centre: Ball, reach: Ball, disc: Ball) -> Ball:
        """Cauchy's estimate of the probability that the terms left out make up."""
        size, ratio = self.size(centre, disc), reach / disc
        if size is None:
            return flint.arb("inf")
        return (size * reach * ratio**_TERMS / (1 - ratio)).abs_upper()

    def _room(self, centre: Ball) -> Ball | None:
        """Distance to the nearest singularity, None without one."""
        rooms = [room for law in self.laws if (room := law.room(centre)) is not None]
        return min(rooms, key=float) if rooms else None

    def size(self, centre: Ball, reach: Ball) -> Ball | None:
        total = flint.arb(0)
        for law in self.laws:
            size = law.size_in_disc(centre, reach)
            if size is None:
                return None
            total = total + size
        return (2 * (centre + reach) ** (self.dim - 1) * total / self.mass).abs_upper()

    def beyond_ends(self, stretch: int, low: Ball, high: Ball) -> Ball:
        first = self.stretches[stretch].low
        if low > 0 or all(law.analytic_at_zero for law in self.laws):
            return super().beyond_ends(stretch, low, high)
        # No polynomial is used at the origin, and next to nothing lies below the first zero.
        bound = super().beyond_ends(stretch, first, high)
        if first > 0:
            sizes = (law.size_below(first * first) for law in self.laws)
            bound = bound + sum(sizes, flint.arb(0)) / self.mass
        return bound.abs_upper()

    def over(self, span: Ball) -> Ball:
        with precision(flint.ctx.prec, cap=1):
            return abs(self._density(flint.arb_series([span]))[0]).abs_upper()

"""One sign of a mixture as a law of radii in ball arithmetic: its exact CDF and density."""

from __future__ import annotations

from collections.abc import Sequence

from spectra.certify.balls import Ball, Unproved, flint
from spectra.certify.laws import Law, law_of
from spectra.certify.mixtures import signed_ranges
from spectra.density import Component

__all__ = ["ProvedLaw"]


class ProvedLaw:
    r"""The law of radii of one sign, :math:`\max(0, \pm\rho)/M_\pm`, at the working precision.

    Parameters
    ----------
    components : sequence of Component
        Gaussian and Matern components.
    sign : int
    bits : int
        The working precision.

    Attributes
    ----------
    stretches : list of (low, high, before)
        Ranges of V = w^2 of this sign, and the mass of the stretches below each.
    loose : arb
        Upper bound of the mass whose sign was not proved, which may be of either part.
    """

    def __init__(self, components: Sequence[Component], sign: int, bits: int) -> None:
        self.laws: list[Law] = [law_of(c) for c in components]
        self.sign = sign
        ranges, below, above = signed_ranges(self.laws, bits)
        zero = flint.arb(0)
        self.stretches = []
        self.mass = self.loose = zero
        for part in ranges:
            if part.sign == sign:
                self.stretches.append((part.low, part.high, self.mass))
                self.mass += sign * (self._signed(part.high) - self._signed(part.low))
            elif part.sign == 0:
                self.loose += sum((law.size(part.low, part.high) for law in self.laws), zero)
        if below is not None:
            self.loose += sum((law.size_below(below) for law in self.laws), zero)
        if above is not None:
            self.loose += sum((law.size_above(above) for law in self.laws), zero)
        if not self.mass > 0:
            raise Unproved(f"no radius was proved to have the sign {sign:+d}")

    @property
    def dim(self) -> int:
        """Dimension of the frequencies."""
        return self.laws[0].dim

    def _signed(self, v: Ball) -> Ball:
        if not v.is_finite():
            return sum((law.total for law in self.laws), flint.arb(0))
        if v.is_zero():
            return flint.arb(0)
        return sum((law.below(v) for law in self.laws), flint.arb(0))

    def stretch_at(self, w: Ball) -> int:
        """Index of the stretch nearest to a radius."""
        v = w * w

        def distance(index: int) -> float:
            low, high, _ = self.stretches[index]
            outside = max(float((low - v).mid()), 0.0)
            return outside + (max(float((v - high).mid()), 0.0) if high.is_finite() else 0.0)

        return min(range(len(self.stretches)), key=distance)

    def cdf(self, w: Ball, stretch: int) -> Ball:
        """The CDF at a radius of a stretch; beyond its ends, the analytic continuation."""
        low, _, before = self.stretches[stretch]
        inside = self._signed(w * w) - self._signed(low)
        return (before + self.sign * inside) / self.mass

    def density(self, w: Ball) -> Ball:
        """The density at a power series of radii, continued beyond the stretches with its sign."""
        v = w * w
        total = sum((law.series(v) for law in self.laws), flint.arb_series([0]))
        return 2 * self.sign / self.mass * w ** (self.dim - 1) * total

    def outside(self, low: Ball, high: Ball, stretch: int) -> Ball:
        """Upper bound of the mass that the continuation counts on [low, high] off the stretch."""
        first, last, _ = self.stretches[stretch]
        bound = flint.arb(0)
        first, last = first.sqrt(), last.sqrt() if last.is_finite() else None
        for a, b in ((low, first), (last, high)):
            if a is not None and b is not None and not a >= b:
                w = a.union(b)
                slope = abs(self.density(flint.arb_series([w]))[0])
                bound += (b - a).abs_upper() * slope.abs_upper()
        return bound

r"""Masses of sums of components without oscillation: all sign changes, then exact shares.

The density of V = w^2 is :math:`V^{h-1}\sum_i g_i(V)`, so its sign is that of the sum of the g_i,
which are analytic at V = 0.  The sum is isolated on [0, V_top], and beyond V_top the slowest
component outweighs all others.  What stays unresolved goes into the radius with all its mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flint

from spectra.base.enclosures import Enclosure
from spectra.certify.balls import Ball, Unproved, enclosure, exact_ball, precision
from spectra.certify.cauchy_law import CauchyLaw
from spectra.certify.laws import GaussianLaw, Law, MaternLaw
from spectra.certify.signs import Range, merged_ranges, proved_ranges
from spectra.density.closed_pairs.gaussian import Gaussian
from spectra.density.closed_pairs.matern import Matern
from spectra.density.closed_pairs.pair import Pair
from spectra.density.closed_pairs.rational_quadratic import RationalQuadratic
from spectra.density.spectral_density import Component

__all__ = ["MassBalls", "law_of", "mixture_masses", "signed_ranges"]

# Bits at first, and at most; the relative accuracy asked of every mass, which a double cannot hold.
_FIRST_BITS = 192
_MOST_BITS = 6144
_RELATIVE = 2.0**-60
# Doublings of log V away from the bulk before an end is given up.
_MOST_STEPS = 14

#: M+, M-, M+ + M-, half of what the norms of the components exceed the norm of the sum by (None
#: where that is not known), the radii of the sign changes, and whether these were proved to be all,
#: each of them a single one.
MassBalls = tuple[Ball, Ball, Ball, Ball | None, tuple[Enclosure, ...], bool]

# The law of each kind of component.
_LAWS: dict[type[Component], Callable[[Any], Law]] = {
    Gaussian: GaussianLaw,
    Matern: MaternLaw,
    RationalQuadratic: CauchyLaw,
}


def one_signed_total(component: Component) -> Ball | None:
    """The signed mass of a component whose density has one sign, or None."""
    if isinstance(component, Pair) and component.has_one_sign:
        return exact_ball(component.exact_total)
    return None


def law_of(component: Component) -> Law:
    """The component in ball arithmetic, at the working precision.

    Raises
    ------
    Unproved
        For a component whose masses are not known here.
    """
    law = _LAWS.get(type(component))
    if law is None:
        raise Unproved(f"a component of the kind {type(component).__name__} has no proof here")
    return law(component)


def mixture_masses(components: Sequence[Component]) -> MassBalls:
    """Masses of a sum of components that have laws, with all sign changes.

    The precision is raised until every mass, the cancelled one too, is known to 60 bits of its
    own size, so that 1 - M+ keeps its digits where it is 1e-300.

    Raises
    ------
    Unproved
        Where a component is of another kind, or no precision is enough.
    """
    with precision(_FIRST_BITS):
        totals: list[Ball] = [one_signed_total(c) for c in components]
        if None not in totals and len({bool(total > 0) for total in totals}) == 1:
            mass, nothing = abs(sum(totals, flint.arb(0))), flint.arb(0)
            up, down = (mass, nothing) if totals[0] > 0 else (nothing, mass)
            return up, down, mass, nothing, (), True
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            laws = [law_of(c) for c in components]
            found = _masses(laws, bits)
            if _is_sharp(found, flint.arb(2) ** (-(bits // 2))):
                return found
        bits *= 2
    raise Unproved(f"{_MOST_BITS} bits were not enough")


def _is_sharp(found: MassBalls, nothing: Ball) -> bool:
    """Whether every mass is sharp; one in which no range has a part needs to be small only."""

    def sharp(ball: Ball) -> bool:
        return bool(ball.is_zero() or ball.rad() < _RELATIVE * abs(ball.mid()))

    def absent(ball: Ball) -> bool:
        return bool(ball.contains(0) and ball.abs_upper() < nothing * mass)

    positive, negative, mass, cancelled, *_ = found
    parts = all(sharp(b) or absent(b) for b in (positive, negative))
    return parts and sharp(mass) and (cancelled is None or sharp(cancelled))


def _masses(laws: Sequence[Law], bits: int) -> MassBalls:
    ranges, loose, complete = signed_ranges(laws, bits)
    zero = flint.arb(0)
    shares = {1: zero, -1: zero}
    for part in ranges:
        if part.sign:
            mass = sum((law.mass(part.low, part.high) for law in laws), zero)
            shares[part.sign] += part.sign * mass
    positive, negative = (_up_by(shares[s], loose) for s in (1, -1))
    mass = _up_by(shares[1] + shares[-1], loose)
    total = sum((law.total for law in laws), zero)
    if not (positive - negative).overlaps(total):
        raise AssertionError("proved masses do not add up to k(0): the proof has an error")
    brackets = [part for part in ranges if part.sign == 0]
    changes = tuple(enclosure(part.low.union(part.high).sqrt()) for part in brackets)
    complete = complete and all(part.roots == 1 for part in brackets)
    return positive, negative, mass, _cancelled(laws, mass, bits), changes, complete


def _up_by(ball: Ball, loose: Ball) -> Ball:
    """The ball of all numbers between the ball and itself plus ``loose`` >= 0."""
    return ball if loose.is_zero() else ball.union(ball + loose.abs_upper())


def _cancelled(laws: Sequence[Law], mass: Ball, bits: int) -> Ball:
    if len(laws) == 1 or (
        all(law.one_signed for law in laws) and len({law.total > 0 for law in laws}) == 1
    ):
        return flint.arb(0)
    alone = flint.arb(0)
    for law in laws:
        alone += abs(law.total) if law.one_signed else _masses([law], bits)[2]
    return (alone - mass) / 2


def signed_ranges(laws: Sequence[Law], bits: int) -> tuple[list[Range], Ball, bool]:
    """Ranges of V with their signs, a bound of the mass of no proved sign, and whether both ends
    were proved."""
    signs = {1 if law.total > 0 else -1 for law in laws}
    zero = flint.arb(0)
    if len(signs) == 1 and all(law.one_signed for law in laws):
        return [Range(zero, flint.arb("inf"), signs.pop())], zero, True
    whole = laws
    if len(laws) == 1 and isinstance(laws[0], GaussianLaw):
        laws = [laws[0].without_zero()]
    slowest = min(laws, key=lambda law: law.fall)

    def jet(v: Ball) -> tuple[Ball, Ball]:
        jets = [law.jet(v, slowest) for law in laws]
        return sum((g for g, _ in jets), zero), sum((slope for _, slope in jets), zero)

    def sign_below(v: Ball) -> int:
        ends = [law.near_zero(v) for law in laws]
        lowest, highest = (sum(side, zero) for side in zip(*ends, strict=True))
        return int(bool(lowest > 0)) - int(bool(highest < 0))

    def sign_above(v: Ball) -> int:
        # The slowest component is proved to win for all V >= v.
        least, sign = slowest.least(v)
        others = sum((law.largest(v, slowest) for law in laws if law is not slowest), zero)
        return sign if others < least else 0

    def below(v: Ball) -> Ball:
        return sum((law.size_below(v) for law in whole), zero)

    def above(v: Ball) -> Ball:
        return sum((law.size_above(v) for law in whole), zero)

    scales = sorted((law.scale for law in laws), key=lambda s: float(s.log().mid()))
    # Densities with a logarithm are not resolved as far down as power series.
    depth = bits if all(law.analytic_at_zero for law in laws) else 2 * bits // 3
    low, low_sign = _end(scales[0], -1, sign_below, below, depth)
    high, high_sign = _end(scales[-1], 1, sign_above, above, bits)
    ranges = proved_ranges(jet, low, high, width=flint.arb(2) ** (-(bits // 2)))
    loose = (zero if low_sign else below(low)) + (zero if high_sign else above(high))
    if low_sign:
        ranges.insert(0, Range(zero, low, low_sign))
    if high_sign:
        ranges.append(Range(high, flint.arb("inf"), high_sign))
    ranges = merged_ranges(ranges)
    for part in ranges:
        if part.sign == 0:
            loose += sum((law.size(part.low, part.high) for law in whole), zero)
    return ranges, loose, bool(low_sign and high_sign)


def _end(
    scale: Ball, side: int, sign: Callable[[Ball], int], mass: Callable[[Ball], Ball], depth: int
) -> tuple[Ball, int]:
    """V beyond which, away from a typical one, the sign is proved, or (sign 0) nearly no mass
    lies."""
    step = flint.arb(1)
    for _ in range(_MOST_STEPS):
        v = (scale * (side * step).exp()).mid()
        found = sign(v)
        if found or mass(v) < flint.arb(2) ** -depth:
            return v, found
        step = step * 2
    where = "at large w" if side > 0 else "at w = 0"
    raise Unproved(f"the sign of the density {where} could not be proved")

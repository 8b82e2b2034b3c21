r"""Proofs of the panels of a table with lobes, from the error at nodes.

On a panel within a lobe :math:`E(t) = F(P(t)) - u(t)` is an entire function.  It is computed at
nodes, with F as a polynomial about the middle of the panel, and bounded in a Bernstein ellipse by
the largest density that the panel can reach there, so that :mod:`.nodes` bounds it everywhere.
"""

from __future__ import annotations

from spectra.certify.balls import Ball, flint, hull
from spectra.certify.lobed_law import Lobe, LobedLaw
from spectra.certify.nodes import chosen_nodes
from spectra.certify.table_panels import PanelProof, TablePanel
from spectra.table import RadialLaw

__all__ = ["LobedProof"]

# What may stay unseen between the nodes.
_UNSEEN = 2.0**-66
# Slices of a panel in which its slope is looked at.
_SLICES = 16


class LobedProof(PanelProof):
    """The bounds of the listed lobes of a part."""

    def __init__(self, law: LobedLaw, table: RadialLaw) -> None:
        super().__init__(table)
        self.law = law

    def outside(self, radius: Ball, side: int) -> Ball:
        """Upper bound of the probability below a radius (side 1) or beyond it (side -1)."""
        law = self.law
        x = law.radius * radius
        lobe = law.lobes[law.lobe_at(x)]
        share = law.probability(lobe, law.density.mass_below(x.mid()))
        inside = share if side > 0 else 1 - share
        return (abs(inside) + self._beyond_ends(lobe, x, x)).abs_upper()

    def ordinary(self, panel: TablePanel) -> None:
        """Collect the bounds of a panel of some probability."""
        law = self.law
        middle = (law.radius * panel.coefficients[0]).mid()
        polynomial = flint.arb_poly(panel.coefficients) * law.radius - middle
        # |x - middle| on [-1, 1]; the sum of absolute values is nearly reached.
        reach = _size(polynomial, flint.arb(1))
        lobe = law.lobes[law.lobe_at(middle)]
        local = law.local(middle, reach)
        front = 1 / law.mass

        def bound(r: Ball) -> Ball:
            far = _size(polynomial, (r + 1 / r) / 2)
            grown = far * law.size(middle, far) * front
            return 2 + grown + _probability_size(panel, r)

        nodes = chosen_nodes(bound, flint.arb(_UNSEEN))
        seen = flint.arb(0)
        for t in nodes.places:
            x = middle + polynomial(t)
            seen = seen.max(abs(law.probability(lobe, local(x)) - panel.share(t)).abs_upper())
        self.pieces += 1
        ascends = _ascends(panel)
        if ascends:
            ends = polynomial(flint.arb(-1)), polynomial(flint.arb(1))
            low, high = middle + ends[0].min(ends[1]), middle + ends[0].max(ends[1])
        else:
            self.not_ascending += panel.high - panel.low
            low, high = middle - reach, middle + reach
        beyond = self._beyond_ends(lobe, low, high)
        self.error = self.error.max(nodes.largest(seen) + beyond + panel.exponent_error())
        self.rounding = self.rounding.max(panel.rounding(self._steepest(panel, polynomial, middle)))

    def _steepest(self, panel: TablePanel, polynomial: Ball, middle: Ball) -> Ball:
        """Upper bound of the density of w on a panel."""
        law = self.law
        front = law.radius / law.mass

        def bound(r: Ball) -> Ball:
            return front * law.size(middle, _size(polynomial, (r + 1 / r) / 2))

        nodes = chosen_nodes(bound, flint.arb(2.0**-20))
        density = law.local(middle, _size(polynomial, flint.arb(1))).polynomial.derivative()
        seen = flint.arb(0)
        for t in nodes.places:
            seen = seen.max(abs(front * density(polynomial(t))).abs_upper())
        return nodes.largest(seen)

    def _beyond_ends(self, lobe: Lobe, low: Ball, high: Ball) -> Ball:
        """Upper bound of the probability that the continuation counts beyond a lobe."""
        bound = flint.arb(0)
        for a, b in ((low, lobe.low), (lobe.high, high)):
            if not a >= b and lobe.low.is_zero() and b is lobe.low:
                reach = (b - a).abs_upper()
                bound = bound + reach * self.law.size(b, reach) / self.law.mass
            elif not a >= b:
                span = hull(a.lower(), b.upper())
                size = self.law.density.size(span) * span.abs_upper() ** (self.law.density.dim - 1)
                bound = bound + (b - a).abs_upper() * size / self.law.mass
        return bound.abs_upper()


def _size(polynomial: Ball, t: Ball) -> Ball:
    """Upper bound of a polynomial at all complex numbers of absolute value t."""
    total = flint.arb(0)
    for c in reversed(polynomial.coeffs()):
        total = total * t + abs(c)
    return total.abs_upper()


def _probability_size(panel: TablePanel, r: Ball) -> Ball:
    """Upper bound of u in the Bernstein ellipse of parameter r."""
    long, short = (r + 1 / r) / 2, (r - 1 / r) / 2
    by_power = ((1 + long) / 2) ** max(round(panel.exponent), 1)
    return 1 + by_power.max((flint.arb.pi() / 4 * short).cosh() ** 2)


def _ascends(panel: TablePanel) -> bool:
    """Whether the radius ascends with the probability all along a panel."""
    slope = flint.arb_poly(panel.coefficients).derivative()
    bend = slope.derivative()
    for k in range(_SLICES):
        middle = flint.arb(2 * k + 1) / _SLICES - 1
        around = flint.arb(0, 1.0 / _SLICES)
        if not panel.side * (slope(middle) + around * bend(middle + around)) > 0:
            return False
    return True

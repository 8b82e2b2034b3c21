r"""Proofs of the panels of a table, from the error at nodes.

On a panel within a stretch of the law :math:`E(t) = F(P(t)) - u(t)` is analytic.  It is computed
at nodes, with F as a polynomial about the middle of a range, and bounded in a Bernstein ellipse by
the largest density that the range can reach there, so that :mod:`.nodes` bounds it everywhere.
Ranges that come too close to a singularity of the law are halved.
"""

from __future__ import annotations

import numpy as np

from spectra.certify.balls import Ball, Unproved, flint
from spectra.certify.nodes import chosen_nodes
from spectra.certify.table_panels import TablePanel, TabulatedLaw
from spectra.quadrature import EPS
from spectra.table import PanelKind, Panels, RadialLaw

__all__ = ["NOTHING", "PanelProof"]

#: A panel of less probability than this needs no nodes: both CDFs lie within it.
NOTHING = 2.0**-60
# The probability below the radius that a panel has at u = 0.
_NEARLY_NOTHING = 2.0**-52
# What may stay unseen between the nodes: of the error, and of the density times a panel's size.
_UNSEEN, _UNSEEN_DENSITY = 2.0**-66, 2.0**-20
# Slices of a panel in which its slope is looked at.
_SLICES = 16
_MOST_PIECES = 400


class PanelProof:
    """The bounds collected over the panels of one part.

    Parameters
    ----------
    law : TabulatedLaw
    table : RadialLaw

    Attributes
    ----------
    error : arb
        Upper bound of |F(P(t)) - u(t)| so far.
    rounding : arb
        Upper bound of what the evaluation in doubles adds to it.
    not_ascending : arb
        Probability of the panels inside which the radius was not proved to ascend.
    pieces : int
        Ranges of panels that were looked at.
    """

    def __init__(self, law: TabulatedLaw, table: RadialLaw) -> None:
        self.law = law
        self.table = table
        self.error = flint.arb(0)
        self.rounding = flint.arb(0)
        self.not_ascending = flint.arb(0)
        self.pieces = 0
        for side, panels in ((1, self.table.left), (-1, self.table.right)):
            for i in range(panels.size):
                self._panel(panels, i, side)
        # The sides add up to 1 but for the rounding of one double.  Mass of unknown sign shifts
        # every probability by at most twice its share.
        self.error = self.error + flint.arb(2.0**-52) + 3 * self.law.loose

    @property
    def step_back(self) -> float:
        """The largest step back from one panel to the next, relative to the radius."""
        left, right = self.table.left.end_radii, self.table.right.end_radii[::-1, ::-1]
        ends = np.concatenate([left, right])
        before, after = ends[:-1, 1], ends[1:, 0]
        # Sums of at most 2^5 coefficients, each below the radius but for its rounding.
        steps = (before - after) / np.abs(before) + 128 * EPS
        return float(max(steps.max(initial=0.0), 0.0))

    def _panel(self, panels: Panels, i: int, side: int) -> None:
        low, high = (flint.arb(float(e)) for e in panels.edges[i : i + 2])
        kind, exponent = PanelKind(panels.kinds[i]), float(panels.exponents[i])
        coefficients = [flint.arb(float(c)) for c in panels.coefficients[i]]
        if kind == PanelKind.TAIL_POWER:
            self._tail(coefficients[0], high)
            return
        panel = TablePanel(coefficients, kind, exponent, low, high, side)
        if high < NOTHING:
            self._negligible(panel)
        else:
            self._ordinary(panel)

    def _tail(self, radius: Ball, mass: Ball) -> None:
        """The last panel of a side lies beyond a radius: both probabilities are below this."""
        if not mass < NOTHING:
            raise Unproved("the power tail of the table is too heavy to be left out")
        self.error = self.error.max(mass.max(self._outside(radius, -1)))

    def _negligible(self, panel: TablePanel) -> None:
        """A panel at an end of nearly no probability: both probabilities lie within its ends."""
        low = high = panel.at(flint.arb(1))
        ascends = True
        for k in range(_SLICES):
            t = flint.arb(2 * k + 1) / _SLICES - 1 + flint.arb(0, 1.0 / _SLICES)
            radius, slope = panel.radius(t)
            low, high = low.min(radius.lower()), high.max(radius.upper())
            ascends = ascends and bool(panel.side * slope > 0)
        if ascends:
            low = high = panel.at(flint.arb(1))
        else:
            self.not_ascending += panel.high - panel.low
        # The radius that is furthest from the end has the largest probability beyond it.
        end = high if panel.side > 0 else low
        self.error = self.error.max(panel.high.max(self._outside(end, panel.side)))

    def _outside(self, radius: Ball, side: int) -> Ball:
        """Upper bound of the probability below a radius (side 1) or beyond it (side -1)."""
        x = self.law.unit * radius
        share = self.law.below(x.upper()) if side > 0 else 1 - self.law.below(x.lower())
        return abs(share).abs_upper()

    def _ordinary(self, panel: TablePanel) -> None:
        """A panel of some probability: its error at nodes, on as few ranges as they allow."""
        law = self.law
        polynomial = flint.arb_poly(panel.coefficients) * law.unit
        stretch = law.stretch_at(panel.coefficients[0] * law.unit)
        waiting = [(flint.arb(0), flint.arb(1))]
        largest = steepest = flint.arb(0)
        ascends = _ascends(panel)
        ends = polynomial(flint.arb(-1)), polynomial(flint.arb(1))
        low, high = ends[0].min(ends[1]), ends[0].max(ends[1])
        most = self.pieces + _MOST_PIECES
        while waiting:
            middle, half = waiting.pop()
            self.pieces += 1
            if self.pieces > most:
                raise Unproved("a panel of the table could not be divided into simple ranges")
            piece = _Piece(law, stretch, panel, polynomial, middle, half)
            low, high = low.min(piece.centre - piece.reach), high.max(piece.centre + piece.reach)
            found = piece.error() or piece.at_origin()
            if found is None:
                quarter = half / 2
                waiting += [(middle - quarter, quarter), (middle + quarter, quarter)]
                continue
            largest, steepest = largest.max(found[0]), steepest.max(found[1])
        if ascends:
            # The ends are closer than the balls of the ranges.
            low, high = ends[0].min(ends[1]), ends[0].max(ends[1])
        else:
            self.not_ascending += panel.high - panel.low
        largest = largest + law.beyond_ends(stretch, low, high) + panel.exponent_error()
        self.error = self.error.max(largest)
        self.rounding = self.rounding.max(panel.rounding(steepest))


class _Piece:
    """A range |t - middle| <= half of a panel."""

    def __init__(
        self,
        law: TabulatedLaw,
        stretch: int,
        panel: TablePanel,
        polynomial: Ball,
        middle: Ball,
        half: Ball,
    ) -> None:
        self.law, self.stretch, self.panel = law, stretch, panel
        self.middle, self.half = middle, half
        # What doubles round is of the size of the whole panel.
        self.extent = _size(polynomial, flint.arb(1))
        here = polynomial(flint.arb_poly([middle, half]))
        # A double, so that its square is exact.
        self.centre = flint.arb(float(here[0].mid()))
        self.away = here - self.centre
        # The sum of absolute values is nearly reached, as panels are nearly linear; a panel at an
        # end may be constant.
        self.reach = (_size(self.away, flint.arb(1)) + abs(self.centre) * EPS).abs_upper()

    def error(self) -> tuple[Ball, Ball] | None:
        """Bounds of |E| and of the density of w, or None where the range is too long."""
        local = self.law.local(self.stretch, self.centre, self.reach)
        if local is None:
            return None
        begun = 1 + abs(local(self.centre)).abs_upper()
        nodes = chosen_nodes(lambda r: self._error_size(r, begun), flint.arb(_UNSEEN))
        unseen = flint.arb(_UNSEEN_DENSITY) * self.law.unit / self.extent
        density_nodes = chosen_nodes(self._density_size, unseen)
        if nodes is None or density_nodes is None:
            return None
        seen = flint.arb(0)
        for node in nodes.places:
            x = self.centre + self.away(node)
            share = self.panel.share(self.middle + self.half * node)
            seen = seen.max(abs(local(x) - share).abs_upper())
        slope = local.polynomial.derivative() * self.law.unit
        steep = flint.arb(0)
        for node in density_nodes.places:
            away = self.centre - local.centre + self.away(node)
            steep = steep.max(abs(slope(away)).abs_upper())
        return nodes.largest(seen), density_nodes.largest(steep)

    def at_origin(self) -> tuple[Ball, Ball] | None:
        """The same where next to nothing lies below the range: both probabilities bound E."""
        share = abs(self.law.below((self.centre + self.reach).upper()))
        for side in (-1, 1):
            share = share.max(abs(self.panel.share(self.middle + side * self.half)))
        # The radius at the end of a panel is 0 to rounding only.
        limit = NOTHING if self.centre > self.reach else _NEARLY_NOTHING
        return (share.abs_upper(), flint.arb(0)) if share < limit else None

    def _density_size(self, r: Ball) -> Ball | None:
        size = self.law.size(self.centre, _size(self.away, (r + 1 / r) / 2))
        return None if size is None else size * self.law.unit

    def _error_size(self, r: Ball, begun: Ball) -> Ball | None:
        far = _size(self.away, (r + 1 / r) / 2)
        size = self.law.size(self.centre, far)
        share = self.panel.size(self.middle, self.half, r)
        return None if size is None or share is None else begun + far * size + share


def _size(polynomial: Ball, t: Ball) -> Ball:
    """Upper bound of a polynomial at all complex numbers of absolute value t."""
    total = flint.arb(0)
    for c in reversed(polynomial.coeffs()):
        total = total * t + abs(c)
    return total.abs_upper()


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

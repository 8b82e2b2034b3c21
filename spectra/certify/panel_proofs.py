r"""Proofs of the panels of a table, from the error at nodes.

On a panel the radius is a polynomial P(t) and the probability a function u(t) of t in [-1, 1].
Within a stretch of the law :math:`E(t) = F(P(t)) - u(t)` is analytic.  It is computed
at nodes, with F as a polynomial about the middle of a range, and bounded in a Bernstein ellipse by
the largest density that the range can reach there, so that :mod:`.nodes` bounds it everywhere.
Ranges that come too close to a singularity of the law are halved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import flint
import numpy as np

from spectra.base.enclosures import EPS
from spectra.certify.balls import Ball, Unproved, hull, sizes, upper_double
from spectra.certify.certificates import PartCertificate
from spectra.certify.nodes import chosen_nodes, largest_on_segment
from spectra.certify.signed_laws import SignedLaw
from spectra.table import PanelKind, Panels, RadialLaw

__all__ = ["panel_proof"]

# A panel of less probability than this needs no nodes: both CDFs lie within it.
_NOTHING = 2.0**-60
# The probability below the radius that a panel has at u = 0.
_NEARLY_NOTHING = 2.0**-52
# What may stay unseen between the nodes: of the error, and of the density times a panel's size.
_UNSEEN, _UNSEEN_DENSITY = 2.0**-66, 2.0**-20
# Slices of a panel in which its slope is looked at.
_SLICES = 16
_MOST_PIECES = 400
# Exponents of panels that are this close to an integer are taken as it.
_INTEGER = 2.0**-40


def panel_proof(law: SignedLaw, table: RadialLaw) -> PartCertificate:
    """What is proved of the panels of one part.

    Raises
    ------
    Unproved
        Where a panel is too long for the series of the law, or a power tail too heavy.
    """
    sides = ((1, table.left), (-1, table.right))
    found = [_panel(law, panels, i, side) for side, panels in sides for i in range(panels.size)]
    proof = PartCertificate.joined(found)
    # The sides add up to 1 but for the rounding of one double.  Mass of unknown sign shifts
    # every probability by at most twice its share.
    error = flint.arb(proof.u_error) + flint.arb(2.0**-52) + 3 * law.loose
    return replace(proof, u_error=upper_double(error), step_back=_step_back(table))


def _step_back(table: RadialLaw) -> float:
    """The largest step back from one panel to the next, relative to the radius."""
    ends = np.concatenate([table.left.end_radii, table.right.end_radii[::-1, ::-1]])
    before, after = ends[:-1, 1], ends[1:, 0]
    # Sums of at most 2^5 coefficients, each below the radius but for its rounding.
    steps = (before - after) / np.abs(before) + 128 * EPS
    return float(max(steps.max(initial=0.0), 0.0))


def _panel(law: SignedLaw, panels: Panels, i: int, side: int) -> PartCertificate:
    low, high = (flint.arb(float(e)) for e in panels.edges[i : i + 2])
    kind, exponent = PanelKind(panels.kinds[i]), float(panels.exponents[i])
    polynomial = flint.arb_poly([flint.arb(float(c)) for c in panels.coefficients[i]])
    if kind == PanelKind.TAIL_POWER:
        if not high < _NOTHING:
            raise Unproved("the power tail of the table is too heavy to be left out")
        # It lies beyond a radius: both probabilities are below this.
        error = high.max(_outside(law, polynomial[0], -1))
        return PartCertificate(upper_double(error), 0.0, 0.0, 0.0, 0)
    panel = _Panel(polynomial, kind, exponent, low, high, side)
    ascends = _ascends(panel)
    if not high < _NOTHING:
        return _ordinary(law, panel, ascends)
    # Nearly nothing lies beyond the radius that is furthest from the end.
    reached = polynomial(flint.arb(1) if ascends else flint.arb(0, 1))
    error = high.max(_outside(law, reached.upper() if side > 0 else reached.lower(), side))
    return PartCertificate(upper_double(error), 0.0, _unless(ascends, panel), 0.0, 0)


def _unless(ascends: bool, panel: _Panel) -> float:
    return 0.0 if ascends else upper_double(panel.high - panel.low)


def _outside(law: SignedLaw, radius: Ball, side: int) -> Ball:
    """Upper bound of the probability below a radius (side 1) or beyond it (side -1)."""
    x = law.unit * radius
    share = law.below(x.upper()) if side > 0 else 1 - law.below(x.lower())
    return abs(share).abs_upper()


def _ordinary(law: SignedLaw, panel: _Panel, ascends: bool) -> PartCertificate:
    """A panel of some probability: its error at nodes, on as few ranges as they allow."""
    polynomial = panel.polynomial * law.unit
    stretch = law.stretch_at(polynomial[0])
    waiting = [(flint.arb(0), flint.arb(1))]
    largest = steepest = flint.arb(0)
    ends = polynomial(flint.arb(-1)), polynomial(flint.arb(1))
    low, high = ends[0].min(ends[1]), ends[0].max(ends[1])
    pieces = 0
    while waiting:
        middle, half = waiting.pop()
        pieces += 1
        if pieces > _MOST_PIECES:
            raise Unproved("a panel of the table could not be divided into simple ranges")
        centre, away = _about_centre(polynomial, middle, half)
        # The sum of absolute values is nearly reached, as panels are nearly linear; a panel at an
        # end may be constant.
        reach = (sizes(away)(flint.arb(1)) + abs(centre) * EPS).abs_upper()
        local = law.local(stretch, centre, reach)
        found = _bounds(law, local, panel, middle, half) if local else None
        found = found or _at_origin(law, panel, centre, reach, middle, half)
        if found is None:
            quarter = half / 2
            waiting += [(middle - quarter, quarter), (middle + quarter, quarter)]
            continue
        if not ascends:
            low, high = low.min(centre - reach), high.max(centre + reach)
        largest, steepest = largest.max(found[0]), steepest.max(found[1])
    largest = largest + law.beyond_ends(stretch, low, high) + panel.exponent_error()
    rounding = upper_double(panel.rounding(steepest))
    return PartCertificate(upper_double(largest), rounding, _unless(ascends, panel), 0.0, pieces)


def _about_centre(polynomial: Ball, middle: Ball, half: Ball) -> tuple[Ball, Ball]:
    """x at the middle of a range, a double so that its square is exact, and x less that as a
    polynomial of (t - middle)/half."""
    here = polynomial(flint.arb_poly([middle, half]))
    centre = flint.arb(float(here[0].mid()))
    return centre, here - centre


def _bounds(
    law: SignedLaw, local: tuple[Ball, Ball], panel: _Panel, middle: Ball, half: Ball
) -> tuple[Ball, Ball] | None:
    """Bounds of |E| and of the density of w where |t - middle| <= half, or None where that is too
    long."""
    polynomial = panel.polynomial * law.unit
    centre, away = _about_centre(polynomial, middle, half)
    at, cdf = local
    begun = 1 + abs(cdf(centre - at)).abs_upper()
    slope = cdf.derivative() * law.unit

    def error(node: Ball) -> Ball:
        return cdf(centre - at + away(node)) - panel.share(middle + half * node)

    def density(node: Ball) -> Ball:
        return slope(centre - at + away(node))

    def density_size(r: Ball) -> Ball:
        return law.size(centre, sizes(away)((r + 1 / r) / 2).abs_upper()) * law.unit

    def error_size(r: Ball) -> Ball:
        far = sizes(away)((r + 1 / r) / 2).abs_upper()
        return begun + far * law.size(centre, far) + panel.size(middle, half, r)

    nodes = chosen_nodes(error_size, flint.arb(_UNSEEN))
    # What doubles round is of the size of the whole panel.
    extent = sizes(polynomial)(flint.arb(1)).abs_upper()
    density_nodes = chosen_nodes(density_size, flint.arb(_UNSEEN_DENSITY) * law.unit / extent)
    if nodes is None or density_nodes is None:
        return None
    return largest_on_segment(error, nodes), largest_on_segment(density, density_nodes)


def _at_origin(
    law: SignedLaw, panel: _Panel, centre: Ball, reach: Ball, middle: Ball, half: Ball
) -> tuple[Ball, Ball] | None:
    """The same where next to nothing lies below the range: both probabilities bound E."""
    share = abs(law.below((centre + reach).upper()))
    for side in (-1, 1):
        share = share.max(abs(panel.share(middle + side * half)))
    # The radius at the end of a panel is 0 to rounding only.
    limit = _NOTHING if centre > reach else _NEARLY_NOTHING
    return (share.abs_upper(), flint.arb(0)) if share < limit else None


def _ascends(panel: _Panel) -> bool:
    """Whether the radius ascends with the probability all along a panel."""
    slope = panel.polynomial.derivative()
    bend = slope.derivative()
    for k in range(_SLICES):
        middle = flint.arb(2 * k + 1) / _SLICES - 1
        around = flint.arb(0, 1.0 / _SLICES)
        if not panel.side * (slope(middle) + around * bend(middle + around)) > 0:
            return False
    return True


@dataclass(frozen=True)
class _Panel:
    """A panel of a table as exact functions of its local variable t: P and u."""

    polynomial: Ball
    kind: PanelKind
    exponent: float
    low: Ball
    high: Ball
    side: int

    @property
    def is_entire(self) -> bool:
        """Whether u is taken as analytic at both ends: a power of a panel may be no integer."""
        return not self._has_power or (
            self.exponent >= 0.5 and abs(self.exponent - round(self.exponent)) < _INTEGER
        )

    @property
    def _has_power(self) -> bool:
        return self.kind in (PanelKind.POWER_LOW, PanelKind.POWER_HIGH)

    def share(self, t: Ball) -> Ball:
        """u at a number; 1 - q on the right side."""
        if self.kind == PanelKind.LINEAR:
            x = (1 + t) / 2
        elif self.kind == PanelKind.POWER_LOW:
            x = self._power((1 + t) / 2)
        elif self.kind == PanelKind.POWER_HIGH:
            x = 1 - self._power((1 - t) / 2)
        else:
            x = (flint.arb.pi() / 4 * (1 + t)).sin() ** 2
        share = self.low + (self.high - self.low) * x
        return share if self.side > 0 else 1 - share

    def _power(self, x: Ball) -> Ball:
        if self.is_entire:
            return x ** round(self.exponent)
        exponent = flint.arb(self.exponent)
        return x**exponent if x > 0 else hull(flint.arb(0), x.upper() ** exponent)

    def exponent_error(self) -> Ball:
        """What an exponent e taken as the integer n changes: |s^e - s^n| <= |e - n|/(2.7 min)."""
        if not (self._has_power and self.is_entire):
            return flint.arb(0)
        given, near = flint.arb(self.exponent), flint.arb(round(self.exponent))
        return (self.high - self.low) * abs(given - near) / (flint.arb(2.7) * given.min(near))

    def size(self, middle: Ball, half: Ball, r: Ball) -> Ball:
        """Upper bound of u where (t - middle)/half is in the Bernstein ellipse of parameter r.

        Infinite where that reaches the end at which a power is singular.
        """
        far = half * (r + 1 / r) / 2
        room = 1 + middle if self.kind == PanelKind.POWER_LOW else 1 - middle
        if not (self.is_entire or far < room):
            return flint.arb("inf")
        by_power = ((1 + abs(middle) + far) / 2) ** flint.arb(self.exponent)
        by_sine = (flint.arb.pi() / 8 * half * (r - 1 / r)).cosh() ** 2
        return (1 + by_power.max(by_sine)).abs_upper()

    def rounding(self, density: Ball) -> Ball:
        """What doubles add in probability where the density is at most ``density``."""
        unit = flint.arb(2.0**-53)
        coefficients = self.polynomial.coeffs()
        steps = 2 * len(coefficients) + 2
        size = sum((abs(c) for c in coefficients), flint.arb(0))
        slope = sum((k * abs(c) for k, c in enumerate(coefficients)), flint.arb(0))
        gamma = steps * unit / (1 - steps * unit)
        # x is rounded three times, and t three times more, by at most one unit each.
        return density * (gamma * size + 6 * unit * slope) + 4 * unit * (self.high - self.low)

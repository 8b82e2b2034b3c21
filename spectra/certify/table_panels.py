"""The panels of a stored inverse CDF as exact functions, and what every proof about them collects.

On a panel the radius is a polynomial P(t) and the probability a function u(t) of t in [-1, 1].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from spectra.certify.balls import Ball, Unproved, flint, upper_double
from spectra.quadrature import EPS
from spectra.table import PanelKind, Panels, RadialLaw

__all__ = ["NOTHING", "PanelProof", "TablePanel"]

#: A panel of less probability than this needs no model: both CDFs lie within it.
NOTHING = 2.0**-60
# Such a panel is looked at in so many slices.
_SLICES = 16


@dataclass(frozen=True)
class TablePanel:
    """A panel of a table as exact functions of its local variable t."""

    coefficients: list[Ball]
    kind: PanelKind
    exponent: float
    low: Ball
    high: Ball
    side: int

    def polynomial(self, t: Ball) -> Ball:
        """P at a power series."""
        total = flint.arb_series([0])
        for c in reversed(self.coefficients):
            total = total * t + c
        return total

    def at(self, t: Ball) -> Ball:
        """P at a number."""
        return self.polynomial(flint.arb_series([t]))[0]

    def radius(self, t: Ball) -> tuple[Ball, Ball]:
        """Balls of P and P' over a ball."""
        series = self.polynomial(flint.arb_series([t, 1]))
        return series[0], series[1]

    def probability(self, t: Ball) -> Ball:
        """u at a power series of t; 1 - q on the right side."""
        one = flint.arb_series([1])
        if self.kind == PanelKind.LINEAR:
            x = (one + t) / 2
        elif self.kind == PanelKind.POWER_LOW:
            x = ((one + t) / 2) ** round(self.exponent)
        elif self.kind == PanelKind.POWER_HIGH:
            x = one - ((one - t) / 2) ** round(self.exponent)
        else:
            x = (flint.arb.pi() / 4 * (one + t)).sin() ** 2
        share = self.low + (self.high - self.low) * x
        return share if self.side > 0 else one - share

    def share(self, t: Ball) -> Ball:
        """u at a number; 1 - q on the right side."""
        return self.probability(flint.arb_series([t]))[0]

    def exponent_error(self) -> Ball:
        """What an exponent e that is no integer n changes: |s^e - s^n| <= |e - n| / (2.7 e)."""
        if self.kind not in (PanelKind.POWER_LOW, PanelKind.POWER_HIGH):
            return flint.arb(0)
        given, near = flint.arb(self.exponent), flint.arb(max(round(self.exponent), 1))
        least = flint.arb(min(self.exponent, round(self.exponent)))
        if not least >= 1:
            raise Unproved(f"a panel has the exponent {self.exponent}")
        return (self.high - self.low) * abs(given - near) / (flint.arb(2.7) * least)

    def rounding(self, density: Ball) -> Ball:
        """What doubles add in probability where the density is at most ``density``."""
        unit = flint.arb(2.0**-53)
        steps = 2 * len(self.coefficients) + 2
        size = sum((abs(c) for c in self.coefficients), flint.arb(0))
        slope = sum((k * abs(c) for k, c in enumerate(self.coefficients)), flint.arb(0))
        gamma = steps * unit / (1 - steps * unit)
        # x is rounded three times, and t three times more, by at most one unit each.
        return density * (gamma * size + 6 * unit * slope) + 4 * unit * (self.high - self.low)


class PanelProof(ABC):
    """The bounds collected over the panels of one part.

    Parameters
    ----------
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
        Taylor models, or panels with nodes.
    """

    def __init__(self, table: RadialLaw) -> None:
        self.table = table
        self.error = flint.arb(0)
        self.rounding = flint.arb(0)
        self.not_ascending = flint.arb(0)
        self.pieces = 0

    @abstractmethod
    def ordinary(self, panel: TablePanel) -> None:
        """Collect the bounds of a panel of some probability."""

    @abstractmethod
    def outside(self, radius: Ball, side: int) -> Ball:
        """Upper bound of the probability below a radius (side 1) or beyond it (side -1)."""

    def all_panels(self) -> None:
        """Collect the bounds of all panels."""
        for side, panels in ((1, self.table.left), (-1, self.table.right)):
            for i in range(panels.size):
                self._panel(panels, i, side)
        # The sides add up to 1 but for the rounding of one double.
        self.error = self.error + flint.arb(2.0**-52)

    @property
    def step_back(self) -> float:
        """The largest step back from one panel to the next, relative to the radius."""
        left, right = self.table.left.end_radii, self.table.right.end_radii[::-1, ::-1]
        ends = np.concatenate([left, right])
        before, after = ends[:-1, 1], ends[1:, 0]
        # Sums of at most 2^5 coefficients, each below the radius but for its rounding.
        steps = (before - after) / np.abs(before) + 128 * EPS
        return float(max(steps.max(initial=0.0), 0.0))

    def numbers(self, extra: Ball) -> tuple[float, float, float, int]:
        """Error with an extra, rounding, probability that may not ascend, pieces; as doubles."""
        if not (self.error + extra + self.rounding).is_finite():
            raise Unproved("the working precision was lost")
        return (
            upper_double(self.error + extra),
            upper_double(self.rounding),
            upper_double(self.not_ascending),
            self.pieces,
        )

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
            self.ordinary(panel)

    def _tail(self, radius: Ball, mass: Ball) -> None:
        """The last panel of a side lies beyond a radius: both probabilities are below this."""
        if not mass < NOTHING:
            raise Unproved("the power tail of the table is too heavy to be left out")
        self.error = self.error.max(mass.max(self.outside(radius, -1)))

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
        self.error = self.error.max(panel.high.max(self.outside(end, panel.side)))

r"""Proofs of panels of smooth laws by Taylor models.

On a piece :math:`|t-t_0|\le h` of a panel the error :math:`E(t) = F(P(t)) - u(t)` has

.. math:: |E| \le \sum_{j<n}|e_j(t_0)|h^j + |e_n([t_0-h,t_0+h])|h^n ,

with the coefficients of power series in ball arithmetic.  Pieces are halved until the last term
is small.
"""

from __future__ import annotations

from spectra.certify.balls import Ball, flint
from spectra.certify.parts import ProvedLaw
from spectra.certify.table_panels import PanelProof, TablePanel
from spectra.table import RadialLaw

__all__ = ["ORDER", "SmoothProof"]

#: The order of the Taylor models.
ORDER = 12
# A piece is halved until its last term is below this, or that many times.
_REST = 2.0**-62
_MOST_HALVINGS = 12
# Shorter pieces sharpen the bound, which adds absolute values: so many times for this bound.
_GOAL = 2.0**-49
_GOAL_HALVINGS = 8


class SmoothProof(PanelProof):
    """The bounds of a part without lobes."""

    def __init__(self, law: ProvedLaw, table: RadialLaw) -> None:
        super().__init__(table)
        self.law = law
        self.seen = flint.arb(0)

    def outside(self, radius: Ball, side: int) -> Ball:
        """Upper bound of the probability below a radius (side 1) or beyond it (side -1)."""
        stretch = self.law.stretch_at(radius)
        probability = self.law.cdf(radius, stretch)
        own = abs(probability if side > 0 else 1 - probability)
        return (own + self.law.outside(radius, radius, stretch)).abs_upper()

    def ordinary(self, panel: TablePanel) -> None:
        """Collect the bounds of a panel of some probability."""
        stretch = self.law.stretch_at(panel.at(flint.arb(0)))
        waiting = [(flint.arb(0), flint.arb(1), 0)]
        largest = steepest = flint.arb(0)
        ascends = True
        low = high = panel.at(flint.arb(0))
        while waiting:
            middle, half, depth = waiting.pop()
            bound, rest, top = self._piece(panel, stretch, middle, half)
            rough = not rest < _REST and depth < _MOST_HALVINGS
            # A bound close to an error that was seen is sharp enough.
            loose = not (bound < _GOAL or bound < 1.25 * self.seen) and depth < _GOAL_HALVINGS
            if rough or loose:
                quarter = half / 2
                waiting += [
                    (middle - quarter, quarter, depth + 1),
                    (middle + quarter, quarter, depth + 1),
                ]
                continue
            ball = middle + flint.arb(0, 1) * half
            radius, slope = panel.radius(ball)
            ascends = ascends and bool(panel.side * slope > 0)
            low, high = low.min(radius.lower()), high.max(radius.upper())
            self.pieces += 1
            largest, steepest = largest.max(bound), steepest.max(top)
        if ascends:
            # The ends are closer than the balls of the pieces.
            ends = panel.at(flint.arb(-1)), panel.at(flint.arb(1))
            low, high = ends[0].min(ends[1]), ends[0].max(ends[1])
        else:
            self.not_ascending += panel.high - panel.low
        outside = self.law.outside(low, high, stretch)
        self.error = self.error.max(largest + outside + panel.exponent_error())
        self.rounding = self.rounding.max(panel.rounding(steepest))

    def _piece(
        self, panel: TablePanel, stretch: int, middle: Ball, half: Ball
    ) -> tuple[Ball, Ball, Ball]:
        """Bounds of |E|, of its last term, and of the density on one piece."""
        e, _ = self._error_series(panel, stretch, middle, middle)
        ball = middle + flint.arb(0, 1) * half
        far, density = self._error_series(panel, stretch, ball, None)
        self.seen = self.seen.max(e[0].abs_lower())
        total = flint.arb(0)
        scale = flint.arb(1)
        for j in range(ORDER):
            total = total + abs(e[j]).abs_upper() * scale
            scale = scale * half
        rest = abs(far[ORDER]).abs_upper() * scale
        return total + rest, rest, abs(density[0]).abs_upper()

    def _error_series(
        self, panel: TablePanel, stretch: int, t: Ball, centre: Ball | None
    ) -> tuple[Ball, Ball]:
        """Power series of F(P(t)) - u(t) at t, and of the density; without its value over balls."""
        variable = flint.arb_series([t, 1])
        p = panel.polynomial(variable)
        u = panel.probability(variable)
        density = self.law.density(p)
        error = (density * p.derivative() - u.derivative()).integral()
        if centre is not None:
            error = error + (self.law.cdf(p[0], stretch) - u[0])
        return error, density

"""The panels of a stored inverse CDF as exact functions.

On a panel the radius is a polynomial P(t) and the probability a function u(t) of t in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

from spectra.certify.balls import Ball, hull
from spectra.table import PanelKind

__all__ = ["TablePanel"]

# Exponents of panels that are this close to an integer are taken as it.
_INTEGER = 2.0**-40


@dataclass(frozen=True)
class TablePanel:
    """A panel of a table as exact functions of its local variable t."""

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

    def size(self, middle: Ball, half: Ball, r: Ball) -> Ball | None:
        """Upper bound of u where (t - middle)/half is in the Bernstein ellipse of parameter r.

        None where that reaches the end at which a power is singular.
        """
        far = half * (r + 1 / r) / 2
        room = 1 + middle if self.kind == PanelKind.POWER_LOW else 1 - middle
        if not (self.is_entire or far < room):
            return None
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

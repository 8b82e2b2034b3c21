"""A wave of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy

from spectra.base.precision import Ball
from spectra.formula.evaluation.ball_function import BallFunction, continued
from spectra.formula.reader.parsing import Z

__all__ = ["Wave"]


@dataclass(frozen=True)
class Wave:
    """exp(i b z) f(z), and its conjugate where b > 0.

    Attributes
    ----------
    frequency : sympy number
        b >= 0.
    amplitude : sympy expression
        f, which does not oscillate.
    """

    frequency: sympy.Expr
    amplitude: sympy.Expr

    @cached_property
    def rate(self) -> float:
        """b as a double."""
        return float(self.frequency.evalf(30))

    @cached_property
    def _continued(self) -> BallFunction:
        return continued(self.amplitude, Z)

    def at(self, z: Ball, bits: int) -> Ball:
        """f(z)."""
        return self._continued.resolved(z, bits)

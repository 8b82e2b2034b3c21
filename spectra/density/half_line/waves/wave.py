"""A wave of a kernel, and beside how much of the half-line it may be followed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import flint
import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.analytic_region import ANGLES, SURVEY_BITS
from spectra.density.continuation.continuation import Continuation, number
from spectra.density.continuation.sector import Box, is_analytic

__all__ = ["Wave"]

# It is looked at in these steps of log z; what is below exp(-140) of its largest value is nothing,
# and along a ray powers have the size that they have on the half-line, up to exp(8).
_LOOK, _NEGLIGIBLE, _SAME_POWER = 0.5, -140.0, 8.0
_BEYOND = (1.0, 2.0, 3.0, 4.0)
# A pole on the imaginary axis leaves nearly all below it.
_ANGLES = (0.0, *ANGLES[::-1], 1.5)


@dataclass(frozen=True)
class Wave:
    """exp(i b z) f(z), and its conjugate where b > 0.

    Attributes
    ----------
    frequency : sympy number
        b >= 0.
    amplitude : sympy expression
        f, which does not turn.
    """

    frequency: sympy.Expr
    amplitude: sympy.Expr

    @cached_property
    def rate(self) -> float:
        """b as a double."""
        return float(self.frequency.evalf(30))

    @cached_property
    def _continued(self) -> Continuation:
        return Continuation(self.amplitude)

    def at(self, z: Ball, bits: int, *, conjugate: bool = False) -> Ball:
        """f(z), or the function that is its conjugate on the half-line."""
        if not conjugate:
            return self._continued(z, bits)
        return self._continued(z.conjugate(), bits).conjugate()

    def carried(self, z: Ball, bits: int, *, conjugate: bool = False) -> Ball:
        """exp(ibz) f(z), or the function that is its conjugate on the half-line."""
        turn = flint.acb(0, -1 if conjugate else 1) * number(self.frequency) * z
        return turn.exp() * self.at(z, bits, conjugate=conjugate)

    def widest(self, low: float, high: float) -> float:
        """The widest angle on both sides of the half-line up to which f is analytic between these
        log z, and ends as it does there; 0 without one."""
        s = np.arange(low, high, _LOOK)
        axis = self.log_sizes(s, 0.0)
        alive = np.flatnonzero(axis > axis.max() + _NEGLIGIBLE)
        end = float(s[alive[-1]])
        ends_fast, found = alive[-1] + 1 < s.size, 0.0
        last = np.array([end + t if ends_fast else high - t for t in _BEYOND])
        allowed = axis.max() + _NEGLIGIBLE if ends_fast else self.log_sizes(last, 0.0) + _SAME_POWER
        for inner, outer in pairwise(_ANGLES):
            for sign in (1.0, -1.0):
                strip = sorted((sign * inner, sign * outer))
                if np.any(self.log_sizes(last, sign * outer) > allowed) or not is_analytic(
                    self._continued, Box(low, end if ends_fast else high, *strip)
                ):
                    return found
            found = outer
        return found

    def log_sizes(self, s: FloatArray, angle: float) -> FloatArray:
        """log|f| at exp(s + i angle)."""
        with working(SURVEY_BITS):
            z = [flint.acb(float(t), angle).exp() for t in s]
            return np.array([log_of(self.at(x, SURVEY_BITS)) for x in z])

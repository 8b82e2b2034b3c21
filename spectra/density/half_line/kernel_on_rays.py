"""A kernel on rays of the complex plane, in ball arithmetic."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import ceil

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, working
from spectra.errors import NoRouteError
from spectra.formula.evaluation.ball_function import continued
from spectra.formula.reader.parsing import Z

__all__ = ["KernelOnRays", "kernel_on_rays"]

# Working bits are multiples of this, so that few programs of a formula are made.
_BITS_STEP = 64
# The argument has this many bits more than the value.
_SPARE = 16
_MOST_DOUBLINGS = 6
# The scale is sought among these log z.
_SURVEY = np.arange(-60.0, 60.0, 0.25)


class KernelOnRays:
    """Values of a formula in Z at exp(s + i angle), continued from the half-line."""

    def __init__(self, expr: sympy.Expr) -> None:
        self.expr = expr
        self._continued = continued(expr, Z)

    def value(self, s: float, angle: float, unit: int) -> Ball:
        """The value with an error below 2^-unit, or a ball that is not finite."""
        bits = _round_up(max(unit, 0) + 40)
        for _ in range(_MOST_DOUBLINGS):
            value = self._evaluate(s, angle, bits)
            if (
                value.is_finite()
                and max(value.real.rad(), value.imag.rad()) < flint.arb(2) ** -unit
            ):
                return value
            bits *= 2
        return flint.acb("nan")

    def log_size(self, s: float, angle: float, floor: int = 60) -> float:
        """About log|k|: -inf if it is below 2^-floor, inf if it is not known."""
        least = flint.arb(2) ** -floor
        for bits in (floor + 20, 2 * floor + 100, 4 * floor + 640):
            value = self._evaluate(s, angle, _round_up(bits))
            if not value.is_finite():
                continue
            size, wrong = abs(value).mid(), max(value.real.rad(), value.imag.rad())
            if size + wrong < least:
                return -np.inf
            if wrong < size / 4:
                return float(size.log().mid())
        return np.inf

    def _evaluate(self, s: float, angle: float, bits: int) -> Ball:
        with working(bits + _SPARE):
            z = flint.acb(flint.arb(s), flint.arb(angle)).exp()
        return self._continued.once(z, bits)

    @cached_property
    def scale(self) -> float:
        """The largest log z at which |k| is within a factor e of its largest value."""
        sizes = np.empty(0)
        for s in _SURVEY:
            sizes = np.append(sizes, self.log_size(float(s), 0.0))
            if sizes[-1] == np.inf:
                raise NoRouteError(
                    f"The formula {self.expr} has no value near z = {np.exp(s):.4g}: the numeric "
                    "route needs a formula that is analytic for z > 0. Write it as pieces with "
                    "support=..., or design a finite measure for your range of distances (design)."
                )
            if sizes.max() > -np.inf == sizes[-4:].max():
                break
            if s > 0.0 and sizes[-40:].max() < sizes.max() - 1.0:
                break
        return float(_SURVEY[np.flatnonzero(sizes > sizes.max() - 1.0)[-1]])


def _round_up(bits: int) -> int:
    return _BITS_STEP * ceil(bits / _BITS_STEP)


@lru_cache(maxsize=16)
def kernel_on_rays(expr: sympy.Expr) -> KernelOnRays:
    """The kernel on rays, which every dimension shares."""
    return KernelOnRays(expr)

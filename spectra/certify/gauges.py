"""Positive functions of V = w^2 that a density is multiplied by before its sign is looked at.

A gauge has no influence on signs, and keeps a density of the order of 1 where it underflows every
ball: an exponential over a wide ball would not be known to be positive.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy

from spectra.certify.balls import Ball, flint

__all__ = ["Gauge"]


def _nothing() -> Ball:
    return flint.arb(0)


@dataclass(frozen=True)
class Gauge:
    r"""The function :math:`e^{\lambda V}(b+V)^p e^{r\sqrt V}V^k`.

    Attributes
    ----------
    rate : arb
        lambda.
    order, rate2 : arb or None
        p and b; the factor is left out where p is None.
    exact_order : sympy number or None
        p.
    root : arb
        r.
    exact_root : sympy number or None
        r; None where it is 0.
    power : arb
        k; only for V > 0 where it is not 0.
    """

    rate: Ball = field(default_factory=_nothing)
    order: Ball | None = None
    rate2: Ball | None = None
    exact_order: sympy.Expr | None = None
    root: Ball = field(default_factory=_nothing)
    exact_root: sympy.Expr | None = None
    power: Ball = field(default_factory=_nothing)

    def beside(self, v: Ball) -> tuple[Ball, Ball]:
        """Logarithm of all factors beside the first, and V times its derivative."""
        exponent = rise = flint.arb(0)
        if self.order is not None:
            other = self.rate2 + v
            exponent = self.order * other.log()
            rise = self.order * (1 - self.rate2 / other)
        if self.exact_root is not None:
            root = self.root * v.sqrt()
            exponent = exponent + root + self.power * v.log()
            rise = rise + root / 2 + self.power
        return exponent, rise

    def most_rise(self, v: Ball) -> Ball:
        """Upper bound at V = v of V times that derivative, which grows like sqrt(V) at most."""
        rise = self.power.max(flint.arb(0)) + (self.order or flint.arb(0))
        return rise + self.root * v.sqrt() / 2

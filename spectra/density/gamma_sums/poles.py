"""The Mellin transform of a radial density, and its poles.

A density has the Gamma products R(u) that those of its kernel become
(:meth:`.mellin.GammaProduct.radial`), and the total k(0) is R(1).  Poles on the left give the
expansion of rho at the origin, poles on the right the one at infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import flint
import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import loggamma, polygamma

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working
from spectra.density.gamma_sums.gamma_product import BITS, GammaProduct

__all__ = ["Pole", "RadialMellin"]

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True)
class Pole:
    """At ``place``, exp(log_scale) w^-place times a polynomial in -log w is added to rho.

    ``coefficients`` are those of (-log w)^m / m!; real, because rho is.  They may all be zero: the
    pole is then in the summands or in the imaginary part alone.
    """

    place: sympy.Rational
    log_scale: float
    coefficients: tuple[float, ...]


class RadialMellin:
    """R(u) of a sum of Gamma products in one dimension.

    Parameters
    ----------
    products : sequence of GammaProduct
    dim : int

    Attributes
    ----------
    is_real : bool
        Whether R(u) is real for real u; otherwise rho is the real part of the inverse transform.
    """

    def __init__(self, products: Sequence[GammaProduct], dim: int) -> None:
        self.is_real = all(p.is_real for p in products)
        self._terms = [p.radial(dim) for p in products]

    @cached_property
    def strip(self) -> tuple[sympy.Rational, sympy.Rational | None]:
        """The real parts of u between which R is analytic; None where there is no pole above."""
        right = self.places(1, 1)
        return self.places(-1, 1)[0], (right[0] if right else None)

    def places(self, side: int, count: int) -> list[sympy.Rational]:
        """The first poles on one side (-1 left, +1 right), the nearest to the strip first."""
        found: set[sympy.Rational] = set()
        reach = 4 * count + 8
        for term in self._terms:
            for a, b in term.above:
                if b * side < 0:
                    candidates = (-(a + n) / b for n in range(reach))
                    found.update(p for p in candidates if term.order(p) > 0)
        return sorted(found, reverse=side < 0)[:count]

    def poles(self, side: int, count: int) -> list[Pole]:
        """The first poles on one side, with what moving the line across them adds to rho."""
        found = []
        with working(BITS):
            for place in self.places(side, count):
                laurents = [term.laurent(place) for term in self._terms]
                order = max(map(len, laurents)) - 1
                sums = [_real_sum(laurents, m) for m in range(1, order + 1)]
                size = max(abs(s) for s in sums)
                scale = float(size.log()) if size > 0 else 0.0
                unit = flint.arb(-scale).exp()
                found.append(Pole(place, scale, tuple(float(-side * s * unit) for s in sums)))
        return found

    def total(self) -> float:
        """R(1), the integral of rho and the value of the kernel at zero; nan at a pole there."""
        with working(BITS):
            laurents = [term.laurent(sympy.Integer(1)) for term in self._terms]
            if max(map(len, laurents)) > 1:
                return float("nan")
            return float(_real_sum(laurents, 0))

    def logs(self, u: ComplexArray) -> tuple[list[ComplexArray], list[FloatArray]]:
        """log of each product at complex u, and the sizes of what was rounded in it."""
        logs, sizes = [], []
        for term in self._terms:
            front, base = map(complex, term.logs)
            value = front + base * u
            size = abs(front) + np.abs(base * u)
            for sign, arguments in ((1.0, term.above), (-1.0, term.below)):
                for a, b in arguments:
                    argument = float(a) + float(b) * u
                    gamma = loggamma(argument)
                    value = value + sign * gamma
                    # The argument is rounded too, and counts with the slope log(argument).
                    slope = np.abs(argument) * (1.0 + np.abs(np.log(np.abs(argument))))
                    size = size + np.abs(gamma) + slope
            logs.append(value)
            sizes.append(np.asarray(size))
        return logs, sizes

    def spread(self, c: float) -> float:
        """Second derivative of log R at real c: the variance of log w under w^(c-1) rho."""
        term, variance = self._terms[0], 0.0
        for sign, arguments in ((1, term.above), (-1, term.below)):
            for a, b in arguments:
                x = float(a) + float(b) * c
                if x > 0.0:
                    variance += sign * float(b) ** 2 * float(polygamma(1, x))
        return max(variance, 0.0)


def _real_sum(laurents: Sequence[list[Ball]], m: int) -> Ball:
    """The real part of the coefficients of (u - place)^-m; exactly zero where it may be."""
    total = sum((row[m].real for row in laurents if m < len(row)), flint.arb(0))
    return flint.arb(0) if total.contains(0) else total

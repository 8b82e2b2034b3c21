r"""The Mellin transform of a radial density, and its poles.

.. math:: R(u) = \int_0^\infty\rho(w) w^{u-1} dw
          = \frac{2^u\,\Gamma((u+d-1)/2)}{\Gamma(d/2)\,\Gamma((1-u)/2)}\,M(1-u)

where M is the Mellin transform of the kernel (Parseval's formula with that of Omega_d, DLMF
10.22.43).  The total k(0) is R(1).  Poles on the left give the expansion of rho at the origin,
poles on the right the one at infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import loggamma

from spectra.numeric import FloatArray
from spectra.transform.mellin_sums.mellin import GammaProduct
from spectra.transform.smooth_pairs.centred import exact

__all__ = ["Pole", "RadialMellin"]

ComplexArray = NDArray[np.complex128]
_Argument = tuple[Fraction, Fraction]

#: Decimal digits of the residues: terms of a sum of kernels cancel in them.
_DIGITS = 50
# A residue this small beside its summands is an exact zero.
_ZERO = mpmath.mpf(10) ** -36
# Points on a circle of a third of the distance to the next pole: 3^-48 = 1e-23, and what is
# smaller than that is an exact zero there.
_CIRCLE = 48
_ZERO_ON_CIRCLE = mpmath.mpf(10) ** -20
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Pole:
    """At ``place``, exp(log_scale) w^-place times a polynomial in -log w is added to rho.

    ``coefficients`` are those of (-log w)^m / m!; real, because rho is.  They may all be zero: the
    pole is then in the summands or in the imaginary part alone.
    """

    place: Fraction
    log_scale: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class _Term:
    """One product: exp(log_front + u log_base) prod Gamma(above) / prod Gamma(below), in u."""

    log_front: Any
    log_base: Any
    above: tuple[_Argument, ...]
    below: tuple[_Argument, ...]

    def order(self, place: Fraction) -> int:
        """Order of the pole at a real place; negative for a zero."""
        up = sum(_hits(a, b, place) is not None for a, b in self.above)
        return up - sum(_hits(a, b, place) is not None for a, b in self.below)

    def log_regular(self, u: Any) -> Any:
        """The product at a point that is no pole, in mpmath."""
        value = mpmath.exp(self.log_front + u * self.log_base)
        above = [_mpf(a) + _mpf(b) * u for a, b in self.above]
        below = [_mpf(a) + _mpf(b) * u for a, b in self.below]
        return value * mpmath.gammaprod(above, below)

    def leading(self, place: Fraction) -> Any:
        """Coefficient of (u - place)^-order: the residue at a simple pole, the value at order 0."""
        value = mpmath.exp(self.log_front + _mpf(place) * self.log_base)
        for sign, arguments in ((1, self.above), (-1, self.below)):
            for a, b in arguments:
                n = _hits(a, b, place)
                if n is None:
                    factor = mpmath.gamma(_mpf(a + b * place))
                else:
                    factor = (-1) ** n / (mpmath.factorial(n) * _mpf(b))
                value = value * factor if sign > 0 else value / factor
        return value


def _hits(offset: Fraction, slope: Fraction, place: Fraction) -> int | None:
    """n where offset + slope * place = -n is a pole of Gamma."""
    value = offset + slope * place
    return int(-value) if value.denominator == 1 and value <= 0 else None


def _mpf(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def _fraction(value: sympy.Rational) -> Fraction:
    return Fraction(int(value.p), int(value.q))


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
        self.dim = dim
        self.is_real = all(p.is_real for p in products)
        with mpmath.workdps(_DIGITS):
            self._terms = tuple(_term(p, dim) for p in products)

    @cached_property
    def strip(self) -> tuple[Fraction, Fraction | None]:
        """The real parts of u between which R is analytic; None where there is no pole above."""
        right = self.places(1, 1)
        return self.places(-1, 1)[0], (right[0] if right else None)

    def places(self, side: int, count: int) -> list[Fraction]:
        """The first poles on one side (-1 left, +1 right), the nearest to the strip first."""
        found: set[Fraction] = set()
        reach = 4 * count + 8
        for term in self._terms:
            for a, b in term.above:
                if b * side < 0:
                    candidates = (-(a + n) / b for n in range(reach))
                    found.update(p for p in candidates if term.order(p) > 0)
        return sorted(found, reverse=side < 0)[:count]

    def poles(self, side: int, count: int) -> list[Pole]:
        """The first poles on one side, with what moving the line across them adds to rho."""
        places = self.places(side, count + 1)
        found = []
        with mpmath.workdps(_DIGITS):
            for place in places[:count]:
                order = max(term.order(place) for term in self._terms)
                if order == 1:
                    residues = [t.leading(place) for t in self._terms if t.order(place) == 1]
                    sums = [_sum(residues)]
                else:
                    gaps = [abs(p - place) for p in places if p != place]
                    sums = self._laurent(place, min(*gaps, Fraction(1)) / 3, order)
                size = max(abs(mpmath.re(s)) for s in sums)
                scale = float(mpmath.log(size)) if size else 0.0
                unit = mpmath.exp(-mpmath.mpf(scale))
                coefficients = tuple(float(-side * mpmath.re(s) * unit) for s in sums)
                found.append(Pole(place, scale, coefficients))
        return found

    def _laurent(self, place: Fraction, radius: Fraction, order: int) -> list[Any]:
        """Coefficients of (u - place)^-1, (u - place)^-2, ... by the rule of a circle.

        The power exp(u log_base) of the first product, which grows fast along the circle where a
        length is far from one, is left out there and multiplied to the coefficients.
        """
        step = 2 * mpmath.pi / _CIRCLE
        spokes = [_mpf(radius) * mpmath.expj(step * (j + _mpf(_HALF))) for j in range(_CIRCLE)]
        base = self._terms[0].log_base
        powers = [mpmath.exp(-v * base) for v in spokes]
        values = [
            [t.log_regular(_mpf(place) + v) * p for v, p in zip(spokes, powers, strict=True)]
            for t in self._terms
        ]
        sums = []
        for m in range(1, order + 1):
            parts = [
                mpmath.fsum(f * v**m for f, v in zip(row, spokes, strict=True)) / _CIRCLE
                for row in values
            ]
            size = max(abs(f * v**m) for row in values for f, v in zip(row, spokes, strict=True))
            value = mpmath.fsum(parts)
            sums.append(mpmath.mpf(0) if abs(value) < _ZERO_ON_CIRCLE * size else value)
        return [
            mpmath.fsum(a * base**j / mpmath.factorial(j) for j, a in enumerate(sums[m:]))
            for m in range(order)
        ]

    def total(self) -> float:
        """R(1), the integral of rho and the value of the kernel at zero; nan at a pole there."""
        one = Fraction(1)
        with mpmath.workdps(_DIGITS):
            if any(t.order(one) > 0 for t in self._terms):
                return float("nan")
            values = [t.leading(one) for t in self._terms if t.order(one) == 0]
            return float(mpmath.re(_sum(values))) if values else 0.0

    def logs(self, u: ComplexArray) -> tuple[list[ComplexArray], list[FloatArray]]:
        """log of each product at complex u, and the sizes of what was rounded in it."""
        logs, sizes = [], []
        for term in self._terms:
            front, base = complex(term.log_front), complex(term.log_base)
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
        variance = 0.0
        for term in self._terms[:1]:
            with mpmath.workdps(15):
                for sign, arguments in ((1, term.above), (-1, term.below)):
                    for a, b in arguments:
                        x = float(a) + float(b) * c
                        if x > 0.0:
                            variance += sign * float(b) ** 2 * float(mpmath.psi(1, x))
        return max(variance, 0.0)


def _term(product: GammaProduct, dim: int) -> _Term:
    """R(u) of one product, its Gamma functions cancelled; s = 1 - u."""
    above = [(_fraction(a) + _fraction(b), -_fraction(b)) for a, b in product.above]
    below = [(_fraction(a) + _fraction(b), -_fraction(b)) for a, b in product.below]
    above.append((Fraction(dim - 1, 2), _HALF))
    below.append((_HALF, -_HALF))
    for argument in list(above):
        if argument in below:
            above.remove(argument)
            below.remove(argument)
    coefficient, scale = exact(product.coefficient), exact(product.scale)
    log_scale = mpmath.log(scale)
    front = mpmath.log(coefficient) - log_scale - mpmath.loggamma(mpmath.mpf(dim) / 2)
    return _Term(front, log_scale + mpmath.log(2), tuple(above), tuple(below))


def _sum(values: Sequence[Any]) -> Any:
    """The sum, exactly zero where it is nothing but the rounding of its summands."""
    total = mpmath.fsum(values)
    size = max(abs(v) for v in values)
    return mpmath.mpf(0) if abs(mpmath.re(total)) < _ZERO * size else total

r"""A function of log w from sums at equal steps, with the error of the interpolation.

A density falls by hundreds of e-folds where it ends, so that a cubic through the logarithms of its
sizes is taken out before a polynomial goes through neighbouring values:

.. math:: F(x) = e^{E(x)} \sum_i \ell_i(x)\, F_i\, e^{-E(x_i)}.

What four values fewer differ by is the error of those, and above that of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import flint
import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.analytic_region import SURVEY_BITS
from spectra.density.half_line.sums.blocks import MARGIN, Block

__all__ = ["RESOLVED", "Sums", "in_doubles"]

# The shorter polynomial goes through so many values on either side of a place.
_FEWER = MARGIN - 2
#: Differences below this share of the envelope nearby, so many values on either side, are of no
# account.
RESOLVED, _NEAR = 1e-14, 3
# The longer polynomial may miss as much again as two of them differ by.
_BEYOND = 2.0
_ROUNDING = 4.0 * float(np.finfo(float).eps)
# Sizes below this share of the largest one nearby belong to a change of sign.
_FLOOR, _DEGREE = 1e-3, 3
# The exponent of what is nothing.
_NOTHING = -8192


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over a block, and the function of log w that they are values of.

    Attributes
    ----------
    block : Block
        Its start is dyadic, so that distances to its radii are exact.
    values, sizes : list of balls
        The sums, and the envelope of all of them.
    worst : float
        Bound of their errors, relative to the envelope.
    angle, step : float, int
        They are along this ray, at steps 2**-step of log z.
    """

    block: Block
    values: list[Ball]
    sizes: list[Ball]
    worst: float
    angle: float
    step: int

    def interleaved(self, between: Sums) -> Sums:
        """With those half-way between them."""
        # Interpolation asks for fewer e-folds of neighbours now.
        inner = slice(MARGIN - 1, -MARGIN)
        values, sizes = (
            [x for pair in zip(a, [*b, None], strict=True) for x in pair][:-1][inner]
            for a, b in ((self.values, between.values), (self.sizes, between.sizes))
        )
        step, worst = max(self.step, between.step), max(self.worst, between.worst)
        return Sums(self.block.halved(), values, sizes, worst, self.angle, step)

    @cached_property
    def exponent(self) -> NDArray[np.int64]:
        """About log2 of the envelope."""
        ln2 = float(np.log(2.0))
        return np.array([round(log_of(z) / ln2) if z > 0 else _NOTHING for z in self.sizes])

    @cached_property
    def mantissa(self) -> FloatArray:
        """The sums divided by 2**exponent."""
        return in_doubles(self.values, self.exponent)

    @cached_property
    def error(self) -> FloatArray:
        """Bounds of their errors, divided by 2**exponent."""
        return self.worst * in_doubles(self.sizes, self.exponent)

    def at(
        self, base: float, offsets: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
        """Mantissas, errors and exponents of two at base + offsets, and whether steps are small.

        ``base`` is dyadic.
        """
        # Whole steps and shares of one apart, so that no place is rounded to the block.
        step = 2.0**-self.block.spacing
        whole, share = np.divmod((base - self.block.start) / step, 1.0)
        steps, rest = np.divmod(offsets / step, 1.0)
        first = (whole + steps + np.floor(share + rest)).astype(int) - MARGIN + 1
        first = np.clip(first, 0, self.mantissa.size - 2 * MARGIN)
        window = first[:, None] + np.arange(2 * MARGIN)
        unit = self.exponent[window].max(axis=1)
        t = (whole + steps - first) + (share + rest)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            front, rise = self._flattening(window, unit, t)
            values, errors = self.mantissa[window] * front, self.error[window] * front
            value, factors = _through(values, t, MARGIN)
            apart = np.abs(value - _through(values, t, _FEWER)[0])
            size = front[:, MARGIN - _NEAR : MARGIN + _NEAR].max(axis=1)
            errors += _ROUNDING * (1.0 + np.abs(rise)) * np.abs(values)
            given = (errors * np.abs(factors)).sum(axis=1)
        resolved = bool(np.all(apart <= np.maximum(RESOLVED * size, given)))
        return (
            value,
            np.where(np.isfinite(apart), _BEYOND * apart + given, np.inf),
            unit.astype(float),
            resolved,
        )

    @cached_property
    def _trend(self) -> Polynomial:
        """A cubic in the index through the logarithms of the sizes."""
        size = np.maximum(np.abs(self.mantissa), _FLOOR)
        logs = np.log(size) + float(np.log(2.0)) * self.exponent
        return Polynomial.fit(np.arange(logs.size), logs, _DEGREE)

    def _flattening(
        self, window: NDArray[np.int64], unit: NDArray[np.int64], t: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """exp(E(t) - E(t_i)) in units of 2**unit, and the exponent."""
        apart = t[:, None] - np.arange(2 * MARGIN)
        place = window[:, 0] + t
        # By Taylor, since both values may be large.
        rise, power = np.zeros(window.shape), np.ones(window.shape)
        for m in range(1, _DEGREE + 1):
            power = power * -apart / m
            rise -= self._trend.deriv(m)(place)[:, None] * power
        exponent = (self.exponent[window] - unit[:, None]).astype(float)
        return np.exp(rise) * np.exp2(exponent), rise


def in_doubles(balls: list[Ball], exponents: NDArray[Any]) -> FloatArray:
    """Balls divided by powers of two."""
    with working(SURVEY_BITS):
        units = [flint.arb(2) ** -int(e) for e in exponents]
        return np.array([float((x * u).mid()) for x, u in zip(balls, units, strict=True)])


@lru_cache(maxsize=4)
def _weights(half: int) -> FloatArray:
    """Barycentric weights of 2 * half equal steps."""
    count = 2 * half
    weights = np.ones(count)
    for i in range(1, count):
        weights[i] = -weights[i - 1] * (count - i) / i
    return np.asarray(weights / np.abs(weights).max())


def _through(values: FloatArray, t: FloatArray, half: int) -> tuple[FloatArray, FloatArray]:
    """The polynomial through the middle 2 * half values at places t, and its Lagrange factors."""
    inner = slice(MARGIN - half, MARGIN + half)
    apart = t[:, None] - np.arange(2 * MARGIN)[inner]
    exact = apart == 0.0
    with np.errstate(divide="ignore"):
        terms = np.where(exact.any(axis=1)[:, None], exact, _weights(half) / apart)
    factors = terms / terms.sum(axis=1)[:, None]
    return (factors * values[:, inner]).sum(axis=1), factors

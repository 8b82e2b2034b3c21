r"""A function of log w from its values at equal steps, with the error of the interpolation.

A density falls by hundreds of e-folds where it ends, so that a cubic through the logarithms of its
sizes is taken out before a polynomial goes through neighbouring values:

.. math:: F(x) = e^{E(x)} \sum_i \ell_i(x)\, F_i\, e^{-E(x_i)}.

What four values fewer differ by is the error of those, and above that of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from spectra.numeric import FloatArray

__all__ = ["MARGIN", "RESOLVED", "Grid"]

#: Values on either side of a place that the polynomial goes through.
MARGIN = 20
_FEWER = MARGIN - 2
#: Differences below this share of the envelope nearby, so many values on either side, are of no
# account.
RESOLVED, _NEAR = 1e-14, 3
# The longer polynomial may miss as much again as two of them differ by.
_BEYOND = 2.0
_ROUNDING = 4.0 * float(np.finfo(float).eps)
# Sizes below this share of the largest one nearby belong to a change of sign.
_FLOOR, _DEGREE = 1e-3, 3


@dataclass(frozen=True, eq=False)
class Grid:
    """Values at ``start + i * step``: mantissas times powers of two.

    Attributes
    ----------
    start, step : float
        Dyadic, so that distances to the values are exact.
    mantissa : ndarray
        Values divided by 2**exponent.
    exponent : ndarray of int
        About log2 of the envelope.
    error : ndarray
        Bounds of the errors, divided by 2**exponent.
    """

    start: float
    step: float
    mantissa: FloatArray
    exponent: NDArray[np.int64]
    error: FloatArray

    def at(
        self, base: float, offsets: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
        """Mantissas, errors and exponents of two at base + offsets, and whether steps are small.

        ``base`` is dyadic.
        """
        # Whole steps and shares of one apart, so that no place is rounded to the block.
        whole, share = np.divmod((base - self.start) / self.step, 1.0)
        steps, rest = np.divmod(offsets / self.step, 1.0)
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

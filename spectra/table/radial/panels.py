r"""Panels of an inverse CDF: polynomials in a variable that suits the density.

Inside a panel [c0, c1] of probability the radius is a polynomial in a local variable t in
[-1, 1], chosen so that the law is smooth in it.  With x = (c - c0)/(c1 - c0):

============  =======================  =========================================================
kind          local variable           made for
============  =======================  =========================================================
LINEAR        t = 2 x - 1              a density that is smooth and positive on the panel
POWER_LOW     t = 2 x^(1/e) - 1        a power of the density at the end c0 (w ~ u^(1/d) at 0)
POWER_HIGH    t = 1 - 2 (1 - x)^(1/e)  the same at the end c1
SINE          t = (4/pi) asin √x - 1   simple zeros of the density at both ends
TAIL_POWER    w = row[0] x^(-1/tau)    a power tail; only as the panel at q = 1 - u = 0
============  =======================  =========================================================

An atom is a panel whose polynomial is constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from typing import Self, final

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike, NDArray

from spectra.base.arrays import FloatArray, frozen_array, made_again
from spectra.errors import ParameterError

__all__ = [
    "PanelKind",
    "Panels",
    "local_share",
    "local_variable",
    "powers_of_chebyshev",
    "sine_share",
]

# Places (1 + t)/2 of the first panel, from radius 0 on, below which its radius is a product with
# the place (chosen): where that product is as exact as the sum of powers, which the proofs bound.
_BESIDE_ORIGIN = 2.0**-8
# A panel that starts at 0 does so up to the rounding of its coefficients: to 1 unit of their sum in
# all tables that were looked at.
_ROUNDED_ZERO = 2.0 * float(np.finfo(float).eps)


class PanelKind(IntEnum):
    """Which local variable a panel is a polynomial of; the numbers are those of saved tables."""

    LINEAR = 0
    POWER_LOW = 1
    POWER_HIGH = 2
    SINE = 3
    TAIL_POWER = 4


@final
@dataclass(frozen=True, eq=False, init=False)
class Panels:
    """One side of an inverse CDF: polynomials on consecutive panels of a probability.

    Parameters
    ----------
    edges : array_like, shape (n + 1,)
        Ascending ends of the panels, in u (left side) or q = 1 - u (right side).
    coefficients : array_like, shape (n, degree + 1)
        Monomial coefficients of the radius in t on [-1, 1], lowest power first; a constant
        row is an atom.  A TAIL_POWER row is the radius at its upper end, then zeros.
    kinds : array_like of PanelKind, shape (n,)
        The local variable of each panel; LINEAR where left out.
    exponents : array_like, shape (n,)
        e of POWER_LOW and POWER_HIGH, tau of TAIL_POWER, 1 (and not read) elsewhere.

    Examples
    --------
    >>> Panels([0.0, 0.5], [[1.0, 1.0]]).size
    1
    """

    edges: FloatArray
    coefficients: FloatArray
    kinds: NDArray[np.int8]
    exponents: FloatArray

    def __init__(
        self,
        edges: ArrayLike,
        coefficients: ArrayLike,
        kinds: ArrayLike | None = None,
        exponents: ArrayLike | None = None,
    ) -> None:
        edges = frozen_array(edges, "panel edges", 1)
        n = edges.size - 1
        if n < 0 or edges[0] < 0.0 or edges[-1] > 1.0 or not np.all(np.diff(edges) > 0.0):
            raise ParameterError(
                "The edges of the panels of a radial law must be probabilities that ascend "
                f"strictly from 0 or above; got {edges[:6].tolist()}... Drop panels without mass."
            )
        rows = frozen_array(coefficients, "panel coefficients", 2)
        code = np.zeros(n, np.int8) if kinds is None else np.array(kinds, dtype=np.int8)
        code.setflags(write=False)
        power = frozen_array(np.ones(n) if exponents is None else exponents, "panel exponents", 1)
        if rows.shape[0] != n or rows.shape[1] < 1 or code.shape != (n,) or power.shape != (n,):
            raise ParameterError(
                f"{edges.size} edges need {n} rows of coefficients, kinds and exponents; got "
                f"shapes {rows.shape}, {code.shape} and {power.shape}."
            )
        if not np.all(np.isin(code, list(PanelKind))) or not np.all(power > 0.0):
            raise ParameterError(
                "A panel has an unknown kind, or an exponent that is not positive."
            )
        tails = code == PanelKind.TAIL_POWER
        if np.any(tails[1:]) or np.any(rows[tails, 1:]) or (np.any(tails) and edges[0] != 0.0):
            raise ParameterError(
                "A TAIL_POWER panel must be the first one, start at probability 0, and have the "
                "radius at its upper end as its only coefficient that is not zero."
            )
        names = ("edges", "coefficients", "kinds", "exponents")
        for name, array in zip(names, (edges, rows, code, power), strict=True):
            object.__setattr__(self, name, array)

    __reduce__ = made_again

    @property
    def size(self) -> int:
        """Number of panels."""
        return self.edges.size - 1

    @property
    def end_radii(self) -> FloatArray:
        """Radii at t = -1 and t = 1 of every panel, shape (n, 2); finite in a TAIL_POWER panel."""
        rows = self.coefficients
        signs = np.where(np.arange(rows.shape[1]) % 2, -1.0, 1.0)
        ends = np.stack([rows @ signs, rows.sum(axis=1)], axis=1)
        if self._slope_at_origin is not None:
            ends[0, 0] = 0.0
        return ends

    @property
    def are_atoms(self) -> NDArray[np.bool_]:
        """Which panels are atoms, shape (n,)."""
        moves = np.any(self.coefficients[:, 1:], axis=1)
        return np.asarray(~moves & (self.kinds != PanelKind.TAIL_POWER))

    def radii(self, c: FloatArray, *, from_above: bool = False) -> FloatArray:
        """Radii at probabilities c, shape (m,); the larger one where they jump at an edge.

        ``from_above`` says that c is q = 1 - u, with which radii fall.
        """
        i = np.searchsorted(self.edges, c, side="left" if from_above else "right") - 1
        i = np.clip(i, 0, self.size - 1)
        low, high = self.edges[i], self.edges[i + 1]
        x, rest = (c - low) / (high - low), (high - c) / (high - low)
        kinds, exponents = self.kinds[i], self.exponents[i]
        t = local_variable(kinds, exponents, x, rest)
        w = np.zeros(c.size)
        for column in self.coefficients.T[::-1]:
            w *= t
            w += column[i]
        power = kinds == PanelKind.TAIL_POWER
        # A radius beyond the range of doubles is infinite, which is what it is.
        with np.errstate(over="ignore", divide="ignore"):
            w[power] = self.coefficients[i[power], 0] * x[power] ** (-1.0 / exponents[power])
        if self._slope_at_origin is not None:
            # Near 0 the radius has its own digits: the sum of the powers of t only has those of 1.
            first = np.flatnonzero(i == 0)
            place = _place_from_low_end(kinds[first], exponents[first], x[first])
            near = place < _BESIDE_ORIGIN
            t = 2.0 * place[near]
            w[first[near]] = t * polynomial.polyval(t - 1.0, self._slope_at_origin)
        return w

    @cached_property
    def _slope_at_origin(self) -> FloatArray | None:
        """P(t)/(1 + t) for the polynomial P of the first panel, where its radius starts at 0."""
        if not self.size or self.kinds[0] == PanelKind.POWER_HIGH or self.edges[0] != 0.0:
            return None
        row = self.coefficients[0]
        start = math.fsum(row[::2]) - math.fsum(row[1::2])
        if row.size == 1 or abs(start) > _ROUNDED_ZERO * math.fsum(np.abs(row)):
            return None
        quotient = np.zeros(row.size - 1)
        quotient[-1] = row[-1]
        for k in range(row.size - 2, 0, -1):
            quotient[k - 1] = row[k] - quotient[k]
        return quotient

    @classmethod
    def empty(cls) -> Self:
        """No panels: the side of a law that has no mass of its own."""
        return cls([0.0], np.zeros((0, 1)))

    @classmethod
    def from_chebyshev(
        cls,
        edges: ArrayLike,
        coefficients: ArrayLike,
        kinds: ArrayLike | None = None,
        exponents: ArrayLike | None = None,
    ) -> Self:
        """Panels from Chebyshev coefficients in t, shape (n, degree + 1).

        They are stored as monomials, which Horner evaluates twice as fast as Clenshaw does
        Chebyshev series.  No digits are lost where the coefficients fall faster than 2.4^-k, as
        those of a resolved panel of degree up to 17 do.
        """
        rows = np.atleast_2d(np.asarray(coefficients, dtype=float))
        out = rows @ powers_of_chebyshev(rows.shape[1])
        return cls(edges, out, kinds, exponents)


@cache
def powers_of_chebyshev(count: int) -> FloatArray:
    """Monomial coefficients of T_0, ..., T_(count-1), one to a row; they are integers."""
    out = np.eye(count)
    for n in range(2, count):
        out[n, 0] = 0.0
        out[n, 1:] = 2.0 * out[n - 1, :-1]
        out[n] -= out[n - 2]
    return out


def local_share(kind: NDArray[np.int8], exponent: FloatArray, place: FloatArray) -> FloatArray:
    """Share x = (c - c0)/(c1 - c0) at the place (1 + t)/2, for rows of panels: shape (n, m)."""
    kinds, e = kind[:, None], exponent[:, None]
    x = np.where(kinds == PanelKind.POWER_LOW, place**e, place)
    x = np.where(kinds == PanelKind.POWER_HIGH, 1.0 - (1.0 - place) ** e, x)
    return np.asarray(np.where(kinds == PanelKind.SINE, sine_share(place), x))


def sine_share(place: FloatArray) -> FloatArray:
    """Share of a half wave of a sine before the place (1 + t)/2."""
    return np.asarray(np.sin(0.5 * np.pi * place) ** 2)


def local_variable(
    kind: NDArray[np.int8], exponent: FloatArray, x: FloatArray, rest: FloatArray
) -> FloatArray:
    """Local variable t at the share x, with ``rest`` = 1 - x; all arrays have one shape."""
    t = 2.0 * _place_from_low_end(kind, exponent, x) - 1.0
    high = kind == PanelKind.POWER_HIGH
    t[high] = 1.0 - 2.0 * rest[high] ** (1.0 / exponent[high])
    return t


def _place_from_low_end(kind: NDArray[np.int8], exponent: FloatArray, x: FloatArray) -> FloatArray:
    """(1 + t)/2 with its own digits near the lower end of a panel, for all kinds but POWER_HIGH."""
    place = x.copy()
    low, sine = kind == PanelKind.POWER_LOW, kind == PanelKind.SINE
    place[low] = x[low] ** (1.0 / exponent[low])
    place[sine] = (2.0 / np.pi) * np.arcsin(np.sqrt(x[sine]))
    return place

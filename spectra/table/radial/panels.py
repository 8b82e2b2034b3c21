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

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.arrays import FloatArray, IntArray, frozen_array, made_again
from spectra.errors import ParameterError

__all__ = ["PanelKind", "Panels", "local_share", "powers_of_chebyshev"]


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
        return np.stack([rows @ signs, rows.sum(axis=1)], axis=1)

    @property
    def are_atoms(self) -> NDArray[np.bool_]:
        """Which panels are atoms, shape (n,)."""
        moves = np.any(self.coefficients[:, 1:], axis=1)
        return np.asarray(~moves & (self.kinds != PanelKind.TAIL_POWER))

    def radii(self, c: FloatArray, *, from_above: bool = False) -> FloatArray:
        """Radii at probabilities c, shape (m,); the larger one where they jump at an edge.

        ``from_above`` says that c is q = 1 - u, with which radii fall.
        """
        i, x, r = self.locate(c, from_above=from_above)
        t, kinds = 2.0 * r - 1.0, self.kinds[i]
        t[kinds == PanelKind.POWER_HIGH] *= -1.0
        w = np.zeros(c.size)
        for column in self.coefficients.T[::-1]:
            w *= t
            w += column[i]
        power = kinds == PanelKind.TAIL_POWER
        # A radius beyond the range of doubles is infinite, which is what it is.
        with np.errstate(over="ignore", divide="ignore"):
            exponents = -1.0 / self.exponents[i[power]]
            w[power] = self.coefficients[i[power], 0] * x[power] ** exponents
        # A polynomial that starts at 0 may be below it by rounding.
        return np.maximum(w, 0.0)

    def locate(
        self, c: FloatArray, *, from_above: bool = False
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Panels of probabilities c, the shares x = (c - c0)/(c1 - c0) in them, and the places r.

        The place is (1 + t)/2, or (1 - t)/2 in a POWER_HIGH panel.
        """
        i = np.searchsorted(self.edges, c, side="left" if from_above else "right") - 1
        i = np.clip(i, 0, self.size - 1)
        low, high = self.edges[i], self.edges[i + 1]
        x, kinds, e = (c - low) / (high - low), self.kinds[i], self.exponents[i]
        r = x.copy()
        first, last = kinds == PanelKind.POWER_LOW, kinds == PanelKind.POWER_HIGH
        r[first] = x[first] ** (1.0 / e[first])
        r[last] = ((high - c) / (high - low))[last] ** (1.0 / e[last])
        sine = kinds == PanelKind.SINE
        r[sine] = (2.0 / np.pi) * np.arcsin(np.sqrt(x[sine]))
        return i, x, r

    def at_place(self, i: IntArray, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Radius w, dw/dr and dc/dr of panels i, shape (m,), at places r, shape (m, n).

        dc/dr is a power of r, or a half wave of a sine.  No panel is a TAIL_POWER.
        """
        kinds, e, rows = self.kinds[i][:, None], self.exponents[i][:, None], self.coefficients[i]
        sign = np.where(kinds == PanelKind.POWER_HIGH, -1.0, 1.0)
        t = sign * (2.0 * r - 1.0)
        w, slope = np.zeros((2, *t.shape))
        for j in range(rows.shape[1] - 1, -1, -1):
            slope = slope * t + w
            w = w * t + rows[:, j, None]
        is_power = (kinds == PanelKind.POWER_LOW) | (kinds == PanelKind.POWER_HIGH)
        with np.errstate(divide="ignore"):
            density = np.where(is_power, e * r ** (e - 1.0), 1.0)
        sine = self.kinds[i] == PanelKind.SINE
        density[sine] = 0.5 * np.pi * np.sin(np.pi * r[sine])
        return w, 2.0 * sign * slope, np.diff(self.edges)[i][:, None] * density

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
    return np.asarray(np.where(kinds == PanelKind.SINE, np.sin(0.5 * np.pi * place) ** 2, x))

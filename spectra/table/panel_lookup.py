"""A panel is found by its key and evaluated there: the inverse CDF of a law in doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from spectra.table.arrays import FloatArray, IntArray
from spectra.table.panels import PanelKind, Panels

__all__ = ["PanelLookup"]

# Shares of the first panel, from radius 0 on, below which its radius is a product with the share
# (chosen): where that product is as exact as the sum of powers, which the proofs bound.
_BESIDE_ORIGIN = 2.0**-8
# A panel that starts at 0 does so up to the rounding of its coefficients: to 1 unit of their sum in
# all tables that were looked at.
_ROUNDED_ZERO = 2.0 * float(np.finfo(float).eps)


@final
@dataclass(frozen=True, eq=False)
class PanelLookup:
    """The panels of both sides in one list sorted by key, u on the left and -q on the right.

    Attributes
    ----------
    edges : ndarray of shape (n + 1,)
        Ascending keys between the panels.
    near, far : ndarray of shape (n,)
        The keys at which the share of a panel is 0 and 1.
    columns : ndarray of shape (degree + 1, n)
        Monomial coefficients, lowest power first.
    kinds, exponents, special : ndarray of shape (n,)
        As in :class:`~spectra.table.panels.Panels`; which panels are not LINEAR.
    first : int
        Number of the first panel on the left.
    slope : ndarray or None
        P(t)/(1 + t) for the polynomial P of that panel where the radius starts at 0.
    """

    edges: FloatArray
    near: FloatArray
    far: FloatArray
    columns: FloatArray
    kinds: NDArray[np.int8]
    exponents: FloatArray
    special: NDArray[np.bool_]
    first: int
    slope: FloatArray | None

    @classmethod
    def of(cls, left: Panels, right: Panels, *, gap: bool) -> Self:
        """The lookup of two sides, with a panel of zeros between them where there is a gap."""
        width = max(left.coefficients.shape[1], right.coefficients.shape[1])
        between = int(gap)
        rows = np.concatenate(
            [
                right.rows(width)[::-1],
                np.zeros((between, width)),
                left.rows(width),
            ]
        )
        kinds = np.concatenate([right.kinds[::-1], np.zeros(between, np.int8), left.kinds])
        exponents = np.concatenate([right.exponents[::-1], np.ones(between), left.exponents])
        edges = np.concatenate([-right.edges[::-1], np.zeros(between), left.edges[1:]])
        near = np.concatenate([-right.edges[:-1][::-1], np.zeros(between), left.edges[:-1]])
        far = np.concatenate([-right.edges[1:][::-1], np.ones(between), left.edges[1:]])
        return cls(
            edges=edges,
            near=near,
            far=far,
            columns=np.ascontiguousarray(rows.T),
            kinds=kinds,
            exponents=exponents,
            special=kinds != PanelKind.LINEAR,
            first=right.size + between,
            slope=_without_origin(left),
        )

    def evaluate(self, key: FloatArray, out: FloatArray) -> None:
        """Radii at the keys of one block, written into ``out``."""
        index = np.searchsorted(self.edges, key, side="right") - 1
        np.minimum(index, self.kinds.size - 1, out=index)
        any_special = bool(self.special.any())
        if self.columns.shape[0] == 1 and not any_special:
            np.take(self.columns[0], index, out=out, mode="clip")
            return
        near = self.near[index]
        t = key - near
        t /= self.far[index] - near
        t *= 2.0
        t -= 1.0
        tail_power = None
        if any_special:
            special = np.flatnonzero(self.special[index])
            kind = self.kinds[index[special]]
            for name in (PanelKind.POWER_LOW, PanelKind.POWER_HIGH, PanelKind.LOBE):
                chosen = special[kind == name]
                if chosen.size:
                    t[chosen] = self._warp(name, key[chosen], index[chosen])
            tail_power = special[kind == PanelKind.TAIL_POWER]
        buffer = np.empty_like(t)
        np.take(self.columns[-1], index, out=out, mode="clip")
        for column in self.columns[-2::-1]:
            out *= t
            out += np.take(column, index, out=buffer, mode="clip")
        if tail_power is not None and tail_power.size:
            i = index[tail_power]
            x = (key[tail_power] - self.near[i]) / (self.far[i] - self.near[i])
            # A radius beyond the range of doubles is infinite, which is what it is.
            with np.errstate(over="ignore"):
                out[tail_power] = self.columns[0][i] * x ** (-1.0 / self.exponents[i])
        if self.slope is not None:
            self._beside_origin(key, index, out)

    def _beside_origin(self, key: FloatArray, index: IntArray, out: FloatArray) -> None:
        """Radii near 0, to their own digits: the sum of the powers of t only has those of 1."""
        assert self.slope is not None
        places = np.flatnonzero(index == self.first)
        x = (key[places] - self.near[self.first]) / (self.far[self.first] - self.near[self.first])
        kind, exponent = self.kinds[self.first], self.exponents[self.first]
        share = 2.0 / np.pi * np.arcsin(np.sqrt(x)) if kind == PanelKind.LOBE else x
        if kind == PanelKind.POWER_LOW:
            share = x ** (1.0 / exponent)
        near = share < _BESIDE_ORIGIN
        share = share[near]
        out[places[near]] = 2.0 * share * polynomial.polyval(2.0 * share - 1.0, self.slope)

    def _warp(self, kind: PanelKind, key: FloatArray, i: IntArray) -> FloatArray:
        near, far = self.near[i], self.far[i]
        if kind == PanelKind.POWER_HIGH:
            y = (far - key) / (far - near)
            return np.asarray(1.0 - 2.0 * y ** (1.0 / self.exponents[i]))
        x = (key - near) / (far - near)
        if kind == PanelKind.POWER_LOW:
            return np.asarray(2.0 * x ** (1.0 / self.exponents[i]) - 1.0)
        return np.asarray((4.0 / np.pi) * np.arcsin(np.sqrt(x)) - 1.0)


def _without_origin(left: Panels) -> FloatArray | None:
    """P(t)/(1 + t) on the first panel, where the radius P starts at 0 up to rounding."""
    if not left.size or left.kinds[0] == PanelKind.POWER_HIGH or left.edges[0] != 0.0:
        return None
    row = left.coefficients[0]
    start = math.fsum(row[::2]) - math.fsum(row[1::2])
    if row.size == 1 or abs(start) > _ROUNDED_ZERO * math.fsum(np.abs(row)):
        return None
    quotient = np.zeros(row.size - 1)
    quotient[-1] = row[-1]
    for k in range(row.size - 2, 0, -1):
        quotient[k - 1] = row[k] - quotient[k]
    return quotient

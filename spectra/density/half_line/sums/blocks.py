"""Sums at equal steps of log w, all of a block by one product of polynomials."""

from __future__ import annotations

from dataclasses import dataclass

import flint

from spectra.base.precision import Ball
from spectra.density.continuation.ray import Ray
from spectra.density.half_line.sums.products import correlated

__all__ = ["MARGIN", "Block", "over_block"]

#: Values on either side of a place that interpolation asks for.
MARGIN = 20

# Products take as long as so many terms one by one.
_FEW = 1000.0


@dataclass(frozen=True)
class Block:
    """Radii at equal steps of log w: exp(start + j * 2^-spacing)."""

    start: float
    spacing: int
    count: int

    @classmethod
    def over(cls, low: float, width: float, spacing: int) -> Block:
        """From ``low`` on, with the neighbours that interpolation asks for."""
        h = 2.0**-spacing
        return cls(low - (MARGIN - 1) * h, spacing, int(width / h) + 2 * MARGIN)

    def between(self) -> Block:
        """The places half-way between these."""
        return Block(self.start + 0.5 * 2.0**-self.spacing, self.spacing, self.count - 1)

    def halved(self) -> Block:
        """These and the places between, with as many neighbours."""
        h = 0.5 * 2.0**-self.spacing
        count = 2 * self.count - 1 - (2 * MARGIN - 1)
        return Block(self.start + (MARGIN - 1) * h, self.spacing + 1, count)

    @property
    def places(self) -> list[float]:
        """Every log w."""
        return [self.start + j * 2.0**-self.spacing for j in range(self.count)]

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last log w."""
        return self.start, self.start + (self.count - 1) * 2.0**-self.spacing


def over_block(ray: Ray, s: list[float], block: Block, waves: Ray) -> list[Ball]:
    """Re sum_n k(s_n) G(x_j + s_n) at all x_j, each by itself or all by products."""
    h, spacing = s[1] - s[0], 2.0**-block.spacing
    if block.count * len(s) < _FEW * (max(h, spacing) / min(h, spacing)):
        return _one_by_one(ray, s, block, waves)
    return _by_products(ray, s, block, waves)


def _one_by_one(ray: Ray, s: list[float], block: Block, waves: Ray) -> list[Ball]:
    kernel = [ray(t) for t in s]
    rows = [[waves(x + t) for t in s] for x in block.places]
    found = _product([[g.real for g in row] for row in rows], [k.real for k in kernel])
    if waves.angle:
        turned = _product([[g.imag for g in row] for row in rows], [k.imag for k in kernel])
        found = [a - b for a, b in zip(found, turned, strict=True)]
    return found


def _product(rows: list[list[Ball]], column: list[Ball]) -> list[Ball]:
    return list((flint.arb_mat(rows) * flint.arb_mat(len(column), 1, column)).entries())


def _by_products(ray: Ray, s: list[float], block: Block, waves: Ray) -> list[Ball]:
    """By products of polynomials at the wider of both steps."""
    h, spacing = s[1] - s[0], 2.0**-block.spacing
    found = [flint.arb(0)] * block.count
    wide = max(h, spacing)
    for i in range(round(wide / h)):
        kernel = [ray.parts(x) for x in s[i :: round(wide / h)]]
        for j in range(min(round(wide / spacing), block.count)):
            places = range(j, block.count, round(wide / spacing))
            start = block.start + j * spacing + s[i]
            wave = [waves.parts(start + n * wide) for n in range(len(kernel) + len(places) - 1)]
            sums = correlated([k[0] for k in kernel], [g[0] for g in wave], waves.bits)
            if waves.angle:
                turned = correlated([k[1] for k in kernel], [g[1] for g in wave], waves.bits)
                sums = [a - b for a, b in zip(sums, turned, strict=True)]
            for place, value in zip(places, sums, strict=True):
                found[place] += value
    return found

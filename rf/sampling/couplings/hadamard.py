"""Rows of H D H D H D: blocks that cost p log p, and are nearly uniform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from rf.feature_maps.walsh import walsh_transform
from rf.sampling.cosines import GROUPS, CosineLaw, CosineNodes
from rf.sampling.coupling import Coupling, Drawn, Pairs, Request, UnitBlock
from rf.sampling.directions import checked_draws, first_or_all, unit_rows
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = [
    "Hadamard",
    "RowsOfABlock",
    "RowsOfTwoBlocks",
    "hadamard",
    "hadamard_blocks",
    "hadamard_order",
]

# Blocks of at most this order are enumerated over all their signs: 4096 of them.
_ENUMERATED = 4
# The cosines of larger ones are sampled, from a fixed seed so that a variance is a function of its
# arguments.
_SEED = 20_170_113
_PAIRS = 40_000
_ROWS = 128


def hadamard(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    r"""Independent blocks of rows of H D1 H D2 H D3, H Hadamard and D diagonal random signs.

    The order p of H is the least power of two that is at least ``dim``; where p > dim the rows
    are cut to ``dim`` columns (as if the data were padded with zeros) and divided by their norms.
    A product of a block with a vector costs p log p in place of p^2.

    The rows are **not** exactly uniform: they take finitely many values, and E cos(w . D) depends
    on the axis of D (its mean over all axes is right).  The bias at the phase |w||D| = 2 sqrt(d),
    where a Gaussian kernel is 0.14, with D along a coordinate axis: 0.22 at d = 2, 0.32 at 3
    (whose rows are the 8 corners of a cube: 0.38 at the phase 3.65, 1.09 at 10.9), 0.13 at 4, 0.06
    at 5, 0.031 at 8, 0.005 at 16, below 0.002 at 32 and more.  In dimension 1 the rows are
    exact.  Take another coupling where d is below about 16.

    Parameters and errors as :func:`rf.sampling.directions.iid`.

    References
    ----------
    Yu et al., "Orthogonal random features", NeurIPS 2016, section 4 (SORF).

    Examples
    --------
    >>> rows = hadamard(4, 4, np.random.default_rng(0))
    >>> bool(np.allclose(rows @ rows.T, np.eye(4)))
    True
    """
    count = checked_draws(n, dim, draws)
    blocks = hadamard_blocks(dim, count * -(-n // hadamard_order(dim)), rng)
    return first_or_all(np.ascontiguousarray(blocks.reshape(count, -1, dim)[:, :n]), draws)


def hadamard_order(dim: int) -> int:
    """The power of two to which rows are padded before a Hadamard transform."""
    return 1 << (dim - 1).bit_length()


def hadamard_blocks(
    dim: int, count: int | None = None, rng: np.random.Generator | None = None
) -> FloatArray:
    """Blocks of unit rows that :func:`hadamard` is made of, shape (count, order, dim).

    Without a count all blocks are given, each of the same probability: 8^order of them before
    those without a direction are left out, so that an order above 4 is refused.

    Examples
    --------
    >>> hadamard_blocks(3, 2, np.random.default_rng(0)).shape
    (2, 4, 3)
    """
    order = hadamard_order(dim)
    if count is None:
        if order > _ENUMERATED:
            raise ParameterError(
                f"There are 8**{order} blocks of order {order}, too many to enumerate. Give a "
                "count and a generator."
            )
        bits = np.arange(8**order)[:, None] >> np.arange(3 * order) & 1
        signs = (2.0 * bits - 1.0).reshape(-1, 3, order).swapaxes(0, 1)
        rows = _walsh_blocks(np.asarray(signs), dim)
        return unit_rows(rows[np.any(rows, axis=2).all(axis=1)])
    return unit_rows(_signed_blocks(dim, count, np.random.default_rng(rng))[1])


def _signed_blocks(dim: int, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Signs (3, count, order) and rows (count, order, dim), which are whole numbers."""
    order = hadamard_order(dim)
    signs = _signs(count, order, rng)
    rows = _walsh_blocks(signs, dim)
    # A row of a small block can lie wholly in the columns that are cut, and have no direction.
    while (lost := ~np.any(rows, axis=2).all(axis=1)).any():
        signs[:, lost] = _signs(int(lost.sum()), order, rng)
        rows[lost] = _walsh_blocks(signs[:, lost], dim)
    return signs, rows


@final
@dataclass(frozen=True)
class RowsOfABlock(CosineLaw):
    """The cosine of two of the first rows of a block; 0, unless the block is padded."""

    rows: int

    def nodes(self, dim: int, degree: int) -> CosineNodes:
        """Enumerated, or sampled."""
        return _hadamard_within(dim, self.rows)


@final
@dataclass(frozen=True)
class RowsOfTwoBlocks(CosineLaw):
    """The cosine of rows of two blocks, which are independent but not quite uniform."""

    def nodes(self, dim: int, degree: int) -> CosineNodes:
        """Enumerated, or sampled."""
        return _hadamard_across(dim)


@final
class Hadamard(Coupling):
    """Blocks of rows of H D H D H D, which are not quite uniform; see :func:`hadamard`."""

    name: ClassVar[str] = "hadamard"
    uniform: ClassVar[bool] = False
    across_parts: ClassVar[bool] = True
    directions = staticmethod(hadamard)

    def draw_with_blocks(self, asked: Request) -> tuple[Drawn, list[list[list[UnitBlock]]]]:
        """The same draw, with the diagonals of every block."""
        drawn: Drawn = []
        blocks = []
        dim, draws = asked.dim, asked.draws
        for n in asked.counts:
            u = asked.own_radii(n)
            each = -(-n // hadamard_order(dim))
            signs, rows = _signed_blocks(dim, checked_draws(n, dim, draws) * each, asked.rng)
            lengths = np.linalg.norm(rows, axis=2)
            drawn.append((u, unit_rows(rows).reshape(draws, -1, dim)[:, :n]))
            pairs = list(zip(signs.swapaxes(0, 1), lengths, strict=True))
            blocks.append([pairs[i : i + each] for i in range(0, len(pairs), each)])
        return drawn, blocks

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """All pairs: those of a block, and those of two, whose laws are not uniform either."""
        order = hadamard_order(dim)
        full, rest = divmod(n, order)
        whole, cut = full * order * (order - 1), rest * (rest - 1)
        return (
            Pairs(RowsOfABlock(order), whole),
            Pairs(RowsOfABlock(rest), cut),
            Pairs(RowsOfTwoBlocks(), n * (n - 1) - whole - cut),
        )

    def across(self, n: int, m: int, dim: int, total: int) -> Sequence[Pairs]:
        """All pairs."""
        return (Pairs(RowsOfTwoBlocks(), n * m),)


@lru_cache(maxsize=16)
def _hadamard_within(dim: int, rows: int) -> CosineNodes:
    order = hadamard_order(dim)
    if order == dim:
        return CosineNodes.of(np.zeros(1), np.ones(1))
    pairs = np.triu_indices(rows, 1)

    def cosines(blocks: FloatArray) -> FloatArray:
        products = blocks[:, :rows] @ blocks[:, :rows].swapaxes(1, 2)
        # Two parallel rows have the cosine 1 up to rounding.
        return np.minimum(np.abs(products[:, *pairs]).ravel(), 1.0)

    if order <= _ENUMERATED:
        return CosineNodes.sampled([cosines(hadamard_blocks(dim))])
    rng = np.random.default_rng(_SEED)
    count = -(-_PAIRS // (GROUPS * len(pairs[0])))
    return CosineNodes.sampled([cosines(hadamard_blocks(dim, count, rng)) for _ in range(GROUPS)])


@lru_cache(maxsize=16)
def _hadamard_across(dim: int) -> CosineNodes:
    if hadamard_order(dim) <= _ENUMERATED:
        rows, counts = np.unique(hadamard_blocks(dim)[:, 0].round(12), axis=0, return_counts=True)
        share = counts / counts.sum()
        cosines = np.minimum(np.abs(rows @ rows.T), 1.0).ravel()
        return CosineNodes.of(cosines, np.outer(share, share).ravel())
    rng = np.random.default_rng(_SEED)
    count = -(-_ROWS // hadamard_order(dim))
    groups = []
    for _ in range(GROUPS):
        # Every row of a block has the same law; rows of different blocks are independent.
        one, two = (hadamard_blocks(dim, count, rng).reshape(-1, dim)[:_ROWS] for _ in range(2))
        groups.append(np.minimum(np.abs(one @ two.T), 1.0).ravel())
    return CosineNodes.sampled(groups)


def _signs(count: int, order: int, rng: np.random.Generator) -> FloatArray:
    return rng.choice(np.array([-1.0, 1.0]), size=(3, count, order))


def _walsh_blocks(signs: FloatArray, dim: int) -> FloatArray:
    """First ``dim`` columns of H D H D H D, exact whole numbers; signs (3, count, order)."""
    _, count, order = signs.shape
    rows = np.zeros((count, order, dim))
    rows[:, np.arange(dim), np.arange(dim)] = signs[0, :, :dim]
    return _walsh(signs[2, :, :, None] * _walsh(signs[1, :, :, None] * _walsh(rows)))


def _walsh(a: FloatArray) -> FloatArray:
    """Walsh-Hadamard transform along axis 1, whose length is a power of two, not normalised."""
    blocks, order, columns = a.shape
    side_by_side = a.swapaxes(0, 1).reshape(order, -1)
    return walsh_transform(side_by_side).reshape(order, blocks, columns).swapaxes(0, 1)

"""Directions that all parts share, with radii of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from rf.sampling.cosines import Fixed
from rf.sampling.coupling import Coupling, Drawn, Pairs, Request, pairs_in_blocks
from rf.sampling.directions import orthogonal

__all__ = ["Shared"]


@final
class Shared(Coupling):
    """Every part takes the first rows of the same orthonormal blocks, with radii of its own.

    Parts of opposite sign then cancel what their waves have in common along a direction.
    """

    name: ClassVar[str] = "shared"
    across_parts: ClassVar[bool] = True
    considered: ClassVar[bool] = True
    directions = staticmethod(orthogonal)

    def draw(self, asked: Request) -> Drawn:
        """The rows of the largest part serve all."""
        rows = self.directions(max(asked.counts), asked.dim, asked.rng, draws=asked.draws)
        return [(asked.own_radii(n), rows[:, :n]) for n in asked.counts]

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """The pairs within a block."""
        return (Pairs(Fixed(0.0), pairs_in_blocks(n, dim)),)

    def across(self, n: int, m: int, dim: int, total: int) -> Sequence[Pairs]:
        """One direction twice, and the pairs within a block; the last one may go on beyond n."""
        full, rest = divmod(n, dim)
        in_blocks = full * dim**2 + rest * min(dim, m - full * dim)
        return Pairs(Fixed(1.0), n), Pairs(Fixed(0.0), in_blocks - n)

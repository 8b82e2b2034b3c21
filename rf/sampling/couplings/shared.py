"""Directions that all parts share, with radii of their own or at the same quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from rf.sampling.cosines import Fixed
from rf.sampling.coupling import Coupling, Drawn, Pairs, Request, pairs_in_blocks
from rf.sampling.directions import orthogonal

__all__ = ["Comonotone", "Shared"]


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
        near = pairs_in_blocks(n, dim)
        full, rest = divmod(n, dim)
        far = full * dim**2 + rest * min(dim, m - full * dim) - n - near
        return (
            Pairs(Fixed(1.0), n, one_key=self.one_key),
            Pairs(Fixed(0.0), near),
            Pairs(Fixed(0.0), far, far=True),
        )


@final
class Comonotone(Shared):
    """Shared directions, and radii at the same u of the inverse CDFs of all parts.

    Strata of unequal numbers keep less of what common keys give than independent radii do, so
    that the split of "shared" parts can be the better one.
    """

    name: ClassVar[str] = "comonotone"
    one_key: ClassVar[bool] = True
    splits: ClassVar[tuple[str, ...]] = ("comonotone", "shared")

    def draw(self, asked: Request) -> Drawn:
        """The rows and keys of the largest part serve all."""
        rng, size = asked.rng, (asked.draws, max(asked.counts))
        rows = self.directions(size[1], asked.dim, rng, draws=asked.draws)
        keys, offsets = rng.random(size), rng.random(size)
        return [(asked.radii(keys[:, :n], offsets[:, :n]), rows[:, :n]) for n in asked.counts]

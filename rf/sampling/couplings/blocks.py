"""Independent directions, orthonormal blocks of them, and blocks that all parts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from rf.sampling.cosines import Fixed
from rf.sampling.coupling import Coupling, Drawn, Pairs, Request, pairs_in_blocks
from rf.sampling.directions import iid, orthogonal

__all__ = ["Independent", "Orthogonal", "Shared"]


@final
class Independent(Coupling):
    """Independent frequencies: plain Monte Carlo (Rahimi, Recht, NeurIPS 2007)."""

    name: ClassVar[str] = "iid"
    considered: ClassVar[bool] = True
    directions = staticmethod(iid)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """None."""
        return ()


class _Blocks(Coupling):
    considered: ClassVar[bool] = True
    directions = staticmethod(orthogonal)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """The pairs within a block."""
        return (Pairs(Fixed(0.0), pairs_in_blocks(n, dim)),)


@final
class Orthogonal(_Blocks):
    """Blocks of d orthonormal directions (Yu et al., NeurIPS 2016); parts are independent."""

    name: ClassVar[str] = "orthogonal"


@final
class Shared(_Blocks):
    """Every part uses the first rows of the same orthonormal blocks, with independent radii.

    Along a common direction, the errors of parts of opposite sign partly cancel.
    """

    name: ClassVar[str] = "shared"
    across_parts: ClassVar[bool] = True

    def draw(self, asked: Request) -> Drawn:
        """Draw directions for the largest part; the others use the first of them."""
        rows = self.directions(max(asked.counts), asked.dim, asked.rng, draws=asked.draws)
        return [(asked.own_radii(n), rows[:, :n]) for n in asked.counts]

    def across(self, n: int, m: int, dim: int, total: int) -> Sequence[Pairs]:
        """Equal directions, and the pairs within a block; the last block may extend beyond n."""
        full, rest = divmod(n, dim)
        in_blocks = full * dim**2 + rest * min(dim, m - full * dim)
        return Pairs(Fixed(1.0), n), Pairs(Fixed(0.0), in_blocks - n)

"""Orthonormal blocks of directions; parts are independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from rf.sampling.cosines import Fixed
from rf.sampling.coupling import Coupling, Pairs, pairs_in_blocks
from rf.sampling.directions import orthogonal

__all__ = ["Orthogonal"]


@final
class Orthogonal(Coupling):
    """Blocks of d orthonormal directions (Yu et al., NeurIPS 2016)."""

    name: ClassVar[str] = "orthogonal"
    considered: ClassVar[bool] = True
    directions = staticmethod(orthogonal)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """The pairs within a block."""
        return (Pairs(Fixed(0.0), pairs_in_blocks(n, dim)),)

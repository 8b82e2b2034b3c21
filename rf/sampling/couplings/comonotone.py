"""Directions and keys of the radii that all parts share."""

from __future__ import annotations

from typing import ClassVar, final

from rf.sampling.couplings.coupling import Drawn, Request
from rf.sampling.couplings.shared import Shared

__all__ = ["Comonotone"]


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

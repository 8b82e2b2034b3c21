"""Directions and keys of the radii that all parts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np

from rf.couplings.coupling import Drawn
from rf.couplings.shared import Shared
from rf.radii import RadiusRule

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

    def draw(
        self,
        counts: Sequence[int],
        dim: int,
        draws: int,
        radii: RadiusRule,
        rng: np.random.Generator,
    ) -> Drawn:
        """The rows and keys of the largest part serve all."""
        most = max(counts)
        rows = self.directions(most, dim, rng, draws=draws)
        keys, offsets = rng.random((draws, most)), rng.random((draws, most))
        return [(radii(keys[:, :n], offsets[:, :n]), rows[:, :n]) for n in counts]

"""Directions made to order: sets of least energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from rf.sampling.cosines import CosineLaw, CosineNodes
from rf.sampling.coupling import Coupling, Pairs
from rf.sampling.designed_directions import (
    coupled_sizes,
    coupling_gains,
    designed,
    designed_cosines,
)
from rf.sampling.directions import checked_draws, first_or_all

__all__ = ["Designed", "SetsOf"]


@final
@dataclass(frozen=True)
class SetsOf(CosineLaw):
    """The cosine of two directions of a set, for the sets that n directions are made of."""

    n: int

    def nodes(self, dim: int, degree: int) -> CosineNodes:
        """All pairs."""
        return CosineNodes.of(*designed_cosines(self.n, dim))


@final
class Designed(Coupling):
    """Sets of least pairwise energy, each turned by one random rotation; each part has its own.

    The first set of a size costs a minimisation, a third of a second, and more where d is above
    70; n directions beyond that size are independent sets.
    """

    name: ClassVar[str] = "designed"
    considered: ClassVar[bool] = True
    # Its sets are too dear to be made for every split.
    splits: ClassVar[tuple[str, ...]] = ("orthogonal",)

    def directions(
        self, n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
    ) -> NDArray[np.float64]:
        """See :func:`rf.sampling.designed_directions.designed`."""
        count = checked_draws(n, dim, draws)
        rows = designed(n, dim, rng, sizes=coupled_sizes(n, dim), draws=count)
        return first_or_all(rows, draws)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """The pairs within a set."""
        return (Pairs(SetsOf(n), sum(k * (k - 1) for k in coupled_sizes(n, dim))),)

    def gains(self, n: int, dim: int) -> bool:
        """See :func:`rf.sampling.designed_directions.coupling_gains`."""
        return coupling_gains(n, dim)

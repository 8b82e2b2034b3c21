"""Designed directions: sets of least energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from rf.sampling.cosines import CosineLaw
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
    """The cosine of two directions of one set, where n directions consist of such sets."""

    n: int

    def nodes(self, dim: int, degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All pairs."""
        return designed_cosines(self.n, dim)


@final
class Designed(Coupling):
    """Sets of least pairwise energy, each under a random rotation; parts are independent.

    The first set of a size costs a minimisation: a third of a second, and more if d exceeds 70.
    More directions than one set holds are several independent sets.
    """

    name: ClassVar[str] = "designed"
    considered: ClassVar[bool] = True
    # A set for every possible split would take seconds to find.
    split_of: ClassVar[str] = "orthogonal"

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

"""The interface of a coupling: how directions are drawn, and which pairs are dependent.

A table is a sum of parts, and part p gets n_p frequencies w = R s.  Each frequency alone has the
exact distribution of its part; a coupling sets their joint distribution.  For the variance it is
enough to know a list of :class:`Pairs`: how many pairs of frequencies, within a part or of two
parts, have directions with a given distribution of the cosine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from rf.sampling.cosines import CosineLaw
from rf.sampling.radii import RadiusRule
from spectra.base.arrays import FloatArray

__all__ = [
    "Coupling",
    "Drawn",
    "Pairs",
    "Request",
    "dependent_pairs",
    "pairs_across",
    "pairs_in_blocks",
    "pairs_within",
]

#: Probabilities u of the radii, shape (draws, n), and directions, shape (draws, n, d), by parts.
Drawn = list[tuple[FloatArray, FloatArray]]


@final
@dataclass(frozen=True)
class Pairs:
    """Pairs of frequencies with the same distribution of the cosine.

    ``cosine``: the distribution of |c| for their directions; ``count``: ordered pairs within a
    part; pairs (i, j) of two parts.
    """

    cosine: CosineLaw
    count: int


@final
@dataclass(frozen=True, eq=False)
class Request:
    """A request for frequencies.

    ``counts``: frequencies of each part; ``dim``, ``draws``: the dimension, and how many draws are
    made at once; ``radii``: how the probabilities of the radii are drawn.
    """

    counts: Sequence[int]
    dim: int
    draws: int
    radii: RadiusRule
    rng: np.random.Generator

    def own_radii(self, n: int) -> FloatArray:
        """Probabilities of n radii, independent of all other parts, shape (draws, n)."""
        return self.radii(self.rng.random((self.draws, n)), self.rng.random((self.draws, n)))


class Coupling(ABC):
    """One coupling: how it draws, which pairs it makes dependent, and whether "auto" considers it.

    ``across_parts``: whether it couples frequencies of different parts; ``considered``: whether
    "auto" compares it, if it :meth:`gains`; ``split_of``: a coupling whose optimal split over the
    parts is used instead of its own, if not empty.
    """

    name: ClassVar[str]
    across_parts: ClassVar[bool] = False
    considered: ClassVar[bool] = False
    split_of: ClassVar[str] = ""

    @abstractmethod
    def directions(
        self, n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
    ) -> FloatArray:
        """Unit rows of one part, shape (n, dim), or (draws, n, dim) for many draws at once."""

    @abstractmethod
    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """The dependent pairs among the n frequencies of one part, out of ``total`` in all."""

    def across(self, n: int, m: int, dim: int, total: int) -> Sequence[Pairs]:
        """The dependent pairs of two parts with n <= m frequencies."""
        return ()

    def gains(self, n: int, dim: int) -> bool:
        """Whether it can beat simpler couplings for n frequencies, at a similar cost.

        If False for n, it is False for fewer.
        """
        return True

    def draw(self, asked: Request) -> Drawn:
        """Probabilities of the radii, and directions, of every part; parts are independent."""
        dim, draws, rng = asked.dim, asked.draws, asked.rng
        return [
            (asked.own_radii(n), self.directions(n, dim, rng, draws=draws)) for n in asked.counts
        ]


def dependent_pairs(
    coupling: Coupling, counts: Sequence[int], dim: int
) -> list[tuple[int, int, Pairs]]:
    """All pairs that are not independent, with their parts: (p, p) ordered, p < q unordered."""
    total, parts = sum(counts), range(len(counts))
    found = [(p, p, pair) for p in parts for pair in pairs_within(coupling, counts[p], dim, total)]
    return found + [
        (p, q, pair)
        for p in parts
        for q in parts[p + 1 :]
        for pair in pairs_across(coupling, counts[p], counts[q], dim, total)
    ]


@lru_cache(maxsize=8192)
def pairs_within(coupling: Coupling, n: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of one part; in dimension 1 a cosine ignores the sign of a direction."""
    pairs = coupling.within(n, dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


@lru_cache(maxsize=8192)
def pairs_across(coupling: Coupling, n: int, m: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of two parts, in either order of their sizes."""
    pairs = coupling.across(min(n, m), max(n, m), dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


def pairs_in_blocks(n: int, size: int) -> int:
    """Ordered pairs within blocks of n directions; the last block may be incomplete."""
    full, rest = divmod(n, size)
    return full * size * (size - 1) + rest * (rest - 1)

r"""What a coupling is: a draw of directions, and which pairs it makes dependent in what way.

A table is a sum of parts, and every part gets n_p frequencies w = R s.  Each frequency alone has
exactly the law of its part; a coupling says what they have to do with one another.  All that the
variance needs of it is a list of :class:`Pairs`: so many pairs of frequencies, within one part or
of two, whose directions have a cosine of this law.
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
    "UnitBlock",
    "dependent_pairs",
    "pairs_across",
    "pairs_in_blocks",
    "pairs_within",
]

#: The diagonals of a block of directions, and the lengths of its rows before they are unit rows.
UnitBlock = tuple[FloatArray, FloatArray]
#: Probabilities u of the radii, shape (draws, n), and directions, shape (draws, n, d), by parts.
Drawn = list[tuple[FloatArray, FloatArray]]


@final
@dataclass(frozen=True)
class Pairs:
    """Pairs of frequencies that are coupled in one way.

    Attributes
    ----------
    cosine : CosineLaw
        The law of |c| for their directions.
    count : int
        Ordered pairs within a part; pairs (i, j) of two parts.
    """

    cosine: CosineLaw
    count: int


@final
@dataclass(frozen=True, eq=False)
class Request:
    """What is to be drawn.

    Attributes
    ----------
    counts : sequence of int
        Frequencies of each part.
    dim, draws : int
        Their dimension, and how many draws are made at once.
    radii : RadiusRule
        How probabilities of radii are made of keys.
    rng : numpy.random.Generator
    """

    counts: Sequence[int]
    dim: int
    draws: int
    radii: RadiusRule
    rng: np.random.Generator

    def own_radii(self, n: int) -> FloatArray:
        """Probabilities of n radii that no other part shares, shape (draws, n)."""
        return self.radii(self.rng.random((self.draws, n)), self.rng.random((self.draws, n)))


class Coupling(ABC):
    """One coupling: how it draws, whom it couples, and what "auto" may do with it.

    A subclass names itself, draws directions and lists its pairs; whatever else differs from the
    defaults below, it says too.

    Attributes
    ----------
    name : str
    uniform : bool
        Whether every direction is exactly uniform, so that features are unbiased.
    known : bool
        Whether the variance has a closed form.
    considered : bool
        Whether "auto" compares it (where it :meth:`gains`).
    split_of : str
        The coupling whose optimal split over the parts serves this one; its own, if none is named.
    """

    name: ClassVar[str]
    uniform: ClassVar[bool] = True
    known: ClassVar[bool] = True
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
        """May it be better than simpler couplings for n frequencies, and as quickly drawn?

        Where it may not be for n, it may not be for fewer.
        """
        return True

    def draw(self, asked: Request) -> Drawn:
        """Probabilities of the radii, and directions, of every part: each part on its own."""
        dim, draws, rng = asked.dim, asked.draws, asked.rng
        return [
            (asked.own_radii(n), self.directions(n, dim, rng, draws=draws)) for n in asked.counts
        ]

    def draw_with_blocks(self, asked: Request) -> tuple[Drawn, list[list[list[UnitBlock]]]]:
        """What :meth:`draw` gives, and fast transforms of each part and draw; by default none."""
        return self.draw(asked), []


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
    """The dependent pairs of one part; in dimension 1 a cosine does not see its direction."""
    pairs = coupling.within(n, dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


@lru_cache(maxsize=8192)
def pairs_across(coupling: Coupling, n: int, m: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of two parts, whichever has more frequencies."""
    pairs = coupling.across(min(n, m), max(n, m), dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


def pairs_in_blocks(n: int, size: int) -> int:
    """Ordered pairs within the blocks that n directions fill, the last one perhaps partly."""
    full, rest = divmod(n, size)
    return full * size * (size - 1) + rest * (rest - 1)

"""Sampling of kernels of groups of columns: one distribution for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from rf.sampling.coupling import RADII, Radii
from rf.sampling.frequencies import COUPLINGS, Frequencies
from rf.schemes.scheme import TableScheme, check_within
from rf.variance.allocation import candidates
from rf.variance.grouped_variance import GroupedModel
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

__all__ = ["GroupedScheme", "draw_grouped"]

# With more parts than this "auto" does not compare couplings, each of which is integrated for each
# part, and takes orthogonal directions, whose variance is never far from the least.
_COMPARED_PARTS = 12


@final
@dataclass(frozen=True, eq=False)
class GroupedScheme(TableScheme):
    """Frequencies of a kernel of groups of columns: a coupling within each group."""

    table: SpectralTable
    method = "grouped"

    def check_coupling(self, coupling: str) -> None:
        check_within(coupling, f"{self.table.formula}, a kernel of groups of columns")

    def offered(self, n: int) -> tuple[str, ...]:
        return candidates(1, n) if len(self.table.parts) <= _COMPARED_PARTS else ("orthogonal",)

    def _frequencies(self, rng: np.random.Generator) -> Frequencies:
        return draw_grouped(
            self.table, self.counts, coupling=self.coupling, radii=self.radii, rng=rng
        )

    def model(self, points: FloatArray, *, approximate: bool = False) -> GroupedModel:
        return GroupedModel(self.table, points, approximate)


def draw_grouped(
    table: SpectralTable,
    counts: Sequence[int],
    *,
    coupling: str,
    radii: Radii,
    rng: np.random.Generator,
) -> Frequencies:
    """Draw frequencies of every part, each with exactly the law of its part.

    ``counts``: frequencies of each part; ``coupling``, ``radii``: as in
    :func:`rf.draw_frequencies`, within each group.
    """
    total = sum(counts)
    frequencies = np.zeros((total, table.dim))
    first = 0
    for part, n in zip(table.parts, counts, strict=True):
        rows = frequencies[first : first + n]
        for group in part.groups:
            dim = len(group.columns)
            drawn = COUPLINGS[coupling].draw([n], dim, rng, radii=RADII[radii])
            ((u, directions),) = drawn
            signs = rng.choice([-1.0, 1.0], size=n)
            of_group = (signs * group.law.ppf(u[0]))[:, None] * directions[0]
            group.place(rows, of_group[rng.permutation(n)])
        first += n
    weights = np.repeat([p.mass / n for p, n in zip(table.parts, counts, strict=True)], counts)
    phases = np.repeat([p.phase for p in table.parts], counts)
    return Frequencies(frequencies, weights, phases, np.repeat(np.arange(len(counts)), counts))

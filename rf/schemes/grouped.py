"""Draws of frequencies for kernels of groups of columns: one distribution for each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rf.sampling.frequencies import COUPLINGS, RADII, Frequencies, Radii
from spectra.table import SpectralTable

__all__ = ["draw_grouped"]


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

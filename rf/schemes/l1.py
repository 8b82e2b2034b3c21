r"""Sampling of kernels of the l1 distance: independent frequencies, and their exact variance.

The frequencies of a part are independent, so that with n_p of them

.. math:: \operatorname{Var} \hat k(D) = \sum_p \frac{m_p^2}{n_p}
          \Bigl[\frac{1 + \chi_p(2D)}{2} - \chi_p(D)^2\Bigr],

where :math:`\chi_p` is the characteristic function of the part (:mod:`spectra.table.l1_part`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from rf.sampling.coupling import Radii
from rf.sampling.frequencies import Frequencies
from rf.variance.variance import PartModel
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

__all__ = ["L1Model", "draw_l1"]

# A fixed seed, so that a scheme depends on the rows alone.
_SEED = 12
# Draws that estimate the mean waves of a part to about two percent.
_DRAWS = 4096


def draw_l1(table: SpectralTable, counts: Sequence[int], rng: np.random.Generator) -> Frequencies:
    """Draw independent frequencies of every part."""
    parts = list(zip(table.parts, counts, strict=True))
    return Frequencies(
        np.concatenate([p.draw(table.dim, n, rng) for p, n in parts]),
        np.repeat([p.mass / n for p, n in parts], counts),
        np.repeat([p.phase for p, _ in parts], counts),
        np.repeat(np.arange(len(parts)), counts),
    )


@final
@dataclass(frozen=True, eq=False)
class L1Model(PartModel):
    """The exact variance at differences D; an approximate one is estimated from some draws."""

    table: SpectralTable
    differences: FloatArray
    approximate: bool = False

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        return self._waves[0], 0.5 * (1.0 + self._waves[1])

    @cached_property
    def _waves(self) -> FloatArray:
        """E cos(w.D) and E cos(2 w.D) of each part, and their errors: (4, parts, n)."""
        D, rng = self.differences, np.random.default_rng(_SEED)
        waves = np.zeros((4, len(self.table.parts), len(D)))
        for p, part in enumerate(self.table.parts):
            if self.approximate:
                drawn = np.cos(part.draw(self.table.dim, _DRAWS, rng) @ D.T)
                waves[:2, p] = drawn.mean(axis=0), (2.0 * drawn**2 - 1.0).mean(axis=0)
            else:
                single, error = part.characteristic_function(D)
                double, double_error = part.characteristic_function(2.0 * D)
                waves[:, p] = single, double, error, double_error
        return waves

    @property
    def part_error(self) -> FloatArray:
        """Bound of the numerical error of the variance of one frequency of each part."""
        _, _, error, double_error = self._waves
        return np.asarray(self.masses[:, None] ** 2 * (0.5 * double_error + 2.0 * error + error**2))

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str = "iid", radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        shares = 1.0 / np.array(n_per_part)
        return shares @ self.part_variance, shares @ self.part_error

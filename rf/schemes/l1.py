r"""Kernels of the l1 distance: draws of independent frequencies, and their exact variance.

With n_p independent frequencies of part p, of mass m_p,

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
from rf.variance.variance import BaseVarianceModel
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

__all__ = ["L1Model", "draw_l1"]

# A fixed seed: the approximate variance is the same in every run.
_SEED = 12
# Draws that estimate the mean cosines of a part to about two percent.
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
class L1Model(BaseVarianceModel):
    """The variance at differences D: exact, or estimated from draws if ``approximate``."""

    table: SpectralTable
    differences: FloatArray
    approximate: bool = False

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        mean, mean_at_2d = self._mean_cosines[:2]
        return mean, 0.5 * (1.0 + mean_at_2d)

    @cached_property
    def _mean_cosines(self) -> FloatArray:
        """E cos(w.D), E cos(2 w.D), and bounds of their errors: (4, parts, differences)."""
        D, rng = self.differences, np.random.default_rng(_SEED)
        means = np.zeros((4, len(self.table.parts), len(D)))
        for p, part in enumerate(self.table.parts):
            if self.approximate:
                cosines = np.cos(part.draw(self.table.dim, _DRAWS, rng) @ D.T)
                means[:2, p] = cosines.mean(axis=0), (2.0 * cosines**2 - 1.0).mean(axis=0)
            else:
                mean, error = part.characteristic_function(D)
                mean_at_2d, error_at_2d = part.characteristic_function(2.0 * D)
                means[:, p] = mean, mean_at_2d, error, error_at_2d
        return means

    @property
    def part_error(self) -> FloatArray:
        """Bound of the numerical error of the variance of one frequency of each part."""
        _, _, error, error_at_2d = self._mean_cosines
        return np.asarray(self.masses[:, None] ** 2 * (0.5 * error_at_2d + 2.0 * error + error**2))

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str = "iid", radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        factors = 1.0 / np.array(n_per_part)
        return factors @ self.part_variance, factors @ self.part_error

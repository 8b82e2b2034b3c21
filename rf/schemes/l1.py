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
from rf.schemes.scheme import TableScheme
from rf.variance.variance import PartModel
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = ["L1Scheme"]

# Any seed will do: a scheme depends on the rows alone.
_SEED = 12
# Draws that stand for a part where two percent are enough.
_DRAWS = 4096


@final
@dataclass(frozen=True, eq=False)
class L1Scheme(TableScheme):
    """Independent frequencies of the parts of a kernel of the l1 distance."""

    table: SpectralTable
    method = "l1"
    default_coupling = "iid"

    def check_coupling(self, coupling: str) -> None:
        if coupling != "iid":
            raise ParameterError(
                f"coupling={coupling!r} was asked for {self.table.formula}, and the frequencies of "
                "a kernel of the l1 distance are not of uniform direction: they are drawn "
                "independently. Take coupling='auto' or 'iid'."
            )

    def offered(self, n: int) -> tuple[str, ...]:
        return ("iid",)

    def _frequencies(self, rng: np.random.Generator) -> Frequencies:
        parts, counts = self.table.parts, self.counts
        return Frequencies(
            np.concatenate(
                [p.draw(self.table.dim, n, rng) for p, n in zip(parts, counts, strict=True)]
            ),
            np.repeat([p.mass / n for p, n in zip(parts, counts, strict=True)], counts),
            np.repeat([p.phase for p in parts], counts),
            np.repeat(np.arange(len(parts)), counts),
        )

    def model(self, points: FloatArray, *, approximate: bool = False) -> L1Model:
        return L1Model(self.table, points, approximate)


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
                (single, lost), (double, also) = part.wave(D), part.wave(2.0 * D)
                waves[:, p] = single, double, lost, also
        return waves

    @property
    def part_error(self) -> FloatArray:
        """Bound of the numerical error of the variance of one frequency of each part."""
        _, _, lost, also = self._waves
        return np.asarray(self.masses[:, None] ** 2 * (0.5 * also + 2.0 * lost + lost**2))

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str = "iid", radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        each = 1.0 / np.array(n_per_part)
        return each @ self.part_variance, each @ self.part_error

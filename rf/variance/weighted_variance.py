r"""The variance of a radial measure whose draws are weighted: sums of shifted kernels.

A draw of a part :math:`m \sum_j c_j\, k(D + t_j e)` is :math:`m \sum_j c_j \cos(w \cdot v_j)` with
v_j = D + t_j e and w of the radial law, so that every coupling within the parts applies,
and its variance is that of :mod:`rf.variance.variance`, seen through v_j
(:mod:`rf.variance.radii.pair_covariances`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, final

import numpy as np

from rf.sampling.coupling import Coupling, Pairs, fixed_cosine
from rf.variance.radii.pair_covariances import PairCovariances, ShiftedDifferences
from rf.variance.variance import VarianceModel
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import Part, Shifts

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = ["WeightedModel"]


@final
@dataclass(frozen=True, eq=False)
class WeightedModel(VarianceModel):
    """All that the variance at differences D needs, for a table whose parts have shifts.

    ``differences`` (n, d); ``z`` (n,): their lengths.
    """

    differences: FloatArray = field(kw_only=True)

    @classmethod
    def of(
        cls, table: SpectralTable, differences: FloatArray, *, approximate: bool = False
    ) -> WeightedModel:
        """The model at differences D, shape (n, d)."""
        D = np.asarray(differences, dtype=float)
        return cls(table, np.linalg.norm(D, axis=1), approximate, differences=D)

    @cached_property
    def _shifts(self) -> list[Shifts]:
        """The shifts of every part; a radial one is moved by none."""
        dim = self.table.dim
        still = Shifts(np.eye(dim)[0], 1.0, np.zeros(1, dtype=np.intp), np.ones(1))
        return [part.shifts or still for part in self.table.parts]

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        squares = [
            self._square(shifts, partial(self._wave, number))
            for number, shifts in enumerate(self._shifts)
        ]
        return self._first_means, np.array(squares)

    @cached_property
    def _first_means(self) -> FloatArray:
        """E X = sum of c_j k~(|v_j|)."""
        return np.array([self._wave(n, p.lengths) @ p.weights for n, p in enumerate(self._points)])

    @property
    def kernel(self) -> FloatArray:
        """As for distances; without squares of waves, which need all pairs of shifts."""
        return np.asarray((self.signs * self.masses) @ self._first_means)

    def _wave(self, number: int, z: FloatArray) -> FloatArray:
        if self.approximate:
            return self._pairs.mean_waves(number, z)
        part: Part = self.table.parts[number]
        return part.plane_wave(self.table.dim, z)[0]

    def _square(self, shifts: Shifts, wave: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """E X^2: half the sum of c_j c_k [k~(|v_j + v_k|) + k~(|v_j - v_k|)]."""
        vectors = self.differences[:, None, :] + shifts.offsets
        products = np.multiply.outer(shifts.weights, shifts.weights)
        total = np.zeros(len(vectors))
        for sign in (1.0, -1.0):
            both = vectors[:, :, None, :] + sign * vectors[:, None, :, :]
            total += 0.5 * np.einsum("jk,mjk->m", products, wave(np.linalg.norm(both, axis=-1)))
        return total

    def _dependent(self, coupling: Coupling, counts: Sequence[int]) -> list[tuple[int, int, Pairs]]:
        pairs = super()._dependent(coupling, counts)
        if any(pair.cosine == fixed_cosine(1.0) for _, _, pair in pairs):
            raise ParameterError(
                f"The coupling {coupling.name!r} gives parts one direction, and what two waves "
                "along it have in common is known for radial kernels: these parts are shifted by "
                "vectors of their own. Take a coupling within each part."
            )
        return pairs

    @cached_property
    def _points(self) -> list[ShiftedDifferences]:
        return [
            ShiftedDifferences.through(self.differences, shifts.offsets, shifts.weights)
            for shifts in self._shifts
        ]

    @cached_property
    def _pairs(self) -> PairCovariances:
        return PairCovariances(
            self.table.dim, [part.law for part in self.table.parts], self._points
        )

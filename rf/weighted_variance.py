r"""The variance of a radial measure whose draws are weighted: sums of shifted kernels.

A draw of a part :math:`m \sum_j c_j\, k(D + t_j e)` is :math:`m \sum_j c_j \cos(w \cdot v_j)` with
v_j = D + t_j e and w of the radial law, so that every coupling within the parts serves it as it is,
and its variance is that of :mod:`rf.variance`, seen through v_j (:mod:`rf.probes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np
from numpy.typing import NDArray

from rf.cosines import Fixed
from rf.couplings import Coupling, Pairs
from rf.probes import Probe
from rf.radial_means import Waves
from rf.variance import VarianceModel
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from spectra.modulated import AsymmetricTable, AxialPart
    from spectra.table import SpectralTable

__all__ = ["WeightedModel"]

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class WeightedModel(VarianceModel):
    """All that the variance at differences D needs, for a table in the weighted decomposition.

    Attributes
    ----------
    table : AsymmetricTable
        Its parts are isotropic; what a part weighs and how its draws are shifted is in its
        modulation.
    differences : ndarray of shape (n, d)
    z : ndarray of shape (n,)
        Their lengths.
    """

    differences: FloatArray

    @classmethod
    def of(cls, table: AsymmetricTable, differences: FloatArray) -> WeightedModel:
        """The model at differences D, shape (n, d)."""
        D = np.asarray(differences, dtype=float)
        return cls(cast("SpectralTable", table), np.linalg.norm(D, axis=1), D)

    def __post_init__(self) -> None:
        """Nothing: the phases of a weighted part are those of its modulation."""

    @property
    def _parts(self) -> tuple[AxialPart, ...]:
        return cast("tuple[AxialPart, ...]", self.table.parts)

    @cached_property
    def signs(self) -> FloatArray:
        """The sign of each radial part."""
        return np.array([float(part.base.sign) for part in self._parts])

    @cached_property
    def masses(self) -> FloatArray:
        """The mass of each radial part."""
        return np.array([float(part.base.mass) for part in self._parts])

    @cached_property
    def bounds(self) -> FloatArray:
        """Bound of the wave of a part of mass 1: the sum of its |c_j|."""
        return np.array([part.modulation.bound for part in self._parts])

    @cached_property
    def _mean(self) -> FloatArray:
        """E X = sum of c_j k~(|v_j|), to the error of the law itself."""
        return np.array(
            [
                part.base.law.expected_plane_wave(self.table.dim, probe.lengths) @ probe.weights
                for part, probe in zip(self._parts, self._probes, strict=True)
            ]
        )

    @cached_property
    def part_variance(self) -> FloatArray:
        """Variance of one draw of each part, mass squared included: shape (parts, n).

        E X^2 is half the sum of c_j c_k [k~(|v_j + v_k|) + k~(|v_j - v_k|)].
        """
        squares = np.empty_like(self._mean)
        for row, part in zip(squares, self._parts, strict=True):
            vectors = self.differences[:, None, :] + part.modulation.offsets
            weights = part.modulation.weights
            pairs = np.multiply.outer(weights, weights)
            row[:] = 0.0
            for sign in (1.0, -1.0):
                both = vectors[:, :, None, :] + sign * vectors[:, None, :, :]
                waves = part.base.law.expected_plane_wave(
                    self.table.dim, np.linalg.norm(both, axis=-1)
                )
                row += 0.5 * np.einsum("jk,mjk->m", pairs, waves)
        return np.asarray(self.masses[:, None] ** 2 * (squares - self._mean**2))

    @cached_property
    def _rough_mean(self) -> FloatArray:
        means = np.array([part.mean(self.differences) for part in self._parts])
        return np.asarray(means / (self.masses * self.signs)[:, None])

    @cached_property
    def rough_part_variance(self) -> FloatArray:
        """As :attr:`part_variance` to 1e-8 of the squared mass, from what a part tabulates."""
        square = np.array([part.second_moment(self.differences) for part in self._parts])
        return np.asarray(square - (self.masses[:, None] * self._rough_mean) ** 2)

    def _dependent(self, coupling: Coupling, counts: Sequence[int]) -> list[tuple[int, int, Pairs]]:
        pairs = super()._dependent(coupling, counts)
        if any(pair.one_key or pair.cosine == Fixed(1.0) for _, _, pair in pairs):
            raise ParameterError(
                f"The coupling {coupling.name!r} gives parts one direction, and what two waves "
                "along it have in common is known for radial kernels: these parts are shifted by "
                "vectors of their own. Take a coupling within each part."
            )
        return pairs

    @cached_property
    def _probes(self) -> list[Probe]:
        return [
            Probe.through(self.differences, part.modulation.offsets, part.modulation.weights)
            for part in self._parts
        ]

    @cached_property
    def _waves(self) -> Waves:
        return Waves(self.table.dim, [part.base.law for part in self._parts], self._probes)

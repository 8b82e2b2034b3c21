"""Sampling of radial kernels, and of sums of shifted ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from rf.inputs.rows import graded_distances, typical_distances
from rf.sampling.frequencies import Frequencies, draw_frequencies
from rf.schemes.scheme import TableScheme, check_within
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.variance.variance import PartModel, VarianceModel

__all__ = ["RadialScheme", "model_at"]

# Models of the variance kept in memory: a grid search fits the same kernel to the same rows again
# with other numbers of columns.
_RECENT = 16


@final
@dataclass(frozen=True, eq=False)
class RadialScheme(TableScheme):
    """Frequencies of a radial table, or of a table of shifted parts.

    The frequencies of a shifted part have its radial distribution, and weights of their own.  If
    all parts have one shift r the weights are constant, and everything is that of the radial
    kernel k of K(D) = k(D + r).
    """

    table: SpectralTable

    @property
    def method(self) -> str:
        """ "radial"; "shifted" if K(D) = k(D + r); else "weighted"."""
        if self.table.is_radial:
            return "radial"
        return "weighted" if self.table.one_shift() is None else "shifted"

    @property
    def is_signed(self) -> bool:
        return self.table.is_radial

    @property
    def is_exact_at_zero(self) -> bool:
        return self.table.is_radial and not self.pooled

    def check_coupling(self, coupling: str) -> None:
        if self.method == "weighted":
            check_within(coupling, f"{self.table.formula}, a sum of several shifted kernels")

    def offered(self, n: int) -> tuple[str, ...]:
        from rf.variance.coupling_score import candidates

        return candidates(1 if self.method == "weighted" else len(self.table.parts), n)

    def _frequencies(self, rng: np.random.Generator) -> Frequencies:
        return draw_frequencies(
            self.table, self.counts, coupling=self.coupling, radii=self.radii, random_state=rng
        )

    def checked(self, points: FloatArray) -> FloatArray:
        return points if self.table.is_radial else super().checked(points)

    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, error = super().variance(points)
        if not self.table.is_radial:
            return value, error
        return value.reshape(points.shape), error.reshape(points.shape)

    def model(self, points: FloatArray, *, approximate: bool = False) -> VarianceModel:
        """At distances, or at differences of shape (n, d) if parts are shifted."""
        if self.table.is_radial and points.ndim == 2:
            points = np.linalg.norm(points, axis=1)
        return model_at(self.table, points, approximate=approximate)

    def typical_model(self, pairs: int) -> PartModel:
        """At quantiles of |D|, or of |D + r| for one shift; else at random differences."""
        single = self.table.one_shift()
        if single is None:
            return super().typical_model(pairs)
        radial, shift = single
        return _model_at(radial, typical_distances(self.rows, shift).tobytes())

    def mean_square_kernel(self) -> float:
        single = self.table.one_shift()
        if single is None:
            return super().mean_square_kernel()
        radial, shift = single
        z, shares = graded_distances(self.rows, shift)
        return float(shares @ model_at(radial, z, approximate=True).kernel ** 2)


def model_at(
    table: SpectralTable, points: FloatArray, *, approximate: bool = False
) -> VarianceModel:
    """The variance at distances, or at differences of shape (n, d) if parts are shifted."""
    from rf.variance.variance import VarianceModel

    if table.is_radial:
        return VarianceModel(table, points, approximate)
    single = table.one_shift()
    if single is None:
        from rf.variance.weighted_variance import WeightedModel

        return WeightedModel.of(table, points, approximate=approximate)
    radial, shift = single
    return VarianceModel(radial, np.linalg.norm(points + shift, axis=-1), approximate)


@lru_cache(maxsize=_RECENT)
def _model_at(table: SpectralTable, distances: bytes) -> VarianceModel:
    """The approximate model, whose integrals serve every fit on the same rows."""
    return model_at(table, np.frombuffer(distances), approximate=True)

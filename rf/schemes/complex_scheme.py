"""Schemes for complex measures: independent draws of the parts, and how many of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rf.feature_maps.feature_map import Frequencies
from rf.inputs.rows import typical_differences
from rf.sampling.coupling import RADII, Radii
from rf.schemes.decomposition import AxialTable, Decomposition
from rf.schemes.table_scheme import PAIRS_FOR_COUPLING, TableScheme
from rf.variance.allocation import Allocation, split
from rf.variance.variance import BaseVarianceModel
from spectra.base.arrays import FloatArray
from spectra.errors import AccuracyError
from spectra.table import Points, SpectralTable

__all__ = ["AxialScheme", "axial_scheme", "least_axial_scheme"]

# Largest number of strata in an approximate variance, to limit its cost; see AxialPart.variance.
_STRATA = 256
# A decomposition with a larger bias and error of its masses, relative to the mass, is not used.
_MOST_MASS_ERROR = 1e-5
_COMPARED: tuple[Decomposition, ...] = ("polar", "jordan")
# Schemes and decompositions kept in memory.
_CACHE_SIZE = 16


@dataclass(frozen=True, eq=False)
class AxialScheme(TableScheme):
    """Frequencies of the parts of ``measure``, independent except for strata of |e.w|."""

    measure: AxialTable = field(kw_only=True)

    @property
    def method(self) -> str:
        return self.measure.decomposition

    @property
    def bias(self) -> float:
        return self.measure.bias

    def frequencies(self, rng: np.random.Generator) -> Frequencies:
        """Draw the frequencies, with weights and phases.

        With radii="stratified", |e.w| is stratified in each part that is not isotropic.
        """
        if self.pooled:
            draws = [self.measure.sample(sum(self.counts), rng)]
        else:
            draws = []
            for part, n in zip(self.measure.parts, self.counts, strict=True):
                rule = RADII["iid" if part.is_isotropic else self.radii]
                draws.append(part.draw(n, rng, u=rule(rng.random(n), rng.random(n))))
        return Frequencies(
            frequencies=np.concatenate([d.frequencies for d in draws]),
            weights=np.concatenate(
                [d.weights / n for d, n in zip(draws, self.counts, strict=True)]
            ),
            phases=np.concatenate([d.phases for d in draws]),
            part=np.repeat(np.arange(len(draws)), self.counts),
        )

    def model(self, points: ArrayLike | Points, *, approximate: bool = False) -> AxialModel:
        return AxialModel(self.measure, self.table.points(points), approximate)

    def typical_model(self, pairs: int) -> AxialModel:
        return self.model(Points(typical_differences(self.rows, pairs), 1), approximate=True)


@dataclass(frozen=True, eq=False)
class AxialModel(BaseVarianceModel):
    """The variance of an axial scheme for the decomposed table ``measure``.

    ``points``: m differences D; ``approximate``: whether to use at most 256 strata.
    """

    measure: AxialTable
    points: Points
    approximate: bool = False

    @cached_property
    def signs(self) -> FloatArray:
        # The means of the parts include the signs.
        return np.ones(len(self.measure.parts))

    @cached_property
    def masses(self) -> FloatArray:
        return np.array([p.mass for p in self.measure.parts])

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        D, masses = self.points.values, self.masses[:, None]
        mean = np.array([p.mean(D) for p in self.measure.parts]) / masses
        square = np.array([p.second_moment(D) for p in self.measure.parts]) / masses**2
        return mean, square

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str = "iid", radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        D, most = self.points.values, _STRATA if self.approximate else None
        total = np.zeros(len(D))
        for part, n in zip(self.measure.parts, n_per_part, strict=True):
            total += part.variance(D, n, radii, most=most)
        return total, np.zeros_like(total)


def axial_scheme(
    measure: AxialTable,
    n: int,
    rows: Any,
    n_rows: int,
    *,
    allocation: Allocation = "equal",
    radii: Radii = "iid",
) -> AxialScheme:
    """Split n frequencies over the parts, or draw from random parts if there are more than n.

    ``rows``: a sample that represents all ``n_rows`` rows; ``radii``: how |e.w| is drawn.
    """
    scheme = AxialScheme(
        measure.table, (n,), radii=radii, rows=rows, n_rows=n_rows, measure=measure
    )
    if len(measure.parts) > n:
        return replace(scheme, pooled=True)
    counts = split(scheme.typical_model(PAIRS_FOR_COUPLING), n, allocation=allocation)
    return replace(scheme, counts=counts)


@lru_cache(maxsize=_CACHE_SIZE)
def least_axial_scheme(
    scheme: TableScheme, n: int, *, allocation: Allocation, radii: Radii
) -> TableScheme:
    """The scheme of the polar or Jordan parts if it has less variance than ``scheme``, else that.

    No kind is always best: the weighted draws of ``scheme`` allow couplings of directions, Jordan
    parts are exact at D = 0, and polar parts have less mass.  Polar parts are best for long shifts,
    and for d <= 2, where couplings reduce the variance little.  Only Gaussians have these parts.
    """
    if not all(part.deviation > 0.0 for part in scheme.table.parts):
        return scheme
    points = Points(typical_differences(scheme.rows, PAIRS_FOR_COUPLING), 1)
    model: BaseVarianceModel = scheme.model(points, approximate=True)
    best, least = scheme, float(np.mean(scheme.variance_of(model)[0]))
    for decomposition in _COMPARED:
        measure = _decompose(scheme.table, decomposition)
        if not _has_accurate_masses(measure):
            continue
        options: dict[str, Any] = {"allocation": allocation, "radii": radii}
        other = axial_scheme(measure, n, scheme.rows, scheme.n_rows, **options)
        model = other.model(points, approximate=True)
        value = float(np.mean(other.variance_of(model)[0]))
        if value < least:
            best, least = other, value
    return best


@lru_cache(maxsize=_CACHE_SIZE)
def _decompose(table: SpectralTable, decomposition: Decomposition) -> AxialTable:
    """The decomposition, cached since it does not depend on the rows."""
    return AxialTable(table, decomposition)


def _has_accurate_masses(measure: AxialTable) -> bool:
    """Whether the bias and the errors of the masses are small relative to the mass."""
    try:
        return measure.bias + measure.mass_error <= _MOST_MASS_ERROR * measure.mass
    except AccuracyError:
        return False

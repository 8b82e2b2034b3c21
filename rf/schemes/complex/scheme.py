"""Independent draws of the parts of a complex measure: how many of each, and their variance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from rf.inputs.rows import typical_differences
from rf.sampling.frequencies import Frequencies
from rf.sampling.radii import RADII, Radii
from rf.schemes.complex.axial_part import Draws
from rf.schemes.complex.decomposition import Decomposed, Decomposition
from rf.schemes.complex.layers import layered_variance
from rf.schemes.feature_map import FeatureMap, FourierMap
from rf.schemes.scheme import (
    RANKED_PAIRS,
    STATED_PAIRS,
    FeaturePlan,
    Scheme,
    TablePlan,
    checked_differences,
    mean_square_kernel,
    model_at,
    relative_error,
)
from rf.variance.allocation import Allocation, apportion
from spectra.base.arrays import FloatArray
from spectra.errors import AccuracyError
from spectra.table import SpectralTable

__all__ = ["AxialPlan", "axial_plan", "least_axial_plan"]

# Layers that the stated error reckons with: each more lowers it by less than the square of their
# number.
_LAYERS = 256
_FEW_LAYERS = 64
# A decomposition whose masses err by more than this share is not offered: its bias would be seen.
_BLUR = 1e-5
_OFFERED: tuple[Decomposition, ...] = ("polar", "jordan")
# Choices and decompositions kept in memory, as the plans are that they begin with.
_RECENT = 16


@final
@dataclass(frozen=True, eq=False)
class AxialPlan(FeaturePlan):
    """So many independent frequencies of each part.

    Attributes
    ----------
    measure : Decomposed
    counts : tuple of int
        Frequencies of each part; where ``pooled``, their number alone.
    pooled : bool
        Whether each frequency belongs to a part that is drawn with the masses as probabilities.
    rows : ndarray, sparse array or None
        A sample of the rows, which stands for all.
    n_rows : int
        How many rows there are.
    """

    measure: Decomposed
    counts: tuple[int, ...]
    pooled: bool = False
    rows: Any = None
    n_rows: int = 1
    coupling = "iid"
    compared = ()

    @property
    def table(self) -> SpectralTable:  # type: ignore[override]
        """The table that is decomposed."""
        return self.measure.table

    @property
    def decomposition(self) -> str:  # type: ignore[override]
        """That of the measure."""
        return self.measure.decomposition

    def frequencies(self, radii: Radii, rng: np.random.Generator) -> Frequencies:
        """Draw the frequencies, with weights and phases.

        ``radii`` are laid over layers of the radius, or of the length along the axis of a
        modulated Gaussian; draws by rejection and pooled ones are independent.
        """
        draws: list[Draws]
        if self.pooled:
            draws = [self.measure.sample(sum(self.counts), rng)]
        else:
            draws = [
                part.draw(n, rng, u=RADII[radii](rng.random(n), rng.random(n)))
                for part, n in zip(self.measure.parts, self.counts, strict=True)
            ]
        return Frequencies(
            frequencies=np.concatenate([d.frequencies for d in draws]),
            weights=np.concatenate(
                [d.amplitudes / n for d, n in zip(draws, self.counts, strict=True)]
            ),
            phases=np.concatenate([d.phases for d in draws]),
            part=np.repeat(np.arange(len(draws)), self.counts),
        )

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        return FourierMap.of(self.frequencies(radii, rng), n_columns, rng, signed=False)

    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        return self._variance(checked_differences(self.table, z), radii, None)

    def _variance(self, D: FloatArray, radii: Radii, most: int | None) -> FloatArray:
        if self.pooled:
            return self.measure.variance(D) / sum(self.counts)
        parts = zip(self.measure.parts, self.counts, strict=True)
        return np.asarray(
            sum((layered_variance(p, n, D, radii, most=most) for p, n in parts), np.zeros(len(D)))
        )

    def predicted(self, radii: Radii) -> float:
        """Mean variance over the differences, in the time that a choice of plans may take."""
        differences = typical_differences(self.rows, RANKED_PAIRS)
        return float(self._variance(differences, radii, _FEW_LAYERS).mean())

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        differences = typical_differences(self.rows, STATED_PAIRS)
        both = np.concatenate([differences, np.zeros((1, self.table.dim))])
        square = self._variance(both, radii, _LAYERS) + extra_variance + self.measure.bias**2
        diagonal = float(square[-1]), float(self.table.k_zero)
        mean_square = mean_square_kernel(self.table, self.rows)
        return relative_error(square[:-1], mean_square, diagonal, self.n_rows)

    def explain(self) -> str:
        return (
            f"Drawn from the {self.decomposition} parts of its measure: {self.counts} independent "
            "frequencies."
        )


def axial_plan(
    measure: Decomposed,
    n: int,
    rows: Any,
    n_rows: int,
    *,
    allocation: Allocation = "equal",
    radii: Radii = "iid",
) -> AxialPlan:
    """Split n frequencies over the parts, or draw one pool where the parts outnumber them.

    Parameters
    ----------
    measure : Decomposed
    n : int
    rows : ndarray or sparse array
        A sample that stands for all ``n_rows`` rows.
    allocation : {"equal", "mass", "optimal"}
        "optimal" is Neyman's rule on the variances at the differences.
    radii : str
        How radii, or lengths along the axis, are going to be drawn.
    """
    parts = measure.parts
    if len(parts) > n:
        return AxialPlan(measure, (n,), True, rows, n_rows)
    sizes = np.ones(len(parts))
    if allocation == "mass":
        sizes = np.array([p.mass for p in parts])
    elif allocation == "optimal":
        differences = typical_differences(rows, RANKED_PAIRS)
        means = [
            n * layered_variance(p, n, differences, radii, most=_FEW_LAYERS).mean() for p in parts
        ]
        # A variance that is zero up to rounding can come out below it.
        sizes = np.sqrt(np.maximum(means, 0.0))
    return AxialPlan(measure, apportion(sizes, n), False, rows, n_rows)


@lru_cache(maxsize=_RECENT)
def least_axial_plan(plan: TablePlan, n: int, scheme: Scheme) -> FeaturePlan:
    """The polar or Jordan parts of a shifted measure, where they leave less variance than a plan.

    No draw is always best: weighted ones take every coupling of directions, Jordan parts are exact
    at D = 0, polar ones have less mass.  In d = 1 and 2, where directions have little to give, and
    for shifts that are long, the latter win.
    """
    differences = typical_differences(plan.rows, RANKED_PAIRS)
    model = model_at(plan.table, differences)
    if plan.pooled:
        least = float(np.mean(model.pooled_variance(n, rough=True)))
    else:
        least = model.rough_mean_variance(plan.counts, coupling=plan.coupling, radii=scheme.radii)
    best: FeaturePlan = plan
    for decomposition in _OFFERED:
        measure = _decomposed(plan.table, decomposition)
        if not _is_known(measure, differences):
            continue
        other = axial_plan(
            measure,
            n,
            plan.rows,
            plan.n_rows,
            allocation=scheme.allocation,
            radii=scheme.radii,
        )
        value = other.predicted(scheme.radii)
        if value < least:
            best, least = other, value
    return best


@lru_cache(maxsize=_RECENT)
def _decomposed(table: SpectralTable, decomposition: Decomposition) -> Decomposed:
    """The laws along the axis are those of the table, whatever the rows."""
    return Decomposed(table, decomposition)


def _is_known(measure: Decomposed, differences: FloatArray) -> bool:
    """Whether a decomposition can be drawn, and its masses and moments are known well enough."""
    # A law with a tail of waves takes milliseconds for each of a thousand waves.
    if any(part.law.tail is not None for part in measure.table.parts):
        return False
    try:
        known = measure.bias + measure.mass_error <= _BLUR * measure.mass
        return known and all(part.has_moments(differences) for part in measure.parts)
    except AccuracyError:
        return False

"""How features are going to be made, and what is known of them before anything is drawn.

A plan leads from a kernel and rows to a feature map.  There is one kind for each way to make one:
:class:`RadialPlan` here draws from a table of radial laws, :class:`rf.asymmetric.AsymmetricPlan`
from one of asymmetric parts, and :class:`rf.portfolio.choice.Selection` makes features to order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from rf.couplings import COUPLINGS
from rf.feature_map import FeatureMap, FourierMap
from rf.frequencies import Allocation, Frequencies, Radii, allocate, draw_frequencies
from rf.ranking import Plan, best_split, candidates, ranked_plans
from rf.rows import sample_of_rows, typical_distances
from rf.variance import VarianceModel
from spectra.errors import ParameterError
from spectra.modulated import AsymmetricTable
from spectra.table import SpectralTable

__all__ = ["FeaturePlan", "RadialPlan", "Scheme", "plan_radial", "relative_error"]

FloatArray = NDArray[np.float64]

# Models of the variance kept in memory: a grid search fits the same kernel to the same rows again.
_RECENT_MODELS = 8


@dataclass(frozen=True)
class Scheme:
    """How the frequencies are drawn, read from the parameters of an estimator.

    Attributes
    ----------
    coupling, radii, allocation : str
        As in :class:`rf.SpectralFeatures`.
    counts : tuple of int or None
        Frequencies of each part, where the masses were made for them.
    """

    coupling: str
    radii: Radii
    allocation: Allocation
    counts: tuple[int, ...] | None = None


class FeaturePlan(ABC):
    """How features are made: what was decided, and what is known of their error.

    Attributes
    ----------
    table : SpectralTable, AsymmetricTable or None
        The laws that frequencies are drawn from.
    coupling : str
        The coupling, or the way in which features are made to order.
    counts : tuple of int
        Frequencies of each part of the table.
    decomposition : str
        "radial"; "jordan", "polar", "weighted" or "shifted"; "made to order".
    compared : tuple of rf.ranking.Plan
        What "auto" compared, best first.
    """

    table: SpectralTable | AsymmetricTable | None
    coupling: str
    counts: tuple[int, ...]
    decomposition: str
    compared: tuple[Plan, ...]

    @abstractmethod
    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        """Draw the features: at most ``n_columns`` columns."""

    @abstractmethod
    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        """Exact variance of the estimate at distances, or at differences of shape (n, d).

        Raises
        ------
        ParameterError
            Where it is not known.
        """

    @abstractmethod
    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        """Expected relative error of the kernel matrix of the rows; nan where it is not known."""

    @abstractmethod
    def explain(self) -> str:
        """What was decided and why, in plain text."""

    def radial_table(self, what: str) -> SpectralTable:
        """The table of radial laws that ``what`` is known for.

        Raises
        ------
        ParameterError
            Where the plan has none.
        """
        if isinstance(self.table, SpectralTable):
            return self.table
        raise ParameterError(
            f"{what} is stated for radial kernels drawn from a table, and this plan is "
            f"{self.decomposition}. Compare variance(...), where it is known, with eps**2."
        )


def relative_error(
    square_error: FloatArray, kernel: FloatArray, diagonal: tuple[float, float], n_rows: int
) -> float:
    """Root of the expected squared error of a matrix of n_rows over its squared norm.

    Parameters
    ----------
    square_error, kernel : ndarray
        Expected squared errors and values at pairs that stand for all of two different rows.
    diagonal : (float, float)
        The same for a row with itself, which is one part in n_rows.

    Examples
    --------
    >>> round(relative_error(np.array([0.01]), np.array([1.0]), (0.0, 1.0), 4), 6)
    0.086603
    """
    share = 1.0 / n_rows
    error = (1.0 - share) * float(np.mean(square_error)) + share * diagonal[0]
    size = (1.0 - share) * float(np.mean(np.square(kernel))) + share * diagonal[1] ** 2
    # A variance that is zero up to rounding can come out below it.
    return float(np.sqrt(max(error, 0.0) / size)) if size > 0.0 else float("nan")


@final
@dataclass(frozen=True, eq=False)
class RadialPlan(FeaturePlan):
    """Frequencies from a table of radial laws: a coupling, and how many of each part.

    Attributes
    ----------
    table, coupling, counts, compared :
        As in :class:`FeaturePlan`.
    rows : ndarray or sparse array
        A sample of the rows, which stands for all.
    n_rows : int
        How many there are.
    """

    table: SpectralTable
    coupling: str
    counts: tuple[int, ...]
    compared: tuple[Plan, ...]
    rows: Any
    n_rows: int
    decomposition = "radial"

    @cached_property
    def model(self) -> VarianceModel:
        """The variance at distances that stand for those of all pairs of rows."""
        return VarianceModel(self.table, typical_distances(self.rows))

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        return self.map_of(self.frequencies(radii, rng), n_columns, rng)

    def frequencies(self, radii: Radii, rng: np.random.Generator) -> Frequencies:
        """Draw the frequencies."""
        return draw_frequencies(
            self.table, self.counts, coupling=self.coupling, radii=radii, rng=rng
        )

    def map_of(
        self, frequencies: Frequencies, n_columns: int, rng: np.random.Generator
    ) -> FeatureMap:
        """Their columns, of which there are two for each."""
        columns = min(n_columns, 2 * len(frequencies))
        return FourierMap.of(frequencies, columns, rng, signed=True)

    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        value, _ = VarianceModel(self.table, z).variance(
            self.counts, coupling=self.coupling, radii=radii
        )
        return value.reshape(z.shape)

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        if not COUPLINGS[self.coupling].known:
            return float("nan")
        spread = self.model.rough_variance(self.counts, coupling=self.coupling, radii=radii)
        wrong = extra_variance + self.table.bias**2
        diagonal = wrong, float(self.table.k_zero)
        return relative_error(spread + wrong, self.model.rough_kernel, diagonal, self.n_rows)

    def explain(self) -> str:
        masses = ", ".join(f"{float(p.mass):.4g}" for p in self.table.parts)
        how = (
            f"Drawn from the table of its measure with coupling {self.coupling!r}: "
            f"{self.counts} frequencies for parts of mass {masses}."
        )
        if self.compared:
            # A variance that is zero up to rounding can come out below it.
            compared = (
                f"{p.coupling} {p.counts} {max(p.variance, 0.0) ** 0.5:.3g}" for p in self.compared
            )
            how += "\nPredicted root mean square error: " + ", ".join(compared) + "."
        return how


@lru_cache(maxsize=_RECENT_MODELS)
def _model_at(table: SpectralTable, distances: bytes) -> VarianceModel:
    """What was integrated at distances serves every fit on the same rows."""
    return VarianceModel(table, np.frombuffer(distances))


def plan_radial(
    table: SpectralTable, n: int, scheme: Scheme, X: Any, rng: np.random.Generator
) -> RadialPlan:
    """Choose the coupling and the number of frequencies of each part, for the rows X.

    Parameters
    ----------
    table : SpectralTable
    n : int
        Frequencies in all.
    scheme : Scheme
    X : ndarray or sparse array of shape (n_samples, d)
        What is chosen has the least predicted variance over its distances.
    rng : Generator
        It samples the rows.

    Raises
    ------
    ParameterError
        For more parts than frequencies.
    """
    rows, n_rows = sample_of_rows(X, rng), X.shape[0]

    def plan(coupling: str, counts: tuple[int, ...], *compared: Plan) -> RadialPlan:
        return RadialPlan(table, coupling, counts, compared, rows, n_rows)

    if scheme.counts is not None:
        return plan(scheme.coupling, scheme.counts)
    if scheme.coupling != "auto" and scheme.allocation != "optimal":
        return plan(scheme.coupling, allocate(table, n, allocation=scheme.allocation))
    model = _model_at(table, typical_distances(rows).tobytes())
    if scheme.coupling != "auto":
        counts = best_split(model, n, coupling=scheme.coupling, radii=scheme.radii)
        return plan(scheme.coupling, counts)
    compared = ranked_plans(
        model,
        n,
        couplings=candidates(len(table.parts), n),
        radii=scheme.radii,
        allocation=scheme.allocation,
    )
    return plan(compared[0].coupling, compared[0].counts, *compared)

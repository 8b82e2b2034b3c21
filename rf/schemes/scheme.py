"""How features are going to be made, and what is known of them before anything is drawn.

A plan leads from a kernel and rows to a feature map.  There is one kind for each way to make one:
:class:`TablePlan` here draws from a table, of a radial kernel or of a sum of shifted ones, and
:class:`rf.dot_product.comparison.Selection` makes features to order;
:class:`rf.schemes.complex.AxialPlan` draws the parts of a complex measure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from rf.inputs.rows import (
    KnownRows,
    graded_distances,
    sample_of_rows,
    typical_differences,
    typical_distances,
)
from rf.sampling.couplings import COUPLINGS
from rf.sampling.frequencies import Frequencies, Radii, draw_frequencies, pooled_frequencies
from rf.schemes.feature_map import FeatureMap, FourierMap
from rf.variance.allocation import Allocation, allocate
from rf.variance.coupling_score import Plan, candidates, ranked_plans
from rf.variance.variance import VarianceModel
from rf.variance.weighted_variance import WeightedModel
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import GroupedTable, L1Table, SpectralTable

__all__ = [
    "RANKED_PAIRS",
    "SIZED_PAIRS",
    "STATED_PAIRS",
    "FeaturePlan",
    "Scheme",
    "TablePlan",
    "check_within",
    "checked_differences",
    "mean_square_kernel",
    "model_at",
    "plan_table",
    "relative_error",
]

# Plans, and models of the variance, kept in memory: seeds and a grid search fit the same kernel to
# the same rows again, the latter with other numbers of columns.
_RECENT = 16
# Random pairs of rows whose differences stand for all in a choice, and in what is stated of the
# error, which is then known to five percent or so.
RANKED_PAIRS = 48
STATED_PAIRS = 384
# The same for the size of the kernel, which few near pairs may rule.
SIZED_PAIRS = 4096


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
    table : SpectralTable or None
        The laws that frequencies are drawn from.
    coupling : str
        The coupling, or the way in which features are made to order.
    counts : tuple of int
        Frequencies of each part of the table.
    decomposition : str
        "radial", "shifted" or "weighted"; "jordan" or "polar"; "grouped"; "l1"; "made to order".
    compared : tuple of rf.variance.coupling_score.Plan
        What "auto" compared, best first.
    """

    table: SpectralTable | None
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
        if self.table is not None and self.table.is_radial:
            return self.table
        raise ParameterError(
            f"{what} is stated for radial kernels drawn from a table, and this plan is "
            f"{self.decomposition}. Compare variance(...), where it is known, with eps**2."
        )


def relative_error(
    square_error: FloatArray, mean_square: float, diagonal: tuple[float, float], n_rows: int
) -> float:
    """Root of the expected squared error of a matrix of n_rows over its squared norm.

    Parameters
    ----------
    square_error : ndarray
        Expected squared errors at pairs that stand for all of two different rows.
    mean_square : float
        Mean of the squared kernel over such pairs.
    diagonal : (float, float)
        Squared error and kernel of a row with itself, which is one part in n_rows.

    Examples
    --------
    >>> round(relative_error(np.array([0.01]), 1.0, (0.0, 1.0), 4), 6)
    0.086603
    """
    share = 1.0 / n_rows
    error = (1.0 - share) * float(np.mean(square_error)) + share * diagonal[0]
    size = (1.0 - share) * mean_square + share * diagonal[1] ** 2
    # A variance that is zero up to rounding can come out below it.
    return float(np.sqrt(max(error, 0.0) / size)) if size > 0.0 else float("nan")


def checked_differences(
    table: SpectralTable | GroupedTable | L1Table, differences: FloatArray
) -> FloatArray:
    """Differences D = x - y as an array of shape (n, d).

    Raises
    ------
    ParameterError
        Where they have another dimension than the kernel, or are not finite.
    """
    D = np.atleast_2d(differences)
    if not np.all(np.isfinite(D)):
        raise ParameterError(
            "The variance was asked for at a difference that is not finite: "
            f"{D[~np.isfinite(D)][0]}. A difference of two rows has finite coordinates."
        )
    if D.ndim != 2 or D.shape[1] != table.dim:
        raise ParameterError(
            f"The variance of {table.formula} was asked for at an array of shape "
            f"{differences.shape}. It depends on the difference D = x - y and not on its length "
            f"alone: give an array of shape (n, {table.dim})."
        )
    return D


@final
@dataclass(frozen=True, eq=False)
class TablePlan(FeaturePlan):
    """Frequencies of the parts of a table: a coupling, and how many of each part.

    Those of a part with shifts have the radial law and weights of their own; where all parts have
    one shift r the weights are constant, and everything is that of the radial kernel k of
    K(D) = k(D + r).

    Attributes
    ----------
    table, coupling, counts, compared :
        As in :class:`FeaturePlan`.
    rows : ndarray, sparse array or None
        A sample of the rows, which stands for all.
    n_rows : int
        How many there are.
    pooled : bool
        Whether each frequency belongs to a part that is drawn, as there are more parts than
        frequencies; ``counts`` is then their number alone.
    """

    table: SpectralTable
    coupling: str
    counts: tuple[int, ...]
    compared: tuple[Plan, ...] = ()
    rows: Any = None
    n_rows: int = 1
    pooled: bool = False

    @property
    def decomposition(self) -> str:  # type: ignore[override]
        """ "radial"; "shifted" where K(D) = k(D + r); else "weighted"."""
        if self.table.is_radial:
            return "radial"
        return "weighted" if self.table.one_shift() is None else "shifted"

    @cached_property
    def model(self) -> VarianceModel:
        """The variance at distances, or differences, that stand for those of all pairs of rows."""
        return model_of_rows(self.table, self.rows, STATED_PAIRS)

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        return self.map_of(self.frequencies(radii, rng), n_columns, rng)

    def frequencies(self, radii: Radii, rng: np.random.Generator) -> Frequencies:
        """Draw the frequencies."""
        if self.pooled:
            return pooled_frequencies(self.table, sum(self.counts), rng)
        return draw_frequencies(
            self.table, self.counts, coupling=self.coupling, radii=radii, rng=rng
        )

    def map_of(
        self, frequencies: Frequencies, n_columns: int, rng: np.random.Generator
    ) -> FeatureMap:
        """Their columns, of which there are two for each."""
        columns = min(n_columns, 2 * len(frequencies))
        return FourierMap.of(frequencies, columns, rng, signed=self.table.is_radial)

    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        points = z if self.table.is_radial else checked_differences(self.table, z)
        model = model_at(self.table, points)
        if self.pooled:
            value = model.pooled_variance(sum(self.counts))
        else:
            value, _ = model.variance(self.counts, coupling=self.coupling, radii=radii)
        return value.reshape(z.shape) if self.table.is_radial else value

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        if self.rows is None:
            return float("nan")
        wrong = extra_variance + self.table.bias**2
        diagonal = wrong, float(self.table.k_zero)
        if not self.table.is_radial:
            # Rows that are equal see the kernel at its shift.
            alone = model_at(self.table, np.zeros((1, self.table.dim)))
            diagonal = float(self._rough(alone, radii)[0]) + wrong, diagonal[1]
        square = self._rough(self.model, radii) + wrong
        mean_square = mean_square_kernel(self.table, self.rows)
        return relative_error(square, mean_square, diagonal, self.n_rows)

    def _rough(self, model: VarianceModel, radii: Radii) -> FloatArray:
        if self.pooled:
            return model.pooled_variance(sum(self.counts), rough=True)
        return model.rough_variance(self.counts, coupling=self.coupling, radii=radii)

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


def model_at(table: SpectralTable, points: FloatArray) -> VarianceModel:
    """The variance at distances, or at differences of shape (n, d) where parts are shifted."""
    if table.is_radial:
        return VarianceModel(table, points)
    single = table.one_shift()
    if single is None:
        return WeightedModel.of(table, points)
    radial, shift = single
    return VarianceModel(radial, np.linalg.norm(points + shift, axis=-1))


def model_of_rows(table: SpectralTable, rows: Any, pairs: int) -> VarianceModel:
    """The variance at what stands for all pairs of rows.

    They are quantiles of |D|, or of |D + r| for one shift; differences of so many random pairs for
    several, whose waves see more than a length.
    """
    single = table.one_shift()
    if single is None:
        return WeightedModel.of(table, typical_differences(rows, pairs))
    radial, shift = single
    return _model_at(radial, typical_distances(rows, shift).tobytes())


def mean_square_kernel(table: SpectralTable, rows: Any) -> float:
    """Mean of the squared kernel of a table over pairs of different rows, to a few percent."""
    single = table.one_shift()
    if single is None:
        model = WeightedModel.of(table, typical_differences(rows, SIZED_PAIRS))
        return float(np.mean(model.rough_kernel**2))
    radial, shift = single
    z, shares = graded_distances(rows, shift)
    return float(shares @ VarianceModel(radial, z).rough_kernel ** 2)


@lru_cache(maxsize=_RECENT)
def _model_at(table: SpectralTable, distances: bytes) -> VarianceModel:
    """What was integrated at distances serves every fit on the same rows."""
    return VarianceModel(table, np.frombuffer(distances))


def plan_table(table: SpectralTable, n: int, scheme: Scheme, X: Any) -> TablePlan:
    """Choose the coupling and the number of frequencies of each part, for the rows X.

    Fewer frequencies than parts are independent, each of a part that is drawn by mass.  A plan is a
    function of what is passed, and recent ones are kept in memory.

    Parameters
    ----------
    table : SpectralTable
    n : int
        Frequencies in all.
    scheme : Scheme
    X : ndarray or sparse array of shape (n_samples, d)
        What is chosen has the least predicted variance over its distances.

    Raises
    ------
    ParameterError
        For a coupling that parts with several shifts do not have.
    """
    return _plan_for(table, n, scheme, KnownRows(sample_of_rows(X)), X.shape[0])


@lru_cache(maxsize=_RECENT)
def _plan_for(
    table: SpectralTable, n: int, scheme: Scheme, sample: KnownRows, n_rows: int
) -> TablePlan:
    rows = sample.rows

    def plan(coupling: str, counts: tuple[int, ...], *compared: Plan) -> TablePlan:
        return TablePlan(table, coupling, counts, compared, rows, n_rows)

    if scheme.counts is not None:
        return plan(scheme.coupling, scheme.counts)
    several = table.one_shift() is None
    if several and scheme.coupling != "auto":
        check_within(scheme.coupling, f"{table.formula}, a sum of several shifted kernels")
    if len(table.parts) > n:
        return TablePlan(table, "iid", (n,), (), rows, n_rows, pooled=True)
    if scheme.coupling != "auto" and scheme.allocation != "optimal":
        return plan(scheme.coupling, allocate(table, n, allocation=scheme.allocation))
    model = model_of_rows(table, rows, RANKED_PAIRS)
    if scheme.coupling != "auto":
        counts = allocate(table, n, allocation="optimal", coupling=scheme.coupling, distances=model)
        return plan(scheme.coupling, counts)
    offered = candidates(1 if several else len(table.parts), n)
    compared = ranked_plans(
        model, n, couplings=offered, radii=scheme.radii, allocation=scheme.allocation
    )
    return plan(compared[0].coupling, compared[0].counts, *compared)


def check_within(coupling: str, of: str) -> None:
    """Refuse a coupling for what is drawn part by part, with a variance that is known for that.

    Raises
    ------
    ParameterError
        For a coupling across parts; the message lists the others.
    """
    serving = [n for n, c in COUPLINGS.items() if not c.across_parts]
    if coupling not in serving:
        raise ParameterError(
            f"coupling={coupling!r} was asked for {of}, which takes couplings within "
            f"each part: {', '.join(serving)}, or 'auto'."
        )

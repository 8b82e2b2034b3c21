r"""Features of kernels of groups of columns, with their exact variance.

A part of a product has the frequencies w = (w_g), one for each of its groups, and

.. math:: \hat k = \sum_p s_p \frac{m_p}{n_p} \sum_{i \le n_p} f_i,
          \qquad f_i = \cos\Bigl(\sum_g w_{gi} \cdot D_g\Bigr).

Each group draws its n_p frequencies by the coupling, gives each of them a random sign and puts
them in a random order, independently of the other groups.  By the signs the sines vanish in the
mean, so that of two frequencies i and j

.. math:: E f_i f_j = \prod_g E \cos(w_{gi} \cdot D_g) \cos(w_{gj} \cdot D_g),

and by the order every pair of one group meets every pair of another equally often: the mean over
the pairs is the product of the means A_g of the groups.  A_g is known from the exact variance v_g
of the coupling for the group alone (:mod:`rf.variance.variance`), since
:math:`n (v_g + \tilde k_g^2) = E \cos^2 + (n - 1) A_g`, and the variance of the part is

.. math:: m^2 \Bigl[\frac{1 + \prod_g \tilde k_g(2 z_g)}{2n} + \frac{n - 1}{n} \prod_g A_g
          - \prod_g \tilde k_g(z_g)^2\Bigr].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np

from rf.inputs.rows import sample_of_rows, typical_differences
from rf.sampling.coupling import Request
from rf.sampling.couplings import COUPLINGS
from rf.sampling.frequencies import Frequencies, pooled_frequencies
from rf.sampling.radii import RADII, Radii
from rf.schemes.feature_map import FeatureMap, FourierMap
from rf.schemes.scheme import (
    RANKED_PAIRS,
    SIZED_PAIRS,
    STATED_PAIRS,
    FeaturePlan,
    Scheme,
    check_within,
    checked_differences,
    relative_error,
)
from rf.variance.allocation import Allocation, apportion
from rf.variance.coupling_score import Plan, candidates
from rf.variance.radii.radial_means import MEAN_ERROR
from rf.variance.variance import VarianceModel
from spectra.base.arrays import FloatArray
from spectra.table import GroupedTable, Part, SpectralTable

__all__ = ["GroupedModel", "GroupedPlan", "allocated_to_groups", "draw_grouped", "plan_groups"]

# With more parts than this "auto" does not compare couplings, each of which is integrated for each
# part, and takes orthogonal directions, whose variance is never far from the least.
_COMPARED_PARTS = 12


def draw_grouped(
    table: GroupedTable,
    counts: Sequence[int],
    *,
    coupling: str,
    radii: Radii,
    rng: np.random.Generator,
) -> Frequencies:
    """Draw frequencies of every part, each with exactly the law of its part.

    Parameters
    ----------
    table : GroupedTable
    counts : sequence of int
        Frequencies of each part.
    coupling, radii : str
        As in :func:`rf.draw_frequencies`, within each group.
    rng : Generator

    Raises
    ------
    ParameterError
        For a coupling across parts.
    """
    check_within(coupling, _said(table))
    total = sum(counts)
    frequencies = np.zeros((total, table.dim))
    first = 0
    for part, n in zip(table.parts, counts, strict=True):
        rows = np.arange(first, first + n)
        for group, own in part.factors:
            dim = len(table.groups[group].columns)
            asked = Request([n], dim, 1, RADII[radii], rng)
            ((u, directions),) = COUPLINGS[coupling].draw(asked)
            signs = rng.choice([-1.0, 1.0], size=n)
            of_group = (signs * own.law.ppf(u[0]))[:, None] * directions[0]
            table.place(frequencies, rows, group, of_group[rng.permutation(n)])
        first += n
    weights = np.repeat([p.mass / n for p, n in zip(table.parts, counts, strict=True)], counts)
    phases = np.repeat([p.phase for p in table.parts], counts)
    return Frequencies(frequencies, weights, phases, np.repeat(np.arange(len(counts)), counts))


@final
@dataclass(frozen=True, eq=False)
class GroupedModel:
    """The exact variance at differences D.

    Attributes
    ----------
    table : GroupedTable
    differences : ndarray of shape (m, d)
    rough : bool
        To two percent where radii have strata, and much faster, with no error known: for plans.
    """

    table: GroupedTable
    differences: FloatArray
    rough: bool = False

    @cached_property
    def masses(self) -> FloatArray:
        """The mass of each part."""
        return np.array([p.mass for p in self.table.parts])

    @cached_property
    def _factors(self) -> list[list[_GroupWaves]]:
        """The waves of the factors of each part; a part of the law of a group is looked at once."""
        known: dict[tuple[int, int], _GroupWaves] = {}
        for part in self.table.parts:
            for group, own in part.factors:
                if (group, id(own)) not in known:
                    z = self.table.groups[group].distances(self.differences)
                    law = self.table.law_of(group)
                    known[group, id(own)] = _GroupWaves.of(law, own, z, rough=self.rough)
        return [[known[group, id(own)] for group, own in p.factors] for p in self.table.parts]

    @cached_property
    def _means(self) -> tuple[FloatArray, FloatArray]:
        """E cos and E cos^2 of one frequency of each part, shape (parts, m)."""
        ones = np.ones(len(self.differences))
        single = [prod((wave.single for wave in waves), start=ones) for waves in self._factors]
        double = [prod((wave.double for wave in waves), start=ones) for waves in self._factors]
        return np.array(single), 0.5 * (1.0 + np.array(double))

    @property
    def part_variance(self) -> FloatArray:
        """Variance of one frequency of each part, mass squared included: shape (parts, m)."""
        mean, square = self._means
        return np.asarray(self.masses[:, None] ** 2 * (square - mean**2))

    @property
    def kernel(self) -> FloatArray:
        """The kernel of the table at the differences."""
        signs = np.array([p.sign for p in self.table.parts])
        return np.asarray((signs * self.masses) @ self._means[0])

    def variance(
        self, counts: Sequence[int], *, coupling: str, radii: Radii
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each difference, and a bound of its numerical error."""
        check_within(coupling, _said(self.table))
        mean, square = self._means
        total = np.zeros(len(self.differences))
        error = np.zeros_like(total)
        for p, (waves, n) in enumerate(zip(self._factors, counts, strict=True)):
            if not waves:  # a constant has no variance
                continue
            value = square[p] / n - mean[p] ** 2
            lost = np.full_like(value, 4.0 * len(waves) * MEAN_ERROR)
            if n > 1:
                pairs = [wave.pairs(n, coupling, radii) for wave in waves]
                product = prod((a for a, _ in pairs), start=np.ones_like(value))
                # The mean of a product of cosines is at most 1.
                lost += sum(bound for _, bound in pairs)
                value = value + (n - 1) / n * product
            total += self.masses[p] ** 2 * value
            error += self.masses[p] ** 2 * lost
        return total, error

    def pooled_variance(self, n: int) -> FloatArray:
        """Variance of n independent frequencies, each of a part that is drawn by mass."""
        _, square = self._means
        total = float(self.masses.sum())
        return np.asarray((total * (self.masses @ square) - self.kernel**2) / n)


@final
@dataclass(frozen=True, eq=False)
class _GroupWaves:
    """The waves of one part of the law of a group, at the distances of the group.

    Attributes
    ----------
    model : VarianceModel
        Of the part alone, with mass 1.
    single, double : ndarray of shape (m,)
        E cos(w.D) and E cos(2 w.D).
    rough : bool
    """

    model: VarianceModel
    single: FloatArray
    double: FloatArray
    rough: bool

    @classmethod
    def of(cls, law: SpectralTable, part: Part, z: FloatArray, *, rough: bool) -> _GroupWaves:
        unit = replace(part, mass=1.0, mass_error=0.0, phase=0.0)
        model = VarianceModel(replace(law, parts=(unit,), k_zero=1.0, bias=0.0), z)
        if rough:
            single = model.rough_kernel
            double = 2.0 * (model.rough_part_variance[0] + single**2) - 1.0
        else:
            waves = part.law.expected_plane_wave(law.dim, np.concatenate([z, 2.0 * z]))
            single, double = waves[: z.size], waves[z.size :]
        return cls(model, single, double, rough)

    def pairs(self, n: int, coupling: str, radii: Radii) -> tuple[FloatArray, FloatArray]:
        """The mean of cos cos over the pairs of n frequencies, and a bound of its error."""
        if coupling == "iid" and radii == "iid":
            return self.single**2, np.full_like(self.single, 2.0 * MEAN_ERROR)
        if self.rough:
            value = self.model.rough_variance((n,), coupling=coupling, radii=radii)
            error = np.zeros_like(value)
        else:
            value, error = self.model.variance((n,), coupling=coupling, radii=radii)
        product = (n * (value + self.single**2) - 0.5 * (1.0 + self.double)) / (n - 1)
        return product, n / (n - 1) * (error + 4.0 * MEAN_ERROR)


@final
@dataclass(frozen=True, eq=False)
class GroupedPlan(FeaturePlan):
    """Frequencies of the parts of a kernel of groups of columns.

    Attributes
    ----------
    table, coupling, counts, compared :
        As in :class:`rf.schemes.scheme.FeaturePlan`.
    rows : ndarray or sparse array
        A sample of the rows, which stands for all.
    n_rows : int
    pooled : bool
        Whether each frequency is of a part that is drawn, as there are more parts than frequencies.
    """

    table: GroupedTable  # type: ignore[assignment]
    coupling: str
    counts: tuple[int, ...]
    compared: tuple[Plan, ...]
    rows: Any
    n_rows: int
    pooled: bool = False
    decomposition: str = "grouped"

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        if self.pooled:
            drawn = pooled_frequencies(self.table, sum(self.counts), rng)
        else:
            drawn = draw_grouped(
                self.table, self.counts, coupling=self.coupling, radii=radii, rng=rng
            )
        return FourierMap.of(drawn, min(n_columns, 2 * len(drawn)), rng, signed=True)

    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        return self._variance(GroupedModel(self.table, checked_differences(self.table, z)), radii)

    def _variance(self, model: GroupedModel, radii: Radii) -> FloatArray:
        if self.pooled:
            return model.pooled_variance(sum(self.counts))
        return model.variance(self.counts, coupling=self.coupling, radii=radii)[0]

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        model = GroupedModel(self.table, typical_differences(self.rows, STATED_PAIRS), rough=True)
        wrong = extra_variance + self.table.bias**2
        # Rows that are equal have no error, but where the parts are pooled.
        alone = np.zeros((1, self.table.dim))
        own = self._variance(GroupedModel(self.table, alone), radii) if self.pooled else [0.0]
        diagonal = float(own[0]) + wrong, self.table.k_zero
        many = GroupedModel(self.table, typical_differences(self.rows, SIZED_PAIRS), rough=True)
        mean_square = float(np.mean(many.kernel**2))
        square = self._variance(model, radii) + wrong
        return relative_error(square, mean_square, diagonal, self.n_rows)

    def explain(self) -> str:
        masses = ", ".join(f"{p.mass:.4g}" for p in self.table.parts)
        how = (
            f"Drawn from the tables of {len(self.table.laws)} law(s) of groups of columns with "
            f"coupling {self.coupling!r} in each: {self.counts} frequencies for parts of mass "
            f"{masses}."
        )
        if self.compared:
            # A variance that is zero up to rounding can come out below it.
            told = (f"{p.coupling} {max(p.variance, 0.0) ** 0.5:.3g}" for p in self.compared)
            how += "\nPredicted root mean square error: " + ", ".join(told) + "."
        return how


def plan_groups(table: GroupedTable, n: int, scheme: Scheme, X: Any) -> GroupedPlan:
    """Choose the coupling and the frequencies of each part, for the rows X.

    Raises
    ------
    ParameterError
        For a coupling across parts.
    """
    rows, n_rows = sample_of_rows(X), X.shape[0]
    if scheme.coupling != "auto":
        check_within(scheme.coupling, _said(table))
    if len(table.parts) > n:
        return GroupedPlan(table, "iid", (n,), (), rows, n_rows, pooled=True)
    model = GroupedModel(table, typical_differences(rows, RANKED_PAIRS), rough=True)
    counts = allocated_to_groups(model, n, scheme.allocation)
    if scheme.coupling != "auto" or len(table.parts) > _COMPARED_PARTS:
        coupling = "orthogonal" if scheme.coupling == "auto" else scheme.coupling
        return GroupedPlan(table, coupling, counts, (), rows, n_rows)
    widest = max((len(group.columns) for group in table.groups), default=1)
    compared = sorted(
        (
            Plan(
                name,
                counts,
                float(np.mean(model.variance(counts, coupling=name, radii=scheme.radii)[0])),
            )
            for name in candidates(1, n)
            if name == "iid" or any(COUPLINGS[name].gains(m, widest) for m in counts)
        ),
        key=lambda plan: plan.variance,
    )
    return GroupedPlan(table, compared[0].coupling, counts, tuple(compared), rows, n_rows)


def allocated_to_groups(model: GroupedModel, n: int, allocation: Allocation) -> tuple[int, ...]:
    """The split over the parts; "optimal" is Neyman's for independent frequencies.

    A constant has no variance: one frequency is all that it needs.
    """
    moving = np.array([bool(p.factors) for p in model.table.parts])
    if allocation == "equal":
        sizes = np.ones(moving.size)
    elif allocation == "mass":
        sizes = model.masses
    else:
        # A variance that is zero up to rounding can come out below it.
        mean = np.mean(model.part_variance, axis=1)
        sizes = np.sqrt(np.where(mean > 0.0, mean, 0.0))
    return apportion(np.where(moving, sizes, 0.0), n)


def _said(table: GroupedTable) -> str:
    return f"{table.formula}, a kernel of groups of columns"

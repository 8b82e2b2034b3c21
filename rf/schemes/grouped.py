r"""Kernels of groups of columns: draws of frequencies, and their exact variance.

A part of a product has the frequencies w = (w_g), one for each of its groups, and

.. math:: \hat k = \sum_p s_p \frac{m_p}{n_p} \sum_{i \le n_p} f_i,
          \qquad f_i = \cos\Bigl(\sum_g w_{gi} \cdot D_g\Bigr).

Each group draws its n_p frequencies by the coupling, gives each of them a random sign and puts
them in a random order, independently of the other groups.  The signs make the sines vanish in the
mean, so that for two frequencies i and j

.. math:: E f_i f_j = \prod_g E \cos(w_{gi} \cdot D_g) \cos(w_{gj} \cdot D_g),

and the random order combines every pair of one group with every pair of another equally often: the
mean over the pairs is the product of the means A_g of the groups.  A_g follows from the exact
variance v_g of the coupling for the group alone (:mod:`rf.variance.variance`), since
:math:`n (v_g + \tilde k_g^2) = E \cos^2 + (n - 1) A_g`, and the variance of the part is

.. math:: m^2 \Bigl[\frac{1 + \prod_g \tilde k_g(2 z_g)}{2n} + \frac{n - 1}{n} \prod_g A_g
          - \prod_g \tilde k_g(z_g)^2\Bigr].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

import numpy as np

from rf.sampling.frequencies import COUPLINGS, RADII, Frequencies, Radii
from rf.variance.pairs import MEAN_ERROR
from rf.variance.variance import PartModel, VarianceModel
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable, table_of_group

__all__ = ["GroupedModel", "draw_grouped"]


def draw_grouped(
    table: SpectralTable,
    counts: Sequence[int],
    *,
    coupling: str,
    radii: Radii,
    rng: np.random.Generator,
) -> Frequencies:
    """Draw frequencies of every part, each with exactly the distribution of its part.

    ``counts``: frequencies of each part; ``coupling``, ``radii``: as in
    :func:`rf.draw_frequencies`, within each group.
    """
    total = sum(counts)
    frequencies = np.zeros((total, table.dim))
    first = 0
    for part, n in zip(table.parts, counts, strict=True):
        rows = frequencies[first : first + n]
        for group in part.groups:
            dim = len(group.columns)
            drawn = COUPLINGS[coupling].draw([n], dim, rng, radii=RADII[radii])
            ((u, directions),) = drawn
            signs = rng.choice([-1.0, 1.0], size=n)
            of_group = (signs * group.law.ppf(u[0]))[:, None] * directions[0]
            group.add_frequencies(rows, of_group[rng.permutation(n)])
        first += n
    weights = np.repeat([p.mass / n for p, n in zip(table.parts, counts, strict=True)], counts)
    phases = np.repeat([p.phase for p in table.parts], counts)
    return Frequencies(frequencies, weights, phases, np.repeat(np.arange(len(counts)), counts))


@final
@dataclass(frozen=True, eq=False)
class GroupedModel(PartModel):
    """The exact variance at differences D.

    ``differences`` (m, d); ``approximate``: see :class:`rf.variance.variance.VarianceModel`.
    """

    table: SpectralTable
    differences: FloatArray
    approximate: bool = False

    @property
    def varying(self) -> FloatArray:
        return np.array([bool(p.groups) for p in self.table.parts])

    @property
    def coupled_dim(self) -> int:
        return max((len(g.columns) for p in self.table.parts for g in p.groups), default=1)

    @cached_property
    def _factors(self) -> list[list[VarianceModel]]:
        """For each part the variance models of its groups, each of mass 1."""
        groups = {group for part in self.table.parts for group in part.groups}
        known = {
            g: VarianceModel(table_of_group(g), g.distances(self.differences), self.approximate)
            for g in groups
        }
        return [[known[group] for group in part.groups] for part in self.table.parts]

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        ones = np.ones(len(self.differences))
        single, double = [], []
        for models in self._factors:
            means = [model.means for model in models]
            single.append(prod((mean[0] for mean, _ in means), start=ones))
            double.append(prod((2.0 * square[0] - 1.0 for _, square in means), start=ones))
        return np.array(single), 0.5 * (1.0 + np.array(double))

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each difference, and a bound of its numerical error."""
        mean, square = self.means
        total = np.zeros(len(self.differences))
        error = np.zeros_like(total)
        for p, (models, n) in enumerate(zip(self._factors, n_per_part, strict=True)):
            if not models:  # a constant has no variance
                continue
            value = square[p] / n - mean[p] ** 2
            bound = np.full_like(value, 4.0 * len(models) * MEAN_ERROR)
            if n > 1:
                pairs = [_mean_of_pairs(model, n, coupling, radii) for model in models]
                product = prod((a for a, _ in pairs), start=np.ones_like(value))
                # The mean of a product of cosines is at most 1.
                bound += sum(pair_error for _, pair_error in pairs)
                value = value + (n - 1) / n * product
            total += self.masses[p] ** 2 * value
            error += self.masses[p] ** 2 * bound
        return total, error


def _mean_of_pairs(
    model: VarianceModel, n: int, coupling: str, radii: Radii
) -> tuple[FloatArray, FloatArray]:
    """The mean of cos cos over the pairs of n frequencies of a group, and a bound of its error."""
    (mean,), (square,) = model.means
    if coupling == "iid" and radii == "iid":
        return mean**2, np.full_like(mean, 2.0 * MEAN_ERROR)
    value, error = model.variance((n,), coupling=coupling, radii=radii)
    if model.approximate:
        error = np.zeros_like(value)
    product = (n * (value + mean**2) - square) / (n - 1)
    return product, n / (n - 1) * (error + 4.0 * MEAN_ERROR)

r"""Products of kernels of groups of columns: draws of frequencies, and their exact variance.

Part p, of mass m_p and sign s_p, is a product over groups g of columns, and its n_p frequencies are
w = (w_g).  With D_g, the coordinates of a difference D in the group, the estimate is

.. math:: \hat k = \sum_p s_p \frac{m_p}{n_p} \sum_{i \le n_p} f_i,
          \qquad f_i = \cos\Bigl(\sum_g w_{gi} \cdot D_g\Bigr).

Each group draws n_p frequencies with the coupling, gives each a random sign and puts them in a
random order, independently of the other groups.  Because of the signs, the means of the sines are
0, so that for two frequencies i and j

.. math:: E f_i f_j = \prod_g E \cos(w_{gi} \cdot D_g) \cos(w_{gj} \cdot D_g),

and because of the random order, the mean over all pairs i != j is the product of the means A_g of
the groups.  A_g follows from the exact variance v_g of the coupling for the group alone
(:mod:`rf.variance.variance`), since :math:`n (v_g + \tilde k_g^2) = E \cos^2 + (n - 1) A_g` with
the kernel :math:`\tilde k_g` of the group, normalised to 1 at 0, and z_g = |D_g|.  The variance of
a part is

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
from rf.variance.variance import BaseVarianceModel, VarianceModel
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
    """Draw frequencies of every part, each exactly from the distribution of its part.

    ``counts``: frequencies of each part; ``coupling``, ``radii``: as in
    :func:`rf.draw_frequencies`, within each group.
    """
    frequencies = np.zeros((sum(counts), table.dim))
    chosen, first = COUPLINGS[coupling], 0
    for part, n in zip(table.parts, counts, strict=True):
        rows = frequencies[first : first + n]
        for group in part.groups:
            dim = len(group.columns)
            ((u, directions),) = chosen.draw([n], dim, rng, radii=RADII[radii])
            signs = rng.choice([-1.0, 1.0], size=n)
            w_group = (signs * group.law.ppf(u[0]))[:, None] * directions[0]
            group.add_frequencies(rows, w_group[rng.permutation(n)])
        first += n
    weights = np.repeat([p.mass / n for p, n in zip(table.parts, counts, strict=True)], counts)
    phases = np.repeat([p.phase for p in table.parts], counts)
    return Frequencies(frequencies, weights, phases, np.repeat(np.arange(len(counts)), counts))


@final
@dataclass(frozen=True, eq=False)
class GroupedModel(BaseVarianceModel):
    """The exact variance of a grouped kernel.

    ``differences``: D, shape (m, d); ``approximate``: as in :class:`rf.variance.VarianceModel`.
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
    def _group_models(self) -> list[list[VarianceModel]]:
        """For each part the variance models of its groups, with mass 1."""
        groups = {group for part in self.table.parts for group in part.groups}
        models = {
            g: VarianceModel(table_of_group(g), g.distances(self.differences), self.approximate)
            for g in groups
        }
        return [[models[group] for group in part.groups] for part in self.table.parts]

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        ones = np.ones(len(self.differences))
        mean, mean_at_2d = [], []
        for models in self._group_models:
            means = [model.means for model in models]
            mean.append(prod((of_cos[0] for of_cos, _ in means), start=ones))
            mean_at_2d.append(prod((2.0 * square[0] - 1.0 for _, square in means), start=ones))
        return np.array(mean), 0.5 * (1.0 + np.array(mean_at_2d))

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each difference, and a bound of its numerical error."""
        mean, square = self.means
        total = np.zeros(len(self.differences))
        error = np.zeros_like(total)
        for p, (models, n) in enumerate(zip(self._group_models, n_per_part, strict=True)):
            if not models:  # a constant has no variance
                continue
            value = square[p] / n - mean[p] ** 2
            bound = np.full_like(value, 4.0 * len(models) * MEAN_ERROR)
            if n > 1:
                pairs = [_mean_over_pairs(model, n, coupling, radii) for model in models]
                product = prod((mean for mean, _ in pairs), start=np.ones_like(value))
                # Each |mean| is at most 1, so that the errors add up.
                bound += sum(pair_error for _, pair_error in pairs)
                value = value + (n - 1) / n * product
            total += self.masses[p] ** 2 * value
            error += self.masses[p] ** 2 * bound
        return total, error


def _mean_over_pairs(
    model: VarianceModel, n: int, coupling: str, radii: Radii
) -> tuple[FloatArray, FloatArray]:
    """A_g: mean product of the cosines of two of n frequencies; a bound of its error."""
    (mean,), (square,) = model.means
    if coupling == "iid" and radii == "iid":
        return mean**2, np.full_like(mean, 2.0 * MEAN_ERROR)
    value, error = model.variance((n,), coupling=coupling, radii=radii)
    if model.approximate:  # error bounds are not computed
        error = np.zeros_like(value)
    mean_product = (n * (value + mean**2) - square) / (n - 1)
    return mean_product, n / (n - 1) * (error + 4.0 * MEAN_ERROR)

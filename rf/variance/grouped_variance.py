r"""The exact variance for kernels of groups of columns.

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
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

import numpy as np

from rf.sampling.coupling import Radii
from rf.variance.radii.pair_covariances import MEAN_ERROR
from rf.variance.variance import PartModel, VarianceModel
from spectra.base.arrays import FloatArray
from spectra.table import Group, SpectralTable, table_of_group

__all__ = ["GroupedModel"]


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
    def width(self) -> int:
        return max((len(g.columns) for p in self.table.parts for g in p.groups), default=1)

    @cached_property
    def _factors(self) -> list[list[_GroupWaves]]:
        """The waves of the factors of each part, computed once for each part of a group."""
        groups = {group for part in self.table.parts for group in part.groups}
        known = {
            group: _GroupWaves.of(group, self.differences, approximate=self.approximate)
            for group in groups
        }
        return [[known[group] for group in part.groups] for part in self.table.parts]

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        ones = np.ones(len(self.differences))
        single = [prod((wave.single for wave in waves), start=ones) for waves in self._factors]
        double = [prod((wave.double for wave in waves), start=ones) for waves in self._factors]
        return np.array(single), 0.5 * (1.0 + np.array(double))

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each difference, and a bound of its numerical error."""
        mean, square = self.means
        total = np.zeros(len(self.differences))
        error = np.zeros_like(total)
        for p, (waves, n) in enumerate(zip(self._factors, n_per_part, strict=True)):
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


@final
@dataclass(frozen=True, eq=False)
class _GroupWaves:
    """The waves of one part of the law of a group, at the distances of the group.

    ``model``: of the part alone, with mass 1; ``single``, ``double`` (m,): E cos(w.D) and E cos(2
    w.D).
    """

    model: VarianceModel
    single: FloatArray
    double: FloatArray

    @classmethod
    def of(cls, group: Group, differences: FloatArray, *, approximate: bool) -> _GroupWaves:
        model = VarianceModel(table_of_group(group), group.distances(differences), approximate)
        (single,), (square,) = model.means
        return cls(model, single, 2.0 * square - 1.0)

    def pairs(self, n: int, coupling: str, radii: Radii) -> tuple[FloatArray, FloatArray]:
        """The mean of cos cos over the pairs of n frequencies, and a bound of its error."""
        if coupling == "iid" and radii == "iid":
            return self.single**2, np.full_like(self.single, 2.0 * MEAN_ERROR)
        value, error = self.model.variance((n,), coupling=coupling, radii=radii)
        if self.model.approximate:
            error = np.zeros_like(value)
        product = (n * (value + self.single**2) - 0.5 * (1.0 + self.double)) / (n - 1)
        return product, n / (n - 1) * (error + 4.0 * MEAN_ERROR)

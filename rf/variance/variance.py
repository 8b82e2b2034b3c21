r"""The exact variance of the random-feature estimate of a kernel, for every coupling.

A table is a sum of parts with masses m_p and signs s_p; the estimate at a distance z is

.. math:: \hat k = \sum_p s_p \frac{m_p}{n_p} \sum_{i \le n_p} \cos(R_{pi} z\, u_{pi} \cdot e),

with radii R of the laws of the parts and uniform unit directions u.  Its variance is

.. math:: \sum_p \frac{m_p^2}{n_p} \Bigl[\frac{1 + \tilde k_p(2z)}{2} - \tilde k_p(z)^2\Bigr]
          + \sum_{(p,i) \ne (q,j)} s_p s_q \frac{m_p m_q}{n_p n_q} C_{pi,qj}(z),

and for two directions with a random cosine c and independent radii

.. math:: C(z) = \sum_{n = 2, 4, \dots} H_n^p H_n^q\, E P_n(c), \qquad H_n^p = E g_n(R_p z),

with the normalised wave coefficients g_n of :mod:`spectra.base.special.harmonics`.  For c = 0 the
sum is E Omega_d(z sqrt(R^2 + R'^2)) - E Omega_d(R z) E Omega_d(R' z): the statement of Choromanski
et al. (2018) and of Luo et al. (2021), Theorem 5, there with the opposite sign.

For dependent radii or shifted kernels, E[g_n g_n'] takes the place of the product H_n H_n',

.. math:: C = \sum_{n \ge 0 \text{ even}} E[g_n(R |v|)\, g_n(R' |v'|)]\;
              P_n(\cos\angle(v, v'))\; E P_n(c) - E g_0\, E g_0' :

radii in strata are drawn without replacement (:mod:`rf.variance.projection`), and the waves of a
shifted kernel depend on several vectors v; a radial kernel has one, the difference itself
(:mod:`rf.variance.pairs`).

In dimension 1 a cosine does not see its direction, so every coupling of directions is iid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from rf.sampling.coupling import RADII, CosineLaw, Coupling, Pairs, Radii, dependent_pairs
from rf.sampling.frequencies import COUPLINGS
from rf.variance.pairs import MEAN_ERROR, PairCovariances, Vectors
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import Part, SpectralTable

__all__ = ["PartModel", "VarianceModel"]


class PartModel(ABC):
    """The variance of the estimate at given points, as a function of the frequencies of each part.

    ``approximate``: whether about two percent are enough, to compare couplings and to state an
    error.
    """

    table: Any
    approximate: bool

    @property
    @abstractmethod
    def means(self) -> tuple[FloatArray, FloatArray]:
        """E X and E X^2 of one frequency of each part, of mass 1: shapes (parts, points)."""

    @abstractmethod
    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each point, and a bound of its numerical error."""

    @cached_property
    def signs(self) -> FloatArray:
        """The sign of each part: cos(phase)."""
        return np.array([p.sign for p in self.table.parts])

    @cached_property
    def masses(self) -> FloatArray:
        """The mass of each part."""
        return np.array([float(p.mass) for p in self.table.parts])

    @property
    def bounds(self) -> FloatArray:
        """Bound of |X| of each part, of mass 1."""
        return np.ones(self.masses.size)

    @property
    def approximation(self) -> PartModel:
        """The approximate model at the same points, if there is one."""
        return self

    @property
    def varying(self) -> FloatArray:
        """Whether each part has a variance at all: a constant does not."""
        return np.ones(self.masses.size, dtype=bool)

    @property
    def coupled_dim(self) -> int:
        """The largest dimension of directions that are coupled."""
        return int(self.table.dim)

    @cached_property
    def part_variance(self) -> FloatArray:
        """Variance of one frequency of each part, mass squared included: (parts, points)."""
        mean, square = self.means
        return np.asarray(self.masses[:, None] ** 2 * (square - mean**2))

    @property
    def kernel(self) -> FloatArray:
        """The kernel of the table at the points."""
        return np.asarray((self.signs * self.masses) @ self.means[0])

    def pooled_variance(self, n: int) -> FloatArray:
        """Variance of n independent frequencies, each of a random part.

        Part p has the probability q_p ~ m_p * bounds[p]: the mean of X = m_p cos(...) / q_p.
        """
        mean, square = self.means
        share = self.masses * self.bounds / np.sum(self.masses * self.bounds)
        total = (self.signs * self.masses) @ mean
        return np.asarray(((self.masses**2 / share) @ square - total**2) / n)

    def mean_variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> float:
        """Mean of the variance over the points: the expected squared error of a Gram matrix."""
        return float(np.mean(self.variance(n_per_part, coupling=coupling, radii=radii)[0]))


@final
@dataclass(frozen=True, eq=False)
class VarianceModel(PartModel):
    r"""All that the variance at given points needs, so that many splits are cheap.

    A draw of a shifted part :math:`m \sum_j c_j\, k(D + t_j e)` is
    :math:`m \sum_j c_j \cos(w \cdot v_j)` with v_j = D + t_j e and w of the radial law, so that
    every coupling within the parts applies, with the vectors v_j in place of D.

    ``table``: of radial or shifted parts; ``points``: distances, or differences of shape (n, d) if
    parts are shifted; ``approximate``: use tabulated means of the waves, right to 1e-9, and at most
    64 strata in place of more, since n times the variance hardly depends on their number.  No error
    is known.
    """

    table: SpectralTable
    points: FloatArray
    approximate: bool = False

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=float)
        points = points if points.ndim == 2 else points.ravel()
        good = np.isfinite(points) & ((points >= 0) | (points.ndim == 2))
        if not np.all(good):
            raise ParameterError(
                "The variance was asked for at a distance that is negative or not finite: "
                f"{points[~good][0]}. Distances are finite and at least 0."
            )
        object.__setattr__(self, "points", points)

    @cached_property
    def z(self) -> FloatArray:
        """The distances."""
        points = self.points
        return points if points.ndim == 1 else np.linalg.norm(points, axis=1)

    @cached_property
    def approximation(self) -> Self:
        """The approximate model at the same points."""
        return self if self.approximate else replace(self, approximate=True)

    @cached_property
    def bounds(self) -> FloatArray:
        """Bound of the wave of a part of mass 1."""
        return np.array([p.kernel_bound for p in self.table.parts])

    @cached_property
    def _vectors(self) -> list[Vectors]:
        """The vectors v_j and the weights c_j of the waves of every part."""
        parts = self.table.parts
        if self.points.ndim == 1:
            return [(self.z[:, None], np.ones(1))] * len(parts)
        D = self.points[:, None, :]
        return [
            (D, np.ones(1)) if p.shifts is None else (D + p.shifts.offsets, p.shifts.weights)
            for p in parts
        ]

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        parts = range(len(self.table.parts))
        return self._first_means, np.array([self._mean_square(number) for number in parts])

    @cached_property
    def _first_means(self) -> FloatArray:
        """E X: the sum of c_j k~(|v_j|)."""
        return np.array(
            [
                self._wave(number, v if v.ndim == 2 else np.linalg.norm(v, axis=-1)) @ weights
                for number, (v, weights) in enumerate(self._vectors)
            ]
        )

    @property
    def kernel(self) -> FloatArray:
        """The kernel at the points, without E X^2, which takes all pairs of shifts."""
        return np.asarray((self.signs * self.masses) @ self._first_means)

    def _mean_square(self, number: int) -> FloatArray:
        """E X^2: half the sum of c_j c_k [k~(|v_j + v_k|) + k~(|v_j - v_k|)]."""
        v, weights = self._vectors[number]
        if v.ndim == 2:
            return 0.5 * (1.0 + self._wave(number, 2.0 * v[:, 0]))
        products, total = np.multiply.outer(weights, weights), np.zeros(len(v))
        for sign in (1.0, -1.0):
            both = np.linalg.norm(v[:, :, None, :] + sign * v[:, None, :, :], axis=-1)
            total += 0.5 * np.einsum("jk,mjk->m", products, self._wave(number, both))
        return total

    def _wave(self, number: int, z: FloatArray) -> FloatArray:
        if self.approximate:
            return self._pairs.mean_waves(number, z)
        part: Part = self.table.parts[number]
        return part.plane_wave(self.table.dim, z)[0]

    @cached_property
    def _pairs(self) -> PairCovariances:
        laws = [part.law for part in self.table.parts]
        return PairCovariances(self.table.dim, laws, self._vectors, self.approximate)

    def covariance(
        self, first: int, second: int, cosine: CosineLaw
    ) -> tuple[FloatArray, FloatArray]:
        """Covariance of two cosines of the given parts (without masses), and a bound of its error.

        The error of an approximate one is not known and stated as 0.
        """
        return self._pairs.covariance(first, second, cosine)

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each distance, and a bound of its numerical error."""
        counts = _check_counts(n_per_part, len(self.table.parts))
        chosen = self._coupling(coupling)
        _check_radii(radii)
        if not self.z.size:
            return np.zeros(0), np.zeros(0)
        total = np.sum(self.part_variance / np.array(counts)[:, None], axis=0)
        scale = float(np.sum((self.bounds * self.masses) ** 2 / np.array(counts)))
        errors = np.full_like(self.z, scale * 4 * MEAN_ERROR)
        strata: dict[int, list[Pairs]] = {}
        if radii == "stratified":
            strata = {p: [] for p, n in enumerate(counts) if n > 1}
        for p, q, pair in dependent_pairs(chosen, counts, self.table.dim):
            if p == q and p in strata:
                strata[p].append(pair)
                continue
            weight = self._weight(p, q, pair.count, counts)
            value, bound = self.covariance(p, q, pair.cosine)
            total = total + weight * value
            errors = errors + abs(weight) * bound
        for p, coupled in strata.items():
            more, bound = self._strata(p, coupled, counts)
            total, errors = total + more, errors + bound
        return total, errors

    def _weight(self, p: int, q: int, count: int, counts: Sequence[int]) -> float:
        """What one covariance counts in the variance: pairs, masses, signs, both orders."""
        both = (1.0 if p == q else 2.0) * count / (counts[p] * counts[q])
        return float(both * self.masses[p] * self.masses[q] * self.signs[p] * self.signs[q])

    def _strata(
        self, p: int, coupled: list[Pairs], counts: tuple[int, ...]
    ) -> tuple[FloatArray, FloatArray]:
        """What the pairs i != j of a part add whose radii come from strata."""
        n = counts[p]
        cosines = [pair.cosine for pair in coupled]
        (value, bound), *angular = self._pairs.strata(p, n, cosines)
        weight = self._weight(p, p, n * (n - 1), counts)
        total = weight * (value - self.means[0][p] ** 2)
        errors = abs(weight) * (bound + 4 * MEAN_ERROR * self.bounds[p] ** 2)
        for pair, (value, bound) in zip(coupled, angular, strict=True):
            weight = self._weight(p, p, pair.count, counts)
            total = total + weight * value
            errors = errors + abs(weight) * bound
        return total, errors

    def _coupling(self, name: str) -> Coupling:
        if name not in COUPLINGS:
            raise ParameterError(
                f"There is no coupling {name!r}; choose one of {', '.join(COUPLINGS)}."
            )
        if self.points.ndim == 2 and COUPLINGS[name].across_parts:
            raise ParameterError(
                f"The coupling {name!r} makes frequencies of different parts dependent, and the "
                "covariance of their waves is known for radial kernels: these parts are shifted "
                "by vectors of their own. Take a coupling within each part."
            )
        return COUPLINGS[name]


def _check_counts(n_per_part: Sequence[int], parts: int) -> tuple[int, ...]:
    counts = tuple(int(n) for n in n_per_part)
    if len(counts) != parts or min(counts) < 1:
        raise ParameterError(
            f"n_per_part is {counts} for {parts} part(s). Give one number of frequencies for each "
            "part, at least 1."
        )
    return counts


def _check_radii(radii: str) -> None:
    if radii not in RADII:
        schemes = ", ".join(RADII)
        raise ParameterError(f"There is no scheme of radii {radii!r}: choose one of {schemes}.")

r"""The exact variance of the random-feature estimate of a kernel, for every coupling.

A table is a sum of parts with masses m_p and signs s_p.  With n_p frequencies of part p, the
estimate at a difference D of length z is

.. math:: \hat k = \sum_p s_p \frac{m_p}{n_p} \sum_{i \le n_p} \cos(R_{pi}\, u_{pi} \cdot D),

with radii R from the distributions of the parts and uniform unit directions u.  Let k~_p(z) be the
mean of one cosine of part p.  The variance is

.. math:: \sum_p \frac{m_p^2}{n_p} \Bigl[\frac{1 + \tilde k_p(2z)}{2} - \tilde k_p(z)^2\Bigr]
          + \sum_{(p,i) \ne (q,j)} s_p s_q \frac{m_p m_q}{n_p n_q} C_{pi,qj}(z),

with the covariances C of two cosines.  For independent radii, and directions with the cosine c,

.. math:: C(z) = \sum_{n = 2, 4, \dots} H_n^p H_n^q\, E P_n(c), \qquad H_n^p = E g_n(R_p z),

with Gegenbauer polynomials P_n, P_n(1) = 1, and the normalised coefficients g_n of a plane wave
(:mod:`spectra.base.special.harmonics`).  For c = 0 the sum is E Omega_d(z sqrt(R^2 + R'^2)) -
E Omega_d(R z) E Omega_d(R' z), Omega_d(x) = E cos(x s) for a coordinate s of u (Choromanski et al.,
2018); Theorem 5 of Luo et al. (2021) has it with the opposite sign.

For dependent radii or shifted kernels,

.. math:: C = \sum_{n \ge 0 \text{ even}} E[g_n(R |v|)\, g_n(R' |v'|)]\;
              P_n(\cos\angle(v, v'))\; E P_n(c) - E g_0\, E g_0',

summed with their weights over the vectors v = D + t_j e of a kernel with shifts t_j along an axis e
(:mod:`rf.variance.pairs`); a radial kernel has the single vector v = D.  Stratified radii are
dependent (:mod:`rf.variance.characteristic_function`).

In dimension 1 cos(w.D) does not depend on the direction +-1, so every coupling acts like "iid".
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
from spectra.table import SpectralTable

__all__ = ["BaseVarianceModel", "VarianceModel"]


class BaseVarianceModel(ABC):
    """The variance of the estimate at given points, for any numbers of frequencies of the parts.

    X is cos(w.D) for one frequency w of a part, or a weighted sum of cosines for a shifted part.
    The estimate is the sum over the parts of sign * mass * (mean of X over the frequencies).
    ``approximate``: whether an error of about two percent is accepted, to compare couplings.
    """

    table: Any
    approximate: bool

    @property
    @abstractmethod
    def means(self) -> tuple[FloatArray, FloatArray]:
        """E X and E X^2 for each part: two arrays of shape (parts, points)."""

    @abstractmethod
    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each point, and a bound of its numerical error."""

    @cached_property
    def signs(self) -> FloatArray:
        """The sign of each part, 1 or -1."""
        return np.array([p.sign for p in self.table.parts])

    @cached_property
    def masses(self) -> FloatArray:
        """The mass of each part."""
        return np.array([float(p.mass) for p in self.table.parts])

    @property
    def bounds(self) -> FloatArray:
        """Bound of |X| for each part."""
        return np.ones(self.masses.size)

    @property
    def approximation(self) -> BaseVarianceModel:
        """The approximate model at the same points; this model if there is none."""
        return self

    @property
    def varying(self) -> FloatArray:
        """For each part, whether X is random; for a constant it is not."""
        return np.ones(self.masses.size, dtype=bool)

    @property
    def coupled_dim(self) -> int:
        """Dimension of the directions that a coupling draws; for groups of columns, the largest."""
        return int(self.table.dim)

    @cached_property
    def part_variance(self) -> FloatArray:
        """Variance of mass * X for each part: (parts, points)."""
        mean, square = self.means
        return np.asarray(self.masses[:, None] ** 2 * (square - mean**2))

    @property
    def kernel(self) -> FloatArray:
        """The kernel of the table at the points."""
        return np.asarray((self.signs * self.masses) @ self.means[0])

    def pooled_variance(self, n: int) -> FloatArray:
        """Variance of the estimate from n independent frequencies, each of a random part.

        Part p is chosen with probability q_p ~ m_p * bounds[p], and contributes s_p m_p X / q_p.
        """
        mean, square = self.means
        probability = self.masses * self.bounds / np.sum(self.masses * self.bounds)
        total = (self.signs * self.masses) @ mean
        return np.asarray(((self.masses**2 / probability) @ square - total**2) / n)

    def mean_variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> float:
        """Mean of the variance over the points."""
        return float(np.mean(self.variance(n_per_part, coupling=coupling, radii=radii)[0]))


@final
@dataclass(frozen=True, eq=False)
class VarianceModel(BaseVarianceModel):
    r"""The variance of the estimate of a table with radial or shifted parts.

    All integrals are cached, so the variance for other numbers of frequencies is cheap.  A part
    with shifts t_j along e and weights c_j has :math:`X = \sum_j c_j \cos(w \cdot (D + t_j e))`.

    ``points``: distances, or differences of shape (n, d) if parts are shifted; ``approximate``: use
    interpolated plane waves, with an error of 1e-9, and at most 64 strata, since n times the
    variance hardly depends on their number n; error bounds are then not computed.
    """

    table: SpectralTable
    points: FloatArray
    approximate: bool = False

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=float)
        points = points if points.ndim == 2 else points.ravel()
        valid = np.isfinite(points) & ((points >= 0) | (points.ndim == 2))
        if not np.all(valid):
            raise ParameterError(
                "The variance was asked for at a distance that is negative or not finite: "
                f"{points[~valid][0]}. Distances are finite and at least 0."
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
        return np.array([p.kernel_bound for p in self.table.parts])

    @cached_property
    def _vectors(self) -> list[Vectors]:
        """The vectors v_j = D + t_j e and the weights c_j of every part."""
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
        return self._first_means, np.array([self._mean_square(part) for part in parts])

    @cached_property
    def _first_means(self) -> FloatArray:
        """E X: the sum of c_j k~(|v_j|)."""
        return np.array(
            [
                self._plane_wave(part, v if v.ndim == 2 else np.linalg.norm(v, axis=-1)) @ weights
                for part, (v, weights) in enumerate(self._vectors)
            ]
        )

    @property
    def kernel(self) -> FloatArray:
        # Without the means of X^2, which need all pairs of shifts.
        return np.asarray((self.signs * self.masses) @ self._first_means)

    def _mean_square(self, part: int) -> FloatArray:
        """E X^2: half the sum of c_j c_k [k~(|v_j + v_k|) + k~(|v_j - v_k|)]."""
        v, weights = self._vectors[part]
        if v.ndim == 2:
            return 0.5 * (1.0 + self._plane_wave(part, 2.0 * v[:, 0]))
        products, total = np.multiply.outer(weights, weights), np.zeros(len(v))
        for sign in (1.0, -1.0):
            lengths = np.linalg.norm(v[:, :, None, :] + sign * v[:, None, :, :], axis=-1)
            total += 0.5 * np.einsum("jk,mjk->m", products, self._plane_wave(part, lengths))
        return total

    def _plane_wave(self, part: int, z: FloatArray) -> FloatArray:
        """E cos(w.v) at lengths z = |v|."""
        if self.approximate:
            return self._pairs.plane_wave(part, z)
        return np.asarray(self.table.parts[part].plane_wave(self.table.dim, z)[0])

    @cached_property
    def _pairs(self) -> PairCovariances:
        laws = [part.law for part in self.table.parts]
        return PairCovariances(self.table.dim, laws, self._vectors, self.approximate)

    def covariance(
        self, first: int, second: int, cosine: CosineLaw
    ) -> tuple[FloatArray, FloatArray]:
        """Covariance of X for two frequencies, one of each part, and a bound of its error.

        ``cosine``: distribution of the cosine between them; the bound is 0 if approximate.
        """
        return self._pairs.covariance(first, second, cosine)[:2]

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each point, and a bound of its numerical error."""
        counts = _check_counts(n_per_part, len(self.table.parts))
        checked_coupling = self._check_coupling(coupling)
        _check_radii(radii)
        if not self.z.size:
            return np.zeros(0), np.zeros(0)
        total = np.sum(self.part_variance / np.array(counts)[:, None], axis=0)
        scale = float(np.sum((self.bounds * self.masses) ** 2 / np.array(counts)))
        errors = np.full_like(self.z, scale * 4 * MEAN_ERROR)
        stratified: dict[int, list[Pairs]] = {}
        if radii == "stratified":
            stratified = {p: [] for p, n in enumerate(counts) if n > 1}
        for p, q, pair in dependent_pairs(checked_coupling, counts, self.table.dim):
            if p == q and p in stratified:
                stratified[p].append(pair)
                continue
            weight = self._weight(p, q, pair.count, counts)
            value, bound = self.covariance(p, q, pair.cosine)
            total = total + weight * value
            errors = errors + abs(weight) * bound
        for p, pairs in stratified.items():
            value, bound = self._stratified_terms(p, pairs, counts)
            total, errors = total + value, errors + bound
        return total, errors

    def _weight(self, p: int, q: int, count: int, counts: Sequence[int]) -> float:
        """The factor of a covariance, common to ``count`` pairs, in the variance."""
        # Pairs of different parts are counted once, and have to count in both orders.
        factor = (1.0 if p == q else 2.0) * count / (counts[p] * counts[q])
        return float(factor * self.masses[p] * self.masses[q] * self.signs[p] * self.signs[q])

    def _stratified_terms(
        self, p: int, pairs: list[Pairs], counts: tuple[int, ...]
    ) -> tuple[FloatArray, FloatArray]:
        """The terms of the pairs i != j of a part with stratified radii, and their error."""
        n = counts[p]
        cosines = [pair.cosine for pair in pairs]
        (value, bound), *angular = self._pairs.terms_of_strata(p, n, cosines)
        weight = self._weight(p, p, n * (n - 1), counts)
        total = weight * (value - self.means[0][p] ** 2)
        errors = abs(weight) * (bound + 4 * MEAN_ERROR * self.bounds[p] ** 2)
        for pair, (value, bound) in zip(pairs, angular, strict=True):
            weight = self._weight(p, p, pair.count, counts)
            total = total + weight * value
            errors = errors + abs(weight) * bound
        return total, errors

    def _check_coupling(self, name: str) -> Coupling:
        if name not in COUPLINGS:
            raise ParameterError(
                f"There is no coupling {name!r}; choose one of {', '.join(COUPLINGS)}."
            )
        if self.points.ndim == 2 and COUPLINGS[name].across_parts:
            raise ParameterError(
                f"The coupling {name!r} makes frequencies of different parts dependent, and the "
                "covariance of their waves is known for radial kernels only. Take a coupling "
                "within each part."
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
        raise ParameterError(f"radii = {radii!r} is not known: choose one of {', '.join(RADII)}.")

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

In general, and in every case that is drawn, with E[g_n g_n'] in place of the product H_n H_n',

.. math:: C = \sum_{n \ge 0 \text{ even}} E[g_n(R |v|)\, g_n(R' |v'|)]\;
              P_n(\cos\angle(v, v'))\; E P_n(c) - E g_0\, E g_0' :

radii in strata are dealt without replacement (:mod:`rf.variance.radii.strata`), and waves of
shifted kernels are seen through several vectors v, which for a radial one are the difference itself
(:mod:`rf.variance.radii.pair_covariances`, :mod:`rf.variance.weighted_variance`).

In dimension 1 a cosine does not see its direction, so every coupling of directions is iid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from rf.sampling.coupling import RADII, CosineLaw, Coupling, Pairs, Radii, dependent_pairs
from rf.sampling.frequencies import COUPLINGS
from rf.variance.radii.pair_covariances import MEAN_ERROR, PairCovariances, ShiftedDifferences
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = ["PartModel", "VarianceModel"]

# Two parts, and the law of the cosine.
_Key = tuple[int, int, CosineLaw]
# An approximate variance treats more strata than this as this many.
_MOST_STRATA = 64


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
    def width(self) -> int:
        """The largest dimension in which directions are coupled."""
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
        """Variance of n independent frequencies, each of a part that is drawn by its bound.

        The mean of X = m_p cos(...) / q_p, with the part p at the probability q_p.
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


@dataclass(frozen=True, eq=False)
class VarianceModel(PartModel):
    """All that the variance at the distances ``z`` needs, so that many splits are cheap.

    ``table``: radial parts: see :mod:`rf.variance.weighted_variance` for shifted ones; ``z`` (n,):
    distances; ``approximate``: use tabulated means of the waves, right to 1e-9, and at most 64
    strata in place of more, since n times the variance hardly depends on their number.  No error is
    known.
    """

    table: SpectralTable
    z: FloatArray
    approximate: bool = False
    _covariances: dict[_Key, tuple[FloatArray, FloatArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        z = np.asarray(self.z, dtype=float).ravel()
        if not np.all((z >= 0) & np.isfinite(z)):
            raise ParameterError(
                "The variance was asked for at a distance that is negative or not finite: "
                f"{z[~((z >= 0) & np.isfinite(z))][0]}. Distances are finite and at least 0."
            )
        object.__setattr__(self, "z", z)
        for number, part in enumerate(self.table.parts):
            if part.phase not in (0.0, np.pi):
                raise ParameterError(
                    f"Part {number} has the phase {part.phase}. The variance at a distance is "
                    "known for parts of phase 0 or pi, which a radial kernel has."
                )

    @cached_property
    def approximation(self) -> Self:
        """The approximate model at the same points."""
        return self if self.approximate else replace(self, approximate=True)

    @cached_property
    def bounds(self) -> FloatArray:
        """Bound of the wave of a part of mass 1."""
        return np.array([p.wave_bound for p in self.table.parts])

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        if self.approximate:
            single, double = self._pairs.plane_waves
        else:
            single, double = (
                np.array([p.law.expected_plane_wave(self.table.dim, z) for p in self.table.parts])
                for z in (self.z, 2.0 * self.z)
            )
        return single, 0.5 * (1.0 + double)

    @property
    def kernel(self) -> FloatArray:
        if not self.approximate:
            return super().kernel
        waves = [self._pairs.mean_waves(p, self.z) for p in range(len(self.table.parts))]
        return np.asarray((self.signs * self.masses) @ np.array(waves))

    @cached_property
    def _pairs(self) -> PairCovariances:
        laws = [part.law for part in self.table.parts]
        return PairCovariances(self.table.dim, laws, [ShiftedDifferences.at(self.z)] * len(laws))

    def covariance(
        self, first: int, second: int, cosine: CosineLaw
    ) -> tuple[FloatArray, FloatArray]:
        """Covariance of two cosines of the given parts (without masses), and a bound of its error.

        The error of an approximate one is not known and stated as 0.
        """
        key = (first, second, cosine)
        if key not in self._covariances:
            self._covariances[key] = self._pairs.covariance(
                first, second, cosine, rough=self.approximate
            )
        return self._covariances[key]

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each distance, and a bound of its numerical error."""
        counts = _check_counts(n_per_part, len(self.table.parts))
        chosen = _coupling(coupling)
        _check_radii(radii)
        if not self.z.size:
            return np.zeros(0), np.zeros(0)
        total = np.sum(self.part_variance / np.array(counts)[:, None], axis=0)
        scale = float(np.sum((self.bounds * self.masses) ** 2 / np.array(counts)))
        errors = np.full_like(self.z, scale * 4 * MEAN_ERROR)
        strata: dict[int, list[Pairs]] = {}
        if radii == "stratified":
            strata = {p: [] for p, n in enumerate(counts) if n > 1}
        for p, q, pair in self._dependent(chosen, counts):
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

    def _dependent(self, coupling: Coupling, counts: Sequence[int]) -> list[tuple[int, int, Pairs]]:
        return dependent_pairs(coupling, counts, self.table.dim)

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
        if self.approximate:
            found = self._pairs.rough_strata(p, n, cosines, _MOST_STRATA)
        else:
            found = self._pairs.strata(p, n, cosines)
        (value, bound), *angular = found
        weight = self._weight(p, p, n * (n - 1), counts)
        total = weight * (value - self.means[0][p] ** 2)
        errors = abs(weight) * (bound + 4 * MEAN_ERROR * self.bounds[p] ** 2)
        for pair, (value, bound) in zip(coupled, angular, strict=True):
            weight = self._weight(p, p, pair.count, counts)
            total = total + weight * value
            errors = errors + abs(weight) * bound
        return total, errors


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


def _coupling(name: str) -> Coupling:
    if name not in COUPLINGS:
        raise ParameterError(
            f"There is no coupling {name!r}; choose one of {', '.join(COUPLINGS)}."
        )
    return COUPLINGS[name]

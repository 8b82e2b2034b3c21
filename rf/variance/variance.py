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
(:mod:`spectra.base.harmonics`).  For c = 0 the sum is E Omega_d(z sqrt(R^2 + R'^2)) -
E Omega_d(R z) E Omega_d(R' z), Omega_d(x) = E cos(x s) for a coordinate s of u (Choromanski et al.,
2018); Theorem 5 of Luo et al. (2021) has it with the opposite sign.

For dependent radii or shifted kernels,

.. math:: C = \sum_{n \ge 0 \text{ even}} E[g_n(R |v|)\, g_n(R' |v'|)]\;
              P_n(\cos\angle(v, v'))\; E P_n(c) - E g_0\, E g_0',

summed with their weights over the vectors v = D + t_j e of a kernel with shifts t_j along an axis e
(:mod:`rf.variance.pairs`); a radial kernel has the single vector v = D.  Stratified radii are
dependent (:mod:`rf.variance.characteristic_function`).

A part whose frequency is the sum of independent frequencies of groups of columns draws those of
each group with the coupling, and gives each a random sign and a random order.  Because of the signs
the means of the sines are 0, so that the mean wave of the part is the product of those k~_g of its
groups; and because of the random order, so is the mean product of two waves.  With the mean C_g of
the covariances of the waves of a group over all pairs of its frequencies, that of the part is

.. math:: \prod_g (C_g + \tilde k_g^2) - \prod_g \tilde k_g^2.

C_g is 0 for a law that no coupling draws.

In dimension 1 cos(w.D) does not depend on the direction +-1, so every coupling acts like "iid".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np

from rf.sampling.coupling import RADII, CosineLaw, Coupling, Radii, pairs_across, pairs_within
from rf.sampling.frequencies import COUPLINGS, checked_choice
from rf.variance.pairs import MEAN_ERROR, PairCovariances, Vectors
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import Group, SpectralTable
from spectra.table.parts import WithError

__all__ = ["BaseVarianceModel", "VarianceModel"]


class BaseVarianceModel(ABC):
    """The variance of the estimate at given points, for any numbers of frequencies of the parts.

    X is cos(w.D) for one frequency w of a part, or a weighted sum of cosines for a shifted part.
    The estimate is the sum over the parts of sign * mass * (mean of X over the frequencies).
    ``approximate``: whether an error of about two percent is accepted, to compare couplings.
    """

    table: Any
    points: Any
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
    def sizes(self) -> FloatArray:
        """The masses; of shifted parts, times the root mean square of their factor."""
        return self.masses

    @property
    def varying(self) -> FloatArray:
        """For each part, whether X is random; for a constant it is not."""
        return np.ones(self.masses.size, dtype=bool)

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


@dataclass(frozen=True, eq=False)
class VarianceModel(BaseVarianceModel):
    r"""The variance of the estimate of a table.

    All integrals are cached, so the variance for other numbers of frequencies is cheap.  A part
    with shifts t_j along e and weights c_j has :math:`X = \sum_j c_j \cos(w \cdot (D + t_j e))`.

    ``points``: as :meth:`SpectralTable.points` takes them; ``approximate``:
    use interpolated plane waves, with an error of 1e-9, and at most 64 strata, since n times the
    variance hardly depends on their number n; error bounds are then not computed.
    """

    table: SpectralTable
    points: Any
    approximate: bool = False

    def __post_init__(self) -> None:
        points = self.table.points(self.points).flat.checked()
        object.__setattr__(self, "points", points)

    @cached_property
    def approximation(self) -> Self:
        """The approximate model at the same points."""
        return self if self.approximate else replace(self, approximate=True)

    @cached_property
    def bounds(self) -> FloatArray:
        return np.array([p.kernel_bound for p in self.table.parts])

    @property
    def varying(self) -> FloatArray:
        return np.array([bool(p.groups) for p in self.table.parts])

    @property
    def coupled_dim(self) -> int:
        """Dimension of the directions that a coupling draws; for groups of columns, the largest."""
        dim = self.table.dim
        return max((g.size(dim) for p in self.table.parts for g in p.groups), default=1)

    @property
    def sizes(self) -> FloatArray:
        return np.array([p.root_mean_square(self.table.dim)[0] for p in self.table.parts])

    @cached_property
    def is_joint(self) -> bool:
        """Whether a coupling may make frequencies of different parts dependent."""
        return self.table.is_symmetric and self.table.joint_columns is not None

    @cached_property
    def _shifts(self) -> list[tuple[FloatArray, FloatArray]]:
        """The shifts t_j e, shape (J, d), and the weights c_j of every part."""
        none = np.zeros((1, self.table.dim)), np.ones(1)
        all_shifts = (p.shifts for p in self.table.parts)
        return [none if s is None else (s.offsets, s.weights) for s in all_shifts]

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        return self._first_means[0], self._squares[0]

    @cached_property
    def _first_means(self) -> WithError:
        """E X, the sum of c_j k~(D + t_j e), and its error: (parts, points)."""
        return self._sums([(1.0, *shifts) for shifts in self._shifts])

    @cached_property
    def _squares(self) -> WithError:
        """E X^2, and its error: half the sum of c_j c_k [k~(v_j + v_k) + k~(v_j - v_k)]."""
        pairs = [
            (2.0, (t[:, None] + t).reshape(-1, t.shape[1]), np.multiply.outer(c, c).ravel())
            for t, c in self._shifts
        ]
        value, error = self._sums(pairs)
        # The second terms do not depend on D: they are E |a(e.w)|^2.
        return 0.5 * (value + ((self.sizes / self.masses) ** 2)[:, None]), 0.5 * error

    def _sums(self, terms: Sequence[tuple[float, FloatArray, FloatArray]]) -> WithError:
        """For each part the sum of c_j k~(factor D + t_j) over its shifts t_j; and its error."""
        found = [self._wave(p, factor, t) for p, (factor, t, _) in enumerate(terms)]
        shape = len(terms), *self.points.shape
        value = [wave @ c for (wave, _), (*_, c) in zip(found, terms, strict=True)]
        error = [e @ np.abs(c) for (_, e), (*_, c) in zip(found, terms, strict=True)]
        return np.reshape(value, shape), np.reshape(error, shape)

    def _wave(self, p: int, factor: float, shifts: FloatArray) -> WithError:
        """E cos(w.v) of part p at v = factor D + shifts, and its error: (points, shifts)."""
        value, error = np.ones((1, 1)), np.zeros((1, 1))
        for g in self.table.parts[p].groups:
            wave, bound = self._group_wave(p, g, factor, shifts)
            value, error = value * wave, error + bound
        shape = *self.points.shape, len(shifts)
        return np.broadcast_to(value, shape), np.broadcast_to(error, shape)

    def _group_wave(self, p: int, group: Group, factor: float, shifts: FloatArray) -> WithError:
        """The factor of a group in :meth:`_wave`; parts without shifts may share it."""
        key = group, factor, p if len(shifts) > 1 or shifts.any() else None
        if key not in self._waves:
            points = self.points.moved(lambda v: factor * v).and_offsets(shifts)
            if group.is_coupled and self.approximate:
                pairs, index = self._pairs[p, group]
                z = group.own(points).norms.values
                wave = pairs.plane_wave(index, z), np.zeros(z.shape)
            else:
                wave = group.wave(self.table.dim, points)
                if group.is_coupled:
                    wave = wave[0], np.full(wave[0].shape, MEAN_ERROR)
            self._waves[key] = wave
        return self._waves[key]

    @cached_property
    def _waves(self) -> dict[Any, WithError]:
        return {}

    @cached_property
    def _pairs(self) -> dict[tuple[int, Group], tuple[PairCovariances, int]]:
        """For each group of each part, the covariances of pairs, and its index in them.

        If parts may be coupled, all groups share the covariances.
        """
        parts, dim = self.table.parts, self.table.dim
        found: dict[tuple[int, Group], tuple[PairCovariances, int]] = {}
        shared: dict[Any, PairCovariances] = {}
        owners = [(p, g) for p, part in enumerate(parts) for g in part.groups if g.is_coupled]
        is_one = self.table.joint_columns is not None
        for block in [owners] if is_one and owners else [[owner] for owner in owners]:
            p, first = block[0]
            key = first, None if parts[p].shifts is None else p
            if key not in shared:
                vectors = [self._vectors(*owner) for owner in block]
                laws, size = [g.law for _, g in block], first.size(dim)
                shared[key] = PairCovariances(size, laws, vectors, self.approximate)
            found |= {owner: (shared[key], i) for i, owner in enumerate(block)}
        return found

    def _vectors(self, p: int, group: Group) -> Vectors:
        """The vectors D + t_j e of a part in the columns of a group, and the weights c_j."""
        offsets, weights = self._shifts[p]
        own = group.own(self.points.and_offsets(offsets))
        return own.norms.values if self.table.is_symmetric else own.values, weights

    @property
    def kernel(self) -> FloatArray:
        # Without the means of X^2, which need all pairs of shifts.
        return np.asarray((self.signs * self.masses) @ self._first_means[0])

    def covariance(
        self, first: int, second: int, cosine: CosineLaw
    ) -> tuple[FloatArray, FloatArray]:
        """Covariance of X for two frequencies, one of each part, and a bound of its error.

        Each part has one group; ``cosine``: distribution of the cosine between the frequencies;
        the bound is 0 if approximate.
        """
        parts = self.table.parts
        (pairs, i), (_, j) = (self._pairs[p, parts[p].groups[0]] for p in (first, second))
        return pairs.covariance(i, j, cosine)[:2]

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: Radii = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each point, and a bound of its numerical error."""
        counts = _check_counts(n_per_part, len(self.table.parts))
        chosen = self._check_coupling(coupling, radii)
        if not self.points.shape[0]:
            return np.zeros(0), np.zeros(0)
        shares = self.masses**2 / np.array(counts)
        total = (1.0 / np.array(counts)) @ self.part_variance
        error = 2.0 * (self.bounds[:, None] * self._first_means[1] + 2.0 * self._squares[1])
        errors = shares @ error if len(shares) else np.zeros(self.points.shape)
        for p, n in enumerate(counts):
            if n > 1:
                value, bound = self._pair_mean(p, n, chosen, radii, sum(counts))
                total, errors = total + shares[p] * value, errors + shares[p] * bound
        signed = self.masses * self.signs / np.array(counts)
        for p, q in combinations(range(len(counts)) if self.is_joint else (), 2):
            for pair in pairs_across(chosen, counts[p], counts[q], self.coupled_dim, sum(counts)):
                # Pairs of different parts are counted once, and have to count in both orders.
                weight = 2.0 * float(signed[p] * signed[q]) * pair.count
                value, bound = self.covariance(p, q, pair.cosine)
                total, errors = total + weight * value, errors + abs(weight) * bound
        return total, errors

    def _pair_mean(
        self, p: int, n: int, coupling: Coupling, radii: Radii, total: int
    ) -> tuple[Any, Any]:
        """n - 1 times the mean covariance of X over the pairs of n frequencies; its error."""
        groups = self.table.parts[p].groups
        options = n, coupling, radii, total if self.is_joint else n
        if len(groups) == 1:
            mean = self._first_means[0][p]
            return self._group_pairs(p, groups[0], mean, *options)
        product, squares, bound = np.ones((3, *self.points.shape))
        bound, zero = 0.0 * bound, np.zeros((1, self.table.dim))
        for g in groups:
            mean = self._group_wave(p, g, 1.0, zero)[0][:, 0]
            value, error = self._group_pairs(p, g, mean, *options)
            product, squares = product * (value / (n - 1) + mean**2), squares * mean**2
            # Each mean product is at most 1, so that the errors add up.
            bound = bound + error + 4.0 * (n - 1) * MEAN_ERROR
        return (n - 1) * (product - squares), bound

    def _group_pairs(
        self,
        p: int,
        group: Group,
        mean: FloatArray,
        n: int,
        coupling: Coupling,
        radii: Radii,
        total: int,
    ) -> tuple[Any, Any]:
        """As :meth:`_pair_mean` for one group, whose wave has the given mean."""
        if not group.is_coupled:
            return 0.0, 0.0
        pairs, index = self._pairs[p, group]
        dependent = pairs_within(coupling, n, group.size(self.table.dim), total)
        value, bound = np.zeros((2, *self.points.shape))
        if radii == "stratified":
            terms = pairs.terms_of_strata(index, n, [pair.cosine for pair in dependent])
            (value, bound), *terms = terms
            value = (n - 1) * (value - mean**2)
            bound = (n - 1) * (bound + 4 * MEAN_ERROR * self.bounds[p] ** 2)
        else:
            terms = [pairs.covariance(index, index, pair.cosine)[:2] for pair in dependent]
        for pair, (term, error) in zip(dependent, terms, strict=True):
            value, bound = value + pair.count / n * term, bound + pair.count / n * error
        return value, bound

    def _check_coupling(self, name: str, radii: str) -> Coupling:
        coupling = checked_choice(COUPLINGS, name, "coupling")
        checked_choice(RADII, radii, "radii")
        if coupling.across_parts and not self.is_joint and len(self.table.parts) > 1:
            raise ParameterError(
                f"The coupling {name!r} makes frequencies of different parts dependent, and the "
                "covariance of their waves is known for radial kernels only. Take a coupling "
                "within each part."
            )
        is_iid = name == "iid" and radii == "iid"
        if not is_iid and any(len(p.groups) > 1 and p.shifts for p in self.table.parts):
            raise ParameterError(
                "The variance of several shifts of a product is known for independent frequencies "
                "only: take coupling='iid' and radii='iid'."
            )
        return coupling


def _check_counts(n_per_part: Sequence[int], parts: int) -> tuple[int, ...]:
    counts = tuple(int(n) for n in n_per_part)
    if len(counts) != parts or min(counts) < 1:
        raise ParameterError(
            f"n_per_part is {counts} for {parts} part(s). Give one number of frequencies for each "
            "part, at least 1."
        )
    return counts

r"""Covariances of two cosines, from the distribution of the radius and the coupling of directions.

A frequency w of a radial part gives cos(w.D), which depends on |D| alone.  One of a sum of
shifted kernels gives :math:`\sum_j c_j \cos(w \cdot v_j)`, v_j = D + t_j e, and two directions
with the cosine c between them leave of two such waves the mean

.. math:: \sum_{j,k} c_j c'_k \sum_n E[g_n(R |v_j|)\, g_n(R' |v'_k|)]\;
          P_n(\cos\angle(v_j, v'_k))\; E P_n(c),

The radial case has one vector on each side, the same one.  The radii enter through their
projections (:mod:`rf.variance.radii.projection`) and strata (:mod:`rf.variance.radii.strata`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self, final

import numpy as np

from rf.sampling.coupling import CosineLaw, fixed_cosine
from rf.variance.radii.projection import (
    angular_means,
    projection_of,
    sphere_harmonics,
    sphere_rule,
)
from rf.variance.radii.strata import NODES, approximate_stratum_means, stratum_means
from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "DegreeProducts", "PairCovariances", "ShiftedDifferences"]

Bounded = tuple[FloatArray, FloatArray]
#: E[g_m(R_i z) g_m(R_j z)] for i != j of one draw, m = 0, 2, ..., at each difference; the same for
#: independent radii; and a bound of the sum of the absolute products of higher degrees.
StrataProducts = tuple[FloatArray, FloatArray, FloatArray]

# Error of the expected plane waves of a table; a variance needs a few of them.
MEAN_ERROR = 1e-12
# The truncation error of a covariance should be below this, far below any variance that an
# experiment can measure; a comparison needs a part in a thousand of a hundred covariances.
_TOLERANCE = 1e-8
_ROUGH_TOLERANCE = 1e-5
_FIRST_DEGREE = 32
# The degree grows by this factor until the bound is small.
_STEP = 4
# Panels in the angle of a direction: at first, and at most.  A panel has 16 nodes, which resolve
# a polynomial of twice this degree.
_FIRST_PANELS = 4
_MOST_PANELS = 512
_DEGREE_OF_A_PANEL = 8
# The most panels in a comparison, and for strata, of which there can be thousands: the error
# includes waves beyond.
_MOST_ROUGH_PANELS = 32
_MOST_STRATA_PANELS = 64
_LAST_STRATA_DEGREE = 256
# Strata hardly change harmonics beyond this degree.
_LAST_ROUGH_DEGREE = 32
# Values of projections on one rule that are kept (16 MB, with their errors).
_KEPT = 1 << 20
# Phase of a wave that 16 nodes resolve with its products.
_PHASE_OF_A_PANEL = 10.0


@final
@dataclass(frozen=True, eq=False)
class ShiftedDifferences:
    """m differences, each seen through J vectors.

    ``lengths`` (m, J): |v_j|; ``points`` are the same in one row; ``weights`` (J,): c_j; ``units``
    (m, J, d): v_j / |v_j|; None where there is one vector, the difference itself.
    """

    lengths: FloatArray
    weights: FloatArray
    units: FloatArray | None = None

    @classmethod
    def at(cls, z: FloatArray) -> Self:
        """Distances of a radial kernel."""
        return cls(z[:, None], np.ones(1))

    @classmethod
    def through(cls, differences: FloatArray, offsets: FloatArray, weights: FloatArray) -> Self:
        """Differences (m, d) shifted by offsets (J, d)."""
        vectors = differences[:, None, :] + offsets
        lengths = np.linalg.norm(vectors, axis=-1)
        # A vector of length 0 has no waves of degree 2 and more: its direction does not matter.
        units = vectors / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        return cls(lengths, weights, units)

    @property
    def points(self) -> FloatArray:
        """All lengths in one row, shape (m J,)."""
        return self.lengths.ravel()

    @property
    def bound(self) -> float:
        """Sum of |c_j|, which bounds the wave."""
        return float(np.abs(self.weights).sum())

    def total(self, values: FloatArray) -> FloatArray:
        """Sums of |c_j| times values at the points: shape (..., m J) to (..., m)."""
        parts = values.reshape(*values.shape[:-1], -1, self.weights.size)
        return np.asarray(parts @ np.abs(self.weights))


@final
@dataclass(frozen=True, eq=False)
class DegreeProducts:
    """The sum over j and k of products of two waves, degree by degree.

    ``angular`` (m, J, K, degrees): c_j c'_k P_n(cos of v_j and v'_k), n = 0, 2, ...; None where it
    is 1.
    """

    first: ShiftedDifferences
    second: ShiftedDifferences
    angular: FloatArray | None

    @classmethod
    def of(
        cls, first: ShiftedDifferences, second: ShiftedDifferences, dim: int, degree: int
    ) -> Self:
        """All even degrees up to the given one."""
        if first.units is None or second.units is None:
            return cls(first, second, None)
        cosines = np.einsum("mjd,mkd->mjk", first.units, second.units)
        # Parallel unit vectors have the cosine 1 up to rounding.
        waves = gegenbauer(dim, degree, np.clip(cosines, -1.0, 1.0))[::2]
        weights = np.multiply.outer(first.weights, second.weights)
        return cls(first, second, np.moveaxis(waves, 0, -1) * weights[..., None])

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """The sum for a (..., m J, degrees) and b (..., m K, degrees): (..., m, degrees)."""
        if self.angular is None:
            return a * b
        j, k = self.first.weights.size, self.second.weights.size
        a = a.reshape(*a.shape[:-2], -1, j, a.shape[-1])
        b = b.reshape(*b.shape[:-2], -1, k, b.shape[-1])
        summed = np.einsum("...mjn,...mkn,mjkn->...mn", a, b, self.angular, optimize=True)
        return np.asarray(summed)

    def at(self, difference: int) -> DegreeProducts:
        """The combination at one difference."""
        one = slice(difference, difference + 1)
        angular = None if self.angular is None else self.angular[one]
        return DegreeProducts(self.first, self.second, angular)

    @property
    def size(self) -> float:
        """Bound of the combination of waves of size 1."""
        return self.first.bound * self.second.bound

    def bound(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Bound of the combination of waves of sizes a (..., m J) and b (..., m K)."""
        return self.first.total(a) * self.second.total(b)

    def error(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """What waves of size 1 with errors a and b leave in the combination."""
        return self.first.total(a) * self.second.bound + self.second.total(b) * self.first.bound


class PairCovariances:
    """Covariances of pairs of waves, each of one radial law, at shifted differences."""

    def __init__(
        self, dim: int, laws: Sequence[RadialLaw], points: Sequence[ShiftedDifferences]
    ) -> None:
        self._dim = dim
        self._radii = list(laws)
        self._laws = [projection_of(law) for law in laws]
        self._points = list(points)
        self._reach = max(float(at.lengths.max(initial=0.0)) for at in points)
        self._products: dict[tuple[int, int, int], DegreeProducts] = {}
        self._values: dict[int, list[Bounded]] = {}
        self._moments: dict[tuple[int, int], list[tuple[FloatArray, FloatArray, FloatArray]]] = {}
        self._degrees: dict[tuple[int, int, CosineLaw], int] = {}
        self._rough_strata: dict[tuple[int, int, int], StrataProducts] = {}

    def moments(self, degree: int, panels: int) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """For each law at its points, from a rule with so many panels, a triple.

        H_n = E g_n(R z) for n = 0, 2, ..., degree, shape (points, degree / 2 + 1); the root of the
        sum of H_n^2 beyond; and the mean error of the tabulated phi.
        """
        key = (degree, panels)
        if key not in self._moments:
            _, weights = sphere_rule(self._dim, panels)
            basis = sphere_harmonics(self._dim, panels, degree)
            found = []
            for value, error in self._projected(panels):
                harmonics = (basis @ value.T).T
                # The sum over all even n is E_s phi(z s)^2.
                missing = value**2 @ weights - np.sum(harmonics**2, axis=1)
                beyond = np.sqrt(np.maximum(missing, 0.0) + 1e-14)
                found.append((harmonics, beyond, error @ weights))
            self._moments[key] = found
        return self._moments[key]

    def _projected(self, panels: int) -> list[Bounded]:
        """phi of every law at its points times the nodes of a rule, and its error."""
        if panels in self._values:
            return self._values[panels]
        s, _ = sphere_rule(self._dim, panels)
        pairs = zip(self._laws, self._points, strict=True)
        found = [law(at.points[:, None] * s) for law, at in pairs]
        if sum(value.size for value, _ in found) <= _KEPT:
            self._values[panels] = found
        return found

    def products(self, first: int, second: int, degree: int) -> DegreeProducts:
        """How the waves of two parts combine, up to a degree."""
        key = (first, second, degree)
        if key not in self._products:
            both = self._points[first], self._points[second]
            self._products[key] = DegreeProducts.of(*both, self._dim, degree)
        return self._products[key]

    def panels_for(self, degree: int, *, rough: bool = False) -> int:
        """Panels that a degree needs, and the variation of the projections."""
        least = max(_FIRST_PANELS, -(-degree // _DEGREE_OF_A_PANEL))
        return self._panels(self._reach, least, max(least, _MOST_ROUGH_PANELS) if rough else None)

    def _panels(self, reach: float, least: int, most: int | None = None) -> int:
        wanted = max(least, *(law.panels_to(reach) for law in self._laws))
        if most is not None:
            wanted = min(wanted, most)
        return int(min(1 << (wanted - 1).bit_length(), _MOST_PANELS))

    @cached_property
    def plane_waves(self) -> Bounded:
        """E Omega(R z) and E Omega(2 R z) of every law at distances, from phi: rough ones."""
        panels = self._panels(2.0 * self._reach, _FIRST_PANELS, _MOST_ROUGH_PANELS)
        s, weights = sphere_rule(self._dim, panels)
        single = np.array([value @ weights for value, _ in self._projected(panels)])
        pairs = zip(self._laws, self._points, strict=True)
        double = [law(2.0 * at.points[:, None] * s)[0] @ weights for law, at in pairs]
        return single, np.array(double)

    def mean_waves(self, law: int, z: FloatArray) -> FloatArray:
        """E Omega(R z) of one law at any distances, from phi: rough ones."""
        panels = self._laws[law].panels_to(float(z.max(initial=0.0)))
        s, weights = sphere_rule(self._dim, min(max(panels, _FIRST_PANELS), _MOST_PANELS))
        return np.asarray(self._laws[law](z[..., None] * s)[0] @ weights)

    def covariance(
        self, first: int, second: int, law: CosineLaw, *, rough: bool = False
    ) -> Bounded:
        """Sum over even n >= 2 of H_n H'_n E P_n(c), and a bound of its error.

        A ``rough`` one is from one rule, with the error stated as 0.
        """
        remainder: FloatArray | float = 0.0
        of: Callable[[int], Bounded]
        if law == fixed_cosine(1.0):
            panels = self.panels_for(_FIRST_DEGREE, rough=rough)
            of = partial(self._same, first, second)
        else:
            angular, remainder, degree = self._resolved(first, second, law, rough)
            if not rough:
                self._degrees[first, second, law] = degree
            panels = self.panels_for(degree, rough=rough)
            of = partial(self._sum, first, second, angular, degree)
        coarse, _ = of(panels)
        if rough:
            return coarse, np.zeros_like(coarse)
        fine, error = of(2 * panels)
        return fine, error + np.abs(fine - coarse) + remainder + MEAN_ERROR

    def _degree_of(self, first: int, second: int, law: CosineLaw) -> int:
        """The even degree to which :meth:`covariance` is summed."""
        if (first, second, law) not in self._degrees:
            self.covariance(first, second, law)
        return self._degrees[first, second, law]

    def _resolved(
        self, first: int, second: int, law: CosineLaw, rough: bool
    ) -> tuple[FloatArray, FloatArray, int]:
        """The means of a cosine up to a sufficient degree, a bound of the rest, and the degree.

        The bound comes from a rule of twice the panels that the degree needs, or from a rough one.
        """
        degree, tolerance = _FIRST_DEGREE, _ROUGH_TOLERANCE if rough else _TOLERANCE
        while True:
            means, beyond, most = angular_means(law, self._dim, degree)
            moments = self.moments(degree, self.panels_for(degree, rough=rough) * (2 - rough))
            bound = self.products(first, second, 0).bound(moments[first][1], moments[second][1])
            remainder = beyond * bound
            if np.all(remainder <= tolerance) or _STEP * degree > most:
                return means, remainder, degree
            degree *= _STEP

    def _sum(
        self, first: int, second: int, angular: FloatArray, degree: int, panels: int
    ) -> Bounded:
        moments = self.moments(degree, panels)
        (a, _, lost), (b, _, also_lost) = moments[first], moments[second]
        combine = self.products(first, second, degree)
        products = combine(a, b)[..., 1:]
        error = 2.0 * combine.error(lost, also_lost)
        return products @ angular, error

    def _same(self, first: int, second: int, panels: int) -> Bounded:
        """One direction and independent radii: P_n(1) = 1, and the sum is E_s[phi phi'] - k k'."""
        _, weights = sphere_rule(self._dim, panels)
        moments, values = self.moments(_FIRST_DEGREE, panels), self._projected(panels)
        (a, _, lost), (b, _, also_lost) = moments[first], moments[second]
        both = (values[first][0] * values[second][0]) @ weights
        return both - a[:, 0] * b[:, 0], 2.0 * (lost + also_lost)

    def strata(self, part: int, n: int, cosines: Sequence[CosineLaw]) -> list[Bounded]:
        """Covariances of cosines i != j of one part in n strata, and their errors.

        First E Omega(R_i z) Omega(R_j z); then the sum over m >= 2 for each law of a cosine.
        """
        degrees = [self._degree_of(part, part, law) for law in cosines]
        degree = min(max(degrees, default=0), _LAST_STRATA_DEGREE)
        combine, law = self.products(part, part, degree), self._radii[part]
        results = []
        for nodes, halves in zip(NODES, (1, 2), strict=True):
            rows = []
            for at, lengths in enumerate(self._points[part].lengths):
                panels = self._strata_panels(law, n, float(lengths.max()), degree) // halves
                means = stratum_means(law, n, lengths, self._dim, panels, degree, nodes)
                rows.append(_stratum_products(*means, combine.at(at)))
            results.append([np.concatenate(arrays) for arrays in zip(*rows, strict=True)])
        tabulated = self.moments(degree, self.panels_for(degree))[part][2]
        errors = 4.0 * combine.error(tabulated, tabulated)
        (fine, _, beyond), (coarse, _, _) = results
        return self._by_cosine(fine, coarse, beyond, errors, cosines)

    def rough_strata(
        self, part: int, n: int, cosines: Sequence[CosineLaw], most: int
    ) -> list[Bounded]:
        """As :meth:`strata`, from at most that many strata and one quadrature, without an error.

        What draws without replacement take from a covariance is (H H' - Q) / (n - 1), and the
        mean Q of products over the strata hardly depends on their number n.
        """
        degree, fewer = _LAST_ROUGH_DEGREE if cosines else 0, min(n, most)
        key = (part, fewer, degree)
        if key not in self._rough_strata:
            whole = self.moments(degree, self.panels_for(degree, rough=True))[part][0]
            lengths = self._points[part].points
            means = approximate_stratum_means(
                self._radii[part], fewer, lengths, self._dim, degree, whole
            )
            missing = np.zeros(means.shape[:2])
            self._rough_strata[key] = _stratum_products(
                means, missing, self.products(part, part, degree)
            )
        products, independent, beyond = self._rough_strata[key]
        value = independent + (fewer - 1) / (n - 1) * (products - independent)
        return self._by_cosine(value, value, beyond, np.zeros(len(value)), cosines)

    def _by_cosine(
        self,
        fine: FloatArray,
        coarse: FloatArray,
        beyond: FloatArray,
        lost: FloatArray,
        cosines: Sequence[CosineLaw],
    ) -> list[Bounded]:
        """Products of strata by degree, from two quadratures, summed for each law of a cosine."""
        found = [(fine[:, 0], np.abs(fine[:, 0] - coarse[:, 0]) + lost)]
        fine, coarse = fine[:, 1:], coarse[:, 1:]
        for law in cosines:
            means, higher, _ = angular_means(law, self._dim, 2 * fine.shape[1])
            value = fine @ means
            error = np.abs(value - coarse @ means)
            found.append((value, error + higher * beyond + lost))
        return found

    def _strata_panels(self, law: RadialLaw, n: int, z: float, degree: int) -> int:
        # All but the last stratum end at a finite radius.
        farthest = float(law.ppf(1.0 - 1.0 / n))
        wanted = int(min(farthest * z / _PHASE_OF_A_PANEL, _MOST_STRATA_PANELS))
        return max(self.panels_for(degree), 1 << wanted.bit_length())


def _stratum_products(
    means: FloatArray, missing: FloatArray, combine: DegreeProducts
) -> StrataProducts:
    """The products over draws without replacement of the strata of a part, from their means."""
    n = len(means)
    root = np.sqrt(missing.mean(axis=0))
    beyond = combine.bound(root, root) * n / max(n - 1, 1)
    independent = combine(means.mean(axis=0), means.mean(axis=0))
    products = combine(means.sum(axis=0) - means, means).sum(axis=0) / max(n * (n - 1.0), 1.0)
    return products, independent, 2.0 * beyond + 1e-14

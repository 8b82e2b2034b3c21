r"""Covariances of two cosines, from the distribution of the radius and the coupling of directions.

A coupling of directions enters through the cosine between two of them
(:mod:`rf.sampling.cosines`), the radii through their projections
(:mod:`rf.variance.radii.projection`) and strata (:mod:`rf.variance.radii.strata`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from rf.sampling.cosines import AngularMeans, CosineLaw, Fixed, angular_means
from rf.variance.differences import DegreeProducts, ShiftedDifferences
from rf.variance.radii.projection import projection_of, sphere_harmonics, sphere_rule
from rf.variance.radii.strata import (
    NODES,
    StrataProducts,
    approximate_stratum_means,
    stratum_means,
    stratum_products,
)
from spectra.base.arrays import FloatArray

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "PairCovariances"]

Bounded = tuple[FloatArray, FloatArray]

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
        if law == Fixed(1.0):
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
    ) -> tuple[AngularMeans, FloatArray, int]:
        """The means of a cosine up to a sufficient degree, a bound of the rest, and the degree.

        The bound comes from a rule of twice the panels that the degree needs, or from a rough one.
        """
        degree, tolerance = _FIRST_DEGREE, _ROUGH_TOLERANCE if rough else _TOLERANCE
        while True:
            angular = angular_means(law, self._dim, degree)
            moments = self.moments(degree, self.panels_for(degree, rough=rough) * (2 - rough))
            bound = self.products(first, second, 0).bound(moments[first][1], moments[second][1])
            remainder = angular.beyond * bound
            if np.all(remainder <= tolerance) or _STEP * degree > angular.most:
                return angular, remainder, degree
            degree *= _STEP

    def _sum(
        self, first: int, second: int, angular: AngularMeans, degree: int, panels: int
    ) -> Bounded:
        moments = self.moments(degree, panels)
        (a, _, lost), (b, _, also_lost) = moments[first], moments[second]
        combine = self.products(first, second, degree)
        products = combine(a, b)[..., 1:]
        error = 2.0 * combine.error(lost, also_lost)
        return products @ angular.means, error

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
                rows.append(stratum_products(*means, combine.at(at)))
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
            self._rough_strata[key] = stratum_products(
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
            angular = angular_means(law, self._dim, 2 * fine.shape[1])
            value = fine @ angular.means
            error = np.abs(value - coarse @ angular.means)
            found.append((value, error + angular.beyond * beyond + lost))
        return found

    def _strata_panels(self, law: RadialLaw, n: int, z: float, degree: int) -> int:
        # All but the last stratum end at a finite radius.
        farthest = float(law.ppf(1.0 - 1.0 / n))
        wanted = int(min(farthest * z / _PHASE_OF_A_PANEL, _MOST_STRATA_PANELS))
        return max(self.panels_for(degree), 1 << wanted.bit_length())

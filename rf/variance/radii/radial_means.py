r"""Covariances of two cosines, from what the law of the radius and the coupling do to each.

What a coupling of *directions* does to a variance is in the law of the cosine between two of them
(:mod:`rf.sampling.cosines`); what the radii do is in their projections
(:mod:`rf.variance.radii.projection`).  Radii in strata are in :mod:`rf.variance.radii.strata`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from rf.sampling.cosines import AngularMeans, CosineLaw, Fixed, angular_means
from rf.variance.differences import Combination, Probe
from rf.variance.radii.projection import projection_of, sphere_rule
from rf.variance.radii.strata import (
    NODES,
    Side,
    StrataMeans,
    rough_stratum_waves,
    stratum_waves,
)
from spectra.base.arrays import FloatArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "Moments", "StrataCovariances", "Waves"]

# What the laws promise for their expected plane waves; a variance needs a few of them.
MEAN_ERROR = 1e-12
# The bound of what a covariance lacks should come below this, far below any variance that an
# experiment can see.
_TOLERANCE = 1e-8
# A ranking sees less: a part in a thousand of a variance that is made of a hundred covariances.
_ROUGH_TOLERANCE = 1e-5
_FIRST_DEGREE = 32
# The degree grows by this factor until the bound is small.
_STEP = 4
# Panels in the angle of a direction: at first, and at most.  A panel has 16 nodes, which resolve
# a polynomial of twice this degree.
_FIRST_PANELS = 4
_MOST_PANELS = 512
_DEGREE_OF_A_PANEL = 8
# The most in a ranking, which does not see what a cusp of a projection leaves.
_MOST_ROUGH_PANELS = 32
# The same for strata, of which there can be thousands: waves beyond are seen in the error.
_MOST_STRATA_PANELS = 64
_LAST_STRATA_DEGREE = 256
# Beyond this degree what the strata do to a harmonic is no matter to a ranking.
_LAST_ROUGH_DEGREE = 32
# Values of projections on one rule that are kept (16 MB, with their errors).
_KEPT = 1 << 20
# Phase of a wave that 16 nodes resolve with its products.
_PHASE_OF_A_PANEL = 10.0


@dataclass(frozen=True)
class Moments:
    """What the laws leave at their points: H_n = E g_n(R z) for n = 0, 2, ..., degree.

    Attributes
    ----------
    harmonics : tuple of ndarray of shape (points, degree / 2 + 1)
        One array for each law.
    square : tuple of ndarray of shape (points,)
        Sum of H_n^2 over all even n, which is E_s phi(z s)^2.
    products : tuple of tuple of ndarray of shape (points,)
        E_s[phi phi'](z s) of all laws, where all are seen at the same distances.
    error : tuple of ndarray of shape (points,)
        Mean of what the tabulated phi lacks.
    """

    harmonics: tuple[FloatArray, ...]
    square: tuple[FloatArray, ...]
    products: tuple[tuple[FloatArray, ...], ...]
    error: tuple[FloatArray, ...]

    def beyond(self, law: int) -> FloatArray:
        """Root of the sum of H_n^2 over the even n beyond the degree."""
        missing = self.square[law] - np.sum(self.harmonics[law] ** 2, axis=1)
        return np.asarray(np.sqrt(np.maximum(missing, 0.0) + 1e-14))


class Waves:
    """Covariances of pairs of waves, each of one law and seen through one probe."""

    def __init__(self, dim: int, laws: Sequence[RadialLaw], probes: Sequence[Probe]) -> None:
        self._dim = dim
        self._radii = list(laws)
        self._laws = [projection_of(law) for law in laws]
        self._probes = list(probes)
        self._reach = max(float(probe.lengths.max(initial=0.0)) for probe in probes)
        self._radial = all(probe.units is None for probe in probes)
        self._combinations: dict[tuple[int, int, int], Combination] = {}
        self._values: dict[int, list[tuple[FloatArray, FloatArray]]] = {}
        self._moments: dict[tuple[int, int], Moments] = {}
        self._degrees: dict[tuple[int, int, CosineLaw], int] = {}
        self._rough_strata: dict[tuple[int, int, int], StrataMeans] = {}

    def moments(self, degree: int, panels: int) -> Moments:
        """The moments up to a degree, from a rule with so many panels."""
        key = (degree, panels)
        if key not in self._moments:
            rule = sphere_rule(self._dim, panels)
            basis = rule.harmonics(degree)
            values, errors = zip(*self._projected(panels), strict=True)
            self._moments[key] = Moments(
                harmonics=tuple((basis @ value.T).T for value in values),
                square=tuple(value**2 @ rule.weights for value in values),
                products=tuple(
                    tuple((a * b) @ rule.weights for b in values if self._radial) for a in values
                ),
                error=tuple(error @ rule.weights for error in errors),
            )
        return self._moments[key]

    def _projected(self, panels: int) -> list[tuple[FloatArray, FloatArray]]:
        """phi of every law at its points times the nodes of a rule, and what it may lack."""
        if panels in self._values:
            return self._values[panels]
        s = sphere_rule(self._dim, panels).s
        found = [
            law(probe.points[:, None] * s)
            for law, probe in zip(self._laws, self._probes, strict=True)
        ]
        if sum(value.size for value, _ in found) <= _KEPT:
            self._values[panels] = found
        return found

    def combination(self, first: int, second: int, degree: int) -> Combination:
        """How the waves of two parts combine, up to a degree."""
        key = (first, second, degree)
        if key not in self._combinations:
            probes = self._probes[first], self._probes[second]
            self._combinations[key] = Combination.of(*probes, self._dim, degree)
        return self._combinations[key]

    def panels_for(self, degree: int, *, rough: bool = False) -> int:
        """Panels that a degree needs, and the motion of the projections."""
        least = max(_FIRST_PANELS, -(-degree // _DEGREE_OF_A_PANEL))
        return self._panels(self._reach, least, max(least, _MOST_ROUGH_PANELS) if rough else None)

    def _panels(self, reach: float, least: int, most: int | None = None) -> int:
        wanted = max(least, *(law.panels_to(reach) for law in self._laws))
        if most is not None:
            wanted = min(wanted, most)
        return int(min(1 << (wanted - 1).bit_length(), _MOST_PANELS))

    @cached_property
    def plane_waves(self) -> tuple[FloatArray, FloatArray]:
        """E Omega(R z) and E Omega(2 R z) of every law at distances, from phi: rough ones."""
        panels = self._panels(2.0 * self._reach, _FIRST_PANELS, _MOST_ROUGH_PANELS)
        rule = sphere_rule(self._dim, panels)
        single = np.array([value @ rule.weights for value, _ in self._projected(panels)])
        double = np.array(
            [
                law(2.0 * probe.points[:, None] * rule.s)[0] @ rule.weights
                for law, probe in zip(self._laws, self._probes, strict=True)
            ]
        )
        return single, double

    def mean_waves(self, law: int, z: FloatArray) -> FloatArray:
        """E Omega(R z) of one law at any distances, from phi: rough ones."""
        panels = self._laws[law].panels_to(float(z.max(initial=0.0)))
        rule = sphere_rule(self._dim, min(max(panels, _FIRST_PANELS), _MOST_PANELS))
        return np.asarray(self._laws[law](z[..., None] * rule.s)[0] @ rule.weights)

    def degree_of(self, first: int, second: int, law: CosineLaw) -> int:
        """The even degree to which :meth:`covariance` is summed."""
        if (first, second, law) not in self._degrees:
            self.covariance(first, second, law)
        return self._degrees[first, second, law]

    def covariance(
        self, first: int, second: int, law: CosineLaw, *, rough: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Sum over even n >= 2 of H_n H'_n E P_n(c), and a bound of its error.

        A ``rough`` one is from one rule, without what a finer one would tell of its error.
        """
        remainder: FloatArray | float = 0.0
        of: Callable[[int], tuple[FloatArray, FloatArray]]
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

    def _resolved(
        self, first: int, second: int, law: CosineLaw, rough: bool
    ) -> tuple[AngularMeans, FloatArray, int]:
        """The means of a cosine up to a degree beyond which little is left, that, and the degree.

        What is left is read from a rule of twice the panels that the degree needs, or from a rough
        one.
        """
        degree, tolerance = _FIRST_DEGREE, _ROUGH_TOLERANCE if rough else _TOLERANCE
        while True:
            angular = angular_means(law, self._dim, degree)
            panels = self.panels_for(degree, rough=rough) * (1 if rough else 2)
            remainder = angular.beyond * self._beyond(degree, first, second, panels)
            if np.all(remainder <= tolerance) or _STEP * degree > angular.most:
                return angular, remainder, degree
            degree *= _STEP

    def _sum(
        self, first: int, second: int, angular: AngularMeans, degree: int, panels: int
    ) -> tuple[FloatArray, FloatArray]:
        moments = self.moments(degree, panels)
        combination = self.combination(first, second, degree)
        products = combination(moments.harmonics[first], moments.harmonics[second])[..., 1:]
        error = 2.0 * combination.error(moments.error[first], moments.error[second])
        return products @ angular.means, error

    def _beyond(self, degree: int, first: int, second: int, panels: int) -> FloatArray:
        moments = self.moments(degree, panels)
        combination = self.combination(first, second, 0)
        return combination.bound(moments.beyond(first), moments.beyond(second))

    def _same(self, first: int, second: int, panels: int) -> tuple[FloatArray, FloatArray]:
        """One direction and independent radii: P_n(1) = 1, and the sum is E_s[phi phi'] - k k'."""
        moments = self.moments(_FIRST_DEGREE, panels)
        means = moments.harmonics[first][:, 0] * moments.harmonics[second][:, 0]
        error = 2.0 * (moments.error[first] + moments.error[second])
        return moments.products[first][second] - means, error

    def strata(self, part: int, n: int, cosines: Sequence[CosineLaw]) -> StrataCovariances:
        """Covariances of cosines i != j of one part in n strata, for the laws of their cosines."""
        degrees = [self.degree_of(part, part, law) for law in cosines]
        degree = min(max(degrees, default=0), _LAST_STRATA_DEGREE)
        combination = self.combination(part, part, degree)
        law = self._radii[part]
        results = []
        for nodes, halves in zip(NODES, (1, 2), strict=True):
            rows = []
            for at, lengths in enumerate(self._probes[part].lengths):
                panels = self._strata_panels(law, n, float(lengths.max()), degree)
                rule = sphere_rule(self._dim, panels // halves)
                waves = stratum_waves(Side(law, n, lengths), rule, degree, nodes)
                rows.append(StrataMeans.of(waves, combination.at(at)))
            results.append(StrataMeans.at_all(rows))
        tabulated = self.moments(degree, self.panels_for(degree)).error[part]
        errors = 4.0 * combination.error(tabulated, tabulated)
        fine, coarse = results
        return StrataCovariances(self._dim, fine, coarse, errors)

    def rough_strata(
        self, part: int, n: int, cosines: Sequence[CosineLaw], most: int
    ) -> StrataCovariances:
        """As :meth:`strata`, from at most that many strata and one quadrature, without an error.

        What draws without replacement take from a covariance is (H H' - Q) / (n - 1), and the
        mean Q of products over the strata hardly depends on their number n.
        """
        degree = _LAST_ROUGH_DEGREE if cosines else 0
        fewer = min(n, most)
        means = self._rough_means(part, fewer, degree)
        share = (fewer - 1) / (n - 1)
        products = means.independent + share * (means.products - means.independent)
        rough = StrataMeans(products, means.independent, means.beyond)
        return StrataCovariances(self._dim, rough, rough, np.zeros(len(products)))

    def _rough_means(self, part: int, n: int, degree: int) -> StrataMeans:
        key = (part, n, degree)
        if key not in self._rough_strata:
            whole = self.moments(degree, self.panels_for(degree, rough=True)).harmonics[part]
            side = Side(self._radii[part], n, self._probes[part].points)
            waves = rough_stratum_waves(side, self._dim, degree, whole)
            self._rough_strata[key] = StrataMeans.of(waves, self.combination(part, part, degree))
        return self._rough_strata[key]

    def _strata_panels(self, law: RadialLaw, n: int, z: float, degree: int) -> int:
        # All but the last stratum end at a finite radius.
        farthest = float(law.ppf(1.0 - 1.0 / n))
        wanted = int(min(farthest * z / _PHASE_OF_A_PANEL, _MOST_STRATA_PANELS))
        return max(self.panels_for(degree), 1 << wanted.bit_length())


@dataclass(frozen=True)
class StrataCovariances:
    """The strata of one draw at every distance, from a fine and from a coarse quadrature."""

    dim: int
    fine: StrataMeans
    coarse: StrataMeans
    error_of_phi: FloatArray

    def radial(self) -> tuple[FloatArray, FloatArray]:
        """E Omega(R_i z) Omega(R_j z), and the error."""
        value, coarse = self.fine.products[:, 0], self.coarse.products[:, 0]
        return value, np.abs(value - coarse) + self.error_of_phi

    def angular(self, law: CosineLaw) -> tuple[FloatArray, FloatArray]:
        """The sum over m >= 2 for a pair of this law of the cosine, and the error."""
        products, coarse = self.fine.products[:, 1:], self.coarse.products[:, 1:]
        angular = angular_means(law, self.dim, 2 * products.shape[1])
        value = products @ angular.means
        error = np.abs(value - coarse @ angular.means)
        return value, error + angular.beyond * self.fine.beyond + self.error_of_phi

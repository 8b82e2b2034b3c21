r"""Covariances of two cosines, from the distribution of the radius and the coupling of directions.

A frequency w of a radial part gives cos(w.D), which depends on |D| alone.  One of a sum of
shifted kernels gives the wave :math:`\sum_j c_j \cos(w \cdot v_j)`, v_j = D + t_j e.  If the
directions of two waves have the random cosine c, the mean of the product of the waves is

.. math:: \sum_{j,k} c_j c'_k \sum_n E[g_n(R |v_j|)\, g_n(R' |v'_k|)]\;
          P_n(\cos\angle(v_j, v'_k))\; E P_n(c),

The radial case has one vector on each side, the same one.  The radii enter through their
projections and strata (:mod:`rf.variance.projection`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from rf.sampling.coupling import CosineLaw, fixed_cosine
from rf.variance.projection import (
    STRATUM_NODES,
    approximate_stratum_means,
    projection_of,
    sphere_harmonics,
    sphere_rule,
    stratum_means,
)
from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer_sequence

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "PairCovariances", "Vectors", "cosine_means", "gegenbauer_means"]

Bounded = tuple[FloatArray, FloatArray]
#: For each of m differences J vectors v_j, shape (m, J, d), and their weights c_j, shape
#: (J,).  For a radial kernel the distances alone, shape (m, 1), and the weight 1.
Vectors = tuple[FloatArray, FloatArray]

# Error of the expected plane waves of a table; a variance needs a few of them.
MEAN_ERROR = 1e-12
# The truncation error of a covariance should be below this, far below any variance that an
# experiment can measure.  A comparison of couplings sums a hundred covariances to 1e-3.
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
# The most panels to compare couplings, and for strata, of which there can be thousands.  The error
# includes waves that these panels do not resolve.
_MOST_ROUGH_PANELS = 32
_MOST_STRATA_PANELS = 64
_LAST_STRATA_DEGREE = 256
# Strata hardly change harmonics beyond this degree.
_LAST_ROUGH_DEGREE = 32
# Values of projections on one rule that are kept (16 MB, with their errors).
_KEPT = 1 << 20
# Phase of a wave that 16 nodes resolve with its products.
_PHASE_OF_A_PANEL = 10.0
# A comparison of couplings treats more strata than this as this many.
_MOST_STRATA = 64
# Values of Gegenbauer polynomials that the means of one distribution may cost: about 0.2 s.
_BUDGET = 20_000_000
_LAST_DEGREE = 2048


class PairCovariances:
    """Covariances of pairs of waves, each with a radial law and vectors v_j of its own.

    ``approximate``: from one rule, with the error stated as 0.
    """

    def __init__(
        self, dim: int, laws: Sequence[RadialLaw], vectors: Sequence[Vectors], approximate: bool
    ) -> None:
        self._dim, self._approximate = dim, approximate
        self._laws = list(laws)
        self._projections = [projection_of(law) for law in laws]
        self._vectors = list(vectors)
        self._lengths = [v if v.ndim == 2 else np.linalg.norm(v, axis=-1) for v, _ in vectors]
        self._reach = max(float(lengths.max(initial=0.0)) for lengths in self._lengths)
        self._angular: dict[tuple[int, int, int], FloatArray | None] = {}
        self._values: dict[int, list[Bounded]] = {}
        self._moments: dict[tuple[int, int], list[tuple[FloatArray, FloatArray, FloatArray]]] = {}
        self._known: dict[tuple[int, int, CosineLaw], tuple[FloatArray, FloatArray, int]] = {}
        self._strata: dict[tuple[int, int, int], tuple[FloatArray, FloatArray, FloatArray]] = {}

    def mean_waves(self, law: int, z: FloatArray) -> FloatArray:
        """E Omega(R z) of one law at any distances, from its projection: to about 1e-9."""
        panels = self._projections[law].panels_to(float(z.max(initial=0.0)))
        s, weights = sphere_rule(self._dim, min(max(panels, _FIRST_PANELS), _MOST_PANELS))
        return np.asarray(self._projections[law](z[..., None] * s)[0] @ weights)

    def covariance(self, first: int, second: int, law: CosineLaw) -> Bounded:
        """Sum over even n >= 2 of H_n H'_n E P_n(c), and a bound of its error."""
        return self._covariance(first, second, law)[:2]

    def _covariance(
        self, first: int, second: int, law: CosineLaw
    ) -> tuple[FloatArray, FloatArray, int]:
        """The covariance, a bound of its error, and the even degree to which it is summed."""
        key = (first, second, law)
        if key not in self._known:
            degree, remainder = _FIRST_DEGREE, np.zeros(1)
            of: Callable[[int], Bounded] = partial(self._same, first, second)
            if law != fixed_cosine(1.0):
                means, remainder, degree = self._means_to_degree(first, second, law)
                of = partial(self._sum, first, second, means, degree)
            panels = self._panels(degree)
            value, error = of(panels)
            if self._approximate:
                error = np.zeros_like(value)
            else:
                coarse, (value, error) = value, of(2 * panels)
                error = error + np.abs(value - coarse) + remainder + MEAN_ERROR
            self._known[key] = value, error, degree
        return self._known[key]

    def _means_to_degree(
        self, first: int, second: int, law: CosineLaw
    ) -> tuple[FloatArray, FloatArray, int]:
        """The means E P_n(c) up to a degree that suffices, a bound of the rest, and the degree."""
        degree, tolerance = _FIRST_DEGREE, _ROUGH_TOLERANCE if self._approximate else _TOLERANCE
        while True:
            means, beyond, most = cosine_means(law, self._dim, degree)
            panels = self._panels(degree) * (2 - self._approximate)
            a, b = (self.moments(degree, panels)[part][1] for part in (first, second))
            remainder = beyond * _total(self._vectors[first], a) * _total(self._vectors[second], b)
            if np.all(remainder <= tolerance) or _STEP * degree > most:
                return means, remainder, degree
            degree *= _STEP

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
                # All even n sum to E_s phi(z s)^2.
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
        points = zip(self._projections, self._lengths, strict=True)
        found = [phi(z.reshape(-1, 1) * s) for phi, z in points]
        if sum(value.size for value, _ in found) <= _KEPT:
            self._values[panels] = found
        return found

    def _panels(self, degree: int) -> int:
        """Panels that a degree needs, and the variation of the projections."""
        least = max(_FIRST_PANELS, -(-degree // _DEGREE_OF_A_PANEL))
        wanted = max(least, *(phi.panels_to(self._reach) for phi in self._projections))
        if self._approximate:
            wanted = min(wanted, max(least, _MOST_ROUGH_PANELS))
        return int(min(1 << (wanted - 1).bit_length(), _MOST_PANELS))

    def _combine(
        self, first: int, second: int, a: FloatArray, b: FloatArray, at: slice = slice(None)
    ) -> FloatArray:
        """The sums over j and k, degree by degree: a (..., m J, degrees) and b (..., m K, degrees).

        Returns (..., m, degrees); ``at``: the differences that a and b are for.
        """
        key = (first, second, 2 * a.shape[-1] - 2)
        if key not in self._angular:
            both = self._vectors[first], self._vectors[second]
            self._angular[key] = _angular_products(*both, self._dim, key[-1])
        angular = self._angular[key]
        if angular is None:
            return a * b
        j, k = angular.shape[1:3]
        a = a.reshape(*a.shape[:-2], -1, j, a.shape[-1])
        b = b.reshape(*b.shape[:-2], -1, k, b.shape[-1])
        summed = np.einsum("...mjn,...mkn,mjkn->...mn", a, b, angular[at], optimize=True)
        return np.asarray(summed)

    def _sum(
        self, first: int, second: int, angular: FloatArray, degree: int, panels: int
    ) -> Bounded:
        moments = self.moments(degree, panels)
        (a, _, a_error), (b, _, b_error) = moments[first], moments[second]
        products = self._combine(first, second, a, b)[..., 1:]
        both = self._vectors[first], self._vectors[second]
        return products @ angular, 2.0 * _product_error(*both, a_error, b_error)

    def _same(self, first: int, second: int, panels: int) -> Bounded:
        """One direction and independent radii: P_n(1) = 1, and the sum is E_s[phi phi'] - k k'."""
        _, weights = sphere_rule(self._dim, panels)
        moments, values = self.moments(_FIRST_DEGREE, panels), self._projected(panels)
        (a, _, a_error), (b, _, b_error) = moments[first], moments[second]
        both = (values[first][0] * values[second][0]) @ weights
        return both - a[:, 0] * b[:, 0], 2.0 * (a_error + b_error)

    def strata(self, part: int, n: int, cosines: Sequence[CosineLaw]) -> list[Bounded]:
        """Covariances of cosines i != j of one part in n strata, and their errors.

        First E Omega(R_i z) Omega(R_j z); then the sum over m >= 2 for each law of a cosine.
        """
        if self._approximate:
            return self._approximate_strata(part, n, cosines)
        degrees = [self._covariance(part, part, law)[2] for law in cosines]
        degree = min(max(degrees, default=0), _LAST_STRATA_DEGREE)
        law, results = self._laws[part], []
        for nodes, halves in zip(STRATUM_NODES, (1, 2), strict=True):
            rows = []
            for at, lengths in enumerate(self._lengths[part]):
                # All but the last stratum end at a finite radius.
                phase = float(law.ppf(1.0 - 1.0 / n)) * float(lengths.max())
                wanted = int(min(phase / _PHASE_OF_A_PANEL, _MOST_STRATA_PANELS))
                panels = max(self._panels(degree), 1 << wanted.bit_length()) // halves
                means = stratum_means(law, n, lengths, self._dim, panels, degree, nodes)
                rows.append(self._stratum_products(part, *means, slice(at, at + 1)))
            results.append([np.concatenate(arrays) for arrays in zip(*rows, strict=True)])
        tabulated, own = self.moments(degree, self._panels(degree))[part][2], self._vectors[part]
        errors = 4.0 * _product_error(own, own, tabulated, tabulated)
        (fine, _, beyond), (coarse, _, _) = results
        return _sum_degrees(self._dim, fine, coarse, beyond, errors, cosines)

    def _approximate_strata(self, part: int, n: int, cosines: Sequence[CosineLaw]) -> list[Bounded]:
        """As :meth:`strata`, from at most 64 strata and one quadrature, without an error.

        Draws without replacement add (H H' - Q) / (n - 1) to a covariance, and the mean Q of
        products over the strata hardly depends on their number n.
        """
        degree, fewer = _LAST_ROUGH_DEGREE if cosines else 0, min(n, _MOST_STRATA)
        key = (part, fewer, degree)
        if key not in self._strata:
            whole = self.moments(degree, self._panels(degree))[part][0]
            means = approximate_stratum_means(
                self._laws[part], fewer, self._lengths[part].ravel(), self._dim, degree, whole
            )
            self._strata[key] = self._stratum_products(part, means, np.zeros(means.shape[:2]))
        products, independent, beyond = self._strata[key]
        value = independent + (fewer - 1) / (n - 1) * (products - independent)
        return _sum_degrees(self._dim, value, value, beyond, np.zeros(len(value)), cosines)

    def _stratum_products(
        self, part: int, means: FloatArray, missing: FloatArray, at: slice = slice(None)
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """E[g_m(R_i z) g_m(R_j z)] for i != j of one draw, m = 0, 2, ..., at each difference.

        Then the same for independent radii, and a bound of the products of higher degrees.
        """
        n = len(means)
        root = _total(self._vectors[part], np.sqrt(missing.mean(axis=0)))
        whole = means.sum(axis=0)
        independent = self._combine(part, part, whole / n, whole / n, at)
        products = self._combine(part, part, whole - means, means, at).sum(axis=0)
        beyond = 2.0 * root**2 * n / max(n - 1, 1) + 1e-14
        return products / max(n * (n - 1.0), 1.0), independent, beyond


def _angular_products(first: Vectors, second: Vectors, dim: int, degree: int) -> FloatArray | None:
    """c_j c'_k P_n(cos of v_j and v'_k), n = 0, 2, ..., degree; None for distances."""
    (v, c), (w, e) = first, second
    if v.ndim == 2:
        return None
    lengths = [np.linalg.norm(vectors, axis=-1)[..., None] for vectors in (v, w)]
    # A vector of length 0 has no waves of degree 2 and more: its direction does not matter.
    units = [u / np.where(z > 0.0, z, 1.0) for u, z in zip((v, w), lengths, strict=True)]
    # Parallel unit vectors have the cosine 1 up to rounding.
    cosines = np.clip(np.einsum("mjd,mkd->mjk", *units), -1.0, 1.0)
    waves = np.array(list(islice(gegenbauer_sequence(dim, cosines), 0, degree + 1, 2)))
    return np.asarray(np.moveaxis(waves, 0, -1) * np.multiply.outer(c, e)[..., None])


def _total(vectors: Vectors, values: FloatArray) -> FloatArray:
    """Sums of |c_j| times values at the vectors: (..., m J) to (..., m)."""
    weights = np.abs(vectors[1])
    return np.asarray(values.reshape(*values.shape[:-1], -1, weights.size) @ weights)


def _product_error(first: Vectors, second: Vectors, a: FloatArray, b: FloatArray) -> FloatArray:
    """Error of the products of waves of size 1 whose errors are a and b."""
    sizes = [float(np.abs(weights).sum()) for _, weights in (first, second)]
    return _total(first, a) * sizes[1] + _total(second, b) * sizes[0]


def _sum_degrees(
    dim: int,
    fine: FloatArray,
    coarse: FloatArray,
    beyond: FloatArray,
    errors: FloatArray,
    cosines: Sequence[CosineLaw],
) -> list[Bounded]:
    """Products of strata by degree, from two quadratures, summed for each law of a cosine."""
    found = [(fine[:, 0], np.abs(fine[:, 0] - coarse[:, 0]) + errors)]
    fine, coarse = fine[:, 1:], coarse[:, 1:]
    for law in cosines:
        means, higher, _ = cosine_means(law, dim, 2 * fine.shape[1])
        value = fine @ means
        error = np.abs(value - coarse @ means)
        found.append((value, error + higher * beyond + errors))
    return found


@lru_cache(maxsize=128)
def cosine_means(law: CosineLaw, dim: int, degree: int) -> tuple[FloatArray, float, int]:
    """Means of Gegenbauer polynomials of a random cosine.

    Returns ``means``: E P_n(c), n = 2, 4, ..., degree; ``beyond``: bound of all |E P_n(c)| of
    higher degrees; ``most``: the degree up to which the means are worth their cost.
    """
    cosines, weights = law.rule(law.value, dim, degree)
    means, beyond = gegenbauer_means(dim, degree, cosines, weights)
    return means[2::2], beyond, min(_LAST_DEGREE, _BUDGET // cosines.size)


def gegenbauer_means(
    dim: int, degree: int, cosines: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    r"""Means of P_n(c) for n = 0 ... degree, and a bound of all |means| beyond ``degree``.

    The bound is the mean of min(1, Gamma((d-1)/2) / sqrt(pi) * (4 / (n (1 - c^2)))^((d-2)/2)),
    n = degree + 1 (Atkinson, Han, Spherical Harmonics and Approximations on the Unit Sphere,
    Springer 2012, section 2.7), which falls with n.
    """
    waves = islice(gegenbauer_sequence(dim, cosines), degree + 1)
    means = np.array([weights @ wave for wave in waves])
    with np.errstate(divide="ignore"):
        log_ratio = np.log(4.0 / (degree + 1)) - np.log1p(-(cosines**2))
    constant = float(gammaln(0.5 * (dim - 1))) - 0.5 * np.log(np.pi)
    # In dimension 2 the exponent is 0 and the bound is 1, also where c = 1.
    log_bound = constant + 0.5 * (dim - 2) * log_ratio if dim > 2 else np.zeros_like(cosines)
    return means, float(weights @ np.exp(np.minimum(log_bound, 0.0)))

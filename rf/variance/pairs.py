r"""Covariances of two waves, from the distributions of the radii and of the cosine of directions.

The wave of a frequency w = R u at a difference D is cos(w.D) for a radial part.  For a part with
shifts t_j along an axis e it is :math:`\sum_j c_j \cos(w \cdot v_j)` with v_j = D + t_j e.  If the
directions of two frequencies w and w' have the random cosine c, the mean product of their waves is

.. math:: \sum_{j,k} c_j c'_k \sum_{n = 0, 2, \dots} E[g_n(R |v_j|)\, g_n(R' |v'_k|)]\;
          P_n(\cos\angle(v_j, v'_k))\; E P_n(c),

with Gegenbauer polynomials P_n, P_n(1) = 1, and the normalised coefficients g_n of a plane wave
(:mod:`spectra.base.harmonics`).  For radial parts the sum over j and k has one
term, v = v' = D.  The means over the radii follow from phi(x) = E cos(R x) at x = z s, with a
coordinate s of a uniform direction (:mod:`rf.variance.characteristic_function`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from rf.sampling.coupling import CosineLaw, fixed_cosine
from rf.variance.characteristic_function import (
    STRATUM_NODES,
    approximate_stratum_means,
    characteristic_function_of,
    sphere_harmonics,
    sphere_rule,
    stratum_means,
)
from spectra.base.arrays import FloatArray
from spectra.base.harmonics import gegenbauer_sequence
from spectra.base.limits import check_time

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "PairCovariances", "Vectors", "cosine_means", "gegenbauer_means"]

#: Values, and bounds of their errors.
WithError = tuple[FloatArray, FloatArray]
#: The vectors v_j of m differences, shape (m, J, d), and their weights c_j, shape (J,).  For a
#: radial kernel the distances, shape (m, 1), and the weight 1.
Vectors = tuple[FloatArray, FloatArray]
#: H_n = E g_n(R z) of a part at its lengths z, up to sign, n = 0, 2, ..., degree, shape (lengths,
#: degrees); the root of the sum of H_n^2 over higher n; the mean of the error of phi(z s) over s.
Coefficients = tuple[FloatArray, FloatArray, FloatArray]

# Error of the mean of a plane wave of a table; the error of a variance is a few times this.
MEAN_ERROR = 1e-12
# Largest truncation error of a covariance, far below any measurable variance; more if approximate.
_TOLERANCE = 1e-8
_APPROXIMATE_TOLERANCE = 1e-5
# Sums over n end at this degree, which is multiplied by the factor until the remainder is small.
_FIRST_DEGREE = 32
_DEGREE_FACTOR = 4
# Panels of the quadrature over the angle of a direction, and degree that one resolves.
_FIRST_PANELS = 4
_MOST_PANELS = 512
_DEGREE_PER_PANEL = 8
# Largest number of panels, if approximate; and if strata need more for their phases R z s.
_MOST_APPROXIMATE_PANELS = 32
_MOST_STRATA_PANELS = 64
# Largest degree of the sums for stratified radii, and their degree if approximate.
_MOST_STRATA_DEGREE = 256
_APPROXIMATE_STRATA_DEGREE = 32
# Largest number of values of phi that are kept for a rule (16 MB, with their errors).
_MOST_KEPT_VALUES = 1 << 20
# Largest change of the phase R z s over a panel for which 16 nodes resolve products of two cosines.
_PHASE_PER_PANEL = 10.0
# Largest number of strata if approximate.
_MOST_STRATA = 64
# For the means E P_n(c), largest number of values of polynomials (about 0.2 s), and largest degree.
_MOST_GEGENBAUER_VALUES = 20_000_000
_MOST_DEGREE = 2048


class PairCovariances:
    """Covariances of the waves of several parts, each with a radius law and vectors v_j.

    ``approximate``: compute with a single quadrature rule, and return 0 for the error bounds.
    """

    def __init__(
        self, dim: int, laws: Sequence[RadialLaw], vectors: Sequence[Vectors], approximate: bool
    ) -> None:
        self._dim, self._approximate = dim, approximate
        self._laws = list(laws)
        self._functions = [characteristic_function_of(law) for law in laws]
        self._vectors = list(vectors)
        self._lengths = [v if v.ndim == 2 else np.linalg.norm(v, axis=-1) for v, _ in vectors]
        self._reach = max(float(lengths.max(initial=0.0)) for lengths in self._lengths)
        self._angular: dict[tuple[int, int, int], FloatArray | None] = {}
        self._phi_values: dict[int, list[WithError]] = {}
        self._coefficients: dict[tuple[int, int], list[Coefficients]] = {}
        self._covariances: dict[tuple[int, int, CosineLaw], tuple[FloatArray, FloatArray, int]] = {}
        self._strata: dict[tuple[int, int, int], tuple[FloatArray, FloatArray, FloatArray]] = {}

    def plane_wave(self, part: int, z: FloatArray) -> FloatArray:
        """E cos(w.v) of a part at any lengths z = |v|, interpolated with an error of about 1e-9."""
        panels = self._functions[part].panels_to(float(z.max(initial=0.0)))
        s, weights = sphere_rule(self._dim, min(max(panels, _FIRST_PANELS), _MOST_PANELS))
        return np.asarray(self._functions[part](z[..., None] * s)[0] @ weights)

    def covariance(
        self, first: int, second: int, cosine: CosineLaw
    ) -> tuple[FloatArray, FloatArray, int]:
        """Covariance of two waves, one of each part, for independent radii.

        Returns it, a bound of its error, and the even degree to which it is summed.
        """
        key = (first, second, cosine)
        if key not in self._covariances:
            degree, remainder = _FIRST_DEGREE, np.zeros(1)
            evaluate: Callable[[int], WithError] = partial(self._same_direction, first, second)
            if cosine != fixed_cosine(1.0):
                means, remainder, degree = self._choose_degree(first, second, cosine)
                evaluate = partial(self._sum_over_degrees, first, second, means, degree)
            panels = self._count_panels(degree)
            value, error = evaluate(panels)
            if self._approximate:
                error = np.zeros_like(value)
            else:
                coarse, (value, error) = value, evaluate(2 * panels)
                error = error + np.abs(value - coarse) + remainder + MEAN_ERROR
            self._covariances[key] = value, error, degree
        return self._covariances[key]

    def _choose_degree(
        self, first: int, second: int, cosine: CosineLaw
    ) -> tuple[FloatArray, FloatArray, int]:
        """The means E P_n(c) to a sufficient degree, a bound of the remainder, and the degree."""
        degree = _FIRST_DEGREE
        tolerance = _APPROXIMATE_TOLERANCE if self._approximate else _TOLERANCE
        while True:
            check_time()
            means, bound, most_degree = cosine_means(cosine, self._dim, degree)
            panels = self._count_panels(degree) * (2 - self._approximate)
            a, b = (self.coefficients(degree, panels)[part][1] for part in (first, second))
            remainder = bound * _weighted_sum(self._vectors[first], a)
            remainder = remainder * _weighted_sum(self._vectors[second], b)
            if np.all(remainder <= tolerance) or _DEGREE_FACTOR * degree > most_degree:
                return means, remainder, degree
            degree *= _DEGREE_FACTOR

    def coefficients(self, degree: int, panels: int) -> list[Coefficients]:
        """The coefficients of each part, by a quadrature rule with ``panels`` panels."""
        key = (degree, panels)
        if key not in self._coefficients:
            _, weights = sphere_rule(self._dim, panels)
            basis = sphere_harmonics(self._dim, panels, degree)
            results = []
            for value, error in self._evaluate_phi(panels):
                means = (basis @ value.T).T
                # The sum of H_n^2 over all even n is E_s phi(z s)^2.
                remainder = value**2 @ weights - np.sum(means**2, axis=1)
                root = np.sqrt(np.maximum(remainder, 0.0) + 1e-14)
                results.append((means, root, error @ weights))
            self._coefficients[key] = results
        return self._coefficients[key]

    def _evaluate_phi(self, panels: int) -> list[WithError]:
        """phi(z s) of every part at its lengths z and the nodes s of a rule, and its error."""
        if panels in self._phi_values:
            return self._phi_values[panels]
        s, _ = sphere_rule(self._dim, panels)
        points = zip(self._functions, self._lengths, strict=True)
        results = [phi(z.reshape(-1, 1) * s) for phi, z in points]
        if sum(value.size for value, _ in results) <= _MOST_KEPT_VALUES:
            self._phi_values[panels] = results
        return results

    def _count_panels(self, degree: int) -> int:
        """Number of panels that resolve polynomials of a degree, and phi of every part."""
        least = max(_FIRST_PANELS, -(-degree // _DEGREE_PER_PANEL))
        count = max(least, *(phi.panels_to(self._reach) for phi in self._functions))
        if self._approximate:
            count = min(count, max(least, _MOST_APPROXIMATE_PANELS))
        return int(min(1 << (count - 1).bit_length(), _MOST_PANELS))

    def _combine(
        self, first: int, second: int, a: FloatArray, b: FloatArray, at: slice = slice(None)
    ) -> FloatArray:
        """Sums over j and k of a_j b_k c_j c'_k P_n(cos(v_j, v'_k)), for each degree n.

        ``a`` (..., m J, degrees), ``b`` (..., m K, degrees): values for m differences, those in
        the slice ``at``; returns shape (..., m, degrees).
        """
        key = (first, second, 2 * a.shape[-1] - 2)
        if key not in self._angular:
            vectors = self._vectors[first], self._vectors[second]
            self._angular[key] = _angular_products(*vectors, self._dim, key[-1])
        angular = self._angular[key]
        if angular is None:
            return a * b
        j, k = angular.shape[1:3]
        a = a.reshape(*a.shape[:-2], -1, j, a.shape[-1])
        b = b.reshape(*b.shape[:-2], -1, k, b.shape[-1])
        summed = np.einsum("...mjn,...mkn,mjkn->...mn", a, b, angular[at], optimize=True)
        return np.asarray(summed)

    def _sum_over_degrees(
        self, first: int, second: int, means: FloatArray, degree: int, panels: int
    ) -> WithError:
        coefficients = self.coefficients(degree, panels)
        (a, _, a_error), (b, _, b_error) = coefficients[first], coefficients[second]
        products = self._combine(first, second, a, b)[..., 1:]
        vectors = self._vectors[first], self._vectors[second]
        return products @ means, 2.0 * _product_error(*vectors, a_error, b_error)

    def _same_direction(self, first: int, second: int, panels: int) -> WithError:
        """Covariance for c = 1 of radial parts: E_s[phi phi'] - H_0 H'_0, as P_n(1) = 1."""
        _, weights = sphere_rule(self._dim, panels)
        coefficients, values = self.coefficients(_FIRST_DEGREE, panels), self._evaluate_phi(panels)
        (a, _, a_error), (b, _, b_error) = coefficients[first], coefficients[second]
        mean_product = (values[first][0] * values[second][0]) @ weights
        return mean_product - a[:, 0] * b[:, 0], 2.0 * (a_error + b_error)

    def terms_of_strata(self, part: int, n: int, cosines: Sequence[CosineLaw]) -> list[WithError]:
        """Terms of the mean product of two waves i != j of a part with n strata, and errors.

        First that of degree 0, E g_0(R_i z) g_0(R_j z); then the sum of the others for each cosine.
        """
        if self._approximate:
            return self._approximate_terms(part, n, cosines)
        degrees = [self.covariance(part, part, cosine)[2] for cosine in cosines]
        degree = min(max(degrees, default=0), _MOST_STRATA_DEGREE)
        law, results = self._laws[part], []
        for nodes, divisor in zip(STRATUM_NODES, (1, 2), strict=True):
            blocks = []
            for index, lengths in enumerate(self._lengths[part]):
                # The radii of all strata but the last are at most the quantile of 1 - 1/n.
                phase = float(law.ppf(1.0 - 1.0 / n)) * float(lengths.max())
                count = int(min(phase / _PHASE_PER_PANEL, _MOST_STRATA_PANELS))
                panels = max(self._count_panels(degree), 1 << count.bit_length()) // divisor
                means = stratum_means(law, n, lengths, self._dim, panels, degree, nodes)
                blocks.append(self._stratum_products(part, *means, slice(index, index + 1)))
            results.append([np.concatenate(arrays) for arrays in zip(*blocks, strict=True)])
        phi_error = self.coefficients(degree, self._count_panels(degree))[part][2]
        vectors = self._vectors[part]
        errors = 4.0 * _product_error(vectors, vectors, phi_error, phi_error)
        (fine, _, beyond), (coarse, _, _) = results
        return _sum_terms(self._dim, fine, coarse, beyond, errors, cosines)

    def _approximate_terms(
        self, part: int, n: int, cosines: Sequence[CosineLaw]
    ) -> list[WithError]:
        """As :meth:`terms_of_strata`, from at most 64 strata and one rule, without errors.

        Stratification adds (H H' - Q) / (n - 1) to a mean product H H'.  With the means A_a and
        A'_a of the two factors over the stratum a, Q = sum_a A_a A'_a / n hardly depends on n.
        """
        degree, fewer = _APPROXIMATE_STRATA_DEGREE if cosines else 0, min(n, _MOST_STRATA)
        key = (part, fewer, degree)
        if key not in self._strata:
            whole = self.coefficients(degree, self._count_panels(degree))[part][0]
            means = approximate_stratum_means(
                self._laws[part], fewer, self._lengths[part].ravel(), self._dim, degree, whole
            )
            self._strata[key] = self._stratum_products(part, means, np.zeros(means.shape[:2]))
        products, independent, beyond = self._strata[key]
        value = independent + (fewer - 1) / (n - 1) * (products - independent)
        return _sum_terms(self._dim, value, value, beyond, np.zeros(len(value)), cosines)

    def _stratum_products(
        self, part: int, means: FloatArray, missing: FloatArray, at: slice = slice(None)
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """E[g_m(R_i z) g_m(R_j z)] for stratified radii, m = 0, 2, ..., at each difference.

        Also the same for independent radii, and a bound of the products of higher degrees.
        ``means``, ``missing``: the two results of :func:`stratum_means`.
        """
        n = len(means)
        root_missing = _weighted_sum(self._vectors[part], np.sqrt(missing.mean(axis=0)))
        whole = means.sum(axis=0)
        independent = self._combine(part, part, whole / n, whole / n, at)
        products = self._combine(part, part, whole - means, means, at).sum(axis=0)
        beyond = 2.0 * root_missing**2 * n / max(n - 1, 1) + 1e-14
        return products / max(n * (n - 1.0), 1.0), independent, beyond


def _angular_products(first: Vectors, second: Vectors, dim: int, degree: int) -> FloatArray | None:
    """c_j c'_k P_n(cos(v_j, v'_k)), n = 0, 2, ..., degree; None for radial parts."""
    (v, c), (w, e) = first, second
    if v.ndim == 2:
        return None
    lengths = [np.linalg.norm(vectors, axis=-1)[..., None] for vectors in (v, w)]
    # For v = 0 only the term n = 0 is not 0, which does not depend on the direction of v.
    units = [u / np.where(z > 0.0, z, 1.0) for u, z in zip((v, w), lengths, strict=True)]
    # Rounding errors can make a cosine larger than 1.
    cosines = np.clip(np.einsum("mjd,mkd->mjk", *units), -1.0, 1.0)
    values = np.array(list(islice(gegenbauer_sequence(dim, cosines), 0, degree + 1, 2)))
    return np.asarray(np.moveaxis(values, 0, -1) * np.multiply.outer(c, e)[..., None])


def _weighted_sum(vectors: Vectors, values: FloatArray) -> FloatArray:
    """Sums over j of |c_j| times values, from shape (..., m J) to (..., m)."""
    weights = np.abs(vectors[1])
    return np.asarray(values.reshape(*values.shape[:-1], -1, weights.size) @ weights)


def _product_error(first: Vectors, second: Vectors, a: FloatArray, b: FloatArray) -> FloatArray:
    """Error of the mean product of two waves whose plane waves have the errors a and b."""
    sizes = [float(np.abs(weights).sum()) for _, weights in (first, second)]
    return _weighted_sum(first, a) * sizes[1] + _weighted_sum(second, b) * sizes[0]


def _sum_terms(
    dim: int,
    fine: FloatArray,
    coarse: FloatArray,
    beyond: FloatArray,
    errors: FloatArray,
    cosines: Sequence[CosineLaw],
) -> list[WithError]:
    """Terms of :meth:`PairCovariances.terms_of_strata`, from a fine and a coarse rule."""
    results = [(fine[:, 0], np.abs(fine[:, 0] - coarse[:, 0]) + errors)]
    fine, coarse = fine[:, 1:], coarse[:, 1:]
    for cosine in cosines:
        means, higher, _ = cosine_means(cosine, dim, 2 * fine.shape[1])
        value = fine @ means
        error = np.abs(value - coarse @ means)
        results.append((value, error + higher * beyond + errors))
    return results


@lru_cache(maxsize=128)
def cosine_means(cosine: CosineLaw, dim: int, degree: int) -> tuple[FloatArray, float, int]:
    """Means of Gegenbauer polynomials of a random cosine.

    Returns E P_n(c) for n = 2, 4, ..., degree; a bound of every |E P_n(c)| of higher degree; and
    the largest degree for which the means take about 0.2 s.
    """
    nodes, weights = cosine.rule(cosine.parameter, dim, degree)
    means, beyond = gegenbauer_means(dim, degree, nodes, weights)
    return means[2::2], beyond, min(_MOST_DEGREE, _MOST_GEGENBAUER_VALUES // nodes.size)


def gegenbauer_means(
    dim: int, degree: int, cosines: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    r"""Means of P_n(c) for n = 0, ..., degree, and a bound of every |mean| of higher degree.

    The bound is the mean of min(1, Gamma((d-1)/2) / sqrt(pi) * (4 / (n (1 - c^2)))^((d-2)/2)),
    n = degree + 1 (Atkinson, Han, Spherical Harmonics and Approximations on the Unit Sphere,
    Springer 2012, section 2.7), which falls with n.
    """
    polynomials = islice(gegenbauer_sequence(dim, cosines), degree + 1)
    means = np.array([weights @ values for values in polynomials])
    with np.errstate(divide="ignore"):
        log_ratio = np.log(4.0 / (degree + 1)) - np.log1p(-(cosines**2))
    constant = float(gammaln(0.5 * (dim - 1))) - 0.5 * np.log(np.pi)
    # In dimension 2 the exponent is 0 and the bound is 1, even for c = 1.
    log_bound = constant + 0.5 * (dim - 2) * log_ratio if dim > 2 else np.zeros_like(cosines)
    return means, float(weights @ np.exp(np.minimum(log_bound, 0.0)))

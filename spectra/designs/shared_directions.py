r"""The measure of least mean squared error for a number of columns: bias and variance together.

All radii share one set of P directions u, so that m radii cost 2 m P columns, and

.. math:: \hat k = c_0 + \sum_{j=1}^m \frac{c_j}{P} \sum_p \cos(w_j u_p \cdot \Delta), \qquad
          \mathrm{Var}(z) = \sum_{n=2,4,\dots} N(n,d)\, S_n \Bigl[\sum_j c_j j_n(w_j z)\Bigr]^2,

with the angular means :math:`S_n = P^{-2} \sum_{p,q} P_n(c_{pq})` of the set, which has a
random rotation.  For given radii bias^2 + variance is quadratic in the masses; the radii are then
optimised.  Few radii on many directions are best, because the design may take any values
beyond the domain.  Without shared directions ("orthogonal", "iid") there is one radius.

On the unit sphere the low powers of u = <x, y> = 1 - z^2/2 have exact features, the monomials of
x; elsewhere the powers of u = 1 - 2 (z/z_max)^2 have, the monomials of x and |x|^2.  A design may
spend columns on them: :math:`\sum_{i \le L} a_i u^i` is added to the waves and has no variance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray
from spectra.designs.designed_measure import (
    FLOAT32_ROUNDING,
    MOST_KEPT,
    ULPS_PER_MASS,
    Coupling,
    Design,
    power_columns,
    unit_of_powers,
    without_powers,
)
from spectra.designs.distances import NODE_WEIGHTS, largest_error
from spectra.designs.wave_columns import angular_means as block_means
from spectra.designs.wave_columns import completed_means, varying_parts
from spectra.errors import ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["AngularMeans", "design_for_columns"]

IntArray = NDArray[np.intp]
AngularMeans = Callable[[int], FloatArray]

# Rows of the least squares are weighted by the square roots of the node weights.
_ROOTS = np.sqrt(NODE_WEIGHTS)
# Error that a unit of mass adds to float32 features.  As a part of the objective it limits the
# cancellation of masses.
_ROUNDING = ULPS_PER_MASS * FLOAT32_ROUNDING
# Lower bound of errors, so that their logarithm is finite.
_TINY = float(np.finfo(float).tiny)
# Grid of radii, in units of sqrt(d) / z_max: from nearly parabolic waves to a narrow peak at z = 0.
_TRIED = np.geomspace(0.05, 60.0, 48)
# A descent from radii of the grid (ratio 7/6) is skipped if it would have to reduce the error by
# more than this factor: two and three radii gained at most 1.19 for ten kernels.
_MOST_GAIN = 1.3
# Most positive radii that share directions.
_MOST_RADII = 3
# Nelder-Mead steps for each radius.
_STEPS_PER_RADIUS = 120


@lru_cache(maxsize=MOST_KEPT)
@staged("designing a measure for a number of columns")
def design_for_columns(
    kernel: Kernel,
    dim: int,
    domain: tuple[float, float],
    nodes: tuple[float, ...],
    *,
    n_components: int,
    coupling: Coupling = "shared",
    exact_degree: int = 0,
    positive: bool = False,
    angular_means: AngularMeans | None = None,
) -> Design:
    r"""Find radii and masses of least mean squared error for a number of feature columns.

    Parameters
    ----------
    kernel, dim :
        The kernel, and the dimension d >= 1.
    domain, nodes :
        The range and the nodes of the distances, from :func:`checked_distances`.
    n_components : int
        Most columns: 2 for each frequency, and 1 for the constant.
    coupling : {"shared", "orthogonal", "iid"}
        Orthonormal blocks of directions, shared by up to three radii or for one radius; or
        independent directions for one radius.
    exact_degree : int
        Degree up to which powers of u have exact features: of <x, y> for a zonal kernel, with
        C(d + L, L) columns, and else of 1 - 2 (z/z_max)^2, with C(d + 1 + L, L).
    positive : bool
        Whether every mass must be positive, so that features need no signature.
    angular_means : callable, optional
        n -> S_0, S_2, S_4, ... of the n directions that will be used.  Degrees beyond those given
        count as for independent directions.

    Raises
    ------
    ParameterError
        If there is no column left for a frequency after the exact powers.
    """
    most_radii = _MOST_RADII if coupling == "shared" else 1
    left = _columns_left(kernel, dim, n_components, exact_degree)
    z, unit = np.array(nodes), unit_of_powers(kernel, domain)
    tried = _TRIED * np.sqrt(dim) / domain[1]
    # The powers of u, of which the first is the constant, have no variance.
    exact = (1.0 - 0.5 * (z[:, None] / unit) ** 2) ** np.arange(exact_degree + 1.0)
    waves = partial(_weighted_waves, dim, z, exact)
    target = kernel(z) * _ROOTS
    fit = partial(_fit, waves, target, positive)
    scan = partial(_best_tried, *waves(tried), target, positive)
    means = angular_means or partial(block_means, dim, blocks=coupling != "iid")
    best, moving, count = np.inf, tried[:0], 0
    for m in range(1, most_radii + 1):
        # In dimension 1 a radius has only the columns cos(w x) and sin(w x).
        n = left // (2 * m) if dim > 1 else min(left // (2 * m), 1)
        if n < 1:
            break
        own = partial(fit, n, means(n))
        found = _descend(np.sort(tried[scan(n, means(n), m)]), own, tried, best=best)
        if (value := own(found)[0]) < best:
            best, moving, count = value, found, n
    _, found, bias, deviation = fit(count, means(count), moving)
    radii = np.concatenate([[0.0], moving])
    powers = found[1 : 1 + exact_degree]
    masses = np.delete(found, np.arange(1, 1 + exact_degree))
    return Design(
        kernel=kernel,
        dim=dim,
        domain=domain,
        coupling=coupling,
        radii=radii,
        masses=masses,
        counts=(1, *([count] * moving.size)),
        bias=bias,
        deviation=deviation,
        sup_error=largest_error(without_powers(kernel, powers, unit), dim, radii, masses, domain),
        n_components=n_components,
        powers=powers,
    )


def _columns_left(kernel: Kernel, dim: int, n_components: int, exact_degree: int) -> int:
    """Columns left for the waves after the constant and the exact powers."""
    monomials = power_columns(kernel, dim, exact_degree)
    if n_components - monomials < 2:
        raise ParameterError(
            f"n_components = {n_components} columns do not hold one wave beside the constant and "
            f"the powers up to degree {exact_degree} in dimension {dim}, which take {monomials}. "
            "Allow more columns, or a lower exact_degree."
        )
    return n_components - monomials


def _weighted_waves(
    dim: int, nodes: FloatArray, exact: FloatArray, radii: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weighted powers and waves (nodes, 1 + L + m); their varying parts (degree, nodes, m)."""
    plane, parts = varying_parts(dim, nodes[:, None] * radii)
    return np.concatenate([exact, plane], axis=1) * _ROOTS[:, None], parts * _ROOTS[:, None]


def _fit(
    waves: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    target: FloatArray,
    positive: bool,
    n: int,
    means: FloatArray,
    radii: FloatArray,
) -> tuple[float, FloatArray, float, float]:
    """The least squared error at some radii on n directions; its masses, bias and deviation."""
    columns, parts = waves(radii)
    angular = np.sqrt(completed_means(means, n, parts.shape[0]))
    # One row for each degree and distance of the variance; R has only one for each radius.
    spread = (angular[:, None, None] * parts).reshape(-1, radii.size)
    spread = np.asarray(np.linalg.qr(spread, mode="r"))
    still = np.zeros((spread.shape[0], columns.shape[1] - radii.size))
    padded = np.concatenate([still, spread], axis=1)
    matrix = np.concatenate([columns, padded, _ROUNDING * np.eye(columns.shape[1])])
    right = np.concatenate([target, np.zeros(matrix.shape[0] - target.size)])
    masses = nnls(matrix, right)[0] if positive else np.linalg.lstsq(matrix, right)[0]
    bias = float(np.linalg.norm(columns @ masses - target))
    deviation = float(np.linalg.norm(padded @ masses))
    return float(np.sum((matrix @ masses - right) ** 2)), masses, bias, deviation


def _best_tried(
    columns: FloatArray,
    parts: FloatArray,
    target: FloatArray,
    positive: bool,
    n: int,
    means: FloatArray,
    m: int,
) -> IntArray:
    """Indices of m of the radii tried: all are scanned (pairs for m > 1), then one is added."""
    angular = completed_means(means, n, parts.shape[0])
    still = columns.shape[1] - parts.shape[2]
    gram = columns.T @ columns + _ROUNDING**2 * np.eye(columns.shape[1])
    gram[still:, still:] += np.einsum("n,nzi,nzj->ij", angular, parts, parts, optimize=True)
    right = columns.T @ target

    def least(choices: IntArray) -> IntArray:
        """The row of least value among rows of indices of radii."""
        fixed = np.broadcast_to(np.arange(still), (len(choices), still))
        at = np.concatenate([fixed, choices + still], axis=1)
        inner, sides = gram[at[:, :, None], at[:, None, :]], right[at]
        masses = np.linalg.solve(inner, sides[:, :, None])[:, :, 0]
        if positive:
            masses = np.maximum(masses, 0.0)
        products = (inner @ masses[:, :, None])[:, :, 0]
        gains = np.sum(masses * (2.0 * sides - products), axis=1)
        return np.asarray(choices[np.argmax(gains)])

    indices = np.arange(parts.shape[2])
    chosen = least(np.array(list(combinations(indices, min(m, 2)))))
    while len(chosen) < m:
        others = np.setdiff1d(indices, chosen)
        repeated = np.broadcast_to(chosen, (others.size, chosen.size))
        chosen = least(np.concatenate([repeated, others[:, None]], axis=1))
    return chosen


def _descend(
    start: FloatArray,
    fit: Callable[[FloatArray], tuple[float, FloatArray, float, float]],
    tried: FloatArray,
    *,
    best: float,
) -> FloatArray:
    """Radii of less error from a start, unless its error is far above the least one, ``best``."""
    if fit(start)[0] >= _MOST_GAIN * best:
        return start

    def log_value(log_radii: FloatArray) -> float:
        return float(np.log(max(fit(np.exp(log_radii))[0], _TINY)))

    result = minimize(
        log_value,
        np.log(start),
        method="Nelder-Mead",
        bounds=[(np.log(tried[0]), np.log(tried[-1]))] * start.size,
        options={"maxfev": _STEPS_PER_RADIUS * start.size, "xatol": 1e-3, "fatol": 1e-3},
    )
    end = np.sort(result.x)
    return np.asarray(np.exp(end)) if log_value(end) <= log_value(np.log(start)) else start

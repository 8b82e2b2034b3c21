r"""The measure of least mean squared error for a number of columns: bias and variance together.

All radii w_j share P directions s_p, so that m radii use 2 m P columns.  The approximate kernel of
a difference D of norm z has the variance

.. math:: \hat k = c_0 + \sum_{j=1}^m \frac{c_j}{P} \sum_p \cos(w_j s_p \cdot D), \qquad
          \mathrm{Var}(z) = \sum_{n=2,4,\dots} S_n \Bigl[\sum_j c_j g_n(w_j z)\Bigr]^2,

with the angular means S_n and the coefficients g_n of ``wave_variance``.  For given radii, bias^2 +
variance is quadratic in the masses; the radii are then optimised.  Few radii with many directions
are best.  Couplings without shared directions ("orthogonal", "iid") use one radius.

A design may also spend columns on powers of u, whose features are exact (see ``designed_measure``):
:math:`\sum_{i \le L} a_i u^i` is added to the waves and has no variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from spectra.base.limits import check_time, staged
from spectra.base.numbers import FloatArray
from spectra.designs.designed_measure import (
    CACHED_DESIGNS,
    FLOAT32_ERROR_PER_MASS,
    Coupling,
    Design,
    power_columns,
    unit_of_powers,
    without_powers,
)
from spectra.designs.distances import NODE_WEIGHTS, largest_error
from spectra.designs.wave_variance import angular_means as means_of_random_directions
from spectra.designs.wave_variance import mean_and_coefficients, pad_angular_means
from spectra.errors import ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["AngularMeans", "design_for_columns"]

IntArray = NDArray[np.intp]
#: The function from a number P of directions to S_0, S_2, S_4, ...
AngularMeans = Callable[[int], FloatArray]

# Square roots of the node weights, which weight the rows of the least squares problem.
_ROOT_WEIGHTS = np.sqrt(NODE_WEIGHTS)
# Grid of radii in units of sqrt(d) / z_max: from nearly parabolic waves to a narrow peak at z = 0.
_GRID = np.geomspace(0.05, 60.0, 48)
# The best radii of the grid are optimised only if their objective is below this multiple of the
# least one so far.  For ten kernels the optimisation divided the objective by 1.19 at most.
_LARGEST_GAIN = 1.3
# Largest number of positive radii that share directions.
_MOST_RADII = 3
# Nelder-Mead evaluations for each radius.
_EVALUATIONS_PER_RADIUS = 120


@dataclass(frozen=True, eq=False)
class _LeastSquares:
    """Least squares problems for the coefficients of u^0, ..., u^L and of m waves.

    ``powers`` are the powers of u at the nodes; ``target`` is the kernel at the nodes, weighted.
    """

    dim: int
    nodes: FloatArray
    powers: FloatArray
    target: FloatArray
    grid: FloatArray
    positive: bool

    def basis(self, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted powers and waves (nodes, 1 + L + m), and weighted g_n (degrees n, nodes, m)."""
        waves, g = mean_and_coefficients(self.dim, self.nodes[:, None] * radii)
        weights = _ROOT_WEIGHTS[:, None]
        return np.concatenate([self.powers, waves], axis=1) * weights, g * weights

    @cached_property
    def grid_basis(self) -> tuple[FloatArray, FloatArray]:
        return self.basis(self.grid)

    def fit(
        self, n_directions: int, means: FloatArray, radii: FloatArray
    ) -> tuple[float, FloatArray, float, float]:
        """The best coefficients for these radii and directions with these angular means.

        Returns bias^2 + variance + squared rounding error, the coefficients of the powers and the
        waves, the bias and the standard deviation.
        """
        expected, g = self.basis(radii)
        root_means = np.sqrt(pad_angular_means(means, n_directions, g.shape[0]))
        # The variance is a sum of squares over degrees and nodes; QR reduces it to m squares.
        rows = np.linalg.qr((root_means[:, None, None] * g).reshape(-1, radii.size), mode="r")
        no_variance = np.zeros((len(rows), self.powers.shape[1]))
        variance = np.concatenate([no_variance, np.asarray(rows)], axis=1)
        matrix = np.concatenate(
            [expected, variance, FLOAT32_ERROR_PER_MASS * np.eye(expected.shape[1])]
        )
        right = np.concatenate([self.target, np.zeros(matrix.shape[0] - self.target.size)])
        x = nnls(matrix, right)[0] if self.positive else np.linalg.lstsq(matrix, right)[0]
        objective = float(np.sum((matrix @ x - right) ** 2))
        bias = float(np.linalg.norm(expected @ x - self.target))
        return objective, x, bias, float(np.linalg.norm(variance @ x))

    def best_of_grid(self, n_directions: int, means: FloatArray, m: int) -> FloatArray:
        """The best m radii of the grid: the best pair (or one), then the best third one."""
        expected, g = self.grid_basis
        angular, n_powers = pad_angular_means(means, n_directions, len(g)), self.powers.shape[1]
        gram = expected.T @ expected + FLOAT32_ERROR_PER_MASS**2 * np.eye(expected.shape[1])
        gram[n_powers:, n_powers:] += np.einsum("n,nzi,nzj->ij", angular, g, g, optimize=True)
        right = expected.T @ self.target

        def best_row(choices: IntArray) -> IntArray:
            """The row of least objective, among rows of indices of radii."""
            powers = np.broadcast_to(np.arange(n_powers), (len(choices), n_powers))
            used = np.concatenate([powers, choices + n_powers], axis=1)
            grams, rights = gram[used[:, :, None], used[:, None, :]], right[used]
            x = np.linalg.solve(grams, rights[:, :, None])[:, :, 0]
            if self.positive:
                x = np.maximum(x, 0.0)
            products = (grams @ x[:, :, None])[:, :, 0]
            gains = np.sum(x * (2.0 * rights - products), axis=1)
            return np.asarray(choices[np.argmax(gains)])

        indices = np.arange(self.grid.size)
        chosen = best_row(np.array(list(combinations(indices, min(m, 2)))))
        while len(chosen) < m:
            check_time()
            others = np.setdiff1d(indices, chosen)
            repeated = np.broadcast_to(chosen, (others.size, chosen.size))
            chosen = best_row(np.concatenate([repeated, others[:, None]], axis=1))
        return np.sort(self.grid[chosen])

    def optimise(
        self, start: FloatArray, n_directions: int, means: FloatArray, least: float
    ) -> FloatArray:
        """Radii of least objective; ``start`` if they are not expected to reach ``least``."""

        def log_objective(log_radii: FloatArray) -> float:
            objective, *_ = self.fit(n_directions, means, np.exp(log_radii))
            return float(np.log(max(objective, np.finfo(float).tiny)))

        objective, *_ = self.fit(n_directions, means, start)
        if objective >= _LARGEST_GAIN * least:
            return start
        result = minimize(
            log_objective,
            np.log(start),
            method="Nelder-Mead",
            bounds=[(np.log(self.grid[0]), np.log(self.grid[-1]))] * start.size,
            options={"maxfev": _EVALUATIONS_PER_RADIUS * start.size, "xatol": 1e-3, "fatol": 1e-3},
        )
        end = np.sort(result.x)
        better = log_objective(end) <= log_objective(np.log(start))
        return np.asarray(np.exp(end)) if better else start


@lru_cache(maxsize=CACHED_DESIGNS)
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
    kernel, dim, domain, nodes :
        The kernel, the dimension, and range and nodes of distances from :func:`checked_distances`.
    n_components : int
        Largest number of columns: 2 for each frequency, and 1 for the constant.
    coupling : {"shared", "orthogonal", "iid"}
        Orthonormal blocks of directions, shared by up to three radii or for one radius; or
        independent directions for one radius.
    exact_degree : int
        Degree L of the powers of u with exact features.  For a zonal kernel u = <x, y>, with
        C(d + L, L) columns; else u = 1 - 2 (z/z_max)^2, with C(d + 1 + L, L) columns.
    positive : bool
        Whether masses and a_i must be nonnegative, so that the features have no negative signs.
    angular_means : callable, optional
        The function P -> (S_0, S_2, S_4, ...) of the P directions that will be used.  The means of
        higher degrees are 1/P, as for independent directions.

    Raises
    ------
    ParameterError
        If the exact powers leave no columns for a frequency.
    """
    most_radii = _MOST_RADII if coupling == "shared" else 1
    monomials = power_columns(kernel, dim, exact_degree)
    columns_left = n_components - monomials
    if columns_left < 2:
        raise ParameterError(
            f"n_components = {n_components} leaves no columns for a frequency after powers up to "
            f"degree {exact_degree} in dimension {dim}, which take {monomials}. Use more columns."
        )
    z, unit = np.array(nodes), unit_of_powers(kernel, domain)
    problem = _LeastSquares(
        dim=dim,
        nodes=z,
        powers=(1.0 - 0.5 * (z[:, None] / unit) ** 2) ** np.arange(exact_degree + 1.0),
        target=kernel(z) * _ROOT_WEIGHTS,
        grid=_GRID * np.sqrt(dim) / domain[1],
        positive=positive,
    )
    means = angular_means or partial(means_of_random_directions, dim, blocks=coupling != "iid")
    least, radii, count = np.inf, np.zeros(0), 0
    for m in range(1, most_radii + 1):
        # In dimension 1 a radius has only the columns cos(w x) and sin(w x).
        n = columns_left // (2 * m) if dim > 1 else min(columns_left // (2 * m), 1)
        if n < 1:
            break
        start = problem.best_of_grid(n, means(n), m)
        found = problem.optimise(start, n, means(n), least)
        objective, *_ = problem.fit(n, means(n), found)
        if objective < least:
            least, radii, count = objective, found, n
    _, coefficients, bias, deviation = problem.fit(count, means(count), radii)
    powers = coefficients[1 : 1 + exact_degree]
    masses = np.delete(coefficients, np.arange(1, 1 + exact_degree))
    counts = (1, *([count] * radii.size))
    radii = np.concatenate([[0.0], radii])
    return Design(
        kernel=kernel,
        dim=dim,
        domain=domain,
        coupling=coupling,
        radii=radii,
        masses=masses,
        counts=counts,
        bias=bias,
        deviation=deviation,
        sup_error=largest_error(without_powers(kernel, powers, unit), dim, radii, masses, domain),
        n_components=n_components,
        powers=powers,
    )

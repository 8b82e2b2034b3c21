r"""The measure that makes the most of a number of columns: bias and variance minimised together.

All radii share one set of P directions u, so that m radii cost 2 m P columns, and

.. math:: \hat k = c_0 + \sum_{j=1}^m \frac{c_j}{P} \sum_p \cos(w_j u_p \cdot \Delta), \qquad
          \mathrm{Var}(z) = \sum_{n=2,4,\dots} N(n,d)\, S_n \Bigl[\sum_j c_j j_n(w_j z)\Bigr]^2,

with the angular means :math:`S_n = P^{-2} \sum_{p,q} P_n(c_{pq})` of the set, which is turned by a
random rotation.  For given radii bias^2 + variance is a quadratic in the masses; the radii are
sought among all.  Few radii on many directions are best: the range of distances leaves the
continuation free, and a free continuation needs few waves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from spectra.designs.certificate import estimated_sup_error, proved_sup_error
from spectra.designs.distances import check_domain, law_of_distances
from spectra.designs.waves import value_at_zero, wave_coefficients
from spectra.errors import ParameterError
from spectra.quadrature import Enclosure
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from spectra.kernel import Kernel
    from spectra.measure import SpectralMeasure

__all__ = ["BudgetDesign", "block_angular_means", "design_for_budget"]

FloatArray = NDArray[np.float64]
AngularMeans = Callable[[int], FloatArray]

# Error that a unit of mass adds to float32 features: 8 roundings.  As a part of the objective it
# keeps masses from cancelling more than pays.
_ROUNDING = 8.0 * 2.0**-24
# Radii tried, in units of sqrt(d) / z_max: from nearly a parabola to a narrow peak at z = 0.
_TRIED = np.geomspace(0.05, 60.0, 48)
# Angular means of degree up to this are computed; beyond it a set is like independent directions.
_ANGULAR_DEGREE = 30
# Angular means below this are zeros that were rounded: they are means of terms of size 1.
_MEAN_ROUNDING = 1e-13
# Distances count as at least this part of z_max.
_NEAREST = 1e-6
# Nelder-Mead steps for each radius.
_STEPS_PER_RADIUS = 120


@dataclass(frozen=True, eq=False)
class BudgetDesign:
    """Masses on few spheres that share their directions, for a given number of columns.

    Attributes
    ----------
    kernel, dim, domain :
        What was asked for.
    radii, masses : ndarray of shape (m + 1,)
        Radii, the first one 0 (one constant column), and signed masses.
    n_directions : int
        Directions that all radii share.
    columns : int
        2 m n_directions + 1 columns of features.
    bias, deviation : float
        Root mean squares over the distances of the bias and of the standard deviation.
    sup_error : Enclosure
        Largest bias on the domain.
    """

    kernel: Kernel
    dim: int
    domain: tuple[float, float]
    radii: FloatArray
    masses: FloatArray
    n_directions: int
    bias: float
    deviation: float
    sup_error: Enclosure

    @property
    def expected_error(self) -> float:
        """Root mean squared error over the distances: sqrt(bias^2 + deviation^2)."""
        return float(np.hypot(self.bias, self.deviation))

    @property
    def columns(self) -> int:
        """Columns of the features: a cosine and a sine for each wave, and one constant."""
        return 2 * (self.radii.size - 1) * self.n_directions + 1

    @property
    def measure(self) -> SpectralMeasure:
        """The design as a finite measure, to be tabulated like any other."""
        from spectra.measure import SpectralMeasure

        return SpectralMeasure.from_atoms(self.dim, self.radii, self.masses, kernel=self.kernel)

    @property
    def mass(self) -> float:
        """Total mass, the sum of |c_j|."""
        return float(np.abs(self.masses).sum())

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The kernel that the features have on average: sum_j c_j Omega(w_j z)."""
        z = np.asarray(z, dtype=float)
        return np.asarray(plane_wave_mean(self.dim, z[..., None] * self.radii) @ self.masses)

    def certify(self) -> Enclosure:
        """Prove the largest bias on the domain in ball arithmetic (needs the extra 'certify')."""
        tol = self.sup_error.mid + self.sup_error.rad
        return proved_sup_error(
            self.kernel, self.dim, self.radii, self.masses, self.domain, tol=tol
        )


def block_angular_means(dim: int, n: int) -> FloatArray:
    """S_0, S_2, ... of n directions in independent Haar blocks of d orthonormal ones.

    S_n = [n + P_n(0) sum b (b - 1)] / n^2 over the sizes b of the blocks.

    Examples
    --------
    >>> np.round(block_angular_means(3, 3)[[0, 2]], 12)
    array([1.        , 0.58333333])
    """
    full, rest = divmod(n, dim)
    pairs = full * dim * (dim - 1) + rest * (rest - 1)
    means = [1.0]
    for degree in range(2, _ANGULAR_DEGREE + 1, 2):
        zero = value_at_zero(dim, degree) if dim > 1 else 1.0
        means.append((n + pairs * zero) / n**2)
    return np.array(means)


def design_for_budget(
    kernel: Kernel,
    dim: int,
    *,
    budget: int,
    domain: tuple[float, float],
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    angular_means: AngularMeans | None = None,
    most_radii: int = 3,
) -> BudgetDesign:
    r"""Find radii and masses of least mean squared error for a number of feature columns.

    Parameters
    ----------
    kernel : Kernel
    dim : int
        Dimension d >= 2.
    budget : int
        Most columns: 2 for each frequency, and 1 for the constant.
    domain, distances :
        As for :func:`spectra.designs.design`; the error is a mean over the distances.
    angular_means : callable, optional
        n -> S_0, S_2, S_4, ... of the set of n directions to be used; by default that of
        orthonormal blocks.  Degrees beyond those given count as for independent directions.
    most_radii : int
        Most positive radii, at most 4.

    Returns
    -------
    BudgetDesign

    Raises
    ------
    ParameterError
        Where the budget does not hold one frequency, or dim = 1, where nothing varies.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k = radial("(1 - z**2/4)**2")
    >>> d = design_for_budget(k, 16, budget=481, domain=(0, 2))
    >>> d.columns <= 481, d.expected_error < 0.03
    (True, True)
    """
    low, high = check_domain(domain)
    if dim < 2:
        raise ParameterError(
            "In dimension 1 every direction is +-1 and designed features have no variance: "
            "use design(..., objective='mass')."
        )
    if budget < 3 or not 1 <= most_radii <= 4:
        raise ParameterError(
            f"budget = {budget} columns and most_radii = {most_radii}: a budget holds at least "
            "3 columns (one wave and the constant), and between 1 and 4 radii are sought."
        )
    nodes, weights = law_of_distances(kernel, (low, high), distances)
    # Nothing varies at distance 0, and the recurrence of the waves divides by it.
    nodes = np.maximum(nodes, _NEAREST * high)
    fit = _Fit(kernel, dim, nodes, weights, _TRIED * np.sqrt(dim) / high)
    means = angular_means or partial(block_angular_means, dim)
    best: _Candidate | None = None
    for m in range(1, most_radii + 1):
        n = (budget - 1) // (2 * m)
        if n < 1:
            break
        candidate = fit.best(m, n, means(n))
        if best is None or candidate.value < best.value:
            best = candidate
    assert best is not None  # the budget holds one wave
    radii = np.concatenate([[0.0], best.radii])
    error = estimated_sup_error(kernel, dim, radii, best.masses, (low, high), tol=best.value**0.5)
    return BudgetDesign(
        kernel, dim, (low, high), radii, best.masses, best.n, best.bias, best.deviation, error
    )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Radii with their best masses; ``value`` is the mean squared error with rounding."""

    radii: FloatArray
    masses: FloatArray
    n: int
    bias: float
    deviation: float
    value: float


class _Fit:
    """Mean squared errors of radii, over a law of distances."""

    def __init__(
        self,
        kernel: Kernel,
        dim: int,
        nodes: FloatArray,
        weights: FloatArray,
        tried: FloatArray,
    ) -> None:
        self.dim = dim
        self.nodes = nodes
        self.root = np.sqrt(weights)
        self.target = kernel(nodes) * self.root
        self.tried = tried

    @cached_property
    def _tried_waves(self) -> tuple[FloatArray, FloatArray]:
        return self._waves(self.tried)

    def _waves(self, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted waves (nodes, 1 + m) and coefficients (degree, nodes, m), n = 2, 4, ..."""
        t = self.nodes[:, None] * radii
        columns = plane_wave_mean(self.dim, t) * self.root[:, None]
        columns = np.concatenate([self.root[:, None], columns], axis=1)
        last = int(3.0 * np.sqrt(self.dim) + 1.1 * t.max() + 20.0)
        waves = wave_coefficients(self.dim, last, t)[2::2] * self.root[:, None]
        return columns, waves

    def _angular(self, means: FloatArray, n: int, count: int) -> FloatArray:
        """S_2, S_4, ...: those known, then what independent directions have."""
        known = means[1 : count + 1]
        if np.any(known < -_MEAN_ROUNDING):
            raise ParameterError(
                f"An angular mean is {known.min():.3g}. Each S_n is a sum of squares divided by "
                "n^2 and cannot be negative: look at how the means were computed."
            )
        angular = np.full(count, 1.0 / n)
        angular[: known.size] = np.where(known < _MEAN_ROUNDING, 0.0, known)
        return angular

    def _solve(
        self, radii: FloatArray, columns: FloatArray, spread: FloatArray, n: int
    ) -> _Candidate:
        """Best masses; ``spread`` has one row for each (degree, distance) of the variance."""
        m = radii.size
        ridge = _ROUNDING * np.eye(m + 1)
        padded = np.concatenate([np.zeros((spread.shape[0], 1)), spread], axis=1)
        matrix = np.concatenate([columns, padded, ridge])
        right = np.concatenate([self.target, np.zeros(matrix.shape[0] - self.target.size)])
        masses = np.linalg.lstsq(matrix, right, rcond=None)[0]
        bias = float(np.linalg.norm(columns @ masses - self.target))
        deviation = float(np.linalg.norm(padded @ masses))
        value = float(np.sum((matrix @ masses - right) ** 2))
        return _Candidate(radii, masses, n, bias, deviation, value)

    def at(self, radii: FloatArray, n: int, means: FloatArray) -> _Candidate:
        """The candidate with these radii."""
        columns, waves = self._waves(radii)
        angular = np.sqrt(self._angular(means, n, waves.shape[0]))
        spread = (angular[:, None, None] * waves).reshape(-1, radii.size)
        triangle = np.asarray(np.linalg.qr(spread, mode="r"))
        return self._solve(radii, columns, triangle, n)

    def best(self, m: int, n: int, means: FloatArray) -> _Candidate:
        """Scan the radii tried (pairs of them for m > 1), add greedily, then descend from there."""
        columns, waves = self._tried_waves
        angular = self._angular(means, n, waves.shape[0])
        quadratic = np.einsum("n,nzi,nzj->ij", angular, waves, waves, optimize=True)
        gram = columns.T @ columns + _ROUNDING**2 * np.eye(columns.shape[1])
        gram[1:, 1:] += quadratic
        right = columns.T @ self.target
        size = float(self.target @ self.target)

        def value(chosen: tuple[int, ...]) -> float:
            at = [0, *(i + 1 for i in chosen)]
            return size - float(right[at] @ np.linalg.solve(gram[np.ix_(at, at)], right[at]))

        indices = range(self.tried.size)
        chosen = min(combinations(indices, min(m, 2)), key=value)
        while len(chosen) < m:
            more = [(*chosen, i) for i in indices if i not in chosen]
            chosen = min(more, key=value)
        start = np.log(self.tried[list(chosen)])
        low, high = np.log(self.tried[0]), np.log(self.tried[-1])

        def log_value(log_radii: FloatArray) -> float:
            return float(np.log(self.at(np.exp(log_radii), n, means).value))

        result = minimize(
            log_value,
            start,
            method="Nelder-Mead",
            bounds=[(low, high)] * m,
            options={"maxfev": _STEPS_PER_RADIUS * m, "xatol": 1e-4, "fatol": 1e-4},
        )
        best = self.at(np.exp(np.sort(result.x)), n, means)
        unmoved = self.at(np.exp(np.sort(start)), n, means)
        return best if best.value <= unmoved.value else unmoved

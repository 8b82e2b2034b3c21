r"""The measure that makes the most of a number of columns: bias and variance minimised together.

All radii share one set of P directions u, so that m radii cost 2 m P columns, and

.. math:: \hat k = c_0 + \sum_{j=1}^m \frac{c_j}{P} \sum_p \cos(w_j u_p \cdot \Delta), \qquad
          \mathrm{Var}(z) = \sum_{n=2,4,\dots} N(n,d)\, S_n \Bigl[\sum_j c_j j_n(w_j z)\Bigr]^2,

with the angular means :math:`S_n = P^{-2} \sum_{p,q} P_n(c_{pq})` of the set, which is turned by a
random rotation.  For given radii bias^2 + variance is a quadratic in the masses; the radii are
sought among all.  Few radii on many directions are best: the range of distances leaves the
continuation free, and a free continuation needs few waves.

On the unit sphere the low powers of u = <x, y> = 1 - z^2/2 have exact features, the monomials of
x; anywhere else those of u = 1 - 2 (z/z_max)^2 have, the monomials of x and |x|^2.  A design may
spend columns on them: :math:`\sum_{i \le L} a_i u^i` joins the waves, does not vary, and takes over
what waves could only do with large cancelling masses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, nnls

from spectra.designs.atoms import table_of_spheres
from spectra.designs.certificate import estimated_sup_error, proved_sup_error
from spectra.designs.distances import check_domain, law_of_distances
from spectra.designs.powers import power_columns, unit_of_powers, without_powers
from spectra.errors import ParameterError
from spectra.harmonics import gegenbauer_at_zero, wave_coefficients
from spectra.kernel import Kernel
from spectra.progress import staged
from spectra.quadrature import Enclosure
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from spectra.measure import SpectralMeasure
    from spectra.table import SpectralTable

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
_NO_MEASURE = (
    "The design holds exact powers of z^2 up to degree {}, which no measure on frequencies has. "
    "Take exact_degree=0 for a measure."
)
# Where a descent from the radii tried, which are a sixth apart, would have to gain more than this
# factor to matter, it is left out: two and three radii gained at most 1.19 for ten kernels.
_MOST_GAIN = 1.3
# Nelder-Mead steps for each radius.
_STEPS_PER_RADIUS = 120


@dataclass(frozen=True, eq=False)
class BudgetDesign:
    """Masses on few spheres, and how many directions each gets of a given number of columns.

    Attributes
    ----------
    kernel, dim, domain :
        What was asked for.
    coupling : {"shared", "orthogonal", "iid"}
        "shared": all radii have the same directions; else each has its own.
    radii, masses : ndarray of shape (m,)
        Radii, ascending, and signed masses; the radius 0 is one constant column.
    counts : tuple of int
        Directions of each radius (1 for the radius 0).
    powers : ndarray of shape (L,)
        Coefficients a_1, ..., a_L of the powers of u = 1 - (z/unit)^2/2 that exact features serve.
    bias, deviation : float
        Root mean squares over the distances of the bias and of the standard deviation.
    sup_error : Enclosure
        Largest bias on the domain.
    """

    kernel: Kernel
    dim: int
    domain: tuple[float, float]
    coupling: str
    radii: FloatArray
    masses: FloatArray
    counts: tuple[int, ...]
    powers: FloatArray
    bias: float
    deviation: float
    sup_error: Enclosure

    @property
    def unit(self) -> float:
        """What distances are measured in by the powers: 1 on the unit sphere, else z_max/2."""
        return unit_of_powers(self.kernel, self.domain)

    @property
    def expected_error(self) -> float:
        """Root mean squared error over the distances: sqrt(bias^2 + deviation^2)."""
        return float(np.hypot(self.bias, self.deviation))

    @property
    def n_directions(self) -> int:
        """Directions of the radius that has most, and of every radius where they are shared."""
        return max(self.counts)

    @property
    def columns(self) -> int:
        """Columns of the features: a cosine and a sine for each wave, constants and monomials."""
        constant = bool(np.any(self.radii == 0.0)) or bool(self.powers.size)
        waves = sum(n for n, w in zip(self.counts, self.radii, strict=True) if w > 0.0)
        return 2 * waves + constant + power_columns(self.kernel, self.dim, self.powers.size) - 1

    @property
    def measure(self) -> SpectralMeasure:
        """The design as a finite measure, to be tabulated like any other.

        Raises
        ------
        ParameterError
            Where powers of u are part of the design, which are no plane waves.
        """
        from spectra.measure import SpectralMeasure

        if self.powers.size:
            raise ParameterError(_NO_MEASURE.format(self.powers.size))
        return SpectralMeasure.from_atoms(self.dim, self.radii, self.masses, kernel=self.kernel)

    @property
    def table(self) -> SpectralTable:
        """The table that features draw from, with a part of its own for each radius.

        Raises
        ------
        ParameterError
            Where powers of u are part of the design.
        """
        if self.powers.size:
            raise ParameterError(_NO_MEASURE.format(self.powers.size))
        return table_of_spheres(
            self.kernel, self.dim, self.radii, self.masses, self.domain, self.sup_error
        )

    @property
    def mass(self) -> float:
        """Total mass, the sum of |c_j|."""
        return float(np.abs(self.masses).sum())

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The kernel that the features have on average: sum_j c_j Omega(w_j z) + sum_i a_i u^i."""
        z = np.asarray(z, dtype=float)
        waves = plane_wave_mean(self.dim, z[..., None] * self.radii) @ self.masses
        u = 1.0 - 0.5 * (z / self.unit) ** 2
        return np.asarray(waves + np.polynomial.polynomial.polyval(u, [0.0, *self.powers]))

    def certify(self) -> Enclosure:
        """Prove the largest bias on the domain in ball arithmetic (needs the extra 'certify')."""
        tol = self.sup_error.mid + self.sup_error.rad
        rest = without_powers(self.kernel, self.powers, self.unit)
        return proved_sup_error(rest, self.dim, self.radii, self.masses, self.domain, tol=tol)


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
        zero = gegenbauer_at_zero(dim, degree) if dim > 1 else 1.0
        means.append((n + pairs * zero) / n**2)
    return np.array(means)


@staged("designing a measure for a budget")
def design_for_budget(
    kernel: Kernel,
    dim: int,
    *,
    budget: int,
    domain: tuple[float, float],
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    angular_means: AngularMeans | None = None,
    most_radii: int = 3,
    exact_degree: int = 0,
    positive: bool = False,
) -> BudgetDesign:
    r"""Find radii and masses of least mean squared error for a number of feature columns.

    Parameters
    ----------
    kernel : Kernel
    dim : int
        Dimension d >= 1; in dimension 1 nothing varies, and each radius has one direction.
    budget : int
        Most columns: 2 for each frequency, and 1 for the constant.
    domain, distances :
        As for :func:`spectra.designs.design`; the error is a mean over the distances.
    angular_means : callable, optional
        n -> S_0, S_2, S_4, ... of the set of n directions to be used; by default that of
        orthonormal blocks.  Degrees beyond those given count as for independent directions.
    most_radii : int
        Most positive radii, at most 4.
    exact_degree : int
        Degree up to which powers of u are served exactly: of <x, y> for a zonal kernel, at the
        price of C(d + L, L) columns, and else of 1 - 2 (z/z_max)^2, for C(d + 1 + L, L).
    positive : bool
        Whether every mass must be positive, so that features need no signature.

    Returns
    -------
    BudgetDesign

    Raises
    ------
    ParameterError
        Where the budget does not hold one frequency beside the exact powers.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k = radial("(1 - z**2/4)**2")
    >>> d = design_for_budget(k, 16, budget=481, domain=(0, 2))
    >>> d.columns <= 481, d.expected_error < 0.03
    (True, True)
    """
    low, high = check_domain(domain)
    if dim < 1:
        raise ParameterError(f"dim = {dim}: a dimension is at least 1.")
    if budget < 3 or not 1 <= most_radii <= 4:
        raise ParameterError(
            f"budget = {budget} columns and most_radii = {most_radii}: a budget holds at least "
            "3 columns (one wave and the constant), and between 1 and 4 radii are sought."
        )
    if exact_degree < 0:
        raise ParameterError(f"exact_degree = {exact_degree}: a degree is at least 0.")
    left = budget - power_columns(kernel, dim, exact_degree)
    if left < 2:
        raise ParameterError(
            f"budget = {budget} columns do not hold the {power_columns(kernel, dim, exact_degree)} "
            f"monomials up to degree {exact_degree} in dimension {dim} and one wave. Allow more "
            "columns, or a lower exact_degree."
        )
    nodes, weights = law_of_distances(kernel, (low, high), distances)
    # Nothing varies at distance 0, and the recurrence of the waves divides by it.
    nodes = np.maximum(nodes, _NEAREST * high)
    tried = _TRIED * np.sqrt(dim) / high
    # Columns without variance: the powers of u, of which the first is the constant.
    u = 1.0 - 0.5 * (nodes[:, None] / unit_of_powers(kernel, (low, high))) ** 2
    fit = _Fit(kernel, dim, nodes, weights, tried, u ** np.arange(exact_degree + 1.0), positive)
    means = angular_means or partial(block_angular_means, dim)
    best: _Candidate | None = None
    for m in range(1, most_radii + 1):
        n = left // (2 * m)
        if n < 1:
            break
        if dim == 1:
            n = 1  # cos(w x) and sin(w x) are all there is at a radius
        candidate = fit.best(m, n, means(n), worth=np.inf if best is None else best.value)
        if best is None or candidate.value < best.value:
            best = candidate
    assert best is not None  # the budget holds one wave
    radii = np.concatenate([[0.0], best.radii])
    powers = best.masses[1 : 1 + exact_degree]
    masses = np.delete(best.masses, np.arange(1, 1 + exact_degree))
    rest = without_powers(kernel, powers, unit_of_powers(kernel, (low, high)))
    error = estimated_sup_error(rest, dim, radii, masses, (low, high), tol=best.value**0.5)
    return BudgetDesign(
        kernel=kernel,
        dim=dim,
        domain=(low, high),
        coupling="shared",
        radii=radii,
        masses=masses,
        counts=(1, *([best.n] * best.radii.size)),
        powers=powers,
        bias=best.bias,
        deviation=best.deviation,
        sup_error=error,
    )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Radii with their best masses; ``value`` is the mean squared error with rounding.

    The masses begin with the constant and the exact powers.
    """

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
        exact: FloatArray,
        positive: bool,
    ) -> None:
        self.dim = dim
        self.positive = positive
        self.exact = exact
        self.nodes = nodes
        self.root = np.sqrt(weights)
        self.target = kernel(nodes) * self.root
        self.tried = tried

    @cached_property
    def _tried_waves(self) -> tuple[FloatArray, FloatArray]:
        return self._waves(self.tried)

    def _waves(self, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted powers and waves (nodes, 1 + L + m); coefficients (degree, nodes, m)."""
        t = self.nodes[:, None] * radii
        if self.dim == 1:
            plane, waves = np.cos(t), np.zeros((1, *t.shape))
        else:
            last = int(3.0 * np.sqrt(self.dim) + 1.1 * t.max() + 20.0)
            # Degree 0 is the plane wave itself.
            plane, _, *rest = wave_coefficients(self.dim, last, t)
            waves = np.array(rest[::2]) * self.root[:, None]
        return np.concatenate([self.exact, plane], axis=1) * self.root[:, None], waves

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
        ridge = _ROUNDING * np.eye(columns.shape[1])
        still = np.zeros((spread.shape[0], self.exact.shape[1]))
        padded = np.concatenate([still, spread], axis=1)
        matrix = np.concatenate([columns, padded, ridge])
        right = np.concatenate([self.target, np.zeros(matrix.shape[0] - self.target.size)])
        if self.positive:
            masses = nnls(matrix, right)[0]
        else:
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

    def best(self, m: int, n: int, means: FloatArray, *, worth: float) -> _Candidate:
        """Scan the radii tried (pairs of them for m > 1), add greedily, then descend from there.

        There is no descent where the scan is far from the value that it is ``worth``.
        """
        columns, waves = self._tried_waves
        angular = self._angular(means, n, waves.shape[0])
        quadratic = np.einsum("n,nzi,nzj->ij", angular, waves, waves, optimize=True)
        gram = columns.T @ columns + _ROUNDING**2 * np.eye(columns.shape[1])
        still = self.exact.shape[1]
        gram[still:, still:] += quadratic
        right = columns.T @ self.target
        size = float(self.target @ self.target)

        def value(chosen: tuple[int, ...]) -> float:
            at = [*range(still), *(i + still for i in chosen)]
            inner, side = gram[np.ix_(at, at)], right[at]
            if self.positive:
                root = np.linalg.cholesky(inner)
                masses = nnls(root.T, np.linalg.solve(root, side))[0]
                return size - float(2.0 * side @ masses - masses @ inner @ masses)
            return size - float(side @ np.linalg.solve(inner, side))

        indices = range(self.tried.size)
        chosen = min(combinations(indices, min(m, 2)), key=value)
        while len(chosen) < m:
            more = [(*chosen, i) for i in indices if i not in chosen]
            chosen = min(more, key=value)
        start = np.log(self.tried[list(chosen)])
        unmoved = self.at(np.exp(np.sort(start)), n, means)
        if unmoved.value > _MOST_GAIN * worth:
            return unmoved
        low, high = np.log(self.tried[0]), np.log(self.tried[-1])

        def log_value(log_radii: FloatArray) -> float:
            return float(np.log(self.at(np.exp(log_radii), n, means).value))

        result = minimize(
            log_value,
            start,
            method="Nelder-Mead",
            bounds=[(low, high)] * m,
            options={"maxfev": _STEPS_PER_RADIUS * m, "xatol": 1e-3, "fatol": 1e-3},
        )
        best = self.at(np.exp(np.sort(result.x)), n, means)
        return best if best.value <= unmoved.value else unmoved

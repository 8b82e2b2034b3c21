r"""A Gaussian field conditioned on observations, by Matheron's rule.

.. math:: f_{|y}(x) = f(x) + k(x, X)\,(K + D)^{-1} (y - f(X) - \varepsilon)

f is a path of the field, the second term is its correction, y are the observations at the rows of
X, K = k(X, X), and eps is normal with the variances D.  The mean is the kriging mean.  With a drift
its coefficients are those of universal kriging, for the mean and for every path (``drift``).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, lapack
from scipy.sparse.linalg import LinearOperator, cg

from rf.fields.drift import Drift, KrigingSystem
from rf.fields.vecchia import neighbour_blocks, vecchia_factor
from rf.inputs.arrays import user_stacklevel
from spectra.base.arrays import FloatArray
from spectra.base.limits import check_time, stage
from spectra.base.numbers import real_array
from spectra.errors import AccuracyError, DataError, ParameterError

__all__ = ["ConditionedField", "checked_noise"]

# Rows up to which "auto" factors the covariance matrix (800 MB).
_MOST_FACTORED = 10_000
# Rows up to which conjugate gradients keep the matrix in memory (2 GB); for more rows, every step
# computes it in blocks of this many entries (32 MB).
_MOST_IN_MEMORY, _BLOCK_ENTRIES = 16_384, 1 << 22
# Conjugate gradients: relative residual at which they stop, and the limit of their steps.
_CG_TOLERANCE, _CG_STEPS = 1e-10, 2_000
# Neighbours of the preconditioner, and the jitter on its diagonal, relative to k(0).
_NEIGHBOURS, _JITTER = 30, 1e-9
# Warn if the mean of the data is more than this many standard deviations away from 0.
_WARN_DEVIATIONS = 4.0
# Refuse a matrix whose solutions have a larger relative rounding error (condition number * eps).
_LARGEST_ROUNDING_ERROR = 1e-4


@final
@dataclass(frozen=True, eq=False, repr=False)
class ConditionedField:
    """A field conditioned on observations: paths, mean and standard deviation at any points.

    Attributes
    ----------
    field : GaussianField
    X : ndarray of shape (n, d)
        The points of the observations.
    y : ndarray of shape (n,)
        The observed values.
    noise : ndarray of shape (n,)
        Standard deviations of the errors of y.
    drift : Drift
        The mean of the field: :attr:`Drift.kind` is None, "constant", "linear" or "columns".
    solver : str
        "cholesky" or "cg".

    References
    ----------
    A. G. Journel and C. J. Huijbregts, Mining Geostatistics (1978), chapter VII; J. T. Wilson et
    al., "Efficiently sampling functions from Gaussian process posteriors", ICML 2020, equation 12.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import GaussianField
    >>> X = np.linspace(0, 3, 7)[:, None]
    >>> field = GaussianField("exp(-z**2/2)", dim=1, n_components=256, random_state=0)
    >>> given = field.condition(X, np.sin(X[:, 0]), noise=1e-3)
    >>> bool(np.abs(given(X) - np.sin(X[:, 0])).max() < 6e-3)        # up to the noise
    True
    >>> given.sample([[1.5], [10.0]], n_paths=4).shape
    (4, 2)
    """

    field: Any
    X: FloatArray
    y: FloatArray
    noise: FloatArray
    drift: Drift
    solver: str
    _factor: FloatArray | None  # lower Cholesky factor of K + D; None with solver "cg"
    _condition: float  # condition number of K + D; unused with solver "cg"

    def __repr__(self) -> str:
        low, high = float(self.noise.min()), float(self.noise.max())
        errors = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        data = f"{len(self.y)} values with errors of {errors}"
        return f"ConditionedField: {self.field!r} through {data}, solved by {self.solver}"

    @classmethod
    def from_data(
        cls, field: Any, X: FloatArray, y: ArrayLike, *, noise: ArrayLike, drift: Any, solver: str
    ) -> Self:
        """Check the data and factor the matrix; called by :meth:`rf.GaussianField.condition`."""
        values = real_array(y, "y", error=DataError)
        if values.shape != (len(X),) or not np.all(np.isfinite(values)):
            raise DataError(
                f"y has the shape {values.shape} for {len(X)} point(s): give one finite value for "
                "each row of X."
            )
        if not len(X):
            raise DataError("There are no points to condition on: use the field itself.")
        deviations = checked_noise(noise, len(X))
        mean = float(values.mean())
        field_deviation = float(np.hypot(field.k_zero**0.5, deviations.max()))
        if drift is None and abs(mean) > _WARN_DEVIATIONS * field_deviation:
            warnings.warn(
                f"The data have the mean {mean:.4g}, and the field has the mean 0 and the standard "
                f"deviation {field_deviation:.4g}: predictions far from the data tend to 0. "
                'Use drift="constant", or subtract the mean from y.',
                stacklevel=user_stacklevel(),
            )
        if solver not in ("auto", "cholesky", "cg"):
            raise ParameterError(f"solver = {solver!r} must be 'auto', 'cholesky' or 'cg'.")
        if solver == "auto":
            solver = "cholesky" if len(X) <= _MOST_FACTORED else "cg"
        trend = Drift.at(drift, X)
        if solver == "cg":
            return cls(field, X, values, deviations, trend, solver, None, 1.0)
        factor, condition = _factor_matrix(_covariance_matrix(field, X), deviations)
        return cls(field, X, values, deviations, trend, solver, factor, condition)

    @cached_property
    def _system(self) -> KrigingSystem:
        if self._factor is None:
            solve = _make_cg_solver(self.field, self.X, self.noise)
            return KrigingSystem(solve, None, self.drift.columns)
        return KrigingSystem.of_factor(self._factor, self.drift.columns)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the solver, which is rebuilt when needed."""
        return {name: value for name, value in vars(self).items() if name != "_system"}

    @cached_property
    def coefficients(self) -> FloatArray:
        """The estimated coefficients of the columns of the drift."""
        return self._system.weights(self.y)[1]

    def mean(self, X: ArrayLike, *, drift: ArrayLike | None = None) -> FloatArray:
        """The kriging mean at the rows of X: shape (rows,); ``drift`` has the columns there."""
        weights, coefficients = self._system.weights(self.y)
        trend = self.drift.of(X, drift) @ coefficients
        return np.asarray(trend + self.field.covariance_matrix(X, self.X) @ weights)

    def std(self, X: ArrayLike, *, drift: ArrayLike | None = None) -> FloatArray:
        """The kriging standard deviation of the field (not of a noisy value) at the rows of X.

        A variance below its rounding error, as at data without noise, is replaced by this error.

        Raises
        ------
        ParameterError
            With solver "cg", which does not factor the matrix.
        """
        if self._factor is None:
            raise ParameterError(
                'The standard deviation needs condition(..., solver="cholesky"). With "cg", '
                "estimate it from many paths."
            )
        cross, k_zero = self.field.covariance_matrix(self.X, X), self.field.k_zero
        variance = self._system.variance(k_zero, cross, self.drift.of(X, drift))
        factor_condition = self._condition**0.5  # condition number of the Cholesky factor
        rounding = len(self.X) * float(np.finfo(float).eps) * k_zero * factor_condition
        return np.asarray(np.sqrt(np.where(variance > rounding, variance, rounding)))

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Path 0 through the data at the rows of X: shape (rows,)."""
        return np.asarray(self.sample(X, n_paths=1)[0])

    def sample(
        self, X: ArrayLike, *, n_paths: int = 1, drift: ArrayLike | None = None
    ) -> FloatArray:
        """Paths 0 to n_paths - 1 through the data at the rows of X: shape (n_paths, rows).

        Path j is path j of the field plus the correction of this path.  With a drift, each path has
        its own coefficients, so that paths vary by the uncertainty of the drift, too.
        """
        points, n = np.concatenate([self.X, np.asarray(X, dtype=float)]), len(self.X)
        paths = self.field.sample(points, n_paths=n_paths)
        errors = np.array([self.noise * self.field.noise(j, n) for j in range(len(paths))])
        weights, coefficients = self._system.weights((self.y - paths[:, :n] - errors).T)
        cross = self.field.covariance_matrix(points[n:], self.X)
        trend = self.drift.of(points[n:], drift) @ coefficients
        return np.asarray(paths[:, n:] + (trend + cross @ weights).T)

    def on_grid(self, *axes: ArrayLike, number: int = 0) -> FloatArray:
        """Values of path ``number`` through the data on a grid, as :meth:`Path.on_grid`."""
        weights, coefficients = self._correction_weights(number)
        grid: FloatArray = self.field.on_grid(*axes, number=number)
        coordinates = [np.asarray(axis, dtype=float) for axis in axes]
        rows = max(1, _BLOCK_ENTRIES // len(self.y))
        values = grid.reshape(-1)
        for start in range(0, values.size, rows):
            block = np.arange(start, min(start + rows, values.size))
            indices = np.unravel_index(block, grid.shape)
            points = np.stack([x[i] for x, i in zip(coordinates, indices, strict=True)], axis=1)
            values[block] += self.field.covariance_matrix(points, self.X) @ weights
            values[block] += self.drift.of(points) @ coefficients
        return values.reshape(grid.shape)

    def gradient(self, X: ArrayLike, *, number: int = 0) -> FloatArray:
        """Gradient of path ``number`` through the data at the rows of X: shape (rows, d).

        Raises
        ------
        ParameterError
            If the field has no gradient (as for exp(-z)), or only a table is known from which the
            gradient of the covariance cannot be computed.
        """
        path_gradient = self.field.gradient(X, number=number)
        weights, coefficients = self._correction_weights(number)
        correction = self.field.covariance_gradient(X, self.X, weights)
        return np.asarray(path_gradient + correction + self.drift.gradient(coefficients))

    def mean_gradient(self, X: ArrayLike) -> FloatArray:
        """Gradient of the kriging mean at the rows of X: shape (rows, d).

        Raises
        ------
        ParameterError
            If the field has no gradient and a row of X is a data point, where the mean may have a
            kink (for groups of columns, if it shares the columns of a group with a data point).
        """
        if not self.field.is_differentiable:
            rows = np.flatnonzero(self.field.at_kink(X, self.X))
            if rows.size:
                raise ParameterError(
                    f"Row {rows[0]} is at a data point, where the mean of a field without a "
                    "gradient may have a kink. Move the row, or use a smoother covariance."
                )
        weights, coefficients = self._system.weights(self.y)
        gradient = self.field.covariance_gradient(X, self.X, weights)
        return np.asarray(gradient + self.drift.gradient(coefficients))

    def _correction_weights(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Weights and coefficients of the drift for path ``number``."""
        path = self.field.path(number)
        errors = self.noise * self.field.noise(number, len(self.y))
        return self._system.weights(self.y - path(self.X) - errors)


def checked_noise(noise: ArrayLike, n: int) -> FloatArray:
    """Standard deviations of n errors: one for all, or one for each."""
    deviations = real_array(noise, "noise")
    if deviations.shape not in ((), (n,)):
        raise ParameterError(
            f"noise has the shape {deviations.shape}: give one standard deviation for all rows, or "
            f"one for each of the {n} rows."
        )
    if not np.all((deviations >= 0.0) & (deviations < np.inf)):
        text = np.array2string(deviations, threshold=5)
        raise ParameterError(f"noise = {text} must be finite standard deviations, at least 0.")
    return np.array(np.broadcast_to(deviations, n))


def _factor_matrix(matrix: FloatArray, noise: FloatArray) -> tuple[FloatArray, float]:
    """Add the variances of the noise; return the lower Cholesky factor and condition number."""
    matrix[np.diag_indices_from(matrix)] += noise**2
    norm = float(np.abs(matrix).sum(axis=0).max())
    try:
        factor = cho_factor(matrix, lower=True)[0]
    except np.linalg.LinAlgError as error:
        message = _singular_message("it is not positive definite in double precision")
        raise AccuracyError(message) from error
    reciprocal, _ = lapack.dpocon(factor, norm, uplo="L")  # of the condition number
    rounding_error = float(np.finfo(float).eps) / reciprocal if reciprocal > 0.0 else np.inf
    if rounding_error > _LARGEST_ROUNDING_ERROR:
        condition = 1.0 / max(reciprocal, 1e-300)
        raise AccuracyError(_singular_message(f"its condition number is {condition:.1e}"))
    return np.tril(factor), 1.0 / reciprocal


def _make_cg_solver(
    field: Any, X: FloatArray, noise: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Conjugate gradients for all right-hand sides at once, preconditioned by Vecchia's factor."""
    n = len(X)
    rows = max(1, _BLOCK_ENTRIES // n)
    matrix = _covariance_matrix(field, X) if n <= _MOST_IN_MEMORY else None
    factor = _vecchia_factor(field, X, noise)

    def solve(right: FloatArray) -> FloatArray:
        if not right.size:  # no drift
            return np.empty(right.shape)
        shape = (n, right.size // n)

        def product(v: FloatArray) -> FloatArray:
            V = v.reshape(shape)
            if matrix is not None:
                return np.asarray(matrix @ V + noise[:, None] ** 2 * V).ravel()
            blocks = (field.covariance_matrix(X[i : i + rows], X) @ V for i in range(0, n, rows))
            return (np.concatenate(list(blocks)) + noise[:, None] ** 2 * V).ravel()

        def operator(matvec: Callable[[FloatArray], FloatArray]) -> LinearOperator:
            return LinearOperator((right.size, right.size), matvec=matvec, dtype=float)

        steps = itertools.count(1)
        with stage("conditioning by conjugate gradients", has_limit=False) as progress:

            def report(_: FloatArray) -> None:
                progress.label = f"conditioning by conjugate gradients, step {next(steps)}"
                check_time()

            solution, failed = cg(
                operator(product),
                right.ravel(),
                rtol=_CG_TOLERANCE,
                maxiter=_CG_STEPS,
                M=operator(lambda v: (factor.T @ (factor @ v.reshape(shape))).ravel()),
                callback=report,
            )
        if failed:
            raise AccuracyError(
                f"Conjugate gradients did not solve the {n} equations to {_CG_TOLERANCE:g} in "
                f"{_CG_STEPS} steps: the covariance matrix is too ill conditioned for the noise. "
                'Use a larger noise, or solver="cholesky".'
            )
        return np.asarray(solution).reshape(right.shape)

    return solve


def _covariance_matrix(field: Any, X: FloatArray) -> FloatArray:
    """The covariance matrix of all points, computed in blocks of rows to save memory."""
    matrix = np.empty((len(X), len(X)))
    rows = max(1, _BLOCK_ENTRIES // len(X))
    for i in range(0, len(X), rows):
        matrix[i : i + rows] = field.covariance_matrix(X[i : i + rows], X)
    return matrix


def _vecchia_factor(field: Any, X: FloatArray, noise: FloatArray) -> Any:
    """Vecchia's factor of the inverse of K + D, with a jitter for points that coincide."""
    diagonal = field.k_zero * (1.0 + _JITTER) + noise**2

    def covariance(block: Any) -> FloatArray:
        matrices = field.covariance_of_pairs(X[block])
        places = np.arange(block.shape[1])
        matrices[:, places, places] = diagonal[block]
        return np.asarray(matrices)

    return vecchia_factor(neighbour_blocks(field.scaled(X), _NEIGHBOURS), covariance)


def _singular_message(reason: str) -> str:
    return (
        f"The covariance matrix of the points is numerically singular ({reason}): two points "
        "coincide, or the field is so smooth that some values follow from the others. Give the "
        "noise of the observations (noise=...), or omit points."
    )

r"""A Gaussian field given its values at some points, by Matheron's rule.

.. math:: f_{|y}(x) = f(x) + k(x, X)\,(K + \sigma^2 I)^{-1} (y - f(X) - \varepsilon)

The sum of a path and an exact correction: for every path it interpolates the data up to the
noise.  Its mean over paths is the kriging mean, and its covariance is the kriging
covariance if that of the path is k.
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
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg

from rf.inputs.arrays import user_stacklevel
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.base.numbers import real_array
from spectra.errors import AccuracyError, DataError, ParameterError

__all__ = ["ConditionedField"]

# Rows up to which the matrix is factored (800 MB).
_MOST_FACTORED = 10_000
# Rows up to which conjugate gradients keep the matrix in memory (2 GB); beyond, it is computed in
# blocks at every step.
_MOST_IN_MEMORY = 16_384
_BLOCK_ENTRIES = 1 << 22
_CG_TOLERANCE = 1e-10
_CG_STEPS = 2_000
# Inducing points of the preconditioner, and the jitter on their diagonal, relative to k(0).
_INDUCING, _JITTER = 1_000, 1e-9
# Warn if the mean of the data is more than this many standard deviations away from 0.
_WARN_DEVIATIONS = 4.0
# A solution with a larger relative rounding error than this is refused.
_LARGEST_ERROR = 1e-4


@final
@dataclass(frozen=True, eq=False, repr=False)
class ConditionedField:
    """The field given observations: paths, mean and standard deviation at any points.

    Attributes
    ----------
    field : GaussianField
    X : ndarray of shape (n, d)
        The points of the observations.
    y : ndarray of shape (n,)
        The observed values.
    noise : float
        Standard deviation of the errors of y.
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
    noise: float
    solver: str
    _factor: FloatArray | None
    _condition: float

    def __repr__(self) -> str:
        given = f"{len(self.y)} values with errors of {self.noise:g}"
        return f"ConditionedField: {self.field!r} through {given}, solved by {self.solver}"

    @classmethod
    def of(cls, field: Any, X: FloatArray, y: ArrayLike, *, noise: float, solver: str) -> Self:
        """Check the data and prepare the solution; :meth:`rf.GaussianField.condition` calls it."""
        values = real_array(y, "y", error=DataError)
        if values.shape != (len(X),) or not np.all(np.isfinite(values)):
            raise DataError(
                f"y has the shape {values.shape} for {len(X)} point(s): give one finite value for "
                "each row of X."
            )
        if not len(X):
            raise DataError("There are no points to condition on: use the field itself.")
        given = real_array(noise, "noise")
        if given.ndim:
            raise ParameterError(
                f"noise has the shape {given.shape}: it is one standard deviation, of all rows."
            )
        noise = float(given)
        if not 0.0 <= noise < np.inf:
            raise ParameterError(f"noise = {noise} is a standard deviation: at least 0, finite.")
        mean, deviation = float(values.mean()), float(np.hypot(field.k_zero**0.5, noise))
        if abs(mean) > _WARN_DEVIATIONS * deviation:
            warnings.warn(
                f"The data have the mean {mean:.4g}, and the field has the mean 0 and the standard "
                f"deviation {deviation:.4g}: predictions far from the data tend to 0. Subtract the "
                "mean from y, and add it to the predictions.",
                stacklevel=user_stacklevel(),
            )
        if solver not in ("auto", "cholesky", "cg"):
            raise ParameterError(f"solver = {solver!r} is none of 'auto', 'cholesky' and 'cg'.")
        if solver == "auto":
            solver = "cholesky" if len(X) <= _MOST_FACTORED else "cg"
        if solver == "cg":
            return cls(field, X, values, noise, solver, None, 1.0)
        factor, condition = _factor_matrix(_covariances(field, X), noise)
        return cls(field, X, values, noise, solver, factor, condition)

    def _solve(self, right: FloatArray) -> FloatArray:
        """(K + noise^2 I)^(-1) times the columns of ``right``."""
        if self._factor is None:
            return self._by_gradients(right)
        return np.asarray(cho_solve((self._factor, True), right))

    @cached_property
    def _by_gradients(self) -> Callable[[FloatArray], FloatArray]:
        return _by_gradients(self.field, self.X, self.noise)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the solver of conjugate gradients, which is rebuilt when needed."""
        return {name: value for name, value in vars(self).items() if name != "_by_gradients"}

    def mean(self, X: ArrayLike) -> FloatArray:
        """The kriging mean k(x, X) (K + noise^2 I)^(-1) y at the rows of X: shape (rows,)."""
        return np.asarray(self.field.covariance_matrix(X, self.X) @ self._solve(self.y))

    def std(self, X: ArrayLike) -> FloatArray:
        """The kriging standard deviation of the field (not of a noisy value) at the rows of X.

        Where the variance is below the rounding of the solution, as at the data without noise,
        this is the largest value that the rounding allows.

        Raises
        ------
        ParameterError
            With solver "cg", which has no factor.
        """
        if self._factor is None:
            raise ParameterError(
                'The standard deviation needs the factor of the matrix: condition(..., solver="'
                'cholesky"), or take the spread of many paths.'
            )
        cross = self.field.covariance_matrix(self.X, X)
        half = solve_triangular(self._factor, cross, lower=True)
        k_zero = self.field.k_zero
        variance = k_zero - np.sum(half**2, axis=0)
        lost = len(self.X) * float(np.finfo(float).eps) * k_zero * self._condition**0.5
        return np.asarray(np.sqrt(np.where(variance > lost, variance, lost)))

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Path 0 through the data at the rows of X: shape (rows,)."""
        return np.asarray(self.sample(X, n_paths=1)[0])

    def sample(self, X: ArrayLike, *, n_paths: int = 1) -> FloatArray:
        """The first paths through the data at the rows of X: shape (n_paths, rows).

        Path j is path j of the field, corrected.
        """
        both = np.concatenate([self.X, np.asarray(X, dtype=float)])
        paths = self.field.sample(both, n_paths=n_paths)
        n = len(self.X)
        errors = np.array([self.noise * self.field.noise(j, n) for j in range(len(paths))])
        weights = self._solve((self.y - paths[:, :n] - errors).T)
        cross = self.field.covariance_matrix(both[n:], self.X)
        return np.asarray(paths[:, n:] + (cross @ weights).T)

    def on_grid(self, *axes: ArrayLike, number: int = 0) -> FloatArray:
        """Values of a path through the data on the grid of d axes, as :meth:`Path.on_grid`."""
        path = self.field.path(number)
        errors = self.noise * self.field.noise(number, len(self.y))
        weights = self._solve(self.y - path(self.X) - errors)
        grid: FloatArray = self.field.on_grid(*axes, number=number)
        lines = [np.asarray(axis, dtype=float) for axis in axes]
        rows = max(1, _BLOCK_ENTRIES // len(self.y))
        values = grid.reshape(-1)
        for start in range(0, values.size, rows):
            at = np.arange(start, min(start + rows, values.size))
            places = np.unravel_index(at, grid.shape)
            points = np.stack([a[i] for a, i in zip(lines, places, strict=True)], axis=1)
            values[at] += self.field.covariance_matrix(points, self.X) @ weights
        return values.reshape(grid.shape)

    def gradient(self, X: ArrayLike, *, number: int = 0) -> FloatArray:
        """Gradient of a path through the data at the rows of X: shape (rows, d).

        The sum of the gradients of the path and of its correction, both exact.

        Raises
        ------
        ParameterError
            Where the field has no gradient (as for exp(-z)), or only a table without its
            kernel is known.
        """
        path_gradient = self.field.gradient(X, number=number)
        at_data = self.field.path(number)(self.X)
        errors = self.noise * self.field.noise(number, len(self.X))
        weights = self._solve(self.y - at_data - errors)
        return np.asarray(path_gradient + self.field.covariance_gradient(X, self.X, weights))

    def mean_gradient(self, X: ArrayLike) -> FloatArray:
        """Gradient of the kriging mean at the rows of X: shape (rows, d).

        Raises
        ------
        ParameterError
            At a row of the data, if the field has no gradient: its mean may have a kink there (for
        groups of columns also if one coordinate equals that of the data).
        """
        if not self.field.is_differentiable:
            same = np.asarray(X, dtype=float)[:, None] == self.X[None]
            # For groups of columns a kink is at every point that agrees with the data in one group.
            at = np.flatnonzero(np.any(same.all(2) if self.field.is_radial else same.any(2), 1))
            if at.size:
                raise ParameterError(
                    f"Row {at[0]} is at one of the data, where the mean of a field without a "
                    "gradient may have a kink. Move the row, or take a smoother covariance."
                )
        weights = self._solve(self.y)
        return np.asarray(self.field.covariance_gradient(X, self.X, weights))


def _factor_matrix(matrix: FloatArray, noise: float) -> tuple[FloatArray, float]:
    """Lower Cholesky factor of matrix + noise^2 I, and the condition number of that."""
    matrix[np.diag_indices_from(matrix)] += noise**2
    norm = float(np.abs(matrix).sum(axis=0).max())
    try:
        factor = cho_factor(matrix, lower=True)[0]
    except np.linalg.LinAlgError as error:
        raise AccuracyError(_singular("it is not positive definite in doubles")) from error
    share, _ = lapack.dpocon(factor, norm, uplo="L")
    lost = float(np.finfo(float).eps) / share if share > 0.0 else np.inf
    if lost > _LARGEST_ERROR:
        raise AccuracyError(_singular(f"its condition number is {1.0 / max(share, 1e-300):.1e}"))
    return np.tril(factor), 1.0 / share


def _by_gradients(field: Any, X: FloatArray, noise: float) -> Callable[[FloatArray], FloatArray]:
    """Conjugate gradients for all right sides at once, preconditioned by inducing points.

    The preconditioner is the low-rank covariance from inducing points with the exact diagonal
    (FITC: Snelson and Ghahramani, NIPS 2005).
    """
    n = len(X)
    rows = max(1, _BLOCK_ENTRIES // n)
    held = _covariances(field, X) if n <= _MOST_IN_MEMORY else None
    precondition = _inducing_points(field, X, noise)

    def solve(right: FloatArray) -> FloatArray:
        shape = (n, right.size // n)

        def product(v: FloatArray) -> FloatArray:
            V = v.reshape(shape)
            if held is not None:
                return np.asarray(held @ V + noise**2 * V).ravel()
            blocks = (field.covariance_matrix(X[i : i + rows], X) @ V for i in range(0, n, rows))
            return (np.concatenate(list(blocks)) + noise**2 * V).ravel()

        def operator(work: Callable[[FloatArray], FloatArray]) -> LinearOperator:
            return LinearOperator((right.size, right.size), matvec=work, dtype=float)

        steps = itertools.count(1)
        with stage("conditioning by conjugate gradients", has_limit=False) as line:

            def report(_: FloatArray) -> None:
                line.label = f"conditioning by conjugate gradients, step {next(steps)}"

            found, failed = cg(
                operator(product),
                right.ravel(),
                rtol=_CG_TOLERANCE,
                maxiter=_CG_STEPS,
                M=operator(lambda v: precondition(v.reshape(shape)).ravel()),
                callback=report,
            )
        if failed:
            raise AccuracyError(
                f"Conjugate gradients did not solve the {n} equations to {_CG_TOLERANCE:g} in "
                f"{_CG_STEPS} steps: the covariance matrix is too ill conditioned for the noise. "
                'Give more noise, or solver="cholesky".'
            )
        return np.asarray(found).reshape(right.shape)

    return solve


def _covariances(field: Any, X: FloatArray) -> FloatArray:
    """The covariance matrix of all points, in blocks of rows to save memory."""
    matrix = np.empty((len(X), len(X)))
    rows = max(1, _BLOCK_ENTRIES // len(X))
    for i in range(0, len(X), rows):
        matrix[i : i + rows] = field.covariance_matrix(X[i : i + rows], X)
    return matrix


def _inducing_points(field: Any, X: FloatArray, noise: float) -> Callable[[FloatArray], FloatArray]:
    """Product with the inverse of the inducing-point approximation of the covariance."""
    few = np.random.default_rng(0).permutation(len(X))[:_INDUCING]
    cross = field.covariance_matrix(X[few], X)
    root = np.linalg.cholesky(cross[:, few] + _JITTER * field.k_zero * np.eye(len(few)))
    B = solve_triangular(root, cross, lower=True)
    rest = np.maximum(field.k_zero - np.sum(B**2, axis=0), _JITTER * field.k_zero) + noise**2
    inner = cho_factor(np.eye(len(few)) + (B / rest) @ B.T, lower=True)

    def inverse(V: FloatArray) -> FloatArray:
        scaled = V / rest[:, None]
        return np.asarray(scaled - (B.T @ cho_solve(inner, B @ scaled)) / rest[:, None])

    return inverse


def _singular(what: str) -> str:
    return (
        f"The covariance matrix of the points cannot be solved with ({what}): two points coincide, "
        "or the field is so smooth that some follow from the others. Give the noise of the "
        "observations (noise=...), or leave out points."
    )

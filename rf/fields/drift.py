r"""The mean of a field as a sum of unknown multiples of known functions: universal kriging.

With the matrix V of the covariances of the data and their errors, F the drift at the data and f(x)
at a point, the coefficients, the weights and the variance are

.. math:: \beta = (F^T V^{-1} F)^{-1} F^T V^{-1} y, \qquad \alpha = V^{-1} (y - F \beta), \qquad
          \sigma^2 = k(0) - c^T V^{-1} c + u^T (F^T V^{-1} F)^{-1} u, \quad u = f - F^T V^{-1} c .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, cholesky, solve_triangular

from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import DataError, ParameterError

__all__ = ["Drift", "KrigingSystem"]

# Columns of a drift are dependent if, divided by their norms, their least singular value is below.
_DEPENDENT = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Drift:
    """A drift of a field: its columns at any points, with coordinates relative to the data."""

    kind: Any
    columns: FloatArray
    centre: FloatArray
    size: float

    @classmethod
    def at(cls, kind: Any, X: FloatArray) -> Drift:
        """The drift of ``kind``: None, "constant", "linear" or an array of columns at the data."""
        centre, size = X.mean(axis=0), float(np.ptp(X, axis=0).max()) or 1.0
        if kind is None or isinstance(kind, str):
            empty = cls(kind, np.empty((len(X), 0)), centre, size)
            drift = replace(empty, columns=empty.of(X))
        else:
            drift = cls("columns", _read_columns(kind, len(X)), centre, size)
        _check_columns(drift.columns)
        return drift

    def of(self, X: ArrayLike, given: ArrayLike | None = None) -> FloatArray:
        """The columns at the rows of X; ``given`` are those of a drift of columns."""
        points = np.asarray(X, dtype=float)
        if self.kind is None:
            return np.empty((len(points), 0))
        if self.kind == "constant":
            return np.ones((len(points), 1))
        if self.kind == "linear":
            return np.column_stack([np.ones(len(points)), (points - self.centre) / self.size])
        if self.kind != "columns":
            raise ParameterError(
                f"drift = {self.kind!r} must be None, 'constant', 'linear' or an array of columns."
            )
        if given is None:
            raise ParameterError("The drift was given by its columns: pass drift= at new points.")
        return _read_columns(given, len(points), self.columns.shape[1])

    def gradient(self, coefficients: FloatArray) -> FloatArray:
        """The gradient of the drift with these coefficients, which is constant."""
        if self.kind == "columns":
            raise ParameterError("The gradient of a drift of columns is not known.")
        slopes = coefficients[1:] / self.size
        return slopes if self.kind == "linear" else np.zeros_like(self.centre)


def _read_columns(given: ArrayLike, rows: int, width: int | None = None) -> FloatArray:
    """The columns of a drift as an array of a row for each point."""
    columns = real_array(given, "drift", error=DataError)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if not np.all(np.isfinite(columns)):
        raise DataError("The columns of the drift must be finite.")
    if columns.ndim != 2 or len(columns) != rows or width not in (None, columns.shape[1]):
        raise DataError(
            f"drift has the shape {columns.shape}: give one row for each of the {rows} points"
            + (f", and {width} column(s)." if width else ".")
        )
    return columns


def _check_columns(columns: FloatArray) -> None:
    """Raise a DataError if there are too few rows, or the columns of a drift are dependent."""
    n, p = columns.shape
    if n <= p:
        raise DataError(f"{n} row(s) are too few for a drift with {p} coefficient(s).")
    norms = np.linalg.norm(columns, axis=0)
    if p and (not norms.all() or np.linalg.svd(columns / norms, compute_uv=False)[-1] < _DEPENDENT):
        raise DataError(
            f"The {p} columns of the drift are linearly dependent at the data, so that their "
            "coefficients are not determined: omit a column (for collinear points, use "
            'drift="constant").'
        )


@final
@dataclass(frozen=True, eq=False)
class KrigingSystem:
    """The equations of universal kriging: ``solve`` multiplies by the inverse of V.

    ``factor`` is the lower Cholesky factor of V, which variances need, or None.
    """

    solve: Callable[[FloatArray], FloatArray]
    factor: FloatArray | None
    drift: FloatArray

    @classmethod
    def of_factor(cls, factor: FloatArray, drift: FloatArray) -> KrigingSystem:
        """The equations for the lower Cholesky factor of V."""
        return cls(partial(cho_solve, (factor, True)), factor, drift)

    @cached_property
    def _solved_drift(self) -> tuple[FloatArray, FloatArray]:
        """V^-1 F, and the lower Cholesky factor of F' V^-1 F."""
        solved = self.solve(self.drift)
        return solved, cholesky(self.drift.T @ solved, lower=True)

    def weights(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights V^-1 (y - F beta) and coefficients beta for each column y of ``right``."""
        weights = self.solve(right)
        if not self.drift.shape[1]:
            return weights, np.empty((0, *right.shape[1:]))
        solved, root = self._solved_drift
        coefficients = cho_solve((root, True), solved.T @ right)
        return weights - solved @ coefficients, coefficients

    def variance(self, k_zero: float, cross: FloatArray, drift: FloatArray) -> FloatArray:
        """The kriging variances at points with the covariances ``cross`` (n, points)."""
        if self.factor is None:
            raise ParameterError("The variance needs the Cholesky factor.")
        whitened = solve_triangular(self.factor, cross, lower=True)
        variance = k_zero - np.sum(whitened**2, axis=0)
        if self.drift.shape[1]:
            solved, root = self._solved_drift
            rest = drift.T - solved.T @ cross
            variance += np.sum(solve_triangular(root, rest, lower=True) ** 2, axis=0)
        return np.asarray(variance)

    def leave_one_out(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Prediction errors and their variances if each datum is omitted (Dubrule 1983)."""
        n = len(y)
        inverse = self.solve(np.eye(n))
        if self.drift.shape[1]:
            solved, root = self._solved_drift
            inverse -= solved @ cho_solve((root, True), solved.T)
        variance = 1.0 / np.diag(inverse)
        return variance * self.weights(y)[0], variance

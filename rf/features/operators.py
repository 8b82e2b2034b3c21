"""Products with the estimated kernel matrix that never hold it, nor the features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, minres

from spectra.base.numbers import real_array
from spectra.errors import AccuracyError, ParameterError

__all__ = ["FeatureOperator", "checked_ridge"]

# Bytes of the features of one block of rows: only a few blocks are held in memory, and the overhead
# of a block is small beside its work.
_BLOCK_BYTES = 1 << 24

# What MINRES aims at, relative to |K| |c|, and what is accepted of the residual relative to |y|.
_RESIDUAL, _ACCEPTED = 1e-14, 1e-8
# Each is two transforms: a matrix that needs more is near to a singular one.
_ITERATIONS = 1000

Columns = Callable[[Any, NDArray[Any]], NDArray[Any]]


@final
class FeatureOperator(LinearOperator):  # type: ignore[misc]
    r"""The matrix L(X) S R(Y)' + ridge I of left and right features, as a linear operator.

    A product makes the features of a few rows at a time, forgets them, and keeps the sum
    R(Y)' v, which has one entry for each column: :math:`O(\text{columns})` memory beside the
    result, and the time of two transforms whatever the number of rows.

    ``X``, ``Y`` (m, d): rows, already checked; ``left``, ``right``: (rows, out) -> features of
    these rows, written into ``out``; ``signature`` (columns,); ``ridge``: added to the diagonal; 0
    unless the matrix is square.

    Sums over blocks are kept in double precision, also where rows and results are in float32.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        left: Columns,
        right: Columns,
        signature: NDArray[np.float64],
        *,
        ridge: float = 0.0,
    ) -> None:
        self._sides = (X, left), (Y, right)
        self._signature = signature
        self._ridge = ridge
        super().__init__(np.result_type(X.dtype, Y.dtype), (X.shape[0], Y.shape[0]))

    def coefficients(self, dual: NDArray[Any]) -> NDArray[np.float64]:
        """beta = S R(Y)' c of shape (columns, t), for c of shape (n, t): K c = L(X) beta."""
        return np.asarray(self._signature[:, None] * self._feature_sums(self._sides[1], dual))

    def solve(self, targets: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """c of shape (n, t) with K c = targets by MINRES, and the relative residual that is left.

        The matrix is symmetric: right and left features are the same.
        """
        solved = [minres(self, t, rtol=_RESIDUAL, maxiter=_ITERATIONS)[0] for t in targets.T]
        dual = np.stack(solved, axis=1)
        left = np.linalg.norm(targets - self @ dual, axis=0)
        size = np.linalg.norm(targets, axis=0)
        worst = float(np.max(left / np.where(size > 0.0, size, 1.0)))
        if not worst <= _ACCEPTED:
            raise AccuracyError(
                f"MINRES leaves a relative residual of {worst:.2g}, and "
                f"{_ACCEPTED:g} is asked for: K + alpha I is too near to a singular matrix. Take "
                "a larger alpha, or solver='flip'."
            )
        return dual, worst

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        left, right = self._sides
        return self._product(left, right, V)

    def _rmatmat(self, V: NDArray[Any]) -> NDArray[Any]:
        left, right = self._sides
        return self._product(right, left, V)

    def _rmatvec(self, v: NDArray[Any]) -> NDArray[Any]:
        return self._rmatmat(v.reshape(-1, 1)).reshape(-1)

    def _product(
        self, to: tuple[Any, Columns], of: tuple[Any, Columns], V: NDArray[Any]
    ) -> NDArray[Any]:
        sums = self._signature[:, None] * self._feature_sums(of, V)
        coefficients = sums.astype(_matching_dtype(self, V))
        result = np.empty((to[0].shape[0], V.shape[1]), coefficients.dtype)
        for rows, Z in self._blocks(*to):
            result[rows] = Z @ coefficients
        if self._ridge:
            result += (self._ridge * V).astype(result.dtype)
        return result

    def _feature_sums(self, of: tuple[Any, Columns], V: NDArray[Any]) -> NDArray[Any]:
        sums = np.zeros((self._signature.size, V.shape[1]), np.result_type(np.float64, V))
        for rows, Z in self._blocks(*of):
            sums += Z.T @ V[rows].astype(_matching_dtype(Z, V))
        return sums

    def _blocks(self, X: Any, columns: Columns) -> Iterator[tuple[slice, NDArray[Any]]]:
        """The features of all rows, one block after the other in the same memory."""
        n = self._signature.size
        block = max(1, _BLOCK_BYTES // (n * X.dtype.itemsize))
        memory = np.empty((min(block, X.shape[0]), n), X.dtype)
        for start in range(0, X.shape[0], block):
            rows = slice(start, min(start + block, X.shape[0]))
            yield rows, columns(X[rows], memory[: rows.stop - rows.start])


def checked_ridge(ridge: float, *, of_two: bool) -> float:
    """A ridge as a number; for two sets of rows there is none but 0."""
    value = real_array(ridge, "the ridge")
    if value.ndim or not np.isfinite(value):
        raise ParameterError(
            f"The ridge is one finite number, added to every entry of the diagonal; {ridge!r} was "
            "passed."
        )
    if of_two and value:
        raise ParameterError(
            f"A ridge of {float(value):g} was asked for on the matrix of two sets of rows, which "
            "has no diagonal of its own. Leave Y out for the matrix of X with itself."
        )
    return float(value)


def _matching_dtype(real: Any, V: NDArray[Any]) -> Any:
    """The dtype of V in a product with a real array: of its precision, complex if V is."""
    return np.result_type(real.dtype, np.complex64) if V.dtype.kind == "c" else real.dtype

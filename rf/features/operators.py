"""The estimated kernel matrix as a linear operator, without storing the matrix or the features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, minres

from spectra.base.numbers import real_array
from spectra.errors import AccuracyError, ParameterError

__all__ = ["FeatureOperator", "checked_ridge"]

# Bytes of the features of one block of rows: small in memory, and large enough that the overhead of
# a block is negligible.
_BLOCK_BYTES = 1 << 24

# Residual of MINRES for A c = y: requested relative to |A| |c|, accepted relative to |y|.
_REQUESTED_RESIDUAL, _LARGEST_RESIDUAL = 1e-14, 1e-8
_MOST_ITERATIONS = 1000  # of MINRES: a matrix that needs more is nearly singular

#: A function (rows, out) -> features of these rows, written into ``out``.
FeatureFunction = Callable[[Any, NDArray[Any]], NDArray[Any]]
_Side = tuple[Any, FeatureFunction]  # rows X with left features, or rows Y with right features


class FeatureOperator(LinearOperator):  # type: ignore[misc]
    r"""The matrix K + ridge I, with K = L(X) S R(Y)', as a linear operator.

    L(X) and R(Y) are the left and right features, S is the diagonal matrix of the signature.  A
    product computes the features of one block of rows at a time: it takes the time of two
    transforms, and the memory of one block.

    ``X`` (n, d), ``Y`` (m, d): rows, already checked; ``left``, ``right``: functions (rows, out) ->
    features of these rows, written into ``out``; ``signature`` (columns,); ``ridge``: added to the
    diagonal; 0 unless Y is X.

    Sums over blocks are in double precision, even if rows and results are in float32.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        left: FeatureFunction,
        right: FeatureFunction,
        signature: NDArray[np.float64],
        *,
        ridge: float = 0.0,
    ) -> None:
        self._sides = (X, left), (Y, right)
        self._signature = signature
        self._ridge = ridge
        super().__init__(np.result_type(X.dtype, Y.dtype), (X.shape[0], Y.shape[0]))

    def coefficients(self, dual: NDArray[Any]) -> NDArray[np.float64]:
        """beta = S R(Y)' c of shape (columns, t), for ``dual`` c (m, t): K c = L(X) beta."""
        return np.asarray(self._signature[:, None] * self._feature_sums(self._sides[1], dual))

    def solve(self, targets: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Solve (K + ridge I) c = targets, (n, t), by MINRES: c and its largest relative residual.

        K must be symmetric (Y is X, equal features).  The ridge is alpha of :class:`rf.KreinRidge`.
        """
        options: Any = {"rtol": _REQUESTED_RESIDUAL, "maxiter": _MOST_ITERATIONS}
        dual = np.stack([minres(self, t, **options)[0] for t in targets.T], axis=1)
        residual = np.linalg.norm(targets - self @ dual, axis=0)
        size = np.linalg.norm(targets, axis=0)
        worst = float(np.max(residual / np.where(size > 0.0, size, 1.0)))
        if not worst <= _LARGEST_RESIDUAL:
            raise AccuracyError(
                f"MINRES leaves a relative residual of {worst:.2g}, above the limit "
                f"{_LARGEST_RESIDUAL:g}: K + alpha I is too near to a singular matrix. Use "
                "a larger alpha, or solver='flip'."
            )
        return dual, worst

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        return self._product(*self._sides, V)

    def _rmatmat(self, V: NDArray[Any]) -> NDArray[Any]:
        return self._product(*self._sides[::-1], V)

    def _rmatvec(self, v: NDArray[Any]) -> NDArray[Any]:
        return self._rmatmat(v.reshape(-1, 1)).reshape(-1)

    def _product(self, output_side: _Side, input_side: _Side, V: NDArray[Any]) -> NDArray[Any]:
        """F S G' V + ridge V, with the features F of the output side and G of the input side."""
        sums = self._signature[:, None] * self._feature_sums(input_side, V)
        coefficients = sums.astype(_matching_dtype(self, V))
        result = np.empty((output_side[0].shape[0], V.shape[1]), coefficients.dtype)
        for rows, Z in self._blocks(*output_side):
            result[rows] = Z @ coefficients
        if self._ridge:
            result += (self._ridge * V).astype(result.dtype)
        return result

    def _feature_sums(self, side: _Side, V: NDArray[Any]) -> NDArray[Any]:
        """G' V, with the features G of the rows of a side."""
        sums = np.zeros((self._signature.size, V.shape[1]), np.result_type(np.float64, V))
        for rows, Z in self._blocks(*side):
            sums += Z.T @ V[rows].astype(_matching_dtype(Z, V))
        return sums

    def _blocks(self, X: Any, compute: FeatureFunction) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Blocks of rows and their features, all in the same memory."""
        n = self._signature.size
        block = max(1, _BLOCK_BYTES // (n * X.dtype.itemsize))
        memory = np.empty((min(block, X.shape[0]), n), X.dtype)
        for start in range(0, X.shape[0], block):
            rows = slice(start, min(start + block, X.shape[0]))
            yield rows, compute(X[rows], memory[: rows.stop - rows.start])


def checked_ridge(ridge: float, *, has_Y: bool) -> float:
    """The ridge as a finite number, which must be 0 for two sets of rows."""
    value = real_array(ridge, "the ridge")
    if value.ndim or not np.isfinite(value):
        raise ParameterError(
            f"The ridge must be one finite number, added to every diagonal entry, not {ridge!r}."
        )
    if has_Y and value:
        raise ParameterError(
            f"A ridge of {float(value):g} was passed with two sets of rows, but it is added only "
            "to the matrix of X with itself. Leave Y out, or the ridge."
        )
    return float(value)


def _matching_dtype(real: Any, V: NDArray[Any]) -> Any:
    """The dtype for V in a product with ``real``: the precision of ``real``, complex if V is."""
    return np.result_type(real.dtype, np.complex64) if np.iscomplexobj(V) else real.dtype

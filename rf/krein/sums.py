r"""Sums over rows from which a Krein model is solved, such as :math:`Z'Z` and :math:`Z'y`.

The sums of blocks of rows Z are added entry by entry.  For :math:`K = Z S Z'` with the diagonal
matrix S of signs, let :math:`Z = QR` with orthonormal columns of Q, so :math:`R'R = Z'Z`, and let W
be the eigenvectors of :math:`R S R'`.  Then K has the same nonzero eigenvalues, and the
eigenvectors :math:`U = Q W`.  Eigenvalues of :math:`Z'Z` below its rounding error are omitted.

Products of features in single precision take about half the time; their sums over blocks are in
double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_consistent_length

from spectra.base.accuracy import SAME
from spectra.base.arrays import FloatArray
from spectra.errors import AccuracyError, ParameterError

__all__ = ["KreinSpace", "KreinSums", "in_double"]

# Number of rows whose features are in memory at one time; larger blocks are not faster.
_BLOCK = 4096
# Number of rows of features that are converted from single to double precision at one time.
_CONVERTED_ROWS = 128
# The stationary solver raises an error if an eigenvalue is this close to -alpha, relative to alpha
# or the spectral radius if larger: the coefficients would lose more than half of their digits.
_NEAR_SINGULAR = 10.0 * SAME


def in_double(X: Any) -> Any:
    """Rows in single precision converted to double precision; other rows unchanged."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


@dataclass(frozen=True, eq=False)
class KreinSums:
    """Sums over rows with p features Z, t targets y and weights w; D is the diagonal matrix of w.

    ``gram`` (p, p): Z' D Z, upper triangle; ``cross`` (p, t): Z' D y; ``ones`` (p,): Z' D 1;
    ``total`` (t,): y' w; ``weight``: sum of w; ``rows``: number of rows; ``rounding``: bound
    of the error of ``gram`` in the spectral norm from products in single precision.  For blocks of
    b rows it is about :math:`\\sqrt b\\,\\epsilon` times the trace of ``gram`` if rounding errors
    are independent: Higham, Mary, "A new approach to probabilistic rounding error analysis", SIAM
    J. Sci. Comput. 41 (2019).
    """

    gram: FloatArray
    cross: FloatArray
    ones: FloatArray
    total: FloatArray
    weight: float
    rows: int
    rounding: float = 0.0

    @classmethod
    def from_features(
        cls, Z: FloatArray | NDArray[np.float32], y: FloatArray, weights: FloatArray | None = None
    ) -> Self:
        """The sums for features Z, targets y of shape (n, t) and weights (default: 1)."""
        w = np.ones(len(Z)) if weights is None else weights
        scaled = Z if weights is None else (Z * np.sqrt(w)[:, None]).astype(Z.dtype)
        single = Z.dtype == np.float32
        gram = (ssyrk if single else dsyrk)(1.0, np.ascontiguousarray(scaled).T)
        sum_of_squares = float(np.trace(gram, dtype=float)) if single else 0.0
        bound = (np.sqrt(len(Z)) + 1.0) * np.finfo(np.float32).eps * sum_of_squares
        targets = np.column_stack([w[:, None] * y, w])
        cross = np.zeros((Z.shape[1], targets.shape[1]))
        for first in range(0, len(Z), _CONVERTED_ROWS):
            block = slice(first, first + _CONVERTED_ROWS)
            cross += Z[block].astype(float, copy=False).T @ targets[block]
        return cls(gram, cross[:, :-1], cross[:, -1], w @ y, float(w.sum()), len(Z), float(bound))

    @classmethod
    def from_rows(
        cls, features: Any, X: Any, y: Any, weights: Any = None, *, single: bool = False
    ) -> KreinSums:
        """The sums for rows X, whose features are computed in blocks.

        ``features``: a fitted transformer; ``X`` (n, d); ``y`` (n,) or (n, t); ``weights`` (n,);
        ``single``: multiply features in single precision; by default rows are converted to double.
        """
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        targets = targets.reshape(len(targets), -1)
        check_consistent_length(X, targets, weights)
        if weights is not None:
            weights = check_array(
                weights, ensure_2d=False, dtype=np.float64, ensure_non_negative=True,
                input_name="sample_weight",
            )  # fmt: skip
        X = X.tocsr() if issparse(X) else X

        def sum_block(first: int) -> KreinSums:
            block = slice(first, first + _BLOCK)
            rows = _safe_indexing(X, block)
            Z = np.asarray(features.transform(rows if single else in_double(rows)))
            Z = Z if single and Z.dtype == np.float32 else Z.astype(float, copy=False)
            return cls.from_features(Z, targets[block], None if weights is None else weights[block])

        sums = sum_block(0)
        sums = replace(sums, gram=np.asarray(sums.gram, dtype=float))
        for first in range(_BLOCK, len(targets), _BLOCK):
            # Added in place: allocating a new sum would take half as long as the product Z' D Z.
            sums = sums._add(sum_block(first), out=sums.gram)
        return sums

    def __add__(self, other: KreinSums) -> KreinSums:
        return self._add(other, out=None)

    def _add(self, other: KreinSums, *, out: FloatArray | None) -> KreinSums:
        if self.total.size != other.total.size:
            raise ParameterError(
                f"Rows with {other.total.size} target(s) were added to rows with "
                f"{self.total.size}. Give all rows the same targets."
            )
        gram = np.add(self.gram, other.gram, out=out, dtype=float)
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self)[1:])
        return KreinSums(gram, *(ours + theirs for ours, theirs in pairs))

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of the targets."""
        return np.asarray(self.total / self.weight)


@dataclass(frozen=True, eq=False)
class KreinSpace:
    """The eigendecomposition of K = Z S Z', and the coefficients of models computed from it."""

    sums: KreinSums
    signature: FloatArray

    @cached_property
    def _root(self) -> FloatArray:
        """R of shape (r, p) with R'R = Z'Z and orthogonal rows; r is the numerical rank of Z."""
        values, vectors = np.linalg.eigh(np.asarray(self.sums.gram, dtype=float), "U")
        rounding = values[-1] * max(self.sums.rows, len(values)) * np.finfo(float).eps
        kept = values > max(rounding, self.sums.rounding)
        return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)

    @cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (ascending) and eigenvectors W of R S R'."""
        R = self._root
        values, vectors = np.linalg.eigh((R * self.signature) @ R.T)
        return np.asarray(values), np.asarray(vectors)

    @property
    def eigenvalues(self) -> FloatArray:
        """The eigenvalues of K that can be nonzero, ascending."""
        return self._eigen[0]

    @property
    def _spectral_radius(self) -> float:
        return float(np.abs(self.eigenvalues).max(initial=0.0))

    @cached_property
    def _is_zero(self) -> NDArray[np.bool_]:
        """Which eigenvalues are zero up to rounding, so that their sign is unknown."""
        size = max(self.sums.rows, self._root.shape[1])
        rounding = self._spectral_radius * size * np.finfo(float).eps
        return np.asarray(np.abs(self.eigenvalues) <= rounding)

    def flip_matrix(self) -> FloatArray:
        """T (p, rank of K) with (Z T)(Z T)' = |K|; Z_new T are the columns of FlippedFeatures."""
        values, vectors = self._eigen
        kept = ~self._is_zero
        factors = np.sign(values[kept]) / np.sqrt(np.abs(values[kept]))
        return np.asarray((self.signature[:, None] * self._root.T) @ (vectors[:, kept] * factors))

    def coefficients(
        self, mean: FloatArray, *, alpha: float, solver: Literal["flip", "stationary"]
    ) -> FloatArray:
        """beta in f(x) = z(x)' beta, fitted to y - mean; see :mod:`rf.krein.ridge` for formulas."""
        values, vectors = self._eigen
        if solver == "flip":
            inverse = np.where(self._is_zero, 0.0, np.sign(values)) / (np.abs(values) + alpha)
        else:
            shifted = values + alpha
            nearest = int(np.argmin(np.abs(shifted)))
            if abs(shifted[nearest]) <= _NEAR_SINGULAR * max(self._spectral_radius, alpha):
                raise AccuracyError(
                    f"The kernel matrix has the eigenvalue {values[nearest]:.6g}, and alpha is "
                    f"{alpha:.6g}: K + alpha I is nearly singular, so the stationary point would "
                    "lose more than half of its digits. Change alpha, or use solver='flip', which "
                    "is well posed for every alpha."
                )
            inverse = 1.0 / shifted
        R = self._root
        products = R @ (self.sums.cross - np.multiply.outer(self.sums.ones, mean))
        projected = products / np.sum(R**2, axis=1)[:, None]  # Q' (y - mean)
        dual = vectors @ (inverse[:, None] * (vectors.T @ projected))  # Q' c
        return np.asarray(self.signature[:, None] * (R.T @ dual))

    def posterior_deviation(self, Z: FloatArray, *, alpha: float) -> FloatArray:
        r"""Posterior standard deviation at features Z, if all signs are +1; alpha: noise variance.

        At a row x with features z, k_x = (k(x, x_i))_i and training features Z_t, its square is
        :math:`k(x, x) - k_x' (K + \alpha I)^{-1} k_x = \alpha\, z' (Z_t'Z_t + \alpha I)^{-1} z`.
        """
        eigenvalues = np.sum(self._root**2, axis=1)
        directions = self._root / np.sqrt(eigenvalues)[:, None]
        projections = Z @ directions.T
        in_span = projections**2 @ (alpha / (eigenvalues + alpha))
        # Orthogonal to the training features the posterior variance is the prior variance.
        outside = np.sum((Z - projections @ directions) ** 2, axis=1)
        return np.asarray(np.sqrt(in_span + outside))

r"""The sums over rows that a Krein model keeps: a matrix of columns x columns, and vectors.

A model sees weighted rows :math:`Z` and targets y only through :math:`Z'Z` and :math:`Z'y`, which
add up entry by entry over blocks of rows.  The matrix :math:`K = Z S Z'`, S the signature, has the
eigenvalues of :math:`R S R'` and the eigenvectors :math:`U = Q W`, where :math:`Z = QR` and
:math:`R'R = Z'Z`.  Eigenvalues of :math:`Z'Z` below the rounding of the sum are left out: they are
below the rounding of K.

Features in single precision may be multiplied in it, block by block, in about half of the time;
the blocks are added up in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_consistent_length

from spectra.base.arrays import FloatArray
from spectra.errors import AccuracyError, ParameterError

__all__ = ["KreinSpace", "KreinSums", "in_double"]

# Rows whose features are in memory at one time; larger blocks are not faster.
_BLOCK = 4096
# Rows of features in single precision that are converted to double at one time.
_PIECE = 128
# A stationary point is refused if an eigenvalue is this close to -alpha, relative to the spectral
# radius: its coefficients would lose more than half of their digits.
_NEAR_SINGULAR = 1e-8


def in_double(X: Any) -> Any:
    """The rows in double precision."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


@final
@dataclass(frozen=True, eq=False)
class KreinSums:
    """Sums over weighted rows, added up entry by entry.

    ``gram`` (p, p): Z' w Z, upper triangle; ``cross`` (p, t): Z' w y; ``ones`` (p,): Z' w;
    ``total`` (t,): sum of w y; ``weight``: sum of w; ``rows``: their number; ``rounding``: bound of
    the error of ``gram`` in the spectral norm from products in single precision.  A product of b
    rows has errors below about :math:`\\sqrt b\\,\\epsilon` of the sum of squares if errors of
    rounding are independent: Higham, Mary, "A new approach to probabilistic rounding error
    analysis", SIAM J. Sci. Comput. 41 (2019).
    """

    gram: FloatArray
    cross: FloatArray
    ones: FloatArray
    total: FloatArray
    weight: float
    rows: int
    rounding: float = 0.0

    @classmethod
    def of(
        cls, Z: FloatArray | NDArray[np.float32], y: FloatArray, weights: FloatArray | None = None
    ) -> Self:
        """The sums of rows Z with targets y of shape (n, t), and weights (1 if left out)."""
        w = np.ones(len(Z)) if weights is None else weights
        root = Z if weights is None else (Z * np.sqrt(w)[:, None]).astype(Z.dtype)
        single = Z.dtype == np.float32
        gram = (ssyrk if single else dsyrk)(1.0, np.ascontiguousarray(root).T)
        squares = float(np.trace(gram, dtype=float)) if single else 0.0
        bound = (np.sqrt(len(Z)) + 1.0) * np.finfo(np.float32).eps * squares
        targets = np.column_stack([w[:, None] * y, w])
        cross = np.zeros((Z.shape[1], targets.shape[1]))
        for first in range(0, len(Z), _PIECE):
            few = slice(first, first + _PIECE)
            cross += Z[few].astype(float, copy=False).T @ targets[few]
        return cls(gram, cross[:, :-1], cross[:, -1], w @ y, float(w.sum()), len(Z), float(bound))

    @classmethod
    def of_rows(
        cls, features: Any, X: Any, y: Any, weights: Any = None, *, single: bool = False
    ) -> KreinSums:
        """The sums over rows of their features, computed in blocks of rows.

        ``features``: fitted; ``X`` (n, d); ``y`` (n,) or (n, t); ``weights`` (n,); ``single``:
        multiply features in single precision as they are; else convert rows to double first.
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

        def block(first: int) -> KreinSums:
            few = slice(first, first + _BLOCK)
            rows = _safe_indexing(X, few)
            Z = np.asarray(features.transform(rows if single else in_double(rows)))
            Z = Z if single and Z.dtype == np.float32 else Z.astype(float, copy=False)
            return cls.of(Z, targets[few], None if weights is None else weights[few])

        total = block(0)
        total = replace(total, gram=np.asarray(total.gram, dtype=float))
        for first in range(_BLOCK, len(targets), _BLOCK):
            # In place: new memory for each block costs as much as half of a product.
            total = total._plus(block(first), total.gram)
        return total

    def __add__(self, other: KreinSums) -> KreinSums:
        return self._plus(other, None)

    def _plus(self, other: KreinSums, into: FloatArray | None) -> KreinSums:
        if self.total.size != other.total.size:
            raise ParameterError(
                f"Rows with {other.total.size} target(s) were added to rows with "
                f"{self.total.size}. Give all rows the same targets."
            )
        gram = np.add(self.gram, other.gram, out=into, dtype=float)
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self)[1:])
        return KreinSums(gram, *(one + more for one, more in pairs))

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of the targets."""
        return np.asarray(self.total / self.weight)


@final
@dataclass(frozen=True, eq=False)
class KreinSpace:
    """The eigenproblem of K = Z S Z' on the rows of some sums."""

    sums: KreinSums
    signature: FloatArray

    @cached_property
    def _root(self) -> FloatArray:
        """R of shape (r, p), with orthogonal rows, on the range of Z up to rounding."""
        values, vectors = np.linalg.eigh(np.asarray(self.sums.gram, dtype=float), "U")
        least = values[-1] * max(self.sums.rows, len(values)) * np.finfo(float).eps
        kept = values > max(least, self.sums.rounding)
        return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)

    @cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        R = self._root
        values, vectors = np.linalg.eigh((R * self.signature) @ R.T)
        return np.asarray(values), np.asarray(vectors)

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of K on the range of Z, ascending."""
        return self._eigen[0]

    @property
    def _radius(self) -> float:
        return float(np.abs(self.eigenvalues).max(initial=0.0))

    @cached_property
    def _null(self) -> NDArray[np.bool_]:
        """Which eigenvalues are rounding errors, so that their sign is unknown."""
        most = max(self.sums.rows, self._root.shape[1])
        return np.asarray(np.abs(self.eigenvalues) <= self._radius * most * np.finfo(float).eps)

    def flipped(self) -> FloatArray:
        """T of shape (p, r) with (Z T)(Z T)' = |K| on the rows, and K_new U sgn U' for new ones."""
        values, vectors = self._eigen
        kept = ~self._null
        half = np.sign(values[kept]) / np.sqrt(np.abs(values[kept]))
        T = (self.signature[:, None] * self._root.T) @ (vectors[:, kept] * half)
        return np.asarray(T)

    def coefficients(
        self, mean: FloatArray, *, alpha: float, solver: Literal["flip", "stationary"]
    ) -> FloatArray:
        """beta of f(x) = z(x)' beta, fitted to the targets minus ``mean``."""
        values, vectors = self._eigen
        if solver == "flip":
            inverse = np.where(self._null, 0.0, np.sign(values)) / (np.abs(values) + alpha)
        else:
            gap = values + alpha
            worst = int(np.argmin(np.abs(gap)))
            if abs(gap[worst]) <= _NEAR_SINGULAR * max(self._radius, alpha):
                raise AccuracyError(
                    f"The kernel matrix has the eigenvalue {values[worst]:.6g}, and alpha is "
                    f"{alpha:.6g}: K + alpha I is singular to half of the digits, so the "
                    "stationary point is not defined. Change alpha, or take solver='flip', which "
                    "is well posed for every alpha."
                )
            inverse = 1.0 / gap
        R = self._root
        products = R @ (self.sums.cross - np.multiply.outer(self.sums.ones, mean))
        wanted = products / np.sum(R**2, axis=1)[:, None]
        dual = vectors @ (inverse[:, None] * (vectors.T @ wanted))
        return np.asarray(self.signature[:, None] * (self._root.T @ dual))

    def deviation(self, Z: FloatArray, *, alpha: float) -> FloatArray:
        r"""Posterior deviation at rows Z, for a positive kernel and noise of variance alpha.

        .. math:: k(x, x) - k_x' (K + \alpha)^{-1} k_x = \alpha\, z' (Z'Z + \alpha)^{-1} z
        """
        square = np.sum(self._root**2, axis=1)
        directions = self._root / np.sqrt(square)[:, None]
        along = Z @ directions.T
        seen = along**2 @ (alpha / (square + alpha))
        # Directions outside the span of the rows keep the variance of the prior.
        unseen = np.sum((Z - along @ directions) ** 2, axis=1)
        return np.asarray(np.sqrt(seen + unseen))

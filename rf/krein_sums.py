r"""What a Krein model keeps of its rows: sums that add up, in the memory of columns squared.

A model sees weighted rows :math:`Z` and targets y only through :math:`Z'Z` and :math:`Z'y`.  They
are kept as a triangle R with :math:`R'R = Z'Z` and as :math:`Q'y`, :math:`Z = QR`, so that no root
of a matrix has to be taken that may be singular; two of them add up by the QR decomposition of one
on top of the other.

With the signature S the matrix :math:`K = Z S Z'` has the eigenvalues of :math:`R S R'`, and the
eigenvectors :math:`U = Q W`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from spectra.errors import AccuracyError

__all__ = ["KreinSpace", "KreinSums"]

FloatArray = NDArray[np.float64]

# A stationary point is refused where an eigenvalue comes this near to -alpha, relative to the
# spectral radius: its coefficients would be amplified beyond half of the digits of a double.
_NEAR_SINGULAR = 1e-8


@final
@dataclass(frozen=True, eq=False)
class KreinSums:
    """Weighted rows and targets, as far as a model sees them.

    Attributes
    ----------
    triangle : ndarray of shape (r, p)
        R, r = min(rows, p).
    targets : ndarray of shape (r, t)
        Q' sqrt(w) y.
    ones : ndarray of shape (r,)
        Q' sqrt(w), which takes a constant off the targets.
    total : ndarray of shape (t,)
        sum of w y.
    weight : float
        sum of w.
    rows : int

    Examples
    --------
    >>> Z, y = np.arange(12.0).reshape(6, 2) ** 0.5, np.arange(6.0)[:, None]
    >>> halves = KreinSums.of(Z[:3], y[:3]) + KreinSums.of(Z[3:], y[3:])
    >>> bool(np.allclose(halves.triangle.T @ halves.triangle, Z.T @ Z))
    True
    >>> bool(np.allclose(halves.triangle.T @ halves.targets, Z.T @ y))
    True
    """

    triangle: FloatArray
    targets: FloatArray
    ones: FloatArray
    total: FloatArray
    weight: float
    rows: int

    @classmethod
    def of(cls, Z: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> Self:
        """The sums of rows Z with targets y of shape (n, t), and weights (1 if left out)."""
        w = np.ones(len(Z)) if weights is None else weights
        root = np.sqrt(w)
        Q, R = np.linalg.qr(Z * root[:, None])
        return cls(R, Q.T @ (root[:, None] * y), Q.T @ root, w @ y, float(w.sum()), len(Z))

    def __add__(self, other: KreinSums) -> KreinSums:
        Q, R = np.linalg.qr(np.concatenate([self.triangle, other.triangle]))
        return KreinSums(
            R,
            Q.T @ np.concatenate([self.targets, other.targets]),
            Q.T @ np.concatenate([self.ones, other.ones]),
            self.total + other.total,
            self.weight + other.weight,
            self.rows + other.rows,
        )

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
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        R = self.sums.triangle
        values, vectors = np.linalg.eigh((R * self.signature) @ R.T)
        return np.asarray(values), np.asarray(vectors)

    @property
    def eigenvalues(self) -> FloatArray:
        """Those of K on the range of Z, ascending."""
        return self._eigen[0]

    @property
    def _radius(self) -> float:
        return float(np.abs(self.eigenvalues).max(initial=0.0))

    @cached_property
    def _null(self) -> NDArray[np.bool_]:
        """Where an eigenvalue is rounding: a model has no say there, and the sign says nothing."""
        most = max(self.sums.rows, self.sums.triangle.shape[1])
        return np.asarray(np.abs(self.eigenvalues) <= self._radius * most * np.finfo(float).eps)

    def flipped(self) -> FloatArray:
        """T of shape (p, r): columns Z T have inner products |K| on the rows, K U sgn U' beside."""
        values, vectors = self._eigen
        kept = ~self._null
        half = np.sign(values[kept]) / np.sqrt(np.abs(values[kept]))
        T = (self.signature[:, None] * self.sums.triangle.T) @ (vectors[:, kept] * half)
        return np.asarray(T)

    def coefficients(
        self,
        mean: FloatArray,
        *,
        alpha: float,
        solver: Literal["flip", "stationary"],
    ) -> FloatArray:
        """beta of f(x) = z(x)' beta, fitted to the targets less a constant.

        Raises
        ------
        AccuracyError
            For "stationary", where an eigenvalue of K is too near to -alpha.
        """
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
        wanted = self.sums.targets - np.multiply.outer(self.sums.ones, mean)
        dual = vectors @ (inverse[:, None] * (vectors.T @ wanted))
        return np.asarray(self.signature[:, None] * (self.sums.triangle.T @ dual))

    def deviation(self, Z: FloatArray, *, alpha: float) -> FloatArray:
        r"""Posterior deviation at rows Z, for a positive kernel and noise of variance alpha.

        .. math:: k(x, x) - k_x' (K + \alpha)^{-1} k_x = \alpha\, z' (Z'Z + \alpha)^{-1} z
        """
        _, size, directions = np.linalg.svd(self.sums.triangle, full_matrices=False)
        along = Z @ directions.T
        seen = along**2 @ (alpha / (size**2 + alpha))
        # What no row has seen keeps the variance of the prior.
        unseen = np.sum((Z - along @ directions) ** 2, axis=1)
        return np.asarray(np.sqrt(seen + unseen))

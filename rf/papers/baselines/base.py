"""The interface of the baselines: scikit-learn transformers with a sign for each column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from spectra.base.arrays import FloatArray

__all__ = ["Baseline", "cosines_and_sines", "kernel_matrix"]

_DTYPES = [np.float64, np.float32]


class Baseline(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ABC,
):
    """A feature map Z with a signature: K(x, y) ~ sum_i signature_i Z_i(x) Z_i(y).

    A subclass implements :meth:`_draw`, called by fit, and :meth:`_columns`, called by transform.

    Attributes
    ----------
    signature_ : ndarray of shape (n_columns,)
        +1 or -1 for each column.
    n_features_in_ : int
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def _draw(self, X: FloatArray) -> FloatArray:
        """Draw and store the random numbers of the feature map; return the signature."""

    @abstractmethod
    def _columns(self, X: FloatArray) -> FloatArray:
        """The feature matrix Z of the rows of X."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the features for the dimension of X; ``y`` is ignored.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A sparse matrix is converted to a dense array.
        """
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=_DTYPES)
        self.signature_ = self._draw(_dense(X))
        self._n_features_out = len(self.signature_)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """The feature matrix Z of shape (n_samples, n_columns), float32 if X is float32."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_DTYPES, reset=False)
        return self._columns(_dense(X)).astype(X.dtype, copy=False)

    def gram(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """The approximate kernel matrix (Z(X) * signature_) Z(Y)'."""
        left = self.transform(X)
        right = left if Y is None else self.transform(Y)
        return np.asarray((left * self.signature_.astype(left.dtype)) @ right.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


def kernel_matrix(kernel: Any, X: FloatArray, Y: FloatArray) -> FloatArray:
    """kernel.gram(X, Y) or kernel(X, Y); None is the Gaussian kernel exp(-|x - y|^2 / d)."""
    if kernel is None:
        return np.asarray(rbf_kernel(X, Y, gamma=1.0 / X.shape[1]))
    return np.asarray(getattr(kernel, "gram", kernel)(X, Y), dtype=float)


def cosines_and_sines(phase: FloatArray, n_components: int, offset: float) -> FloatArray:
    """Cosines, then sines; if n_components is odd, the last phase has only cos(phase + offset).

    Examples
    --------
    >>> cosines_and_sines(np.zeros((1, 2)), 3, np.pi)
    array([[ 1., -1.,  0.]])
    """
    if n_components % 2:
        phase = phase.copy()
        phase[:, -1] += offset
    pairs = n_components // 2
    return np.concatenate([np.cos(phase), np.sin(phase[:, :pairs])], axis=1)

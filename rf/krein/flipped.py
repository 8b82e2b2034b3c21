"""Features of |K|, so that any linear model can learn with an indefinite kernel K."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rf.krein.base import FEATURES_CONSTRAINT, SignedFeaturesEstimator
from rf.krein.sums import KreinSpace, KreinSums
from spectra.base.arrays import FloatArray

__all__ = ["FlippedFeatures"]


class FlippedFeatures(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    SignedFeaturesEstimator,
):
    r"""Columns on which any linear model learns in the Krein space of signed features.

    With features Z, their signs S and the eigenvectors U and eigenvalues of K = Z S Z' on the
    fitted rows, and K_new = Z_new S Z' for other rows, the columns F and F_new satisfy

    .. math:: F F' = U |\Lambda| U', \qquad F_{new} F' = K_{new} U\, \mathrm{sgn}(\Lambda)\, U',

    so a linear model on F is fitted in the associated Hilbert space, where the problem is convex.
    With ``LinearSVC`` this is the Krein support vector machine of Loosli et al., with
    ``LogisticRegression`` a classifier with probabilities, and with ``Ridge`` the solver "flip" of
    :class:`KreinRidge` (equal without an intercept).  On Z these models would learn with Z Z'.

    Parameters
    ----------
    features : transformer, default=None
        As in :class:`KreinRidge`.

    Attributes
    ----------
    features_ : transformer
    signature_is_used_ : bool
        Whether signs matter: at least one column of the features has the sign -1.
    eigenvalues_ : ndarray
        Eigenvalues of K, ascending.
    n_features_in_ : int

    References
    ----------
    Loosli, Canu, Ong, "Learning SVM in Krein spaces", IEEE TPAMI 38 (2016).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from rf import SpectralFeatures
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> signed = SpectralFeatures("exp(-z**2) - exp(-z**2/8)/2", n_components=100, random_state=0)
    >>> model = make_pipeline(FlippedFeatures(signed), LinearSVC(C=10.0)).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = FEATURES_CONSTRAINT

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the features to X, and compute the eigenvectors of the approximate kernel matrix."""
        self._validate_params()
        X = self._check_rows(X, reset=True)
        self._fit_features(X, y)
        sums = KreinSums.from_rows(self.features_, X, np.zeros(X.shape[0]))
        space = KreinSpace(sums, self.signature_)
        self._map, self.eigenvalues_ = space.flip_matrix(), space.eigenvalues
        # F includes the signs.  Another model would apply them again if it found a signature_ here.
        self.signature_is_used_ = bool(np.any(self.signature_ < 0))
        del self.signature_
        self._n_features_out = self._map.shape[1]
        return self

    def transform(self, X: Any) -> FloatArray:
        """The columns F, of shape (n, rank of K)."""
        check_is_fitted(self)
        return np.asarray(self._transform(self._check_rows(X, reset=False)) @ self._map)

r"""Learning with signed features: ridge regression in the Krein space of an indefinite kernel.

With features Z and their signature S the kernel matrix is K = Z S Z' with eigenvectors U and
eigenvalues lambda, some of them negative.  A model is f(x) = sum_i c_i k(x, x_i), that is
f(x) = z(x)' beta with beta = S Z' c: the signature enters the solve and never the prediction.

Two solves are offered, both through an eigenproblem of the size of the features:

``flip``
    c = U diag(sign(lambda) / (|lambda| + alpha)) U' y.  The regulariser is the norm of the
    associated Hilbert space, in which the eigenvalues are |lambda|; the model is projected back to
    k.  It is convex, well posed for every alpha > 0, and shrinks each coefficient by
    |lambda| / (|lambda| + alpha).  Loosli, Canu, Ong, "Learning SVM in Krein spaces", IEEE TPAMI
    38 (2016), for the squared loss.
``stationary``
    c = (K + alpha I)^-1 y, the stationary point (a saddle) of the squared loss plus
    alpha <f, f>_K.  It exists and is unique iff -alpha is no eigenvalue of K, and it blows up near
    one, so it is refused there.  Ong, Mary, Canu, Smola, "Learning with non-positive kernels",
    ICML 2004.

For a positive definite kernel both are kernel ridge regression.  A linear model on Z alone is
neither: ridge on Z learns with Z Z' = K+ + K-, whose functions the signature never reaches, and a
linear SVM on Z does the same (so do the published experiments that gave a solver real features).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rf.signs import signature_of
from spectra.errors import AccuracyError

__all__ = ["KreinRidge", "KreinRidgeClassifier"]

FloatArray = NDArray[np.float64]

# A stationary point is refused where an eigenvalue comes this near to -alpha, relative to the
# spectral radius: its coefficients would be amplified beyond half of the digits of a double.
_NEAR_SINGULAR = 1e-8

# Enough that the default features do not keep a few hundred rows from being fitted.
_DEFAULT_COLUMNS = 512

_CONSTRAINTS: dict[str, Any] = {
    "features": [HasMethods(["fit", "transform"]), None],
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "solver": [StrOptions({"flip", "stationary"})],
    "fit_intercept": ["boolean"],
}


class _KreinModel(BaseEstimator, ABC):  # type: ignore[misc]
    """What the regressor and the classifier share: the features and the solve."""

    features: Any
    alpha: float
    solver: Literal["flip", "stationary"]
    fit_intercept: bool

    def __init__(
        self,
        features: Any = None,
        *,
        alpha: float = 1.0,
        solver: Literal["flip", "stationary"] = "flip",
        fit_intercept: bool = True,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the features to X, and solve for the coefficients."""

    def _transformer(self) -> Any:
        """A fresh transformer, told that its signature is going to be used."""
        if self.features is None:
            from rf.features import SpectralFeatures

            return SpectralFeatures(n_components=_DEFAULT_COLUMNS, random_state=0)
        transformer = clone(self.features)
        # Also of the steps of a composite; where signs are lost on the way, that is refused.
        asked = [
            name for name in transformer.get_params() if name.split("__")[-1] == "mixed_signature"
        ]
        return transformer.set_params(**dict.fromkeys(asked, "ignore")) if asked else transformer

    def _solve(self, X: Any, targets: FloatArray) -> None:
        self.features_ = self._transformer().fit(X, targets)
        Z = np.asarray(self.features_.transform(X), dtype=float)
        signature = signature_of(self.features_, X)
        mean = targets.mean(axis=0) if self.fit_intercept else np.zeros(targets.shape[1:])
        self.coef_, self.eigenvalues_ = krein_solve(
            Z, signature, targets - mean, alpha=self.alpha, solver=self.solver
        )
        self.intercept_ = mean

    def _predict(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        Z = np.asarray(self.features_.transform(X), dtype=float)
        return np.asarray(Z @ self.coef_ + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._transformer()).input_tags.sparse
        return tags


def krein_solve(
    Z: FloatArray,
    signature: FloatArray,
    y: FloatArray,
    *,
    alpha: float,
    solver: Literal["flip", "stationary"],
) -> tuple[FloatArray, FloatArray]:
    """Coefficients beta of f(x) = z(x)' beta, and the eigenvalues of K = Z S Z' on its range.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
    signature : ndarray of shape (p,)
        +1 or -1.
    y : ndarray of shape (n,) or (n, targets)
    alpha : float
        Greater than 0.
    solver : {"flip", "stationary"}
        See the module.

    Raises
    ------
    AccuracyError
        For "stationary", where an eigenvalue of K is too near to -alpha.

    Examples
    --------
    >>> Z, y = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([1.0, 2.0])
    >>> beta, _ = krein_solve(Z, np.ones(2), y, alpha=1.0, solver="flip")
    >>> K = Z @ Z.T
    >>> bool(np.allclose(Z @ beta, K @ np.linalg.solve(K + np.eye(2), y)))
    True
    """
    Q, R = np.linalg.qr(Z)
    eigenvalues, vectors = np.linalg.eigh((R * signature) @ R.T)
    radius = float(np.abs(eigenvalues).max(initial=0.0))
    if solver == "flip":
        # On the null space the model has no say, and the sign of a rounding error none either.
        null = np.abs(eigenvalues) <= radius * max(Z.shape) * np.finfo(float).eps
        inverse = np.where(null, 0.0, np.sign(eigenvalues)) / (np.abs(eigenvalues) + alpha)
    else:
        gap = eigenvalues + alpha
        worst = int(np.argmin(np.abs(gap)))
        if abs(gap[worst]) <= _NEAR_SINGULAR * max(radius, alpha):
            raise AccuracyError(
                f"The kernel matrix has the eigenvalue {eigenvalues[worst]:.6g}, and alpha is "
                f"{alpha:.6g}: K + alpha I is singular to half of the digits, so the stationary "
                "point is not defined. Change alpha, or take solver='flip', which is well posed "
                "for every alpha."
            )
        inverse = 1.0 / gap
    dual = vectors @ (inverse.reshape((-1,) + (1,) * (y.ndim - 1)) * (vectors.T @ (Q.T @ y)))
    beta = R.T @ dual
    beta = signature.reshape((-1,) + (1,) * (y.ndim - 1)) * beta
    return np.asarray(beta), np.asarray(eigenvalues)


@final
class KreinRidge(MultiOutputMixin, RegressorMixin, _KreinModel):  # type: ignore[misc]
    """Ridge regression with an indefinite kernel, through signed random features.

    Parameters
    ----------
    features : transformer, default=None
        Makes Z; its attribute ``signature_`` (all +1 where there is none) holds the signs, which
        come through pipelines, unions and column transformers (:mod:`rf.signs`).  None stands for
        ``SpectralFeatures(n_components=512, random_state=0)``: the Gaussian kernel.
    alpha : float, default=1.0
        Strength of the regulariser, greater than 0.
    solver : {"flip", "stationary"}, default="flip"
        See :mod:`rf.krein`.
    fit_intercept : bool, default=True
        Take the mean of y off before the solve and add it to the predictions.

    Attributes
    ----------
    features_ : transformer
        The fitted features.
    coef_ : ndarray of shape (n_columns,) or (n_columns, n_targets)
        f(x) = z(x)' coef_ + intercept_.
    intercept_ : ndarray
    eigenvalues_ : ndarray
        Of the approximate kernel matrix of the training rows, ascending; the negative ones are
        what makes the kernel indefinite on these data.
    n_features_in_ : int

    Raises
    ------
    AccuracyError
        At fit, for solver "stationary" where -alpha is nearly an eigenvalue.
    ParameterError
        At fit, where the signs of the features are lost in a composite, or their kernel is
        asymmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from rf.krein import KreinRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KreinRidge(RBFSampler(random_state=0), alpha=1e-3).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the features to X, and solve for the coefficients."""
        self._validate_params()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True, dtype=np.float64
        )
        self._solve(X, np.asarray(y, dtype=float))
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted values, of shape (n,) or (n, n_targets)."""
        return self._predict(X)


@final
class KreinRidgeClassifier(ClassifierMixin, _KreinModel):  # type: ignore[misc]
    """Classification by :class:`KreinRidge` on targets of -1 and +1, one for each class.

    Parameters
    ----------
    features, alpha, solver, fit_intercept
        As in :class:`KreinRidge`, whose attributes it has too.

    Attributes
    ----------
    classes_ : ndarray
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from rf.krein import KreinRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KreinRidgeClassifier(RBFSampler(gamma=0.1, random_state=0), alpha=1e-2)
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the features to X, and solve for the coefficients of each class."""
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1)
        targets = binarizer.fit_transform(y).astype(float)
        self.classes_ = binarizer.classes_
        if len(self.classes_) < 2:
            raise ValueError(
                f"The classifier can't train when only one class is present: {self.classes_}."
            )
        self._solve(X, targets[:, 0] if len(self.classes_) == 2 else targets)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Score of the second class, shape (n,), or of each class, shape (n, n_classes)."""
        return self._predict(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the largest score."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[index]
        return labels

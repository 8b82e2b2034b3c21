r"""Ridge regression with signed features, in the Krein space of an indefinite kernel.

With features Z and the diagonal matrix S of their signs, the kernel matrix is K = Z S Z' with
eigenvectors U and eigenvalues lambda, some of them negative.  The model is
f(x) = sum_i c_i k(x, x_i) = z(x)' beta with beta = S Z' c.

There are three solvers.  The first two solve an eigenproblem of the size of Z'Z:

``flip``
    c = U diag(sign(lambda) / (|lambda| + alpha)) U' y.  The regulariser is the norm of the
    associated Hilbert space, whose kernel matrix has the eigenvalues |lambda|.  The problem is
    convex and well posed for every alpha > 0.  The fit multiplies the component of y along each
    eigenvector by |lambda| / (|lambda| + alpha).  Loosli, Canu, Ong, "Learning SVM in Krein
    spaces", IEEE TPAMI 38 (2016), with the squared loss.
``stationary``
    c = (K + alpha I)^-1 y, the stationary point (a saddle) of the squared loss plus
    alpha <f, f>_K.  It exists and is unique if -alpha is not an eigenvalue of K; if -alpha is
    nearly an eigenvalue, an AccuracyError is raised.  Ong, Mary, Canu, Smola,
    "Learning with non-positive kernels", ICML 2004.
``iterative``
    The stationary point by MINRES, which multiplies by K and stores neither K, Z nor Z'Z.  Use it
    for more columns than the other two have memory for.  A relative residual above 1e-8 raises an
    error.  Paige, Saunders, "Solution of sparse indefinite systems of linear equations", SIAM J.
    Numer. Anal. 12 (1975).

For a positive definite kernel all three are kernel ridge regression.  Ordinary ridge regression or
a linear SVM on Z ignores the signs and learns with the positive definite matrix Z Z' instead of K.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from rf.inputs.arrays import first_chunk, first_rows, is_dask
from rf.krein.base import FEATURES_CONSTRAINT, SignedFeaturesEstimator
from rf.krein.chunks import checked_chunks, sums_of_chunks, sums_of_dask
from rf.krein.sums import KreinSpace, KreinSums, in_double
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.errors import ParameterError

__all__ = ["CONSTRAINTS", "KreinModel", "KreinRidge", "keeps_sums"]

_NO_SUMS = (
    "solver='iterative' keeps no sums over the rows, and weights, chunks, merging and return_std "
    "need them. Use solver='flip' or 'stationary'."
)

#: Constraints of the parameters of regressor and classifier, for scikit-learn's validation.
CONSTRAINTS: dict[str, Any] = {
    **FEATURES_CONSTRAINT,
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "solver": [StrOptions({"flip", "stationary", "iterative"})],
    "fit_intercept": ["boolean"],
}


def keeps_sums(model: KreinModel) -> bool:
    """True, or an AttributeError for the solver that keeps no sums, as ``available_if`` expects."""
    if model.solver == "iterative":
        raise AttributeError(_NO_SUMS)
    return True


class KreinModel(SignedFeaturesEstimator):
    """Base class of the regressor and the classifier: solves for the coefficients."""

    alpha: float
    solver: Literal["flip", "stationary", "iterative"]
    fit_intercept: bool

    def __init__(
        self,
        features: Any = None,
        *,
        alpha: float = 1.0,
        solver: Literal["flip", "stationary", "iterative"] = "flip",
        fit_intercept: bool = True,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features to X, and solve for the coefficients."""

    @available_if(keeps_sums)  # type: ignore[untyped-decorator]
    def merge(self, other: Self) -> Self:
        """Add the rows that another model with the same features was fitted to.

        Models fitted to parts of the data, for instance on several computers, become the model of
        all the data, up to rounding.  Their features must be the same: give both models a
        ``sklearn.frozen.FrozenEstimator`` of fitted features.

        Raises
        ------
        ParameterError
            If the models have different features, classes or numbers of targets.
        """
        if not isinstance(other, KreinModel):
            raise ParameterError(
                f"{other!r} is not a Krein model. Merge a model of the same class."
            )
        ours, theirs = self._get_sums(), other._get_sums()
        if (
            self.n_features_in_ != other.n_features_in_
            or not np.array_equal(self._transform(self._sample), other._transform(self._sample))
            or not np.array_equal(getattr(self, "classes_", ()), getattr(other, "classes_", ()))
        ):
            raise ParameterError(
                "The models have different features or classes, so their sums cannot be added. "
                "Fit the features once, and give each model FrozenEstimator(features)."
            )
        self._solve(ours + theirs)
        return self

    def _fit_features(self, X: Any, y: Any) -> None:
        """Fit the features to X, and delete attributes of earlier fits."""
        for attribute in ("sums_", "eigenvalues_", "residual_"):
            self.__dict__.pop(attribute, None)
        super()._fit_features(X, y)
        # Rows at which ``merge`` compares the features of two models.
        self._sample = X[:3].copy()

    def _fit_targets(self, X: Any, targets: FloatArray, sample_weight: Any, *, add: bool) -> None:
        """Fit rows with targets of shape (n, t); if ``add``, together with the earlier rows."""
        if self.solver == "iterative":
            if sample_weight is not None:
                self._refuse_without_sums()
            self._solve_iteratively(X, targets)
            return
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        sums = KreinSums.from_rows(self.features_, X, targets, weights)
        self._solve(self.sums_ + sums if add else sums)

    def _solve(self, sums: KreinSums) -> None:
        if not sums.weight > 0.0:
            raise ValueError("Sample weights must contain at least one non-zero number.")
        mean = sums.mean if self.fit_intercept else np.zeros_like(sums.mean)
        space = KreinSpace(sums, self.signature_)
        solver: Literal["flip", "stationary"] = "flip" if self.solver == "flip" else "stationary"
        beta = space.coefficients(mean, alpha=self.alpha, solver=solver)
        # Set after the solve, so that an error leaves the model as it was.
        self.sums_, self.eigenvalues_, self._fitted_alpha = sums, space.eigenvalues, self.alpha
        self._set_coefficients(beta, mean)

    def _set_coefficients(self, beta: FloatArray, mean: FloatArray) -> None:
        self.coef_ = beta[:, 0] if self._targets_are_1d else beta
        self.intercept_ = mean[0] if self._targets_are_1d else mean

    def _solve_iteratively(self, X: Any, targets: FloatArray) -> None:
        """Solve by MINRES through the features' ``operator``, a linear operator for K + alpha I."""
        if not hasattr(self.features_, "operator"):
            raise ParameterError(
                f"solver='iterative' needs features with a method operator, and {self.features_} "
                "has none. Use features of this package, or another solver."
            )
        mean = targets.mean(axis=0) if self.fit_intercept else np.zeros(targets.shape[1])
        K = self.features_.operator(in_double(X), ridge=self.alpha)
        dual, self.residual_ = K.solve(targets - mean)
        self._set_coefficients(K.coefficients(dual), mean)

    def _refuse_without_sums(self) -> None:
        if self.solver == "iterative":
            raise ParameterError(_NO_SUMS)

    def _get_sums(self) -> KreinSums:
        check_is_fitted(self)
        if not hasattr(self, "sums_"):
            raise ParameterError(_NO_SUMS)
        return self.sums_

    def _predict(self, Z: FloatArray) -> FloatArray:
        return np.asarray(Z @ self.coef_ + self.intercept_)

    def _new_features(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._transform(self._check_rows(X, reset=False))


class KreinRidge(MultiOutputMixin, RegressorMixin, KreinModel):  # type: ignore[misc]
    """Ridge regression with an indefinite kernel, through signed random features.

    Parameters
    ----------
    features : transformer, default=None
        Computes Z.  Its attribute ``signature_`` has the signs of the columns (default: all +1);
        pipelines, unions and column transformers are supported (:mod:`rf.krein.signs`).  None is
        ``SpectralFeatures(n_components=512, random_state=0)``, for the Gaussian kernel.
    alpha : float, default=1.0
        Regularisation strength, greater than 0.
    solver : {"flip", "stationary", "iterative"}, default="flip"
        See :mod:`rf.krein.ridge`; "iterative" sets neither ``eigenvalues_`` nor ``sums_``.
    fit_intercept : bool, default=True
        Subtract the mean of y before the solve and add it to the predictions.

    Attributes
    ----------
    features_ : transformer
        The fitted features.
    coef_ : ndarray of shape (n_columns,) or (n_columns, n_targets)
        Coefficients of f(x) = z(x)' coef_ + intercept_.
    intercept_ : ndarray
    eigenvalues_ : ndarray
        Eigenvalues of the approximate kernel matrix of the (weighted) training rows, ascending.
    signature_ : ndarray of shape (n_columns,)
        The signs of the columns.
    residual_ : float
        Solver "iterative": the largest |(K + alpha I) c - b| / |b| of targets b = y - intercept_.
    sums_ : rf.krein.sums.KreinSums
        Sums over the training rows, such as Z'Z and Z'y; the rows themselves are not stored.
    n_features_in_ : int

    Raises
    ------
    AccuracyError
        At fit, for solvers "stationary" and "iterative" if -alpha is nearly an eigenvalue.
    ParameterError
        At fit, if a step of a pipeline loses the signs of the features, or the kernel is
        asymmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from rf.krein.ridge import KreinRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KreinRidge(RBFSampler(random_state=0), alpha=1e-3).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features to X, and solve for the coefficients.

        ``sample_weight``, of shape (n,): a row of weight w counts as w equal rows; w may be a
        fraction.  X and y may be dask arrays: the features are fitted to the first chunk, and the
        sums are computed chunk by chunk.  With weights or dask arrays the solver "iterative" raises
        a ParameterError.  A memory map is read in blocks of rows.
        """
        self._validate_params()
        if not is_dask(X):
            return self._fit_rows(X, y, sample_weight, add=False)
        self._refuse_without_sums()
        rows = first_chunk(X)
        self._start_fit(rows, first_rows(y, len(rows)))
        with stage("sums over the chunks of a dask array", has_limit=False):
            sums = sums_of_dask(self.features_, X, y, sample_weight)
        self._solve(sums)
        return self

    def fit_chunks(
        self,
        chunks: Iterable[tuple[Any, ...]],
        *,
        kept: str | os.PathLike[str] | None = None,
        single: bool = False,
    ) -> Self:
        """Fit in one pass over chunks of rows that need not fit into memory together.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, sample_weight)
            The features are fitted to the first chunk.  Each chunk is read once and discarded.
        kept : path, optional
            A file (.npz) to which the sums are written, every minute and at the end.  A later call
            with the same chunks, or with more after them, continues from the file; with another
            alpha or solver, only the solve is repeated.
        single : bool
            Whether the features of chunks in single precision are multiplied in single precision:
            twice as fast, but more eigenvectors of Z'Z are omitted (see Notes).

        Raises
        ------
        ParameterError
            If there is no chunk.
        DataError
            If the file contains anything but the sums of these features over the first chunks.

        Notes
        -----
        Unlike :meth:`partial_fit` this method solves once, at the end.  The model omits
        eigenvectors of Z'Z with eigenvalues below their rounding error: 2.2e-16 times the number of
        rows (or columns, if larger) times the largest eigenvalue, or with ``single`` at most 8e-6
        times the trace of Z'Z.

        Examples
        --------
        >>> import numpy as np
        >>> from rf import KreinRidge
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> chunks = ((X[i : i + 100], X[i : i + 100, 0]) for i in range(0, 300, 100))
        >>> bool(KreinRidge(alpha=1e-3).fit_chunks(chunks).score(X, X[:, 0]) > 0.99)
        True
        """
        self._validate_params()
        self._refuse_without_sums()
        iterator = checked_chunks(chunks)
        first = next(iterator, None)
        if first is None:
            raise ParameterError("There is no chunk of rows to fit: the iterable is empty.")
        self._start_fit(*first[:2])
        self._solve(sums_of_chunks(self.features_, chain([first], iterator), kept, single=single))
        return self

    @available_if(keeps_sums)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows; the first call fits the features.

        Calls with parts of the data give the model of all the data, up to rounding.  The solver
        "iterative" has no ``partial_fit``.

        Raises
        ------
        ParameterError
            If the number of targets differs from that of earlier calls.
        """
        self._validate_params()
        return self._fit_rows(X, y, sample_weight, add=hasattr(self, "sums_"))

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, *, add: bool) -> Self:
        X, targets = self._check_data(X, y, reset=False) if add else self._start_fit(X, y)
        self._fit_targets(X, targets.reshape(len(targets), -1), sample_weight, add=add)
        return self

    def _start_fit(self, X: Any, y: Any) -> tuple[Any, FloatArray]:
        """Check the first rows and targets, and fit the features to them."""
        X, targets = self._check_data(X, y, reset=True)
        self._fit_features(X, targets)
        self._targets_are_1d = targets.ndim == 1
        return X, targets

    def _check_data(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, FloatArray]:
        X, y = self._check_rows(X, y, reset=reset, multi_output=True, y_numeric=True)
        return X, np.asarray(y, dtype=float)

    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predicted values, of shape (n,) or (n, n_targets).

        With ``return_std`` also their standard deviation, of shape (n,).  If no sign is -1, the
        model is the posterior mean of a Gaussian process with this kernel and noise of variance
        alpha, and the deviation is that of the function values.  It excludes the noise and the
        uncertainty of the intercept.

        Raises
        ------
        ParameterError
            For ``return_std`` with columns of signature -1.
        """
        Z = self._new_features(X)
        if not return_std:
            return self._predict(Z)
        sums = self._get_sums()
        if np.any(self.signature_ < 0):
            raise ParameterError(
                f"{int(np.sum(self.signature_ < 0))} columns have signature -1: the kernel is no "
                "covariance, and return_std is undefined. Use features of a positive definite "
                "kernel, for instance with mixed_signature='error'."
            )
        space = KreinSpace(sums, self.signature_)
        return self._predict(Z), space.posterior_deviation(Z, alpha=self._fitted_alpha)

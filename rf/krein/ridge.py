r"""Learning with signed features: ridge regression in the Krein space of an indefinite kernel.

With features Z and their signature S the kernel matrix is K = Z S Z' with eigenvectors U and
eigenvalues lambda, some of them negative.  A model is f(x) = sum_i c_i k(x, x_i), that is
f(x) = z(x)' beta with beta = S Z' c: the signature enters the solve and never the prediction.

Two solves are offered through an eigenproblem of the size of the features, and one by products:

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
``iterative``
    The stationary point by MINRES, through products with K, without storing K, Z or a matrix of
    columns x columns: for more columns than the other two have memory for.  A relative residual
    above 1e-8 raises an error.  Paige, Saunders, "Solution of sparse indefinite
    systems of linear equations", SIAM J. Numer. Anal. 12 (1975).

For a positive definite kernel all are kernel ridge regression.  A linear model on Z alone is
not: ridge on Z learns with Z Z' = K+ + K-, a positive definite kernel that ignores the signature,
and so does a linear SVM on Z (as in the published experiments that gave a solver real features).
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from numbers import Real
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from rf.inputs.arrays import first_chunk, first_rows, is_dask
from rf.krein.chunks import checked_chunks, sums_of_chunks, sums_of_dask
from rf.krein.on_features import FEATURES, OnFeatures
from rf.krein.sums import KreinSpace, KreinSums, in_double
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.errors import ParameterError

__all__ = ["CONSTRAINTS", "KreinModel", "KreinRidge", "keeps_sums"]

_NO_SUMS = (
    "solver='iterative' keeps no sums of the rows, which weights, chunks, merging and return_std "
    "need. Take solver='flip' or 'stationary'."
)

#: Constraints of the parameters of both models, for scikit-learn's validation.
CONSTRAINTS: dict[str, Any] = {
    **FEATURES,
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "solver": [StrOptions({"flip", "stationary", "iterative"})],
    "fit_intercept": ["boolean"],
}


def keeps_sums(model: KreinModel) -> bool:
    """Whether the solver of a model keeps sums of its rows, to which others can be added."""
    if model.solver == "iterative":
        raise AttributeError(_NO_SUMS)
    return True


class KreinModel(OnFeatures):
    """Base class of the regressor and the classifier: the solve, by chunks of rows or at once."""

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

        Models that were fitted to parts of the data, for instance on several computers, become the
        model of all of it, up to rounding.  Their features must be the same ones: give both a
        ``sklearn.frozen.FrozenEstimator`` of fitted features.

        Raises
        ------
        ParameterError
            Where the models have other features or targets.
        """
        if not isinstance(other, KreinModel):
            raise ParameterError(f"{other!r} is not a Krein model, so its rows are not known.")
        ours, theirs = self._kept(), other._kept()
        if (
            self.n_features_in_ != other.n_features_in_
            or not np.array_equal(self._rows(self._first), other._rows(self._first))
            or not np.array_equal(getattr(self, "classes_", ()), getattr(other, "classes_", ()))
        ):
            raise ParameterError(
                "The models have other features, or other classes, so that their sums do not add "
                "up. Fit the features once, and give each model FrozenEstimator(features)."
            )
        self._solve(ours + theirs)
        return self

    def _fit_features(self, X: Any, y: Any) -> None:
        """Fit the features to the first rows, and reset attributes from earlier fits."""
        for learned in ("sums_", "eigenvalues_", "residual_"):
            self.__dict__.pop(learned, None)
        super()._fit_features(X, y)
        # Models whose features agree here have the same features.
        self._first = X[:3].copy()

    def _learn(self, X: Any, targets: FloatArray, sample_weight: Any, *, more: bool) -> None:
        """Fit rows with targets of shape (n, t); add them to those already seen if ``more``."""
        if self.solver == "iterative":
            if sample_weight is not None:
                self._refuse_without_sums()
            self._iterate(X, targets)
            return
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        sums = KreinSums.of_rows(self.features_, X, targets, weights)
        self._solve(self.sums_ + sums if more else sums)

    def _solve(self, sums: KreinSums) -> None:
        if not sums.weight > 0.0:
            raise ValueError("Sample weights must contain at least one non-zero number.")
        mean = sums.mean if self.fit_intercept else np.zeros_like(sums.mean)
        space = KreinSpace(sums, self.signature_)
        solver: Literal["flip", "stationary"] = "flip" if self.solver == "flip" else "stationary"
        beta = space.coefficients(mean, alpha=self.alpha, solver=solver)
        # Only now: if the solve fails, the model keeps its earlier rows.
        self.sums_, self.eigenvalues_, self._noise = sums, space.eigenvalues, self.alpha
        self.coef_ = beta[:, 0] if self._one_target else beta
        self.intercept_ = mean[0] if self._one_target else mean

    def _iterate(self, X: Any, targets: FloatArray) -> None:
        """Solve by products with the kernel matrix, without the matrix or sums in memory."""
        if not hasattr(self.features_, "operator"):
            raise ParameterError(
                f"solver='iterative' needs features with a method operator, and {self.features_} "
                "has none. Take features of this package, or another solver."
            )
        mean = targets.mean(axis=0) if self.fit_intercept else np.zeros(targets.shape[1])
        K = self.features_.operator(in_double(X), ridge=self.alpha)
        dual, self.residual_ = K.solve(targets - mean)
        beta = K.coefficients(dual)
        self.coef_ = beta[:, 0] if self._one_target else beta
        self.intercept_ = mean[0] if self._one_target else mean

    def _refuse_without_sums(self) -> None:
        if self.solver == "iterative":
            raise ParameterError(_NO_SUMS)

    def _kept(self) -> KreinSums:
        """The sums of the rows that were seen."""
        check_is_fitted(self)
        if not hasattr(self, "sums_"):
            raise ParameterError(_NO_SUMS)
        return self.sums_

    def _predict(self, Z: FloatArray) -> FloatArray:
        return np.asarray(Z @ self.coef_ + self.intercept_)

    def _new_rows(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._rows(self._check_rows(X, reset=False))


@final
class KreinRidge(MultiOutputMixin, RegressorMixin, KreinModel):  # type: ignore[misc]
    """Ridge regression with an indefinite kernel, through signed random features.

    Parameters
    ----------
    features : transformer, default=None
        Makes Z; its attribute ``signature_`` (all +1 where there is none) holds the signs, which
        come through pipelines, unions and column transformers (:mod:`rf.krein.signs`).  None
        stands for ``SpectralFeatures(n_components=512, random_state=0)``: the Gaussian kernel.
    alpha : float, default=1.0
        Strength of the regulariser, greater than 0.
    solver : {"flip", "stationary", "iterative"}, default="flip"
        See :mod:`rf.krein.ridge`; "iterative" has no ``eigenvalues_`` and no ``sums_``.
    fit_intercept : bool, default=True
        Subtract the mean of y before the solve and add it to the predictions.

    Attributes
    ----------
    features_ : transformer
        The fitted features.
    coef_ : ndarray of shape (n_columns,) or (n_columns, n_targets)
        f(x) = z(x)' coef_ + intercept_.
    intercept_ : ndarray
    eigenvalues_ : ndarray
        Eigenvalues of the approximate kernel matrix of the (weighted) training rows, ascending;
        the kernel is indefinite on these data if some are negative.
    signature_ : ndarray of shape (n_columns,)
        The signs of the columns.
    residual_ : float
        Relative residual |K c - y| / |y| of solver "iterative".
    sums_ : rf.krein.sums.KreinSums
        The sums over rows, all that is kept of them: a matrix of columns x columns, and vectors.
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
    >>> from rf.krein.ridge import KreinRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KreinRidge(RBFSampler(random_state=0), alpha=1e-3).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features to X, and solve for the coefficients.

        ``sample_weight``, of shape (n,), counts a row as often as it says; a weight may be a
        fraction.  The solver "iterative", which keeps no sums of the rows, refuses weights with a
        ParameterError, as it does collections of dask.

        Where X is a collection of dask, as y may be too, the sums of all its chunks are one graph,
        and the features are fitted to the first chunk.  A memory map is read by blocks of rows.
        """
        self._validate_params()
        if not is_dask(X):
            return self._fit_rows(X, y, sample_weight, more=False)
        self._refuse_without_sums()
        rows = first_chunk(X)
        self._begin(rows, first_rows(y, len(rows)))
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
        """Fit in one pass over chunks of rows, which need not fit into memory together.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, sample_weight)
            The features are fitted to the first.  Each is seen once, and forgotten.
        kept : path, optional
            A file (.npz) that keeps the sums, every minute and at the end.  Called again with the
            same chunks, or with more after them, the pass continues from there; with another alpha
            or solver only the solve is done again.
        single : bool
            Whether features in single precision (of chunks in float32) are multiplied in single
            precision, 4096 rows at a time: twice as fast, but the model leaves out more.

        Raises
        ------
        ParameterError
            Where there is no chunk.
        DataError
            Where the file holds anything but sums of these features over the first chunks.

        Notes
        -----
        Unlike :meth:`partial_fit` it solves once, at the end.  The sums form Z'Z:
        its eigenvectors with eigenvalues below rounding, which is rows times 2.2e-16 of the
        largest eigenvalue, are left out of the model.  With ``single`` the limit is at most 8e-6 of
        the trace of Z'Z.

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
        each = checked_chunks(chunks)
        first = next(each, None)
        if first is None:
            raise ParameterError("There is no chunk of rows to fit: the iterable is empty.")
        self._begin(*first[:2])
        self._solve(sums_of_chunks(self.features_, chain([first], each), kept, single=single))
        return self

    @available_if(keeps_sums)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add more rows; the features are fitted to the first of them.

        One pass over chunks gives the model of all rows together, up to rounding.

        Raises
        ------
        ParameterError
            For another number of targets.

        Notes
        -----
        Solver "iterative" keeps nothing of the rows and has no ``partial_fit``.
        """
        self._validate_params()
        return self._fit_rows(X, y, sample_weight, more=hasattr(self, "sums_"))

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, *, more: bool) -> Self:
        X, targets = self._checked(X, y, reset=False) if more else self._begin(X, y)
        self._learn(X, targets.reshape(len(targets), -1), sample_weight, more=more)
        return self

    def _begin(self, X: Any, y: Any) -> tuple[Any, FloatArray]:
        """Fit the features to the first rows, which say how many targets there are."""
        X, targets = self._checked(X, y, reset=True)
        self._fit_features(X, targets)
        self._one_target = targets.ndim == 1
        return X, targets

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, FloatArray]:
        X, y = self._check_rows(X, y, reset=reset, multi_output=True, y_numeric=True)
        return X, np.asarray(y, dtype=float)

    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predicted values, of shape (n,) or (n, n_targets).

        With ``return_std`` also their standard deviation, of shape (n,): the model is the posterior
        mean of a Gaussian process with this kernel and noise of variance alpha, where the kernel
        is positive (no sign -1).  It is the deviation of the function, without the noise and
        without the uncertainty of the intercept.

        Raises
        ------
        ParameterError
            For ``return_std`` with columns of signature -1, which are no covariance.
        """
        Z = self._new_rows(X)
        if not return_std:
            return self._predict(Z)
        sums = self._kept()
        if np.any(self.signature_ < 0):
            raise ParameterError(
                f"{int(np.sum(self.signature_ < 0))} columns have signature -1, so that the kernel "
                "is no covariance, and the model is no Gaussian process. Take features "
                "of a positive definite kernel, or mixed_signature='error' to ask for such."
            )
        deviation = KreinSpace(sums, self.signature_).deviation(Z, alpha=self._noise)
        return self._predict(Z), deviation

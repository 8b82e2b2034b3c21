"""Classification with an indefinite kernel by ridge regression on signed features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from rf.krein.ridge import CONSTRAINTS, KreinModel, keeps_sums
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["KreinRidgeClassifier"]


class KreinRidgeClassifier(ClassifierMixin, KreinModel):  # type: ignore[misc]
    """Classification by :class:`KreinRidge`, with a target of -1 or +1 for each class.

    Parameters
    ----------
    features, alpha, solver, fit_intercept
        As in :class:`KreinRidge`, whose attributes this class has too.

    Attributes
    ----------
    classes_ : ndarray
        The labels.

    Notes
    -----
    There is no ``predict_proba``, because least-squares scores are not probabilities.  To get
    probabilities, use ``sklearn.calibration.CalibratedClassifierCV`` with this model, or
    ``LogisticRegression`` on :class:`FlippedFeatures`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from rf import KreinRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KreinRidgeClassifier(RBFSampler(gamma=0.1, random_state=0), alpha=1e-2)
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features to X, and solve for the coefficients of each class.

        ``sample_weight``, of shape (n,): as in :meth:`KreinRidge.fit`; with weights the solver
        "iterative" raises a ParameterError.
        """
        self._validate_params()
        return self._fit_rows(X, y, sample_weight, None, add=False)

    @available_if(keeps_sums)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; in the first call, fit the features; ``classes`` lists all labels.

        Raises
        ------
        ParameterError
            If a label is not among the classes.
        """
        self._validate_params()
        return self._fit_rows(X, y, sample_weight, classes, add=hasattr(self, "sums_"))

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any, *, add: bool) -> Self:
        X, y = self._check_rows(X, y, reset=not add)
        check_classification_targets(y)
        if not add:
            self.classes_ = np.unique(y if classes is None else classes)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"The classifier can't train when only one class is present: {self.classes_}."
                )
            self._targets_are_1d = len(self.classes_) == 2
            self._fit_features(X, y)
        if unknown := sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist())):
            raise ParameterError(
                f"The label {unknown[0]!r} is none of the classes {self.classes_.tolist()}. Give "
                "all classes in the first call of partial_fit."
            )
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(self.classes_)
        self._fit_targets(X, binarizer.transform(y).astype(float), sample_weight, add=add)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: for two classes those of the second, shape (n,), else shape (n, n_classes)."""
        return self._predict(self._new_features(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label with the largest score for each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[index]
        return labels

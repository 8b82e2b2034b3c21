"""Classification in the Krein space of signed features."""

from __future__ import annotations

from typing import Any, ClassVar, Self, final

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


@final
class KreinRidgeClassifier(ClassifierMixin, KreinModel):  # type: ignore[misc]
    """Classification by :class:`KreinRidge` on targets of -1 and +1, one for each class.

    Parameters
    ----------
    features, alpha, solver, fit_intercept
        As in :class:`KreinRidge`; so are the attributes.

    Attributes
    ----------
    classes_ : ndarray
        The labels.

    Notes
    -----
    There is no ``predict_proba``: scores of least squares are not probabilities.  For these, use
    ``sklearn.calibration.CalibratedClassifierCV`` with this model, or ``LogisticRegression`` on
    :class:`FlippedFeatures`.

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

        ``sample_weight``, of shape (n,): as in :meth:`KreinRidge.fit`; the solver "iterative"
        refuses weights with a ParameterError.
        """
        self._validate_params()
        return self._fit_rows(X, y, sample_weight, None, more=False)

    @available_if(keeps_sums)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add more rows; the first call fits the features, and ``classes`` names all labels.

        Raises
        ------
        ParameterError
            For a label that is not among the classes.
        """
        self._validate_params()
        return self._fit_rows(X, y, sample_weight, classes, more=hasattr(self, "sums_"))

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any, *, more: bool) -> Self:
        X, y = self._check_rows(X, y, reset=not more)
        check_classification_targets(y)
        if not more:
            self.classes_ = np.unique(y if classes is None else classes)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"The classifier can't train when only one class is present: {self.classes_}."
                )
            self._one_target = len(self.classes_) == 2
            self._fit_features(X, y)
        if unknown := sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist())):
            raise ParameterError(
                f"The label {unknown[0]!r} is none of the classes {self.classes_.tolist()}. Name "
                "all of them in the first call of partial_fit."
            )
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(self.classes_)
        self._learn(X, binarizer.transform(y).astype(float), sample_weight, more=more)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Score of the second class, shape (n,), or of each class, shape (n, n_classes)."""
        return self._predict(self._new_rows(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the largest score."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[index]
        return labels

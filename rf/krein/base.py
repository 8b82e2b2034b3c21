"""Base class of estimators on signed features: fits the features and checks rows."""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from rf.krein.signs import signature_of
from rf.krein.sums import in_double
from spectra.base.arrays import FloatArray

__all__ = ["FEATURES_CONSTRAINT", "SignedFeaturesEstimator"]

# Number of columns of the default features: enough for a few hundred rows.
_DEFAULT_COLUMNS = 512

#: Constraint of the parameter ``features``, for scikit-learn's validation.
FEATURES_CONSTRAINT: dict[str, Any] = {"features": [HasMethods(["fit", "transform"]), None]}


class SignedFeaturesEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of estimators that use features and their signature."""

    features: Any

    def _transformer(self) -> Any:
        """An unfitted copy of ``features`` that does not warn of columns with the sign -1."""
        if self.features is None:
            from rf.features.spectral_features import SpectralFeatures

            return SpectralFeatures(n_components=_DEFAULT_COLUMNS, random_state=0)
        transformer = clone(self.features)
        # In a pipeline or a union, mixed_signature is a parameter of some of the steps.
        names = [
            name for name in transformer.get_params() if name.split("__")[-1] == "mixed_signature"
        ]
        return transformer.set_params(**dict.fromkeys(names, "ignore")) if names else transformer

    def _fit_features(self, X: Any, y: Any) -> None:
        self.features_ = self._transformer().fit(X, y)
        self.signature_ = signature_of(self.features_, X)

    def _transform(self, X: Any) -> FloatArray:
        return np.asarray(self.features_.transform(in_double(X)), dtype=float)

    def _check_rows(self, X: Any, *y: Any, reset: bool, **y_options: Any) -> Any:
        """Validate rows, and targets y (with ``y_options``) if given, as scikit-learn does.

        Data frames are not converted, because the features may select columns by name.  Rows in
        single precision, which may be a memory map, are converted later in blocks.
        """
        if not hasattr(X, "iloc"):
            return validate_data(
                self,
                X,
                *y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                reset=reset,
                **y_options,
            )
        validate_data(self, X, *y, reset=reset, skip_check_array=True)
        if not y:
            return X
        checked = _check_y(*y, estimator=self, **y_options)
        check_consistent_length(X, checked)
        return X, checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._transformer()).input_tags.sparse
        return tags

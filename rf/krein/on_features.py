"""Base class of models on signed features: fits the features and checks rows."""

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

__all__ = ["FEATURES", "OnFeatures"]

# Enough for the default features to fit a few hundred rows.
_DEFAULT_COLUMNS = 512

#: Constraint of the parameter ``features``, for scikit-learn's validation.
FEATURES: dict[str, Any] = {"features": [HasMethods(["fit", "transform"]), None]}


class OnFeatures(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of models that use features and their signature."""

    features: Any

    def _transformer(self) -> Any:
        """A fresh transformer that does not warn of a mixed signature."""
        if self.features is None:
            from rf.features.spectral_features import SpectralFeatures

            return SpectralFeatures(n_components=_DEFAULT_COLUMNS, random_state=0)
        transformer = clone(self.features)
        # Also for the steps of a composite: signature_of raises an error if one loses the signs.
        asked = [
            name for name in transformer.get_params() if name.split("__")[-1] == "mixed_signature"
        ]
        return transformer.set_params(**dict.fromkeys(asked, "ignore")) if asked else transformer

    def _fit_features(self, X: Any, y: Any) -> None:
        self.features_ = self._transformer().fit(X, y)
        self.signature_ = signature_of(self.features_, X)

    def _rows(self, X: Any) -> FloatArray:
        return np.asarray(self.features_.transform(in_double(X)), dtype=float)

    def _check_rows(self, X: Any, *y: Any, reset: bool, **targets: Any) -> Any:
        """Rows for the features, and targets where there are any, as scikit-learn checks them.

        Data frames are not converted: the features may select columns by name.  Nor are rows in
        single precision, which may be a memory map; they are converted in blocks.
        """
        if not hasattr(X, "iloc"):
            return validate_data(
                self,
                X,
                *y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                reset=reset,
                **targets,
            )
        validate_data(self, X, *y, reset=reset, skip_check_array=True)
        if not y:
            return X
        checked = _check_y(*y, estimator=self, **targets)
        check_consistent_length(X, checked)
        return X, checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._transformer()).input_tags.sparse
        return tags

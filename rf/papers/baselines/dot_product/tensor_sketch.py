"""TensorSketch, by scikit-learn's PolynomialCountSketch."""

from __future__ import annotations

from typing import final

import numpy as np
from sklearn.kernel_approximation import PolynomialCountSketch

from rf.papers.baselines.dot_product.power import PowerRival
from spectra.base.arrays import FloatArray

__all__ = ["TensorSketch"]


@final
class TensorSketch(PowerRival):
    """Unbiased features of (coef0 + gamma <x, y>)^degree by FFTs of count sketches.

    Parameters
    ----------
    degree : int, default=2
    gamma : float, default=1.0
    coef0 : float, default=0.0
        At least 0.
    n_components : int, default=100
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    Pham and Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013.

    Examples
    --------
    >>> X = np.array([[0.6, 0.8], [1.0, 0.0]])
    >>> f = TensorSketch(n_components=4096, random_state=0).fit(X)
    >>> bool(np.abs(f.gram(X) - (X @ X.T) ** 2).max() < 0.2)
    True
    """

    def _draw(self, X: FloatArray) -> FloatArray:
        self._sketch = PolynomialCountSketch(
            degree=self.degree,
            gamma=float(self.gamma),
            coef0=self.coef0,
            n_components=self.n_components,
            random_state=self.random_state,
        ).fit(X)
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        return np.asarray(self._sketch.transform(X), dtype=float)

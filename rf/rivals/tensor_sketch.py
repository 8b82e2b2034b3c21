"""TensorSketch, by scikit-learn's PolynomialCountSketch."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.utils._param_validation import Interval

from rf.rivals.base import Rival

__all__ = ["TensorSketch"]

FloatArray = NDArray[np.float64]


@final
class TensorSketch(Rival):
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        degree: int = 2,
        gamma: float = 1.0,
        coef0: float = 0.0,
        n_components: int = 100,
        random_state: Any = None,
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state

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

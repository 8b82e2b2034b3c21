"""Sketches of polynomial kernels: TensorSketch and tensorized random projection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline
from spectra.base.arrays import FloatArray

__all__ = ["TensorSketch", "TensorizedRandomProjection"]


@dataclass(eq=False, repr=False, kw_only=True)
class _PowerSketch(Baseline):
    """Features of (coef0 + gamma <x, y>)^degree.

    Parameters
    ----------
    degree : int, default=2
    gamma : float, default=1.0
    coef0 : float, default=0.0
        At least 0, like gamma.  On the unit sphere (1 - |x - y|^2/a^2)^p has gamma = 2/a^2 and
        coef0 = 1 - 2/a^2.
    n_components : int, default=100
    random_state : int, RandomState instance or None, default=None
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 0.0
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }


@final
class TensorSketch(_PowerSketch):
    """Unbiased features of (coef0 + gamma <x, y>)^degree by FFTs of count sketches.

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


@final
class TensorizedRandomProjection(_PowerSketch):
    r"""Unbiased features of (coef0 + gamma <x, y>)^degree by products of random projections.

    .. math:: Z_j(x) = D^{-1/2} \prod_{i \le p} \langle \omega_{ij}, \tilde x \rangle,
              \qquad \tilde x = (\sqrt{c_0}, \sqrt{\gamma}\,x),

    with Rademacher vectors omega (entries +1 and -1), p = degree, c_0 = coef0, D = n_components.

    References
    ----------
    Meister, Sarlos, Woodruff, "Tight dimensionality reduction for sketching low degree polynomial
    kernels", NeurIPS 2019.

    Examples
    --------
    >>> X = np.array([[0.6, 0.8], [1.0, 0.0]])
    >>> f = TensorizedRandomProjection(n_components=20000, random_state=0).fit(X)
    >>> bool(np.abs(f.gram(X) - (X @ X.T) ** 2).max() < 0.1)
    True
    """

    def _draw(self, X: FloatArray) -> FloatArray:
        random = check_random_state(self.random_state)
        shape = (self.degree, X.shape[1] + 1, self.n_components)
        self._signs = 2.0 * random.randint(0, 2, size=shape) - 1.0
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        Z = np.full((X.shape[0], self.n_components), 1.0 / math.sqrt(self.n_components))
        for signs in self._signs:
            Z *= math.sqrt(self.gamma) * (X @ signs[1:]) + math.sqrt(self.coef0) * signs[0]
        return Z

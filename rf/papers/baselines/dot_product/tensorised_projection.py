"""Tensorised random projection: a fixed product of random projections for a polynomial kernel."""

from __future__ import annotations

import math
from typing import final

import numpy as np
from sklearn.utils import check_random_state

from rf.papers.baselines.dot_product.power import PowerRival
from spectra.base.arrays import FloatArray

__all__ = ["TensorizedRandomProjection"]


@final
class TensorizedRandomProjection(PowerRival):
    r"""Unbiased features of the polynomial kernel (coef0 + gamma <x, y>)^degree.

    .. math:: Z_j(x) = D^{-1/2} \prod_{i \le p} \langle \omega_{ij}, \tilde x \rangle,
              \qquad \tilde x = (\sqrt{c_0}, \sqrt{\gamma}\,x),

    with Rademacher vectors omega.

    Parameters
    ----------
    degree : int, default=2
    gamma : float, default=1.0
        At least 0.
    coef0 : float, default=0.0
        At least 0; (1 - |x - y|^2/a^2)^p on the unit sphere has gamma = 2/a^2 and
        coef0 = 1 - 2/a^2, so a^2 >= 2.
    n_components : int, default=100
    random_state : int, RandomState instance or None, default=None

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

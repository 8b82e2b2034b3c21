"""Random Gegenbauer features: zonal kernels on the unit sphere without any Fourier detour."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rf.dot_product import ZonalMap, gegenbauer_coefficients
from rf.feature_maps import MonomialMap
from rf.papers.baselines.base import Rival, check_sphere
from rf.sampling.couplings import COUPLINGS
from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import harmonic_count_log
from spectra.errors import ParameterError

__all__ = ["GegenbauerFeatures", "half_affine_square"]


def half_affine_square(u: FloatArray) -> FloatArray:
    """((1 + u)/2)^2, the polynomial kernel of the papers with a = p = 2."""
    return np.asarray((0.5 + 0.5 * u) ** 2)


@final
class GegenbauerFeatures(Rival):
    r"""Unbiased features of a zonal kernel cut at a degree, definite or not.

    With uniform directions s, E[P_n(x.s) P_m(y.s)] = delta_nm P_n(x.y) / N(n, d), so that

    .. math:: Z_j^\pm(x) = D^{-1/2} \sum_{\pm c_n > 0} \sqrt{|c_n| N(n, d)}\, P_n(x \cdot s_j)

    estimate the positive and the negative part of f(u) = sum_n c_n P_n(u) without bias.

    Parameters
    ----------
    kernel : callable
        f(u) for an array u of inner products in [-1, 1].
    degree : int, default=20
        Largest degree; the kernel beyond it is left out (see ``tail_``).
    n_components : int, default=100
        Number of columns: all of one sign, or half of each where f has both.
    directions : {"iid", "orthogonal"}, default="orthogonal"
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    coefficients_ : ndarray of shape (degree + 1,)
        c_n.
    tail_ : float
        f(1) - sum_n c_n, what the degrees left out add to the diagonal; for a positive definite
        kernel it bounds the bias of every entry.

    References
    ----------
    Han, Zandieh, Avron, "Random Gegenbauer features for scalable kernel methods", ICML 2022.

    Examples
    --------
    >>> X = np.array([[0.0, 0.6, 0.8], [1.0, 0.0, 0.0]])
    >>> f = GegenbauerFeatures(degree=2, n_components=3000, random_state=0).fit(X)
    >>> bool(np.abs(f.gram(X) - (0.5 + 0.5 * X @ X.T) ** 2).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "directions": [StrOptions({"iid", "orthogonal"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Callable[[FloatArray], FloatArray] = half_affine_square,
        *,
        degree: int = 20,
        n_components: int = 100,
        directions: str = "orthogonal",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.n_components = n_components
        self.directions = directions
        self.random_state = random_state

    def _draw(self, X: FloatArray) -> FloatArray:
        dim = X.shape[1]
        if dim < 2:
            raise ParameterError(
                "The unit sphere of dimension 1 is two points, on which Gegenbauer polynomials "
                f"say nothing: n_features = {dim}, and at least 2 are needed."
            )
        check_sphere(X)
        c = gegenbauer_coefficients(self.kernel, dim, self.degree)
        self.coefficients_ = c
        self.tail_ = float(self.kernel(np.ones(1))[0] - c.sum())
        # A coefficient below the error of its quadrature has no sign.
        noise = 1e-13 * np.exp(harmonic_count_log(np.arange(c.size), dim) / 2) * np.abs(c).max()
        signs = [s for s in (1.0, -1.0) if np.any(s * c > noise)]
        count, rest = divmod(self.n_components, len(signs))
        if rest or not signs:
            raise ParameterError(
                f"n_components = {self.n_components} is odd, and this kernel has positive and "
                f"negative coefficients, which take a column each: ask for {count * 2 + 2}."
            )
        root = np.exp(0.5 * harmonic_count_log(np.arange(c.size), dim)) / np.sqrt(count)
        weights = np.array([root * np.sqrt(np.where(s * c > noise, np.abs(c), 0.0)) for s in signs])
        seed = check_random_state(self.random_state).randint(0, 2**31)
        rng = np.random.default_rng(seed)
        rows = COUPLINGS[self.directions].directions(count, dim, rng)
        signature = np.repeat(signs, count)
        self._map = ZonalMap(rows, weights, MonomialMap.of(dim, []), signature)
        return signature

    def _columns(self, X: FloatArray) -> FloatArray:
        return self._map.columns(check_sphere(X))

"""Maclaurin sketches whose degrees are allocated by their variances on the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.dot_product import SplitFit
from rf.papers.baselines.base import Baseline
from rf.papers.baselines.dot_product import check_coefficients
from spectra.base.arrays import FloatArray

__all__ = ["OptimisedMaclaurin"]


@final
@dataclass(eq=False, repr=False)
class OptimisedMaclaurin(Baseline):
    r"""Complex-to-real sketches of exp(-rate \|x\|^2) exp(-rate \|y\|^2) sum_n a_n <x, y>^n.

    The sketch of each degree has orthogonal blocks (SRHT), and the numbers of sketches minimise the
    variance on pairs of the fitted rows.  Low degrees are exact if that is better.

    Parameters
    ----------
    coefficients : sequence of float
        a_0, a_1, ..., of either sign.
    rate : float, default=0.0
        1 / (2 length^2) for a Gaussian kernel, whose a_n are (2 rate)^n / n!.
    n_components : int, default=100
        Largest number of columns, at least 5.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    J. Wacker, M. Kanagawa and M. Filippone, "Improved random features for dot product kernels",
    2022.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> f = OptimisedMaclaurin((0.25, 0.5, 0.25), n_components=10, random_state=0).fit(X)
    >>> bool(np.allclose(f.gram(X), (0.5 + 0.5 * X @ X.T) ** 2))   # all degrees are exact
    True
    """

    coefficients: Sequence[float] = (0.25, 0.5, 0.25)
    _: KW_ONLY
    rate: float = 0.0
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "coefficients": ["array-like"],
        "rate": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 5, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        a = check_coefficients(self.coefficients)
        fit = SplitFit.of(a, X, self.n_components, split=False, rate=float(self.rate))
        seed = check_random_state(self.random_state).randint(2**31)
        self._map = fit.draw(np.random.default_rng(seed))
        return self._map.signature

    def _columns(self, X: FloatArray) -> FloatArray:
        return self._map.columns(X)

"""Random Maclaurin features: a random degree, and a product of that many random projections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline
from rf.papers.baselines.dot_product.power_series import check_coefficients
from spectra.base.arrays import FloatArray

__all__ = ["RandomMaclaurin"]


@final
@dataclass(eq=False, repr=False)
class RandomMaclaurin(Baseline):
    r"""Unbiased features of a dot-product kernel f(u) = sum_n a_n u^n, u = <x, y>.

    Column j has degree n with probability P(n), proportional to 2^-(n+1) on the degrees with
    a_n != 0, and is

    .. math:: \sqrt{|a_n| / (D\,P(n))} \prod_{i \le n} \langle \omega_{ij}, x \rangle,

    with Rademacher vectors omega (entries +1 and -1) and the signature sign(a_n).

    Parameters
    ----------
    coefficients : sequence of float
        a_n = f^(n)(0)/n! for n = 0, 1, ..., positive or negative
        (see :func:`rf.papers.baselines.dot_product.power_series.taylor_coefficients`).
    n_components : int, default=100
        Number of columns D.
    random_state : int, RandomState instance or None, default=None

    Notes
    -----
    Two published implementations are biased: one draws the degree whose cumulative probability is
    nearest to a uniform number, the other omits 1/n!.

    References
    ----------
    Kar and Karnick, "Random feature maps for dot product kernels", AISTATS 2012.

    Examples
    --------
    >>> x = np.array([[0.6, 0.8]])
    >>> f = RandomMaclaurin((0.25, 0.5, 0.25), n_components=20000, random_state=0).fit(x)
    >>> bool(abs(f.gram(x)[0, 0] - 1.0) < 0.1)
    True
    """

    coefficients: Sequence[float] = (0.25, 0.5, 0.25)
    _: KW_ONLY
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "coefficients": ["array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        a = check_coefficients(self.coefficients)
        probabilities = np.where(a == 0, 0.0, 0.5 ** np.arange(1.0, a.size + 1))
        probabilities = probabilities / probabilities.sum()
        random, columns = check_random_state(self.random_state), self.n_components
        self.degrees_ = np.sort(random.choice(a.size, size=columns, p=probabilities))
        self._scale = np.sqrt(np.abs(a[self.degrees_]) / probabilities[self.degrees_] / columns)
        # Columns are sorted by degree, so factor i multiplies all columns from _starts[i] on.
        highest = int(self.degrees_.max())
        self._starts = np.searchsorted(self.degrees_, np.arange(highest), side="right").tolist()
        self._signs = [
            2.0 * random.randint(0, 2, size=(X.shape[1], columns - start)) - 1.0
            for start in self._starts
        ]
        return np.asarray(np.sign(a)[self.degrees_])

    def _columns(self, X: FloatArray) -> FloatArray:
        Z = np.tile(self._scale, (X.shape[0], 1))
        for start, signs in zip(self._starts, self._signs, strict=True):
            Z[:, start:] *= X @ signs
        return Z

"""Random Maclaurin features: a random degree, and a product of that many random projections."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, final

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rf.papers.baselines.base import Rival
from rf.papers.baselines.dot_product.power_series import check_coefficients
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["RandomMaclaurin"]


@final
class RandomMaclaurin(Rival):
    r"""Unbiased features of a dot-product kernel f(u) = sum_n a_n u^n of any signs.

    Column j has the degree n with probability P(n) and is

    .. math:: \sqrt{|a_n| / (D\,P(n))} \prod_{i \le n} \langle \omega_{ij}, x \rangle,

    with Rademacher vectors omega and the signature sign(a_n).

    Parameters
    ----------
    coefficients : sequence of float
        a_0, a_1, ... = f^(n)(0)/n!; the factorial belongs to them
        (:func:`rf.papers.baselines.dot_product.power_series.taylor_coefficients`).
    n_components : int, default=100
        Number of columns D.
    degree_law : {"geometric", "proportional"}, default="geometric"
        P(n) proportional to 2^-(n+1) as published, or to |a_n|, on the degrees with a_n != 0.
    exact_low_degrees : bool, default=False
        Spend one column on degree 0 and d columns on degree 1, exactly, and draw the others from
        degree 2 on.
    random_state : int, RandomState instance or None, default=None

    Notes
    -----
    A published implementation takes the degree of nearest cumulative probability, another leaves
    out 1/n!: both are biased.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "coefficients": ["array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "degree_law": [StrOptions({"geometric", "proportional"})],
        "exact_low_degrees": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        coefficients: Sequence[float] = (0.25, 0.5, 0.25),
        *,
        n_components: int = 100,
        degree_law: Literal["geometric", "proportional"] = "geometric",
        exact_low_degrees: bool = False,
        random_state: Any = None,
    ) -> None:
        self.coefficients = coefficients
        self.n_components = n_components
        self.degree_law = degree_law
        self.exact_low_degrees = exact_low_degrees
        self.random_state = random_state

    def _draw(self, X: FloatArray) -> FloatArray:
        a = check_coefficients(self.coefficients)
        dim = X.shape[1]
        self._low = np.zeros(0)
        columns = self.n_components
        if self.exact_low_degrees:
            self._low = np.concatenate([a[:1], np.repeat(a[1:2], dim)])
            a = np.concatenate([np.zeros(min(2, a.size)), a[2:]])
            columns -= self._low.size
            if columns < (1 if np.any(a) else 0):
                raise ParameterError(
                    f"{self.n_components} columns do not hold the exact degrees 0 and 1, which "
                    f"take {self._low.size} in dimension {dim}. Ask for more columns, or set "
                    "exact_low_degrees=False."
                )
            columns = columns if np.any(a) else 0
        law = np.abs(a) if self.degree_law == "proportional" else 0.5 ** np.arange(1.0, a.size + 1)
        law = np.where(a == 0, 0.0, law)
        random = check_random_state(self.random_state)
        degrees = random.choice(a.size, size=columns, p=law / law.sum()) if columns else []
        self.degrees_ = np.sort(np.asarray(degrees, dtype=int))
        if columns:
            weight = np.abs(a) * law.sum() / np.where(law > 0, law, 1.0)
            self._scale = np.sqrt(weight[self.degrees_] / columns)
        else:
            self._scale = np.zeros(0)
        top = int(self.degrees_.max(initial=0))
        # The columns ascend in degree, so that factor i serves a tail of the columns.
        self._starts = [int(np.searchsorted(self.degrees_, i, side="right")) for i in range(top)]
        self._signs = [
            2.0 * random.randint(0, 2, size=(dim, columns - start)) - 1.0 for start in self._starts
        ]
        drawn = np.sign(a)[self.degrees_]
        low = np.where(self._low < 0, -1.0, 1.0)
        return np.concatenate([low, drawn])

    def _columns(self, X: FloatArray) -> FloatArray:
        Z = np.tile(self._scale, (X.shape[0], 1))
        for start, signs in zip(self._starts, self._signs, strict=True):
            Z[:, start:] *= X @ signs
        if not self._low.size:
            return Z
        exact = np.concatenate([np.ones((X.shape[0], 1)), X], axis=1)[:, : self._low.size]
        return np.concatenate([exact * np.sqrt(np.abs(self._low)), Z], axis=1)

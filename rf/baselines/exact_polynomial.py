"""The exact feature map of a polynomial in <x, y>: all weighted monomials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from rf.baselines.base import Baseline
from rf.baselines.dot_product import check_coefficients
from spectra.errors import ParameterError

__all__ = ["ExactPolynomial"]

FloatArray = NDArray[np.float64]


@final
class ExactPolynomial(Baseline):
    r"""Exact features of f(u) = sum_n a_n u^n: no randomness, no error but rounding.

    .. math:: \langle x, y \rangle^n = \sum_{|m| = n} \frac{n!}{m!}\, x^m y^m

    A polynomial of degree p has at most C(d + p, p) columns: (q + r u) on 16 columns has 17, and
    (q + r u)^2 has 153, fewer than the random features it is often set beside.

    Parameters
    ----------
    coefficients : sequence of float
        a_0, a_1, ..., of any signs.
    max_columns : int, default=100000
        Refuse a larger map.

    Raises
    ------
    ParameterError
        At fit, where the map would have more columns.

    Examples
    --------
    >>> X = np.array([[0.6, 0.8], [1.0, 0.0]])
    >>> ExactPolynomial((0.25, 0.5, 0.25)).fit(X).gram(X).round(12)
    array([[1.  , 0.64],
           [0.64, 1.  ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "coefficients": ["array-like"],
        "max_columns": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, coefficients: Sequence[float] = (0.25, 0.5, 0.25), *, max_columns: int = 100_000
    ) -> None:
        self.coefficients = coefficients
        self.max_columns = max_columns

    def _draw(self, X: FloatArray) -> FloatArray:
        a = check_coefficients(self.coefficients)
        dim = X.shape[1]
        total = sum(math.comb(dim + n - 1, n) for n in range(a.size) if a[n] != 0)
        if total > self.max_columns:
            raise ParameterError(
                f"The exact map of a polynomial of degree {a.size - 1} in dimension {dim} has "
                f"{total} columns, more than max_columns = {self.max_columns}. Raise it, or take "
                "random features."
            )
        # A column of degree n is a column of degree n - 1 times one coordinate.
        self._powers: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        self._weights: list[FloatArray] = []
        index: dict[tuple[int, ...], int] = {(): 0}
        for n in range(a.size):
            if n:
                words = list(combinations_with_replacement(range(dim), n))
                parent = np.array([index[word[:-1]] for word in words], dtype=np.intp)
                factor = np.array([word[-1] for word in words], dtype=np.intp)
                self._powers.append((parent, factor))
                index = {word: i for i, word in enumerate(words)}
            multinomial = [
                math.factorial(n) / math.prod(map(math.factorial, Counter(word).values()))
                for word in index
            ]
            self._weights.append(np.sqrt(abs(a[n]) * np.array(multinomial)))
        self._kept = np.flatnonzero(a)
        return np.concatenate([np.full(self._weights[n].size, np.sign(a[n])) for n in self._kept])

    def _columns(self, X: FloatArray) -> FloatArray:
        monomials = np.ones((X.shape[0], 1))
        columns = []
        for n, weights in enumerate(self._weights):
            if n:
                parent, factor = self._powers[n - 1]
                monomials = monomials[:, parent] * X[:, factor]
            if n in self._kept:
                columns.append(monomials * weights)
        return np.concatenate(columns, axis=1)

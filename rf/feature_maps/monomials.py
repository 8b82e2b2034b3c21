"""Exact features of a polynomial kernel in <x, y>: weighted monomials of the coordinates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spectra.base.arrays import FloatArray

__all__ = ["MonomialMap", "count_monomials"]


def count_monomials(dim: int, coefficients: Sequence[float]) -> int:
    """Number of monomials: C(d + n - 1, n) for each degree n with coefficients[n] != 0."""
    return sum(math.comb(dim + n - 1, n) for n, a in enumerate(coefficients) if a != 0)


@dataclass(frozen=True, eq=False)
class MonomialMap:
    r"""Columns :math:`\sqrt{|a_n|\,n!/m!}\;x^m` of all degrees n and multi-indices m, |m| = n.

    .. math:: \sum_n a_n \langle x, y \rangle^n
              = \sum_n a_n \sum_{|m| = n} \frac{n!}{m!}\, x^m y^m

    ``products[n - 1]``: for each monomial of degree n, the index of one of degree n - 1 and of the
    coordinate that multiplies it; ``weights[n]``: the roots above, for each monomial of degree n;
    ``kept``: the degrees with a_n != 0; ``signature``: the sign of a_n for each column.
    """

    dim: int
    products: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    weights: tuple[FloatArray, ...]
    kept: tuple[int, ...]
    signature: FloatArray

    @classmethod
    def of(cls, dim: int, coefficients: Sequence[float]) -> Self:
        """The map of sum_n coefficients[n] <x, y>^n on R^dim."""
        products, weights = [], []
        # Position of each monomial of degree n, given by the sorted coordinates of its factors.
        index: dict[tuple[int, ...], int] = {(): 0}
        for n, a in enumerate(coefficients):
            if n:
                monomials = list(combinations_with_replacement(range(dim), n))
                parent = np.array([index[factors[:-1]] for factors in monomials], dtype=np.intp)
                factor = np.array([factors[-1] for factors in monomials], dtype=np.intp)
                products.append((parent, factor))
                index = {factors: i for i, factors in enumerate(monomials)}
            multinomial = [
                math.factorial(n) / math.prod(map(math.factorial, Counter(factors).values()))
                for factors in index
            ]
            weights.append(np.sqrt(abs(a) * np.array(multinomial)))
        kept = tuple(n for n, a in enumerate(coefficients) if a != 0)
        signs = [np.full(weights[n].size, math.copysign(1.0, coefficients[n])) for n in kept]
        signature = np.concatenate([np.zeros(0), *signs])
        return cls(dim, tuple(products), tuple(weights), kept, signature)

    def columns(self, X: FloatArray) -> FloatArray:
        """The features of the rows of X, shape (rows, columns)."""
        monomials = np.ones((X.shape[0], 1), dtype=X.dtype)
        columns = [np.zeros((X.shape[0], 0), dtype=X.dtype)]
        last = max(self.kept, default=0)
        for n, weights in enumerate(self.weights[: last + 1]):
            if n:
                parent, factor = self.products[n - 1]
                monomials = monomials[:, parent] * X[:, factor]
            if n in self.kept:
                columns.append(monomials * weights.astype(X.dtype))
        return np.concatenate(columns, axis=1)

r"""Projections on rows of H D H D H D by fast Walsh-Hadamard transforms.

A block of p = 2^k frequencies costs 3 p log2(p) additions for a row of data in place of p d
multiplications, or six products with matrices of order sqrt(p) where BLAS does it.  Rows of data
lie side by side, so that every step is the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from spectra.base.arrays import FloatArray

__all__ = ["WalshBlock", "walsh_phases_with_numpy", "walsh_transform"]


@final
@dataclass(frozen=True, eq=False)
class WalshBlock:
    """Consecutive frequencies w_j = factor_j (H D2 H D1 H D0)_j, the first rows of one block.

    Attributes
    ----------
    signs : ndarray of shape (3, p)
        The diagonals D0, D1, D2; D0 counts for the first d entries.
    factor : ndarray of shape (m,)
    """

    signs: FloatArray
    factor: FloatArray

    @property
    def order(self) -> int:
        """The power of two p."""
        return len(self.signs[0])


def walsh_transform(values: NDArray[Any]) -> NDArray[Any]:
    """H values, for the H whose order is the length of the first axis, a power of two.

    H is the product of two Kronecker factors of about the root of that order, which BLAS applies.
    """
    order, columns = values.shape
    steps = order.bit_length() - 1
    outer, inner = (_hadamard(k, values.dtype.name) for k in (steps // 2, steps - steps // 2))
    product = outer @ values.reshape(len(outer), -1)
    both = np.matmul(inner, product.reshape(len(outer), -1, columns))
    return np.asarray(both.reshape(order, columns))


@lru_cache(maxsize=32)
def _hadamard(steps: int, dtype: str) -> NDArray[Any]:
    matrix = np.ones((1, 1), dtype)
    for _ in range(steps):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def walsh_phases_with_numpy(
    X: NDArray[Any], signs: NDArray[Any], factor: NDArray[Any], out: NDArray[Any]
) -> None:
    """Write the projections of rows on one block.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    signs, factor : ndarray
        Of a :class:`WalshBlock`, in the type of X.
    out : ndarray of shape (rows, m)
    """
    values = np.zeros((signs.shape[1], len(X)), X.dtype)
    values[: X.shape[1]] = X.T
    for diagonal in signs:
        values *= diagonal[:, None]
        values = walsh_transform(values)
    np.multiply(values[: factor.size].T, factor, out=out)

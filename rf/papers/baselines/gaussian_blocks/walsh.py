"""Walsh-Hadamard transforms of columns."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from spectra.base.arrays import FloatArray

__all__ = ["walsh_transform"]


def walsh_transform(values: FloatArray) -> FloatArray:
    """H values, for the H whose order is the length of the first axis, a power of two.

    H is the product of two Kronecker factors of about the root of that order.

    Examples
    --------
    >>> walsh_transform(np.eye(2))
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    order, columns = values.shape
    steps = order.bit_length() - 1
    outer, inner = _hadamard(steps // 2), _hadamard(steps - steps // 2)
    product = outer @ values.reshape(len(outer), -1)
    both = np.matmul(inner, product.reshape(len(outer), -1, columns))
    return np.asarray(both.reshape(order, columns))


@lru_cache(maxsize=32)
def _hadamard(steps: int) -> FloatArray:
    matrix = np.ones((1, 1))
    for _ in range(steps):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix

"""Walsh-Hadamard transforms of columns."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from spectra.base.arrays import FloatArray

__all__ = ["walsh_transform"]


def walsh_transform(values: FloatArray) -> FloatArray:
    """The product of the Hadamard matrix H of order 2^k = len(values) with ``values``.

    H is the Kronecker product of two Hadamard matrices of orders about 2^(k/2).

    Examples
    --------
    >>> walsh_transform(np.eye(2))
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    order, columns = values.shape
    exponent = order.bit_length() - 1
    outer, inner = _hadamard(exponent // 2), _hadamard(exponent - exponent // 2)
    product = outer @ values.reshape(len(outer), -1)
    both = np.matmul(inner, product.reshape(len(outer), -1, columns))
    return np.asarray(both.reshape(order, columns))


@lru_cache(maxsize=32)
def _hadamard(exponent: int) -> FloatArray:
    matrix = np.ones((1, 1))
    for _ in range(exponent):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix

"""Fast Walsh-Hadamard transforms, compiled by numba (the extra ``fast``)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.base.compiled import compiled

__all__ = ["walsh_phases_with_numba"]

# Rows of data side by side: 1024 frequencies of 16 rows in double precision are 128 kB.
_SIDE = 16


def walsh_phases_with_numba(
    X: NDArray[Any], signs: NDArray[Any], factor: NDArray[Any], out: NDArray[Any]
) -> None:
    """As :func:`walsh_phases_with_numpy`, two steps of each transform at a time."""
    values = np.empty((signs.shape[1], _SIDE), X.dtype)
    _kernel()(X, signs, factor, out, values)


@lru_cache(maxsize=1)
def _kernel() -> Any:
    def phases(X: Any, signs: Any, factor: Any, out: Any, values: Any) -> None:
        order, side = values.shape
        dim = X.shape[1]
        for start in range(0, X.shape[0], side):
            count = min(side, X.shape[0] - start)
            for k in range(dim):
                row = values[k]
                for r in range(count):
                    row[r] = X[start + r, k]
                for r in range(count, side):
                    row[r] = 0
            for k in range(dim, order):
                row = values[k]
                for r in range(side):
                    row[r] = 0
            for t in range(3):
                for k in range(order):
                    sign = signs[t, k]
                    row = values[k]
                    for r in range(side):
                        row[r] *= sign
                half = 1
                while 2 * half < order:
                    for first in range(0, order, 4 * half):
                        for k in range(first, first + half):
                            a, b = values[k], values[k + half]
                            c, d = values[k + 2 * half], values[k + 3 * half]
                            for r in range(side):
                                p, q = a[r] + b[r], a[r] - b[r]
                                u, v = c[r] + d[r], c[r] - d[r]
                                a[r], b[r] = p + u, q + v
                                c[r], d[r] = p - u, q - v
                    half *= 4
                if half < order:
                    for k in range(half):
                        a, b = values[k], values[k + half]
                        for r in range(side):
                            p, q = a[r] + b[r], a[r] - b[r]
                            a[r], b[r] = p, q
            for r in range(count):
                phase = out[start + r]
                for k in range(factor.size):
                    phase[k] = values[k, r] * factor[k]

    return compiled(phases, fused=True)

"""The dense work of every feature map: cosines and sines of projections, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = ["wave_columns"]

FloatArray = NDArray[np.float64]

# Bytes of one block of projections: it stays in a second-level cache while it is read twice.
_BLOCK_BYTES = 1 << 18


def wave_columns(
    X: Any,
    frequencies: FloatArray,
    scale: FloatArray,
    phases: FloatArray | None = None,
    *,
    without_sine: int | None = None,
) -> NDArray[Any]:
    """Columns scale * cos(X w + phase) for all frequencies, then scale * sin(X w + phase).

    Parameters
    ----------
    X : ndarray or sparse array of shape (rows, d)
        float32 or float64.
    frequencies : ndarray of shape (n, d)
    scale : ndarray of shape (n,)
    phases : ndarray of shape (n,), optional
        Zero where left out.
    without_sine : int, optional
        A frequency that gets no sine column.

    Returns
    -------
    ndarray of shape (rows, 2 n), or (rows, 2 n - 1) without one sine
        Of the type of X.  In float32 the error of a column is about 6e-8 (1 + |x| |w|) scale.

    Examples
    --------
    >>> wave_columns(np.zeros((1, 2)), np.ones((1, 2)), np.ones(1))
    array([[1., 0.]])
    """
    n = len(frequencies)
    weights = np.ascontiguousarray(frequencies.T, dtype=X.dtype)
    sines = np.arange(n) if without_sine is None else np.delete(np.arange(n), without_sine)
    scale = np.concatenate([scale, scale[sines]]).astype(X.dtype)
    shift = None if phases is None else phases.astype(X.dtype)
    out = np.empty((X.shape[0], len(scale)), dtype=X.dtype)
    block = max(1, _BLOCK_BYTES // (n * X.dtype.itemsize))
    sparse = issparse(X)
    for start in range(0, X.shape[0], block):
        rows = slice(start, min(start + block, X.shape[0]))
        phase = X[rows] @ weights
        if sparse:
            phase = np.asarray(phase)
        if shift is not None:
            phase += shift
        np.cos(phase, out=out[rows, :n])
        np.sin(phase if without_sine is None else phase[:, sines], out=out[rows, n:])
        out[rows] *= scale
    return out

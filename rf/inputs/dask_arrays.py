"""Rows in dask arrays: features of each chunk, computed when they are needed.

Nothing here imports dask unless an array of dask was passed.  Chunks are of rows; whatever looks
at the rows before it draws (the fit of features) looks at the first chunk, as ``partial_fit`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from spectra.errors import ParameterError

__all__ = ["by_chunks", "dask_module", "first_chunk", "first_rows", "is_dask", "rows_of"]


def is_dask(X: Any) -> bool:
    """Whether X is a collection of dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def first_chunk(X: Any) -> Any:
    """The first rows of a collection, in memory; whatever is no collection of dask as it is."""
    return rows_of(X).blocks[0].compute() if is_dask(X) else X


def first_rows(values: Any, count: int) -> Any:
    """So many values of an array or a collection, in memory."""
    return np.asarray(rows_of(values)[:count]) if is_dask(values) else values[:count]


def by_chunks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of features that takes X, or X and Y, give a lazy array where X is one of dask.

    The method is called on each chunk of rows, or on each pair of chunks.
    """

    @wraps(method)
    def lazy(self: Any, X: Any, *others: Any, **options: Any) -> Any:
        if not any(map(is_dask, (X, *others, *options.values()))):
            return method(self, X, *others, **options)
        if options.pop("out", None) is not None:
            raise ParameterError(
                "Columns of an array of dask are made when they are asked for, and out= says where "
                "now. Leave it away, and store() the result."
            )
        X, name = rows_of(X), method.__name__
        single = X.dtype == np.float32
        if name != "gram":
            return X.map_blocks(
                _of_chunk, name, self, dtype=np.float32 if single else np.float64,
                chunks=(X.chunks[0], (self._n_features_out,)),
                meta=np.empty((0, 0), np.float32 if single else np.float64),
            )  # fmt: skip
        other = next((Y for Y in (*others, *options.values()) if Y is not None), X)
        Y = rows_of(other)
        dtype = np.float32 if single and Y.dtype == np.float32 else np.float64
        return dask_module(".array").blockwise(
            _of_chunks, "ij", X, "ik", Y, "jk", estimator=self, dtype=dtype,
            concatenate=True, meta=np.empty((0, 0), dtype),
        )  # fmt: skip

    return lazy


def _of_chunk(rows: Any, name: str, estimator: Any) -> Any:
    return getattr(estimator, name)(rows)


def _of_chunks(rows: Any, others: Any, estimator: Any) -> Any:
    return estimator.gram(rows, others)


def rows_of(X: Any) -> Any:
    """An array of dask whose chunks hold whole rows."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    X = dask_module(".array").asarray(X)
    return X.rechunk(dict.fromkeys(range(1, X.ndim), -1))


def dask_module(module: str = "") -> Any:
    """A module of dask, where a collection of it was passed."""
    return import_module("dask" + module)

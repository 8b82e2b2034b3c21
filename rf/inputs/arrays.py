"""Support for array-API libraries (on any device) and for dask arrays.

With ``sklearn.set_config(array_api_dispatch=True)``, estimators accept arrays of every library that
scikit-learn dispatches to (torch, cupy, dpnp, array-api-strict).  Frequencies are drawn in numpy,
from a copy of the rows on the host; features are computed and returned in the library and on the
device of the rows.

Features of a dask array are computed lazily, one chunk of rows at a time; ``fit`` uses the first
chunk.  Dask is imported only if a dask array is passed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device
from sklearn.utils.validation import validate_data

from spectra.errors import ParameterError

__all__ = [
    "asarray_like",
    "by_chunks",
    "dask_module",
    "first_chunk",
    "first_rows",
    "is_dask",
    "is_foreign",
    "namespace_of",
    "on_host",
    "refuse_other_library",
    "row_chunks",
    "squares_are_finite",
    "user_stacklevel",
    "validated_rows",
]


def is_foreign(X: Any) -> bool:
    """Whether X is neither a numpy array nor a sparse array."""
    return not isinstance(X, np.ndarray) and not issparse(X)


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate rows with scikit-learn: float64 or float32, in their own library.

    ``reset`` is True in ``fit``, which takes the first chunk of a dask array.
    """
    X = first_chunk(X) if reset else X
    xp, _, _ = get_namespace_and_device(X)
    types = [xp.float64, xp.float32]
    return validate_data(estimator, X, accept_sparse="csr", dtype=types, reset=reset)


def on_host(X: Any) -> Any:
    """Convert X to numpy; return sparse arrays unchanged."""
    if not is_foreign(X):
        return X
    return np.asarray(_convert_to_numpy(_detached(X), get_namespace_and_device(X)[0]))


def _detached(X: Any) -> Any:
    """X without the autograd graph of torch."""
    return X.detach() if hasattr(X, "detach") else X


def asarray_like(values: Any, X: Any, *, double: bool = False) -> Any:
    """Values in the library and on the device of X, in its dtype or, if ``double``, in float64."""
    xp, _, device = get_namespace_and_device(X)
    # Torch does not accept read-only arrays.
    numbers = np.require(on_host(values), requirements="W")
    return xp.asarray(numbers, dtype=xp.float64 if double else X.dtype, device=device)


def refuse_other_library(estimator: Any, X: Any, fitted: Any, method: str) -> None:
    """Raise if the rows X are in another library or on another device than the array ``fitted``."""
    if not get_config()["array_api_dispatch"]:
        return
    fitted_place, given_place = _place(fitted), _place(X)
    if fitted_place != given_place:
        raise ParameterError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace "
            f"and the same device as those passed to fit(). They are in {_describe(given_place)}, "
            f"those of fit were in {_describe(fitted_place)}. Convert them, or fit again."
        )


def _place(X: Any) -> tuple[Any, Any]:
    """The array namespace of X and its device, which is None for numpy."""
    return get_namespace_and_device(X)[0::2] if is_foreign(X) else (np, None)


def namespace_of(X: Any) -> tuple[Any, str]:
    """The array namespace of X, and its name with the device, for messages."""
    return get_namespace_and_device(X)[0], _describe(_place(X))


def _describe(place: tuple[Any, Any]) -> str:
    return str(place[0].__name__) + ("" if place[1] is None else f" on {place[1]}")


def squares_are_finite(X: Any) -> bool:
    """Whether squared distances between rows are finite in the dtype of X.

    The answer is computed on the device of X, from a bound by the largest entry of X.
    """
    xp, _, _ = get_namespace_and_device(X)
    X = _detached(X)
    return bool(float(xp.max(xp.abs(X))) < 0.5 * (xp.finfo(X.dtype).max / X.shape[1]) ** 0.5)


# --- dask arrays ----------------------------------------------------------------------------------


def is_dask(X: Any) -> bool:
    """Whether X is a dask collection: an array or a data frame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def first_chunk(X: Any) -> Any:
    """The first chunk of a dask collection, in memory; other X unchanged."""
    return row_chunks(X).blocks[0].compute() if is_dask(X) else X


def first_rows(values: Any, count: int) -> Any:
    """The first ``count`` rows of an array or a dask collection, in memory."""
    return np.asarray(row_chunks(values)[:count]) if is_dask(values) else values[:count]


def by_chunks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method with arguments X or X, Y to return a lazy array if one is a dask array.

    The method is called on each chunk of rows, or (``gram``) on each pair of chunks.
    """

    @wraps(method)
    def lazy(self: Any, X: Any, *others: Any, **options: Any) -> Any:
        if not any(map(is_dask, (X, *others, *options.values()))):
            return method(self, X, *others, **options)
        if options.pop("out", None) is not None:
            raise ParameterError(
                "Features of a dask array are computed only when they are asked for, so out= is "
                "not possible. Omit it, and store() the result."
            )
        X, name = row_chunks(X), method.__name__
        single = X.dtype == np.float32
        if name != "gram":
            return X.map_blocks(
                getattr(self, name), dtype=np.float32 if single else np.float64,
                chunks=(X.chunks[0], (self._n_features_out,)),
                meta=np.empty((0, 0), np.float32 if single else np.float64),
            )  # fmt: skip
        other = next((Y for Y in (*others, *options.values()) if Y is not None), X)
        Y = row_chunks(other)
        dtype = np.float32 if single and Y.dtype == np.float32 else np.float64
        return dask_module(".array").blockwise(
            self.gram, "ij", X, "ik", Y, "jk", dtype=dtype,
            concatenate=True, meta=np.empty((0, 0), dtype),
        )  # fmt: skip

    return lazy


def row_chunks(X: Any) -> Any:
    """Convert X to a dask array whose chunks hold whole rows."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    X = dask_module(".array").asarray(X)
    return X.rechunk(dict.fromkeys(range(1, X.ndim), -1))


def dask_module(module: str = "") -> Any:
    """Import a module of dask, such as ".array"."""
    return import_module("dask" + module)


# --- warnings ------------------------------------------------------------------------------------

# Packages whose frames a warning skips.
_SKIPPED = ("rf", "sklearn", "joblib")


def user_stacklevel() -> int:
    """The ``stacklevel`` with which a warning of the caller points to the user's line.

    No constant works, because pipelines call ``fit`` through frames of scikit-learn.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED:
        if frame.f_back is None:
            break
        frame, level = frame.f_back, level + 1
    return level

"""Rows in arrays of other libraries, on other devices, and in chunks.

With ``sklearn.set_config(array_api_dispatch=True)`` arrays of every library that scikit-learn
dispatches to (torch, cupy, dpnp, array-api-strict) go in, and come out of the same library on the
same device.  What is drawn from a table is drawn in numpy, from a copy of the rows on the host;
features are made where the rows lie.

Features of an array of dask are made chunk by chunk, when they are needed.  Chunks are of rows;
whatever looks at the rows before it draws looks at the first one, as ``partial_fit`` does.  Dask
is imported only if an array of dask was passed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device
from sklearn.utils.validation import validate_data

from spectra.errors import ParameterError

__all__ = [
    "array_waves",
    "asarray_like",
    "by_chunks",
    "dask_module",
    "first_chunk",
    "first_rows",
    "fits_squared",
    "is_dask",
    "is_foreign",
    "on_host",
    "refuse_other_library",
    "rows_of",
    "user_stacklevel",
    "validated_rows",
]


def is_foreign(X: Any) -> bool:
    """Whether X is neither an array of numpy nor a sparse one."""
    return not isinstance(X, np.ndarray) and not issparse(X)


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as scikit-learn validates them: float64 or float32, in the library that they came in.

    Of rows in an array of dask the first chunk is taken, for a fit, which looks at a sample.
    """
    X = first_chunk(X) if reset else X
    xp, _, _ = get_namespace_and_device(X)
    types = [xp.float64, xp.float32]
    return validate_data(estimator, X, accept_sparse="csr", dtype=types, reset=reset)


def on_host(X: Any) -> Any:
    """The same numbers in numpy; sparse rows as they are."""
    if not is_foreign(X):
        return X
    return np.asarray(_convert_to_numpy(_detached(X), get_namespace_and_device(X)[0]))


def _detached(X: Any) -> Any:
    """The numbers alone: torch keeps derivatives beside them."""
    return X.detach() if hasattr(X, "detach") else X


def asarray_like(values: Any, X: Any, *, double: bool = False) -> Any:
    """Real numbers in the library and on the device of X, of its type or in double precision."""
    xp, _, device = get_namespace_and_device(X)
    # Torch takes no array that is read-only.
    numbers = np.require(on_host(values), requirements="W")
    return xp.asarray(numbers, dtype=xp.float64 if double else X.dtype, device=device)


def refuse_other_library(estimator: Any, X: Any, fitted: Any, method: str) -> None:
    """Refuse rows of another library, or on another device, than what was fitted."""
    if not get_config()["array_api_dispatch"]:
        return
    at, there = _place(fitted), _place(X)
    if at != there:
        raise ParameterError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace "
            f"and the same device as those passed to fit(). The rows are of {_named(there)}, and "
            f"those of fit were of {_named(at)}. Convert the rows, or fit on rows like these."
        )


def _place(X: Any) -> tuple[Any, Any]:
    return get_namespace_and_device(X)[0::2] if is_foreign(X) else (np, None)


def _named(place: tuple[Any, Any]) -> str:
    return str(place[0].__name__) + ("" if place[1] is None else f" on {place[1]}")


def fits_squared(X: Any) -> bool:
    """Whether squares of distances are numbers of the type of X, by its largest coordinate alone.

    It is found where the rows are, so that those on a device stay there.
    """
    xp, _, _ = get_namespace_and_device(X)
    X = _detached(X)
    return bool(float(xp.max(xp.abs(X))) < 0.5 * (xp.finfo(X.dtype).max / X.shape[1]) ** 0.5)


def array_waves(
    X: Any,
    frequencies: NDArray[np.float64],
    scale: NDArray[np.float64],
    phases: NDArray[np.float64] | None,
    without_sine: int | None,
    out: Any,
) -> Any:
    """As ``wave_columns`` of the feature maps, by the functions of the library of X, where X lies.

    The waves and the columns are held at once, in two to three times the memory of the columns.
    """
    if out is not None:
        raise ParameterError(
            f"Columns are written into arrays of numpy only, and the rows are of "
            f"{_named(_place(X))}. Leave out= away, and pass chunks of rows to save memory."
        )
    xp, _, _ = get_namespace_and_device(X)
    phase = X @ asarray_like(frequencies.T, X)
    if phases is not None:
        phase = phase + asarray_like(phases, X)
    factor = asarray_like(scale, X)
    sines = xp.sin(phase) * factor
    if without_sine is not None:
        sines = xp.concat([sines[:, :without_sine], sines[:, without_sine + 1 :]], axis=1)
    return xp.concat([xp.cos(phase) * factor, sines], axis=1)


# --- arrays of dask -------------------------------------------------------------------------------


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


# --- warnings ------------------------------------------------------------------------------------

_INSIDE = ("rf", "sklearn", "joblib")


def user_stacklevel() -> int:
    """The ``stacklevel`` with which the caller's warning names the first line of other code.

    ``fit`` is called by users, and by ``fit_transform`` and pipelines through some frames of
    scikit-learn, so that no fixed number is right.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        if frame.f_back is None:
            break
        frame, level = frame.f_back, level + 1
    return level

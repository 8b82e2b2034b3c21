"""Rows in arrays of other libraries and on other devices, by scikit-learn's array API dispatch.

With ``sklearn.set_config(array_api_dispatch=True)`` arrays of every library that scikit-learn
dispatches to (torch, cupy, dpnp, array-api-strict) go in, and come out of the same library on the
same device.  What is drawn from a table is drawn in numpy, from a copy of the rows on the host;
features are made where the rows lie.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device
from sklearn.utils.validation import validate_data

from rf.inputs.dask_arrays import first_chunk
from spectra.errors import ParameterError

__all__ = [
    "array_waves",
    "asarray_like",
    "fits_squared",
    "is_foreign",
    "on_host",
    "refuse_other_library",
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

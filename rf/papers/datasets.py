"""Data sets by name: from a local folder, from scikit-learn's bundle, or from OpenML.

The project contains no data.  Names are looked up in the folder of the environment variable
``SPECTRA_DATA`` (``name.npz`` with X_train, y_train, X_test, y_test), then in the data that
scikit-learn bundles, then on OpenML.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError

__all__ = ["DATA_VARIABLE", "NAMES", "SCALINGS", "Dataset", "Scaling", "load_dataset"]

Scaling = Literal["raw", "unit", "interval"]

#: The environment variable that names the folder of data.
DATA_VARIABLE = "SPECTRA_DATA"
_ARRAYS = ("X_train", "y_train", "X_test", "y_test")

# OpenML's name and version, and the number of training rows of the papers.
_OPENML = {
    "letter": ("letter", 1, 12000),
    "housing": ("boston", 1, 405),
    "spambase": ("spambase", 1, 3681),
    "cod-RNA": ("codrna", 1, 59535),
}
_FOLDER_ONLY = ("ijcnn1", "usps", "covtype10k")
NAMES = ("digits", *_OPENML, *_FOLDER_ONLY)

# The split of data that come without one; any fixed number would do.
_SPLIT_SEED = 0
_DIGITS_TRAIN = 1200


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and labels, split into training and test.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray of shape (rows, d)
    y_train, y_test : ndarray of shape (rows,)
    origin : str
        Where it was found, and how it was split; results of another split are not comparable.
    """

    name: str
    X_train: FloatArray
    y_train: NDArray[Any]
    X_test: FloatArray
    y_test: NDArray[Any]
    origin: str


def load_dataset(
    name: str,
    *,
    scaling: Scaling = "unit",
    folder: str | os.PathLike[str] | None = None,
    fetch: bool = True,
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        "digits" (bundled with scikit-learn), "letter", "ijcnn1", "usps", "housing", "spambase",
        "cod-RNA" or "covtype10k".
    scaling : {"unit", "raw", "interval"}
        "unit": rows on the unit sphere as in the published code of GORF (letter is first brought
        to [-1, 1], housing to [0, 1], by columns); "interval": columns to [0, 1] over all rows;
        "raw": as stored.
    folder : path, optional
        By default the folder that ``SPECTRA_DATA`` names.
    fetch : bool
        Whether to ask OpenML for what is neither there nor bundled.

    Raises
    ------
    ParameterError
        For an unknown name or scaling.
    DataError
        Where the data cannot be had; the message says what is missing.

    Examples
    --------
    >>> load_dataset("digits").X_train.shape
    (1200, 64)
    """
    if not isinstance(name, str) or name not in NAMES:
        raise ParameterError(f"There is no data set {name!r}: choose one of {', '.join(NAMES)}.")
    if scaling not in SCALINGS:
        raise ParameterError(f"scaling = {scaling!r} is not one of {', '.join(SCALINGS)}.")
    return SCALINGS[scaling](_find(name, folder, fetch))


def _find(name: str, folder: str | os.PathLike[str] | None, fetch: bool) -> Dataset:
    given = os.environ.get(DATA_VARIABLE) if folder is None else folder
    if given is not None and (path := Path(given) / f"{name}.npz").is_file():
        return _from_file(name, path)
    if name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return _split(name, digits.data, digits.target, _DIGITS_TRAIN, "scikit-learn's bundle")
    if name in _OPENML and fetch:
        return _from_openml(name)
    elsewhere = "OpenML was not asked" if name in _OPENML else "it is not fetched from elsewhere"
    where = f"{DATA_VARIABLE} is not set" if given is None else f"{given} has no {name}.npz"
    raise DataError(
        f"The data set {name!r} was not found: {where}, and {elsewhere}. "
        f"Put {name}.npz with the arrays {', '.join(_ARRAYS)} into a folder, and set "
        f"{DATA_VARIABLE} to that folder."
    )


def _from_file(name: str, path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as arrays:
        missing = [a for a in _ARRAYS if a not in arrays]
        if missing:
            raise DataError(
                f"{path} lacks the array(s) {', '.join(missing)}: a data set is a .npz with "
                f"{', '.join(_ARRAYS)}."
            )
        X_train, X_test = (np.asarray(arrays[a], dtype=float) for a in ("X_train", "X_test"))
        y_train, y_test = arrays["y_train"], arrays["y_test"]
    return Dataset(name, X_train, y_train, X_test, y_test, f"{path}, split as stored")


def _from_openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    title, version, train = _OPENML[name]
    try:
        bunch = fetch_openml(title, version=version, as_frame=False, parser="liac-arff")
    except (URLError, OSError) as error:
        raise DataError(
            f"The data set {name!r} is in no folder ({DATA_VARIABLE} is "
            f"{os.environ.get(DATA_VARIABLE)!r}), and OpenML could not be reached: {error}. "
            f"Connect, or set {DATA_VARIABLE} to a folder with {name}.npz."
        ) from error
    if name == "letter":
        labels = np.where(bunch.target < "N", 1, -1)
    elif name == "spambase":
        labels = np.where(bunch.target == "1", 1, -1)
    else:
        labels = np.asarray(bunch.target, dtype=float)
    rows = bunch.data.toarray() if issparse(bunch.data) else np.asarray(bunch.data)
    return _split(name, rows.astype(float), labels, train, f"OpenML {title!r} v{version}")


def _split(name: str, X: FloatArray, y: NDArray[Any], train: int, origin: str) -> Dataset:
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(X))
    first, second = order[:train], order[train:]
    return Dataset(
        name, X[first], y[first], X[second], y[second], f"{origin}, split at random by this package"
    )


def _interval(data: Dataset) -> Dataset:
    """Columns on [0, 1] over all rows; a constant column becomes 0."""
    rows = np.concatenate([data.X_train, data.X_test])
    low, high = rows.min(axis=0), rows.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return _mapped(data, lambda X: (X - low) / width)


def _unit(data: Dataset) -> Dataset:
    """Rows of length 1, after the columns of letter and housing are scaled as published."""
    if data.name == "letter":
        data = _mapped(data, _libsvm_letter)
    elif data.name == "housing":
        data = _interval(data)
    return _mapped(data, _on_sphere)


def _mapped(data: Dataset, change: Callable[[FloatArray], FloatArray]) -> Dataset:
    return replace(data, X_train=change(data.X_train), X_test=change(data.X_test))


def _libsvm_letter(X: FloatArray) -> FloatArray:
    """LIBSVM's scaling of the integers 0..15 to [-1, 1]; column 11 has 1..15 only."""
    scaled = X / 7.5 - 1.0
    scaled[:, 11] = (X[:, 11] - 1.0) / 7.0 - 1.0
    return scaled


def _on_sphere(X: FloatArray) -> FloatArray:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    if not np.all(norms > 0):
        raise DataError(
            f"Row {int(np.argmin(norms))} is zero and has no direction on the unit sphere. Use "
            "scaling='raw' or 'interval'."
        )
    return np.asarray(X / norms)


#: How the rows are scaled; see :func:`load_dataset`.
SCALINGS: dict[Scaling, Callable[[Dataset], Dataset]] = {
    "raw": lambda data: data,
    "unit": _unit,
    "interval": _interval,
}

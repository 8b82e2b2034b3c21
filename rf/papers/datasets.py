"""Data sets by name: from a local folder, from scikit-learn's bundle, or from OpenML.

This package contains no data.  :func:`load_dataset` searches the folder named by the environment
variable ``SPECTRA_DATA`` (for ``name.npz`` with X_train, y_train, X_test, y_test), then the data
that scikit-learn bundles, then OpenML.
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

#: The environment variable that names the folder with the data sets.
DATA_VARIABLE = "SPECTRA_DATA"
_ARRAY_NAMES = ("X_train", "y_train", "X_test", "y_test")

# Our name -> OpenML's name and version, and the number of training rows used in the papers.
_OPENML = {
    "letter": ("letter", 1, 12000),
    "housing": ("boston", 1, 405),
    "spambase": ("spambase", 1, 2760),
    "cod-RNA": ("codrna", 1, 59535),
}
_FOLDER_ONLY = ("ijcnn1", "usps", "covtype10k")
NAMES = ("digits", "breast-cancer", *_OPENML, *_FOLDER_ONLY)

# Seed of the random split, for data without a published one; any fixed number works.
_SPLIT_SEED = 0
_DIGITS_TRAIN_ROWS, _CANCER_TRAIN_ROWS = 1200, 400


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
        Where the data were found and how they were split; compare only results of the same split.
    """

    name: str
    X_train: FloatArray
    y_train: NDArray[Any]
    X_test: FloatArray
    y_test: NDArray[Any]
    origin: str

    def __repr__(self) -> str:
        rows, dim = self.X_train.shape
        return f"Dataset({self.name}: {rows} + {len(self.X_test)} rows in R^{dim}; {self.origin})"


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
        "digits" and "breast-cancer" (bundled with scikit-learn), "ijcnn1", "usps", "housing",
        "spambase", "cod-RNA", "covtype10k" or "letter" (label 1 for A to M, -1 for N to Z).
    scaling : {"unit", "raw", "interval"}
        "unit": rows divided by their norms, as in the published code of GORF (the columns of letter
        are first scaled to [-1, 1], those of housing to [0, 1]); "interval": each column scaled
        to [0, 1] over all rows; "raw": as stored.
    folder : path, optional
        Folder to search first; the default is the value of ``SPECTRA_DATA``.
    fetch : bool
        Whether to download from OpenML if the data are neither in the folder nor bundled.

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
    searched = os.environ.get(DATA_VARIABLE) if folder is None else folder
    if searched is not None and (path := Path(searched) / f"{name}.npz").is_file():
        return _from_file(name, path)
    if name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return _split(name, digits.data, digits.target, _DIGITS_TRAIN_ROWS, "scikit-learn's bundle")
    if name == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        bunch = load_breast_cancer()
        return _split(name, bunch.data, bunch.target, _CANCER_TRAIN_ROWS, "scikit-learn's bundle")
    if name in _OPENML and fetch:
        return _from_openml(name)
    online = "OpenML was not searched" if name in _OPENML else "it cannot be downloaded"
    local = f"{DATA_VARIABLE} is not set" if searched is None else f"{searched} has no {name}.npz"
    raise DataError(
        f"The data set {name!r} was not found: {local}, and {online}. "
        f"Put {name}.npz with the arrays {', '.join(_ARRAY_NAMES)} into a folder, and set "
        f"{DATA_VARIABLE} to that folder."
    )


def _from_file(name: str, path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as arrays:
        missing = [array for array in _ARRAY_NAMES if array not in arrays]
        if missing:
            raise DataError(
                f"{path} does not contain {', '.join(missing)}: a data set is a .npz file with "
                f"{', '.join(_ARRAY_NAMES)}."
            )
        X_train, X_test = arrays["X_train"].astype(float), arrays["X_test"].astype(float)
        y_train, y_test = arrays["y_train"], arrays["y_test"]
    return Dataset(name, X_train, y_train, X_test, y_test, f"{path}, split as stored")


def _from_openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    title, version, train_rows = _OPENML[name]
    try:
        bunch = fetch_openml(title, version=version, as_frame=False, parser="liac-arff")
    except (URLError, OSError) as error:
        raise DataError(
            f"The data set {name!r} was found in no folder ({DATA_VARIABLE} is "
            f"{os.environ.get(DATA_VARIABLE)!r}), and OpenML could not be reached: {error}. "
            f"Check the connection, or set {DATA_VARIABLE} to a folder with {name}.npz."
        ) from error
    if name == "letter":
        labels = np.where(bunch.target < "N", 1, -1)
    elif name == "spambase":
        labels = np.where(bunch.target == "1", 1, -1)
    else:
        labels = np.asarray(bunch.target, dtype=float)
    rows = bunch.data.toarray() if issparse(bunch.data) else np.asarray(bunch.data)
    return _split(name, rows.astype(float), labels, train_rows, f"OpenML {title!r} v{version}")


def _split(name: str, X: FloatArray, y: NDArray[Any], train_rows: int, origin: str) -> Dataset:
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(X))
    train, test = order[:train_rows], order[train_rows:]
    origin = f"{origin}, split at random by this package"
    return Dataset(name, X[train], y[train], X[test], y[test], origin)


def _scale_to_interval(data: Dataset) -> Dataset:
    """Scale each column to [0, 1] over all rows; a constant column becomes 0."""
    rows = np.concatenate([data.X_train, data.X_test])
    low, high = rows.min(axis=0), rows.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return _transform_rows(data, lambda X: (X - low) / width)


def _scale_to_sphere(data: Dataset) -> Dataset:
    """Divide rows by their norms, after scaling the columns of letter and housing as published."""
    if data.name == "letter":
        data = _transform_rows(data, _scale_letter)
    elif data.name == "housing":
        data = _scale_to_interval(data)
    return _transform_rows(data, _divide_by_norms)


def _transform_rows(data: Dataset, transform: Callable[[FloatArray], FloatArray]) -> Dataset:
    return replace(data, X_train=transform(data.X_train), X_test=transform(data.X_test))


def _scale_letter(X: FloatArray) -> FloatArray:
    """Scale 0..15 to [-1, 1] as LIBSVM's file does; column 11 has only the values 1..15."""
    scaled = X / 7.5 - 1.0
    scaled[:, 11] = (X[:, 11] - 1.0) / 7.0 - 1.0
    return scaled


def _divide_by_norms(X: FloatArray) -> FloatArray:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    if not np.all(norms > 0):
        raise DataError(
            f"Row {int(np.argmin(norms))} is zero, so it cannot be scaled to length 1. Use "
            "scaling='raw' or 'interval'."
        )
    return np.asarray(X / norms)


#: The functions that scale the rows; see :func:`load_dataset`.
SCALINGS: dict[Scaling, Callable[[Dataset], Dataset]] = {
    "raw": lambda data: data,
    "unit": _scale_to_sphere,
    "interval": _scale_to_interval,
}

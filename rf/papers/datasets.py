"""Data sets by name: from a local folder, from scikit-learn's bundle, or from OpenML.

The project carries no data.  Names are looked for in the folder that the environment variable
``SPECTRA_DATA`` names (one ``name.npz`` for each, with X_train, y_train, X_test, y_test, or for
what LIBSVM's page has, its two text files as they are), then among the data that scikit-learn
bundles, then on OpenML.
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
# LIBSVM's files of training and test rows.
_LIBSVM = {"cod-RNA": ("cod-rna", "cod-rna.t"), "ijcnn1": ("ijcnn1", "ijcnn1.t")}
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
    if given is not None and name in _LIBSVM:
        paths = [Path(given) / file for file in _LIBSVM[name]]
        if all(path.is_file() for path in paths):
            return _from_libsvm(name, paths)
    if name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return _split(name, digits.data, digits.target, _DIGITS_TRAIN, "scikit-learn's bundle")
    if name in _OPENML and fetch:
        return _from_openml(name)
    elsewhere = "OpenML was not asked" if name in _OPENML else "it is not fetched from elsewhere"
    raise DataError(
        f"The data set {name!r} was not found: {_where(given, name)}, and {elsewhere}. "
        f"Put {_files_of(name)} into a folder, and set {DATA_VARIABLE} to that folder."
    )


def _files_of(name: str) -> str:
    """What a folder must hold, for a message."""
    either = f", or LIBSVM's {' and '.join(_LIBSVM[name])}," if name in _LIBSVM else ""
    return f"{name}.npz with the arrays {', '.join(_ARRAYS)}{either}"


def _from_libsvm(name: str, paths: list[Path]) -> Dataset:
    from sklearn.datasets import load_svmlight_files

    try:
        X_train, y_train, X_test, y_test = load_svmlight_files(paths)
    except ValueError as error:
        raise DataError(
            f"{paths[0]} and {paths[1]} are not in LIBSVM's format, a label and index:value pairs "
            f"in each line: {error}"
        ) from error
    origin = f"{paths[0]} and {paths[1].name}, split as stored"
    return Dataset(name, X_train.toarray(), y_train, X_test.toarray(), y_test, origin)


def _from_file(name: str, path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as arrays:
        missing = [a for a in _ARRAYS if a not in arrays]
        if missing:
            raise DataError(
                f"{path} lacks the array(s) {', '.join(missing)}: a data set is a .npz with "
                f"{', '.join(_ARRAYS)}."
            )
        return Dataset(
            name=name,
            X_train=np.asarray(arrays["X_train"], dtype=float),
            y_train=arrays["y_train"],
            X_test=np.asarray(arrays["X_test"], dtype=float),
            y_test=arrays["y_test"],
            origin=f"{path}, split as stored",
        )


def _from_openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    title, version, train = _OPENML[name]
    try:
        bunch = fetch_openml(title, version=version, as_frame=False, parser="liac-arff")
    except (URLError, OSError) as error:
        raise DataError(
            f"The data set {name!r} is in no folder ({DATA_VARIABLE} is "
            f"{os.environ.get(DATA_VARIABLE)!r}), and OpenML could not be reached: {error}. "
            f"Connect, or set {DATA_VARIABLE} to a folder that holds {_files_of(name)}."
        ) from error
    labels = bunch.target
    if name == "letter":
        labels = np.where(labels < "N", 1, -1)
    elif name == "spambase":
        labels = np.where(labels == "1", 1, -1)
    else:
        labels = np.asarray(labels, dtype=float)
    rows = bunch.data.toarray() if issparse(bunch.data) else np.asarray(bunch.data)
    return _split(name, rows.astype(float), labels, train, f"OpenML {title!r} v{version}")


def _split(name: str, X: FloatArray, y: NDArray[Any], train: int, origin: str) -> Dataset:
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(X))
    first, second = order[:train], order[train:]
    return Dataset(
        name, X[first], y[first], X[second], y[second], f"{origin}, split at random by this package"
    )


def _where(folder: str | os.PathLike[str] | None, name: str) -> str:
    if folder is None:
        return f"{DATA_VARIABLE} is not set"
    return f"there is no file {Path(folder) / name}.npz"


# --- scalings ----------------------------------------------------------------------------------


def _raw(data: Dataset) -> Dataset:
    return data


def _interval(data: Dataset) -> Dataset:
    rows = np.concatenate([data.X_train, data.X_test])
    low, high = rows.min(axis=0), rows.max(axis=0)
    width = np.where(high > low, high - low, 1.0)  # a constant column becomes 0
    return replace(data, X_train=(data.X_train - low) / width, X_test=(data.X_test - low) / width)


def _unit(data: Dataset) -> Dataset:
    if data.name == "letter":
        data = replace(
            data, X_train=_libsvm_letter(data.X_train), X_test=_libsvm_letter(data.X_test)
        )
    elif data.name == "housing":
        data = _interval(data)
    return replace(data, X_train=_on_sphere(data.X_train), X_test=_on_sphere(data.X_test))


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
    rows: FloatArray = X / norms
    return rows


#: What can be done to the rows before they are returned; see :func:`load_dataset`.
SCALINGS: dict[Scaling, Callable[[Dataset], Dataset]] = {
    "raw": _raw,
    "unit": _unit,
    "interval": _interval,
}

"""The error of an approximate kernel matrix, and the mean of a measurement over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rf.papers.datasets import Dataset, Scaling, load_dataset
from spectra.base.arrays import FloatArray

#: Number of runs -> mean and standard deviation of a measurement.
Compute = Callable[[int], Sequence[float]]

# As in the papers: 1000 random rows, mean and standard deviation of 10 runs.
ROWS = 1000
RUNS = 10
# The rows are the same in every run, so runs differ only by their features.
_ROW_SEED = 0


class Summary(tuple[float, float]):
    """Mean and standard deviation over runs, printed as in the papers."""

    def __str__(self) -> str:
        return f"{self[0]:.4f}+-{self[1]:.4f}"


@lru_cache(maxsize=1)
def dataset(name: str, scaling: Scaling = "unit") -> Dataset:
    """Load a data set; the last one is cached, since cells of one data set follow each other."""
    return load_dataset(name, scaling=scaling)


def sample_rows(name: str, *, scaling: Scaling = "unit", rows: int = ROWS) -> FloatArray:
    """Random training rows of a data set, the same ones each time.

    Raises
    ------
    DataError, ParameterError
        As :func:`rf.papers.datasets.load_dataset` does.

    Examples
    --------
    >>> sample_rows("digits", rows=20).shape
    (20, 64)
    """
    X = dataset(name, scaling).X_train
    if rows >= len(X):
        return X
    return np.asarray(X[np.random.default_rng(_ROW_SEED).choice(len(X), rows, replace=False)])


@lru_cache(maxsize=2)
def rows_and_gram(
    name: str, kernel: Any, scaling: Scaling = "unit"
) -> tuple[FloatArray, FloatArray]:
    """Sampled rows and their exact kernel matrix."""
    X = sample_rows(name, scaling=scaling)
    return X, kernel.gram(X)


def matrix_error(found: ArrayLike, exact: FloatArray) -> float:
    """|found - exact| / |exact| in the Frobenius norm."""
    return float(np.linalg.norm(np.asarray(found) - exact) / np.linalg.norm(exact))


def relative_error(features: Any, X: FloatArray, exact: FloatArray) -> float:
    """|K - K^| / |K| in the Frobenius norm, of features fitted to the rows X.

    Examples
    --------
    >>> from rf.papers.baselines import ExactPolynomial
    >>> X = np.eye(3)
    >>> relative_error(ExactPolynomial((1.0, 1.0)), X, 1.0 + X @ X.T)
    0.0
    """
    return matrix_error(features.fit(X).gram(X), exact)


def spread(values: Sequence[Any]) -> float:
    """The sample standard deviation (denominator n - 1), 0 for a single value.

    Examples
    --------
    >>> spread([1.0, 3.0]), spread([5.0])
    (1.4142135623730951, 0.0)
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def over_seeds(
    measure: Callable[[int], float], average: Callable[[list[float]], Any] = np.mean
) -> Compute:
    """The average and the standard deviation of ``measure`` over seeds 0, 1, ..., runs - 1.

    Examples
    --------
    >>> print(over_seeds(float)(3))
    1.0000+-1.0000
    """

    def compute(runs: int) -> Summary:
        values = [measure(seed) for seed in range(runs)]
        return Summary((float(average(values)), spread(values)))

    return compute


def computed_once(number: Callable[[], float]) -> Compute:
    """A number that does not depend on a seed, so it has no deviation."""
    return lambda runs: Summary((float(number()), 0.0))


def error_over_seeds(
    name: str, kernel: Any, make: Callable[[int], Any], scaling: Scaling = "unit"
) -> Compute:
    """The relative error of the features ``make(seed)`` on sampled rows of a data set."""
    return over_seeds(
        lambda seed: relative_error(make(seed), *rows_and_gram(name, kernel, scaling))
    )

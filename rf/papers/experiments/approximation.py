"""How far an approximate kernel matrix is from the exact one: the measure of every table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from rf.papers.datasets import Scaling, load_dataset
from spectra.base.arrays import FloatArray

__all__ = ["Summary", "relative_error", "sample_rows", "spread", "summarise"]

# The papers' experiment: 1000 random rows, mean and deviation of 10 runs.
ROWS = 1000
RUNS = 10
# The rows are the same in every run, so that runs differ by their features alone.
_ROW_SEED = 0


class _HasGram(Protocol):
    def fit(self, X: Any, /) -> Any: ...


def sample_rows(
    name: str, *, scaling: Scaling = "unit", rows: int = ROWS, folder: str | None = None
) -> FloatArray:
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
    X = load_dataset(name, scaling=scaling, folder=folder).X_train
    if rows >= len(X):
        return X
    return np.asarray(X[np.random.default_rng(_ROW_SEED).choice(len(X), rows, replace=False)])


def relative_error(features: _HasGram, X: FloatArray, exact: FloatArray) -> float:
    """|K - K^| / |K| in the Frobenius norm, of features that are fitted to the rows X.

    Examples
    --------
    >>> from rf.papers.baselines import ExactPolynomial
    >>> X = np.eye(3)
    >>> relative_error(ExactPolynomial((1.0, 1.0)), X, 1.0 + X @ X.T)
    0.0
    """
    found = features.fit(X).gram(X)
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def spread(values: Sequence[Any]) -> float:
    """The standard deviation that runs are samples of: divided by one less than their number.

    Examples
    --------
    >>> spread([1.0, 3.0]), spread([5.0])
    (1.4142135623730951, 0.0)
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


class Summary(tuple[float, float]):
    """Mean and standard deviation of runs, printed as in the papers."""

    def __str__(self) -> str:
        return f"{self[0]:.4f}+-{self[1]:.4f}"


def summarise(
    make: Callable[[int], _HasGram], X: FloatArray, exact: FloatArray, runs: int
) -> Summary:
    """Mean and deviation of :func:`relative_error` over seeds 0, 1, ..., runs - 1."""
    errors = [relative_error(make(seed), X, exact) for seed in range(runs)]
    return Summary((float(np.mean(errors)), spread(errors)))

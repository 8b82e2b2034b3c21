"""What experiments measure: errors of matrices, accuracies and times, averaged over seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from rf.papers.datasets import Dataset, Scaling, load_dataset
from spectra.base.arrays import FloatArray

#: Number of runs -> mean and standard deviation of a measurement.
Compute = Callable[[int], Sequence[float]]

# As in the papers: 1000 random rows, mean and standard deviation of 10 runs.
ROWS = 1000
RUNS = 10
# Largest number of steps of LIBLINEAR; more steps change no digit of the tables.
_STEPS = 500
# Rows of the cross-validation: more change the chosen constant by at most one step of the grid.
_TUNING_ROWS = 2000
# Rows that are transformed at a time.
_BLOCK = 4096


class Summary(tuple[float, float]):
    """Mean and standard deviation over runs, printed as in the papers."""

    def __str__(self) -> str:
        return f"{self[0]:.4f}+-{self[1]:.4f}"


@lru_cache(maxsize=1)
def dataset(name: str, scaling: Scaling = "unit") -> Dataset:
    """Load a data set; the last one is cached, since cells of one data set follow each other."""
    return load_dataset(name, scaling=scaling)


def sample_rows(
    name: str, *, scaling: Scaling = "unit", rows: int = ROWS, seed: int = 0
) -> FloatArray:
    """Random training rows of a data set, other ones for each seed."""
    X = dataset(name, scaling).X_train
    if rows >= len(X):
        return X
    return X[np.random.default_rng(seed).choice(len(X), rows, replace=False)]


@lru_cache(maxsize=RUNS)
def rows_and_gram(
    name: str, kernel: Any, scaling: Scaling = "unit", seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """The rows of a run and their exact kernel matrix."""
    X = sample_rows(name, scaling=scaling, seed=seed)
    return X, kernel.gram(X)


def matrix_error(found: ArrayLike, exact: FloatArray) -> float:
    """|found - exact| / |exact| in the Frobenius norm."""
    return float(np.linalg.norm(np.asarray(found) - exact) / np.linalg.norm(exact))


def relative_error(features: Any, X: FloatArray, exact: FloatArray) -> float:
    """|K - K^| / |K| in the Frobenius norm, of features fitted to the rows X."""
    return matrix_error(features.fit(X).gram(X), exact)


def spread(values: Sequence[Any]) -> float:
    """The sample standard deviation (denominator n - 1), 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def over_seeds(
    measure: Callable[[int], float], average: Callable[[list[float]], Any] = np.mean
) -> Compute:
    """The average and the standard deviation of ``measure`` over seeds 0, 1, ..., runs - 1."""

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
    """The relative error of the features ``make(seed)``, on other rows in each run."""
    return over_seeds(
        lambda seed: relative_error(make(seed), *rows_and_gram(name, kernel, scaling, seed))
    )


def linear_accuracy(
    data: Dataset,
    C: float | Sequence[float],
    columns: Callable[[FloatArray], FloatArray] = np.asarray,
) -> float:
    """Percent of the test rows that LIBLINEAR, trained on ``columns`` of the rows, gets right.

    It minimizes the squared hinge loss in the primal without a bias term (LIBLINEAR's option
    -s 2).  Several values of C are compared by five-fold cross-validation on training rows.

    Examples
    --------
    >>> linear_accuracy(dataset("digits"), 1.0) > 90.0
    True
    """
    Z, test = columns(data.X_train), columns(data.X_test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        constant = best_constant(Z, data.y_train, C) if isinstance(C, Sequence) else C
        model = _classifier(C=constant).fit(Z, data.y_train)
    return 100.0 * float(model.score(test, data.y_test))


def best_constant(Z: FloatArray, y: Any, constants: Sequence[float]) -> float:
    """The constant C of best five-fold cross-validation on at most 2000 training rows."""
    chosen = np.random.default_rng(0).permutation(len(Z))[:_TUNING_ROWS]
    search = GridSearchCV(_classifier(), {"C": list(constants)}, cv=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(search.fit(Z[chosen], y[chosen]).best_params_["C"])


def _classifier(C: float = 1.0) -> Any:
    return LinearSVC(C=C, dual=False, max_iter=_STEPS, fit_intercept=False)


def seconds_to_draw(features: Any, X: FloatArray) -> float:
    """Processor time of ``features.fit(X)``."""
    start = process_time()
    features.fit(X)
    return process_time() - start


def seconds_to_transform(transform: Callable[[FloatArray], Any], X: FloatArray) -> float:
    """Processor time to transform all rows, 4096 at a time, after an untimed first call."""
    transform(X[:_BLOCK])
    start = process_time()
    for first in range(0, len(X), _BLOCK):
        transform(X[first : first + _BLOCK])
    return process_time() - start

"""Where ours loses: Nystroem features have a smaller error for the same number of columns.

Nystroem's columns depend on the data, and its error decreases with the eigenvalues of the kernel
matrix.  Ours depend only on the kernel and have a Monte Carlo error.  "other rows" has landmarks
from the letters A to M (digits 5 to 9 of usps) and the error on N to Z (digits 0 to 4), with rows
divided by a length scale.  "mean of R matrices" is the error of the mean of R independent draws.

"columns for an error" is the smallest of the numbers of columns 16, 24, 32, 48, ... whose mean
error is at most the error above the column of the table.  With this number of columns,
"microseconds a row" is the processor time for the features of one row; "and Z'Z" adds the time of
the product Z'Z per row, which a linear model needs.  "milliseconds to draw" is the time of fit
without deriving the table of the kernel.  "rows from which ours takes less time" follows from these
times: 0 if it takes less for any number of rows, inf if it never does.
"""

from __future__ import annotations

from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from rf.papers.experiments.approximation import (
    Compute,
    computed_once,
    dataset,
    error_over_seeds,
    matrix_error,
    over_seeds,
    relative_error,
    rows_and_gram,
)
from rf.papers.experiments.liu.times import seconds_to_draw, seconds_to_transform
from rf.papers.experiments.methods import DELTA_GAUSSIAN, GAUSSIAN, PaperKernel, make_features
from rf.papers.experiments.tables import Cell, Experiment
from spectra.base.arrays import FloatArray

__all__ = ["NYSTROEM_LOSSES"]

_KERNELS = (GAUSSIAN, DELTA_GAUSSIAN)
_OURS, _SKLEARN = "ours", "scikit-learn's Nystroem"
_METHODS = (_OURS, "Nystroem", "Nystroem, leverage")
_COLUMNS = (64, 144, 288, 576)
# Length scales: for shorter ones, the eigenvalues of the kernel matrix decay more slowly.
_LENGTHS = (1.0, 0.5, 0.25)
_DRAWS, _COLUMNS_OF_MEAN = (1, 4, 16), 144
_TARGETS = (0.1, 0.05, 0.02, 0.01, 0.005)
_COLUMN_STEPS = tuple(k * 2**n for n in range(4, 13) for k in (1, 1.5))
# Draws over which the error is averaged to find the number of columns, whatever ``runs`` is.
_SEEDS = 3
_ROWS_TIMED = 4096


class _ScikitLearnNystroem:
    """scikit-learn's Nystroem of a kernel, with a method ``gram``."""

    def __init__(self, kernel: PaperKernel, columns: int, seed: int) -> None:
        self._map = Nystroem(
            kernel=lambda x, y: kernel(np.asarray(np.linalg.norm(x - y))),
            n_components=columns,
            random_state=seed,
        )

    def fit(self, X: FloatArray) -> _ScikitLearnNystroem:
        self._map.fit(X)
        return self

    def gram(self, X: FloatArray) -> FloatArray:
        Z = self._map.transform(X)
        return np.asarray(Z @ Z.T)


def _make(kernel: PaperKernel, method: str, columns: int, seed: int) -> Any:
    if method == _SKLEARN:
        return _ScikitLearnNystroem(kernel, columns, seed)
    return make_features(kernel, method, columns, seed)


def _error_on_other_rows(
    kernel: PaperKernel, name: str, length: float, method: str, columns: int
) -> Compute:
    def error(seed: int) -> float:
        data = dataset(name)
        here, there = (data.X_train[data.y_train == y][:1000] / length for y in (1, -1))
        found = _make(kernel, method, columns, seed).fit(here).gram(there)
        return matrix_error(found, kernel.gram(there))

    return over_seeds(error)


def _error_of_mean(kernel: PaperKernel, method: str, draws: int) -> Compute:
    def error() -> float:
        X, exact = rows_and_gram("letter", kernel)
        made = (_make(kernel, method, _COLUMNS_OF_MEAN, seed) for seed in range(draws))
        return matrix_error(sum(features.fit(X).gram(X) for features in made) / draws, exact)

    return computed_once(error)


@lru_cache(maxsize=256)
def _mean_error(kernel: PaperKernel, method: str, columns: int) -> float:
    X, exact = rows_and_gram("letter", kernel)
    errors = [relative_error(_make(kernel, method, columns, s), X, exact) for s in range(_SEEDS)]
    return float(np.mean(errors))


@lru_cache(maxsize=64)
def _columns_for_error(kernel: PaperKernel, method: str, target: float) -> float:
    """The smallest number in _COLUMN_STEPS with a mean error of at most ``target``, or inf."""
    steps = (n for n in map(int, _COLUMN_STEPS) if _mean_error(kernel, method, n) <= target)
    return next(steps, np.inf)


@lru_cache(maxsize=64)
def _processor_times(kernel: PaperKernel, method: str, target: float) -> tuple[float, float, float]:
    """Seconds to draw, for the features of a row, and for these and Z'Z divided by the rows."""
    columns = _columns_for_error(kernel, method, target)
    if columns == np.inf:
        return np.inf, np.inf, np.inf
    X = dataset("letter").X_train[:_ROWS_TIMED]
    _make(kernel, method, int(columns), 0).fit(X)  # derives the table, which is not timed
    times = []
    for seed in range(_SEEDS):
        features = _make(kernel, method, int(columns), seed)
        drawn, row = seconds_to_draw(features, X), seconds_to_transform(features.transform, X)
        Z = features.transform(X)
        start = process_time()
        Z.T @ Z
        times.append((drawn, row / len(X), (process_time() - start) / len(X)))
    draw, row, product = map(float, np.median(times, axis=0))
    return draw, row, row + product


def _time(kernel: PaperKernel, what: str, method: str, target: float) -> Compute:
    which, _, with_products = method.partition(" and ")
    place = 2 if with_products else 1

    def number() -> float:
        if what == "columns":
            return _columns_for_error(kernel, which, target)
        spent = _processor_times(kernel, which, target)
        if what == "milliseconds to draw":
            return 1e3 * spent[0]
        if what == "microseconds a row":
            return 1e6 * spent[place]
        ours = _processor_times(kernel, _OURS, target)
        saved = spent[place] - ours[place]
        return max(0.0, (ours[0] - spent[0]) / saved) if saved > 0.0 else np.inf

    return computed_once(number)


_BOTH = tuple(f"{m}{suffix}" for m in _METHODS for suffix in ("", " and Z'Z"))
# Measured quantity of a group -> its rows.
_TIMED = {
    "columns": _METHODS,
    "milliseconds to draw": _METHODS,
    "microseconds a row": _BOTH,
    "rows from which ours takes less time": _BOTH[2:],
}


def _error(kernel: PaperKernel, method: str, columns: int) -> Compute:
    return error_over_seeds("letter", kernel, lambda seed: _make(kernel, method, columns, seed))


def _cells() -> list[Cell]:
    cells = []
    for k in _KERNELS:
        cells += [
            Cell(f"{k.name}, rows it saw", m, str(n), _error(k, m, n))
            for m in (*_METHODS, _SKLEARN)
            for n in (_COLUMNS[:2] if m == _SKLEARN else _COLUMNS)
        ]
        cells += [
            Cell(
                f"{k.name}, length {length:g}, other rows of {name}",
                m,
                str(n),
                _error_on_other_rows(k, name, length, m, n),
            )
            for name in ("letter", "usps")
            for length in _LENGTHS
            for m in _METHODS
            for n in _COLUMNS
        ]
        group = f"{k.name}, mean of R matrices of {_COLUMNS_OF_MEAN} columns"
        cells += [
            Cell(group, m, f"R={draws}", _error_of_mean(k, m, draws))
            for m in _METHODS
            for draws in _DRAWS
        ]
        cells += [
            Cell(f"{k.name}, {what} for an error", m, f"{target:g}", _time(k, what, m, target))
            for what, methods in _TIMED.items()
            for m in methods
            for target in _TARGETS
        ]
    return cells


NYSTROEM_LOSSES = Experiment(
    title="Where ours loses: Nystroem features",
    source="letter, unit rows; Gaussian: exp(-z^2/2), delta-Gaussian: exp(-z^2/2) - exp(-z^2/200)",
    measures="|K - K^|/|K| by columns (less is better); columns, time and rows by error",
    cells=_cells,
    notes=__doc__,
)

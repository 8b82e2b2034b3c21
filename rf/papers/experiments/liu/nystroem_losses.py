"""Where ours loses: Nystroem features have less error for as many columns.

Nystroem's columns are made of rows of the data, and its error falls with the eigenvalues of their
matrix; ours know only the kernel, and their error is that of a mean over draws.  What one pays for
the smaller error is measured beside it: "other rows" has landmarks from the letters A to M (the
digits 5 to 9 of usps) and the error on rows of N to Z (0 to 4), a stream that changes, for kernels
of several lengths (the rows are divided by it); "mean of R matrices" is what is left when
independent draws are averaged, which is bias once it falls no more.

"columns for an error" is the first of a ladder of numbers of columns (16, 24, 32, 48, ...) whose
mean error is that small.  With so many columns, "microseconds a row" is the processor time to make
the features of one row, and below it with the row's share of Z'Z, which a linear model needs;
"milliseconds to draw" is what goes before, once the table of the kernel is there.  From these come
the rows from which on ours takes less time: 0 where it always does, inf where it never does.
"""

from __future__ import annotations

from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from rf.papers.experiments.approximation import (
    Compute,
    dataset,
    errors_on,
    exactly,
    over_seeds,
    relative,
    relative_error,
    rows_and_gram,
)
from rf.papers.experiments.liu.times import seconds_to_draw, seconds_to_transform
from rf.papers.experiments.methods import DELTA_GAUSSIAN, GAUSSIAN, PaperKernel, features_of
from rf.papers.experiments.tables import Cell, Experiment
from spectra.base.arrays import FloatArray

__all__ = ["NYSTROEM_LOSSES"]

_KERNELS = (GAUSSIAN, DELTA_GAUSSIAN)
_OURS, _USUAL = "ours", "scikit-learn's Nystroem"
_METHODS = (_OURS, "Nystroem", "Nystroem, leverage")
_COLUMNS = (64, 144, 288, 576)
# What the rows are divided by: shorter kernels have slower eigenvalues.
_LENGTHS = (1.0, 0.5, 0.25)
_DRAWS, _COLUMNS_OF_MEAN = (1, 4, 16), 144
_TARGETS = (0.1, 0.05, 0.02, 0.01, 0.005)
_LADDER = tuple(k * 2**n for n in range(4, 13) for k in (1, 1.5))
# Draws whose mean error a step of the ladder is judged by, whatever the number of runs.
_JUDGES = 3
_ROWS_TIMED = 4096


class _Usual:
    """scikit-learn's Nystroem of a kernel, with a matrix."""

    def __init__(self, kernel: PaperKernel, columns: int, seed: int) -> None:
        self._map = Nystroem(
            kernel=lambda x, y: kernel(np.asarray(np.linalg.norm(x - y))),
            n_components=columns,
            random_state=seed,
        )

    def fit(self, X: FloatArray) -> _Usual:
        self._map.fit(X)
        return self

    def gram(self, X: FloatArray) -> FloatArray:
        Z = self._map.transform(X)
        return np.asarray(Z @ Z.T)


def _made(kernel: PaperKernel, method: str, columns: int, seed: int) -> Any:
    if method == _USUAL:
        return _Usual(kernel, columns, seed)
    return features_of(kernel, method, columns, seed)


def _elsewhere(kernel: PaperKernel, name: str, length: float, method: str, columns: int) -> Compute:
    def error(seed: int) -> float:
        data = dataset(name)
        here, there = (data.X_train[data.y_train == y][:1000] / length for y in (1, -1))
        found = _made(kernel, method, columns, seed).fit(here).gram(there)
        return relative(found, kernel.gram(there))

    return over_seeds(error)


def _of_mean(kernel: PaperKernel, method: str, draws: int) -> Compute:
    def error() -> float:
        X, exact = rows_and_gram("letter", kernel)
        made = (_made(kernel, method, _COLUMNS_OF_MEAN, seed) for seed in range(draws))
        return relative(sum(features.fit(X).gram(X) for features in made) / draws, exact)

    return exactly(error)


@lru_cache(maxsize=256)
def _on_ladder(kernel: PaperKernel, method: str, columns: int) -> float:
    X, exact = rows_and_gram("letter", kernel)
    errors = [relative_error(_made(kernel, method, columns, s), X, exact) for s in range(_JUDGES)]
    return float(np.mean(errors))


@lru_cache(maxsize=64)
def _needed(kernel: PaperKernel, method: str, target: float) -> float:
    """Columns whose mean error is at most ``target``; inf if the ladder ends before."""
    steps = (step for step in map(int, _LADDER) if _on_ladder(kernel, method, step) <= target)
    return next(steps, np.inf)


@lru_cache(maxsize=64)
def _spent(kernel: PaperKernel, method: str, target: float) -> tuple[float, float, float]:
    """Seconds to draw, for the features of a row, and for its share of Z'Z as well."""
    columns = _needed(kernel, method, target)
    if columns == np.inf:
        return np.inf, np.inf, np.inf
    X = dataset("letter").X_train[:_ROWS_TIMED]
    _made(kernel, method, int(columns), 0).fit(X)  # the table of the kernel
    times = []
    for seed in range(_JUDGES):
        features = _made(kernel, method, int(columns), seed)
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
            return _needed(kernel, which, target)
        spent = _spent(kernel, which, target)
        if what == "milliseconds to draw":
            return 1e3 * spent[0]
        if what == "microseconds a row":
            return 1e6 * spent[place]
        ours = _spent(kernel, _OURS, target)
        saved = spent[place] - ours[place]
        return max(0.0, (ours[0] - spent[0]) / saved) if saved > 0.0 else np.inf

    return exactly(number)


_BOTH = tuple(f"{m}{suffix}" for m in _METHODS for suffix in ("", " and Z'Z"))
# What is measured for an error, and the rows of its block.
_TIMED = {
    "columns": _METHODS,
    "milliseconds to draw": _METHODS,
    "microseconds a row": _BOTH,
    "rows from which ours takes less time": _BOTH[2:],
}


def _seen(kernel: PaperKernel, method: str, columns: int) -> Compute:
    return errors_on("letter", kernel, lambda seed: _made(kernel, method, columns, seed))


def _cells() -> list[Cell]:
    cells = []
    for k in _KERNELS:
        cells += [
            Cell(f"{k.name}, rows it saw", m, str(n), _seen(k, m, n))
            for m in (*_METHODS, _USUAL)
            for n in (_COLUMNS[:2] if m == _USUAL else _COLUMNS)
        ]
        cells += [
            Cell(
                f"{k.name}, length {length:g}, other rows of {name}",
                m,
                str(n),
                _elsewhere(k, name, length, m, n),
            )
            for name in ("letter", "usps")
            for length in _LENGTHS
            for m in _METHODS
            for n in _COLUMNS
        ]
        group = f"{k.name}, mean of R matrices of {_COLUMNS_OF_MEAN} columns"
        cells += [
            Cell(group, m, f"R={draws}", _of_mean(k, m, draws))
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

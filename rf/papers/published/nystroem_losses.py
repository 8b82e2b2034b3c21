"""Where kernel-spectra loses: Nystroem features have a smaller error for the same columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import (
    Compute,
    dataset,
    error_over_seeds,
    matrix_error,
    over_seeds,
)
from rf.papers.experiments.methods import DELTA_GAUSSIAN, GAUSSIAN, PaperKernel, make_features
from spectra.base.arrays import FloatArray

__all__ = ["NYSTROEM_LOSSES"]

_SKLEARN = "scikit-learn's Nystroem"
_METHODS = (SPECTRA, "Nystroem", "Nystroem, leverage")
_COLUMNS = {str(n): n for n in (64, 144, 288, 576)}
# Length scales: for shorter ones, the eigenvalues of the kernel matrix decay more slowly.
_LENGTHS = (1.0, 0.5, 0.25)


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


def _error(kernel: PaperKernel, method: str, columns: int) -> Compute | None:
    if method == _SKLEARN and columns > 144:
        return None  # it calls the kernel for each pair of rows
    return error_over_seeds("letter", kernel, lambda seed: _make(kernel, method, columns, seed))


def _error_on_other_rows(
    kernel: PaperKernel, name: str, length: float, method: str, columns: int
) -> Compute:
    def error(seed: int) -> float:
        data = dataset(name)
        here, there = (data.X_train[data.y_train == y][:1000] / length for y in (1, -1))
        found = _make(kernel, method, columns, seed).fit(here).gram(there)
        return matrix_error(found, kernel.gram(there))

    return over_seeds(error)


def _cells() -> list[Cell]:
    cells: list[Cell] = []
    for k in (GAUSSIAN, DELTA_GAUSSIAN):

        def error(method: str, n: int, k: PaperKernel = k) -> Compute | None:
            return _error(k, method, n)

        cells += block(f"{k.name}, rows it saw", (*_METHODS, _SKLEARN), _COLUMNS, error)
        for name in ("letter", "usps"):
            for length in _LENGTHS:

                def other(method: str, n: int, key: Any = (k, name, length)) -> Compute:
                    return _error_on_other_rows(*key, method, n)

                group = f"{k.name}, length {length:g}, other rows of {name}"
                cells += block(group, _METHODS, _COLUMNS, other)
    return cells


NYSTROEM_LOSSES = Experiment(
    title="Where kernel-spectra loses: Nystroem features",
    source="letter and usps, unit rows; Gaussian: exp(-z^2/2), delta-Gaussian: exp(-z^2/2) - "
    "exp(-z^2/200)",
    measures="|K - K^|/|K| in the Frobenius norm (less is better)",
    cells=_cells,
    axes=("columns", "relative error"),
    notes=f"""
Nystroem's columns depend on the data, and its error decreases with the eigenvalues of the kernel
matrix.  Those of {SPECTRA} depend only on the kernel and have a Monte Carlo error.  "rows it saw":
the rows of the fit, other ones in each run.  "other rows": landmarks from the letters A to M
(digits 5 to 9 of usps) and the error on N to Z (digits 0 to 4), with rows divided by a length.
""",
)

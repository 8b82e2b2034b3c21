"""Where kernel-spectra loses: Nystroem features have a smaller error for the same columns."""

from __future__ import annotations

from functools import partial
from itertools import product

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import (
    Compute,
    dataset,
    error_over_seeds,
    matrix_error,
    over_seeds,
)
from rf.papers.experiments.methods import DELTA_GAUSSIAN, GAUSSIAN, PaperKernel, make_features

__all__ = ["NYSTROEM_LOSSES"]

_METHODS = (SPECTRA, "Nystroem", "Nystroem, leverage")
_COLUMNS = {str(n): n for n in (64, 144, 288, 576)}
# Length scales: for shorter ones, the eigenvalues of the kernel matrix decay more slowly.
_LENGTHS = (1.0, 0.5, 0.25)


def _error(kernel: PaperKernel, method: str, columns: int) -> Compute:
    make = partial(make_features, kernel, method, columns)
    return error_over_seeds("letter", kernel, make)


def _error_on_other_rows(
    kernel: PaperKernel, name: str, length: float, method: str, columns: int
) -> Compute:
    def error(seed: int) -> float:
        data = dataset(name)
        here, there = (data.X_train[data.y_train == y][:1000] / length for y in (1, -1))
        found = make_features(kernel, method, columns, seed).fit(here).gram(there)
        return matrix_error(found, kernel.gram(there))

    return over_seeds(error)


def _cells() -> list[Cell]:
    cells: list[Cell] = []
    for k in (GAUSSIAN, DELTA_GAUSSIAN):
        cells += block(f"{k.name}, rows it saw", _METHODS, _COLUMNS, partial(_error, k))
        for name, length in product(("letter", "usps"), _LENGTHS):
            group = f"{k.name}, length {length:g}, other rows of {name}"
            measure = partial(_error_on_other_rows, k, name, length)
            cells += block(group, _METHODS, _COLUMNS, measure)
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

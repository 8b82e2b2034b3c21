"""The bias of DIGMM for several values of the options that its paper does not state.

For fitted mixtures, the mean of the approximate matrix over the frequencies has a closed form, so
the bias is computed without drawing frequencies.  A reading is a choice of these options.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from rf.papers.baselines import DIGMM
from rf.papers.experiments.approximation import Compute, matrix_error, over_seeds, rows_and_gram
from rf.papers.experiments.methods import DELTA_GAUSSIAN, NEAR_GAUSSIANS, PaperKernel
from rf.papers.experiments.tables import Cell, Experiment

__all__ = ["DIGMM_BIAS"]

_DATA = ("letter", "ijcnn1")
_KERNELS = MappingProxyType({"tau2=10": DELTA_GAUSSIAN, "tau2=2": NEAR_GAUSSIANS})
_READINGS: dict[str, dict[str, Any]] = {
    "300 rows, 10 Gaussians, concentration 1": {},
    "100 rows": {"pilots": 100},
    "1000 rows": {"pilots": 1000},
    "3 Gaussians": {"mixture_size": 3},
    "30 Gaussians": {"mixture_size": 30},
    "concentration 0.01": {"concentration": 0.01},
    "concentration 100": {"concentration": 100.0},
}


def _cell(data: str, kernel: PaperKernel, options: dict[str, Any]) -> Compute:
    def bias(seed: int) -> float:
        X, exact = rows_and_gram(data, kernel)
        features = DIGMM(kernel.gram, random_state=seed, **options).fit(X)
        return matrix_error(features.expected_gram(X, X), exact)

    return over_seeds(bias)


def _cells() -> list[Cell]:
    return [
        Cell(f"delta-Gaussian, {data}", reading, column, _cell(data, kernel, options))
        for data in _DATA
        for reading, options in _READINGS.items()
        for column, kernel in _KERNELS.items()
    ]


DIGMM_BIAS = Experiment(
    title="Bias of DIGMM under several readings",
    source="Liu, Huang, Shi, Yang, Suykens, IEEE TNNLS 31, 2020, as our DIGMM reads it",
    measures="|E K^ - K|/|K| on 1000 rows of unit length (less is better)",
    cells=_cells,
    notes=__doc__,
)

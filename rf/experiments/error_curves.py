"""Errors against the number of frequencies, with the rivals of the papers.

Liu et al. draw the error of each method against s = 2d, ..., 32d, and Luo et al. do so in their
Figure 2; no numbers are printed for either.  The captions of Liu's Figures 1 to 3 and 5 could not
be confirmed: what is read here as one of them is the error against s for a spherical polynomial,
a = p = 2 (of which ours is the default of the published code), and for the difference of two
Gaussians.  In "the papers' counts" GRFF and GORF have 4s columns and their rivals s, as in the
published code; in "equal columns" all have 4s.  A row "its bias" is the error that is left with
arbitrarily many columns.  Nystroem sees the rows that the error is measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from rf.experiments.approximation import sample_rows, summarise
from rf.experiments.methods import (
    DELTA_GAUSSIAN,
    LINEAR_POLYNOMIAL,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    counted,
    features_of,
    mean_gram,
)
from rf.experiments.tables import Cell, Experiment
from spectra.table.arrays import FloatArray

__all__ = ["COUNTS", "GORF_CURVES", "LIU_ERRORS", "rivals_of"]

#: Both ways to count columns, and whether all have as many.
COUNTS = {"equal columns": True, "the papers' counts": False}
_BIASED = {True: ("DIGMM",), False: ("GRFF", "SRF", "DIGMM")}


def rivals_of(kernel: PaperKernel) -> tuple[str, ...]:
    """The methods that make features of a kernel, ours last.

    Examples
    --------
    >>> rivals_of(DELTA_GAUSSIAN)
    ('DIGMM', 'Nystroem', 'GRFF', 'GORF', 'ours')
    """
    polynomial = () if kernel.power is None else ("RM", "TS", "SRF")
    return (*polynomial, "DIGMM", "Nystroem", "GRFF", "GORF", "ours")


@lru_cache(maxsize=2)
def _rows(data: str, kernel: PaperKernel, folder: str | None) -> tuple[FloatArray, FloatArray]:
    X = sample_rows(data, folder=folder)
    return X, kernel.gram(X, X)


def _error(
    data: str, kernel: PaperKernel, method: str, columns: int, folder: str | None
) -> Callable[[int], tuple[float, float]]:
    def compute(runs: int) -> tuple[float, float]:
        X, exact = _rows(data, kernel, folder)
        return summarise(lambda seed: features_of(kernel, method, columns, seed), X, exact, runs)

    return compute


@lru_cache(maxsize=8)
def _bias(data: str, kernel: PaperKernel, method: str, folder: str | None) -> float:
    X, exact = _rows(data, kernel, folder)
    return float(np.linalg.norm(mean_gram(kernel, method, X) - exact) / np.linalg.norm(exact))


def _curves(
    kernels: Sequence[PaperKernel], data: dict[str, int], sizes: dict[str, float]
) -> Callable[[str | None], list[Cell]]:
    def cells(folder: str | None) -> list[Cell]:
        found = []
        for name, dim in data.items():
            for kernel in kernels:
                for count, equal in COUNTS.items():
                    group = f"{kernel.name}, {name}, {count}"
                    for method in rivals_of(kernel):
                        for column, share in sizes.items():
                            columns = counted(int(share * dim), method, equal=equal)
                            error = _error(name, kernel, method, columns, folder)
                            found.append(Cell(group, method, f"s={column}", error))
                    for method in _BIASED[kernel.power is None]:
                        found += [
                            Cell(
                                group,
                                f"{method}, its bias",
                                f"s={column}",
                                lambda _, n=name, k=kernel, m=method: (_bias(n, k, m, folder), 0.0),  # type: ignore[misc]
                            )
                            for column in sizes
                        ]
        return found

    return cells


LIU_ERRORS = Experiment(
    title="Errors of GRFF and its rivals against the number of frequencies",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, the figures of the approximation error",
    measures="|K - K^|/|K| on 1000 rows (less is better)",
    cells=_curves(
        (SQUARED_POLYNOMIAL, DELTA_GAUSSIAN),
        {"letter": 16, "ijcnn1": 22},
        {"2d": 2, "4d": 4, "8d": 8, "16d": 16, "32d": 32},
    ),
    notes=__doc__,
)
GORF_CURVES = Experiment(
    title="Errors of GORF and its rivals against the number of frequencies",
    source="Luo, Fang, Yang, Huang, arXiv 2104.06204, Figure 2",
    measures="|K - K^|/|K| on 1000 rows (less is better)",
    cells=_curves(
        (LINEAR_POLYNOMIAL, DELTA_GAUSSIAN),
        {"letter": 16, "ijcnn1": 22, "usps": 256},
        {"d/2": 0.5, "d": 1, "2d": 2, "8d": 8},
    ),
    notes=__doc__,
)

"""Errors of the methods compared in the papers, against the number s of frequencies of each sign.

Liu et al. plot the error of each method against s = 2d, ..., 32d, and Luo et al. in their Figure 2;
neither prints numbers.  The captions of Liu's Figures 1 to 3 and 5 could not be confirmed.  We
assume that they show the polynomial (1 - z^2/a^2)^p with a = p = 2, and the delta-Gaussian
kernel.  In "the papers' counts", GRFF and GORF have 4s columns and the other methods s, as
in the published code; in "equal columns", all have 4s.  A row "its bias" is the limit of the error
for many columns.  Nystroem is fitted to the rows on which the error is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial

from rf.papers.experiments.approximation import (
    Compute,
    computed_once,
    error_over_seeds,
    matrix_error,
    rows_and_gram,
)
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    LINEAR_POLYNOMIAL,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    columns_of,
    make_features,
    mean_gram,
)
from rf.papers.experiments.tables import Cell, Experiment

__all__ = ["GORF_CURVES", "LIU_ERRORS", "cells_for_both_counts", "methods_for"]

# Ways to count columns -> whether all methods have the same number.
_COUNTS = {"equal columns": True, "the papers' counts": False}


def methods_for(kernel: PaperKernel) -> tuple[str, ...]:
    """The methods that support a kernel, ours last.

    Examples
    --------
    >>> methods_for(DELTA_GAUSSIAN)
    ('DIGMM', 'Nystroem', 'GRFF', 'GORF', 'ours')
    """
    polynomial = () if kernel.power is None else ("RM", "TS", "TRP", "SRF")
    return (*polynomial, "DIGMM", "Nystroem", "GRFF", "GORF", "ours")


def _with_bias(kernel: PaperKernel) -> tuple[str, ...]:
    biased = ("DIGMM",) if kernel.power is None else ("GRFF", "SRF", "DIGMM")
    return tuple(f"{method}, its bias" for method in biased)


def _error(data: str, kernel: PaperKernel, method: str, columns: int) -> Compute:
    return error_over_seeds(data, kernel, lambda seed: make_features(kernel, method, columns, seed))


@lru_cache(maxsize=8)
def _bias(data: str, kernel: PaperKernel, method: str) -> float:
    X, exact = rows_and_gram(data, kernel)
    return matrix_error(mean_gram(kernel, method, X), exact)


def _bias_cell(data: str, kernel: PaperKernel, method: str, columns: int) -> Compute:
    return computed_once(lambda: _bias(data, kernel, method.partition(",")[0]))


def cells_for_both_counts(
    kernels: Iterable[PaperKernel],
    data: Mapping[str, int],
    sizes: Mapping[str, float],
    methods: Callable[[PaperKernel], Iterable[str]],
    compute: Callable[[str, PaperKernel, str, int], Compute],
) -> list[Cell]:
    """Cells for both ways to count columns; ``compute`` takes data, kernel, method, columns."""

    def cell(name: str, kernel: PaperKernel, count: str, method: str, column: str, s: int) -> Cell:
        columns = columns_of(s, method.partition(",")[0], equal=_COUNTS[count])
        group = f"{kernel.name}, {name}, {count}"
        return Cell(group, method, f"s={column}", compute(name, kernel, method, columns))

    return [
        cell(name, kernel, count, method, column, int(share * dim))
        for name, dim in data.items()
        for kernel in kernels
        for count in _COUNTS
        for method in methods(kernel)
        for column, share in sizes.items()
    ]


def _curves(
    kernels: Sequence[PaperKernel], data: dict[str, int], sizes: dict[str, float]
) -> list[Cell]:
    errors = cells_for_both_counts(kernels, data, sizes, methods_for, _error)
    return errors + cells_for_both_counts(kernels, data, sizes, _with_bias, _bias_cell)


LIU_ERRORS = Experiment(
    title="Errors of GRFF and its rivals against the number of frequencies",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, the figures of the approximation error",
    measures="|K - K^|/|K| on 1000 rows (less is better)",
    cells=partial(
        _curves,
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
    cells=partial(
        _curves,
        (LINEAR_POLYNOMIAL, DELTA_GAUSSIAN),
        {"letter": 16, "ijcnn1": 22, "usps": 256},
        {"d/2": 0.5, "d": 1, "2d": 2, "8d": 8},
    ),
    notes=__doc__,
)

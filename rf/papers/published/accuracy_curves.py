"""Accuracy of LIBLINEAR on the features: Figure 3 of Liu et al., Figure 3 of Luo et al."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment
from rf.papers.experiments.measures import (
    Compute,
    computed_once,
    dataset,
    linear_accuracy,
    over_seeds,
)
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    GORF,
    LINEAR_POLYNOMIAL,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    make_features,
)
from rf.papers.published.error_curves import DIMENSIONS, cells_for_both_counts, methods_for

__all__ = ["GORF_ACCURACY", "LIU_ACCURACY"]

_REAL, _ROWS = "real part", "rows themselves"
# Luo's constant, and the grid that Liu cross-validates.
_LUO_CONSTANT, _LIU_GRID = 1000.0, (0.01, 0.1, 1.0, 10.0, 100.0)


def _measure(
    C: float | Sequence[float], name: str, kernel: PaperKernel, method: str, columns: int
) -> Compute | None:
    base, _, real = method.partition(": ")

    def accuracy(seed: int) -> float:
        data = dataset(name)
        features: Any = make_features(kernel, base, columns, seed).fit(data.X_train)
        kept = features.signature_ > 0 if real else slice(None)
        return linear_accuracy(data, C, lambda X: features.transform(X)[:, kept])

    if base == _ROWS:
        return computed_once(lambda: linear_accuracy(dataset(name), C))
    if base == "DIGMM" and columns < 2 * DIMENSIONS[name]:
        return None
    return over_seeds(accuracy)


def _cells(
    C: float | Sequence[float],
    polynomial: PaperKernel,
    data: Sequence[str],
    sizes: Mapping[str, float],
) -> list[Cell]:
    cells = []
    for name in data:
        for kernel in (DELTA_GAUSSIAN, polynomial):
            real = (f"GRFF: {_REAL}", f"{GORF}: {_REAL}")
            methods, measure = (_ROWS, *methods_for(kernel), *real), partial(_measure, C)
            cells += cells_for_both_counts(kernel, name, sizes, methods, measure)
    return cells


_READING = f"""
The published features are complex and LIBLINEAR takes real numbers, so only their real part, the
columns of the positive measure, can have entered: rows "{_REAL}".  The other rows have all columns
without their signs, so the classifier has the kernel k+ + k- where k = k+ - k-.  The paper prints
no numbers.  LIBLINEAR minimizes the squared hinge loss in the primal without a bias term (its
option -s 2).  GRFF, GORF and {SPECTRA} have 4s columns, the other methods 4s or s, see the groups.
"rows themselves" is the classifier on the data without features.  DIGMM needs at least 2d columns.
"""

LIU_ACCURACY = Experiment(
    title="Accuracy on the features of GRFF and its rivals",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 3",
    measures="percent of test rows (more is better)",
    cells=partial(
        _cells, _LIU_GRID, SQUARED_POLYNOMIAL, ("letter", "ijcnn1"), {"2d": 2, "8d": 8, "32d": 32}
    ),
    axes=("frequencies of each sign, s", "test rows classified correctly, %"),
    digits=2,
    notes=_READING
    + """
C is the best of .01, .1, 1, 10 and 100 in five-fold cross-validation, as in the paper, here on 2000
random training rows.  The paper's scaling is [0, 1]^d and unit norm; here as in Luo's code.
""",
    percent_right=True,
)
GORF_ACCURACY = Experiment(
    title="Accuracy on the features of GORF and its rivals",
    source="Luo, Fang, Yang, Huang, arXiv 2104.06204, Figure 3",
    measures="percent of test rows (more is better)",
    cells=partial(
        _cells,
        _LUO_CONSTANT,
        LINEAR_POLYNOMIAL,
        tuple(DIMENSIONS),
        {"d/4": 0.25, "d/2": 0.5, "d": 1, "2d": 2, "4d": 4, "8d": 8},
    ),
    axes=("frequencies of each sign, s", "test rows classified correctly, %"),
    digits=2,
    notes=_READING + "C = 1000, as in the public code.\n",
    percent_right=True,
)

"""Accuracy of a linear classifier on the features, against the number of frequencies.

Luo et al. plot this in their Figure 3, and Liu et al. in one of their figures, without printed
numbers.  The classifier is that of the published code of GORF: LIBLINEAR with the squared hinge
loss, solved in the primal, C = 1000.  The published features are complex, and only their real part
is passed to the classifier.  The rows "real part" do the same; the others use all columns without
their signs, so that the classifier has the kernel k+ + k-, where k = k+ - k-.  "linear" is the
classifier on the data without features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from rf.papers.datasets import Dataset
from rf.papers.experiments.approximation import Compute, computed_once, dataset, over_seeds
from rf.papers.experiments.liu.error_curves import cells_for_both_counts, methods_for
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    LINEAR_POLYNOMIAL,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    make_features,
)
from rf.papers.experiments.tables import Cell, Experiment
from spectra.base.arrays import FloatArray

__all__ = ["GORF_ACCURACY", "LIU_ACCURACY", "linear_accuracy"]

_C = 1000.0
# Largest number of steps; more steps change no digit of the table.
_STEPS = 500


def linear_accuracy(
    data: Dataset, C: float, columns: Callable[[FloatArray], FloatArray] = np.asarray
) -> float:
    """Percent of the test rows that LIBLINEAR, trained on ``columns`` of the rows, gets right.

    Examples
    --------
    >>> linear_accuracy(dataset("digits"), 1.0) > 90.0
    True
    """
    model = LinearSVC(C=C, dual=False, max_iter=_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(columns(data.X_train), data.y_train)
    return 100.0 * float(model.score(columns(data.X_test), data.y_test))


def _cell(name: str, kernel: PaperKernel, method: str, columns: int) -> Compute:
    base_method, _, real_part = method.partition(", ")

    def accuracy(seed: int) -> float:
        data = dataset(name)
        features: Any = make_features(kernel, base_method, columns, seed).fit(data.X_train)
        kept = features.signature_ > 0 if real_part else slice(None)
        return linear_accuracy(data, _C, lambda X: features.transform(X)[:, kept])

    if method == "linear":
        return computed_once(lambda: linear_accuracy(dataset(name), _C))
    return over_seeds(accuracy)


def _methods(kernel: PaperKernel) -> tuple[str, ...]:
    return ("linear", *methods_for(kernel), "GORF, real part")


def _cells(polynomial: PaperKernel, data: dict[str, int], sizes: dict[str, float]) -> list[Cell]:
    return cells_for_both_counts((DELTA_GAUSSIAN, polynomial), data, sizes, _methods, _cell)


LIU_ACCURACY = Experiment(
    title="Accuracy on the features of GRFF and its rivals",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, the figures of the accuracy",
    measures="percent of test rows (more is better)",
    cells=partial(
        _cells, SQUARED_POLYNOMIAL, {"letter": 16, "ijcnn1": 22}, {"2d": 2, "8d": 8, "32d": 32}
    ),
    digits=2,
    notes=__doc__,
    percent_right=True,
)
GORF_ACCURACY = Experiment(
    title="Accuracy on the features of GORF and its rivals",
    source="Luo, Fang, Yang, Huang, arXiv 2104.06204, Figure 3",
    measures="percent of test rows (more is better)",
    cells=partial(
        _cells,
        LINEAR_POLYNOMIAL,
        {"letter": 16, "ijcnn1": 22, "usps": 256},
        {"d/2": 0.5, "d": 1, "2d": 2, "8d": 8},
    ),
    digits=2,
    notes=__doc__,
    percent_right=True,
)

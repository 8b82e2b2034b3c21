"""The figures of AsK-RFF: subsets for the masses, and accuracy and time against columns.

The paper plots errors, and the accuracy and the time of learning, without printing numbers.  We
could not confirm its captions, so what the figures show is our assumption.  N_s is the number of
rows to which Algorithm 2 fits the masses by constrained least squares, with the opposite sign in
eq. (12).  "fitted over exact mass" is the sum of the fitted masses over that of the exact ones.
Accuracy is that of LIBLINEAR with C = 1 on the columns of both sides, as published.  The row
"Gaussian" has the columns of a Gaussian kernel, twice.  "time" is the processor time to draw the
features and to transform the training rows on both sides, over that of RBFSampler with as many
columns, which transforms the rows twice.  M is the number of frequencies of each of three parts, so
every method has 6M columns a side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf.papers.baselines import RFF
from rf.papers.experiments.approximation import Compute, dataset, over_seeds, sample_rows
from rf.papers.experiments.he.ask_errors import (
    KERNELS,
    METHODS,
    ask_error,
    ignore_dropped_parts,
    make_ask_features,
)
from rf.papers.experiments.liu.accuracy_curves import linear_accuracy
from rf.papers.experiments.liu.times import seconds_to_draw, seconds_to_transform
from rf.papers.experiments.tables import Cell, Experiment
from spectra.base.arrays import FloatArray

__all__ = ["ASK_CURVES", "ASK_MASSES"]

_DIM = 16
_SAMPLES = (10, 20, 50, 100, 200, 500)
_SIZES = {"d/2": 0.5, "d": 1, "2d": 2, "4d": 4, "8d": 8}
_GAUSSIAN = "exp(-z**2/8)"
_C = 1.0
# M of the experiment on masses, 2d: small enough that the fitted masses, with a bias of O(1/M),
# are visibly too small.
_M_OF_MASSES = 2 * _DIM


def _mass_cells(name: str) -> list[Cell]:
    def share(seed: int, samples: int) -> float:
        X = sample_rows("letter", scaling="interval")
        f = make_ask_features(name, "Algorithm 2", _M_OF_MASSES, seed, n_samples=samples).fit(X)
        return float(f.masses_.sum() / sum(p.mass for p in f.measure_.parts))

    errors = [
        Cell(
            f"{name}, error",
            method,
            f"N_s={n}",
            ask_error(name, method, _M_OF_MASSES, n_samples=n),
        )
        for method in METHODS
        for n in _SAMPLES
    ]
    method = "Algorithm 2, fitted over exact mass"
    return errors + [
        Cell(
            f"{name}, mass",
            method,
            f"N_s={n}",
            ignore_dropped_parts(over_seeds(partial(share, samples=n))),
        )
        for n in _SAMPLES
    ]


def _made(name: str, method: str, M: int, seed: int) -> Any:
    if method == "Gaussian":
        return RFF(_GAUSSIAN, n_components=6 * M, random_state=seed)
    return make_ask_features(name, method, M, seed)


def _accuracy(name: str, method: str, M: int) -> Compute:
    def accuracy(seed: int) -> float:
        data = dataset("letter", "interval")
        f = _made(name, method, M, seed).fit(data.X_train)

        def both_sides(X: FloatArray) -> FloatArray:
            return np.hstack([f.transform(X), f.transform_right(X)])

        return linear_accuracy(data, _C, both_sides)

    return ignore_dropped_parts(over_seeds(accuracy))


def _time(name: str, method: str, M: int) -> Compute:
    def ratio(seed: int) -> float:
        X = dataset("letter", "interval").X_train
        f, usual = _made(name, method, M, seed), RBFSampler(n_components=6 * M)
        spent = seconds_to_draw(f, X)
        spent += sum(seconds_to_transform(side, X) for side in (f.transform, f.transform_right))
        theirs = seconds_to_draw(usual, X) + 2 * seconds_to_transform(usual.transform, X)
        return spent / theirs

    return ignore_dropped_parts(over_seeds(ratio, np.median))


def _curve_cells() -> list[Cell]:
    measured: dict[str, Callable[[str, str, int], Compute]] = {
        "accuracy": _accuracy,
        "time": _time,
    }
    return [
        Cell(f"{name}, {what}", method, f"M={column}", measure(name, method, int(k * _DIM)))
        for name in KERNELS
        for what, measure in measured.items()
        for method in (*METHODS, "Gaussian")
        for column, k in _SIZES.items()
    ]


_SOURCE = "He, He, Liu, Huang, Random Fourier features for asymmetric kernels, 2022, figures"

ASK_MASSES = Experiment(
    title="Masses of asymmetric kernels fitted to some rows",
    source=_SOURCE,
    measures="|K - K^|/|K| on 1000 rows of letter, M = 2d (less is better), and shares of masses",
    cells=lambda: [cell for name in KERNELS for cell in _mass_cells(name)],
    notes=__doc__,
)
ASK_CURVES = Experiment(
    title="Accuracy and time of asymmetric features",
    source=_SOURCE,
    measures="percent of test rows of letter, and processor time over twice that of RBFSampler",
    cells=_curve_cells,
    digits=2,
    notes=__doc__,
)

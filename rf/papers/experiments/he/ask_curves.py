"""The figures of AsK-RFF: subsets for the masses, and accuracy and time against columns.

The paper draws errors, and the accuracy and the time of learning, without printing numbers; its
captions could not be confirmed, and this is how the figures are read.  "rows for the masses" are
the N_s samples of Algorithm 2, which fits the masses by constrained least squares (with the sign of
eq. (12) mended) in place of exact ones; "fitted over exact mass" shows how far they are off in sum.
Accuracy is that of LIBLINEAR, C = 1, on the
columns of both sides, as published, and with a Gaussian kernel in place of the asymmetric one,
whose columns are doubled too.  Times are processor time to draw and to make the features of both
sides of the training rows, over that of RBFSampler with as many columns, twice.  M counts the
frequencies of each of three parts, so that every method has 6M columns a side.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf import AsKRFF, DroppedPartWarning, SpectralFeatures
from rf.papers.baselines import RFF
from rf.papers.experiments.approximation import sample_rows, spread, summarise
from rf.papers.experiments.he.ask_errors import published_kernel
from rf.papers.experiments.liu.accuracy_curves import linear_accuracy, rows_of
from rf.papers.experiments.liu.times import seconds_to_draw, seconds_to_transform
from rf.papers.experiments.tables import Cell, Experiment
from spectra.base.arrays import FloatArray

__all__ = ["ASK_CURVES", "ASK_MASSES"]

_DIM = 16
_KERNELS = ("shift_gaussian", "sinh_gaussian", "cosh_gaussian")
_SAMPLES = (10, 20, 50, 100, 200, 500)
_SIZES = {"d/2": 0.5, "d": 1, "2d": 2, "4d": 4, "8d": 8}
_GAUSSIAN = "exp(-z**2/8)"
_C = 1.0
# The frequencies of the experiment on masses: M = 2d, where they shrink visibly.
_M_OF_MASSES = 2 * _DIM


def _made(name: str, method: str, M: int, seed: int) -> Any:
    options: dict[str, Any] = {"n_components": 6 * M, "random_state": seed}
    if method.startswith("ours"):
        return SpectralFeatures(published_kernel(name, _DIM), **options)
    if method.startswith("Gaussian"):
        return RFF(_GAUSSIAN, **options)
    if method.startswith("Algorithm 2"):
        options["masses"] = "least-squares"
    return AsKRFF(published_kernel(name, _DIM), **options)


def _quietly(compute: Callable[[int], tuple[float, float]]) -> Callable[[int], tuple[float, float]]:
    """Without the warning that a part is dropped, which is the point of these kernels."""

    def computed(runs: int) -> tuple[float, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedPartWarning)
            return compute(runs)

    return computed


def _masses_cell(
    name: str, method: str, samples: int, folder: str | None
) -> Callable[[int], tuple[float, float]]:
    def make(seed: int) -> Any:
        features = _made(name, method, _M_OF_MASSES, seed)
        return (
            features.set_params(n_samples=samples)
            if "n_samples" in features.get_params()
            else features
        )

    def compute(runs: int) -> tuple[float, float]:
        X = sample_rows("letter", scaling="interval", folder=folder)
        if not method.endswith("mass"):
            return summarise(make, X, published_kernel(name, _DIM).gram(X), runs)
        shares = []
        for seed in range(runs):
            f = make(seed).fit(X)
            shares.append(f.masses_.sum() / sum(p.mass for p in f.measure_.parts))
        return float(np.mean(shares)), spread(shares)

    return _quietly(compute)


def _masses_cells(folder: str | None) -> list[Cell]:
    methods = {
        "error": ("Algorithm 1, exact masses", "Algorithm 2, fitted masses", "ours (auto)"),
        "mass": ("Algorithm 2, fitted over exact mass",),
    }
    return [
        Cell(f"{name}, {what}", method, f"N_s={n}", _masses_cell(name, method, n, folder))
        for name in _KERNELS
        for what, rows in methods.items()
        for method in rows
        for n in _SAMPLES
    ]


def _both_sides(features: Any, X: FloatArray) -> FloatArray:
    return np.hstack([features.transform(X), features.transform_right(X)])


def _accuracy(
    name: str, method: str, M: int, folder: str | None
) -> Callable[[int], tuple[float, float]]:
    def compute(runs: int) -> tuple[float, float]:
        data, found = rows_of("letter", "interval", folder), []
        for seed in range(runs):
            f = _made(name, method, M, seed).fit(data.X_train)
            found.append(linear_accuracy(data, _C, partial(_both_sides, f)))
        return float(np.mean(found)), spread(found)

    return _quietly(compute)


class _RightSide:
    """The other side of features, for what times one side."""

    def __init__(self, features: Any) -> None:
        self.transform = features.transform_right


def _time(
    name: str, method: str, M: int, folder: str | None
) -> Callable[[int], tuple[float, float]]:
    def compute(runs: int) -> tuple[float, float]:
        X, found = rows_of("letter", "interval", folder).X_train, []
        for seed in range(runs):
            f, usual = _made(name, method, M, seed), RBFSampler(n_components=6 * M)
            spent = seconds_to_draw(f, X) + sum(
                seconds_to_transform(side, X) for side in (f, _RightSide(f))
            )
            found.append(spent / (seconds_to_draw(usual, X) + 2 * seconds_to_transform(usual, X)))
        return float(np.median(found)), spread(found)

    return _quietly(compute)


def _curve_cells(folder: str | None) -> list[Cell]:
    measured = {"accuracy": _accuracy, "time": _time}
    methods = ("Algorithm 1, exact masses", "Algorithm 2, fitted masses", "ours (auto)", "Gaussian")
    return [
        Cell(f"{name}, {what}", method, f"M={column}", measure(name, method, int(k * _DIM), folder))
        for name in _KERNELS
        for what, measure in measured.items()
        for method in methods
        for column, k in _SIZES.items()
    ]


_SOURCE = "He, He, Liu, Huang, Random Fourier features for asymmetric kernels, 2022, figures"

ASK_MASSES = Experiment(
    title="Masses of asymmetric kernels fitted to some rows",
    source=_SOURCE,
    measures="|K - K^|/|K| on 1000 rows of letter, M = 2d (less is better), and shares of masses",
    cells=_masses_cells,
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

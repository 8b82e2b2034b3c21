"""Table 2 of Liu et al.: the time to generate the feature matrix of the training rows.

The published times are seconds of MATLAB on an i7-8700K; those that we have of SRF, Nystroem and
TensorSketch are read as times for the polynomial on letter.  The groups "seconds" have them in
parentheses beside our processor time for all training rows: a difference there says more of the
machines than of the methods.  The other groups have the processor time as a ratio to
scikit-learn's RBFSampler of as many columns, on the same rows within the same seconds, of at most
16 384 rows.  "ours" is :class:`rf.SpectralFeatures` with its ``auto`` choice, of at most so many
columns (an exact map has fewer), and GRFF of the delta-Gaussian kernel goes through the same
loops, where that of the polynomial is plain numpy.  Rows are taken 4096 at a time.  What is drawn
or fitted before the first row is transformed does not count, as in the paper, and stands in the
groups "seconds to draw"; that of SRF took the paper 17.7 s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf.papers.datasets import load_dataset
from rf.papers.experiments.approximation import spread
from rf.papers.experiments.liu.error_curves import counted_cells
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    counted,
    features_of,
)
from rf.papers.experiments.tables import Cell, Experiment
from spectra.base.arrays import FloatArray

__all__ = ["LIU_TIMES", "seconds_to_draw", "seconds_to_transform"]

_DATA = {"letter": 16, "ijcnn1": 22}
_SIZES = {"2d": 2, "8d": 8, "32d": 32}
_METHODS = {
    SQUARED_POLYNOMIAL: ("ours", "GRFF", "SRF", "Nystroem", "TS"),
    DELTA_GAUSSIAN: ("ours", "GRFF", "Nystroem"),
}
_PUBLISHED = {
    ("squared polynomial", "letter"): {"GRFF": (0.08, 0.23, 0.85)},
    ("squared polynomial", "ijcnn1"): {"GRFF": (0.70, 1.87, 7.31)},
    ("delta-Gaussian", "letter"): {"GRFF": (0.07, 0.23, 0.92)},
    ("delta-Gaussian", "ijcnn1"): {"GRFF": (0.41, 1.44, 5.67)},
}
_TOLD_ONCE = {
    "SRF": (0.02, 0.09, 0.33),
    "Nystroem": (0.12, 0.24, 1.27),
    "TS": (0.07, 0.10, 0.31),
}
_OURS, _OURS_OF_S = "ours", "ours, s columns"
_BLOCK = 4096
# Most rows of the timing of a ratio, which does not change beyond.
_ROWS = 16_384


@lru_cache(maxsize=1)
def _rows(name: str, folder: str | None) -> FloatArray:
    return load_dataset(name, folder=folder).X_train


def seconds_to_draw(features: Any, X: FloatArray) -> float:
    """Processor time of ``features.fit(X)``.

    Examples
    --------
    >>> seconds_to_draw(RBFSampler(n_components=4), np.eye(3)) >= 0.0
    True
    """
    start = process_time()
    features.fit(X)
    return process_time() - start


def seconds_to_transform(features: Any, X: FloatArray) -> float:
    """Processor time to make the features of all rows, block by block.

    Examples
    --------
    >>> seconds_to_transform(RBFSampler(n_components=4).fit(np.eye(3)), np.eye(3)) >= 0.0
    True
    """
    features.transform(X[:_BLOCK])
    start = process_time()
    for first in range(0, len(X), _BLOCK):
        features.transform(X[first : first + _BLOCK])
    return process_time() - start


def _cell(
    name: str, kernel: PaperKernel, method: str, columns: int, *, folder: str | None, draw: bool
) -> Callable[[int], tuple[float, float]]:
    def compute(runs: int) -> tuple[float, float]:
        X, found = _rows(name, folder)[:_ROWS], []
        for seed in range(runs):
            features = features_of(kernel, method, columns, seed)
            drawn = seconds_to_draw(features, X)
            if draw:
                found.append(drawn)
                continue
            usual = RBFSampler(n_components=columns, random_state=seed).fit(X)
            found.append(seconds_to_transform(features, X) / seconds_to_transform(usual, X))
        return float(np.median(found)), spread(found)

    return compute


def _seconds(
    name: str, kernel: PaperKernel, method: str, s: int, folder: str | None
) -> Callable[[int], tuple[float, float]]:
    """Seconds for all rows, with the columns of the paper."""

    def compute(runs: int) -> tuple[float, float]:
        X, which = _rows(name, folder), method.partition(",")[0]
        columns = s if method == _OURS_OF_S else counted(s, which, equal=False)
        made = (features_of(kernel, which, columns, seed).fit(X) for seed in range(runs))
        found = [seconds_to_transform(features, X) for features in made]
        return float(np.median(found)), spread(found)

    return compute


def _cells(folder: str | None) -> list[Cell]:
    ratios, draws = (
        counted_cells(
            _METHODS, _DATA, _SIZES, _METHODS.__getitem__, partial(_cell, folder=folder, draw=draw)
        )
        for draw in (False, True)
    )
    drawn = [Cell(f"{c.group}, seconds to draw", c.method, c.column, c.compute) for c in draws]
    told = [c for kernel in _METHODS for name in _DATA for c in _told(kernel, name, folder)]
    return [*ratios, *told, *drawn]


def _told(kernel: PaperKernel, name: str, folder: str | None) -> list[Cell]:
    """The published seconds, and ours with as many columns: 4s for GRFF, s for its rivals."""
    told = dict(_PUBLISHED[kernel.name, name])
    if (kernel.power is not None, name) == (True, "letter"):
        told |= _TOLD_ONCE
    ours = (_OURS, _OURS_OF_S) if len(told) > 1 else (_OURS,)
    return [
        Cell(
            f"{kernel.name}, {name}, the papers' counts, seconds",
            method,
            f"s={column}",
            _seconds(name, kernel, method, factor * _DATA[name], folder),
            told.get(method, (None,) * len(_SIZES))[place],
            {"GRFF": _OURS}.get(method, _OURS_OF_S),
        )
        for method in (*told, *ours)
        for place, (column, factor) in enumerate(_SIZES.items())
    ]


LIU_TIMES = Experiment(
    title="Time to generate the feature matrix",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, Table 2",
    measures="processor time over that of RBFSampler with as many columns (less is better); "
    "seconds; (published)",
    cells=_cells,
    digits=3,
    notes=__doc__,
)

"""Table 2 of Liu et al.: the time to generate the feature matrix of the training rows.

The published times are seconds of MATLAB on an i7-8700K, in rows of their own; those that we have
of SRF, Nystroem and TensorSketch are read as times for the polynomial on letter.  Ours are the
processor time as a ratio to scikit-learn's RBFSampler of as many columns, on the same rows within
the same seconds, since absolute times say more of a machine than of a method; "ours" is
:class:`rf.SpectralFeatures` with its ``auto`` choice, of at most so many columns (an exact map has
fewer), and GRFF of the delta-Gaussian kernel goes through the same loops, where that of the
polynomial is plain numpy.  At most 16 384 rows are taken, 4096 at a time.  What is drawn or fitted
before the first row is transformed does not count, as in the paper, and stands in the groups
"seconds to draw"; that of SRF took the paper 17.7 s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf.datasets import load_dataset
from rf.experiments.error_curves import counted_cells
from rf.experiments.methods import (
    DELTA_GAUSSIAN,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    features_of,
)
from rf.experiments.tables import Cell, Experiment
from spectra.table.arrays import FloatArray

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
_BLOCK = 4096
# Most rows of one timing: the ratio does not change beyond.
_ROWS = 16_384


@lru_cache(maxsize=1)
def _rows(name: str, folder: str | None) -> FloatArray:
    return load_dataset(name, folder=folder).X_train[:_ROWS]


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
        X, found = _rows(name, folder), []
        for seed in range(runs):
            features = features_of(kernel, method, columns, seed)
            drawn = seconds_to_draw(features, X)
            if draw:
                found.append(drawn)
                continue
            usual = RBFSampler(n_components=columns, random_state=seed).fit(X)
            found.append(seconds_to_transform(features, X) / seconds_to_transform(usual, X))
        return float(np.median(found)), float(np.std(found))

    return compute


def _cells(folder: str | None) -> list[Cell]:
    ratios, draws = (
        counted_cells(
            _METHODS, _DATA, _SIZES, _METHODS.__getitem__, partial(_cell, folder=folder, draw=draw)
        )
        for draw in (False, True)
    )
    published = [cell for kernel in _METHODS for name in _DATA for cell in _quoted(kernel, name)]
    drawn = [Cell(f"{c.group}, seconds to draw", c.method, c.column, c.compute) for c in draws]
    return [*ratios, *published, *drawn]


def _quoted(kernel: PaperKernel, name: str) -> list[Cell]:
    group = f"{kernel.name}, {name}, the papers' counts"
    told = dict(_PUBLISHED[kernel.name, name])
    if (kernel.power is not None, name) == (True, "letter"):
        told |= _TOLD_ONCE
    return [
        Cell(group, f"{method}, published seconds", f"s={column}", None, value)
        for method, values in told.items()
        for column, value in zip(_SIZES, values, strict=True)
    ]


LIU_TIMES = Experiment(
    title="Time to generate the feature matrix",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, Table 2",
    measures="processor time over that of RBFSampler with as many columns (less is better)",
    cells=_cells,
    digits=3,
    notes=__doc__,
)

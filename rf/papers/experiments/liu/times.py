"""Table 2 of Liu et al.: the time to generate the feature matrix of the training rows.

The published times are seconds of MATLAB on an i7-8700K.  We assume that those of SRF, Nystroem and
TensorSketch are for the polynomial on letter.  The groups "seconds" give them in parentheses after
our processor time for all training rows; the difference depends more on the machines than on the
methods.  The other groups give the processor time divided by that of scikit-learn's RBFSampler with
as many columns, on the same rows (at most 16 384).  "ours" is :class:`rf.SpectralFeatures` with its
``auto`` choice and at most as many columns (an exact map has fewer).  GRFF of the delta-Gaussian
kernel uses the code of "ours", GRFF of the polynomial plain numpy.  Rows are transformed 4096 at
a time.  As in the paper, the time of ``fit`` does not count.  The groups "seconds to draw" give it;
for SRF, the paper reports 17.7 s.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf.papers.experiments.approximation import Compute, dataset, over_seeds
from rf.papers.experiments.liu.error_curves import cells_for_both_counts
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    columns_of,
    make_features,
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
# Seconds for the three numbers of frequencies in _SIZES.
_PUBLISHED = {
    ("squared polynomial", "letter"): {"GRFF": (0.08, 0.23, 0.85)},
    ("squared polynomial", "ijcnn1"): {"GRFF": (0.70, 1.87, 7.31)},
    ("delta-Gaussian", "letter"): {"GRFF": (0.07, 0.23, 0.92)},
    ("delta-Gaussian", "ijcnn1"): {"GRFF": (0.41, 1.44, 5.67)},
}
_LETTER_ONLY = {"SRF": (0.02, 0.09, 0.33), "Nystroem": (0.12, 0.24, 1.27), "TS": (0.07, 0.10, 0.31)}
_OURS, _OURS_OF_S = "ours", "ours, s columns"
# Rows transformed at a time; largest number of rows for a ratio, which does not change for more.
_BLOCK, _ROWS = 4096, 16_384


def seconds_to_draw(features: Any, X: FloatArray) -> float:
    """Processor time of ``features.fit(X)``."""
    start = process_time()
    features.fit(X)
    return process_time() - start


def seconds_to_transform(transform: Callable[[FloatArray], Any], X: FloatArray) -> float:
    """Processor time to transform all rows, block by block, after an untimed first call."""
    transform(X[:_BLOCK])
    start = process_time()
    for first in range(0, len(X), _BLOCK):
        transform(X[first : first + _BLOCK])
    return process_time() - start


def _ratio(name: str, kernel: PaperKernel, method: str, columns: int) -> Compute:
    def ratio(seed: int) -> float:
        X = dataset(name).X_train[:_ROWS]
        features = make_features(kernel, method, columns, seed).fit(X)
        usual = RBFSampler(n_components=columns, random_state=seed).fit(X)
        return seconds_to_transform(features.transform, X) / seconds_to_transform(
            usual.transform, X
        )

    return over_seeds(ratio, np.median)


def _draw(name: str, kernel: PaperKernel, method: str, columns: int) -> Compute:
    return over_seeds(
        lambda seed: seconds_to_draw(
            make_features(kernel, method, columns, seed), dataset(name).X_train[:_ROWS]
        ),
        np.median,
    )


def _seconds(name: str, kernel: PaperKernel, method: str, s: int) -> Compute:
    """Seconds for all rows, with the columns of the paper."""
    which = method.partition(",")[0]
    columns = s if method == _OURS_OF_S else columns_of(s, which, equal=False)

    def seconds(seed: int) -> float:
        X = dataset(name).X_train
        return seconds_to_transform(make_features(kernel, which, columns, seed).fit(X).transform, X)

    return over_seeds(seconds, np.median)


def _cells() -> list[Cell]:
    grid = _METHODS, _DATA, _SIZES, _METHODS.__getitem__
    ratios, draws = cells_for_both_counts(*grid, _ratio), cells_for_both_counts(*grid, _draw)
    drawn = [Cell(f"{c.group}, seconds to draw", c.method, c.column, c.compute) for c in draws]
    published = [c for kernel in _METHODS for name in _DATA for c in _published(kernel, name)]
    return [*ratios, *published, *drawn]


def _published(kernel: PaperKernel, name: str) -> list[Cell]:
    """The published seconds, and ours with as many columns: 4s for GRFF, s for other methods."""
    published = dict(_PUBLISHED[kernel.name, name])
    if (kernel.power is not None, name) == (True, "letter"):
        published |= _LETTER_ONLY
    ours = (_OURS, _OURS_OF_S) if len(published) > 1 else (_OURS,)
    return [
        Cell(
            f"{kernel.name}, {name}, the papers' counts, seconds",
            method,
            f"s={column}",
            _seconds(name, kernel, method, factor * _DATA[name]),
            published.get(method, (None,) * len(_SIZES))[place],
            {"GRFF": _OURS}.get(method, _OURS_OF_S),
        )
        for method in (*published, *ours)
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

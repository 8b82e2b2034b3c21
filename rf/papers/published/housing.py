"""Tables III and IV of Luo et al.: regression on Boston housing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVR

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import Compute, dataset, over_seeds
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    GORF,
    LINEAR_POLYNOMIAL,
    PaperKernel,
    columns_of,
    make_features,
)
from spectra.base.arrays import FloatArray

__all__ = ["HOUSING"]

_DIM, _TRAIN_ROWS = 13, 405
_SIZES = {"s=2d": 2 * _DIM, "s=4d": 4 * _DIM, "s=8d": 8 * _DIM}
_C = 1000.0
_EQUAL, _FEW, _REAL = ", 4s columns", ", s columns", ", real part"
_REAL_GORF, _EXACT = f"{GORF}{_REAL}", "exact map"
_PUBLISHED: dict[PaperKernel, dict[str, tuple[float, ...]]] = {
    LINEAR_POLYNOMIAL: {
        "RM": (7.153, 5.436, 4.491),
        "TS": (5.414, 4.772, 4.657),
        "SRF": (4.391, 3.906, 3.555),
        "DIGMM": (4.897, 4.130, 4.000),
        _REAL_GORF: (4.079, 3.817, 3.472),
    },
    DELTA_GAUSSIAN: {"SRF": (5.432, 3.845, 3.321), _REAL_GORF: (3.739, 3.474, 3.164)},
}
_ROWS: dict[PaperKernel, tuple[str, ...]] = {
    LINEAR_POLYNOMIAL: (
        *(f"{m}{rest}" for m in ("RM", "TS", "SRF", "DIGMM") for rest in ("", _EQUAL)),
        *(_REAL_GORF, GORF, _EXACT),
    ),
    DELTA_GAUSSIAN: (
        *("SRF", f"SRF{_EQUAL}", f"DIGMM{_EQUAL}", _REAL_GORF, GORF),
        *(f"{SPECTRA}{_FEW}", SPECTRA),
    ),
}
_COUNTERPARTS: dict[PaperKernel, str | dict[str, str]] = {
    LINEAR_POLYNOMIAL: _EXACT,
    DELTA_GAUSSIAN: {"SRF": f"{SPECTRA}{_FEW}", _REAL_GORF: SPECTRA},
}


def _split(seed: int) -> tuple[FloatArray, ...]:
    """Unit rows, the norms that they were divided by, and prices, for training and test."""
    raw = dataset("housing", "interval")
    X = np.concatenate([raw.X_train, raw.X_test])
    y = np.concatenate([raw.y_train, raw.y_test]).astype(float)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    order = np.random.default_rng(seed).permutation(len(X))
    sides = order[:_TRAIN_ROWS], order[_TRAIN_ROWS:]
    return tuple(array[side] for side in sides for array in (X / norms, norms, y))


def _rmse(features: Any, seed: int, *, real: bool = False) -> float:
    """Test error of a linear model on the columns times the norm of the row, as published.

    With ``real``, only the columns of positive sign: the others are imaginary in the papers.
    """
    X, norms, y, X_test, test_norms, y_test = _split(seed)
    features.fit(X)
    kept = features.signature_ > 0 if real else slice(None)
    Z = features.transform(X)[:, kept] * norms
    Z_test = features.transform(X_test)[:, kept] * test_norms
    loss = "squared_epsilon_insensitive"
    model = LinearSVR(C=_C, epsilon=0.1, loss=loss, dual=False, fit_intercept=False, max_iter=5000)
    with warnings.catch_warnings():
        # The published solver stopped at its default tolerance as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Z, y)
    return float(np.sqrt(np.mean((model.predict(Z_test) - y_test) ** 2)))


def _measure(kernel: PaperKernel, row: str, s: int) -> Compute:
    real, few = row.endswith(_REAL), row.endswith(_FEW)
    method = row.removesuffix(_REAL).removesuffix(_FEW).removesuffix(_EQUAL)
    columns = s if few else columns_of(s, method, equal=row.endswith(_EQUAL))
    return over_seeds(
        lambda seed: _rmse(make_features(kernel, method, columns, seed), seed, real=real)
    )


def _cells() -> list[Cell]:
    cells = []
    for kernel, rows in _ROWS.items():
        published: dict[str, Sequence[float | None]] = dict(_PUBLISHED[kernel])
        cells += block(
            f"{kernel.name}, housing",
            rows,
            _SIZES,
            partial(_measure, kernel),
            published,
            _COUNTERPARTS[kernel],
        )
    return cells


HOUSING = Experiment(
    title="Regression on Boston housing",
    source="Luo, Fang, Yang, Huang, arXiv 2104.06204, Tables III and IV",
    measures="root mean squared error on 101 test rows, $1000 (less is better); (published)",
    cells=_cells,
    axes=("frequencies of each sign, s", "root mean squared error, $1000"),
    digits=3,
    notes=f"""
LIBLINEAR's support vector regression without a bias term (its option -s 11, C = 1000), on the
features of unit rows times the norms of the rows, as in the public code.  GORF and {SPECTRA} have
4s columns and the others s; rows "4s columns" and "s columns" are for comparison.  The published
features are complex, and LIBLINEAR takes real numbers, so only their real part can have entered:
row "{_REAL_GORF}", which has the published numbers; row "{GORF}" has all columns.

Each run has another random split of the 506 rows into 405 and 101 and other features; the public
code draws one split for all its ten runs.  The split matters more than the method: the standard
deviation over splits (in the csv) is larger than most differences between rows.

The polynomial kernel is linear, so its exact map of 14 columns has the same error for every s.
Biased methods have a smaller error, because their mean is a richer kernel: this error does not
measure how well a method approximates the kernel.  SRF of the delta-Gaussian fits k + 1 and
subtracts 1 (here by one column of negative sign).

Differences from the published methods: the public code draws the degrees of RM by the nearest
cumulative probability, which is biased, and its TS is a count sketch of the rows with a constant;
here RM and TS are those of their papers.  DIGMM is the public code, with the matrix of the kernel.
""",
)

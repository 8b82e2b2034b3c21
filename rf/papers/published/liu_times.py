"""Table 2 of Liu et al.: the time to generate the feature matrix of the training rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import (
    Compute,
    dataset,
    over_seeds,
    seconds_to_draw,
    seconds_to_transform,
)
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    columns_of,
    make_features,
)
from rf.papers.published.error_curves import DIMENSIONS

__all__ = ["LIU_TIMES"]

_SIZES = {"s=2d": 2, "s=8d": 8, "s=32d": 32}
_NYSTROEM, _FEW = "Nystroem, leverage", f"{SPECTRA}, s columns"
_USUAL = "RBFSampler, 4s columns"
_ROWS_FITTED = 4096
# Seconds to transform, without the time to fit SRF.
_PUBLISHED: dict[tuple[PaperKernel, str], dict[str, tuple[float, ...]]] = {
    (SQUARED_POLYNOMIAL, "letter"): {
        "SRF": (0.02, 0.09, 0.33),
        _NYSTROEM: (0.12, 0.24, 1.27),
        "DIGMM": (0.21, 0.41, 2.69),
        "RM": (0.04, 0.12, 0.38),
        "TS": (0.07, 0.10, 0.31),
        "TRP": (0.01, 0.21, 0.89),
        "GRFF": (0.08, 0.23, 0.85),
    },
    (SQUARED_POLYNOMIAL, "ijcnn1"): {
        "SRF": (0.24, 0.89, 3.30),
        _NYSTROEM: (0.83, 2.78, 16.44),
        "DIGMM": (0.42, 1.08, 8.36),
        "RM": (0.33, 1.20, 4.50),
        "TS": (0.53, 0.90, 2.64),
        "TRP": (0.73, 2.74, 10.50),
        "GRFF": (0.70, 1.87, 7.31),
    },
    (DELTA_GAUSSIAN, "letter"): {
        "SRF": (0.03, 0.10, 0.30),
        _NYSTROEM: (0.14, 0.39, 1.69),
        "DIGMM": (0.32, 1.19, 4.56),
        "GRFF": (0.07, 0.23, 0.92),
    },
    (DELTA_GAUSSIAN, "ijcnn1"): {
        "SRF": (0.23, 0.86, 3.42),
        _NYSTROEM: (1.23, 4.38, 22.64),
        "DIGMM": (0.61, 1.96, 6.86),
        "GRFF": (0.41, 1.44, 5.67),
    },
}


def _features(kernel: PaperKernel, row: str, s: int, seed: int) -> Any:
    if row == _USUAL:
        return RBFSampler(n_components=4 * s, random_state=seed)
    method = SPECTRA if row == _FEW else row
    columns = s if row == _FEW else columns_of(s, method, equal=False)
    return make_features(kernel, method, columns, seed)


def _seconds(name: str, kernel: PaperKernel, draw: bool, row: str, s: int) -> Compute:
    """Seconds to transform all rows, and with ``draw`` those of the fit too."""

    def seconds(seed: int) -> float:
        X = dataset(name).X_train
        features = _features(kernel, row, s, seed)
        # Nystroem features take as long to transform if they are fitted to a part of the rows.
        fitted = X[:_ROWS_FITTED] if row == _NYSTROEM and not draw else X
        spent = seconds_to_draw(features, fitted)
        return seconds_to_transform(features.transform, X) + (spent if draw else 0.0)

    return over_seeds(seconds, np.median)


def _cells() -> list[Cell]:
    cells = []
    for (kernel, name), numbers in _PUBLISHED.items():
        sizes = {label: factor * DIMENSIONS[name] for label, factor in _SIZES.items()}
        rows = (*numbers, SPECTRA, _FEW, _USUAL)
        counterparts = {m: SPECTRA if m == "GRFF" else _FEW for m in numbers}
        for draw, what in ((False, "transform"), (True, "fit and transform")):
            # The published numbers are compared once, without the fit.
            published = {} if draw else dict(numbers)
            group = f"{kernel.name}, {name}, seconds to {what}"
            measure = partial(_seconds, name, kernel, draw)
            cells += block(group, rows, sizes, measure, published, counterparts)
    return cells


LIU_TIMES = Experiment(
    title="Time to generate the feature matrix",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, Table 2",
    measures="seconds of processor time for all training rows (less is better); (published)",
    cells=_cells,
    axes=("frequencies of each sign, s", ""),
    digits=3,
    notes=f"""
The table has seconds of MATLAB on an i7-8700K, so the differences say more of the machines than of
the methods; compare rows of one run, and with RBFSampler.  The paper does not say whether the
drawing of the features counts, so both readings are run: "transform" alone, beside the published
numbers, and "fit and transform".  The paper lists the off-line fit of SRF separately: 17.7 s and
17.2 s on letter, 10.3 s and 20.3 s on ijcnn1; here the grid search is one least-squares fit.

GRFF and {SPECTRA} have 4s columns and the other methods s, as in Luo's public code; the paper does
not state it.  "{_FEW}" has as many as the others, and an exact map has fewer.  The fit of
{SPECTRA} compares methods and may design features, which takes seconds.  GRFF of the delta-Gaussian
runs on the same code as {SPECTRA}, GRFF of the polynomial in numpy.  The rows are the training sets
of letter (12 000) and ijcnn1 (49 990), transformed 4096 at a time.
""",
)

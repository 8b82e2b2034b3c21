"""Errors of features of the Gaussian kernel: the methods that the three papers build on.

The papers have no table of these errors.  GRFF and GORF extend RFF, ORF, SORF and quasi-Monte Carlo
features to signed measures; Fastfood and signed circulant features are alternatives.  SORF is
biased, because all its frequencies have one norm; the others are unbiased.  Equal norms reduce its
variance: on letter its error is below ours with 2d columns, and above ours from 8d columns on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rf import SpectralFeatures
from rf.papers.baselines import ORF, RFF, SORF, Fastfood, QuasiMonteCarlo, SignedCirculant
from rf.papers.experiments.approximation import Compute, error_over_seeds
from rf.papers.experiments.methods import GAUSSIAN
from rf.papers.experiments.tables import Cell, Experiment

__all__ = ["GAUSSIAN_ERRORS"]

_DATA = {"letter": 16, "ijcnn1": 22, "usps": 256}
_SIZES = {"d": 1, "2d": 2, "8d": 8, "32d": 32}
_METHODS: dict[str, Callable[..., Any]] = {
    "RFF": partial(RFF, GAUSSIAN.text),
    "ORF": partial(ORF, GAUSSIAN.text),
    "SORF": SORF,
    "Fastfood": Fastfood,
    "signed circulant": SignedCirculant,
    "quasi-Monte Carlo": QuasiMonteCarlo,
    "ours (auto)": partial(SpectralFeatures, GAUSSIAN.text),
}


def _cell(data: str, method: str, columns: int) -> Compute:
    return error_over_seeds(
        data, GAUSSIAN, lambda seed: _METHODS[method](n_components=columns, random_state=seed)
    )


def _cells() -> list[Cell]:
    return [
        Cell(data, method, f"{column} columns", _cell(data, method, share * dim))
        for data, dim in _DATA.items()
        for method in _METHODS
        for column, share in _SIZES.items()
    ]


GAUSSIAN_ERRORS = Experiment(
    title="Errors of features of the Gaussian kernel",
    source="The systems that the papers build on; no table of theirs",
    measures="|K - K^|/|K| on 1000 rows of unit length, exp(-z^2/2) (less is better)",
    cells=_cells,
    notes=__doc__,
)

"""Errors of features of the Gaussian kernel: the methods that the three papers build on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rf import SpectralFeatures
from rf.papers.baselines import ORF, RFF, SORF, QuasiMonteCarlo
from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import Compute, error_over_seeds
from rf.papers.experiments.methods import GAUSSIAN
from rf.papers.published.error_curves import DIMENSIONS

__all__ = ["GAUSSIAN_ERRORS"]

_SIZES = {"d": 1, "2d": 2, "8d": 8, "32d": 32}
_METHODS: dict[str, Callable[..., Any]] = {
    "RFF": partial(RFF, GAUSSIAN.text),
    "ORF": partial(ORF, GAUSSIAN.text),
    "SORF": SORF,
    "quasi-Monte Carlo": QuasiMonteCarlo,
    SPECTRA: partial(SpectralFeatures, GAUSSIAN.text),
}


def _measure(data: str, method: str, columns: int) -> Compute:
    return error_over_seeds(
        data, GAUSSIAN, lambda seed: _METHODS[method](n_components=columns, random_state=seed)
    )


def _cells() -> list[Cell]:
    cells = []
    for data, dim in DIMENSIONS.items():
        columns = {label: share * dim for label, share in _SIZES.items()}
        cells += block(data, _METHODS, columns, partial(_measure, data))
    return cells


GAUSSIAN_ERRORS = Experiment(
    title="Errors of features of the Gaussian kernel",
    source="The methods that the papers build on; no table of theirs",
    measures="|K - K^|/|K| in the Frobenius norm, exp(-z^2/2) on 1000 random unit rows (less is "
    "better)",
    cells=_cells,
    axes=("columns", "relative error"),
    notes="""
GRFF and GORF extend RFF, ORF, SORF and quasi-Monte Carlo features to signed measures.  Each run has
other rows and other features.  SORF is biased, because all its frequencies have one norm; the
others are unbiased.  Equal norms reduce its variance, which makes its error small at few columns.
""",
)

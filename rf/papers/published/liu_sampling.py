"""Figure 4 of Liu et al.: ways to sample the frequencies of GRFF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from rf.papers.baselines.samplers import (
    grid_frequencies,
    grid_mean,
    importance_frequencies,
    leverage_frequencies,
)
from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import (
    Compute,
    computed_once,
    error_over_seeds,
    matrix_error,
    over_seeds,
    rows_and_gram,
    sample_rows,
    seconds_to_draw,
)
from rf.papers.experiments.methods import (
    SQUARED_POLYNOMIAL,
    make_features,
)
from rf.sampling import COUPLINGS, Frequencies
from spectra.base.arrays import FloatArray

__all__ = ["LIU_SAMPLING"]

_DIM = 16
_SIZES = {"s=d/2": 8, "s=d": 16, "s=2d": 32, "s=8d": 128, "s=32d": 512}
# The grids of the text, and the same intervals with the factor w^(d-1).
_TEXT = "[-10, 10], 10 000 points"
_GRIDS: dict[str, dict[str, Any]] = {
    _TEXT: {},
    "[-10, 10], 1 000 points": {"points": 1000},
    "[-5, 5], 10 000 points": {"reach": 5.0},
    "[-10, 10], with w^(d-1)": {"law": "exact"},
    "[-5, 5], with w^(d-1)": {"law": "exact", "reach": 5.0},
}
_ORTHOGONAL, _LEVERAGE = f"{_TEXT}, orthogonal", f"{_TEXT}, leverage scores"
_IMPORTANCE = "importance, Gaussian"
_SCHEMES = (*_GRIDS, _ORTHOGONAL, _LEVERAGE, _IMPORTANCE, SPECTRA)
_BIAS = ": its bias"
_POOL, _RIDGE = 4, 1e-3  # leverage scores: pool of _POOL * s frequencies for each sign


class _DrawnFeatures:
    """Frequencies that ``draw`` draws for rows X, with the kernel matrix that they estimate."""

    def __init__(self, draw: Callable[[FloatArray], Frequencies]) -> None:
        self._draw = draw

    def fit(self, X: FloatArray) -> _DrawnFeatures:
        self._found = self._draw(X)
        return self

    def gram(self, X: FloatArray) -> FloatArray:
        angles = X @ self._found.frequencies.T
        signed = self._found.weights * np.cos(self._found.phases)
        waves = np.cos(angles), np.sin(angles)
        return np.asarray(sum((wave * signed) @ wave.T for wave in waves))


@cache
def _density() -> Any:
    """The spectral density on R^d; imported here because most experiments do not derive one."""
    import spectra as sp

    return sp.spectral_density(sp.radial("(1 - z**2/4)**2", support=2), _DIM)


def _make(scheme: str, s: int, seed: int) -> Any:
    if scheme == SPECTRA:
        return make_features(SQUARED_POLYNOMIAL, SPECTRA, 4 * s, seed)
    density, rng = _density(), np.random.default_rng(seed)

    def draw(X: FloatArray) -> Frequencies:
        if scheme == _IMPORTANCE:
            return importance_frequencies(density.density, _DIM, 2 * s, deviation=1.0, rng=rng)
        options = _GRIDS.get(scheme, {})
        values = density.radial if options.get("law") == "exact" else density.density
        pool = _POOL if scheme == _LEVERAGE else 1
        drawn = grid_frequencies(values, _DIM, 2 * s * pool, rng=rng, **options)
        if scheme == _LEVERAGE:
            return leverage_frequencies(drawn, X, 2 * s, ridge=_RIDGE, rng=rng)
        if scheme == _ORTHOGONAL:
            radii = np.linalg.norm(drawn.frequencies, axis=1, keepdims=True)
            directions = COUPLINGS["orthogonal"].directions(len(radii), _DIM, rng)
            return replace(drawn, frequencies=radii * directions)
        return drawn

    return _DrawnFeatures(draw)


@cache
def _bias(scheme: str) -> float:
    X, exact = rows_and_gram("letter", SQUARED_POLYNOMIAL)
    options, density = _GRIDS[scheme], _density()
    z = np.linspace(0.0, 2.0, 400)
    values = density.radial if options.get("law") == "exact" else density.density
    return matrix_error(np.interp(cdist(X, X), z, grid_mean(values, _DIM, z, **options)), exact)


def _error(row: str, s: int) -> Compute:
    if row.endswith(_BIAS):
        return computed_once(lambda: _bias(row.removesuffix(_BIAS)))
    return error_over_seeds("letter", SQUARED_POLYNOMIAL, partial(_make, row, s))


def _milliseconds(row: str, s: int) -> Compute:
    def milliseconds(seed: int) -> float:
        _make(row, s, seed).fit(sample_rows("letter"))  # derives what is not timed
        return 1e3 * seconds_to_draw(_make(row, s, seed), sample_rows("letter"))

    return over_seeds(milliseconds, np.median)


def _cells() -> list[Cell]:
    name, rows = "polynomial a=2 p=2, letter", (*_SCHEMES, *(f"{m}{_BIAS}" for m in _GRIDS))
    return [
        *block(f"{name}, relative error", rows, _SIZES, _error),
        *block(f"{name}, milliseconds to draw", _SCHEMES, _SIZES, _milliseconds),
    ]


LIU_SAMPLING = Experiment(
    title="Ways to sample the frequencies of GRFF",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 4",
    measures="|K - K^|/|K| on 1000 random rows of letter, and processor time of fit (less is "
    "better)",
    cells=_cells,
    axes=("frequencies of each sign, s", ""),
    notes=f"""
The figure has the spherical polynomial a = p = 2 on letter, without numbers: rejection sampling of
10 000 uniform points on [-10, 10], of 1 000 points, or on [-5, 5], importance sampling with a
Gaussian, and orthogonal Monte Carlo.  The text leaves out the factor w^(d-1) of the radius; the
rows "with w^(d-1)" have it.  All methods have s frequencies of each sign (4s columns); a density
without negative values on the interval has 2s of one sign.  A row "its bias" is the exact error in
the limit of many frequencies on the rows of the first run.  Points on a grid have the distribution
of accepted uniform points up to the step of the grid.  The measure of the polynomial has infinite
mass in d = 16, so no sampler of it is unbiased; {SPECTRA} takes the exact map from 153 columns on.
The standard deviation of the surrogate Gaussian is not stated; here it is 1.  Leverage scores are
those of a pool of {_POOL} s frequencies of each sign on the rows, with the ridge .001.
""",
)

"""Figure 4 of Liu et al.: ways to sample the frequencies of GRFF.

The paper compares sampling on a grid of radii, importance sampling from a Gaussian, orthogonal
frequencies and leverage-score weights, and prints no numbers.  All methods have 2s frequencies and
4s columns.  "published law" omits the factor w^(d-1) in the density of the radii, as the published
code does; "exact law" includes it.  "inverse distribution" has no grid: it draws exact quantiles of
the radius.  A row "its bias" is the exact error in the limit of many frequencies.

Importance sampling draws from N(0, I), the wider of the two spectra.  In d = 16, one draw has the
variance 7e2 for the lengths 1 and 2, and 4e13 for 1 and 10: there, the frequencies that cause it
are almost never drawn, so the error is that of the kernel without its negative part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from rf.papers.baselines.samplers import (
    grid_frequencies,
    grid_mean,
    importance_frequencies,
    leverage_frequencies,
)
from rf.papers.experiments.approximation import (
    computed_once,
    error_over_seeds,
    matrix_error,
    rows_and_gram,
)
from rf.papers.experiments.methods import DELTA_GAUSSIAN, NEAR_GAUSSIANS, PaperKernel, make_features
from rf.papers.experiments.tables import Cell, Experiment
from rf.sampling import Frequencies, draw_frequencies
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

__all__ = ["LIU_SAMPLING"]

_DIM = 16
_SIZES = {"d/2": 8, "d": 16, "2d": 32, "8d": 128, "32d": 512}
_GRIDS: dict[str, dict[str, Any]] = {
    "published law, 10 000 points to 10": {"law": "published"},
    "published law, 1 000 points to 10": {"law": "published", "points": 1000},
    "published law, 10 000 points to 5": {"law": "published", "reach": 5.0},
    "exact law, 10 000 points to 10": {"law": "exact"},
    "exact law, 10 000 points to 5": {"law": "exact", "reach": 5.0},
}
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


@lru_cache(maxsize=4)
def _spectrum(kernel: PaperKernel) -> tuple[SpectralTable, Callable[[FloatArray], FloatArray], Any]:
    """The table, the density on R^d, and the density of the radius."""
    # Imported here because most experiments do not derive a table.
    import spectra as sp

    measure = sp.spectral_measure(sp.radial(kernel.text), _DIM)
    density = sp.spectral_density(sp.radial(kernel.text), _DIM)
    return sp.tabulate(measure), density.density, density.radial


def _make(kernel: PaperKernel, scheme: str, s: int, seed: int) -> Any:
    if scheme == "ours":
        return make_features(kernel, "ours", 4 * s, seed)
    table, density, radial = _spectrum(kernel)
    rng = np.random.default_rng(seed)

    def draw(X: FloatArray) -> Frequencies:
        if scheme in _GRIDS:
            options = _GRIDS[scheme]
            law = density if options["law"] == "published" else radial
            return grid_frequencies(law, _DIM, 2 * s, rng=rng, **options)
        if scheme == "importance":
            return importance_frequencies(density, _DIM, 2 * s, deviation=1.0, rng=rng)
        size = _POOL * s if scheme == "leverage" else s
        coupling = "orthogonal" if scheme == "orthogonal" else "iid"
        drawn = draw_frequencies(
            table, (size, size), coupling=coupling, radii="iid", random_state=rng
        )
        if scheme == "leverage":
            return leverage_frequencies(drawn, X, 2 * s, ridge=_RIDGE, rng=rng)
        return drawn

    return _DrawnFeatures(draw)


@cache
def _bias(kernel: PaperKernel, scheme: str) -> float:
    X, exact = rows_and_gram("letter", kernel)
    options = _GRIDS[scheme]
    _, density, radial = _spectrum(kernel)
    z = np.linspace(0.0, 2.0, 400)
    mean = grid_mean(density if options["law"] == "published" else radial, _DIM, z, **options)
    return matrix_error(np.interp(cdist(X, X), z, mean), exact)


def _cells() -> list[Cell]:
    schemes = ("inverse distribution", *_GRIDS, "importance", "orthogonal", "leverage", "ours")
    cells = []
    for k in (DELTA_GAUSSIAN, NEAR_GAUSSIANS):
        for m in schemes:
            for column, s in _SIZES.items():
                error = error_over_seeds("letter", k, lambda i, k=k, m=m, s=s: _make(k, m, s, i))  # type: ignore[misc]
                cells.append(Cell(f"{k.text}, letter", m, f"s={column}", error))
        for m in _GRIDS:
            bias = computed_once(lambda k=k, m=m: _bias(k, m))  # type: ignore[misc]
            cells += [
                Cell(f"{k.text}, letter", f"{m}: its bias", f"s={column}", bias)
                for column in _SIZES
            ]
    return cells


LIU_SAMPLING = Experiment(
    title="Ways to sample the frequencies of GRFF",
    source="Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 4",
    measures="|K - K^|/|K| on 1000 rows of letter (less is better)",
    cells=_cells,
    notes=__doc__,
)

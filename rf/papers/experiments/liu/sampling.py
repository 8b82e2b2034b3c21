"""Figure 4 of Liu et al.: ways to sample the frequencies of GRFF.

The schemes are those of the paper: rejection on a grid of radii, with its length and number of
points; importance sampling from a Gaussian surrogate; orthogonal Monte Carlo; leverage-score
weights.  No numbers are printed.  The grid is shown with the law of radii of the published code,
which lacks the factor w^(d-1), and with the exact one; "its bias" is the error that no number of
frequencies removes, and is exact.  (The published errors of the delta-Gaussian kernel elsewhere fit
the exact law.)  All have 2s frequencies and 4s columns.  Importance sampling has its surrogate at
the wider of the two spectra, N(0, I): the variance is infinite for those much narrower.  In d = 16
one draw has the variance 7e2 for lengths 1 and 2, and 4e13 for 1 and 10, carried by frequencies
that are never met, so that what is seen is the kernel without its negative part.
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
from rf.papers.experiments.approximation import sample_rows, summarise
from rf.papers.experiments.methods import DELTA_GAUSSIAN, NEAR_GAUSSIANS, PaperKernel, features_of
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
_POOL, _RIDGE = 4, 1e-3


class _Drawn:
    """The matrix that one draw of frequencies estimates, for rows X."""

    def __init__(self, draw: Callable[[FloatArray], Frequencies]) -> None:
        self._draw = draw

    def fit(self, X: FloatArray) -> _Drawn:
        self._found = self._draw(X)
        return self

    def gram(self, X: FloatArray) -> FloatArray:
        angles = X @ self._found.frequencies.T
        signed = self._found.weights * np.cos(self._found.phases)
        waves = np.cos(angles), np.sin(angles)
        return np.asarray(sum((wave * signed) @ wave.T for wave in waves))


@lru_cache(maxsize=4)
def _law(kernel: PaperKernel) -> tuple[SpectralTable, Callable[[FloatArray], FloatArray], Any]:
    """The table, and the densities of the measure and of its radius."""
    # Deriving kernels needs sympy, which a list of experiments does not.
    import spectra as sp

    measure = sp.spectral_measure(sp.radial(kernel.text), _DIM)
    density = sp.spectral_density(sp.radial(kernel.text), _DIM)
    return sp.tabulate(measure), density.density, density.radial


def _scheme(kernel: PaperKernel, scheme: str, s: int, seed: int) -> Any:
    if scheme == "ours":
        return features_of(kernel, "ours", 4 * s, seed)
    table, density, radial = _law(kernel)
    rng = np.random.default_rng(seed)
    if scheme in _GRIDS:
        options = _GRIDS[scheme]
        law = density if options["law"] == "published" else radial
        return _Drawn(lambda _: grid_frequencies(law, _DIM, (s, s), rng=rng, **options))
    if scheme == "importance":
        return _Drawn(
            lambda _: importance_frequencies(density, _DIM, 2 * s, deviation=1.0, rng=rng)
        )
    if scheme == "leverage":
        pool = draw_frequencies(table, (_POOL * s, _POOL * s), coupling="iid", radii="iid", rng=rng)
        return _Drawn(lambda X: leverage_frequencies(pool, X, 2 * s, ridge=_RIDGE, rng=rng))
    coupling = "orthogonal" if scheme.startswith("orthogonal") else "iid"
    return _Drawn(
        lambda _: draw_frequencies(table, (s, s), coupling=coupling, radii="iid", rng=rng)
    )


def _error(
    kernel: PaperKernel, scheme: str, s: int, folder: str | None
) -> Callable[[int], tuple[float, float]]:
    def compute(runs: int) -> tuple[float, float]:
        X = sample_rows("letter", folder=folder)
        return summarise(lambda seed: _scheme(kernel, scheme, s, seed), X, kernel.gram(X, X), runs)

    return compute


@cache
def _bias(kernel: PaperKernel, scheme: str, folder: str | None) -> float:
    X = sample_rows("letter", folder=folder)
    exact, options = kernel.gram(X, X), _GRIDS[scheme]
    _, density, radial = _law(kernel)
    z = np.linspace(0.0, 2.0, 400)
    mean = grid_mean(density if options["law"] == "published" else radial, _DIM, z, **options)
    found = np.interp(cdist(X, X), z, mean)
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def _cells(folder: str | None) -> list[Cell]:
    schemes = ("inverse distribution", *_GRIDS, "importance", "orthogonal", "leverage", "ours")
    cells = []
    for kernel in (DELTA_GAUSSIAN, NEAR_GAUSSIANS):
        group = f"{kernel.text}, letter"
        cells += [
            Cell(group, scheme, f"s={column}", _error(kernel, scheme, s, folder))
            for scheme in schemes
            for column, s in _SIZES.items()
        ]
        cells += [
            Cell(
                group,
                f"{scheme}: its bias",
                f"s={column}",
                lambda _, k=kernel, m=scheme: (_bias(k, m, folder), 0.0),  # type: ignore[misc]
            )
            for scheme in _GRIDS
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

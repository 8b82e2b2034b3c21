"""Figure 1 of Luo et al.: how much orthogonality reduces the variance, exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from rf.papers.baselines import PolynomialGRFF
from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import Compute, computed_once
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    GORF,
    GORF_BLOCKS,
    LINEAR_POLYNOMIAL,
    NEAR_GAUSSIANS,
    PaperKernel,
)
from rf.sampling import COUPLINGS
from rf.variance import VarianceModel, optimal_split
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

__all__ = ["GORF_VARIANCE"]

_DISTANCES = {f"z={z:g}": i for i, z in enumerate((0.25, 0.5, 1.0, 1.5, 2.0))}
_ABSOLUTE, _CUT = "GRFF, times s", "cut Haar matrices, signs independent"
_BEST = f"{SPECTRA}: blocks, strata, best split"
_METHODS = (GORF, _CUT, GORF_BLOCKS, "shared directions", _BEST)
_COUPLINGS = {GORF: "haar", GORF_BLOCKS: "orthogonal", "shared directions": "shared"}
_CASES = (
    (DELTA_GAUSSIAN, 100, "radii without w^(d-1)"),
    (LINEAR_POLYNOMIAL, 32, "radii without w^(d-1)"),
    (DELTA_GAUSSIAN, 16, "exact radii"),
    (DELTA_GAUSSIAN, 100, "exact radii"),
    (NEAR_GAUSSIANS, 16, "exact radii"),
)
# Number of radii without w^(d-1), and the largest one for polynomials (True) or Gaussians.
_POINTS, _END = 2000, {True: 60.0, False: 9.0}


@lru_cache(maxsize=1)
def _model(kernel: PaperKernel, dim: int, radii: str) -> VarianceModel:
    return VarianceModel(_table(kernel, dim, radii), np.array([0.25, 0.5, 1.0, 1.5, 2.0]))


def _table(kernel: PaperKernel, dim: int, radii: str) -> SpectralTable:
    # Imported here because most experiments do not derive a table.
    import spectra as sp

    if radii != "exact radii":
        return _table_of_atoms(dim, *_published_radii(kernel, dim))
    table: SpectralTable = sp.derive(kernel.text, dim)
    return table


def _table_of_atoms(dim: int, radii: ArrayLike, masses: ArrayLike) -> SpectralTable:
    import spectra as sp

    table: SpectralTable = sp.tabulate(sp.SpectralMeasure.from_atoms(dim, radii, masses))
    return table


def _published_radii(kernel: PaperKernel, dim: int) -> tuple[FloatArray, FloatArray]:
    """Radii and their signed masses, without w^(d-1)."""
    end = _END[kernel.power is not None]
    if kernel.power is not None:
        a, p = kernel.power
        return PolynomialGRFF(a=a, degree=p, w_max=end, n_grid=_POINTS).grid_masses(dim)
    radii = (np.arange(_POINTS) + 0.5) * (end / _POINTS)
    wide = np.exp(-0.5 * radii**2)
    narrow = np.exp(-0.5 * (kernel.length * radii) ** 2)
    masses: FloatArray = wide / wide.sum() - narrow / narrow.sum()
    return np.asarray(radii, dtype=float), masses


def _variance(model: VarianceModel, dim: int, method: str) -> FloatArray:
    """The variance of s = d frequencies of each sign at all distances."""
    if method == _CUT:  # the parts one by one, so that their frequencies are independent
        parts = [
            replace(model.table, parts=(part,), k_zero=part.sign * part.mass)
            for part in model.table.parts
        ]
        models = [VarianceModel(table, model.points) for table in parts]
        return np.sum([m.variance((dim,), coupling="haar")[0] for m in models], axis=0)
    if method == _BEST:
        split = optimal_split(model, 2 * dim, COUPLINGS["orthogonal"])
        return model.variance(split, coupling="orthogonal", radii="stratified")[0]
    return model.variance((dim, dim), coupling=_COUPLINGS.get(method, "iid"))[0]


def _number(kernel: PaperKernel, dim: int, radii: str, method: str, place: int) -> float:
    model = _model(kernel, dim, radii)
    independent = model.variance((dim, dim), coupling="iid")[0][place]
    if method == _ABSOLUTE:
        return float(dim * independent)
    return float(_variance(model, dim, method)[place] / independent)


def _measure(case: tuple[PaperKernel, int, str], method: str, place: int) -> Compute:
    return computed_once(lambda: _number(*case, method, place))


def _cells() -> list[Cell]:
    cells: list[Cell] = []
    absolute: list[Cell] = []
    for case in _CASES:
        kernel, dim, radii = case
        name, measure = f"{kernel.name}, d={dim}, {radii}", partial(_measure, case)
        cells += block(name, _METHODS, _DISTANCES, measure)
        absolute += [
            replace(cell, group=_ABSOLUTE, method=name)
            for cell in block(name, (_ABSOLUTE,), _DISTANCES, measure)
        ]
    return cells + absolute


GORF_VARIANCE = Experiment(
    title="The variance that orthogonality takes away",
    source="Luo, Fang, Yang, Huang, arXiv 2104.06204, Figure 1",
    measures="variance over that of independent frequencies (GRFF), s = d (less is better)",
    cells=_cells,
    axes=("distance z", "variance over that of GRFF"),
    digits=5,
    notes=f"""
The published scripts plot -(s-1)/s (E Omega(z (R1^2 + R2^2)^(1/2)) - (E Omega(R z))^2) summed over
both signs, by Monte Carlo with 20 000 draws, for s = d.  R, R1 and R2 are independent radii, drawn
from the density without w^(d-1); Omega(w z) is the mean of cos(w e.(x - y)) over unit vectors e.
The kernels are the polynomial a = 3, m = 1 in d = 32 and the difference of Gaussians of lengths 1
and 10 in d = 100.  This reduction is that of orthogonal blocks *within* each sign.  It omits the
cross term H of the paper's Theorem 6, and it is not that of Algorithm 1.

Here every number is exact (rf.variance), with s = d frequencies of each sign; no seeds enter.  The
loss of Algorithm 1 has two causes.  "{_CUT}" draws the signs from separate Haar matrices of order
2d cut to d entries: the columns are not orthogonal, and this explains nearly the whole loss for
lengths 1 and 10.  The step from there to "{GORF}" is the orthogonality *between* the signs: small
for lengths 1 and 10, a quarter of the variance for lengths 1 and 2.

"radii without w^(d-1)" has the published density on a grid of {_POINTS} radii up to 60 (polynomial)
or 9 (Gaussians).  The grid of the scripts has the step .5, on which a third of the radii for length
1, and all for length 10, are 0; it is not used here.  The exact measure of the polynomial has
infinite mass in d = 32.  The last block, "{_ABSOLUTE}", is the variance of GRFF multiplied by s.
""",
)

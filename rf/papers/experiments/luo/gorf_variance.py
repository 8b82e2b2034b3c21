"""Figure 1 of Luo et al.: how much orthogonality reduces the variance, exactly.

The published script plots -(s-1)/s (E Omega(z (R1^2 + R2^2)^(1/2)) - (E Omega(R z))^2) summed over
both signs, by Monte Carlo with 20 000 draws, for s = d.  R, R1 and R2 are independent radii, drawn
from the density without w^(d-1); Omega(w z) is the mean of cos(w e.(x - y)) over unit vectors e.
The kernels are the polynomial a = 3, p = 1 in d = 32 and the difference of Gaussians of lengths 1
and 10 in d = 100.  This reduction is that of orthogonal blocks *within* each sign.  It omits the
cross term H of the paper's theorem, which arises if both signs have orthogonal frequencies, as in
Algorithm 1.

Here every number is exact (rf.variance.variance): the variance over that of independent
frequencies (GRFF) at distance z, with s = d frequencies of each sign.  "published law" has the
published radii, on 2000 points; the exact measure of the polynomial has infinite mass in d = 32.
The last block, "GRFF, times s", is the variance of GRFF multiplied by s.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rf.papers.baselines import PolynomialGRFF
from rf.papers.experiments.approximation import Compute
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    LINEAR_POLYNOMIAL,
    NEAR_GAUSSIANS,
    PaperKernel,
)
from rf.papers.experiments.tables import Cell, Experiment
from rf.sampling import COUPLINGS
from rf.variance import VarianceModel, optimal_split
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

__all__ = ["GORF_VARIANCE"]

_DISTANCES = (0.25, 0.5, 1.0, 1.5, 2.0)
_ABSOLUTE = "GRFF, times s"
# Coupling, radii, and whether the split over the signs is that of least variance.
_SCHEMES = {
    "GORF, Algorithm 1": ("haar", "iid", False),
    "blocks within each sign": ("orthogonal", "iid", False),
    "shared directions": ("shared", "iid", False),
    "ours: blocks, strata, best split": ("orthogonal", "stratified", True),
}
_CASES = (
    (DELTA_GAUSSIAN, 100, "published law"),
    (LINEAR_POLYNOMIAL, 32, "published law"),
    (DELTA_GAUSSIAN, 16, "exact law"),
    (DELTA_GAUSSIAN, 100, "exact law"),
    (NEAR_GAUSSIANS, 16, "exact law"),
)
# The published grid: number of radii, and the largest one for polynomials (True) or Gaussians.
_POINTS, _END = 2000, {True: 60.0, False: 9.0}


@lru_cache(maxsize=1)
def _model(kernel: PaperKernel, dim: int, law: str) -> VarianceModel:
    return VarianceModel(_table(kernel, dim, law), np.array(_DISTANCES))


def _table(kernel: PaperKernel, dim: int, law: str) -> SpectralTable:
    # Imported here because most experiments do not derive a table.
    import spectra as sp

    if law == "exact law":
        measure = sp.spectral_measure(sp.radial(kernel.text), dim)
    else:
        measure = sp.SpectralMeasure.from_atoms(dim, *_published_radii(kernel, dim))
    table: SpectralTable = sp.tabulate(measure)
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
    return np.asarray(radii), np.asarray(wide / wide.sum() - narrow / narrow.sum())


def _cell(kernel: PaperKernel, dim: int, law: str, scheme: str, place: int) -> Compute:
    def compute(runs: int) -> tuple[float, float]:
        model, equal = _model(kernel, dim, law), (dim, dim)
        iid = model.variance(equal, coupling="iid")[0][place]
        if scheme == _ABSOLUTE:
            return float(dim * iid), 0.0
        coupling, radii, best = _SCHEMES[scheme]
        split = optimal_split(model, 2 * dim, COUPLINGS[coupling]) if best else equal
        found, bound = model.variance(split, coupling=coupling, radii=radii)  # type: ignore[arg-type]
        return float(found[place] / iid), float(bound[place] / iid)

    return compute


def _cells() -> list[Cell]:
    cells = []
    for kernel, dim, law in _CASES:
        case = f"{kernel.name}, d={dim}, {law}"
        for scheme in (*_SCHEMES, _ABSOLUTE):
            group, method = (scheme, case) if scheme == _ABSOLUTE else (case, scheme)
            cells += [
                Cell(group, method, f"z={z:g}", _cell(kernel, dim, law, scheme, place))
                for place, z in enumerate(_DISTANCES)
            ]
    # The absolute variances last, as one block.
    return sorted(cells, key=lambda cell: cell.group == _ABSOLUTE)


GORF_VARIANCE = Experiment(
    title="The variance that orthogonality takes away",
    source="Luo, Fang, Yang, Huang, arXiv 2104.06204, Figure 1",
    measures="variance over that of GRFF, s = d (less is better)",
    cells=_cells,
    digits=5,
    notes=__doc__,
)

"""Columns that the bounds of the papers ask for, beside bounds over pairs of rows."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from rf.papers.bounds import BOUNDS, uniform_columns
from rf.papers.experiments.experiment import Cell, Experiment, block
from rf.papers.experiments.measures import Compute, computed_once
from rf.papers.experiments.methods import DELTA_GAUSSIAN, GAUSSIAN, PaperKernel
from rf.variance import n_components_for

__all__ = ["BOUND_COLUMNS"]

_ERRORS = {f"eps={e:g}": e for e in (0.2, 0.1, 0.05)}
_DELTA, _DIM, _POINTS, _DIAMETER = 0.05, 16, 1000, 2.0
_UNIFORM = dict(
    zip(("Liu, Proposition 3.1", "He, Proposition 6", "uniform, repaired"), BOUNDS, strict=True)
)
_PAIRS = {f"pairs of {_POINTS} rows, {b.title()}": b for b in ("hoeffding", "bernstein")}


@lru_cache(maxsize=2)
def _table(kernel: PaperKernel) -> Any:
    # Imported here because most experiments do not derive a table.
    import spectra as sp

    return sp.derive(kernel.text, _DIM)


def _measure(kernel: PaperKernel, row: str, eps: float) -> Compute:
    def columns() -> float:
        options: Any = {"diameter": _DIAMETER}
        if row in _UNIFORM:
            return uniform_columns(_table(kernel), eps, _DELTA, bound=_UNIFORM[row], **options)
        options |= {"n_points": _POINTS, "bound": _PAIRS[row]}
        return n_components_for(_table(kernel), eps, _DELTA, **options)

    return computed_once(columns)


def _cells() -> list[Cell]:
    rows = (*_UNIFORM, *_PAIRS)
    return [
        cell
        for kernel in (DELTA_GAUSSIAN, GAUSSIAN)
        for cell in block(f"{kernel.name}, d={_DIM}", rows, _ERRORS, partial(_measure, kernel))
    ]


BOUND_COLUMNS = Experiment(
    title="Columns that the bounds of the papers ask for",
    source="Liu et al., AISTATS 2021, Proposition 3.1; He et al., 2022, Proposition 6",
    measures=f"columns for errors of at most eps with probability {1 - _DELTA:g} (less is better)",
    cells=_cells,
    axes=("largest absolute error, eps", "columns"),
    digits=0,
    notes=f"""
Unit rows, so the diameter is 2; independent frequencies, as many for each part.  He's bound is
applied to the two real parts of a symmetric kernel.  Liu's and He's bounds do not hold as stated
(see the errata); "uniform, repaired" is the corrected one (`rf.papers.bounds`).  The bounds over
pairs hold for {_POINTS} rows (`SpectralFeatures.n_components_for`).  No seeds enter.
""",
)

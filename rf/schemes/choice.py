"""Choose the coupling and the number of frequencies of each part of a table."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rf.inputs.rows import KnownRows, sample_of_rows
from rf.schemes.radial import RadialScheme
from rf.schemes.scheme import RANKED_PAIRS, SamplingOptions, TableScheme
from spectra.table import SpectralTable

__all__ = ["scheme_for"]

# Schemes kept in memory: several seeds fit the same kernel to the same rows.
_RECENT = 16


def scheme_for(
    table: SpectralTable, n: int, options: SamplingOptions, X: Any = None
) -> TableScheme:
    """The scheme of least predicted variance over the rows X, within the options.

    If there are more parts than frequencies, these are independent, each of a part that is drawn
    by mass.  The scheme depends on what is passed alone, and recent ones are kept in memory.

    ``n``: frequencies in all; ``X`` (n_samples, d): without rows "auto" is "orthogonal" (for the l1
    distance "iid"), and allocation "optimal" is not possible.
    """
    if X is None:
        return _chosen(table, n, options, None, 1)
    scheme = _chosen(table, n, options, KnownRows(sample_of_rows(X)), X.shape[0])
    if table.kind != "shifted" or options.coupling not in ("auto", "iid"):
        return scheme
    from rf.schemes.complex import least_axial_scheme

    return least_axial_scheme(scheme, n, options)


@lru_cache(maxsize=_RECENT)
def _chosen(
    table: Any, n: int, options: SamplingOptions, sample: KnownRows | None, n_rows: int
) -> TableScheme:
    rows = None if sample is None else sample.rows
    scheme = _scheme_of(table)(table, radii=options.radii, rows=rows, n_rows=n_rows)
    coupling = options.coupling
    if options.counts is not None:
        return replace(scheme, coupling=coupling, counts=options.counts)
    if coupling != "auto":
        scheme.check_coupling(coupling)
    parts = len(table.parts)
    if parts > n:
        return replace(scheme, coupling="iid", counts=(n,), pooled=True)
    offered = scheme.offered(n) if coupling == "auto" and rows is not None else ()
    if len(offered) < 2:
        default = offered[0] if offered else scheme.default_coupling
        coupling = default if coupling == "auto" else coupling
        if parts == 1:
            return replace(scheme, coupling=coupling, counts=(n,))
    from rf.variance.allocation import split
    from rf.variance.coupling_score import ranked_couplings

    if len(offered) < 2:
        at_rows = options.allocation == "optimal"
        nowhere = np.zeros((0, table.dim))
        model = scheme.typical_model(RANKED_PAIRS) if at_rows else scheme.model(nowhere)
        counts = split(model, n, allocation=options.allocation, coupling=coupling)
        return replace(scheme, coupling=coupling, counts=counts)
    model = scheme.typical_model(RANKED_PAIRS)
    scores = ranked_couplings(
        model, n, couplings=offered, radii=options.radii, allocation=options.allocation
    )
    best = scores[0]
    return replace(scheme, coupling=best.coupling, counts=best.counts, compared=scores)


def _scheme_of(table: SpectralTable) -> type[TableScheme]:
    """The implementation for a kind of table; only what is needed is imported."""
    if table.kind == "grouped":
        from rf.schemes.grouped import GroupedScheme

        return GroupedScheme
    if table.kind == "l1":
        from rf.schemes.l1 import L1Scheme

        return L1Scheme
    return RadialScheme

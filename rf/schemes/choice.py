"""Choose how a table is sampled: by which scheme, coupling and frequencies of each part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rf.inputs.rows import KnownRows, sample_of_rows
from rf.sampling.frequencies import Allocation, Radii
from rf.schemes.scheme import RANKED_PAIRS, RadialScheme, TableScheme
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.inputs.tables import Layout

__all__ = ["SamplingOptions", "scheme_for"]

# Schemes kept in memory: several seeds fit the same kernel to the same rows.
_RECENT = 16


@dataclass(frozen=True)
class SamplingOptions:
    """How frequencies are to be drawn, from the parameters of an estimator.

    ``coupling``, ``radii``, ``allocation``: as in :class:`rf.SpectralFeatures`; ``counts``:
    frequencies of each part, if the masses were made for them.
    """

    coupling: str
    radii: Radii
    allocation: Allocation
    counts: tuple[int, ...] | None = None

    def laid_out(self, layout: Layout, n_components: int) -> SamplingOptions:
        """These options with the coupling and the split of a design that was made for them."""
        if self.coupling not in ("auto", layout.coupling):
            raise ParameterError(
                f"The design was made for coupling={layout.coupling!r}, with which alone its "
                f"masses cancel, and coupling={self.coupling!r} was asked for. Take "
                f"coupling='auto' or {layout.coupling!r}."
            )
        if n_components < layout.columns:
            raise ParameterError(
                f"The design fills {layout.columns} columns, and n_components is {n_components}. "
                "Ask for as many, or design for fewer (budget=)."
            )
        return replace(self, coupling=layout.coupling, counts=layout.counts)


def scheme_for(
    table: SpectralTable, n: int, options: SamplingOptions, X: Any = None
) -> TableScheme:
    """The scheme of least predicted variance over the rows X, within the options.

    If there are more parts than frequencies, these are independent, each of a part that is drawn
    by mass; couplings other than "iid" are refused.  The scheme depends on what is passed alone,
    and recent ones are kept in memory.

    ``n``: frequencies in all; ``X`` (n_samples, d): without rows "auto" is "orthogonal" (for the l1
    distance "iid"), and allocation "optimal" is not possible.
    """
    if X is None:
        return _chosen(table, n, options, None, 1)
    scheme = _chosen(table, n, options, KnownRows(sample_of_rows(X)), X.shape[0])
    if table.kind != "shifted" or options.coupling not in ("auto", "iid"):
        return scheme
    from rf.schemes.complex import least_axial_scheme

    return least_axial_scheme(scheme, n, allocation=options.allocation, radii=options.radii)


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
        if coupling not in ("auto", "iid") and n > 1:
            raise ParameterError(
                f"coupling={coupling!r} needs a frequency for each of the {parts} parts of "
                f"{table.formula}, and there are {n}. Ask for n_components >= {2 * parts}, or "
                "take GRFF, or SpectralFeatures with coupling='auto' or 'iid', which draw the part "
                "of each frequency."
            )
        # A single frequency has any coupling.
        coupling = "iid" if coupling == "auto" else coupling
        return replace(scheme, coupling=coupling, counts=(n,), pooled=True)
    offered = scheme.offered(n) if coupling == "auto" and rows is not None else ()
    if len(offered) < 2:
        default = offered[0] if offered else scheme.default_coupling
        coupling = default if coupling == "auto" else coupling
        if parts == 1:
            return replace(scheme, coupling=coupling, counts=(n,))
    from rf.variance.allocation import ranked_couplings, split

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

"""The entries of symmetric kernels without a table in many columns: features are made for data."""

from __future__ import annotations

import sympy

from spectra.kernels.catalogue.entry import Entry, positive_parameter
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import l1

__all__ = ["ON_DATA"]


def _truncated_l1(tau: sympy.Expr) -> CompositeKernel:
    return l1("Max(tau - z, 0)", tau=tau)


#: The named kernels whose features are made for the data.
ON_DATA: tuple[Entry, ...] = (
    Entry(
        id="tl1",
        title="Truncated l1 distance, z = |x - y|_1; tau of 0.7 d is usual for columns in [0, 1]",
        formula="Max(tau - z, 0)",
        finite=sympy.true,
        positive_definite=None,
        reference="Huang et al., IEEE Trans. Neural Netw. Learn. Syst. 29 (2018) 2025",
        parameters=(positive_parameter("tau", 1, "l1 distance beyond which the kernel is zero"),),
        build=_truncated_l1,
    ),
)

"""Is a kernel positive definite? Proofs, each of which holds up to some dimension.

Read in this order: ``sectors`` (complete Bernstein functions of z^2), ``monotone`` (completely
monotone ones), ``closed_forms`` (families whose largest dimension is known), ``one_sign`` (that a
formula keeps its sign) and ``polya`` (criteria of Polya's type), ``proofs`` (the strongest of them,
also for sums, products and power series of positive definite functions).
"""

from spectra.singularities.definiteness.monotone import is_completely_monotone
from spectra.singularities.definiteness.proofs import Proof, proved_on_space, proved_on_sphere
from spectra.singularities.definiteness.sectors import is_complete_bernstein
from spectra.singularities.power_series import has_nonnegative_taylor_series

__all__ = [
    "Proof",
    "has_nonnegative_taylor_series",
    "is_complete_bernstein",
    "is_completely_monotone",
    "proved_on_space",
    "proved_on_sphere",
]

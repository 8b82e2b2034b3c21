"""Prove that a kernel is positive definite on R^d for every d up to some dimension.

``monotone``, ``polya`` and ``closed_forms`` have the rules, and ``proofs`` the strongest proof.
"""

from spectra.definiteness.monotone import is_bernstein, is_completely_monotone
from spectra.definiteness.proofs import Proof, proved_on_space, proved_on_sphere
from spectra.singularities.power_series import has_nonnegative_taylor_series

__all__ = [
    "Proof", "has_nonnegative_taylor_series", "is_bernstein", "is_completely_monotone",
    "proved_on_space", "proved_on_sphere",
]  # fmt: skip

"""Prove that a kernel is positive definite on R^d for every d up to some dimension.

Read in this order: ``monotone`` (completely monotone functions of z^2), ``polya`` (criteria of
Polya's type), ``closed_forms`` (families whose largest dimension is known), ``proofs`` (the
strongest proof, including sums, products and power series of positive definite functions).
"""

from spectra.definiteness.monotone import (
    is_complete_bernstein,
    is_completely_monotone,
)
from spectra.definiteness.proofs import Proof, proved_on_space, proved_on_sphere
from spectra.singularities.power_series import has_nonnegative_taylor_series

__all__ = [
    "Proof",
    "has_nonnegative_taylor_series",
    "is_complete_bernstein",
    "is_completely_monotone",
    "proved_on_space",
    "proved_on_sphere",
]

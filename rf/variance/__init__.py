"""The exact variance of the random-feature estimate of a kernel, for every coupling."""

from rf.variance.allocation import ALLOCATIONS, Allocation, allocate, optimal_split
from rf.variance.bounds import n_components_for
from rf.variance.variance import VarianceModel

__all__ = [
    "ALLOCATIONS",
    "Allocation",
    "VarianceModel",
    "allocate",
    "n_components_for",
    "optimal_split",
]

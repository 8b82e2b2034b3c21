"""The exact variance of the estimate of a kernel, for every coupling."""

from rf.variance.allocation import ALLOCATIONS, Allocation, allocate, apportion, least_split, split
from rf.variance.grouped_variance import GroupedModel
from rf.variance.l1_variance import l1_part_variance
from rf.variance.variance import VarianceModel

__all__ = [
    "ALLOCATIONS",
    "Allocation",
    "GroupedModel",
    "VarianceModel",
    "allocate",
    "apportion",
    "l1_part_variance",
    "least_split",
    "split",
]

"""How features of each kind of kernel are sampled, and their variance."""

from rf.schemes.feature_map import FeatureMap
from rf.schemes.grouped import GroupedModel, allocated_to_groups
from rf.schemes.l1 import l1_part_variance
from rf.schemes.scheme import FeaturePlan, TablePlan

__all__ = [
    "FeatureMap",
    "FeaturePlan",
    "GroupedModel",
    "TablePlan",
    "allocated_to_groups",
    "l1_part_variance",
]

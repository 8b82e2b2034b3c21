"""Gaussian random fields: paths of exactly the covariance that a table stands for."""

from rf.fields.conditioned import ConditionedField
from rf.fields.gaussian_field import GaussianField
from rf.fields.paths import Path

__all__ = ["ConditionedField", "GaussianField", "Path"]

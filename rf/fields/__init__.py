"""Gaussian random fields: paths of exactly the covariance that a table stands for.

Read in this order: ``gaussian_field`` (the door), ``covariance`` (what it asks of a table),
``paths`` (one path as a function), ``conditioned`` and ``gradients`` (paths through data, and their
gradients).
"""

from rf.fields.conditioned import ConditionedField
from rf.fields.gaussian_field import GaussianField
from rf.fields.paths import Path

__all__ = ["ConditionedField", "GaussianField", "Path"]

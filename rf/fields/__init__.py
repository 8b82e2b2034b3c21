"""Gaussian random fields: paths whose covariance is exactly the kernel of a table.

Read in this order: ``gaussian_field`` (the class for users), ``covariance`` (its covariance),
``paths`` (one path as a function), ``conditioned`` and ``gradients`` (paths through data, and their
gradients).
"""

from rf.fields.conditioned import ConditionedField
from rf.fields.gaussian_field import GaussianField
from rf.fields.paths import Path

__all__ = ["ConditionedField", "GaussianField", "Path"]

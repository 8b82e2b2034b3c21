"""Gaussian random fields: paths whose covariance is exactly the kernel of a table.

Read in this order: ``gaussian_field`` (the class for users), ``covariance`` (its covariance),
``paths`` (one path as a function), ``conditioned`` and ``gradients`` (paths through data, and their
gradients), ``sphere_field`` and ``harmonics`` (fields on latitude and longitude).
"""

from rf.fields.conditioned import ConditionedField
from rf.fields.gaussian_field import GaussianField
from rf.fields.paths import Path
from rf.fields.sphere_field import SphereField, SphereGrid, unit_vectors

__all__ = [
    "ConditionedField",
    "GaussianField",
    "Path",
    "SphereField",
    "SphereGrid",
    "unit_vectors",
]

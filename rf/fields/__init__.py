"""Gaussian random fields: paths whose covariance is exactly the kernel of a table.

Read in this order: ``gaussian_field`` (the class for users), ``covariance`` (its covariance),
``paths`` (one path as a function), ``conditioned`` and ``gradients`` (paths through data, and their
gradients), ``drift`` (an unknown mean), ``vecchia`` (sparse factors for many points),
``sphere_field`` and ``harmonics`` (fields on latitude and longitude).
"""

from rf.fields.conditioned import ConditionedField, checked_noise
from rf.fields.drift import Drift, KrigingSystem
from rf.fields.gaussian_field import GaussianField
from rf.fields.paths import Path
from rf.fields.sphere_field import SphereField, SphereGrid, unit_vectors
from rf.fields.vecchia import neighbour_blocks

__all__ = [
    "ConditionedField", "Drift", "GaussianField", "KrigingSystem", "Path", "SphereField",
    "SphereGrid", "checked_noise", "neighbour_blocks", "unit_vectors",
]  # fmt: skip

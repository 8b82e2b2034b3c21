"""Finite measures that are designed for a range of distances.

A design is a signed measure on few spheres of frequencies; its features approximate a kernel on a
range of distances.  :func:`design` minimises the variance or the mass within a tolerance (module
``least_mass``), or the mean squared error for a number of columns (``shared_directions``).
"""

from spectra.designs.designed_measure import Coupling, Design, power_columns
from spectra.designs.distances import checked_distances
from spectra.designs.shared_directions import design_for_columns
from spectra.designs.solve import design
from spectra.designs.wave_variance import angular_means, wave_moment

__all__ = [
    "Coupling", "Design", "angular_means", "checked_distances", "design", "design_for_columns",
    "power_columns", "wave_moment",
]  # fmt: skip

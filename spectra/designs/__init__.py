"""Finite measures designed for a range of distances.

``solve`` holds :func:`design`, ``designed_measure`` the :class:`Design` that it returns.
``least_mass`` minimises the mass or the variance within a tolerance, by linear programmes with
exchange (``linear_programme``); ``shared_directions`` minimises the mean squared error for a number
of columns.  They use ``wave_columns`` (variances of plane waves) and ``distances`` (the domain,
the distribution of distances and the largest error).
"""

from spectra.designs.designed_measure import Coupling, Design, power_columns
from spectra.designs.distances import checked_distances
from spectra.designs.shared_directions import design_for_columns
from spectra.designs.solve import design
from spectra.designs.wave_columns import angular_means, wave_moment

__all__ = [
    "Coupling",
    "Design",
    "angular_means",
    "checked_distances",
    "design",
    "design_for_columns",
    "power_columns",
    "wave_moment",
]

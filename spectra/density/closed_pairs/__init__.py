"""Closed pairs: families of kernels on the half-line whose spectral density is a formula.

``pair`` defines :class:`Family`, a name and three functions, and :class:`ClosedPair`, the component
that a family makes in one dimension.  To add a family, write one file (``plane_wave_mean`` is a
short example) and add its name to :data:`FAMILIES`.
"""

from spectra.density.closed_pairs.gaussian import GAUSSIAN, GAUSSIAN_WAVE, coefficients
from spectra.density.closed_pairs.matern import MATERN
from spectra.density.closed_pairs.pair import ClosedPair, Family, W
from spectra.density.closed_pairs.plane_wave_mean import PLANE_WAVE_MEAN
from spectra.density.closed_pairs.rational_quadratic import RATIONAL_QUADRATIC

__all__ = [
    "FAMILIES",
    "GAUSSIAN",
    "MATERN",
    "RATIONAL_QUADRATIC",
    "ClosedPair",
    "Family",
    "W",
    "coefficients",
]

#: All families.  A summand belongs to the first family that reads it.
FAMILIES = (GAUSSIAN, GAUSSIAN_WAVE, MATERN, RATIONAL_QUADRATIC, PLANE_WAVE_MEAN)

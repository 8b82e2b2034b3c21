"""Decompositions of the complex measures of shifted and tilted Gaussians, from which AsKRFF draws.

The kernel K(D) = sum_j c_j k(D + t_j e), |e| = 1, has the density of the Gaussian k times the
modulation a(e.w) = sum_j c_j exp(i t_j e.w) = A + iB.  A decomposition writes it as parts with
nonnegative densities.  Read in this order: ``selection`` (the nonnegative functions of a),
``axis_law`` (exact draws of the coordinate e.w), ``axial_part`` (mass, draws, moments and variance
of one part), ``decomposition`` (the parts of a measure), ``scheme`` (how many frequencies of each).
"""

from rf.schemes.complex.axial_part import AxialPart
from rf.schemes.complex.axis_law import AxisLaw
from rf.schemes.complex.decomposition import DECOMPOSITIONS, NEGLIGIBLE, AxialTable, Decomposition
from rf.schemes.complex.scheme import AxialScheme, axial_scheme, least_axial_scheme
from rf.schemes.complex.selection import SELECTIONS, Modulation

__all__ = [
    "DECOMPOSITIONS",
    "NEGLIGIBLE",
    "SELECTIONS",
    "AxialPart",
    "AxialScheme",
    "AxialTable",
    "AxisLaw",
    "Decomposition",
    "Modulation",
    "axial_scheme",
    "least_axial_scheme",
]

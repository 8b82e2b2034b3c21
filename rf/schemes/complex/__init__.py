"""Complex measures of asymmetric kernels, split into the parts that AsKRFF draws from.

For shifted and tilted Gaussians.  Numpy and scipy only.  Read in this order: ``selection`` (which
function of the multiplier of the shifts a part samples), ``axis_law`` (exact draws along the axis),
``axial_part`` (mass, draws, moments and variance of one part), ``decomposition`` (the parts of a
measure), ``scheme`` (how many frequencies of each).
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

"""Complex measures as arrays: radial laws under the phases of a shift, sampled, saved and loaded.

Numpy and scipy only, as :mod:`spectra.table`, on which it builds.  Read in this order:
``modulation`` (what a shift multiplies a measure by), ``axis_law`` and ``axial_rejection`` (exact
draws), ``radial_interpolant``, ``axial_part`` (mass, draws and moments of one part),
``asymmetric_table`` (the parts of a kernel).
"""

from spectra.modulated.asymmetric_table import (
    DECOMPOSITIONS,
    NEGLIGIBLE,
    AsymmetricTable,
    Decomposition,
    Modulated,
)
from spectra.modulated.axial_part import AxialPart, Draws
from spectra.modulated.axis_law import AxisLaw
from spectra.modulated.modulation import SELECTIONS, Modulation

__all__ = [
    "DECOMPOSITIONS",
    "NEGLIGIBLE",
    "SELECTIONS",
    "AsymmetricTable",
    "AxialPart",
    "AxisLaw",
    "Decomposition",
    "Draws",
    "Modulated",
    "Modulation",
]

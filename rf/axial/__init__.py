"""Laws of asymmetric kernels along the axis of their shifts: the parts that AsKRFF draws from.

Numpy and scipy only.  Read in this order: ``selection`` (what a part takes of the multiplier that
shifts make), ``axis_law`` and ``rejection`` (exact draws), ``harmonic_sums``, ``axial_part`` (mass,
draws and moments of one part), ``layers`` (the variance of draws in strata), ``decomposition`` (the
parts of a measure), ``plan`` (how many frequencies of each).
"""

from rf.axial.axial_part import AxialPart, Draws
from rf.axial.axis_law import AxisLaw
from rf.axial.decomposition import (
    DECOMPOSITIONS,
    NEGLIGIBLE,
    Decomposed,
    Decomposition,
    jordan_masses,
)
from rf.axial.layers import layer_rule, layered_variance
from rf.axial.plan import AxialPlan, axial_plan, least_axial_plan
from rf.axial.selection import SELECTIONS, Modulation

__all__ = [
    "DECOMPOSITIONS",
    "NEGLIGIBLE",
    "SELECTIONS",
    "AxialPart",
    "AxialPlan",
    "AxisLaw",
    "Decomposed",
    "Decomposition",
    "Draws",
    "Modulation",
    "axial_plan",
    "jordan_masses",
    "layer_rule",
    "layered_variance",
    "least_axial_plan",
]

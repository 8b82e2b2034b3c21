"""Schemes: how the features of a kernel are sampled, and the error of the approximate kernel.

A spectral table writes a kernel as a sum of parts, each with a mass, a sign and a distribution of
frequencies.  A scheme has a coupling (the joint distribution of the frequencies that are drawn) and
counts (how many are drawn from each part).
"""

from rf.schemes.scheme import Scheme
from rf.schemes.table_scheme import TableScheme

__all__ = ["Scheme", "TableScheme"]

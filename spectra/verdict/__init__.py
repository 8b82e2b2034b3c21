"""The verdict on a kernel: does a positive decomposition exist, and is it positive definite?

A kernel has finite mass if :mod:`spectra.singularities` finds no *requirement*, a proved necessary
condition on d, that fails, and no *gap*, a fact that could not be proved, stays open.  ``decide``
holds :func:`existence`, ``combination`` combines requirements and gaps into an answer,
``assumptions`` closes gaps by facts that the user states, and ``verdict`` is the result.  In
``regions``, the same rules are applied to a range of distances and to the sphere.  ``asymmetric``
decides on shifted and tilted kernels, ``columns`` on kernels of groups of columns and of the l1
distance, ``positive_definite`` on positive definiteness; ``report`` prints a verdict in full.
"""

from spectra.verdict.decide import existence, spectral_measure
from spectra.verdict.report import as_data, as_text
from spectra.verdict.status import D, Definiteness, RegionVerdict, Status, in_words
from spectra.verdict.verdict import Verdict

__all__ = [
    "D",
    "Definiteness",
    "RegionVerdict",
    "Status",
    "Verdict",
    "as_data",
    "as_text",
    "existence",
    "in_words",
    "spectral_measure",
]

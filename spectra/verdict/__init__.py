"""The verdict on a kernel: does a positive decomposition exist, and is it positive definite?

:mod:`spectra.singularities` finds *requirements*, which are proved necessary conditions on d, and
*gaps*, facts that could not be proved.  A kernel has finite mass if d meets all requirements and no
gap is open.  ``decide`` holds :func:`existence`, ``combination`` combines both into an answer,
``assumptions`` closes gaps by facts that the user states, and ``verdict`` is the result.
``range_and_sphere`` applies the same rules to a range of distances and to the sphere.
``composite`` decides on sums of products from the verdicts on their factors, ``positive_definite``
on positive definiteness; ``report`` prints a verdict in full.
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

"""The verdict on a kernel: does a positive decomposition exist, and is it positive definite?

``decide`` holds :func:`existence`, ``verdict`` the :class:`Verdict`, ``status`` the answers. Facts
come from :mod:`spectra.singularities`, and from ``assumptions`` if a caller states them;
``asymmetric`` adds the requirements of tilts, and ``columns`` decides on kernels of groups of
columns and of the l1 distance. Rules are in :mod:`spectra.singularities.rules`; ``regions/regions``
applies them to a range of distances and to the sphere. ``decision`` combines requirements with
open gaps, ``positive_definite`` decides on positive definiteness, and ``report`` prints a
verdict in full.
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

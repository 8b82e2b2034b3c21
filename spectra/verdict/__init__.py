"""The verdict on a kernel: does a positive decomposition exist, and is it positive definite?

``decide`` holds :func:`existence`, ``verdict`` the :class:`Verdict`, ``status`` the three
answers. Facts come from :mod:`spectra.singularities`, and from ``callables`` and ``assumptions``
where a caller says them. Rules are in :mod:`spectra.singularities.rules`; ``regions/sphere``
reads them on the sphere, ``regions/bounded_range`` on a range of distances,
``composed/asymmetric`` adds those of shifts and tilts, and ``composed/grouped`` decides on groups
of columns, ``composed/l1`` on kernels of the l1 distance. ``decision`` combines what is certain
with what is open, and ``positive_definite`` decides on positive definiteness.

``report`` prints a verdict in full, ``composed/compositions`` is what verdicts on sums of kernels
share.
"""

from spectra.verdict.composed.grouped import GroupedVerdict
from spectra.verdict.composed.l1 import L1Verdict
from spectra.verdict.decide import existence, spectral_measure
from spectra.verdict.positive_definite import Definiteness
from spectra.verdict.report import as_data, as_text
from spectra.verdict.status import D, DomainVerdict, SphereVerdict, Status, in_words
from spectra.verdict.verdict import Verdict

__all__ = [
    "D",
    "Definiteness",
    "DomainVerdict",
    "GroupedVerdict",
    "L1Verdict",
    "SphereVerdict",
    "Status",
    "Verdict",
    "as_data",
    "as_text",
    "existence",
    "in_words",
    "spectral_measure",
]

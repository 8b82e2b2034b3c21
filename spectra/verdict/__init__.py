"""The verdict on a kernel: does a positive decomposition exist, and is it positive definite?

:mod:`spectra.singularities` finds *requirements*, which are proved necessary conditions on d, and
*gaps*, facts that could not be proved.  A kernel has finite mass if d meets all requirements and no
gap is open.  Start with ``decide``.
"""

from spectra.verdict.decide import existence, spectral_measure
from spectra.verdict.status import D, Definiteness, RegionVerdict, Status, in_words
from spectra.verdict.verdict import Verdict, as_data, as_text

__all__ = [
    "D", "Definiteness", "RegionVerdict", "Status", "Verdict", "as_data", "as_text", "existence",
    "in_words", "spectral_measure",
]  # fmt: skip

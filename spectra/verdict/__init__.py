"""The verdict on a kernel: does a positive decomposition exist, and is it positive definite?

``decide`` holds :func:`existence`; ``status`` the answers; ``definite`` the rules for positive
definiteness; ``ladder`` the partial masses that are set beside a verdict.
"""

from spectra.verdict.decide import D, Verdict, existence, spectral_measure
from spectra.verdict.definite import Definiteness
from spectra.verdict.ladder import Ladder, mass_ladder
from spectra.verdict.status import DomainVerdict, SphereVerdict, Status

__all__ = [
    "D",
    "Definiteness",
    "DomainVerdict",
    "Ladder",
    "SphereVerdict",
    "Status",
    "Verdict",
    "existence",
    "mass_ladder",
    "spectral_measure",
]

"""Verdicts on kernels made of radial ones: grouped, asymmetric, l1."""

from spectra.verdict.composed.grouped import GroupedVerdict
from spectra.verdict.composed.l1 import L1Verdict

__all__ = ["GroupedVerdict", "L1Verdict"]

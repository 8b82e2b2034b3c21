"""Variograms: conditionally negative definite functions, and fields with their increments.

Read in this order: ``variogram`` (what it is), ``decision`` (whether it is one), ``region``
(measures with its increments).
"""

from spectra.variograms.variogram import Variogram, variogram

__all__ = ["Variogram", "variogram"]

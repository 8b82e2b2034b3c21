"""Variograms: half the mean squared increments of random fields.

``variogram`` defines them, ``decision`` decides whether a function is one, and ``region`` finds
covariances with the same variogram on a bounded region.
"""

from spectra.variograms.variogram import Variogram, variogram

__all__ = ["Variogram", "variogram"]

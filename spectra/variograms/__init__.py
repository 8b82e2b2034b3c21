"""Variograms: half the mean squared increments of random fields.

``variogram`` defines them, ``decision`` decides whether a function is one, ``region`` finds
covariances with the same variogram on a bounded region, and ``empirical`` estimates the variogram
of data and fits families to it.
"""

from spectra.variograms.empirical import EmpiricalVariogram, draw_variogram, empirical_variogram
from spectra.variograms.variogram import Variogram, variogram

__all__ = ["EmpiricalVariogram", "Variogram", "draw_variogram", "empirical_variogram", "variogram"]

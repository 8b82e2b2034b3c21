"""Variograms: conditionally negative definite functions, and fields with their increments."""

from spectra.variograms.variogram import Variogram, variogram

__all__ = ["Variogram", "variogram"]

"""Finite spectral measures: masses with their errors, sign changes, Jordan parts.

Read in this order: ``charts`` (variables in which every density is easy), ``stretches`` (ranges of
one sign), ``lobes`` (infinitely many of them), ``signed`` (the measure itself).
"""

from spectra.measure.signed import MeasurePart, SpectralMeasure, measure_of, truncate

__all__ = ["MeasurePart", "SpectralMeasure", "measure_of", "truncate"]

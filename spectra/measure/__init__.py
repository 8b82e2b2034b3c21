"""Finite spectral measures: masses with their errors, sign changes, Jordan parts.

Read in this order: ``sign_intervals`` (where the sign changes), ``stretches`` (masses between),
``oscillating/inverse_series`` and ``oscillating/one_frequency`` (infinitely many of them),
``part`` (the law of one sign), ``spectral_measure`` (the measure itself), ``making`` (from a
density to its measure, or to what of it lies within a radius).

Beating lobes, of several frequencies: ``oscillating/wave_zeros``, ``oscillating/phase_means``,
``oscillating/several_frequencies`` and ``oscillating/split_by_frequency``; the mass of the
truncated l1 distance: ``l1_masses``.
"""

from spectra.measure.making import measure_of, truncate
from spectra.measure.part import MeasurePart
from spectra.measure.spectral_measure import SpectralMeasure

__all__ = [
    "MeasurePart",
    "SpectralMeasure",
    "measure_of",
    "truncate",
]

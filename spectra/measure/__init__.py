"""Finite spectral measures: masses with their errors, sign changes, Jordan parts.

Read in this order: ``sign_intervals`` (where the sign changes), ``stretches`` (masses between),
``inverse_series`` and ``lobes`` (infinitely many of them), ``part`` (the law of one sign),
``signed`` (the measure itself), ``making`` (from a density to its measure, or to what of it lies
within a radius).

Beating lobes, of several frequencies: ``wave_zeros``, ``phase_means``, ``beats`` and ``apart``; the
mass of the truncated l1 distance: ``hat_masses``.
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

"""Finite spectral measures: masses with their errors, sign changes, Jordan parts.

Read in this order: ``sign_intervals`` (where the sign changes), ``stretches`` (masses between),
``part`` (the law of one sign), ``spectral_measure`` (the measure itself), ``from_density`` (from a
density to its measure, or to what of it lies within a radius).  Densities that oscillate without
end: ``oscillating/wave_split`` (as sums of waves, in two parts) and ``oscillating/wave_masses``
(their exact masses).

"""

from spectra.measure.from_density import measure_of, truncate
from spectra.measure.part import MeasurePart
from spectra.measure.spectral_measure import SpectralMeasure

__all__ = [
    "MeasurePart",
    "SpectralMeasure",
    "measure_of",
    "truncate",
]

"""Finite spectral measures: masses with their errors, sign changes, Jordan parts.

Read in this order: ``ranges`` (where the density is fitted), ``panels`` (its piecewise polynomial,
cut at the ``roots``: signs, sign changes, masses), ``spectral_measure`` (the measure itself),
``from_density`` (from a density to its measure, or to the part of it within a radius).  Densities
that oscillate without end: ``oscillating/wave_split`` (as sums of waves, in two parts) and
``oscillating/wave_masses`` (their exact masses).
"""

from spectra.measure.from_density import measure_of, truncate
from spectra.measure.spectral_measure import SpectralMeasure

__all__ = ["SpectralMeasure", "measure_of", "truncate"]

"""Finite signed spectral measures: total masses, sign changes, positive and negative parts.

Read in this order: ``ranges`` chooses the first panels of radii, ``panels`` fits the density on
them by Legendre series and cuts them at its ``roots``, ``spectral_measure`` is the measure itself,
``from_density`` makes it from a density, ``tabulation`` makes its table.  For densities whose tail
oscillates, ``wave_split`` splits the tail into two nonnegative sums of waves, and ``wave_masses``
computes the positive and the negative mass.
"""

from spectra.measure.from_density import measure_of, truncate
from spectra.measure.spectral_measure import SpectralMeasure

__all__ = ["SpectralMeasure", "measure_of", "truncate"]

"""Finite signed spectral measures: total masses, sign changes, positive and negative parts.

Read in this order: ``panels`` chooses the radii, fits the density on panels by Legendre series and
cuts them at its roots, ``spectral_measure`` is the measure itself, and makes it from a density,
``tabulation`` makes its table.  For densities whose tail oscillates, ``waves`` computes the
masses, and splits the tail into two nonnegative sums of waves.
"""

from spectra.measure.spectral_measure import SpectralMeasure, measure_of, truncate
from spectra.measure.tabulation import tabulate

__all__ = ["SpectralMeasure", "measure_of", "tabulate", "truncate"]

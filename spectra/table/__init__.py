"""Tables of spectral measures: distributions as arrays, to sample, to integrate and to save.

Numpy and scipy only.  Read in this order: ``radial/panels`` (series of the density),
``tails/wave_sum`` and ``tails/wave_tail`` (tails that oscillate), ``radial/radial_law`` (the
inverse CDF), ``parts`` and ``l1_part`` (laws with a mass, their shifts, their products),
``spectral_table`` (the parts of a measure), ``table_file``; ``radial/plane_wave`` and
``radial/panel_integrals`` hold the exact expectation of a wave, ``radial_interpolant`` tabulates
it for many distances, ``radial/cells`` speeds up draws.
"""

from spectra.table.l1_part import L1Part
from spectra.table.parts import Group, Part, ProductPart, Shifts
from spectra.table.radial.panels import Panels
from spectra.table.radial.radial_law import RadialLaw, Seed
from spectra.table.radial_interpolant import interpolate
from spectra.table.spectral_table import FrequencySample, SpectralTable, table_of_group
from spectra.table.tails.wave_sum import Wave, WaveSum
from spectra.table.tails.wave_tail import WaveTail

__all__ = [
    "FrequencySample",
    "Group",
    "L1Part",
    "Panels",
    "Part",
    "ProductPart",
    "RadialLaw",
    "Seed",
    "Shifts",
    "SpectralTable",
    "Wave",
    "WaveSum",
    "WaveTail",
    "interpolate",
    "table_of_group",
]

"""The seam between the packages: laws of radii as arrays, sampled, integrated, saved and loaded.

Numpy and scipy only.  Read in this order: ``radial/panels`` (polynomials of probability),
``tails/wave_sum`` and ``tails/wave_tail`` (tails that oscillate), ``radial/radial_law`` (the
inverse CDF), ``shifts`` and ``part`` (a law with a mass, and what moves it), ``spectral_table``
(the parts of a measure), ``grouped_table`` (products of the laws of groups of columns),
``l1_table`` (kernels of the l1 distance), ``table_file`` and
``table_members`` (files); ``radial/plane_wave`` and ``radial/panel_integrals`` hold the exact
expectation of a wave, ``radial_interpolant`` makes thousands cheap.

Draws by the million and files: ``radial/cells``, ``radial/radial_cdf``; ``parted_table`` is what
all tables share.
"""

from spectra.table.grouped_table import Group, GroupedTable, ProductPart
from spectra.table.l1_table import L1Table
from spectra.table.part import Part
from spectra.table.parted_table import FrequencySample
from spectra.table.radial.panels import PanelKind, Panels
from spectra.table.radial.radial_law import RadialLaw, Seed
from spectra.table.radial_interpolant import interpolated
from spectra.table.shifts import Shifts
from spectra.table.spectral_table import SpectralTable
from spectra.table.tails.wave_sum import Wave, WaveSum
from spectra.table.tails.wave_tail import WaveTail

__all__ = [
    "FrequencySample",
    "Group",
    "GroupedTable",
    "L1Table",
    "PanelKind",
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
    "interpolated",
]

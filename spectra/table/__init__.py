"""Tables of spectral measures: draw frequencies, compute the exact kernel, save and load.

Needs numpy and scipy only.  Read in this order: ``wave_sum`` and ``wave_tail`` (oscillating
tails), ``radial_law`` (the distribution of the radius), ``parts`` and ``l1_law`` (the parts of a
measure), and ``spectral_table``, with ``table_file`` for its file and ``kept_tables`` for the cache
on disk.  ``plane_wave`` and ``panel_integrals`` compute the expectation of a plane wave, and
``fast_quantiles`` speeds up draws.
"""

from spectra.base.piecewise import Piecewise
from spectra.table.parts import Group, Part, Shifts
from spectra.table.points import Points
from spectra.table.radial_law import RadialLaw, Seed
from spectra.table.spectral_table import FrequencySample, SpectralTable
from spectra.table.wave_sum import Wave, WaveSum
from spectra.table.wave_tail import WaveTail

__all__ = [
    "FrequencySample",
    "Group",
    "Part",
    "Piecewise",
    "Points",
    "RadialLaw",
    "Seed",
    "Shifts",
    "SpectralTable",
    "Wave",
    "WaveSum",
    "WaveTail",
]

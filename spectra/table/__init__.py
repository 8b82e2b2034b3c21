"""Tables of spectral measures: draw frequencies, compute the exact kernel, save and load.

Needs numpy and scipy only.  Read in this order: ``wave_tail`` (oscillating tails), ``radial_law``
(the distribution of the radius), ``parts`` (of a measure), and ``spectral_table``, with
``table_file`` for its file and ``kept_tables`` for the cache on disk.  ``panel_integrals`` computes
expected plane waves, and ``fast_quantiles`` speeds up draws.
"""

from spectra.base.piecewise import Piecewise
from spectra.table.parts import Group, Part, Points, Shifts
from spectra.table.radial_law import RadialLaw, Seed
from spectra.table.spectral_table import FrequencySample, SpectralTable
from spectra.table.wave_tail import Wave, WaveSum, WaveTail

__all__ = ["FrequencySample", "Group", "Part", "Piecewise", "Points", "RadialLaw", "Seed",
           "Shifts", "SpectralTable", "Wave", "WaveSum", "WaveTail"]  # fmt: skip

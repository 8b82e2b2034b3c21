"""Closed pairs on the half-line, one to a file.

``pair`` says what each of them must know, and what most share, a logarithm that keeps its digits in
every dimension; ``log_bessel_k`` is a function.  The pairs: ``gaussian``, ``gaussian_wave``,
``matern``, ``damped_wave``, ``rational_quadratic``, ``plane_wave_mean``.  A new one is a file
beside ``matern`` (a good one to begin from), its name in :data:`PAIRS` and among those above.
"""

from spectra.density.closed_pairs.damped_wave import DampedWave
from spectra.density.closed_pairs.gaussian import Gaussian
from spectra.density.closed_pairs.gaussian_wave import GaussianWave
from spectra.density.closed_pairs.matern import Matern
from spectra.density.closed_pairs.pair import Pair, W
from spectra.density.closed_pairs.plane_wave_mean import PlaneWaveMean
from spectra.density.closed_pairs.rational_quadratic import RationalQuadratic

__all__ = [
    "PAIRS",
    "Gaussian",
    "Matern",
    "Pair",
    "RationalQuadratic",
    "W",
]

#: The pairs; the first one that claims a summand has it.
PAIRS: tuple[type[Pair], ...] = (
    Gaussian,
    GaussianWave,
    Matern,
    DampedWave,
    RationalQuadratic,
    PlaneWaveMean,
)

"""Closed pairs: families of kernels on the half-line whose spectral density is a formula.

``pair`` defines :class:`ClosedPair`, the density of one such kernel on R^d.  To add a family, write
one file with two functions, one that reads the parameters from a summand of a formula and one that
makes the density (``plane_wave_mean`` is an example), and add both to :data:`FAMILIES`.
"""

from spectra.density.closed_pairs.gaussian import (
    gaussian,
    gaussian_wave,
    laguerre_sum,
    read_gaussian,
    read_gaussian_wave,
)
from spectra.density.closed_pairs.matern import matern, read_matern
from spectra.density.closed_pairs.pair import ClosedPair, Maker, Reader, W
from spectra.density.closed_pairs.plane_wave_mean import plane_wave_mean, read_plane_wave_mean

__all__ = ["FAMILIES", "ClosedPair", "W", "gaussian", "laguerre_sum", "matern"]

#: All families.  A summand belongs to the first family whose reader accepts it.
FAMILIES: tuple[tuple[Reader, Maker], ...] = (
    (read_gaussian, gaussian),
    (read_gaussian_wave, gaussian_wave),
    (read_matern, matern),
    (read_plane_wave_mean, plane_wave_mean),
)

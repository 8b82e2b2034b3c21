"""Closed pairs: families of kernels on the half-line whose spectral density is a formula.

``pair`` defines :class:`ClosedPair`, the density of one such kernel on R^d.  To add a family, write
one file with three functions, one that reads the parameters from a summand of a formula, one that
makes the density and one for its formula (``plane_wave_mean`` is an example), and add them to
:data:`FAMILIES` and :data:`FORMULAS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy

from spectra.density.closed_pairs.gaussian import (
    gaussian,
    gaussian_formula,
    gaussian_wave,
    gaussian_wave_formula,
    laguerre_sum,
    read_gaussian,
    read_gaussian_wave,
)
from spectra.density.closed_pairs.matern import matern, matern_formula, read_matern
from spectra.density.closed_pairs.pair import ClosedPair, Maker, Reader, W
from spectra.density.closed_pairs.plane_wave_mean import (
    plane_wave_mean,
    plane_wave_mean_formula,
    read_plane_wave_mean,
)

__all__ = ["FAMILIES", "FORMULAS", "ClosedPair", "W", "gaussian", "laguerre_sum", "matern"]

#: All families.  A summand belongs to the first family whose reader accepts it.
FAMILIES: tuple[tuple[Reader, Maker], ...] = (
    (read_gaussian, gaussian),
    (read_gaussian_wave, gaussian_wave),
    (read_matern, matern),
    (read_plane_wave_mean, plane_wave_mean),
)
#: The formulas of the densities, which allow symbols as parameters.
FORMULAS: Mapping[Maker, Callable[..., sympy.Expr]] = {
    gaussian: gaussian_formula,
    gaussian_wave: gaussian_wave_formula,
    matern: matern_formula,
    plane_wave_mean: plane_wave_mean_formula,
}

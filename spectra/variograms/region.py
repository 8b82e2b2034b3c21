r"""Stationary covariances with a given variogram on a bounded region.

A linear programme minimises the total of positive masses m_j at frequencies w_j such that
:math:`\sum_j m_j (1 - \Omega_d(w_j z))` is within a tolerance of gamma(z) at some distances z;
:math:`\Omega_d` is ``plane_wave_mean``.  The distances of the maxima of the error on a finer grid
are added, and the programme is solved again, until the error on that grid is within the tolerance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from spectra.base.bessel import plane_wave_mean
from spectra.base.numbers import FloatArray, positive_number
from spectra.errors import AccuracyError
from spectra.kernels import Kernel
from spectra.table import Part, RadialLaw, SpectralTable

__all__ = ["fit_on_region"]

# The least frequency w, in units of sqrt(dim) / radius, and frequencies per decade.  For the least
# w, 1 - Omega_d(w z) = (w z)^2 / (2 dim) on the region, with a relative error below 0.0025.
_LEAST_FREQUENCY, _PER_DECADE = 0.1, 60
# The largest w is 1/z for the distance z at which gamma is this fraction of ``tol``.
_FRACTION = 0.6
# Numbers of linearly and logarithmically spaced distances at first; largest number of programmes.
_LINEAR, _LOGARITHMIC, _ROUNDS = 150, 150, 6
# Tolerance of the programme, divided by ``tol``: between its distances the error is larger.
_MARGIN = 0.8
_NEGLIGIBLE = 1e-11  # smaller masses, relative to the largest, are rounding of the solver
# Distances per shortest wavelength in the check, and 1/cos(pi/8): a cosine at its maximum, divided
# by its value pi/8 away.  Checks of more than _MOST_CHECKED distances (over 10 s) are refused.
_PER_WAVE, _BETWEEN, _MOST_CHECKED = 8, 1.0824, 50_000


def fit_on_region(
    minus_gamma: Kernel, radius: float, dim: int, *, tol: float, name: str
) -> SpectralTable:
    """The table of least mass whose variogram is within ``tol`` of gamma on [0, radius]."""
    radius, tol = positive_number(radius, "radius"), positive_number(tol, "tol")
    w, z, dense = _grids(minus_gamma, radius, dim, tol, name)
    bound = math.inf
    for _ in range(_ROUNDS):
        solution = _least_masses(minus_gamma, w, z, dim, _MARGIN * tol)
        if solution is None:
            break
        used = solution > _NEGLIGIBLE * solution.max()
        frequencies, masses = w[used], solution[used]
        error = np.abs(_unit_variograms(dim, dense, frequencies) @ masses + minus_gamma(dense))
        bound = _BETWEEN * float(error.max())
        if bound <= tol:
            total = math.fsum(masses)
            return SpectralTable(
                dim=dim,
                parts=(Part(total, 0.0, 0.0, RadialLaw.from_atoms(frequencies, masses / total)),),
                formula=f"{total:.6g} - ({name})",
                k_zero=total,
                u_error=0.0,
                bias=bound,
                domain=radius,
                provenance=f"positive atoms of least mass with the increments of {name} on "
                f"distances up to {radius:.6g}, error measured on a grid of distances",
            )
        peak = (error > np.roll(error, 1)) & (error > np.roll(error, -1))
        worst = np.flatnonzero(peak & (error > _MARGIN * tol))
        z = np.append(z, dense[worst[np.argsort(-error[worst])[:_LINEAR]]])
    reached = "the programme has no solution" if bound == math.inf else f"the error is {bound:.3g}"
    raise AccuracyError(
        f"No positive measure was found with the increments of {name} within {tol:.3g} on "
        f"distances up to {radius:.6g} in dimension {dim}: {reached}. Allow a larger error."
    )


def _grids(
    minus_gamma: Kernel, radius: float, dim: int, tol: float, name: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Frequencies, distances of the first programme, and distances of the check."""
    logarithmic = radius * np.geomspace(1e-12, 1.0, 2000)
    small = logarithmic[np.abs(minus_gamma(logarithmic)) <= _FRACTION * tol]
    least = _LEAST_FREQUENCY * math.sqrt(dim) / radius
    largest = max(1e3 * least, 1.0 / (small[-1] if small.size else logarithmic[0]))
    checked = int(_PER_WAVE * largest * radius / (2 * math.pi))
    if checked > _MOST_CHECKED:
        raise AccuracyError(
            f"{name} is so steep at 0 that increments within {tol:.3g} on distances up to "
            f"{radius:.6g} need frequencies up to {largest:.3g}. Allow a larger error."
        )
    count = int(_PER_DECADE * math.log10(largest / least)) + 1
    w = np.geomspace(least, largest, count)
    dense = np.sort(np.concatenate([np.linspace(0.0, radius, checked + 2)[1:], logarithmic]))
    linear = radius * np.linspace(0.0, 1.0, _LINEAR + 1)[1:]
    z = np.concatenate([linear, np.geomspace(0.1 / largest, radius, _LOGARITHMIC)])
    return w, z, dense


def _unit_variograms(dim: int, z: FloatArray, w: FloatArray) -> FloatArray:
    """1 - Omega_d(w z) for each z and w, the variogram of a unit mass at frequency w."""
    return 1.0 - plane_wave_mean(dim, np.outer(z, w))


def _least_masses(
    minus_gamma: Kernel, w: FloatArray, z: FloatArray, dim: int, tol: float
) -> FloatArray | None:
    """Masses at the frequencies ``w`` with the least sum; None if the programme has no solution."""
    variograms, gamma = _unit_variograms(dim, z, w), -minus_gamma(z)
    solution = linprog(
        np.ones(w.size),
        A_ub=np.concatenate([variograms, -variograms]),
        b_ub=np.concatenate([gamma + tol, tol - gamma]),
        bounds=(0.0, None),
        method="highs",
    )
    masses: FloatArray | None = solution.x
    return masses

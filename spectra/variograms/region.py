r"""Positive measures with the increments of a variogram on a bounded region.

The columns of a linear programme are the increments :math:`1 - \Omega_d(w_j z)` of single waves;
masses are positive by its bounds.  Distances at which the result is off by more than the tolerance
are added to the programme until none is left.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from spectra.base.numbers import FloatArray, positive_number
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import AccuracyError
from spectra.kernels import Kernel
from spectra.table import Part, RadialLaw, SpectralTable

__all__ = ["covariance_on_region"]

# In units of sqrt(d)/R; the lowest wave is a parabola to 1e-3 on the region.
_LOWEST, _PER_DECADE = 0.1, 60
# The highest wave is the reciprocal of the distance at which gamma is this share of the tolerance.
_SHARE_BELOW = 0.6
# Distances of the first programme: equal steps, and equal ratios towards 0 where gamma is steep.
_EQUAL, _RATIOS, _ROUNDS = 150, 150, 6
# Share of the tolerance that the programme may use; what lies between its distances takes the rest.
_MARGIN = 0.8
# A mass below this share of the largest is the solver's rounding.
_NOTHING = 1e-11
# Distances checked: so many to the shortest wave, between which a wave rises by this factor at
# most, 1/cos(pi/8).  With more in all, the check takes longer than 10 s.
_PER_WAVE, _BETWEEN, _MOST_CHECKED = 8, 1.0824, 50_000


def covariance_on_region(
    minus: Kernel, radius: float, dim: int, *, tol: float, name: str
) -> SpectralTable:
    """The table of least mass with increments within ``tol`` of -minus on [0, radius]."""
    radius, tol = positive_number(radius, "radius"), positive_number(tol, "tol")
    w, z, dense = _grids(minus, radius, dim, tol, name)
    bound = math.inf
    for _ in range(_ROUNDS):
        found = _least_masses(minus, w, z, dim, _MARGIN * tol)
        if found is None:
            break
        used = found > _NOTHING * found.max()
        radii, masses = w[used], found[used]
        error = np.abs(_increments(dim, dense, radii) @ masses + minus(dense))
        bound = _BETWEEN * float(error.max())
        if bound <= tol:
            total = math.fsum(masses)
            return SpectralTable(
                dim=dim,
                parts=(Part(total, 0.0, 0.0, RadialLaw.from_atoms(radii, masses / total)),),
                formula=f"{total:.6g} - ({name})",
                k_zero=total,
                u_error=0.0,
                bias=bound,
                domain=radius,
                provenance=f"positive atoms of least mass with the increments of {name} on "
                f"distances up to {radius:.6g}, error seen at a grid of distances",
            )
        peak = (error > np.roll(error, 1)) & (error > np.roll(error, -1))
        worst = np.flatnonzero(peak & (error > _MARGIN * tol))
        z = np.append(z, dense[worst[np.argsort(-error[worst])[:_EQUAL]]])
    reached = "no positive measure came near" if bound == math.inf else f"{bound:.3g} was reached"
    raise AccuracyError(
        f"No positive measure was found with the increments of {name} within {tol:.3g} on "
        f"distances up to {radius:.6g} in dimension {dim}: {reached}. Allow a larger error."
    )


def _grids(
    minus: Kernel, radius: float, dim: int, tol: float, name: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Radii of waves, distances of the first programme, and distances of the check."""
    ratios = radius * np.geomspace(1e-12, 1.0, 2000)
    near = ratios[np.abs(minus(ratios)) <= _SHARE_BELOW * tol]
    lowest = _LOWEST * math.sqrt(dim) / radius
    highest = max(1e3 * lowest, 1.0 / (near[-1] if near.size else ratios[0]))
    checked = int(_PER_WAVE * highest * radius / (2 * math.pi))
    if checked > _MOST_CHECKED:
        raise AccuracyError(
            f"{name} is so steep at 0 that increments within {tol:.3g} need waves of {highest:.3g} "
            f"radians to a unit on distances up to {radius:.6g}. Allow a larger error."
        )
    count = int(_PER_DECADE * math.log10(highest / lowest)) + 1
    w = np.geomspace(lowest, highest, count)
    dense = np.sort(np.concatenate([np.linspace(0.0, radius, checked + 2)[1:], ratios]))
    z = np.concatenate(
        [
            radius * np.linspace(0.0, 1.0, _EQUAL + 1)[1:],
            np.geomspace(0.1 / highest, radius, _RATIOS),
        ]
    )
    return w, z, dense


def _increments(dim: int, z: FloatArray, w: FloatArray) -> FloatArray:
    return 1.0 - plane_wave_mean(dim, np.outer(z, w))


def _least_masses(
    minus: Kernel, w: FloatArray, z: FloatArray, dim: int, tol: float
) -> FloatArray | None:
    """Masses of least sum at the radii ``w``; None if the programme has no solution."""
    increments, wanted = _increments(dim, z, w), -minus(z)
    solution = linprog(
        np.ones(w.size),
        A_ub=np.concatenate([increments, -increments]),
        b_ub=np.concatenate([wanted + tol, tol - wanted]),
        bounds=(0.0, None),
        method="highs",
    )
    masses: FloatArray | None = solution.x
    return masses

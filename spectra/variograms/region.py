r"""Positive measures with the increments of a variogram on a bounded region, made to order.

The columns of a linear programme are the increments :math:`1 - \Omega_d(w_j z)` of single waves;
masses are positive by its bounds, and what came out is held to gamma on the whole range afterwards,
by the certificate of designs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from spectra.base.numbers import FloatArray, real_array
from spectra.base.special.bessel import plane_wave_mean
from spectra.designs import estimated_sup_error, proved_sup_error
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels import Kernel
from spectra.table import Part, RadialLaw, SpectralTable

__all__ = ["covariance_on_region"]

# Radii in units of sqrt(d)/R: the lowest wave is a parabola to 1e-3 there, the highest of the last
# try sees 3e-5 of the radius.
_LOWEST, _HIGHEST = 0.1, (100.0, 3e3, 3e4)
_PER_DECADE = 60
# Distances that the programme sees: equal steps, and equal ratios towards 0 where gamma is steep.
_EQUAL, _RATIOS, _NEAREST = 400, 200, 1e-5
# Share of the tolerance that the programme may use; what lies between its distances takes the rest.
_MARGIN = 0.8
# A mass below this share of the largest is the solver's rounding.
_NOTHING = 1e-11


def covariance_on_region(
    minus: Kernel, radius: float, dim: int, *, tol: float, prove: bool, name: str
) -> SpectralTable:
    """The table of least mass with increments within ``tol`` of -minus on [0, radius]."""
    radius, tol = float(real_array(radius, "radius")), float(real_array(tol, "tol"))
    if not (0.0 < radius < np.inf and 0.0 < tol < np.inf):
        raise ParameterError(f"radius = {radius} and tol = {tol} must be positive and finite.")
    least = math.inf
    for highest in _HIGHEST:
        found = _masses(minus, radius, dim, tol, highest)
        if found is None:
            continue
        radii, masses = found
        certify = proved_sup_error if prove else estimated_sup_error
        # An atom at 0 makes increments of the waves.
        at = np.concatenate([[0.0], radii]), np.concatenate([[-math.fsum(masses)], masses])
        error = certify(minus, dim, *at, (0.0, radius), tol=tol)
        bound = error.mid + error.rad
        least = min(least, bound)
        if bound <= tol:
            return _table(dim, radii, masses, radius, bound, error.rigorous, name)
    reached = "no positive measure came near" if least == math.inf else f"{least:.3g} was reached"
    raise AccuracyError(
        f"No positive measure was found with the increments of {name} within {tol:.3g} on "
        f"distances up to {radius:.6g} in dimension {dim}: {reached}. Allow a larger error; where "
        "none does, it may be no variogram there."
    )


def _masses(
    minus: Kernel, radius: float, dim: int, tol: float, highest: float
) -> tuple[FloatArray, FloatArray] | None:
    """Radii with positive masses, of least sum; None where the programme has no solution."""
    unit = math.sqrt(dim) / radius
    count = int(_PER_DECADE * math.log10(highest / _LOWEST)) + 1
    w = np.geomspace(_LOWEST, highest, count) * unit
    z = radius * np.unique(
        np.concatenate([np.linspace(0.0, 1.0, _EQUAL + 1)[1:], np.geomspace(_NEAREST, 1, _RATIOS)])
    )
    increments, wanted = 1.0 - plane_wave_mean(dim, np.outer(z, w)), -minus(z)
    solution = linprog(
        np.ones(w.size),
        A_ub=np.concatenate([increments, -increments]),
        b_ub=np.concatenate([wanted + _MARGIN * tol, _MARGIN * tol - wanted]),
        bounds=(0.0, None),
        method="highs",
    )
    if solution.x is None:
        return None
    used = solution.x > _NOTHING * solution.x.max()
    return w[used], solution.x[used]


def _table(
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    radius: float,
    bound: float,
    proved: bool,
    name: str,
) -> SpectralTable:
    total = math.fsum(masses)
    law = RadialLaw.from_atoms(radii, masses / total)
    how = "proved in ball arithmetic" if proved else "estimated on panels"
    return SpectralTable(
        dim=dim,
        parts=(Part(total, 0.0, 0.0, law),),
        formula=f"{total:.6g} - ({name})",
        k_zero=total,
        u_error=0.0,
        bias=bound,
        domain=radius,
        provenance=f"positive atoms of least mass with the increments of {name} on distances up to "
        f"{radius:.6g}, error {how}",
    )

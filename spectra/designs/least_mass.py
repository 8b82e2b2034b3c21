r"""The measure of least mass or variance within a tolerance on a range of distances.

:func:`design_within` finds signed masses c_j on spheres |w| = w_j with
:math:`|\sum_j c_j \Omega_d(w_j z) - k(z)| \le \epsilon` on a domain of distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, positive_number
from spectra.designs.designed_measure import (
    FLOAT32_ROUNDING,
    MOST_KEPT,
    ULPS_PER_MASS,
    Coupling,
    Design,
    Objective,
)
from spectra.designs.distances import NODE_WEIGHTS, largest_error
from spectra.designs.linear_programme import solve
from spectra.designs.wave_columns import block_variance, tabulated_wave
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["design_within"]

Cost = Callable[[FloatArray], FloatArray]

_ADVICE = "ask for a larger tol or a smaller domain"

_NO_VARIANCE = (
    "In dimension 1 designed features have no variance: every direction is +-1. Use "
    "objective='mass'."
)

# Largest radius, in units of (sqrt(d) + 5) / z_max.  Larger radii would lower the mass by less than
# a percent for a kink at z = 0 and a tolerance of 1e-3.
_RADIUS_REACH = 100.0
# The programme is solved for this fraction of the tolerance, because the bound of ``largest_error``
# exceeds the sampled error by 0.8 percent.
_MARGIN = 0.985
# A mass of a hundred times the kernel is always allowed, even if float32 would allow less.
_ALWAYS_ALLOWED_MASS = 100.0
# Distances at which the size of a kernel is evaluated.
_SIZE_NODES = 48
# Rounding error of a sum of thirty waves relative to the kernel's size, and the fraction of the
# tolerance to which the exchange compares errors.  A relative tolerance below their quotient is
# refused: the simplex method does not settle (seen at 2e-12 for a Gaussian; 1e-11 works).
_ROUNDING_OF_A_SUM = 32.0 * float(np.finfo(float).eps)
_COMPARISON = 2e-3


@lru_cache(maxsize=MOST_KEPT)
@staged("designing a measure within a tolerance", advice=_ADVICE)
def design_within(
    kernel: Kernel,
    dim: int,
    domain: tuple[float, float],
    nodes: tuple[float, ...],
    *,
    tol: float,
    objective: Objective = "variance",
    coupling: Coupling = "orthogonal",
) -> Design:
    """Find the cheapest signed measure within ``tol`` of a kernel: see :func:`spectra.design`.

    ``domain`` and ``nodes`` are the range and the nodes of the distances.
    """
    tol = positive_number(tol, "tol", why=", an error allowed")
    max_mass = _most_mass(kernel, domain, tol)
    max_radius = _RADIUS_REACH * (float(np.sqrt(dim)) + 5.0) / domain[1]
    if objective == "variance" and dim == 1:
        raise ParameterError(_NO_VARIANCE)
    n, z = 1 if coupling == "iid" else dim, np.array(nodes)
    deviation = _deviation(dim, n, z, max_radius)
    cost = deviation if objective == "variance" else np.ones_like
    inner = _MARGIN * tol
    found = solve(
        kernel, dim, domain, tol=inner, cost=cost, max_mass=max_mass, max_radius=max_radius
    )
    radii, masses, value, lower_bound, (points, weights, price) = found
    error = largest_error(kernel, dim, radii, masses, domain)
    if error.mid + error.rad > tol:
        raise AccuracyError(
            f"The error of the design is {error.mid + error.rad:.3g} and not below {tol:g}: masses "
            f"of {np.abs(masses).sum():.3g} cancel. Ask for a larger tol."
        )
    # The bound that the same weights prove for the requested tolerance.
    lower_bound -= (tol - inner) * float(np.abs(weights).sum())
    result = Design(
        kernel=kernel,
        dim=dim,
        domain=domain,
        coupling=coupling,
        radii=radii,
        masses=masses,
        counts=tuple(1 if w == 0.0 else n for w in radii.tolist()),
        bias=0.0,
        deviation=float(np.linalg.norm(masses * deviation(radii))),
        sup_error=error,
        tol=tol,
        objective=objective,
        value=value,
        lower_bound=max(lower_bound, 0.0),
        dual=(points, weights / (1.0 + price)),
    )
    return replace(result, bias=float(np.sqrt(NODE_WEIGHTS @ (result(z) - kernel(z)) ** 2)))


def _most_mass(kernel: Kernel, domain: tuple[float, float], tol: float) -> float:
    """The mass whose rounding in float32 is below ``tol``, or a hundred times the kernel's size."""
    size = float(np.abs(kernel(np.linspace(*domain, _SIZE_NODES))).max())
    least = _ROUNDING_OF_A_SUM / _COMPARISON * size
    if tol < least:
        raise AccuracyError(
            f"tol = {tol:g} is beyond double precision: the kernel is of size {size:.3g}, sums of "
            "its waves are rounded to 7e-15 of that, and a design compares their errors to 0.2 % "
            f"of the tolerance. Ask for tol >= {1.1 * least:.2g}."
        )
    return max(tol / (ULPS_PER_MASS * FLOAT32_ROUNDING), _ALWAYS_ALLOWED_MASS * size)


def _deviation(dim: int, n: int, nodes: FloatArray, max_radius: float) -> Cost:
    """Root of the mean variance of a block of n directions over the distances, for each radius."""
    wave = tabulated_wave(dim, 2.0 * max_radius * float(nodes.max()))

    def deviation(w: FloatArray) -> FloatArray:
        values = block_variance(dim, (w[:, None] * nodes).ravel(), size=n, wave=wave)
        return np.asarray(np.sqrt(values.reshape(w.size, nodes.size) @ NODE_WEIGHTS))

    return deviation

r"""The measure of least mass or variance within a tolerance on a range of distances.

The signed masses c_j on spheres |w| = w_j satisfy
:math:`|\sum_j c_j \Omega_d(w_j z) - k(z)| \le \epsilon` on the domain of distances z, for the mean
Omega_d of a plane wave over directions (see ``wave_variance``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, positive_number
from spectra.designs.designed_measure import (
    CACHED_DESIGNS,
    FLOAT32_ERROR_PER_MASS,
    Coupling,
    Design,
    Objective,
)
from spectra.designs.distances import NODE_WEIGHTS, largest_error
from spectra.designs.linear_programme import EXCESS, solve_programme
from spectra.designs.wave_variance import block_variance, tabulated_wave
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["design_within"]

# Largest radius, in units of (sqrt(d) + 5) / z_max.  Larger radii lower the mass by less than a
# percent for a kernel with a kink at z = 0 and tol = 1e-3.
_LARGEST_RADIUS = 100.0
# The linear programme is solved for this fraction of the tolerance: its solution may exceed that by
# 0.4 percent, and the upper end of ``largest_error`` exceeds the sampled error by 0.8 percent.
_MARGIN = 0.985
# Masses up to this multiple of max |k| are allowed for every tolerance.
_ALWAYS_ALLOWED_MASS = 100.0
# Rounding error of a sum of thirty waves, relative to max |k|.
_ROUNDING_OF_A_SUM = 32.0 * float(np.finfo(float).eps)


@lru_cache(maxsize=CACHED_DESIGNS)
@staged("designing a measure within a tolerance", advice="use a larger tol or a smaller domain")
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

    ``nodes`` represent the distribution of the distances: see :func:`checked_distances`.
    """
    tol = positive_number(tol, "tol", why=", the largest error allowed")
    max_mass = _largest_mass(kernel, domain, tol)
    max_radius = _LARGEST_RADIUS * (float(np.sqrt(dim)) + 5.0) / domain[1]
    if objective == "variance" and dim == 1:
        raise ParameterError(
            "In dimension 1 designed features have no variance: use objective='mass'."
        )
    n_directions, z = 1 if coupling == "iid" else dim, np.array(nodes)
    deviation = _deviation_function(dim, n_directions, z, max_radius)
    cost = deviation if objective == "variance" else np.ones_like
    reduced = _MARGIN * tol
    radii, masses, value, lower_bound, (distances, weights, multiplier) = solve_programme(
        kernel, dim, domain, tol=reduced, cost=cost, max_mass=max_mass, max_radius=max_radius
    )
    error = largest_error(kernel, dim, radii, masses, domain)
    if error.mid + error.rad > tol:
        raise AccuracyError(
            f"The error of the design is {error.mid + error.rad:.3g}, above {tol:g}, because "
            f"masses of {np.abs(masses).sum():.3g} cancel. Use a larger tol."
        )
    # The same dual weights give a lower bound for the full tolerance.
    lower_bound -= (tol - reduced) * float(np.abs(weights).sum())
    result = Design(
        kernel=kernel,
        dim=dim,
        domain=domain,
        coupling=coupling,
        radii=radii,
        masses=masses,
        counts=tuple(1 if w == 0.0 else n_directions for w in radii.tolist()),
        bias=0.0,
        deviation=float(np.linalg.norm(masses * deviation(radii))),
        sup_error=error,
        tol=tol,
        objective=objective,
        value=value,
        lower_bound=max(lower_bound, 0.0),
        # The programme has |q| <= cost + multiplier.  Divided by 1 + multiplier, q is at most 1 for
        # the objective "mass", whose cost is 1.
        dual=(distances, weights / (1.0 + multiplier)),
    )
    return replace(result, bias=float(np.sqrt(NODE_WEIGHTS @ (result(z) - kernel(z)) ** 2)))


def _largest_mass(kernel: Kernel, domain: tuple[float, float], tol: float) -> float:
    """The mass whose rounding error in float32 is ``tol``, but at least 100 max |k|."""
    size = float(np.abs(kernel(np.linspace(*domain, 48))).max())
    least = _ROUNDING_OF_A_SUM / EXCESS * size
    if tol < least:
        raise AccuracyError(
            f"tol = {tol:g} is beyond double precision: the largest kernel value is {size:.3g}, "
            "sums of waves have a rounding error of 7e-15 times that, which must be below 0.2 % of "
            f"the tolerance. Ask for tol >= {1.1 * least:.2g}."
        )
    return max(tol / FLOAT32_ERROR_PER_MASS, _ALWAYS_ALLOWED_MASS * size)


def _deviation_function(
    dim: int, n_directions: int, nodes: FloatArray, max_radius: float
) -> Callable[[FloatArray], FloatArray]:
    """The function sigma(w): sigma^2 is the mean of ``block_variance`` at w z over the nodes z."""
    wave = tabulated_wave(dim, 2.0 * max_radius * float(nodes.max()))

    def deviation(w: FloatArray) -> FloatArray:
        values = block_variance(dim, (w[:, None] * nodes).ravel(), size=n_directions, wave=wave)
        return np.asarray(np.sqrt(values.reshape(w.size, nodes.size) @ NODE_WEIGHTS))

    return deviation

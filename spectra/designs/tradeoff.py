"""What each tolerance costs: the least mass of a measure within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectra.base.numbers import FloatArray, checked_dim
from spectra.designs.distances import check_domain
from spectra.designs.methods.least_mass import checked_request, default_radius, unit_cost
from spectra.designs.methods.linear_programme import solve
from spectra.errors import AccuracyError
from spectra.kernels.kernel import Kernel

__all__ = ["PriceCurve", "price_curve"]

# A mass that grows faster than this power of 1/tol is worth a warning.
_STEEP = 0.75


@dataclass(frozen=True, eq=False)
class PriceCurve:
    """What each tolerance costs: the least mass of a measure within it, and how fast that grows.

    Attributes
    ----------
    tols, masses, lower_bounds : ndarray of shape (n,)
        Tolerances, descending; masses reached; and their lower bounds, by duality.  Where the
        radii, the mass allowed or double precision do not suffice, the mass is ``inf``.
    exponent : float
        The mass grows like tol**-exponent over the last two tolerances that were reached.
    """

    dim: int
    domain: tuple[float, float]
    tols: FloatArray
    masses: FloatArray
    lower_bounds: FloatArray
    max_radius: float

    @property
    def exponent(self) -> float:
        """Slope of -log(mass) against log(tol) at the small end; nan with fewer than two points."""
        known = np.isfinite(self.masses)
        if known.sum() < 2:
            return float("nan")
        log_mass, log_tol = np.log(self.masses[known][-2:]), np.log(self.tols[known][-2:])
        return float(-(log_mass[1] - log_mass[0]) / (log_tol[1] - log_tol[0]))

    def explain(self) -> str:
        """The curve in words, with the way out where it is steep."""
        lines = [
            f"Least total mass of a measure in dimension {self.dim} that is right to tol on "
            f"distances {self.domain[0]:g} to {self.domain[1]:.6g} (radii up to "
            f"{self.max_radius:.4g}):"
        ]
        for tol, mass, bound in zip(self.tols, self.masses, self.lower_bounds, strict=True):
            said = f"{mass:.4g}" if np.isfinite(mass) else "not reached"
            lines.append(f"  tol {tol:.3g}: {said} (at least {bound:.4g})")
        lines.append(f"The mass grows like tol**-{self.exponent:.2f} at the small end.")
        if self.exponent > _STEEP or np.any(np.isinf(self.masses)):
            lines.append(
                "That is the price of a domain on which no continuation of the kernel has finite "
                "mass (a root or a kink at its end, or inside it). Ways out: a smaller z_max, such "
                "as sqrt(2) for unit rows without negative entries; features of the sphere "
                "itself; or exact maps of the low degrees."
            )
        return "\n".join(lines)


def price_curve(
    kernel: Kernel,
    dim: int,
    *,
    domain: tuple[float, float],
    tols: Sequence[float],
    max_mass: float = 1e9,
    max_radius: float | None = None,
) -> PriceCurve:
    """Find the least mass for each of several tolerances.

    Parameters
    ----------
    kernel, dim, domain, max_radius :
        As for :func:`spectra.design`.
    tols : sequence of float
        Tolerances.
    max_mass : float
        Where the price stops to be of interest; beyond 1e9 masses cancel to float64 rounding.

    Examples
    --------
    >>> from spectra.kernels.kernel import zonal
    >>> step = zonal("1 - acos(u)/pi")              # a root at z = 2
    >>> curve = price_curve(step, 16, domain=(0, 2), tols=[5e-2, 4e-2])
    >>> bool(curve.masses[1] > 1.8 * curve.masses[0])
    True
    """
    (low, high), dim = check_domain(domain), checked_dim(dim)
    for tol in tols:
        checked_request(dim, tol, "mass", "orthogonal")
    if max_radius is None:
        max_radius = default_radius(dim, high)
    ordered = np.array(sorted((float(t) for t in tols), reverse=True))
    masses, bounds = np.full(ordered.size, np.inf), np.zeros(ordered.size)
    for i, tol in enumerate(ordered):
        try:
            _, _, dual = solve(
                kernel,
                dim,
                (low, high),
                tol=float(tol),
                cost=unit_cost,
                max_mass=max_mass,
                max_radius=max_radius,
            )
        except AccuracyError:
            # Masses only grow from here on, and so do their bounds.
            bounds[i:] = bounds[:i].max(initial=0.0)
            break
        masses[i], bounds[i] = dual.value, dual.lower_bound
    return PriceCurve(dim, (low, high), ordered, masses, bounds, max_radius)

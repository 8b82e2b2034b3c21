r"""Measures made to order: right on the distances that the data need, and cheapest among those.

Where R^d offers no finite measure, or only a costly one, a kernel still only has to be right on
the distances that occur.  :func:`design_within` finds signed masses c_j on spheres |w| = w_j with
:math:`|\sum_j c_j \Omega_d(w_j z) - k(z)| \le \epsilon` on a domain of distances, of least total
mass or of least variance; :func:`price_curve` shows what each tolerance costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.designs.atoms import table_of_spheres
from spectra.designs.certificate import estimated_sup_error, proved_sup_error
from spectra.designs.distances import check_domain, law_of_distances
from spectra.designs.program import Program, solve
from spectra.designs.waves import WaveTable, block_covariance, block_variance, iid_variance
from spectra.errors import AccuracyError, ParameterError
from spectra.progress import staged
from spectra.quadrature import Enclosure
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from spectra.kernel import Kernel
    from spectra.measure import SpectralMeasure
    from spectra.table import SpectralTable

__all__ = [
    "ADVICE",
    "Coupling",
    "Design",
    "Objective",
    "PriceCurve",
    "design_within",
    "price_curve",
]

FloatArray = NDArray[np.float64]
Objective = Literal["mass", "variance"]
Coupling = Literal["orthogonal", "shared", "iid"]

#: What to do where a design takes too long.
ADVICE = "ask for a larger tol or a smaller domain, or bound the measure with max_mass, max_radius"

# Radii are sought up to this many times (sqrt(d) + 5) / z_max: a kink at z = 0 of tolerance 1e-3
# needs a few hundred, and what lies beyond lowers the mass by less than a percent.
_RADIUS_REACH = 100.0
# The programme is solved for this part of the tolerance; the rest is for the certificate, whose
# bound exceeds the sampled error by 0.9 percent.
_MARGIN = 0.985
_MOST_TIGHTENINGS = 6
# A feature matrix in float32 loses about this many units of rounding for each unit of mass.
_ULPS_PER_MASS = 8.0
_FLOAT32_ROUNDING = 2.0**-24
# A mass of a hundred times the kernel is still cheap where float32 would allow less.
_CHEAP_MASS = 100.0
# A mass that grows faster than this power of 1/tol is worth a warning.
_STEEP = 0.75
# Distances at which the size of a kernel is looked at.
_SIZE_NODES = 48
# A sum of thirty waves is rounded by this much of the kernel's size, and the exchange has to tell
# errors apart to this part of the tolerance: below their quotient the simplex method alternates
# between values of 1 and of 0 (seen at 2e-12 for a Gaussian, which is served at 1e-11).
_ROUNDING_OF_A_SUM = 32.0 * float(np.finfo(float).eps)
_TOLD_APART = 2e-3


@dataclass(frozen=True, eq=False)
class Design:
    r"""Signed masses on few spheres, whose plane waves are a kernel on a range of distances.

    Attributes
    ----------
    kernel, dim, domain, tol, objective, coupling :
        What was asked for.
    radii, masses : ndarray of shape (m,)
        Radii w_j, ascending, and signed masses c_j.
    deviations : ndarray of shape (m,)
        Root mean square over the distances of the standard deviation that one block of directions
        (one direction, for "iid") gives to the unit mass at each radius.
    block_deviation : float
        Root mean square over the distances of the standard deviation of the whole estimate with
        one block of directions (one direction, for "iid") for each radius, or, for "shared", for
        all of them together.
    sup_error : Enclosure
        Largest error on the domain; ``mid + rad <= tol``.  :meth:`certify` proves it.
    mass : float
        Sum of |c_j|.
    mass_lower_bound : float
        No measure of radii up to ``max_radius`` within ``tol`` has a smaller mass (by duality).
    objective_value, objective_lower_bound : float
        Sum of |c_j| deviation_j (variance) or of |c_j| (mass), and its least possible value for
        that mass bound, again by duality.
    max_mass, max_radius : float
        The bounds in force.
    dual_points, dual_weights : ndarray
        The dual certificate q(w) = sum_i weights_i Omega(w points_i), at most the cost of a unit
        of mass at every radius and equal to it at the radii of the design.
    multiplier : float
        The dual price of the bound on the mass, by which that cost is raised.
    """

    kernel: Kernel
    dim: int
    domain: tuple[float, float]
    tol: float
    objective: Objective
    coupling: Coupling
    radii: FloatArray
    masses: FloatArray
    deviations: FloatArray
    block_deviation: float
    sup_error: Enclosure
    mass_lower_bound: float
    objective_value: float
    objective_lower_bound: float
    max_mass: float
    max_radius: float
    dual_points: FloatArray = field(repr=False)
    dual_weights: FloatArray = field(repr=False)
    multiplier: float = field(repr=False)

    @property
    def mass(self) -> float:
        """Total mass, the sum of |c_j|."""
        return float(np.abs(self.masses).sum())

    @property
    def measure(self) -> SpectralMeasure:
        """The design as a finite measure, to be tabulated like any other."""
        from spectra.measure import SpectralMeasure

        return SpectralMeasure.from_atoms(self.dim, self.radii, self.masses, kernel=self.kernel)

    @property
    def table(self) -> SpectralTable:
        """The table that features draw from, with a part of its own for each radius."""
        return table_of_spheres(
            self.kernel, self.dim, self.radii, self.masses, self.domain, self.sup_error
        )

    @property
    def gap(self) -> float:
        """How far the objective may be above the best one, as a part of it."""
        if self.objective_value == 0.0:
            return 0.0
        return (self.objective_value - self.objective_lower_bound) / self.objective_value

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The kernel that the design stands for: sum_j c_j Omega(w_j z)."""
        z = np.asarray(z, dtype=float)
        return np.asarray(plane_wave_mean(self.dim, z[..., None] * self.radii) @ self.masses)

    def dual(self, w: ArrayLike) -> FloatArray:
        """The dual certificate q(w) at radii w."""
        w = np.asarray(w, dtype=float)
        waves = plane_wave_mean(self.dim, w[..., None] * self.dual_points)
        return np.asarray(waves @ self.dual_weights)

    def certify(self) -> Enclosure:
        """Prove the largest error on the domain in ball arithmetic (needs the extra 'certify').

        Raises
        ------
        MissingExtraError, NoRouteError
            Without python-flint, or for a formula that its balls do not know.
        """
        return proved_sup_error(
            self.kernel, self.dim, self.radii, self.masses, self.domain, tol=self.tol
        )

    def rounding(self, dtype: type[np.float32] | type[np.float64] = np.float64) -> float:
        """Estimate of the error that features of this precision add: 8 roundings per unit of mass.

        Cancelling masses lose their digits when they are added: with a mass of 1000 in float32
        that is 5e-4.
        """
        return _ULPS_PER_MASS * float(np.finfo(dtype).eps) / 2.0 * self.mass


@staged("designing a measure within a tolerance", advice=ADVICE)
def design_within(
    kernel: Kernel,
    dim: int,
    *,
    domain: tuple[float, float],
    tol: float,
    objective: Objective = "variance",
    coupling: Coupling = "orthogonal",
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    max_mass: float | None = None,
    max_radius: float | None = None,
) -> Design:
    """Find the cheapest signed measure within ``tol`` of a kernel: see :func:`spectra.design`.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k = radial("(1 - z**2/4)**2")
    >>> d = design_within(k, 16, domain=(0, 2), tol=1e-3, objective="mass")
    >>> round(d.mass, 2), d.gap < 0.01, d.sup_error.mid + d.sup_error.rad <= 1e-3
    (7.77, True, True)
    """
    low, high = check_domain(domain)
    _check(dim, tol, objective, coupling)
    nodes, weights = law_of_distances(kernel, (low, high), distances)
    if max_radius is None:
        max_radius = default_radius(dim, high)
    size = float(np.abs(kernel(np.linspace(low, high, _SIZE_NODES))).max())
    _refuse_below_rounding(tol, size)
    if max_mass is None:
        max_mass = max(tol / (_ULPS_PER_MASS * _FLOAT32_ROUNDING), _CHEAP_MASS * size)
    if not (max_mass > 0 and max_radius > 0):
        raise ParameterError(
            f"max_mass = {max_mass} and max_radius = {max_radius} must both be positive: they "
            "bound the masses and the radii of the design."
        )
    deviation = _deviation(dim, coupling, nodes, weights, max_radius)
    cost = deviation if objective == "variance" else _unit_cost
    program = Program(kernel, dim, (low, high), _MARGIN * tol, cost, max_mass, max_radius)
    for _ in range(_MOST_TIGHTENINGS):
        solution = solve(program)
        error = estimated_sup_error(
            kernel, dim, solution.radii, solution.masses, (low, high), tol=tol
        )
        reached = error.mid + error.rad
        if reached <= tol:
            break
        program = replace(program, tol=0.999 * program.tol * tol / reached)
    else:
        raise AccuracyError(
            f"The error of the design could not be brought below {tol:g}: the last one reached "
            f"{reached:.3g}, because masses of {np.abs(solution.masses).sum():.3g} cancel. Ask for "
            "a larger tol or a smaller max_mass."
        )
    least = solution
    if objective == "variance":
        least = solve(replace(program, cost=_unit_cost))
    deviations = deviation(solution.radii)
    block = float(np.linalg.norm(solution.masses * deviations))
    if coupling == "shared":
        covariance = block_covariance(dim, solution.radii, nodes, weights)
        block = float(np.sqrt(solution.masses @ covariance @ solution.masses))
    return Design(
        kernel=kernel,
        dim=dim,
        domain=(low, high),
        tol=tol,
        objective=objective,
        coupling=coupling,
        radii=solution.radii,
        masses=solution.masses,
        deviations=deviations,
        block_deviation=block,
        sup_error=error,
        mass_lower_bound=least.bound_at(tol),
        objective_value=solution.value,
        objective_lower_bound=solution.bound_at(tol),
        max_mass=max_mass,
        max_radius=max_radius,
        dual_points=solution.points,
        dual_weights=solution.weights,
        multiplier=solution.multiplier,
    )


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
    >>> from spectra.kernel import zonal
    >>> step = zonal("1 - acos(u)/pi")              # a root at z = 2
    >>> curve = price_curve(step, 16, domain=(0, 2), tols=[3e-2, 2e-2])
    >>> bool(curve.masses[1] > 9 * curve.masses[0])
    True
    """
    low, high = check_domain(domain)
    for tol in tols:
        _check(dim, tol, "mass", "orthogonal")
    if max_radius is None:
        max_radius = default_radius(dim, high)
    ordered = np.array(sorted((float(t) for t in tols), reverse=True))
    masses, bounds = np.full(ordered.size, np.inf), np.zeros(ordered.size)
    for i, tol in enumerate(ordered):
        try:
            solution = solve(
                Program(kernel, dim, (low, high), float(tol), _unit_cost, max_mass, max_radius)
            )
        except AccuracyError:
            # Masses only grow from here on, and so do their bounds.
            bounds[i:] = bounds[:i].max(initial=0.0)
            break
        masses[i], bounds[i] = solution.value, solution.lower_bound
    return PriceCurve(dim, (low, high), ordered, masses, bounds, max_radius)


def default_radius(dim: int, z_max: float) -> float:
    """Radius up to which designs look: 100 (sqrt(d) + 5) / z_max.

    Examples
    --------
    >>> default_radius(16, 2.0)
    450.0
    """
    return _RADIUS_REACH * (float(np.sqrt(dim)) + 5.0) / z_max


def _unit_cost(w: FloatArray) -> FloatArray:
    return np.ones_like(w)


def _deviation(
    dim: int, coupling: Coupling, nodes: FloatArray, weights: FloatArray, max_radius: float
) -> Callable[[FloatArray], FloatArray]:
    """Root mean variance of one block (or one direction) at a radius, over the distances."""
    wave = WaveTable(dim, 2.0 * max_radius * float(nodes.max()))
    variance = iid_variance if coupling == "iid" else block_variance

    def deviation(w: FloatArray) -> FloatArray:
        values = variance(dim, (w[:, None] * nodes).ravel(), wave=wave).reshape(w.size, nodes.size)
        return np.asarray(np.sqrt(values @ weights))

    return deviation


def _refuse_below_rounding(tol: float, size: float) -> None:
    least = _ROUNDING_OF_A_SUM / _TOLD_APART * size
    if tol < least:
        raise AccuracyError(
            f"tol = {tol:g} is beyond double precision: the kernel is of size {size:.3g}, sums of "
            "its waves are rounded to 7e-15 of that, and a design compares their errors to 0.2 % "
            f"of the tolerance. Ask for tol >= {least:.2g}."
        )


def _check(dim: int, tol: float, objective: str, coupling: str) -> None:
    if dim < 1:
        raise ParameterError(f"dim = {dim}: a dimension is at least 1.")
    if not 0.0 < tol < np.inf:
        raise ParameterError(f"tol = {tol}: an error allowed must be positive and finite.")
    if objective not in ("mass", "variance"):
        raise ParameterError(f"objective = {objective!r}: choose 'mass' or 'variance'.")
    if coupling not in ("orthogonal", "shared", "iid"):
        raise ParameterError(f"coupling = {coupling!r}: choose 'orthogonal', 'shared' or 'iid'.")
    if objective == "variance" and dim == 1:
        raise ParameterError(
            "In dimension 1 every direction is +-1 and a cosine does not see its sign, so designed "
            "features have no variance at all. Use objective='mass'."
        )

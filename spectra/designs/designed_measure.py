r"""A design: signed masses on few spheres, whose plane waves are a kernel on a range of distances.

.. math:: \hat k(z) = \sum_j c_j \Omega_d(w_j z) + \sum_{i \le L} a_i u^i + k_{tail}(z)

The masses may be large and cancel.  Drawn as two Jordan parts, whose radii are sampled, they would
not cancel; with a part for each sphere, as in :attr:`Design.table`, they do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.enclosures import Enclosure
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.designs.certificate import proved_sup_error
from spectra.designs.exact_powers import power_columns, unit_of_powers, without_powers
from spectra.designs.methods.linear_programme import Dual
from spectra.errors import ParameterError
from spectra.kernels.kernel import Kernel
from spectra.measure import SpectralMeasure
from spectra.measure.tabulation import tabulate
from spectra.table import Part, RadialLaw, SpectralTable
from spectra.verdict import spectral_measure

__all__ = ["FLOAT32_ROUNDING", "ULPS_PER_MASS", "Coupling", "Design"]

Coupling = Literal["orthogonal", "shared", "iid"]

#: A feature matrix loses about this many units of rounding for each unit of mass.
ULPS_PER_MASS = 8.0
FLOAT32_ROUNDING = 2.0**-24
# Spheres printed; designs of a kink at z = 0 have dozens.
_MOST_LINES = 40


@dataclass(frozen=True, eq=False)
class Design:
    r"""A kernel on a range of distances by signed masses on few spheres.

    Attributes
    ----------
    kernel, dim, domain, coupling :
        What was asked for; "shared" directions are the same for all radii.
    radii, masses : ndarray of shape (m,)
        Radii w_j, ascending, and signed masses c_j; the radius 0 is one constant column.
    counts : tuple of int
        Directions of each radius (1 for the radius 0): for a tolerance those of one block (one
        direction for "iid"), for a number of columns all that fit.
    deviations : ndarray of shape (m,)
        Root mean square over the distances of the standard deviation that the directions of each
        radius give to a unit of its mass.
    bias, deviation : float
        Root mean squares over the distances of the error of :meth:`__call__`, and of the standard
        deviation of the estimate with these directions.
    sup_error : Enclosure
        Largest error of :meth:`__call__` on the domain.  :meth:`certified` proves it.
    tol, n_components : float or None, int or None
        What was asked for; one of the two is None.
    powers : ndarray of shape (L,)
        Coefficients a_1, ..., a_L of the powers of u = 1 - (z/unit)^2/2 that exact features serve.
    tail : Kernel or None
        A part in closed form beside the spheres.
    dual : Dual or None
        The proof that none is cheaper within ``tol``; None for a number of columns.
    """

    kernel: Kernel
    dim: int
    domain: tuple[float, float]
    coupling: Coupling
    radii: FloatArray
    masses: FloatArray
    counts: tuple[int, ...]
    deviations: FloatArray
    bias: float
    deviation: float
    sup_error: Enclosure
    tol: float | None = None
    n_components: int | None = None
    powers: FloatArray = field(default_factory=lambda: np.zeros(0))
    tail: Kernel | None = None
    dual: Dual | None = None

    @property
    def mass(self) -> float:
        """Total mass: the sum of |c_j|, and that of the tail, which has one sign."""
        return float(np.abs(self.masses).sum()) + (abs(self.tail.at_zero) if self.tail else 0.0)

    @property
    def expected_error(self) -> float:
        """Root mean squared error over the distances: sqrt(bias^2 + deviation^2)."""
        return float(np.hypot(self.bias, self.deviation))

    @property
    def n_directions(self) -> int:
        """Directions of the radius that has most, and of every radius where they are shared."""
        return max(self.counts)

    @property
    def columns(self) -> int:
        """Columns of the features: a cosine and a sine for each wave, constants and monomials."""
        constant = bool(np.any(self.radii == 0.0)) or bool(self.powers.size)
        waves = sum(n for n, w in zip(self.counts, self.radii, strict=True) if w > 0.0)
        return 2 * waves + constant + power_columns(self.kernel, self.dim, self.powers.size) - 1

    @property
    def lower_bound(self) -> float:
        """The least value that the objective has of any measure within ``tol``, by duality.

        Raises
        ------
        ParameterError
            Where the design is the best found for a number of columns, which no dual bounds.
        """
        return self._known_dual.lower_bound

    @property
    def gap(self) -> float:
        """How far the objective may be above the best one, as a part of it."""
        dual = self._known_dual
        return 0.0 if dual.value == 0.0 else (dual.value - dual.lower_bound) / dual.value

    @property
    def _known_dual(self) -> Dual:
        if self.dual is None:
            raise ParameterError(
                f"The design is the best that was found for {self.n_components} columns, and no "
                "dual bounds it. Design for a tol to know how far from the best it may be."
            )
        return self.dual

    @property
    def unit(self) -> float:
        """What distances are measured in by the powers: 1 on the unit sphere, else z_max/2."""
        return unit_of_powers(self.kernel, self.domain)

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The kernel that features have on average."""
        z = np.asarray(z, dtype=float)
        value = plane_wave_mean(self.dim, z[..., None] * self.radii) @ self.masses
        u = 1.0 - 0.5 * (z / self.unit) ** 2
        value = value + np.polynomial.polynomial.polyval(u, [0.0, *self.powers])
        return np.asarray(value if self.tail is None else value + self.tail(z))

    @property
    def measure(self) -> SpectralMeasure:
        """The design as a finite measure.

        Raises
        ------
        ParameterError
            Where powers of u are part of the design, which are no plane waves.
        """
        self._refuse_powers()
        fixed = None if self.tail is None else spectral_measure(self.tail, self.dim)
        atoms = [(w, c, 0.0) for w, c in zip(self.radii, self.masses, strict=True)]
        atoms += [(a.radius, a.mass, a.error) for a in fixed.atoms] if fixed is not None else []
        radii, masses, errors = np.array(atoms).T
        made = SpectralMeasure.from_atoms(
            self.dim, radii, masses, errors=errors, kernel=self.kernel
        )
        return made if fixed is None else replace(made, density=fixed.density)

    @property
    def table(self) -> SpectralTable:
        """The table that features draw from: the parts of the tail, and one for each sphere.

        Raises
        ------
        ParameterError
            Where powers of u are part of the design.
        """
        self._refuse_powers()
        spheres = tuple(
            Part(abs(c), 0.0, 0.0 if c > 0 else float(np.pi), RadialLaw.from_atoms([w], [1.0]))
            for w, c in zip(self.radii.tolist(), self.masses.tolist(), strict=True)
            if c != 0.0
        )
        low, high = self.domain
        made = SpectralTable(
            dim=self.dim,
            parts=spheres,
            formula=str(self.kernel),
            k_zero=float(self.masses.sum()),
            u_error=0.0,
            bias=self.sup_error.mid + self.sup_error.rad,
            domain=high,
            sphere=self.kernel.is_zonal,
            provenance=f"designed on distances {low:g} to {high:.9g}",
        )
        if self.tail is None:
            return made
        fixed = tabulate(spectral_measure(self.tail, self.dim))
        return replace(
            made,
            parts=(*fixed.parts, *made.parts),
            k_zero=fixed.k_zero + made.k_zero,
            u_error=fixed.u_error,
            provenance=f"{made.provenance}, after {self.tail}",
        )

    def _refuse_powers(self) -> None:
        if self.powers.size:
            raise ParameterError(
                f"The design holds exact powers of z^2 up to degree {self.powers.size}, which no "
                "measure on frequencies has. Take exact_degree=0 for a measure."
            )

    def certified(self) -> Enclosure:
        """Prove the largest error on the domain in ball arithmetic.

        Raises
        ------
        AccuracyError, NoRouteError
            Where the formula cannot be enclosed, or its balls do not know it.
        """
        reached = self.sup_error.mid + self.sup_error.rad
        rest = self.kernel if self.tail is None else self.kernel - self.tail
        rest = without_powers(rest, self.powers, self.unit)
        spheres = (self.radii, self.masses)
        return proved_sup_error(rest, self.dim, *spheres, self.domain, tol=self.tol or reached)

    def rounding(self, dtype: type[np.float32] | type[np.float64] = np.float64) -> float:
        """Estimate of the error that features of this precision add: 8 roundings per unit of mass.

        Cancelling masses lose their digits when they are added: with a mass of 1000 in float32
        that is 5e-4.
        """
        return ULPS_PER_MASS * float(np.finfo(dtype).eps) / 2.0 * self.mass

    def __repr__(self) -> str:
        beside = f", {self.powers.size} exact powers" if self.powers.size else ""
        beside += f", after {self.tail}" if self.tail is not None else ""
        return (
            f"Design of {self.kernel} on R^{self.dim} for distances {self.domain[0]:g} to "
            f"{self.domain[1]:.6g}: {self.radii.size} spheres of mass {self.mass:.4g}{beside}; "
            f"error at most {self.sup_error.mid + self.sup_error.rad:.3g}"
        )

    def __str__(self) -> str:
        low, high = self.domain
        lines = [
            f"{self.kernel} in dimension {self.dim}, on distances {low:g} to {high:.6g}:",
            f"  error at most {self.sup_error.mid + self.sup_error.rad:.4g}",
        ]
        if self.tail is not None:
            lines.append(f"  mass {self.mass:.6g} with that of {self.tail}, which stands beside")
        elif self.dual is not None and self.tol is not None:
            lines.append(
                f"  mass {self.mass:.6g} (no measure within {self.tol:g} has less than "
                f"{self.dual.least_mass:.4g}), {self.dual.objective} {self.dual.value:.6g} "
                f"({100 * self.gap:.2g} % above its bound)"
            )
        if self.n_components is None:
            rounding = self.rounding(np.float32)
            lines.append(f"  float32 features add an error of about {rounding:.2g}")
        else:
            lines.append(
                f"  mass {self.mass:.6g}; {self.columns} columns, {self.n_directions} "
                f"{self.coupling} directions"
            )
            lines.append(
                f"  expected error {self.expected_error:.4g}: bias {self.bias:.4g}, deviation "
                f"{self.deviation:.4g} (root mean squares over the distances)"
            )
        lines.append(f"  {'radius':>14}  {'mass':>16}")
        pairs = list(zip(self.radii.tolist(), self.masses.tolist(), strict=True))
        lines += [f"  {w:14.8g}  {c:16.9g}" for w, c in pairs[:_MOST_LINES]]
        if len(pairs) > _MOST_LINES:
            lines.append(f"  ... and {len(pairs) - _MOST_LINES} more")
        return "\n".join(lines)

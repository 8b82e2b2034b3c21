r"""A design: signed masses c_j on spheres |w| = w_j, and powers of a variable u.

.. math:: \hat k(z) = \sum_j c_j \Omega_d(w_j z) + \sum_{i = 1}^L a_i u^i

Omega_d(t) is the mean of cos(t s.e) over unit vectors s of R^d.  Masses may be large and cancel:
the variance is low only if each sphere has a fixed number of frequencies, not a random one.

Features reproduce the powers of u exactly.  For unit rows u = <x, y> = 1 - z^2/2, and the features
are monomials of x.  For other rows u = 1 - (z/unit)^2/2 with unit = z_max/2.  This u is in [-1, 1],
too, and its powers are polynomials in <x, y>, |x|^2 and |y|^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import Literal

import numpy as np
import sympy
from numpy.typing import ArrayLike

from spectra.base.accuracy import SINGLE
from spectra.base.bessel import plane_wave_mean
from spectra.base.enclosures import Enclosure
from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError
from spectra.formula.parsing import U, Z
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.measure import SpectralMeasure
from spectra.table import Part, RadialLaw, SpectralTable

__all__ = [
    "CACHED_DESIGNS", "FLOAT32_ERROR_PER_MASS", "Coupling", "Design", "Objective", "power_columns",
    "unit_of_powers", "without_powers",
]  # fmt: skip

Coupling = Literal["orthogonal", "shared", "iid"]
Objective = Literal["mass", "variance"]
#: Number of designs that each method caches; each takes a few kilobytes.
CACHED_DESIGNS = 64

#: Error that a unit of mass adds to the kernel values of float32 features: 8 roundings of 2^-24.
FLOAT32_ERROR_PER_MASS = 4.0 * SINGLE
# Largest number of spheres that are printed; a kernel with a kink at z = 0 needs dozens.
_MOST_LINES = 40


@dataclass(frozen=True, eq=False)
class Design:
    r"""Signed masses on spheres of frequencies that approximate a kernel on a range of distances.

    Attributes
    ----------
    kernel, dim, domain, coupling, tol, n_components :
        The arguments of :func:`design`; either ``tol`` or ``n_components`` is None.
    radii, masses : ndarray of shape (m,)
        Radii w_j, ascending, and signed masses c_j; the radius 0 is one constant column.
    counts : tuple of int
        Number of directions of each radius (1 for the radius 0).  With ``tol`` it is one block of
        orthonormal directions (one direction for "iid"), with ``n_components`` as many as fit.
    bias, deviation : float
        Root mean squares over the distances of the error of :meth:`__call__`, and of the standard
        deviation of the approximate kernel with these directions.
    sup_error : Enclosure
        Estimate of the largest error of :meth:`__call__` on the domain.
    powers : ndarray of shape (L,)
        Coefficients a_1, ..., a_L of the powers of u = 1 - (z/unit)^2/2, which have exact features.
    objective, value, lower_bound : str, float, float
        With ``tol``: the objective, its value for the design, and a lower bound of its value for
        every measure within ``tol``, by duality.  With ``n_components``: None.
    dual : (ndarray, ndarray) or None
        With ``tol``: distances z_i and weights y_i of the dual function :meth:`certificate`.
    """

    kernel: Kernel
    dim: int
    domain: tuple[float, float]
    coupling: Coupling
    radii: FloatArray
    masses: FloatArray
    counts: tuple[int, ...]
    bias: float
    deviation: float
    sup_error: Enclosure
    tol: float | None = None
    n_components: int | None = None
    powers: FloatArray = field(default_factory=lambda: np.zeros(0))
    objective: Objective | None = None
    value: float | None = None
    lower_bound: float | None = None
    dual: tuple[FloatArray, FloatArray] | None = None

    @property
    def mass(self) -> float:
        """Total mass: the sum of |c_j|."""
        return float(np.abs(self.masses).sum())

    @property
    def expected_error(self) -> float:
        """Expected root mean squared error over the distances, sqrt(bias^2 + deviation^2)."""
        return float(np.hypot(self.bias, self.deviation))

    @property
    def n_directions(self) -> int:
        """The largest number of directions of a radius."""
        return max(self.counts)

    @property
    def columns(self) -> int:
        """Number of feature columns: cosines and sines, the constant and monomials."""
        constant = bool(np.any(self.radii == 0.0)) or bool(self.powers.size)
        frequencies = sum(n for n, w in zip(self.counts, self.radii, strict=True) if w > 0.0)
        monomials = power_columns(self.kernel, self.dim, self.powers.size) - 1  # without constant
        return 2 * frequencies + constant + monomials

    @property
    def gap(self) -> float | None:
        """Relative duality gap, a bound of (value - minimum) / value; None without ``tol``."""
        if self.value is None or self.lower_bound is None:
            return None
        return 0.0 if self.value == 0.0 else (self.value - self.lower_bound) / self.value

    def certificate(self, w: ArrayLike) -> FloatArray:
        r"""The dual function :math:`q(w) = \sum_i y_i \Omega_d(w z_i)`, which proves optimality.

        For the objective "mass", |q| is at most 1 at radii up to 100 (sqrt(d) + 5) / z_max, and 1
        at the radii of the design, both to about one percent.
        """
        if self.dual is None:
            raise ParameterError(
                f"A design for a number of columns (n_components={self.n_components}) has no dual. "
                "Use tol for a design with a bound of its distance from the optimum."
            )
        distances, weights = self.dual
        w = np.asarray(w, dtype=float)
        return np.asarray(plane_wave_mean(self.dim, w[..., None] * distances) @ weights)

    @property
    def unit(self) -> float:
        """The unit of z in u = 1 - (z/unit)^2/2: 1 for a zonal kernel, else z_max/2."""
        return unit_of_powers(self.kernel, self.domain)

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The approximate kernel at distances z: the expected value of the features' product."""
        z = np.asarray(z, dtype=float)
        value = plane_wave_mean(self.dim, z[..., None] * self.radii) @ self.masses
        u = 1.0 - 0.5 * (z / self.unit) ** 2
        return np.asarray(value + np.polynomial.polynomial.polyval(u, [0.0, *self.powers]))

    @property
    def measure(self) -> SpectralMeasure:
        """The design as a finite measure; a ParameterError if it has powers."""
        self._refuse_powers()
        return SpectralMeasure.from_atoms(self.dim, self.radii, self.masses, kernel=self.kernel)

    @property
    def table(self) -> SpectralTable:
        """The table from which features are drawn, with a part for each sphere."""
        self._refuse_powers()
        phases = np.where(self.masses > 0.0, 0.0, np.pi).tolist()
        spheres = tuple(
            Part(abs(c), mass_error=0.0, phase=phase, groups=RadialLaw.from_atoms([w], [1.0]))
            for w, c, phase in zip(self.radii.tolist(), self.masses.tolist(), phases, strict=True)
            if c != 0.0
        )
        low, high = self.domain
        return SpectralTable(
            dim=self.dim,
            parts=spheres,
            formula=str(self.kernel),
            k_zero=float(self.masses.sum()),
            u_error=0.0,  # quantiles of atoms are exact
            bias=self.sup_error.mid + self.sup_error.rad,
            domain=high,
            sphere=self.kernel.is_zonal,
            provenance=f"designed on distances {low:g} to {high:.9g}",
        )

    def _refuse_powers(self) -> None:
        if self.powers.size:
            raise ParameterError(
                f"The design has powers of z^2 up to degree {self.powers.size}, which have no "
                "spectral measure. Use exact_degree=0."
            )

    def __repr__(self) -> str:
        exact = f", {self.powers.size} exact powers" if self.powers.size else ""
        return (
            f"Design of {self.kernel} on R^{self.dim} for distances {self.domain[0]:g} to "
            f"{self.domain[1]:.6g}: {self.radii.size} spheres of mass {self.mass:.4g}{exact}; "
            f"error at most {self.sup_error.mid + self.sup_error.rad:.3g}"
        )

    def __str__(self) -> str:
        low, high = self.domain
        lines = [
            f"{self.kernel} in dimension {self.dim}, on distances {low:g} to {high:.6g}:",
            f"  error at most {self.sup_error.mid + self.sup_error.rad:.4g}",
        ]
        if self.tol is not None:
            rounding = FLOAT32_ERROR_PER_MASS * self.mass
            lines += [
                f"  mass {self.mass:.6g}, {self.objective} {self.value:.6g} (no measure within "
                f"{self.tol:g} has less than {self.lower_bound:.4g})",
                f"  float32 features add an error of about {rounding:.2g}",
            ]
        else:
            lines += [
                f"  mass {self.mass:.6g}; {self.columns} columns, {self.n_directions} "
                f"{self.coupling} directions",
                f"  expected error {self.expected_error:.4g}: bias {self.bias:.4g}, deviation "
                f"{self.deviation:.4g} (root mean squares over the distances)",
            ]
        lines.append(f"  {'radius':>14}  {'mass':>16}")
        pairs = list(zip(self.radii.tolist(), self.masses.tolist(), strict=True))
        lines += [f"  {w:14.8g}  {c:16.9g}" for w, c in pairs[:_MOST_LINES]]
        if len(pairs) > _MOST_LINES:
            lines.append(f"  ... and {len(pairs) - _MOST_LINES} more")
        return "\n".join(lines)


def power_columns(kernel: Kernel, dim: int, degree: int) -> int:
    """Number of columns of the powers of u up to a degree, with the constant."""
    variables = dim if kernel.is_zonal else dim + 1
    return comb(variables + degree, degree)


def unit_of_powers(kernel: Kernel, domain: tuple[float, float]) -> float:
    """The unit of z in u = 1 - (z/unit)^2/2: 1 for a zonal kernel, else z_max/2."""
    return 1.0 if kernel.is_zonal else 0.5 * domain[1]


def without_powers(kernel: Kernel, powers: FloatArray, unit: float) -> Kernel:
    """The kernel minus sum_i a_i u^i, with a_i = powers[i - 1] as exact rationals."""
    if not powers.size:
        return kernel
    u = U if kernel.is_zonal else 1 - (Z / sympy.Rational(unit)) ** 2 / 2
    polynomial = sympy.Add(*(sympy.Rational(float(a)) * u**i for i, a in enumerate(powers, 1)))
    return kernel - (zonal(polynomial) if kernel.is_zonal else radial(polynomial))

"""One part of a measure: a mass, a sign, the law of its radii, and what shifts it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.shifts import Shifts

__all__ = ["Part"]

# Rounding of an exponential of a few operations.
_GAUSSIAN_ERROR = 4e-16


@final
@dataclass(frozen=True, repr=False)
class Part:
    r"""One positive mass of a measure: its phase, the law of its radii, and its shifts.

    It adds :math:`\pm m\,\tilde k(|D|)` to the kernel, with the mean plane wave
    :math:`\tilde k(z) = E\,\Omega_d(R z)`, or :math:`\pm m \sum_j c_j \tilde k(|D + t_j|)` where it
    has shifts.  Its direction is uniform.

    Attributes
    ----------
    mass, mass_error, phase : float
        Mass of the radial law, > 0, with a bound of its error; 0 for a positive part, else pi.
    law : RadialLaw
    shifts : Shifts or None
        The offsets t_j and weights c_j; None for a radial part.
    deviation : float
        Standard deviation of a coordinate where the law is known to be that of a Gaussian, whose
        waves then have all their digits; else 0.
    """

    mass: float
    mass_error: float
    phase: float
    law: RadialLaw
    shifts: Shifts | None = None
    deviation: float = 0.0

    def __post_init__(self) -> None:
        numbers = self.mass, self.mass_error, self.deviation
        if not (self.mass > 0.0 and all(0.0 <= number < np.inf for number in numbers)):
            raise ParameterError(
                f"A part has the mass {self.mass} with the error {self.mass_error} and the "
                f"deviation {self.deviation}. All must be finite and >= 0, and the mass positive: "
                "the sign is in the phase."
            )
        if self.phase not in (0.0, np.pi):
            raise ParameterError(
                f"A part has the phase {self.phase}. It must be 0 (positive) or pi (negative)."
            )
        if not isinstance(self.law, RadialLaw):
            raise ParameterError(f"A part needs a RadialLaw; got {type(self.law).__name__}.")

    def __repr__(self) -> str:
        sign = "+" if self.sign > 0 else "-"
        moved = "" if self.shifts is None else f" under {self.shifts.steps.size} shift(s)"
        return f"{sign} part of mass {self.mass:.12g} in {self.law!r}{moved}"

    @property
    def sign(self) -> float:
        """1 for a positive part, -1 for a negative one: the cosine of the phase."""
        return 1.0 if self.phase == 0.0 else -1.0

    @property
    def wave_bound(self) -> float:
        """Bound of the wave of a part of mass 1: 1, or the sum of the |c_j|."""
        return 1.0 if self.shifts is None else self.shifts.bound

    @property
    def bound(self) -> float:
        """Bound of the total mass of what the part adds; equal to it for one shift or none."""
        return self.mass * self.wave_bound

    def plane_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean plane wave of the law at distances z, and a bound of its error."""
        if self.deviation > 0.0:
            wave = np.exp(-0.5 * (self.deviation * z) ** 2)
            return wave, np.full(z.shape, _GAUSSIAN_ERROR)
        return self.law.plane_wave_enclosure(dim, z)

    def root_mean_square(self, dim: int) -> tuple[float, float]:
        """m times the root of E|a(e.w)|^2, the size of a draw, and a bound of its error."""
        if self.shifts is None:
            return self.mass, self.mass_error
        weights, steps = self.shifts.weights, self.shifts.steps
        gaps = np.abs(np.subtract.outer(steps, steps)) * self.shifts.unit
        wave, error = self.plane_wave(dim, np.asarray(gaps.ravel(), dtype=float))
        products = np.multiply.outer(weights, weights).ravel()
        # A mean square is not negative; rounding may leave it below zero by less than its error.
        root = math.sqrt(max(float(products @ wave), 0.0))
        lack = float(np.abs(products) @ error)
        slack = lack / max(root, math.sqrt(lack)) if lack > 0.0 else 0.0
        return self.mass * root, self.mass_error * root + self.mass * slack

    def kernel(self, dim: int, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the part adds to the kernel, and a bound of the error of its integrals.

        ``points`` are distances, shape (n,), of a radial part, and differences, shape (n, d), of
        one with shifts.
        """
        scale = self.sign * self.mass
        if self.shifts is None:
            wave, error = self.law.plane_wave_enclosure(dim, points)
            return scale * wave, self.mass * error
        distances = np.linalg.norm(points[..., None, :] + self.shifts.offsets, axis=-1)
        wave, error = self.plane_wave(dim, distances)
        weights = self.shifts.weights
        return scale * (wave @ weights), self.mass * (error @ np.abs(weights))

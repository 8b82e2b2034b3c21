"""The dual of a design within a tolerance: a lower bound of its mass or variance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean

__all__ = ["Dual", "Objective"]

Objective = Literal["mass", "variance"]


@dataclass(frozen=True, eq=False)
class Dual:
    r"""Why no measure is cheaper: :math:`q(w) = \sum_i y_i \Omega_d(w z_i)`, which is called.

    |q| is at most the cost of a unit of mass, raised by ``multiplier``, at every radius up to
    ``max_radius``, and equal to it at the radii of the design.
    """

    dim: int
    tol: float
    objective: Objective
    value: float
    lower_bound: float
    least_mass: float
    max_mass: float
    max_radius: float
    points: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    multiplier: float

    def __call__(self, w: ArrayLike) -> FloatArray:
        """q(w) at radii w."""
        w = np.asarray(w, dtype=float)
        return np.asarray(plane_wave_mean(self.dim, w[..., None] * self.points) @ self.weights)

    def at(self, tol: float) -> Dual:
        """What the same weights prove of another tolerance."""
        lower = self.lower_bound - (tol - self.tol) * float(np.abs(self.weights).sum())
        return replace(self, tol=tol, lower_bound=max(lower, 0.0))

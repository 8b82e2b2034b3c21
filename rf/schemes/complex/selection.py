"""Nonnegative functions of the modulation a = A + iB: a positive or negative part, or the modulus.

The shifts t_j are whole ``steps`` times a ``unit``: A is an even and B an odd trigonometric
polynomial in theta = unit * e.w.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray
from spectra.table import Shifts

__all__ = ["SELECTIONS", "Modulation", "Selection"]

Selection = Literal["real+", "real-", "imaginary+", "modulus"]
#: max(0, A), max(0, -A), 2 max(0, B) and |a|: the factors by which a part multiplies the Gaussian.
SELECTIONS: tuple[Selection, ...] = ("real+", "real-", "imaginary+", "modulus")

# Imaginary parts of roots, and distances of zeros, that count as 0: rounding moves double roots.
_ROOT_TOLERANCE = 1e-7
# A sum of weights below this, relative to their absolute sum, counts as 0.
_CANCELLED = 1e-15


@final
@dataclass(frozen=True, eq=False)
class Modulation(Shifts):
    """The modulation a = A + iB of shifts, and the nonnegative functions of it."""

    @classmethod
    def of(cls, shifts: Shifts) -> Self:
        """The modulation of shifts."""
        return cls(shifts.axis, shifts.unit, shifts.steps, shifts.weights)

    def selected(self, selection: Selection, theta: ArrayLike) -> FloatArray:
        """The selected function at theta; for 2 max(0, B) its even part |B|."""
        value = self.at_angle(theta)
        if selection == "modulus":
            return np.abs(value)
        if selection == "imaginary+":
            return np.abs(value.imag)
        return np.maximum(0.0, value.real if selection == "real+" else -value.real)

    def is_constant(self, selection: Selection) -> bool:
        """Whether the selected function is constant, so that the part is isotropic."""
        if selection == "modulus":
            return self.steps.size == 1
        return selection != "imaginary+" and not np.any(self.steps)

    def vanishes(self, selection: Selection) -> bool:
        """Whether A, or B for "imaginary+", is 0 up to rounding, because opposite shifts cancel."""
        if selection == "modulus":
            return False
        signs = np.sign(self.steps) if selection == "imaginary+" else 1.0
        series = np.zeros(int(np.abs(self.steps).max()) + 1)
        np.add.at(series, np.abs(self.steps), signs * self.weights)
        return bool(np.abs(series).max() <= _CANCELLED * self.bound)

    def kinks(self, selection: Selection) -> FloatArray:
        """Angles in (0, pi) at which the selected function has a kink: zeros of A, B, or |a|."""
        if selection == "modulus":
            real, imaginary = self._zeros_of_real, self._zeros_of_imaginary
            is_common = np.abs(real[:, None] - imaginary[None, :]) < _ROOT_TOLERANCE
            return np.asarray(real[is_common.any(axis=1)])
        return self._zeros_of_imaginary if selection == "imaginary+" else self._zeros_of_real

    @cached_property
    def _zeros_of_real(self) -> FloatArray:
        series = np.zeros(int(np.abs(self.steps).max()) + 1)
        np.add.at(series, np.abs(self.steps), self.weights)
        return _angles(series)

    @cached_property
    def _zeros_of_imaginary(self) -> FloatArray:
        """Zeros of B / sin(theta): a sum of +-c_j U_m, m = |step| - 1, U_m = 2 T_m + U_(m-2)."""
        series = np.zeros(max(1, int(np.abs(self.steps).max())))
        for step, weight in zip(self.steps.tolist(), self.weights.tolist(), strict=True):
            order = abs(step) - 1
            if order >= 0:
                series[order % 2 : order + 1 : 2] += 2.0 * weight * np.sign(step)
                if order % 2 == 0:
                    series[0] -= weight * np.sign(step)
        return _angles(series)


def _angles(series: FloatArray) -> FloatArray:
    """Zeros in (0, pi) of a Chebyshev series in cos(theta), ascending."""
    trimmed = chebyshev.chebtrim(series, 0.0)
    if trimmed.size < 2:
        return np.empty(0)
    roots = chebyshev.chebroots(trimmed)
    real = roots[np.abs(roots.imag) < _ROOT_TOLERANCE].real
    return np.sort(np.arccos(real[np.abs(real) < 1.0]))

r"""What moves a part: the shifts of a sum of one radial kernel along an axis, with their weights.

A sum :math:`\sum_j c_j\, k(D + t_j e)` has the measure :math:`a(e \cdot w)\, \mu(dw)` with the
trigonometric polynomial :math:`a(x) = \sum_j c_j e^{i t_j x}`.  Numpy only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import ComplexArray, FloatArray, IntArray, frozen_array
from spectra.errors import ParameterError

__all__ = ["Shifts"]

# An axis has the length 1 up to this, the rounding of its coordinates.
_UNIT_LENGTH = 1e-12


@dataclass(frozen=True, eq=False)
class Shifts:
    """The multiplier a(x) = sum of weights * exp(i steps unit x) at x = axis.w.

    ``axis`` is a unit vector, ``unit`` > 0 a length of which every shift along it is a multiple,
    and ``steps`` are the multiples, which are distinct.

    Examples
    --------
    >>> Shifts([1.0, 0.0], 0.5, [1], [2.0]).offsets
    array([[0.5, 0. ]])
    """

    axis: FloatArray
    unit: float
    steps: IntArray
    weights: FloatArray

    def __post_init__(self) -> None:
        axis, weights = frozen_array(self.axis, "axis", 1), frozen_array(self.weights, "weights", 1)
        steps = np.array(self.steps, dtype=np.intp)
        steps.setflags(write=False)
        is_unit = abs(np.linalg.norm(axis) - 1.0) <= _UNIT_LENGTH and 0.0 < self.unit < np.inf
        distinct = len(set(steps.tolist())) == steps.size > 0
        if not is_unit or steps.shape != weights.shape or not distinct:
            raise ParameterError(
                "Shifts need an axis of length 1, a positive unit, and distinct steps, each with "
                f"a weight; got {axis}, {self.unit}, {steps} and {weights}."
            )
        for name, value in (("axis", axis), ("weights", weights), ("steps", steps)):
            object.__setattr__(self, name, value)

    @property
    def offsets(self) -> FloatArray:
        """The shifts as vectors, shape (j, d)."""
        return np.asarray(np.outer(self.steps * self.unit, self.axis))

    @property
    def bound(self) -> float:
        """A bound of |a|: the sum of the absolute weights."""
        return float(np.abs(self.weights).sum())

    def __call__(self, x: ArrayLike) -> ComplexArray:
        """Values a(x)."""
        return self.at_angle(self.unit * np.asarray(x, dtype=float))

    def at_angle(self, theta: ArrayLike) -> ComplexArray:
        """Values of a as a function of theta = unit x, of period 2 pi."""
        waves = np.exp(1j * np.multiply.outer(np.asarray(theta, dtype=float), self.steps))
        return np.asarray(waves @ self.weights)

    def polar(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """|a| and its phase at frequencies, shape (..., d); exact where there is one shift."""
        if self.steps.size > 1:
            value = self(frequencies @ self.axis)
            return np.abs(value), np.angle(value)
        turn = np.pi if self.weights[0] < 0.0 else 0.0
        phases = turn + frequencies @ self.offsets[0]
        return np.full(phases.shape, abs(self.weights[0])), np.asarray(phases)

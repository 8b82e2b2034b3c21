"""Nonnegative functions of the modulation a = A + iB: a positive or negative part, or the modulus.

The shifts t_j are whole ``steps`` times a ``unit``: A is an even and B an odd trigonometric
polynomial in theta = unit * e.w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from spectra.base.accuracy import ABSENT, DENSITY
from spectra.base.arrays import ComplexArray, FloatArray, IntArray
from spectra.table import Shifts

__all__ = ["Modulation", "Selection"]

#: max(0, A), max(0, -A), 2 max(0, B) and |a|: the factors by which a part multiplies the Gaussian.
Selection = Literal["real+", "real-", "imaginary+", "modulus"]

# Imaginary parts of roots, and distances of zeros, that count as 0: rounding moves double roots.
_ROOT_TOLERANCE = 1e5 * DENSITY
# Tolerance for parallel shifts and for ratios of lengths: rounding of coordinates.
_TOLERANCE = DENSITY
# Parallel shifts form one part if they are multiples of the shortest one, up to this multiple.
_LARGEST_STEP = 64
# A sum of weights below this, relative to their absolute sum, counts as 0.
_CANCELLED = 10.0 * ABSENT


@dataclass(frozen=True, eq=False)
class Modulation:
    """The modulation a = A + iB of shifts along an axis, and the nonnegative functions of it.

    The shifts are ``steps[j] * unit`` times the unit vector ``axis``, with distinct integer steps.
    """

    axis: FloatArray
    unit: float
    steps: IntArray
    weights: FloatArray

    @classmethod
    def split(cls, shifts: Shifts) -> list[Self]:
        """The modulations of all axes; a shift of 0 joins the only one, or forms its own."""
        return _group_shifts(cls, list(zip(shifts.weights.tolist(), shifts.offsets, strict=True)))

    def __call__(self, x: ArrayLike) -> ComplexArray:
        """Values a(x) at coordinates x = e.w."""
        return self.at_angle(self.unit * np.asarray(x, dtype=float))

    def at_angle(self, theta: ArrayLike) -> ComplexArray:
        """Values a(theta / unit): a function of period 2 pi."""
        exponentials = np.exp(1j * np.multiply.outer(np.asarray(theta, dtype=float), self.steps))
        return np.asarray(exponentials @ self.weights)

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
        return bool(np.abs(series).max() <= _CANCELLED * np.abs(self.weights).sum())

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


def _group_shifts(make: Any, terms: list[tuple[float, FloatArray]]) -> list[Any]:
    """Group terms (c, r) by the axis of r; r = 0 joins the only group, or forms its own."""
    unshifted = 0.0
    axes: list[tuple[FloatArray, list[tuple[float, float]]]] = []
    for weight, offset in terms:
        length = float(np.linalg.norm(offset))
        if length == 0.0:
            unshifted += weight
            continue
        for axis, parallel in axes:
            sign = float(np.sign(axis @ offset))
            if np.linalg.norm(offset / length - sign * axis) < _TOLERANCE:
                parallel.append((weight, sign * length))
                break
        else:
            axes.append((offset / length, [(weight, length)]))
    groups = [shifts for axis, parallel in axes for shifts in _shifts_along(make, axis, parallel)]
    if unshifted != 0.0 and len(groups) == 1:
        (group,) = groups
        steps, weights = np.append(group.steps, 0), np.append(group.weights, unshifted)
        return [replace(group, steps=steps, weights=weights)]
    if unshifted != 0.0:
        groups.append(make(np.eye(terms[0][1].size)[0], 1.0, np.array([0]), np.array([unshifted])))
    return groups


def _shifts_along(make: Any, axis: FloatArray, terms: list[tuple[float, float]]) -> list[Any]:
    """The terms (c, t) of shifts t along an axis, if possible as multiples of the shortest shift.

    Otherwise there is one group for each |t|, and terms of different groups do not cancel.
    """
    lengths = np.array([length for _, length in terms])
    unit = float(np.abs(lengths).min())
    steps = np.round(lengths / unit)
    largest = np.abs(steps).max()
    if largest > _LARGEST_STEP or np.abs(lengths / unit - steps).max() > _TOLERANCE * largest:
        return [
            shifts
            for size in dict.fromkeys(np.abs(lengths).tolist())
            for shifts in _shifts_along(make, axis, [(c, t) for c, t in terms if abs(t) == size])
        ]
    weights = dict.fromkeys(steps.astype(int).tolist(), 0.0)
    for step, (weight, _) in zip(steps.astype(int).tolist(), terms, strict=True):
        weights[step] += weight
    kept = {step: weight for step, weight in weights.items() if weight != 0.0}
    return [make(axis, unit, np.array(list(kept)), np.array(list(kept.values())))] if kept else []

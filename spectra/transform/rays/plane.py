"""A kernel in the plane: on which rays it may be summed, and where it is."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.transform.rays.continuation import Continuation
from spectra.transform.rays.hidden import hidden_place
from spectra.transform.rays.ray import Ray, Reach, has_one_integral, reach_of
from spectra.transform.rays.sampled import Shape

__all__ = ["SURVEY_BITS", "Plane"]

FloatArray = NDArray[np.float64]

#: Angles that are tried, the widest first.
ANGLES = (1.2, 0.8, 0.55, 0.37, 0.25, 0.17, 0.11, 0.075, 0.05)
# So many of them are tried, from the widest that serves.
_INSIDE = 4
#: Bits with which sizes are looked at.
SURVEY_BITS = 128
# Steps of log z at which sizes are looked at.
_COARSE = 0.5
# What is narrow is looked for up to so many e-folds about the scale.
_BESIDE = 5.0
# Kernels are looked for between these e-folds about their scale; below exp(-140) of its largest
# value k z^(d-1) is nothing.
_BEFORE, _AFTER, _NEGLIGIBLE, _NOTHING = 12.0, 33.0, -140.0, -1e300


class Plane:
    """A kernel on rays of every angle, and which of them may stand for the half-line."""

    def __init__(self, expr: sympy.Expr) -> None:
        self.kernel = Continuation(expr)
        self._rays: dict[tuple[float, int], Ray] = {}
        self._serves: dict[float, bool] = {0.0: True}

    def ray(self, angle: float, bits: int) -> Ray:
        """The kernel on one ray."""
        key = (angle, bits)
        if key not in self._rays:
            self._rays[key] = Ray(self.kernel, angle, bits)
        return self._rays[key]

    @cached_property
    def reach(self) -> Reach:
        """Where the kernel is."""
        return reach_of(self.ray(0.0, SURVEY_BITS))

    def serves(self, angle: float) -> bool:
        """Whether the ray has the integrals of the half-line."""
        if angle not in self._serves:
            ray, axis = (self.ray(a, SURVEY_BITS) for a in (angle, 0.0))
            self._serves[angle] = has_one_integral(ray, axis, self.reach)
        return self._serves[angle]

    @cached_property
    def is_tame(self) -> bool:
        """Whether the kernel neither grows nor is singular up to the widest angle."""
        return self.serves(ANGLES[0])

    @cached_property
    def angles(self) -> tuple[float, ...]:
        """Angles in the order of preference: in the middle of the sector, then beside it."""
        widest = self._widest()
        if widest is None:
            return (0.0,) if np.isfinite(self.reach.end) else ()
        # What has one integral with the half-line has it with every ray between.
        inside = list(ANGLES[widest : widest + _INSIDE])
        # The convergence is that of the nearer side of the sector.
        inside.sort(key=lambda a: abs(np.log(a / (0.5 * ANGLES[widest]))))
        return (*inside, 0.0) if np.isfinite(self.reach.end) else tuple(inside)

    def _widest(self) -> int | None:
        """The first angle that serves, by halves: where one does, all narrower ones do."""
        if self.is_tame:
            return 0
        first, last = 1, len(ANGLES)
        while first < last:
            middle = (first + last) // 2
            if self.serves(ANGLES[middle]):
                last = middle
            else:
                first = middle + 1
        return first if first < len(ANGLES) else None

    @cached_property
    def hidden(self) -> float | None:
        """A distance at which sums of values miss something."""
        low, high = self.reach.scale - _BESIDE, self.reach.scale + _BESIDE
        return hidden_place(self.kernel, lambda s: s.exp(), low, min(high, self.reach.end))

    def shape(self, dim: int) -> Shape:
        """Where the kernel is, and where z^(d-1) times it becomes negligible."""
        axis, reach = self.ray(0.0, SURVEY_BITS), self.reach
        fast = bool(np.isfinite(reach.end))
        s = np.arange(reach.scale - _BEFORE, reach.scale + _AFTER, _COARSE)
        if fast:
            log = np.array([axis(float(x))[1] + (dim - 1) * x for x in s])
            log[~(log < np.inf)] = -np.inf
            alive = np.flatnonzero(log > log.max() + _NEGLIGIBLE)
            end = float(s[min(int(alive[-1]) + 1, s.size - 1)])
        else:
            end = reach.scale + _AFTER
        return Shape(float(np.exp(reach.scale)), float(np.exp(end)), fast, self._log_size)

    def _log_size(self, z: FloatArray) -> FloatArray:
        """log|k| at distances, from its values at neighbouring places."""
        axis = self.ray(0.0, SURVEY_BITS)
        s = np.log(z)
        grid = np.arange(np.floor(s.min() * 16.0) - 1.0, np.ceil(s.max() * 16.0) + 2.0) / 16.0
        log = np.array([axis(float(x))[1] for x in grid])
        log[~(log < np.inf)] = -np.inf
        return np.asarray(np.interp(s, grid, np.maximum(log, _NOTHING)))

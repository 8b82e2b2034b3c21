"""A kernel in the plane: on which rays it may be summed, and where it is."""

from __future__ import annotations

from functools import cached_property

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.transform.rays.continuation import Continuation
from spectra.transform.rays.precision import log_of
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
# Parts of a formula are bounded between places so many e-folds apart, up to so many e-folds about
# the scale; nothing grows by exp(20) there over the values nearby.
_BETWEEN, _BESIDE, _NEARBY, _CONTRAST = 1.0 / 32.0, 6.0, 3, 20.0
# Bits of bounds, and how often an interval is halved where the bounds of balls are too wide.
_PART_BITS, _HALVINGS = 64, 8
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
        widest = next((i for i, a in enumerate(ANGLES) if self.serves(a)), None)
        if widest is None:
            return (0.0,) if np.isfinite(self.reach.end) else ()
        # What has one integral with the half-line has it with every ray between.
        inside = list(ANGLES[widest : widest + _INSIDE])
        # The convergence is that of the nearer side of the sector.
        inside.sort(key=lambda a: abs(np.log(a / (0.5 * ANGLES[widest]))))
        return (*inside, 0.0) if np.isfinite(self.reach.end) else tuple(inside)

    @cached_property
    def hidden(self) -> float | None:
        """A place beside which a part of the formula is far larger than at all values nearby.

        No sum of values sees that, at whatever angle, and two that miss it agree.  Every part is
        bounded between the places on the half-line at which it is looked at.
        """
        low = self.reach.scale - _BESIDE
        high = min(self.reach.end, self.reach.scale + _BESIDE)
        s = np.arange(np.floor(low / _BETWEEN), np.ceil(high / _BETWEEN) + 1.0) * _BETWEEN
        seen = np.array([self._log_parts(float(x), 0.0) for x in s])
        near = np.maximum.reduce([seen[i : s.size - 2 * _NEARBY + i] for i in range(2 * _NEARBY)])
        for i, x in enumerate(s[_NEARBY : s.size - _NEARBY]):
            middle, half = float(x) + 0.5 * _BETWEEN, 0.5 * _BETWEEN
            if not self._is_below(near[i] + _CONTRAST, middle, half, _HALVINGS):
                return float(np.exp(x))
        return None

    def _is_below(self, logs: FloatArray, middle: float, half: float, halvings: int) -> bool:
        """Whether all parts are bounded so; parts of the interval have narrower bounds."""
        if not np.any(self._log_parts(middle, half) > logs):
            return True
        return halvings > 0 and all(
            self._is_below(logs, middle + side * 0.5 * half, 0.5 * half, halvings - 1)
            for side in (-1.0, 1.0)
        )

    def _log_parts(self, s: float, half: float) -> FloatArray:
        """Logarithms of bounds of all parts between exp(s - half) and exp(s + half)."""
        z = flint.acb(flint.arb(s, half).exp())
        parts = self.kernel.steps(z, _PART_BITS)
        return np.array([log_of(abs(p).upper()) if p.is_finite() else np.inf for p in parts[1:]])

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

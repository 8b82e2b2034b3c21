"""A kernel in the plane: on which rays it may be summed, and where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise

import flint
import numpy as np
import sympy

from spectra.base.caching import kept
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.continuation import Continuation
from spectra.density.continuation.negligible import Beyond, Detour
from spectra.density.continuation.ray import Ray, reach_of
from spectra.density.continuation.sector import Box, is_analytic, log_most
from spectra.density.continuation.unresolved_parts import hidden_place

__all__ = ["DEEP", "SURVEY_BITS", "AnalyticRegion"]

#: Angles that are tried, the widest first.
ANGLES = (1.2, 0.8, 0.55, 0.37, 0.25, 0.17, 0.11, 0.075, 0.05)
# So many of them are tried, from the widest that serves.
_INSIDE = 4
#: Bits with which sizes are looked at.
SURVEY_BITS = 128
#: Kernels are looked at, and proved to be analytic, from so many e-folds below their scale on.
DEEP = 100.0
# Steps of log z at which sizes are looked at.
_COARSE = 0.5
# What is narrow is looked for up to so many e-folds about the scale.
_BESIDE = 5.0
# Steps of log z are halved, from the first of these to the last, until values so far apart show all
# parts of the formula, up to a factor of exp(2), wherever they begin: then sums at the same steps,
# and at half of them, differ by what they miss.
_WIDE_STEP, _SHORT_STEP, _PLAIN, _FAMILIES = 3, 10, 2.0, (0.618, 0.285, 0.951)
# Kernels are looked for between these e-folds about their scale; below exp(-140) of its largest
# value k z^(d-1) is nothing.
_BEFORE, _AFTER, _NEGLIGIBLE, _NOTHING = 12.0, 33.0, -140.0, -1e300
# On a ray they are looked at so far beyond their end or, where they fall like a power, before it:
# there they have the size that they have on the half-line, up to exp(8).
_BEYOND, _SAME_POWER = (1.0, 2.0, 3.0, 4.0), 8.0


# Discs are looked for of these sizes about the scale, up to the axis and a little beyond, since
# poles may be on it, and the largest are kept; and lines of these heights, below boxes so
# wide in log z, which are looked at from exp(-3) of their height on.
_DISCS = (*np.arange(-96.0, -8.0, 4.0), -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)
_KEPT, _LOOK, _FAR_ABOVE = 5, 0.125, 1.0
_UPRIGHT, _PAST = 0.5 * np.pi, 1e-3
# Beyond the end sizes are bounded on parts so wide in log z, until exp(-10^5), which are halved so
# often while they may be more than that share of the kernel.
_WIDE, _GONE, _HALVINGS, _LITTLE = 0.5, -1e5, 5, -130.0
# Even means that values at so many places on either side of the axis are the same, to that share of
# their bits.
_PLACES, _EVEN_BITS, _SAME = 7, 4096, 0.5
_HEIGHTS = (*np.arange(2.9, 0.6, -0.6), *np.arange(0.5, -1.8, -0.3), *np.arange(-2.4, -8.4, -0.8))
_STEEP = 3.0


class AnalyticRegion:
    """A kernel on rays of every angle, and which of them may stand for the half-line."""

    def __init__(self, expr: sympy.Expr) -> None:
        self.kernel = Continuation(expr)

    @kept
    def ray(self, angle: float, bits: int) -> Ray:
        """The kernel on one ray."""
        return Ray(partial(self._along, angle), angle, bits)

    def _along(self, angle: float, s: float, bits: int) -> Ball:
        """k at exp(s + i angle)."""
        if angle == 0.0:
            return flint.acb(self.kernel.along(lambda: flint.acb(flint.arb(s).exp()), bits).real)
        return self.kernel.along(lambda: flint.acb(s, angle).exp(), bits)

    @cached_property
    def _reach(self) -> tuple[float, float]:
        return reach_of(self.ray(0.0, SURVEY_BITS))

    @property
    def scale(self) -> float:
        """log z where the kernel has fallen to half of its largest value."""
        return self._reach[0]

    @property
    def end(self) -> float:
        """log z beyond which it is negligible, or infinity where it decays like a power."""
        return self._reach[1]

    @property
    def decays_fast(self) -> bool:
        """Whether it decays faster than every power."""
        return bool(np.isfinite(self.end))

    def serves(self, angle: float, dim: int) -> bool:
        """Whether the ray has the integrals of the half-line: the kernel is analytic between them,
        as far as it is of account in this dimension, and decays on both."""
        return angle in self._serving(dim)

    def is_tame(self, dim: int) -> bool:
        """Whether the kernel neither grows nor is singular up to the widest angle."""
        return self.serves(ANGLES[0], dim)

    def angles(self, dim: int) -> tuple[float, ...]:
        """Angles in the order of preference: in the middle of the sector, then beside it."""
        inside = self._serving(dim)[:_INSIDE]
        # The convergence is that of the nearer side of the sector.
        inside = tuple(sorted(inside, key=lambda a: abs(np.log(a / (0.5 * inside[0])))))
        return (*inside, 0.0) if self.decays_fast else inside

    @kept
    def _serving(self, dim: int) -> tuple[float, ...]:
        """The angles that serve, the widest first."""
        far, _ = self._weighted_end(dim)
        found: list[float] = []
        for inner, outer in pairwise((0.0, *ANGLES[::-1])):
            if not (self._decays(outer, dim) and self._is_clear(far, inner, outer)):
                break
            found.insert(0, outer)
        return tuple(found)

    @kept
    def _is_clear(self, far: float, inner: float, outer: float) -> bool:
        """Whether the kernel is analytic between two angles."""
        return is_analytic(self.kernel, Box(self.scale - DEEP, far, inner, outer))

    def _decays(self, angle: float, dim: int) -> bool:
        """Whether the kernel ends on a ray as it does on the half-line."""
        end, top = self._weighted_end(dim)
        ray, axis = (self.ray(a, SURVEY_BITS) for a in (angle, 0.0))
        if self.decays_fast:
            beyond = (end + s for s in _BEYOND)
            return all(ray.log_size(s) + (dim - 1) * s < top + _NEGLIGIBLE for s in beyond)
        here, there = (max(r.log_size(end - s) for s in _BEYOND) for r in (ray, axis))
        return here < there + _SAME_POWER

    @property
    def resolution(self) -> int:
        """Steps 2^-k of log z at which no part of the formula is missed."""
        return self._narrow[0]

    @property
    def finest(self) -> float:
        """The same as steps of z, from where it is narrow on."""
        k, place = self._narrow
        return np.inf if place is None else place * 2.0**-k

    def hidden(self, dim: int) -> float | None:
        """A distance at which sums of values miss something, however short their steps."""
        k, place = self._narrow
        if k > _SHORT_STEP:
            return place
        return self._risen(dim) if self.decays_fast else None

    def _risen(self, dim: int) -> float | None:
        """A distance, beyond those looked at, at which a kernel may be more than before and is not
        known to be negligible.

        Bounds that are wide everywhere say nothing.
        """
        end, top = self._weighted_end(dim)
        start, before = self._looked_at[1], np.inf
        for s in np.arange(start - _WIDE, max(self._gone(end), start) + _WIDE, _WIDE):
            box = Box(float(s), float(s) + _WIDE, 0.0, 0.0)
            least = top + _NEGLIGIBLE - (dim - 1) * box.high
            allowed = max(least, before + _PLAIN)
            most = log_most(self.kernel, box, least, _HALVINGS)
            if allowed < most < np.inf:
                most = log_most(self.kernel, box, allowed, 2 * _HALVINGS)
                if allowed < most:
                    return float(np.exp(s + 0.5 * _WIDE))
            before = most
        return None

    @property
    def _looked_at(self) -> tuple[float, float]:
        """Ends of log z between which it is looked at for what is narrow, in every dimension."""
        low, high = self.scale - _BESIDE, self.scale + _BESIDE
        return low, min(high, self.end + 1.0)

    def _hides(self, k: int) -> float | None:
        """A distance beside which steps 2^-k of log z miss something."""
        steps = {"apart": 2.0**-k, "contrast": _PLAIN}
        low, high = self._looked_at
        places = (
            hidden_place(self.kernel, lambda s: s.exp(), low, high, beside=beside, **steps)
            for beside in _FAMILIES
        )
        return next((place for place in places if place is not None), None)

    @cached_property
    def _narrow(self) -> tuple[int, float | None]:
        """That k, and a distance at which wider steps would miss something."""
        place = None
        for k in range(_WIDE_STEP, _SHORT_STEP + 1):
            found = self._hides(k)
            if found is None:
                return k, place
            place = found
        return _SHORT_STEP + 1, place

    def reach(self, dim: int) -> float:
        """The distance beyond which k z^(d-1) is negligible."""
        return float(np.exp(self._weighted_end(dim)[0]))

    @kept
    def beyond(self, dim: int) -> Beyond:
        """What is seen of the kernel beside its expansion at zero."""
        return Beyond(dim, self._detours(dim))

    def _detours(self, dim: int) -> Iterator[Detour]:
        """Up an axis, along an arc and on a ray; or, where it decays fast, on a line."""
        end, _ = self._weighted_end(dim)
        rays, look = self._serving(dim), 2.0**-self.resolution
        discs = self._discs(max(rays, default=0.0))
        far = np.arange(end, self._gone(end) + _WIDE, _WIDE)
        last = float(far[-1])
        for angle in rays:
            if not is_analytic(self.kernel, Box(end, last, 0.0, angle)):
                continue
            after = self._bounded(partial(complex, imag=angle), far, dim)
            for disc in discs:
                arc = disc + 1j * np.arange(_UPRIGHT, angle, -look)
                ray = np.arange(disc, end + look, look) + 1j * angle
                yield self._detour([*arc, *ray]).followed_by(after)
        heights = self.scale + np.array(_HEIGHTS)
        for height in heights[heights < max(discs, default=-np.inf)]:
            if self.decays_fast and self._is_analytic_below(float(height), last):

                def line(s: float, above: complex = 1j * np.exp(height)) -> complex:
                    return complex(np.log(np.exp(s) + above))

                x = np.arange(height - _STEEP, end + look, look)
                beside = self._detour([line(s) for s in x])
                yield beside.followed_by(self._bounded(line, far, dim))

    def _gone(self, end: float) -> float:
        """log z from which a kernel that ends is nothing at all."""
        if not self.decays_fast:
            return end
        axis, last = self.ray(0.0, SURVEY_BITS), self.scale + _AFTER
        places = np.arange(end, last, _COARSE)
        return next((float(s) for s in places if axis.log_size(float(s)) < _GONE), last)

    def _bounded(self, path: Callable[[float], complex], far: FloatArray, dim: int) -> Detour:
        """A path on which the kernel is next to nothing, by what it is at most.

        Waves are largest where a part of it begins, but for a power of z.
        """
        little = self.ray(0.0, SURVEY_BITS).log_size(self.scale) + _LITTLE

        def most(a: float, b: float, halvings: int = _HALVINGS) -> float:
            x, y = path(a), path(b)
            box = Box(x.real, y.real, min(x.imag, y.imag), max(x.imag, y.imag))
            found = log_most(self.kernel, box, little, 0)
            if halvings == 0 or found < little:
                return found
            middle = 0.5 * (a + b)
            return max(most(a, middle, halvings - 1), most(middle, b, halvings - 1))

        log_sizes = np.array([most(a, b) for a, b in pairwise(map(float, far))])
        wide = float(np.log(_WIDE)) + 0.5 * (dim + 1.0) * _WIDE
        return Detour(np.exp([path(float(s)) for s in far[:-1]]), log_sizes + wide)

    def disc(self, dim: int) -> float | None:
        """log|z| up to which paths may follow the imaginary axis, if they may."""
        return next(iter(self._discs(max(self._serving(dim), default=0.0))), None)

    @cached_property
    def is_even(self) -> bool:
        """Whether the kernel is proved to be analytic beside 0, and is real on the imaginary axis.

        There it has the values of conj(k(-conj z)) on both sides, and two analytic functions that
        agree at all places that are looked at, to a thousand digits, are taken to be one.
        """
        discs = self._discs(0.0)
        if not discs or not self._is_real_beside(top := discs[-1], SURVEY_BITS):
            return False
        half_ring = Box(top - 1.0, top, 0.0, 2.0 * _UPRIGHT)
        return is_analytic(self.kernel, half_ring) and self._is_real_beside(top, _EVEN_BITS)

    def _is_real_beside(self, log_radius: float, bits: int) -> bool:
        with working(bits):
            for i in range(1, _PLACES + 1):
                z = flint.acb(log_radius - i / (_PLACES + 1.0), _UPRIGHT * i / (_PLACES + 2.0))
                here, there = (self.kernel(x, bits) for x in (z.exp(), -z.exp().conjugate()))
                apart = abs(here - there.conjugate())
                if not (here.is_finite() and apart <= abs(here) * flint.arb(2) ** -(_SAME * bits)):
                    return False
        return True

    def _discs(self, angle: float) -> list[float]:
        """log|z| up to which the kernel is analytic between an angle and the axis, and less."""
        scale, low = self.scale, -DEEP
        found: list[float] = []
        for high in _DISCS:
            ring = Box(scale + low, scale + high, angle, _UPRIGHT + _PAST)
            # Far above the scale a kernel is large, and slow to look at in many bits.
            above = {"excuses": 0} if low >= _FAR_ABOVE else {}
            if not is_analytic(self.kernel, ring, **above):
                break
            found.insert(0, scale + high)
            low = high
        return found[:_KEPT]

    def _detour(self, log_z: list[complex]) -> Detour:
        """The kernel on a path."""
        steps = np.abs(np.gradient(np.array(log_z)))
        with working(SURVEY_BITS):
            balls = [flint.acb(complex(x)).exp() for x in log_z]
            log_sizes = np.array([log_of(self.kernel(z, SURVEY_BITS)) for z in balls])
        return Detour(np.exp(np.array(log_z)), log_sizes + np.log(steps))

    def _is_analytic_below(self, log_height: float, end: float) -> bool:
        """Whether the kernel is analytic between the half-line and one at a height."""
        lows = np.arange(log_height, end, _LOOK)
        return all(
            is_analytic(
                self.kernel, Box(s, s + _LOOK, 0.0, float(np.arcsin(np.exp(log_height - s))))
            )
            for s in lows
        )

    @kept
    def _weighted_end(self, dim: int) -> tuple[float, float]:
        """log z beyond which k z^(d-1) is negligible, and the logarithm of its largest value."""
        axis, scale = self.ray(0.0, SURVEY_BITS), self.scale
        s = np.arange(scale - _BEFORE, scale + _AFTER, _COARSE)
        log = np.array([axis.log_size(float(x)) + (dim - 1) * x for x in s])
        log[~(log < np.inf)] = -np.inf
        alive = np.flatnonzero(log > log.max() + _NEGLIGIBLE)
        last = min(int(alive[-1]) + 1, s.size - 1)
        end = float(s[last]) if self.decays_fast else scale + _AFTER
        return end, float(log.max())

    def log_size(self, z: FloatArray) -> FloatArray:
        """log|k| at distances, from its values at neighbouring places."""
        axis = self.ray(0.0, SURVEY_BITS)
        s = np.log(z)
        grid = np.arange(np.floor(s.min() * 16.0) - 1.0, np.ceil(s.max() * 16.0) + 2.0) / 16.0
        log = np.array([axis.log_size(float(x)) for x in grid])
        log[~(log < np.inf)] = -np.inf
        return np.asarray(np.interp(s, grid, np.maximum(log, _NOTHING)))

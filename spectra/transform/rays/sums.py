r"""Radial densities as sums along a ray, with an error that is observed.

.. math:: w \rho(w) = \frac{2^{1-d/2}}{\Gamma(d/2)} \Re\, h\sum_n k(z_n)\,G(w z_n),
          \qquad z_n = e^{nh + i\psi},\quad G(y) = y^{d/2+1} H_{d/2-1}(y).

H depends on log w + log z only, so that panels of log w whose ends are multiples of h share their
values.  A sum is known by its ball, which holds all rounding and all cancellation, and by what the
sum of every other term differs by, which is the error of twice the step and far above its own.
The angle, the step and the bits are tried until both are small; on the real axis, angle 0, J stands
in the place of H, and nothing has to be continued.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.errors import NoRouteError
from spectra.quadrature import NODES
from spectra.transform.rays.axis import AxisRule, sum_at, sums_over
from spectra.transform.rays.continuation import Continuation
from spectra.transform.rays.hankel import hankel_waves
from spectra.transform.rays.precision import Ball, working
from spectra.transform.rays.ray import Ray, Reach, has_one_integral, reach_of
from spectra.transform.rays.sampled import Sampled, Shape

__all__ = ["Plane", "RaySums"]

FloatArray = NDArray[np.float64]

#: Angles that are tried, the widest first.
ANGLES = (1.2, 0.8, 0.55, 0.37, 0.25, 0.17, 0.11, 0.075, 0.05)
_SURVEY_BITS = 128
# Errors below this share of the value are as good as any: series on panels keep 1e-14.
_GOOD = 2e-15
# Terms below exp(-46) of what is sought are left out: 1e-20.
_DEPTH = 46.0
# What rounding may leave of a value; more bits are taken in steps.
_BLUR = 1e-18
_BITS_AT_ONCE, _DEPTH_AT_ONCE = 512.0, 200.0
_NEIGHBOURS = 2
_COARSE = 0.5
# Steps 2^-k: from the first, and while the sum has no more than this many terms.
_FIRST_STEP, _LAST_STEP = 3, 10
# The first step for an angle, times it: the sector is taken to be twice as wide.
_FIRST_SHARE = 6.0
# A smaller step that gains less than this says that something else is wrong.
_STALLED = 0.1
# Errors of a step itself are looked at, by its half, at three nodes of a panel if those of twice
# the step are below this share; they vary between nodes, and are taken ten times.
_PROMISING, _SAFETY, _CHECKED = 1e-5, 10.0, (0, 10, 19)
_MOST_TERMS = 12000
_MOST_AXIS_PANELS = 32
_MOST_BITS = 8192
_ENDLESS = 400.0
# Kernels are looked for between these e-folds about their scale; below exp(-140) of its largest
# value k z^(d-1) is nothing.
_BEFORE, _AFTER, _NEGLIGIBLE, _NOTHING = 12.0, 33.0, -140.0, -1e300


_Term = tuple[float, Ball, Ball]


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
        return reach_of(self.ray(0.0, _SURVEY_BITS))

    def serves(self, angle: float) -> bool:
        """Whether the ray has the integrals of the half-line."""
        if angle not in self._serves:
            ray, axis = (self.ray(a, _SURVEY_BITS) for a in (angle, 0.0))
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
        inside = [a for a in ANGLES[widest : widest + 4] if self.serves(a)]
        # The convergence is that of the nearer side of the sector.
        inside.sort(key=lambda a: abs(np.log(a / (0.5 * ANGLES[widest]))))
        return (*inside, 0.0) if np.isfinite(self.reach.end) else tuple(inside)

    def end(self, dim: int, depth: float) -> float:
        """Beyond which z^((d+1)/2) times the kernel is below exp(-depth) of its largest value."""
        axis = self.ray(0.0, _SURVEY_BITS)
        s = np.arange(self.reach.scale - _BEFORE, self.reach.scale + _AFTER, _COARSE / 4.0)
        log = np.array([axis(float(x))[1] + 0.5 * (dim + 1) * x for x in s])
        log[~(log < np.inf)] = -np.inf
        alive = np.flatnonzero(log > log.max() - depth)
        return float(s[min(int(alive[-1]) + 1, s.size - 1)])

    def shape(self, dim: int) -> Shape:
        """Where the kernel is, and where z^(d-1) times it becomes negligible."""
        axis, reach = self.ray(0.0, _SURVEY_BITS), self.reach
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
        axis = self.ray(0.0, _SURVEY_BITS)
        s = np.log(z)
        grid = np.arange(np.floor(s.min() * 16.0) - 1.0, np.ceil(s.max() * 16.0) + 2.0) / 16.0
        log = np.array([axis(float(x))[1] for x in grid])
        log[~(log < np.inf)] = -np.inf
        return np.asarray(np.interp(s, grid, np.maximum(log, _NOTHING)))


@dataclass(frozen=True)
class _Found:
    """Sums at the nodes of a panel: balls, errors, and what they were made with."""

    values: list[Ball]
    errors: list[Ball]
    angle: float
    step: int
    worst: float
    missing_bits: float
    missing_depth: float


class RaySums:
    """Values of a density at the nodes of panels of log w, whose ends are dyadic.

    Parameters
    ----------
    plane : Plane
        The kernel.
    dim : int
        Dimension d >= 1.
    analytic : bool
        Whether the kernel has whole powers of z at zero.
    """

    def __init__(self, plane: Plane, dim: int, *, analytic: bool = False) -> None:
        self.plane, self.dim = plane, dim
        self._analytic = analytic
        self._rule: AxisRule | None = None
        self._bits = 128 + 64 * ((6 * dim) // 64)
        self._depth = _DEPTH
        self._last: tuple[float, int] | None = None

    def on_panel(self, low: float, high: float, power: float | None = None) -> Sampled:
        """Values at the nodes of a panel, or of one that is linear in w where a power is given."""
        if power is None:
            base, offsets = low, 0.5 * (high - low) * (1.0 + NODES)
        else:
            base, offsets = high, np.log(0.5 * (1.0 + NODES))
        found = self._best(base, tuple(float(t) for t in offsets))
        return self._sampled(found, base, offsets)

    def _sampled(self, found: _Found, base: float, offsets: FloatArray) -> Sampled:
        with working(self._bits):
            front = _front(self.dim)
            mantissa, wrong, logs = [], [], []
            for t, value, error in zip(offsets, found.values, found.errors, strict=True):
                x = flint.arb(base) + flint.arb(float(t))
                size = abs(value).mid() + error
                if not size > 0:
                    size = flint.arb(2) ** (-_MOST_BITS)
                # The logarithm is a short number, and what it leaves is in the values.
                log = float(np.round(8.0 * float((size * front).log().mid() - x.mid())) / 8.0)
                unit = (flint.arb(log) + x).exp() / front
                logs.append(log)
                mantissa.append(float((value.mid() / unit).mid()))
                wrong.append(float((error / unit).mid()))
        return Sampled(np.array(mantissa), np.array(wrong), np.array(logs))

    def _on_axis(self, base: float, offsets: tuple[float, ...]) -> _Found | None:
        """The integrals on the half-line; None where they would take too many nodes."""
        panels, depth, best = 0, self._depth, None
        while True:
            axis = self.plane.ray(0.0, self._bits)
            if self._rule is None or self._rule.axis is not axis:
                self._rule = AxisRule(axis, self.dim)
            end = self.plane.end(self.dim, depth)
            panels = max(panels, self._rule.panels(base + max(offsets), end))
            if panels > _MOST_AXIS_PANELS:
                return best
            found, lost = self._axis_sum(base, offsets, end, panels)
            if best is None or found.worst < best.worst:
                best = found
            if found.worst <= _GOOD or self._bits > _MOST_BITS:
                return found
            if found.missing_bits > 0.0:
                self._bits += 64 * int(np.ceil(found.missing_bits / 64.0))
            elif lost + _DEPTH > depth + 1.0:
                depth = self._depth = lost + _DEPTH + 2.0
            else:
                panels *= 2

    def _axis_sum(
        self, base: float, offsets: tuple[float, ...], end: float, panels: int
    ) -> tuple[_Found, float]:
        assert self._rule is not None
        with working(self._bits):
            radii = [(flint.arb(base) + flint.arb(t)).exp() for t in offsets]
            terms, finer = (self._rule.terms(end, n) for n in (panels, 2 * panels))
            sums = sums_over(self.dim, radii, terms)
            values = [value for value, _ in sums]
            sizes = _envelope(values)
            # The rule has most to resolve at the largest radius.
            apart = {i: abs(sum_at(self.dim, radii[i], finer) - values[i]) for i in (0, -1)}
            seen = _SAFETY * max(_ratio(a.upper(), sizes[i]) for i, a in apart.items())
            blur = max(_ratio(v.rad(), z) for v, z in zip(values, sizes, strict=True))
            lost = max(_log(s) - _log(z) for (_, s), z in zip(sums, sizes, strict=True))
            # Beyond its end the kernel is below exp(-depth) of its largest value.
            cut = float(np.exp(min(lost - self._depth, 0.0)))
            worst = seen + blur + cut
            errors = [size * worst for size in sizes]
        bits = min(np.log2(blur / _BLUR), _BITS_AT_ONCE) if blur > _BLUR else 0.0
        return _Found(values, errors, 0.0, 0, worst, bits, 0.0), lost

    def _best(self, base: float, offsets: tuple[float, ...]) -> _Found:
        """The first sums that are good, or else the best."""
        best: _Found | None = None
        if self._analytic and np.isfinite(self.plane.reach.end):
            best = self._on_axis(base, offsets)
            if best is not None and best.worst <= _GOOD:
                return best
        for angle in self._order(base):
            before = np.inf
            for step in range(self._first_step(angle), _LAST_STEP + 1):
                found = self._resolved(base, offsets, angle, step)
                if found is None:
                    break
                if best is None or found.worst < best.worst:
                    best = found
                if found.worst <= _GOOD:
                    self._last = (angle, step)
                    return found
                if found.worst > _STALLED * before:
                    break
                before = found.worst
        if best is None:
            raise NoRouteError(
                f"The density of {self.plane.kernel.expr} is not reached near log w = {base:.4g}: "
                "the kernel is singular, or grows, too close to the real axis. A callable with "
                "decay= or support= is read by its values (docs/callables.md)."
            )
        return best

    def _order(self, base: float) -> list[float]:
        angles = list(self.plane.angles)
        first = None if self._last is None else self._last[0]
        if 0.0 in angles and base + self.plane.reach.end < 3.0:
            first = 0.0
        if first in angles:
            angles.remove(first)
            angles.insert(0, first)
        return [a for a in angles if a is not None]

    def _first_step(self, angle: float) -> int:
        if self._last is not None and self._last[0] == angle:
            return max(self._last[1] - (self._last[1] > _FIRST_STEP), _FIRST_STEP)
        return max(_FIRST_STEP, int(np.ceil(np.log2(_FIRST_SHARE / max(angle, 0.3)))))

    def _resolved(
        self, base: float, offsets: tuple[float, ...], angle: float, step: int
    ) -> _Found | None:
        """The sums with as many bits, and as long, as their cancellation asks for."""
        while True:
            found = self._summed(base, offsets, angle, step)
            if found is None or (found.missing_bits <= 0.0 and found.missing_depth <= 0.0):
                return found
            if self._bits >= _MOST_BITS:
                return found
            self._depth += max(found.missing_depth, 0.0)
            if found.missing_bits > 0.0:
                self._bits += 64 * int(np.ceil(found.missing_bits / 64.0))

    def _summed(
        self, base: float, offsets: tuple[float, ...], angle: float, step: int
    ) -> _Found | None:
        h = 2.0**-step
        spans = [self._span(base, t, angle) for t in (offsets[0], offsets[-1])]
        if spans[0] is None or spans[1] is None:
            return None
        low = min(span.low for span in spans if span is not None)
        high = max(span.high for span in spans if span is not None)
        peak = max(span.peak for span in spans if span is not None)
        if (high - low) / h > _MOST_TERMS:
            return None
        on: tuple[list[_Term], list[_Term]] = ([], [])
        between: list[_Term] = []
        ray = self.plane.ray(angle, self._bits)
        for n in range(int(np.floor(low / h)), int(np.ceil(high / h)) + 1):
            value, _ = ray(n * h)
            on[n % 2].append((base + n * h, value.real, value.imag))
        waves = hankel_waves(self.dim, angle, self._bits)
        with working(self._bits):
            sums = [tuple(waves.summed(t, part) * h for part in on) for t in offsets]
            values = [even + odd for even, odd in sums]
            sizes = _envelope(values)
            # The sum of every other term has the error of twice the step.
            seen = max(_ratio(abs(e - o).upper(), z) for (e, o), z in zip(sums, sizes, strict=True))
            blur = max(_ratio(v.rad(), z) for v, z in zip(values, sizes, strict=True))
            if seen > _GOOD and seen < _PROMISING:
                for n in range(int(np.floor(low / h)), int(np.ceil(high / h)) + 1):
                    value, _ = ray((n + 0.5) * h)
                    between.append((base + (n + 0.5) * h, value.real, value.imag))
                apart = [abs(waves.summed(offsets[i], between) * h - values[i]) for i in _CHECKED]
                checked = [
                    _ratio(a.upper(), sizes[i]) for a, i in zip(apart, _CHECKED, strict=True)
                ]
                seen = min(seen, _SAFETY * max(checked))
            logs = [_log(size) for size in sizes]
            # What is cut off falls from there on, at least like z, or like the exponential.
            cut = float(np.exp(min(peak - self._depth - min(logs), 0.0)))
            worst = seen + blur + cut
            errors = [size * worst for size in sizes]
        bits = np.log2(blur / _BLUR) if blur > _BLUR else 0.0
        return _Found(
            values, errors, angle, step, worst,
            missing_bits=min(bits, _BITS_AT_ONCE),
            missing_depth=min(max(peak - min(logs) + _DEPTH - self._depth, 0.0), _DEPTH_AT_ONCE),
        )  # fmt: skip

    def _span(self, base: float, offset: float, angle: float) -> _Span | None:
        """Where the terms of a sum are not negligible; None where they do not end."""
        ray = self.plane.ray(angle, _SURVEY_BITS)
        waves = hankel_waves(self.dim, angle, _SURVEY_BITS)

        def log_term(s: float) -> float:
            return ray(s)[1] + waves.log_size(offset, base + s)

        turn = np.log(0.5 * self.dim + 0.5) - base - offset
        places = (self.plane.reach.scale, min(turn, self.plane.reach.end + 1.0))
        # Whole multiples of the spacing, so that other panels meet the same places.
        low = float(np.floor(min(places) / _COARSE) * _COARSE)
        high, peak, s = max(places), -np.inf, low
        while True:
            term = log_term(s)
            if not term < np.inf:
                if ray.angle == 0.0 and s > self.plane.reach.end:
                    break
                return None
            peak = max(peak, term)
            if s >= high and term < peak - self._depth:
                break
            if s - low > _ENDLESS:
                return None
            s += _COARSE
        high = s
        while (term := log_term(low)) > peak - self._depth:
            peak, low = max(peak, term), low - _COARSE
            if high - low > 2.0 * _ENDLESS:
                return None
        return _Span(low, high, peak)


@dataclass(frozen=True)
class _Span:
    """A range of log z, and the logarithm of the largest term there."""

    low: float
    high: float
    peak: float


def _envelope(values: list[Ball]) -> list[Ball]:
    """The largest of neighbouring sizes: a density may pass through zero at a node."""
    sizes = [abs(v).mid() for v in values]
    found = []
    for i in range(len(sizes)):
        near = sizes[max(i - _NEIGHBOURS, 0) : i + _NEIGHBOURS + 1]
        found.append(max(near))
    return found


def _ratio(part: Ball, whole: Ball) -> float:
    return float((part / whole).mid()) if whole > 0 and part.is_finite() else np.inf


def _log(size: Ball) -> float:
    return float(size.log().mid()) if size > 0 else -np.inf


@lru_cache(maxsize=64)
def _front(dim: int) -> Ball:
    """2^(1-d/2)/Gamma(d/2)."""
    with working(_SURVEY_BITS):
        half = flint.arb(dim) / 2
        return flint.arb(2) ** (1 - half) / half.gamma()

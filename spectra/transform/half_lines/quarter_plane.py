"""Where a formula continues analytically from the half-line into the quarter plane Re, Im >= 0.

A formula is analytic on a region where the argument of each of its roots, logarithms and
reciprocals neither vanishes nor meets the cut of the principal branch.  Along the boundary of a
region both show as a jump of a phase, so that a path is checked by following these phases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.formula.evaluate import mpmath_function, numpy_function
from spectra.formula.parsing import Z
from spectra.numeric import FloatArray
from spectra.quadrature import NODES
from spectra.transform.half_lines.ends import Expansion
from spectra.transform.half_lines.phases import Phase, inner_functions
from spectra.transform.half_lines.waves import Wave

__all__ = ["ANGLES", "OddPart", "QuarterPlane", "quarter_plane"]

ComplexArray = NDArray[Any]

#: Angles against the real axis at which paths leave it.
ANGLES = tuple(0.5 * np.pi * share for share in (0.08, 0.2, 0.4, 0.6, 0.8, 0.9))
_POINTS_PER_DECADE = 32
_ARC_POINTS = 65
# Paths start this far from the origin and end this far beyond the reach, in their scales.
_NEAR = 1e-9
_BEYOND = 1.5
# Heights are looked for between these multiples of the scale, to this relative accuracy.
_LOWEST, _HIGHEST = 1e-6, 1e6
_HEIGHT_ACCURACY = 1e-12
# A kernel below this share of its largest value is not followed further, nor beyond this many
# scales.
_NEGLIGIBLE = 1e-60
_FARTHEST = 1e14
# Powers z^(d-1) put off the end of a kernel by less than this.
_FURTHER_OUT = 1e3
# A kernel that decays slowly must not grow by more than this on arcs at these multiples of its
# scale.
_ARC_GROWTH = 1e3
_ARC_RADII = (1e2, 1e4, 1e8)
_PROBES = 897
# Parts of an integral below this share of it have no weight.
_LEAST_WEIGHT = 1e-18
# Where Im k(it) is more than this share of k(it), doubles keep its digits.
_CLEARLY_ODD = 0.05
# Panels of the imaginary axis grow up to this power of two of the scale.
_LAST_GROWING = 3
# At its reach a kernel that decays fast is below this, or the path to there is not used.
_CLOSED = 1e-10
# Kernels that are real on the imaginary axis to so many of the digits are even functions.
_DIGITS = 60
_REAL_SHARE = mp.mpf(10) ** -45
_REAL_PLACES = (0.11, 0.23, 0.37, 0.53)


@dataclass(frozen=True, eq=False)
class OddPart:
    """Im k(it) at the nodes of panels of the imaginary axis, kept once it has been computed.

    Panels grow by a factor 2; where the kernel has waves, from eight scales on, they grow no more.

    Attributes
    ----------
    scale : float
        The scale of the kernel.
    grows : bool
        Whether the panels grow without end.
    digits, value : callable
        The kernel in mpmath, and in doubles.
    near : float
        Up to this t, ``start`` has the values, free of cancellation.
    start : callable
        The odd part by the expansion of the kernel at zero.
    least : float
        Below this share of what is looked at, it has no weight in any integral.
    """

    scale: float
    grows: bool
    digits: Callable[[Any], Any]
    value: Callable[[Any], Any]
    near: float
    start: Callable[[FloatArray], FloatArray]
    least: float
    _known: dict[int, FloatArray] = field(default_factory=dict)

    def edge(self, i: int) -> float:
        """Lower end of panel i; panels run from -infinity."""
        if self.grows or i <= _LAST_GROWING:
            return self.scale * 2.0**i
        return self.scale * 2.0**_LAST_GROWING * (1 + i - _LAST_GROWING)

    def panel(self, t: float) -> int:
        """The panel that holds t."""
        steps = t / self.scale
        if self.grows or steps < 2.0**_LAST_GROWING:
            return int(np.floor(np.log2(steps)))
        return _LAST_GROWING - 1 + int(steps / 2.0**_LAST_GROWING)

    def values(self, i: int) -> FloatArray:
        """Im k(it) at the Legendre nodes of panel i with all its digits; nan where it overflows."""
        if i not in self._known:
            low, high = self.edge(i), self.edge(i + 1)
            self._known[i] = self._computed(low + 0.5 * (high - low) * (1.0 + NODES))
        return self._known[i]

    def _computed(self, t: FloatArray) -> FloatArray:
        if t[-1] < self.near:
            return self.start(t)
        k = self.value(1j * t)
        if np.abs(k.imag).max() > _CLEARLY_ODD * np.abs(k).max():
            return np.asarray(k.imag)
        found = np.empty(t.shape)
        with mp.workdps(_DIGITS):
            for i in range(t.size)[::-1]:
                found[i] = float(mp.im(self.digits(mp.mpc(0, float(t[i])))))
                # A kernel that overflows does so farthest out: the panel is of no use.
                if not np.isfinite(found[i]):
                    return np.full(t.shape, np.nan)
        return found


@dataclass(frozen=True, eq=False)
class QuarterPlane:
    """A kernel on the half-line as an analytic function, and the paths on which it is one.

    Attributes
    ----------
    value : callable
        Values k(z) at an array of points.
    scale : float
        The distance at which |k| has fallen to half of its largest value.
    reach : float
        A distance beyond which the kernel is negligible, or 1e14 scales where it decays slowly.
    decays_fast : bool
        Whether the kernel decays faster than every power.
    odd : OddPart
        Im k(it), which is the part of the kernel that is not even.
    waves : tuple of Wave
        What the kernel is the sum of; none where it does not oscillate.
    """

    value: Callable[[Any], Any]
    scale: float
    reach: float
    decays_fast: bool
    odd: OddPart
    _phases: tuple[Phase, ...]
    waves: tuple[Wave, ...] = ()

    @property
    def frequency(self) -> float:
        """The largest frequency of a wave: |k| may grow like exp(frequency Im z)."""
        return self.waves[-1].frequency if self.waves else 0.0

    @cached_property
    def is_band_limited(self) -> bool:
        """Whether the density vanishes beyond the largest frequency (Paley and Wiener).

        An even function that is analytic up to the imaginary axis is entire.
        """
        entire = bool(self.waves) and not self.decays_fast and self.is_even
        return entire and bool(np.isinf(self.height)) and self.has_quadrant

    def in_dimension(self, dim: int) -> QuarterPlane:
        """The same with the distance beyond which k(z) z^(d-1) is negligible for its reach."""
        if not self.decays_fast:
            return self
        z = np.geomspace(self.scale, _FURTHER_OUT * self.reach, _PROBES)
        with np.errstate(divide="ignore"):
            log = np.log(self.size(z)) + (dim - 1) * np.log(z)
        if not np.isfinite(log.max()):
            raise FormulaError("the kernel is narrower than the places at which it is looked at")
        alive = int(np.flatnonzero(log > log.max() + np.log(_NEGLIGIBLE))[-1])
        further = float(z[min(alive + 1, z.size - 1)])
        return replace(self, reach=further) if further > self.reach else self

    def size(self, z: ComplexArray) -> FloatArray:
        """|k|, with each wave exp(ibz) f counted as |f| from its first turn on."""
        return _size(self.value, self.waves, z)

    @cached_property
    def is_even(self) -> bool:
        """Whether k is an even function, so that k(it) is real as far as k is analytic."""
        top = mp.mpf(min(self.height, self.scale))
        with mp.workdps(_DIGITS):
            values = [self.odd.digits(mp.mpc(0, top * share)) for share in _REAL_PLACES]
            return all(abs(mp.im(v)) <= _REAL_SHARE * abs(v) for v in values)

    @cached_property
    def height(self) -> float:
        """Up to which height k is analytic on the imaginary axis (0 where this is not known)."""
        return self._highest(None)

    @cached_property
    def angles(self) -> tuple[float, ...]:
        """Those of :data:`ANGLES` whose sector against the real axis has no singularity."""
        return tuple(a for a in ANGLES if self._is_clear(0.0, a))

    @cached_property
    def has_quadrant(self) -> bool:
        """Whether the kernel is analytic up to the whole imaginary axis."""
        return self._is_clear(0.0, 0.5 * np.pi)

    def rise(self, angle: float) -> float:
        """The largest height c for which nothing lies below the ray from ic at this angle."""
        if angle not in self._rises:
            self._rises[angle] = self._highest(angle)
        return self._rises[angle]

    @cached_property
    def _rises(self) -> dict[float, float]:
        return {}

    def _highest(self, angle: float | None) -> float:
        low, high = _LOWEST * self.scale, _HIGHEST * self.scale
        if angle is not None:
            high = self.height
            finite = min(high, _HIGHEST * self.scale)
            if self._is_clear(finite * (1.0 - _HEIGHT_ACCURACY), angle):
                return high
            high = finite
        elif self._is_clear(high, angle):
            return float(np.inf)
        if not self._is_clear(low, angle):
            return 0.0
        while high > low * (1.0 + _HEIGHT_ACCURACY):
            middle = float(np.sqrt(low * high))
            if not low < middle < high:
                break
            low, high = (middle, high) if self._is_clear(middle, angle) else (low, middle)
        return low

    def _is_clear(self, height: float, angle: float | None) -> bool:
        """Whether every phase is continuous along a path and around the region under it."""
        if angle is not None and not self.decays_fast and self._grows_on_arcs(angle):
            return False
        return all(self._keeps(phase, height, angle) for phase in self._phases)

    def _grows_on_arcs(self, angle: float) -> bool:
        turn = np.exp(1j * np.linspace(0.0, angle, _ARC_POINTS))
        sizes = [self.size(radius * self.scale * turn) for radius in _ARC_RADII]
        return not all(np.all(size <= _ARC_GROWTH * size[0]) for size in sizes)

    @cached_property
    def _rims(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Angles, and log|k| and the log of its size there, at the reach of a fast one."""
        angles = np.linspace(0.0, 0.5 * np.pi, _ARC_POINTS)
        z = self.reach * np.exp(1j * angles)
        tiny = float(np.finfo(float).tiny)
        return angles, np.log(np.abs(self.value(z)) + tiny), np.log(self.size(z) + tiny)

    def closes(self, angle: float, rate: float, *, by_waves: bool = False) -> bool:
        """Whether k(z) exp(i rate z) is negligible at the reach, up to an angle.

        Where it is not, a path into the plane and the real axis do not have one integral.  With
        ``by_waves`` each f(z) exp(i rate z) is asked for.
        """
        if not self.decays_fast:
            return True
        angles, whole, parts = self._rims
        log = parts if by_waves else whole
        under = angles <= angle
        size = log[under] - rate * self.reach * np.sin(angles[under])
        return bool(np.all(np.isfinite(size)) and size.max() < np.log(_CLOSED))

    def _keeps(self, phase: Phase, height: float, angle: float | None) -> bool:
        near = _NEAR * self.scale
        first = 0.5 * np.pi if height > 0.0 or angle is None else angle
        legs: list[float | None] = [
            phase.turn(lambda s: near * np.exp(1j * s), np.linspace(0.0, first, _ARC_POINTS))
        ]
        if height > 0.0:
            legs.append(phase.turn(lambda s: 1j * np.exp(s), _logs(near, height)))
        if angle is None:
            return None not in legs
        start, direction = 1j * height, complex(np.cos(angle), np.sin(angle))
        far = max(_BEYOND * self.reach, 2.0 * height)
        legs.append(phase.turn(lambda s: start + direction * np.exp(s), _logs(near, far)))
        end = start + direction * far
        size, last = abs(end), float(np.angle(end))
        legs.append(
            phase.turn(lambda s: size * np.exp(-1j * s), np.linspace(-last, 0.0, _ARC_POINTS))
        )
        legs.append(phase.turn(lambda s: np.exp(s) + 0j, _logs(near, size)[::-1]))
        # Around the whole region the turns must cancel.
        known = [leg for leg in legs if leg is not None]
        return len(known) == len(legs) and abs(sum(known)) < 1.0


def _digits(expr: sympy.Expr) -> Callable[[Any], Any]:
    """Values in mpmath; infinite where a part of the formula is beyond what it is let hold."""
    exact = mpmath_function(expr, Z)

    def value(x: Any) -> Any:
        try:
            return exact(x)
        except OverflowError:
            return mp.mpc(mp.inf, mp.inf)

    return value


def _logs(low: float, high: float) -> FloatArray:
    count = 9 + int(_POINTS_PER_DECADE * max(np.log10(high / low), 0.0))
    return np.linspace(np.log(low), np.log(high), count)


def _size(value: Callable[[Any], Any], waves: tuple[Wave, ...], z: ComplexArray) -> FloatArray:
    if not waves:
        return np.asarray(np.abs(value(z)))
    with np.errstate(all="ignore"):
        total = np.zeros(z.shape)
        for wave in waves:
            total += (2.0 if wave.frequency else 1.0) * np.abs(wave.value(z))
        turned = np.abs(z) * min(w.frequency for w in waves if w.frequency) > 1.0
        # Far out the complex Bessel functions of scipy have no values, and the real ones have.
        plain = np.abs(value(z if np.any(np.imag(z)) else np.real(z)))
        return np.where(turned & np.isfinite(total), total, plain)


def quarter_plane(
    expr: sympy.Expr,
    value: Callable[[Any], Any],
    zero: Expansion,
    *,
    decays_fast: bool,
    waves: tuple[Wave, ...] = (),
) -> QuarterPlane:
    """The continuation of a formula in Z.

    Parameters
    ----------
    expr : sympy expression
        The formula.
    value : callable
        Its values at an array of points, real or complex.
    zero : Expansion
        Its expansion at zero.
    decays_fast : bool
        Whether it decays faster than every power.
    waves : tuple of Wave
        What it is the sum of, if it oscillates.

    Raises
    ------
    FormulaError
        Where the formula has a function whose singularities are not known here, or no decay.

    Examples
    --------
    >>> from spectra.transform.half_lines.ends import expansion_of
    >>> expr = 1 / sympy.cosh(Z)
    >>> zero = expansion_of(expr, sympy.Integer(0))
    >>> k = quarter_plane(expr, numpy_function(expr, Z), zero, decays_fast=True)
    >>> k.is_even, round(k.height / np.pi, 9)
    (True, 0.5)
    """
    phases = tuple(
        Phase(numpy_function(g, Z), factor, has_cut)
        for g, factor, has_cut in dict.fromkeys(inner_functions(expr))
    )
    z = np.geomspace(1.0 / _FARTHEST, _FARTHEST, _PROBES)
    size = _size(value, waves, z + 0j if waves else z)
    top = int(np.argmax(size))
    after = np.flatnonzero(size[top:] <= 0.5 * size[top])
    if after.size == 0 or size[top] == 0.0 or not np.all(np.isfinite(size)):
        raise FormulaError("the kernel does not decay")
    scale = float(z[top + after[0]])
    alive = int(np.flatnonzero(size > _NEGLIGIBLE * size[top])[-1])
    ends = decays_fast and alive + 1 < z.size
    reach = float(z[alive + 1]) if ends else _FARTHEST * scale
    odd = OddPart(
        scale=scale,
        grows=not decays_fast and not waves,
        digits=_digits(expr),
        value=value,
        near=zero.near,
        start=zero.imaginary_part,
        least=_LEAST_WEIGHT ** (1.0 / (1.0 + zero.odd_exponent)),
    )
    return QuarterPlane(value, scale, reach, decays_fast, odd, phases, waves)

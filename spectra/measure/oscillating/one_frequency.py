r"""Infinitely many lobes: masses of an oscillating tail, summed without cutting it.

From ``start`` on, rho = amplitude cos(phase) + background.  In the phase theta as the variable,
lobe k fills the range of theta around pi k where cos(theta - pi k) > -+ background / amplitude;
its mass m(s) is smooth in a real index s = k and falls like a power, so that the sum over every
second k is an integral over s plus Euler-Maclaurin terms at its start.  Beyond theta = 1e4 the
cosine is never formed from a radius: nothing is lost at w = 1e30.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.enclosures import ANALYSIS, EPS, NODES, WEIGHTS, Enclosure, resolve
from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart, RadialSum, require_moderate_scale
from spectra.density.components import Component, OscillatingTail
from spectra.errors import AccuracyError
from spectra.measure.oscillating.inverse_series import InverseSeries
from spectra.measure.stretches import Stretch, closed
from spectra.table.tails.lobed_tail import LARGEST_ROOT

__all__ = ["LobedTailMass", "waves_of"]

_READ_ERRORS_UP_TO = 1e3
# Lobes passed before the sum over all others starts: there Euler-Maclaurin terms fall by 1e-3.
_EXPLICIT_LOBES = 24
# A window [s (1 - a), s (1 + a)] for derivatives in s; a power of s needs 25 nodes on it.
_WINDOW = 0.4
_WINDOW_NODES = 25
# Euler-Maclaurin: B_2j / (2j)!, for steps of 2 in s.
_STEP = 2.0
_EULER_MACLAURIN = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)
# |background| and amplitude that agree to this fraction at every large radius are called equal.
_TOUCHING = 1e-10
# Where they still differ by more than this, what joins the background has not fallen off.
_NEARLY = 1e-3
# Logarithm of 1e200: amplitudes that fall further leave the doubles.
_DEEPEST = 460.0
# Narrow lobes are listed one by one up to so many, and what may be beyond is looked at as far.
_MOST_NARROW, _OCTAVES = 1000, 24
_ITERATIONS = 60
# Newton's method for the radius has ended with a step of this relative size: rounding.
_LAST_STEP = 16.0 * EPS
_MOST_LISTED = 5000
# The panels over log s end this many e-folds beyond the first index at the latest, or where this
# many e-folds of the mass are left, but so far beyond the last index that is asked for.
_E_FOLDS, _FALL, _MARGIN = 60.0, 90.0, 4.0
_FIRST_PANELS, _TOLERANCE = 11, 1e-13
# Exponents are doubles: a gap is a fraction where it is one to this.
_SAME_GAP = 1e-12


@dataclass(frozen=True, eq=False)
class LobedTailMass:
    """The tail of a density with one oscillating component, by lobes.

    Attributes
    ----------
    oscillating : Component
        The component.
    tail : OscillatingTail
        Its tail, or one with another start and background.
    rest : RadialSum or None
        The other components, which do not oscillate; they join the background.
    beyond : float
        A radius (of the last atom) that the listed lobes must pass.
    share : callable or None
        Which share of the other components joins this background, by radius; None for all.
    begins : float or None
        Radius from which on the lobes count, of which the first is cut there; None where they
        count from a whole one on, and those before it are listed.
    begins_at_zero : bool
        Whether the density changes its sign at that radius.
    """

    oscillating: Component
    tail: OscillatingTail
    rest: RadialSum | None
    beyond: float = 0.0
    share: Callable[[FloatArray], FloatArray] | None = None
    begins: float | None = None
    begins_at_zero: bool = False

    @cached_property
    def _phase_shift(self) -> InverseSeries:
        """phase(w) - frequency w."""
        tail = self.tail
        return InverseSeries.of(tail, lambda w: tail.phase(w) - tail.frequency * w, "phase")

    @cached_property
    def _amplitude(self) -> InverseSeries:
        """amplitude(w) w**exponent."""
        tail = self.tail

        def scaled(w: FloatArray) -> FloatArray:
            return np.asarray(np.exp(tail.log_amplitude(w) + tail.exponent * np.log(w)))

        return InverseSeries.of(tail, scaled, "amplitude")

    @cached_property
    def _background(self) -> InverseSeries | None:
        """background(w) w**background_exponent."""
        tail = self.tail
        if np.isinf(tail.background_exponent):
            return None
        power = tail.background_exponent
        return InverseSeries.of(tail, lambda w: tail.background(w) * w**power, "background")

    @property
    def _exponents(self) -> list[float]:
        """Exponents of the oscillation and of all that joins the background."""
        smooth = () if self.rest is None else self.rest.components
        return [self.tail.exponent, self.tail.background_exponent, *(c.decay for c in smooth)]

    @property
    def root(self) -> int:
        """q where the tail has powers of the radius that differ by q-th parts; 1 if by no part."""
        series = [self._phase_shift, self._amplitude]
        series += [] if self._background is None else [self._background]
        gaps = [e - self.tail.exponent for e in self._exponents if np.isfinite(e)]
        root = math.lcm(*map(_parts, gaps), *(s.root for s in series))
        return root if root <= LARGEST_ROOT else 1

    def radius(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Radius at a phase theta, and dw/dtheta there, by Newton's method."""
        frequency, shift = self.tail.frequency, self._phase_shift
        w = np.maximum((theta - shift.limit) / frequency, 0.5 * self.tail.start)
        for _ in range(_ITERATIONS):
            value, slope = shift.with_slope(w)
            step = (frequency * w + value - theta) / (frequency + slope)
            w = w - step
            if np.all(np.abs(step) <= _LAST_STEP * w):
                break
        return w, 1.0 / (frequency + slope)

    def amplitude(self, w: FloatArray) -> FloatArray:
        """The amplitude of the oscillation."""
        return self._amplitude(w) * w**-self.tail.exponent

    def background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum of all that does not oscillate, and the error of the rest's share."""
        value = np.zeros_like(w)
        if self._background is not None:
            value = self._background(w) * w**-self.tail.background_exponent
        if self.rest is None:
            return value, np.zeros_like(w)
        positive, negative, error = self.rest.values(Chart(), np.log(w))
        share = 1.0 / w if self.share is None else self.share(w) / w
        return value + (positive - negative) * share, error * share

    @cached_property
    def fit_error(self) -> float:
        """What the series of amplitude and background leave out, relative to their size."""
        error = self._amplitude.error
        return error if self._background is None else error + self._background.error

    def _reach(self, farthest: float) -> float:
        """Starts up to which the amplitude falls by no more than 1e-200, at most ``farthest``."""
        return min(farthest, float(np.exp(_DEEPEST / self.tail.exponent)))

    @cached_property
    def _far_ratio(self) -> tuple[FloatArray, FloatArray]:
        """background / amplitude at radii up to 1e12 starts, as far as it is a normal number."""
        w = self.tail.start * np.geomspace(1.0, self._reach(1e12), 241)
        return w, self._ratio(w)

    def _ratio(self, w: FloatArray) -> FloatArray:
        """background / amplitude: infinite beside a wave that is below every double."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.background(w)[0] / self.amplitude(w))

    @cached_property
    def _becomes_equal(self) -> bool:
        """Whether |background| = amplitude far out, to rounding."""
        return bool(np.all(np.abs(np.abs(self._far_ratio[1][-60:]) - 1.0) < _TOUCHING))

    @cached_property
    def touching(self) -> bool:
        """Whether that is so, and nowhere before is the wave larger: double zeros."""
        return self._becomes_equal and bool(np.all(np.abs(self._far_ratio[1]) > 1.0 - _TOUCHING))

    @cached_property
    def narrow(self) -> int:
        """The sign of lobes that become ever narrower, as the wave does not stay larger; or 0.

        Those that are not listed have no mass here; what they may have is :attr:`hidden`.
        """
        is_narrow = self._becomes_equal and not self.touching
        return -int(np.sign(self._far_ratio[1][-1])) if is_narrow else 0

    @cached_property
    def hidden(self) -> float:
        """Mass, at most, of narrow lobes beyond the listed ones."""
        return self._hidden_beyond(float(self.first_index)) if self.narrow else 0.0

    def _hidden_beyond(self, index: float) -> float:
        """The narrow lobes from an index on, each as large as the first one before its double."""
        s = np.asarray(index * np.exp2(np.arange(_OCTAVES)))
        masses, _ = self.lobe_masses(s, self.narrow)
        return float(np.maximum(masses, 0.0) @ s)

    @cached_property
    def first_index(self) -> int:
        """An even lobe index from which on every lobe is like the next.

        Raises
        ------
        AccuracyError
            Where background and amplitude still cross at radii too large to list the lobes, or
            where radii are too large or too small for doubles.
        """
        require_moderate_scale((self.oscillating,))
        w, ratio = self._far_ratio
        start = float(self.tail.phase(np.array([self.tail.start]))[0]) / np.pi
        lowest = max(start / (1.0 - _WINDOW) + 2.0, start + _EXPLICIT_LOBES, _EXPLICIT_LOBES)
        # The only sign of all lobes, or 0 where there are both; or how much larger one is.
        only = np.where(np.abs(ratio) > 1.0, np.sign(ratio), 0.0)
        if self._becomes_equal:
            only = np.abs(np.abs(ratio) - 1.0) > _NEARLY
        crossings = np.flatnonzero(only[1:] != only[:-1])
        if crossings.size:
            crossed = float(self.tail.phase(w[crossings[-1] + 1 : crossings[-1] + 2])[0])
            lowest = max(lowest, 2.0 * crossed / np.pi)
        if self.narrow:
            hidden, most = EPS * abs(self.oscillating.total), start + _MOST_NARROW
            while self._hidden_beyond(lowest) > hidden and lowest < most:
                lowest = min(2.0 * lowest, most)
        if self.beyond > self.tail.start:
            passed = float(self.tail.phase(np.array([self.beyond]))[0])
            lowest = max(lowest, passed / np.pi + 2.0)
        if lowest > start + _MOST_LISTED:
            raise AccuracyError(
                f"The oscillating tail of frequency {self.tail.frequency:g} settles (or passes the "
                f"last atom) only after {lowest:.3g} lobes, more than the {_MOST_LISTED} that are "
                "listed one by one. Treat the summands of the kernel apart."
            )
        return 2 * int(np.ceil(0.5 * lowest))

    def half_widths(self, s: FloatArray, sign: int, side: int) -> FloatArray:
        """Phase from the centre pi s of a lobe to its end: pi/2 without background, up to pi."""
        width = np.full(s.shape, 0.5 * np.pi)
        for _ in range(_ITERATIONS):
            w, _ = self.radius(np.pi * s + side * width)
            ratio = sign * self._ratio(w)
            if self.touching:
                ratio = np.sign(ratio)
            # Beyond 1 the other sign does not occur, and the lobe fills the period (or nothing).
            new = 0.5 * np.pi + np.arcsin(np.minimum(np.maximum(ratio, -1.0), 1.0))
            done = np.abs(new - width) <= 4.0 * EPS
            width = new
            if np.all(done):
                break
        return width

    def start_of(self, index: float, sign: int) -> float:
        """Radius at which the lobe of this index begins."""
        return float(self._starts_of(np.array([float(index)]), sign)[0])

    def _starts_of(self, s: FloatArray, sign: int) -> FloatArray:
        return self.radius(np.pi * s - self.half_widths(s, sign, -1))[0]

    @cached_property
    def listed_to(self) -> float:
        """Radius up to which lobes are listed one by one."""
        return self.start_of(self.first_of(1), 1) if self.begins is None else self.begins

    def first_of(self, sign: int) -> int:
        """Index of the first lobe of a sign that counts; others follow in steps of 2."""
        if self.begins is None:
            return self.first_index + (sign < 0)
        index = 2 * int(np.ceil(0.5 * self._first_phase / np.pi)) + 2 + (sign < 0)
        while self.start_of(index, sign) > self.begins:
            index -= 2
        return index

    @property
    def _first_phase(self) -> float:
        """The phase at the radius where the lobes begin."""
        at = np.array([self.listed_to])
        return float(self.fastest * at[0] + self.shift(at)[0])

    @property
    def fastest(self) -> float:
        """The frequency."""
        return self.tail.frequency

    def changes(self, up_to: float) -> FloatArray:
        """Radii at which the lobes that are not listed begin, to about a radius."""
        first, count = self.first_index, up_to * self.fastest / np.pi
        last = first + 2 * max(0, int(0.5 * count) + 2 - first // 2)
        index = np.arange(first, last + 2)
        found = np.empty(index.size)
        for sign in (1, -1):
            mine = (index % 2 == 0) == (sign > 0)
            found[mine] = self._starts_of(index[mine].astype(float), sign)
        if not self.narrow:
            return found
        # Both ends of a lobe that is no wider than rounding are none.
        close = np.flatnonzero(np.diff(found) < np.sqrt(_TOUCHING) / self.fastest)
        return np.delete(found, np.union1d(close, close + 1))

    def shift(self, w: FloatArray) -> FloatArray:
        """phase(w) - frequency w, which tends to a constant."""
        return self._phase_shift(w)

    def decay(self, sign: int) -> float:
        """Exponent of the power law that the lobe masses of one sign tend to."""
        far = np.array([0.5, 1.0]) * self._reach(2e7) * max(self.first_index, 1)
        masses, _ = self.lobe_masses(far, sign)
        slope = float(np.log2(masses[0] / masses[1]))
        return min(self._exponents, key=lambda e: abs(e - slope))

    def _densities(
        self, s: FloatArray, sign: int, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Density per unit of phase, and its error, at the nodes between two phases."""
        half = 0.5 * (high - low)
        phi = (low + half)[..., None] + half[..., None] * NODES
        w, rate = self.radius(np.pi * s[..., None] + phi)
        amplitude = self.amplitude(w)
        background, background_error = self.background(w)
        value = (amplitude * np.cos(phi) + sign * background) * rate
        # The stated error is read where the component is known to answer; it is relative.
        asked = np.minimum(w, _READ_ERRORS_UP_TO * self.tail.start)
        relative = self.oscillating.relative_error(asked.ravel()).reshape(w.shape)
        relative = relative + self.fit_error + 8.0 * EPS
        return value, ((amplitude + np.abs(background)) * relative + background_error) * rate

    def pieces(
        self, s: FloatArray, sign: int, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mass of a lobe between two phases relative to its centre, and the error."""
        value, error = self._densities(s, sign, low, high)
        half = 0.5 * (high - low)
        return half * (value @ WEIGHTS), half * (error @ WEIGHTS)

    def series(self, s: FloatArray, sign: int, low: FloatArray, high: FloatArray) -> FloatArray:
        """Legendre coefficients of the density per unit of phase, one row for each lobe."""
        return np.asarray(self._densities(s, sign, low, high)[0] @ ANALYSIS.T)

    def lobe_masses(self, s: FloatArray, sign: int) -> tuple[FloatArray, FloatArray]:
        """Masses m(s) of lobes of one sign at real indices s, and their errors."""
        below = self.half_widths(s, sign, -1)
        above = self.half_widths(s, sign, +1)
        return self.pieces(s, sign, -below, above)

    def _per_efold(self, t: FloatArray, sign: int) -> tuple[FloatArray, FloatArray]:
        """m(s) per unit of t = log s, and its error."""
        s = np.exp(t)
        mass, error = self.lobe_masses(s, sign)
        return mass * s, error * s

    @cached_property
    def _integrals(self) -> dict[int, Stretch | None]:
        """Integrals of both signs from the first lobe on: what sums and tables ask for."""
        first = float(np.log(self.first_index))
        return {sign: self._integrated(first, first, sign) for sign in (1, -1)}

    def _integral(self, low: float, high: float, sign: int) -> Stretch | None:
        known = self._integrals[sign]
        reaches = known is None or high + _MARGIN <= known.panels.edges[-1]
        if reaches and low >= np.log(self.first_index):
            return known
        return self._integrated(low, high, sign)

    def _integrated(self, low: float, high: float, sign: int) -> Stretch | None:
        """m(s) over t = log s, from ``low`` to beyond ``high`` and closed; None where it is 0."""
        per_efold = partial(self._per_efold, sign=sign)
        probe, _ = per_efold(low + np.array([0.0, 1.0]))
        if probe[0] <= 0.0 or sign == self.narrow:
            return None
        rate = max(-float(np.log(probe[1] / probe[0])), 0.05)
        last = max(low + min(_E_FOLDS, _FALL / rate), high + _MARGIN)
        edges = np.linspace(low, last, _FIRST_PANELS + 1)
        (panels,) = resolve(per_efold, [edges], tolerance=_TOLERANCE)
        tail, _ = closed(*per_efold(last - np.array([0.0, 0.5, 1.0])), 1.0)
        return Stretch(sign, Chart(), panels, per_efold, tail=tail)

    def mass_beyond(self, s: FloatArray, sign: int) -> tuple[FloatArray, FloatArray]:
        """Sum of m(s + 2j) over j = 0, 1, ..., for real indices s, and its error."""
        s = np.asarray(s, dtype=float)
        t = np.log(s)
        integral = self._integral(float(t.min()), float(t.max()), sign)
        if integral is None:
            return np.zeros(s.shape), np.zeros(s.shape)
        total, error = (x / _STEP for x in integral.beyond(t))
        # Derivatives at s from a Chebyshev fit over a window around it.
        nodes = chebyshev.chebpts1(_WINDOW_NODES)
        values, value_errors = self.lobe_masses(s[:, None] * (1.0 + _WINDOW * nodes), sign)
        series = np.asarray(chebyshev.chebfit(nodes, values.T, _WINDOW_NODES - 1))
        at_s = chebyshev.chebval(0.0, series)
        total = total + 0.5 * at_s
        error = error + value_errors.max(axis=1)
        derivative = chebyshev.chebder(series)
        for j, factor in enumerate(_EULER_MACLAURIN):
            power = 2 * j + 1
            term = chebyshev.chebval(0.0, derivative) * (_STEP / (_WINDOW * s)) ** power
            total = total - factor * term
            derivative = chebyshev.chebder(derivative, 2)
        # The series is asymptotic: its last term bounds what it leaves out.
        error = error + abs(_EULER_MACLAURIN[-1]) * np.abs(term) + 4.0 * EPS * total
        return total, error

    def mass_from(self, index: int, sign: int) -> Enclosure:
        """Total mass of the lobes index, index + 2, ... of one sign.

        Where amplitude and background agree to rounding, the error holds the lobes of the other
        sign that are hidden.
        """
        total, error = self.mass_beyond(np.array([float(index)]), sign)
        return Enclosure(float(total[0]), float(error[0]) + self.hidden)

    def mass(self, sign: int) -> Enclosure:
        """Total mass of the lobes of a sign that are not listed."""
        first = self.first_of(sign)
        whole = self.mass_from(first, sign)
        if self.begins is None:
            return whole
        s = np.array([float(first)])
        low = -self.half_widths(s, sign, -1)
        high = np.minimum(self._first_phase - np.pi * s, self.half_widths(s, sign, 1))
        before, error = self.pieces(s, sign, low, high)
        return whole - Enclosure(float(before[0]), float(error[0]))


def waves_of(
    components: tuple[Component, ...], dim: int, beyond: float = 0.0
) -> tuple[LobedTailMass, ...]:
    """Each oscillating component with its own lobes; the first one carries what is smooth."""
    smooth = tuple(c for c in components if c.tail is None)
    rest = RadialSum(smooth, dim) if smooth else None
    found: list[LobedTailMass] = []
    for c in components:
        if c.tail is not None:
            found.append(LobedTailMass(c, c.tail, None if found else rest, beyond))
    return tuple(found)


def _parts(gap: float) -> int:
    """q where a number is a whole number of q-th parts, q at most the largest root; else 1."""
    near = Fraction(gap).limit_denominator(LARGEST_ROOT)
    return near.denominator if abs(gap - near) < _SAME_GAP * max(1.0, abs(gap)) else 1

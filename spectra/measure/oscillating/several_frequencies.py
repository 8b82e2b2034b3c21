r"""Lobes of several frequencies: where waves beat, what all their lobes weigh together.

From ``start`` on, :math:`\rho = \sum_j A_j \cos(R_j w + \alpha_j) + B` with A, alpha and B slowly
varying.  No law numbers the lobes of such a sum, but their mass is

.. math:: \int |\rho|\,dw = \int |\rho|\,\chi\,dw + \int G\,(1 - \chi)\,dw + \text{resonances},

where chi falls smoothly from 1 to 0 over [W, 2W] and G is the mean of the size over the phases
(see ``phase_means``).  The first integral is a sum over lobes, each between its zeros; the second
one is smooth.  What remains are the Fourier modes k of the size on the torus of phases, waves of
the frequency lambda = k . R, which chi suppresses where lambda W is large: only those with nearly
no frequency are left, and their coefficients fall like :math:`|k|^{-(c+3)/2}` for c free phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from numpy.polynomial import chebyshev, legendre
from numpy.typing import NDArray

from spectra.base.enclosures import EPS, Enclosure, Integrand, resolve
from spectra.base.numbers import FloatArray
from spectra.density.charts import Chart
from spectra.density.components import Component
from spectra.measure.oscillating.one_frequency import LobedTailMass, waves_of
from spectra.measure.oscillating.phase_means import (
    MOST_FREE_WAVES,
    Orbit,
    mean_size,
    mode_sizes,
    orbits_of,
)
from spectra.measure.oscillating.wave_zeros import lowest, zeros_on
from spectra.measure.stretches import Stretch

__all__ = ["BeatingTail"]

# Lobes that are followed one by one: more only where fewer leave too much.  The last ones cost two
# seconds, and serve ratios that are within a thousandth of a small fraction.
_LOBES = (1_500, 6_000, 24_000, 96_000)
# What the resonances may leave, as a share of the mass beyond the start: before more lobes are
# tried, and before the last ones are.
_ENOUGH, _POOR = 1e-13, 1e-8
# The steepness of chi: it is smooth to exp(-36), the rounding of a double.
_STEEPNESS = 36.0
_CHI_TERMS = 160
# The same where there are no means.
_LISTED_LOBES = 400
# Points for each half wave of the highest frequency, at which zeros are sought.
_POINTS = 24
# Where the sign between two zeros is looked at: at one of the places there may be a double zero.
_BETWEEN = np.array([0.25, 0.5, 0.75])
# Sign changes that are nearer than this share of a step have a parabola between them.
_BESIDE = 1e-3
# A minimum below this fraction of the waves is a double zero.
_TOUCHING = 1e-10
_BLOCK = 1 << 16
# Gauss-Legendre nodes for half a wave: exact to rounding.
_NODES, _WEIGHTS = legendre.leggauss(12)
# Beyond 1/slope this often the power law is closed: there exp(-37) of the mass is left.
_E_FOLDS = 37.0
_FARTHEST = 300.0
# Series of the means: those over three free phases cost a thousand times as much.
_TOLERANCE = (2e-14, 1e-9)
# Modes that are tried: coefficients of higher ones are below rounding for two free phases.
_PAIRS = 40_000
_TRIPLES = 40
# Coefficients fall like |k|^-p: p is (c + 3)/2 where the zeros lie on a curved surface, and less by
# this where it has an inflection.  The largest ones are computed.
_INFLECTION = 1.0 / 6.0
_COMPUTED, _MOST_TURNS = 16, 2_000.0
# Radii, in cuts, at which they are computed: the sizes of the waves may still change.
_LATER = np.array([1.0, 64.0])
# Half waves that may pass before all that is smooth varies slowly.
_MOST_UNSETTLED = 24_000
# A smooth summand varies slowly beyond this many radii of its bulk.
_SETTLED = 4.0


@dataclass(frozen=True, eq=False)
class BeatingTail:
    """The tail of a density with several oscillating components.

    Attributes
    ----------
    components : tuple of Component
        All of them; those that do not oscillate join the background.
    dim : int
        Dimension.
    """

    components: tuple[Component, ...]
    dim: int

    @cached_property
    def waves(self) -> tuple[LobedTailMass, ...]:
        """Each oscillating component with its own lobes; the first one carries what is smooth."""
        return waves_of(self.components, self.dim)

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """The waves in classes of rational ratios."""
        return orbits_of(tuple(wave.tail.frequency for wave in self.waves))

    @property
    def has_means(self) -> bool:
        """Whether there are few enough free phases, and lobes before all is smooth."""
        several = [o for o in self.orbits if len(o) > 1]
        settles = self._settled * self.fastest <= np.pi * _MOST_UNSETTLED
        return len(several) <= 1 and len(self.orbits) <= MOST_FREE_WAVES and settles

    @cached_property
    def fastest(self) -> float:
        """The highest frequency."""
        return max(wave.tail.frequency for wave in self.waves)

    @cached_property
    def start(self) -> float:
        """Radius from which on the waves are described by their tails, and bounded spectra end."""
        ends = [c.end for c in self.components if np.isfinite(c.end)]
        return max([wave.tail.start for wave in self.waves] + ends)

    @cached_property
    def listed_to(self) -> float:
        """Radius up to which lobes are listed one by one."""
        return self.start if self.has_means else self._bounded[0]

    @cached_property
    def _bounded(self) -> tuple[float, Enclosure]:
        """Where to stop without means, and the mass of either sign that may lie beyond."""
        cut = max(self.start, _LISTED_LOBES * np.pi / self.fastest)
        envelope = self._integral(self._envelope, cut)
        value, error = envelope.beyond(np.log([cut]))
        bound = float(value[0] + error[0])
        return cut, Enclosure(0.5 * bound, 0.5 * bound)

    def mass(self, sign: int) -> Enclosure:
        """Mass of a sign beyond that radius: without means what is known of it is a bound."""
        return self._masses[sign < 0] if self.has_means else self._bounded[1]

    def changes(self, up_to: float) -> FloatArray:
        """Sign changes of rho from that radius on, to a little beyond a radius: the sign on both
        sides of a zero that lies there is to be seen."""
        beyond = 0.25 * np.pi / (_POINTS * self.fastest)
        return self.zeros(self.listed_to, max(up_to, self.listed_to) + beyond)

    @cached_property
    def _settled(self) -> float:
        """Radius from which on all that is smooth varies slowly, too."""
        smooth = [c for c in self.components if c.tail is None and np.isinf(c.end)]
        return max([self.start] + [_SETTLED * c.bulk[1] for c in smooth])

    def sizes(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Amplitudes and slow phases alpha of the waves, both of shape (waves, w.size)."""
        return (
            np.array([wave.amplitude(w) for wave in self.waves]),
            np.array([wave.shift(w) for wave in self.waves]),
        )

    def background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """All that does not oscillate, and a bound of its error."""
        value, error = np.zeros_like(w), np.zeros_like(w)
        for wave in self.waves:
            own, own_error = wave.background(w)
            # Backgrounds may cancel: their rounding stays.
            value, error = value + own, error + own_error + 4.0 * EPS * np.abs(own)
        return value, error

    def values(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """rho, and its envelope: the sum of the sizes of all summands."""
        amplitudes, shifts = self.sizes(w)
        value, _ = self.background(w)
        envelope = np.abs(value)
        for wave, amplitude, shift in zip(self.waves, amplitudes, shifts, strict=True):
            value = value + amplitude * np.cos(wave.tail.frequency * w + shift)
            envelope = envelope + amplitude
        return value, envelope

    def _slope(self, w: FloatArray, _: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the fast part of rho."""
        amplitudes, shifts = self.sizes(w)
        slope, curve = np.zeros_like(w), np.zeros_like(w)
        for wave, amplitude, shift in zip(self.waves, amplitudes, shifts, strict=True):
            r = wave.tail.frequency
            slope -= r * amplitude * np.sin(r * w + shift)
            curve -= r * r * amplitude * np.cos(r * w + shift)
        return slope, curve

    def zeros(self, low: float, high: float) -> FloatArray:
        """Sign changes of rho between two radii, ascending; those of its rounding cancel."""
        if not high > low:
            return np.empty(0)
        step = np.pi / (_POINTS * self.fastest)
        count = max(4, int(np.ceil((high - low) / step)))
        found = []
        for first in range(0, count, _BLOCK):
            index = np.arange(first, min(first + _BLOCK, count) + 1)
            grid = low + (high - low) * (index / count)
            found.append(zeros_on(grid, lambda t, _: self.values(t)[0], self._slope)[0])
        changes = np.unique(np.concatenate(found))
        between = 0.5 * (changes[:-1] + changes[1:])
        value, envelope = self.values(between)
        rounding = 8.0 * EPS * (1.0 + self.fastest * between) * envelope
        apart = (np.diff(changes) > _BESIDE * step) | (np.abs(value) > rounding)
        runs = np.split(changes, np.flatnonzero(apart) + 1)
        found_once = np.array([run[run.size // 2] for run in runs if run.size])
        # On a double zero rounding may change its sign an odd number of times, too.
        edges = np.concatenate([[low], found_once, [high]])
        between = edges[:-1] + np.diff(edges) * _BETWEEN[:, None]
        values = self.values(between.ravel())[0].reshape(between.shape)
        signs = np.sign(values.max(axis=0) + values.min(axis=0))
        return np.asarray(found_once[signs[1:] != signs[:-1]])

    def touches(self, low: float, high: float) -> bool:
        """Whether rho comes as near to zero as rounding tells without a change of sign."""
        step = np.pi / (_POINTS * self.fastest)
        grid = np.linspace(low, high, max(4, int(np.ceil((high - low) / step))) + 1)
        x, _ = lowest(grid, self.values(grid)[0][None], self._slope)
        value, envelope = self.values(x)
        return bool(np.any(np.abs(value) <= _TOUCHING * envelope))

    def mean_size(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean of |rho| over the phases, per unit of t = log w, and its error."""
        w = np.exp(t).ravel()
        amplitudes, shifts = self.sizes(w)
        centre, error = self.background(w)
        size = mean_size(self.orbits, amplitudes, shifts, centre) * w
        error = (error + 8.0 * EPS * (amplitudes.sum(axis=0) + np.abs(centre))) * w
        return size.reshape(t.shape), error.reshape(t.shape)

    def _mean_value(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean of rho itself, likewise."""
        w = np.exp(t)
        value, error = self.background(w.ravel())
        return value.reshape(t.shape) * w, error.reshape(t.shape) * w

    def _envelope(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The envelope of rho, likewise."""
        w = np.exp(t)
        envelope = self.values(w.ravel())[1].reshape(t.shape) * w
        return envelope, self._relative_error() * envelope

    def _integral(self, mean: Integrand, start: float) -> Stretch:
        """That of a mean from a radius on: a power law beyond the last panel.

        Its exponent settles like 1/w, and is known to a rounding by then.
        """
        rate = min(c.decay for c in self.components) - 1.0
        low = float(np.log(start))
        high = min(low + _E_FOLDS / rate, _FARTHEST)
        edges = np.array([low, low + np.log(2.0), *np.arange(low + 1.4, high, 4.0), high])
        (panels,) = resolve(mean, [edges], tolerance=_TOLERANCE[len(self.orbits) > 2])
        (value,), (error,) = mean(np.array([high]))
        tail = Enclosure(float(value) / rate, float(error) / rate)
        return Stretch(1, Chart(), panels, mean, tail=tail)

    @cached_property
    def _masses(self) -> tuple[Enclosure, Enclosure]:
        """Mass of either sign beyond :attr:`start`, by means.

        Two cuts W and W/2 are compared; what they differ by, and what the modes near a resonance
        can hold, is the error.
        """
        cut, resonant = self._cut()
        cuts = np.array([0.5 * cut, cut])
        means = [self._integral(m, float(cuts[0])) for m in (self.mean_size, self._mean_value)]
        smooth = np.array([[_later(mean, float(c)) for mean in means] for c in cuts])
        sides = 0.5 * (smooth[:, :1] + smooth[:, 1:] * np.array([1.0, -1.0]))
        before, after = sides + self._explicit(cuts)
        size = float(after.sum())
        error = sum(float(mean.beyond(np.log(cuts[:1]))[1][0]) for mean in means)
        error += size * (self._relative_error() + 16.0 * EPS)
        error += 0.5 * resonant * float(smooth[1, 0])
        # No mass is negative: where rounding made one, 0 is nearer.
        positive, negative = (
            Enclosure(max(float(m), 0.0), float(d) + error)
            for m, d in zip(after, np.abs(after - before), strict=True)
        )
        return positive, negative

    def _cut(self) -> tuple[float, float]:
        """W, the least of those tried at which resonances leave nothing that counts, and what."""
        tried: list[tuple[float, float, float]] = []
        for lobes in _LOBES:
            if lobes == _LOBES[-1] and tried and min(tried)[0] <= _POOR:
                break
            cut = max(2.0 * self._settled, 0.5 * lobes * np.pi / self.fastest)
            resonant = self._resonances(cut)
            tried.append((resonant * self._far_share(cut), cut, resonant))
            if tried[-1][0] <= _ENOUGH:
                break
        _, cut, resonant = min(tried)
        return cut, resonant

    def _far_share(self, cut: float) -> float:
        """Mass beyond a cut as a share of that beyond the start, about, from the envelope."""
        w = np.array([self.start, cut])
        _, envelope = self.values(w)
        return float(envelope[1] * w[1] / (envelope[0] * w[0]))

    def _resonances(self, cut: float) -> float:
        """Sum of the coefficients of all modes that chi does not suppress at a cut.

        It is relative to the mean.
        """
        firsts = [next(iter(o.items())) for o in self.orbits]
        bases = np.array([self.waves[i].tail.frequency / multiple for i, multiple in firsts])
        highest = np.array([float(max(o.values())) for o in self.orbits])
        modes = _near_resonances(tuple(bases))
        turns = 0.5 * cut * np.abs(modes @ bases)
        root = np.sqrt(np.maximum(_STEEPNESS**2 - turns**2, 0.0))
        power = 0.5 * (bases.size + 3.0) - _INFLECTION
        size = np.sum((modes / highest) ** 2, axis=1) ** (-0.5 * power)
        left = 2.0 * np.exp(root - _STEEPNESS)
        short = np.flatnonzero(np.abs(modes) @ highest <= _MOST_TURNS)
        top = short[np.argsort(-(left * size)[short])[:_COMPUTED]]
        if bases.size != 2 or not top.size:
            return float(np.sum(left * size))
        w = cut * _LATER
        law = (*self.sizes(w), self.background(w)[0])
        found = mode_sizes(self.orbits, *law, modes[top]) / mean_size(self.orbits, *law)
        computed = found.max(axis=1)
        # The others are of the same family: most of them multiples of these.
        others = float(np.sum(left * size) - np.sum((left * size)[top]))
        return float(np.sum(left[top] * computed) + others * np.max(computed / size[top]))

    def _explicit(self, cuts: FloatArray) -> FloatArray:
        """Masses of both signs beyond the start times chi, lobe by lobe, one row for each cut."""
        total = np.zeros((cuts.size, 2))
        stop = 2.0 * float(cuts.max())
        zeros = self.zeros(self.start, stop)
        count = int(np.ceil((stop - self.start) * self.fastest / np.pi))
        even = np.linspace(self.start, stop, count + 1)
        edges = np.unique(np.concatenate([even, zeros, *([c, 2.0 * c] for c in cuts)]))
        step = _BLOCK // _NODES.size
        for first in range(0, edges.size - 1, step):
            ends = edges[first : first + step + 1]
            half = 0.5 * np.diff(ends)[:, None]
            w = ends[:-1, None] + half * (1.0 + _NODES)
            rho = self.values(w.ravel())[0].reshape(w.shape) * half
            for i, cut in enumerate(cuts):
                pieces = (rho * _chi(w / cut)) @ _WEIGHTS
                total[i, 0] += pieces[pieces > 0.0].sum()
                total[i, 1] -= pieces[pieces < 0.0].sum()
        return total

    def _relative_error(self) -> float:
        """Error of rho relative to its envelope, at the start and beyond."""
        w = np.geomspace(self.start, 1e3 * self.start, 33)
        stated = [float(wave.oscillating.relative_error(w).max()) for wave in self.waves]
        return max(s + wave.fit_error for s, wave in zip(stated, self.waves, strict=True))


@cache
def _bump() -> tuple[FloatArray, FloatArray]:
    """Nodes on [-1, 1] and the fall of chi at them, exp(b (sqrt(1 - x^2) - 1)) without its unit."""
    nodes = chebyshev.chebpts1(_CHI_TERMS)
    return nodes, np.exp(_STEEPNESS * (np.sqrt((1.0 - nodes) * (1.0 + nodes)) - 1.0))


def _later(law: Stretch, cut: float) -> float:
    """The integral times 1 - chi: the mean over the fall of chi of what lies beyond."""
    nodes, bump = _bump()
    beyond, _ = law.beyond(np.log(0.5 * cut * (3.0 + nodes)))
    weights = bump * np.sqrt((1.0 - nodes) * (1.0 + nodes))
    return float(beyond @ weights / weights.sum())


@cache
def _chi_series() -> FloatArray:
    """Chebyshev series of chi on [-1, 1]: one minus the integral of the bump."""
    rise = chebyshev.chebint(chebyshev.chebfit(*_bump(), _CHI_TERMS - 1), lbnd=-1)
    rise = rise / chebyshev.chebval(1.0, rise)
    keep = np.flatnonzero(np.abs(rise) > 1e-18)[-1] + 1
    fall = -rise[:keep]
    fall[0] += 1.0
    return np.asarray(fall)


def _chi(ratio: FloatArray) -> FloatArray:
    """chi at w / W: 1 up to 1, 0 from 2 on."""
    out = np.where(ratio < 1.5, 1.0, 0.0)
    inside = (ratio > 1.0) & (ratio < 2.0)
    out[inside] = chebyshev.chebval(2.0 * ratio[inside] - 3.0, _chi_series())
    return out


@cache
def _near_resonances(bases: tuple[float, ...]) -> FloatArray:
    """Modes k, one of each pair, that are nearest to a resonance, and the first of each base."""
    axes = np.eye(len(bases))
    if len(bases) == 1:
        return np.asarray(axes)
    if len(bases) == 2:
        head = np.arange(1.0, _PAIRS)[:, None]
    else:
        reach = np.arange(-_TRIPLES, _TRIPLES + 1.0)
        head = np.array(list(product(reach, repeat=len(bases) - 1)))
    nearest = np.round(-(head @ np.array(bases[:-1])) / bases[-1])
    beside = [np.column_stack([head, nearest + aside]) for aside in (-1.0, 0.0, 1.0)]
    every = np.concatenate([axes, *beside])
    return np.asarray(every[np.any(every != 0.0, axis=1)])

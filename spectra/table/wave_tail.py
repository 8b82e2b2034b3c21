r"""The oscillating tail of a distribution of radii: mass, quantiles and expected plane waves.

Beyond a radius W the density and the survival function are each a sum of waves

.. math:: f(w) = \Re \sum_j x^{a_j} \Bigl(\sum_k c_{jk} x^k\Bigr) e^{i b_j w}, \qquad
          x = W / w, \quad w \ge W ,

as are their sums, products and integrals.  Each distance b at which a kernel of bounded support is
not smooth contributes a frequency, and the origin contributes b = 0, the *mean* of the sum.  Terms
of one frequency are separate waves if their powers do not differ by an integer.

The expectation of a plane wave is a sum of integrals

.. math:: \int_1^\infty e^{iYt} h(t)\,dt = i e^{iY} \int_0^\infty e^{-Ys} h(1 + is)\,ds, \; Y > 0,

with t = w/W and Y = W (b + z) or W (b - z) for a wave of frequency b.  Its amplitude times that of
the plane wave is h.  On the path t = 1 + is, or 1 - is for Y < 0, the integrand does not oscillate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.polynomial import chebyshev
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from spectra.base.accuracy import ABSENT, DENSITY, EPS, SAME
from spectra.base.arrays import ComplexArray, FloatArray, NumberArray, panel_rule, reduce_to_fields
from spectra.base.bessel import hankel_amplitude, plane_wave_bound, smooth_amplitude_start
from spectra.errors import ParameterError

__all__ = ["Wave", "WaveSum", "WaveTail"]

# Most Newton steps, and the change of the phase of the fastest wave, in radians, that ends them.
_STEPS, _LAST_STEP = 64, 1e-7
# Relative error of interpolated quantiles of the mean density.
_MEAN_ERROR = 1e-4
# Number of radii in a grid: on one period, or from W to _FAR W to check the mean density.
_SAMPLES, _FAR = 257, 1e3
# Points of the table of mean quantiles; its range of log w and log q (doubles end near exp(-700)).
_GRID, _LOG_RANGE = 4000, 700.0
# The Gauss-Laguerre rule is exact to rounding from this |Y| on.  Smaller |Y| use the trapezoidal
# rule in log s, with this step and range.
_LAGUERRE_FROM, _LAGUERRE_RULE = 50.0, np.polynomial.laguerre.laggauss(32)
_LOG_STEP, _LOG_LOW, _LOG_HIGH = 0.24, -38.0, 92.0
# Tables for d = 1 are Chebyshev series on panels of width 1 in log |Y|: lower end of the first one,
# number of panels, terms.  At the upper end of the last one the integral is below rounding error.
_LOWEST, _PANELS, _PANEL_TERMS = -80.0, 117, 18
# Means over the sphere use panels in the angle above its equator: Gauss-Legendre nodes, the largest
# phase of a wave on a panel, halvings towards 0, -log of the share of the sphere that is left out.
_PANEL_NODES, _PANEL_PHASE, _HALVINGS, _LOG_LEFT_OUT = 12, 6.0, 40, 40.0
# Numbers of distances computed at a time, for d = 1 and for other dimensions.
_BLOCK, _ROWS = 1 << 17, 1 << 8
# Rounding errors of frequencies, relative to the largest one, and of differences of powers.
_SAME_FREQUENCY, _SAME_POWER = DENSITY / 100.0, SAME
# Coefficients below this share of the largest one are dropped.
_NEGLIGIBLE = ABSENT / 100.0
# Most terms that integration by parts adds to a series; least b W for which they are accurate.
_MOST_TERMS, LEAST_PHASE = 40, 30.0

#: (frequency, power, series) is ``x**power * polyval(x, series) * exp(1j * frequency * w)`` with
#: x = W/w, frequency >= 0 and complex coefficients.
Wave = tuple[float, float, ComplexArray]


@dataclass(frozen=True, eq=False)
class WaveSum:
    """The real part of a sum of waves on [start, oo); ``start`` is W.

    Use :meth:`of` to merge waves of equal frequency whose powers differ by an integer.

    Examples
    --------
    >>> rho = WaveSum.of(10.0, [(3.0, 2.0, np.array([1.0 + 0j]))])   # (10/w)^2 cos(3 w)
    >>> [(frequency, power) for frequency, power, _ in (rho * rho).waves]
    [(6.0, 4.0), (0.0, 4.0)]
    """

    start: float
    waves: tuple[Wave, ...]

    @classmethod
    def of(cls, start: float, waves: Iterable[Wave]) -> Self:
        """A sum of waves, merged by frequency and power."""
        return cls(start, tuple(_merge(list(waves))))

    def __call__(self, w: FloatArray) -> FloatArray:
        """Value at radii w >= start."""
        return values_of((self,), w)[0]

    def __add__(self, other: WaveSum) -> WaveSum:
        return WaveSum.of(self.start, [*self.waves, *other.waves])

    def __mul__(self, other: WaveSum) -> WaveSum:
        """The product; its frequencies are sums and differences of those of the factors."""
        found = []
        for b1, power1, series1 in self.waves:
            for b2, power2, series2 in other.waves:
                found.append((b1 + b2, power1 + power2, 0.5 * np.convolve(series1, series2)))
                series = 0.5 * np.convolve(series1, series2.conj())
                series = series if b1 >= b2 else series.conj()
                found.append((abs(b1 - b2), power1 + power2, series))
        return WaveSum.of(self.start, found)

    def scaled(self, factor: float, power: float = 0.0) -> WaveSum:
        """The sum times ``factor * (W/w)**power``."""
        return WaveSum(self.start, tuple((b, a + power, factor * c) for b, a, c in self.waves))

    def integral(self) -> WaveSum:
        r"""The function :math:`\int_w^\infty f` of w, found by integration by parts."""
        return WaveSum.of(self.start, (_integrate(*v, self.start) for v in self.waves))

    @cached_property
    def mass(self) -> float:
        """The integral from W to infinity."""
        return float(self.integral()(np.array([self.start]))[0])

    @cached_property
    def least_power(self) -> float:
        """The least power of W/w."""
        return min((power for _, power, _ in self.waves), default=np.inf)

    @cached_property
    def background(self) -> WaveSum:
        """The waves of frequency 0: the mean of the sum, as other waves have the mean 0."""
        return WaveSum(self.start, tuple(v for v in self.waves if v[0] == 0.0))

    @cached_property
    def frequencies(self) -> FloatArray:
        """The positive frequencies, ascending."""
        return np.unique([b for b, _, _ in self.waves if b > 0.0])

    def amplitudes(self, x: FloatArray) -> Iterator[tuple[float, ComplexArray]]:
        """Pairs of a frequency, which may be 0, and the sum of its amplitudes at x = W/w."""
        for b in sorted({b for b, _, _ in self.waves}):
            yield b, np.sum([amplitude(v, x) for v in self.waves if v[0] == b], axis=0)


def values_of(sums: Iterable[WaveSum], w: FloatArray) -> list[FloatArray]:
    """Values of several sums with the same start; shared exponentials are computed once."""
    w, found = np.asarray(w, dtype=float), []
    exponentials: dict[float, ComplexArray] = {}
    powers: dict[float, FloatArray] = {}
    for wave_sum in sums:
        x, out = wave_sum.start / w, np.zeros(w.shape)
        for b, power, series in wave_sum.waves:
            value = _polynomial(series, x)
            if b and b not in exponentials:
                half = exponentials.get(0.5 * b)
                exponentials[b] = np.exp(1j * (b * w)) if half is None else half * half
            value = value * exponentials[b] if b else value
            if power not in powers:
                powers[power] = x**power
            out += np.real(value) * powers[power]
        found.append(out)
    return found


def amplitude(wave: Wave, x: NumberArray) -> ComplexArray:
    """The factor before the exponential of a wave, at real or complex x = W/w."""
    return np.asarray(_polynomial(wave[2], x) * x ** wave[1])


def _polynomial(series: ComplexArray, x: NumberArray) -> NumberArray:
    """Values of a polynomial, computed in real arithmetic if its coefficients are real."""
    value: Any = polyval(x, series if np.any(series.imag) else series.real)
    return value


def _integrate(frequency: float, power: float, c: ComplexArray, start: float) -> Wave:
    """The integral of a wave of series ``c`` from w to infinity, as a wave."""
    if frequency == 0.0:
        if power <= 1.0:
            raise ParameterError(
                f"A tail like w^-{power:g} has infinite mass: its power must exceed 1."
            )
        return 0.0, power - 1.0, start * c / (power - 1.0 + np.arange(c.size))
    phase = frequency * start
    if phase < LEAST_PHASE:
        raise ParameterError(
            f"A wave of frequency {frequency:g} has only {phase / (2.0 * math.pi):.2g} periods up "
            f"to the radius {start:g}, too few for the asymptotic series of its integral. Start "
            "the tail at a larger radius."
        )
    terms: list[complex] = []
    largest = float(np.abs(c).max(initial=0.0))
    for j in range(c.size + _MOST_TERMS):
        previous = (power + j - 1.0) * terms[-1] if terms else 0.0
        terms.append((previous - (c[j] if j < c.size else 0.0)) / (1j * phase))
        if j >= c.size and abs(terms[-1]) * phase < _NEGLIGIBLE * largest:
            break
    return frequency, power, np.asarray(start * np.array(terms), dtype=complex)


def _merge(waves: list[Wave]) -> list[Wave]:
    """Merge waves of equal frequency and power modulo 1, and drop negligible coefficients."""
    highest = max((b for b, _, _ in waves), default=0.0)
    merged: list[Wave] = []
    for frequency, power, series in sorted(waves, key=lambda v: v[1]):
        b = frequency if frequency > _SAME_FREQUENCY * highest else 0.0
        series = np.asarray(series if b else series.real, dtype=complex)
        for i, (old_b, old_power, old_series) in enumerate(merged):
            offset = power - old_power
            is_same = abs(old_b - b) <= _SAME_FREQUENCY * highest
            if is_same and abs(offset - round(offset)) < _SAME_POWER:
                total = np.zeros(max(old_series.size, round(offset) + series.size), dtype=complex)
                total[: old_series.size] += old_series
                total[round(offset) : round(offset) + series.size] += series
                merged[i] = old_b, old_power, total
                break
        else:
            merged.append((b, power, series))
    limit = _NEGLIGIBLE * max((float(np.abs(c).max()) for _, _, c in merged), default=0.0)
    found = []
    for frequency, power, series in merged:
        kept = np.flatnonzero(np.abs(series) > limit)
        if kept.size:
            # The first coefficients may have cancelled: the least power is then larger.
            first, last = int(kept[0]), int(kept[-1])
            found.append((frequency, power + first, series[first : last + 1]))
    return found


@dataclass(frozen=True, eq=False)
class WaveTail:
    """The part of a probability density of the radius on [W, oo), a nonnegative sum of waves.

    Examples
    --------
    >>> waves = [(0.0, 2.0, np.array([0.1 + 0j])), (9.0, 2.0, np.array([0.1 + 0j]))]
    >>> tail = WaveTail(WaveSum.of(5.0, waves))        # 0.1 (5/w)^2 (1 + cos(9 w))
    >>> bool(abs(tail.sf(tail.isf(0.01)) - 0.01) < 1e-16)
    True
    """

    density: WaveSum

    def __post_init__(self) -> None:
        background = self.density.background(self.start * np.geomspace(1.0, _FAR, _SAMPLES))
        if not (np.all(background > 0.0) and 0.0 < self.mass <= 1.0 + 4.0 * EPS):
            raise ParameterError(
                "The mean density of an oscillating tail must be positive and its mass at most 1; "
                f"it starts at the radius {self.start} and has the mass {self.mass}."
            )

    __reduce__ = reduce_to_fields

    @property
    def start(self) -> float:
        """W, the radius at which the tail begins."""
        return self.density.start

    @cached_property
    def _survival(self) -> WaveSum:
        return self.density.integral()

    @property
    def mass(self) -> float:
        """Probability of the whole tail."""
        return self.density.mass

    def pdf(self, w: ArrayLike) -> FloatArray:
        """Density at radii w >= start."""
        return np.maximum(self.density(np.asarray(w, dtype=float)), 0.0)

    def sf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii above w >= start, with a small relative error."""
        w = np.asarray(w, dtype=float)
        out = np.zeros(w.shape)
        finite = np.isfinite(w)
        out[finite] = np.maximum(self._survival(w[finite]), 0.0)
        return out

    @cached_property
    def _mean_quantiles(self) -> tuple[FloatArray, FloatArray]:
        """Table of -log q, where q is the mean survival function, and of log w."""
        log_range = min(
            _LOG_RANGE / self._survival.background.least_power, _LOG_RANGE - np.log(self.start)
        )
        log_w = np.log(self.start) + log_range * np.linspace(0.0, 1.0, _GRID) ** 2
        return -np.log(self._survival.background(np.exp(log_w))), log_w

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the probability is q, for 0 <= q <= mass; infinite at q = 0."""
        q = np.asarray(q, dtype=float)
        if not np.all((q >= 0.0) & (q <= self.mass * (1.0 + 4.0 * EPS))):
            raise ParameterError(f"A tail of mass {self.mass} has quantiles for 0 <= q <= mass.")
        out = np.full(q.shape, np.inf)
        finite = q > np.exp(-self._mean_quantiles[0][-1])
        out[finite] = self._solve_quantiles(q[finite])
        return out

    def _solve_quantiles(self, q: FloatArray) -> FloatArray:
        """Solve sf(w) = q by Newton's method, and by bisection where a step leaves its bracket."""
        w = np.exp(np.interp(-np.log(q), *self._mean_quantiles))
        # In a nonnegative density a wave of constant amplitude is at most twice the mean, so it
        # shifts a quantile by at most 2/frequency.  3 instead of 2 allows for varying amplitudes.
        spread = float(np.sum(3.0 / self.density.frequencies)) + _MEAN_ERROR * w
        low, high = np.maximum(w - spread, self.start), w + spread
        if self._periodic_shift is not None:
            period, mean, shift = self._periodic_shift
            w = w + np.interp(w, mean, shift, period=period)
        w = np.clip(w, low, high)
        fastest = float(self.density.frequencies.max(initial=1.0 / self.start))
        todo = np.arange(q.size)
        for _ in range(_STEPS):
            old, target = w[todo], q[todo]
            survival, slope = values_of((self._survival, self.density), old)
            excess = survival - target
            low[todo] = np.where(excess > 0.0, old, low[todo])
            high[todo] = np.where(excess > 0.0, high[todo], old)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = old + excess / slope
            middle = 0.5 * (low[todo] + high[todo])
            w[todo] = new = np.where((new >= low[todo]) & (new <= high[todo]), new, middle)
            step = np.abs(new - old)
            unsolved = (step * fastest > _LAST_STEP) & (step > 2.0 * EPS * old)
            unsolved &= np.abs(excess) > 2.0 * EPS * target
            todo = todo[unsolved]
            if not todo.size:
                break
        return w

    @cached_property
    def _periodic_shift(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Common period, quantiles of the mean density on one period, and quantiles minus these."""
        frequencies = self.density.frequencies
        if not frequencies.size or np.any(frequencies % frequencies[0]):
            return None
        period = 2.0 * np.pi / float(frequencies[0])
        w = 1.5 * self.start + period * np.linspace(0.0, 1.0, _SAMPLES)
        mean = np.exp(np.interp(-np.log(self._survival(w)), *self._mean_quantiles))
        return period, mean, w - mean

    def plane_wave_enclosure(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Integral of Ω_dim(w z) times the density for z >= 0, and a bound of its error."""
        z = np.asarray(z, dtype=float)
        flat, y = z.ravel(), self.start * z.ravel()
        # Bounds of the integrals of |amplitude| of the waves, divided by W.
        sizes = [np.abs(c).sum() / max(power - 1.0, 0.1) for _, power, c in self.density.waves]
        out, error = np.empty(z.size), np.full(z.size, 32.0 * EPS * self.start * sum(sizes))
        if dim == 1:
            out = self._expected_cosines(flat)
        else:
            far = y >= smooth_amplitude_start(dim)
            out[far] = sum(self._integrate_rotated(v, dim, flat[far]) for v in self.density.waves)
            error[far] *= plane_wave_bound(dim, y[far])
            # At shorter distances, Ω is replaced by a mean of cosines over all directions.
            (s, weights), near = _sphere_rule(dim), np.flatnonzero(~far)
            for begin in range(0, near.size, _ROWS):
                i = near[begin : begin + _ROWS]
                cosines = self._expected_cosines(np.multiply.outer(flat[i], s).ravel())
                out[i] = cosines.reshape(-1, s.size) @ weights
        return out.reshape(z.shape), error.reshape(z.shape)

    def _expected_cosines(self, z: FloatArray) -> FloatArray:
        """Integral of cos(w z) times the density, interpolated in tables."""
        out = np.zeros(z.size)
        for begin in range(0, z.size, _BLOCK):
            block = slice(begin, begin + _BLOCK)
            for (frequency, _, _), rows in zip(self.density.waves, self._tables, strict=True):
                for difference in (frequency + z[block], frequency - z[block]):
                    out[block] += _interpolate(rows, difference * self.start)
        return 0.5 * self.start * out

    @cached_property
    def _tables(self) -> list[ComplexArray]:
        """For each wave, exp(-iY) times the integral: Chebyshev series for Y > 0, then Y < 0."""
        s, weights, decay, fit = _table_rule()
        tables: list[ComplexArray] = []
        for v in self.density.waves:
            both_signs: list[ComplexArray] = []
            for direction in (1j, -1j):
                values = direction * weights * amplitude(v, np.reciprocal(1.0 + direction * s))
                both_signs.append((decay @ values).reshape(_PANELS, _PANEL_TERMS) @ fit.T)
            tables.append(np.concatenate(both_signs))
        return tables

    def _integrate_rotated(self, v: Wave, dim: int, z: FloatArray) -> FloatArray:
        """Integral of Ω = Re[H exp(i w z)] times a wave, for z so large that H is smooth."""
        frequency, power, _ = v
        total, power = np.zeros(z.size, dtype=complex), power + 0.5 * (dim - 1)
        for sign in (1.0, -1.0):
            phases = self.start * (frequency + sign * z)
            is_large = np.abs(phases) >= _LAGUERRE_FROM
            for selected, rule in ((is_large, _laguerre_rule), (~is_large, _log_rule)):
                indices = np.flatnonzero(selected)
                for begin in range(0, indices.size, _ROWS):
                    i = indices[begin : begin + _ROWS]
                    direction = np.where(phases[i] < 0.0, -1.0, 1.0)
                    s, weights = rule(np.abs(phases[i]), power)
                    t = 1.0 + 1j * direction[:, None] * s
                    x = self.start * z[i, None] * t
                    # exp(-i w z) has the amplitude conj(H(conj(x))).
                    factor = hankel_amplitude(dim, x if sign > 0.0 else x.conj())
                    factor = factor if sign > 0.0 else factor.conj()
                    values = np.sum(weights * amplitude(v, 1.0 / t) * factor, axis=1)
                    total[i] += 1j * direction * np.exp(1j * phases[i]) * values
        return 0.5 * self.start * total.real


def _interpolate(rows: ComplexArray, phases: FloatArray) -> FloatArray:
    """Real part of exp(iY) times Chebyshev series (Clenshaw's algorithm) at the phases Y."""
    with np.errstate(divide="ignore"):
        u = np.clip(np.log(np.abs(phases)) - _LOWEST, 0.0, _PANELS * (1.0 - EPS))
    i = u.astype(np.intp)
    x = 2.0 * (u - i) - 1.0
    i += (phases < 0.0) * _PANELS
    value, before = np.zeros((2, phases.size), dtype=complex)
    for column in rows.T[:0:-1]:
        value, before = column[i] + 2.0 * x * value - before, value
    value = rows[i, 0] + x * value - before
    return (value * np.exp(1j * phases)).real


@cache
def _table_rule() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Nodes s, weights, exp(-y s) at the points y of all panels; a matrix to Chebyshev series."""
    s, weights = _log_nodes()
    points = chebyshev.chebpts1(_PANEL_TERMS)
    y = np.exp(_LOWEST + np.arange(_PANELS)[:, None] + 0.5 * (1.0 + points)).ravel()
    fit = np.asarray(chebyshev.chebvander(points, _PANEL_TERMS - 1).T * (2.0 / _PANEL_TERMS))
    fit[0] *= 0.5
    return s, weights, np.exp(-y[:, None] * s), fit


@cache
def _log_nodes() -> tuple[FloatArray, FloatArray]:
    """Nodes s and weights of the trapezoidal rule in log s."""
    log_s = np.arange(_LOG_LOW, _LOG_HIGH, _LOG_STEP)
    return np.exp(log_s), _LOG_STEP * np.exp(log_s)


def _laguerre_rule(phases: FloatArray, _: float) -> tuple[FloatArray, FloatArray]:
    """Nodes s and weights for integrals of exp(-Y s) f(s) over s >= 0, a row for each phase Y."""
    nodes, weights = _LAGUERRE_RULE
    return nodes / phases[:, None], weights / phases[:, None]


def _log_rule(phases: FloatArray, power: float) -> tuple[FloatArray, FloatArray]:
    """As in :func:`_laguerre_rule`, by the trapezoidal rule in log s; f(s) falls like s^-power."""
    s, weights = _log_nodes()
    weights = weights.copy()
    # For Y = 0 the sum beyond the last node is a geometric series.
    weights[-1] /= -np.expm1(-_LOG_STEP * (power - 1.0))
    return np.broadcast_to(s, (phases.size, s.size)), weights * np.exp(-phases[:, None] * s)


@cache
def _sphere_rule(dim: int) -> tuple[FloatArray, FloatArray]:
    """Nodes s and weights for means over s = |u_1| with u uniform on the unit sphere of R^dim."""
    end = 0.5 * np.pi if dim == 2 else float(np.arccos(np.exp(-_LOG_LEFT_OUT / (dim - 2))))
    even = np.linspace(0.0, end, 1 + int(np.ceil(smooth_amplitude_start(dim) * end / _PANEL_PHASE)))
    edges = np.union1d(even, end * 2.0 ** -np.arange(_HALVINGS))
    angle, weights = (x.ravel() for x in panel_rule(edges[:-1], edges[1:], _PANEL_NODES))
    weights = weights * np.cos(angle) ** (dim - 2)
    return np.sin(angle), weights / weights.sum()

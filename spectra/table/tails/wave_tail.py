r"""The tail of a distribution of radii as a sum of waves: mass, quantiles and expected waves.

Beyond a radius W the density is a nonnegative :class:`~spectra.table.tails.wave_sum.WaveSum`, and
the survival function is another one.  An expected wave is an integral of exponentials,

.. math:: \int_1^\infty e^{iYt} h(t)\,dt = i e^{iY} \int_0^\infty e^{-Ys} h(1 + is)\,ds ,

evaluated on the rotated path, on which the integrand does not oscillate.  At a resonance Y is 0,
and the trapezoidal rule in log s still converges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from spectra.base.arrays import ComplexArray, FloatArray, panel_rule, reduce_to_fields
from spectra.errors import ParameterError
from spectra.table.radial.plane_wave import hankel_amplitude, wave_envelope, wave_region
from spectra.table.tails.wave_sum import Wave, WaveSum, amplitude, values_of

__all__ = ["WaveTail"]

_EPS = 2.0**-52
# Steps of Newton's method (or of bisection, if it leaves its bracket), and the phase in radians
# below which a step is the last one.
_STEPS, _LAST_STEP = 64, 1e-7
# Relative error of interpolated quantiles of the mean density.
_MEAN_ERROR = 1e-4
# Radii in one period of a wave, or at which the mean density is checked, up to this multiple of W.
_PLACES, _FAR = 257, 1e3
# Points of the table of mean quantiles, and its range: exp(-700) is near the smallest double.
_GRID, _DEEPEST = 4000, 700.0
# Gauss-Laguerre nodes are exact to rounding from this phase Y on, and the trapezoidal rule in log s
# below it.
_LAGUERRE_FROM, _LAGUERRE_NODES = 50.0, 32
_LOG_STEP, _LOG_LOW, _LOG_HIGH = 0.24, -38.0, 92.0
# For d = 1: the lowest log |Y|, the number of panels of width 1 in it, Chebyshev terms.  Beyond the
# last panel the integral is below rounding.
_LOWEST, _PANELS, _PANEL_TERMS = -80.0, 117, 18
# Panels in the angle between a direction and the equator: nodes, the largest phase in radians, how
# often they are halved towards 0, and minus log of the fraction of the sphere left out.
_PANEL_NODES, _PANEL_PHASE, _HALVINGS, _LOG_NOTHING = 12, 6.0, 40, 40.0
# Distances evaluated at one time: cosines, and waves of other dimensions.
_BLOCK, _ROWS = 1 << 17, 1 << 8


@final
@dataclass(frozen=True, eq=False)
class WaveTail:
    """A nonnegative sum of waves on [W, oo) as part of a probability density of radii.

    Examples
    --------
    >>> waves = [(0.0, 2.0, np.array([0.1 + 0j])), (9.0, 2.0, np.array([0.1 + 0j]))]
    >>> tail = WaveTail(WaveSum.of(5.0, waves))        # 0.1 (5/w)^2 (1 + cos(9 w))
    >>> bool(abs(tail.sf(tail.isf(0.01)) - 0.01) < 1e-16)
    True
    """

    density: WaveSum

    def __post_init__(self) -> None:
        radii = self.start * np.geomspace(1.0, _FAR, _PLACES)
        if not (np.all(self.density.mean(radii) > 0.0) and 0.0 < self.mass <= 1.0 + 4.0 * _EPS):
            raise ParameterError(
                "The mean density of a tail of waves must be positive and its mass at most 1; it "
                f"starts at the radius {self.start} and has mass {self.mass}."
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
        """Probability of radii above w >= start, accurate relative to itself."""
        w = np.asarray(w, dtype=float)
        out = np.zeros(w.shape)
        some = np.isfinite(w)
        out[some] = np.maximum(self._survival(w[some]), 0.0)
        return out

    @cached_property
    def _mean_grid(self) -> tuple[FloatArray, FloatArray]:
        """Minus the logarithm of the mean survival function, and the logarithms of the radii."""
        far = min(_DEEPEST / self._survival.mean.lead, _DEEPEST - np.log(self.start))
        t = np.log(self.start) + far * np.linspace(0.0, 1.0, _GRID) ** 2
        return -np.log(self._survival.mean(np.exp(t))), t

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the probability is q, for 0 <= q <= mass; infinite at q = 0."""
        q = np.asarray(q, dtype=float)
        if not np.all((q >= 0.0) & (q <= self.mass * (1.0 + 4.0 * _EPS))):
            raise ParameterError(f"A tail of mass {self.mass} was asked for more, or less than 0.")
        out = np.full(q.shape, np.inf)
        some = q > np.exp(-self._mean_grid[0][-1])
        out[some] = self._radii(q[some])
        return out

    def _radii(self, q: FloatArray) -> FloatArray:
        """Newton's method within a bracket around the quantile of the mean density."""
        w = np.exp(np.interp(-np.log(q), *self._mean_grid))
        # In a nonnegative density a wave is at most twice the mean, so that its integral moves a
        # quantile by at most 2/frequency.  Half of that more is for amplitudes that vary.
        spread = float(np.sum(3.0 / self.density.frequencies)) + _MEAN_ERROR * w
        low, high = np.maximum(w - spread, self.start), w + spread
        if self._shifts is not None:
            period, mean, shift = self._shifts
            w = w + np.interp(w, mean, shift, period=period)
        w = np.clip(w, low, high)
        fastest = float(self.density.frequencies.max(initial=1.0 / self.start))
        todo = np.arange(q.size)
        for _ in range(_STEPS):
            here, wanted = w[todo], q[todo]
            found, slope = values_of((self._survival, self.density), here)
            excess = found - wanted
            low[todo] = np.where(excess > 0.0, here, low[todo])
            high[todo] = np.where(excess > 0.0, high[todo], here)
            with np.errstate(divide="ignore", invalid="ignore"):
                after = here + excess / slope
            inside = (after >= low[todo]) & (after <= high[todo])
            after = np.where(inside, after, 0.5 * (low[todo] + high[todo]))
            w[todo] = after
            step = np.abs(after - here)
            left = (step * fastest > _LAST_STEP) & (step > 2.0 * _EPS * here)
            left &= np.abs(excess) > 2.0 * _EPS * wanted
            todo = todo[left]
            if not todo.size:
                break
        return w

    @cached_property
    def _shifts(self) -> tuple[float, FloatArray, FloatArray] | None:
        """How far waves of one period move a quantile of the mean density, over this period."""
        frequencies = self.density.frequencies
        if not frequencies.size or np.any(frequencies % frequencies[0]):
            return None
        period = 2.0 * np.pi / float(frequencies[0])
        w = 1.5 * self.start + period * np.linspace(0.0, 1.0, _PLACES)
        mean = np.exp(np.interp(-np.log(self._survival(w)), *self._mean_grid))
        return period, mean, w - mean

    def expected_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Integral of Ω_dim(w z) times the density for z >= 0, and a bound of its error."""
        z = np.asarray(z, dtype=float)
        flat, y = z.ravel(), self.start * z.ravel()
        # The absolute masses of the amplitudes of all waves.
        sizes = [np.abs(c).sum() / max(power - 1.0, 0.1) for _, power, c in self.density.waves]
        out, error = np.empty(z.size), np.full(z.size, 32.0 * _EPS * self.start * sum(sizes))
        if dim == 1:
            out = self._expected_cosines(flat)
        else:
            far = y >= wave_region(dim)
            out[far] = sum(self._integrate_rotated(v, dim, flat[far]) for v in self.density.waves)
            error[far] *= wave_envelope(dim, y[far])
            # At shorter distances, Ω is computed as the mean of cosines over all directions.
            (s, weights), near = _sphere_rule(dim), np.flatnonzero(~far)
            for begin in range(0, near.size, _ROWS):
                i = near[begin : begin + _ROWS]
                cosines = self._expected_cosines(np.multiply.outer(flat[i], s).ravel())
                out[i] = cosines.reshape(-1, s.size) @ weights
        return out.reshape(z.shape), error.reshape(z.shape)

    def _expected_cosines(self, x: FloatArray) -> FloatArray:
        """Integral of cos(w x) times the density, from one function of Y for each wave."""
        out = np.zeros(x.size)
        for begin in range(0, x.size, _BLOCK):
            part = slice(begin, begin + _BLOCK)
            for v, rows in zip(self.density.waves, self._cosine_tables, strict=True):
                for gap in (v[0] + x[part], v[0] - x[part]):
                    out[part] += _exponential_integral(rows, gap * self.start)
        return 0.5 * self.start * out

    @cached_property
    def _cosine_tables(self) -> list[ComplexArray]:
        """Chebyshev series of exp(-iY) I(Y) in log |Y|, for Y > 0 and then for Y < 0."""
        s, weights, decay, fit = _table_rule()
        found: list[ComplexArray] = []
        for v in self.density.waves:
            both: list[ComplexArray] = []
            for path in (1j, -1j):
                values = path * weights * amplitude(v, np.reciprocal(1.0 + path * s))
                both.append((decay @ values).reshape(_PANELS, _PANEL_TERMS) @ fit.T)
            found.append(np.concatenate(both))
        return found

    def _integrate_rotated(self, v: Wave, dim: int, z: FloatArray) -> FloatArray:
        """Integral of Ω = Re[H exp(i w z)] times a wave, for z so large that H is smooth."""
        total, power = np.zeros(z.size, dtype=complex), v[1] + 0.5 * (dim - 1)
        for sign in (1.0, -1.0):
            phases = self.start * (v[0] + sign * z)
            fast = np.abs(phases) >= _LAGUERRE_FROM
            for some, rule in ((fast, _laguerre_rule), (~fast, _log_rule)):
                where = np.flatnonzero(some)
                for begin in range(0, where.size, _ROWS):
                    i = where[begin : begin + _ROWS]
                    way = np.where(phases[i] < 0.0, -1.0, 1.0)
                    s, weights = rule(np.abs(phases[i]), power)
                    t = 1.0 + 1j * way[:, None] * s
                    x = self.start * z[i, None] * t
                    # exp(-i w z) has the amplitude conj(H(conj(x))).
                    wave = hankel_amplitude(dim, x if sign > 0.0 else x.conj())
                    wave = wave if sign > 0.0 else wave.conj()
                    values = np.sum(weights * amplitude(v, 1.0 / t) * wave, axis=1)
                    total[i] += 1j * way * np.exp(1j * phases[i]) * values
        return np.asarray(0.5 * self.start * total.real)


def _exponential_integral(rows: ComplexArray, phases: FloatArray) -> FloatArray:
    """Real part of the integral of exp(i phases t) t^-a c(1/t) over t >= 1."""
    with np.errstate(divide="ignore"):
        at = np.clip(np.log(np.abs(phases)) - _LOWEST, 0.0, _PANELS * (1.0 - _EPS))
    i = at.astype(np.intp)
    t = 2.0 * (at - i) - 1.0
    i += (phases < 0.0) * _PANELS
    value, before = np.zeros((2, phases.size), dtype=complex)
    for column in rows.T[:0:-1]:
        value, before = column[i] + 2.0 * t * value - before, value
    value = rows[i, 0] + t * value - before
    return np.asarray((value * np.exp(1j * phases)).real)


@cache
def _table_rule() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Nodes s, weights, exp(-y s) at the nodes y of all panels, and their Chebyshev analysis."""
    s, weights = _log_nodes()
    nodes = chebyshev.chebpts1(_PANEL_TERMS)
    y = np.exp(_LOWEST + np.arange(_PANELS)[:, None] + 0.5 * (1.0 + nodes)).ravel()
    fit = np.asarray(chebyshev.chebvander(nodes, _PANEL_TERMS - 1).T * (2.0 / _PANEL_TERMS))
    fit[0] *= 0.5
    return s, weights, np.exp(-y[:, None] * s), fit


@cache
def _log_nodes() -> tuple[FloatArray, FloatArray]:
    u = np.arange(_LOG_LOW, _LOG_HIGH, _LOG_STEP)
    return np.exp(u), _LOG_STEP * np.exp(u)


_laguerre = cache(np.polynomial.laguerre.laggauss)


def _laguerre_rule(phases: FloatArray, _: float) -> tuple[FloatArray, FloatArray]:
    """Nodes s and weights for integrals of exp(-phases s) f(s), one row for each of the phases."""
    nodes, weights = _laguerre(_LAGUERRE_NODES)
    return nodes / phases[:, None], weights / phases[:, None]


def _log_rule(phases: FloatArray, power: float) -> tuple[FloatArray, FloatArray]:
    """The same by the trapezoidal rule in log s, for f(s) that decreases like s^-power."""
    s, weights = _log_nodes()
    weights = weights.copy()
    # At a resonance f decreases as a power of s, and the rest of the sum is a geometric series.
    weights[-1] /= -np.expm1(-_LOG_STEP * (power - 1.0))
    return np.broadcast_to(s, (phases.size, s.size)), weights * np.exp(-phases[:, None] * s)


@cache
def _sphere_rule(dim: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for means over one coordinate s >= 0 of a uniform direction."""
    end = 0.5 * np.pi if dim == 2 else float(np.arccos(np.exp(-_LOG_NOTHING / (dim - 2))))
    even = np.linspace(0.0, end, 1 + int(np.ceil(wave_region(dim) * end / _PANEL_PHASE)))
    edges = np.union1d(even, end * 2.0 ** -np.arange(_HALVINGS))
    angle, weights = (x.ravel() for x in panel_rule(edges[:-1], edges[1:], _PANEL_NODES))
    weights = weights * np.cos(angle) ** (dim - 2)
    return np.sin(angle), weights / weights.sum()

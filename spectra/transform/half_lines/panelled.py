"""A radial density that is known by its values, as a component of equal cost at every radius.

The values are kept as Legendre series on panels of the logarithm of the radius, each times a power
of w, between an exact power law towards the origin and an asymptotic series (or nothing) beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from spectra.density import Component, Tail
from spectra.numeric import FloatArray
from spectra.quadrature import ANALYSIS, EPS, NODES, ORDER
from spectra.transform.rays.sampled import Sampled

__all__ = ["Ending", "Panel", "Panelled", "bulk_of", "fit_panel", "panel_through"]

# The last coefficients of a resolved panel stay below this share of its largest value.
RESOLVED = 1e-14
# Noise of size e at the nodes leaves up to about 4e in a single coefficient.
_NOISE = 4.0
# A panel on which the values keep this share of their size has its absolute value for envelope.
_STEADY = 0.05
_ROUNDING = 8.0
# Points on a panel through which a density passes zero, and on one where it keeps its size: a panel
# has twenty Legendre nodes, and so fewer zeros than that (chosen).
_ROUGH_POINTS, _STEADY_POINTS = 12, 4
# Values with errors above this share are looked at again on panels down to this width.
_CLEAN = 2e-13
_NARROW = 0.3
# Errors of so much of the values somewhere on a panel, and of so much less elsewhere.
_LOST, _UNEVEN = 1e-9, 1e-2
# The share of the mass on either side that is outside of the bulk.
_OUTSIDE = 0.01


class Ending(Protocol):
    """How a density goes on beyond its last panel."""

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|."""
        ...

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to |rho|."""
        ...


@dataclass(frozen=True, eq=False)
class Panel:
    """exp(level + slope x) times a Legendre series in s, x = log w; s runs over the panel.

    Attributes
    ----------
    low, high : float
        Ends, in log w.
    linear : bool
        Whether s is linear in w instead of log w: for the panel next to the origin, whose lower
        end stands for w = 0.
    level, slope : float
        The power of w that is taken out.
    series : ndarray
        Legendre coefficients.
    error : float
        Bound of the error of the series.
    top : float
        Largest absolute value of the series.
    steady : bool
        Whether the density keeps its sign and size there.
    """

    low: float
    high: float
    linear: bool
    level: float
    slope: float
    series: FloatArray
    error: float
    top: float
    steady: bool

    @property
    def radii(self) -> FloatArray:
        """The nodes of a panel of log w."""
        return np.asarray(np.exp(self.low + 0.5 * (self.high - self.low) * (1.0 + NODES)))

    @property
    def height(self) -> float:
        """The largest log(w |rho|), about."""
        ends = [self.level + (self.slope + 1.0) * x for x in (self.low, self.high)]
        return max(ends) + float(np.log(self.top))

    def values(self, s: FloatArray) -> FloatArray:
        """The series, from -1 to 1."""
        return np.asarray(legendre.legval(s, self.series))

    def power_law(self, exponent: float, *, with_log: bool) -> tuple[float, float, float]:
        """Share of a logarithm at the lower end, how far it is from the power law, and noise."""
        s = np.array([-1.0, 0.0, 1.0])
        x = self.low + 0.5 * (self.high - self.low) * (1.0 + s)
        ratio = self.values(s) * np.exp((self.slope - exponent) * (x - self.low))
        ratio = ratio / ratio[0]
        noise = self.error / self.top
        if not with_log:
            return 0.0, float(np.abs(ratio - 1.0).max()), noise
        share = float(ratio[2] - 1.0) / (self.high - self.low)
        bend = abs(float(ratio[1]) - 1.0 - share * float(x[1] - x[0]))
        return share, 4.0 * bend, noise


def bulk_of(panels: Sequence[Panel], least: float) -> tuple[float, float]:
    """Radii between which all but a hundredth of the mass on either side lies, and which are
    ``least`` apart in log w."""
    nodes, weights = legendre.leggauss(12)
    radii, masses = [], []
    for panel in panels:
        x = panel.low + 0.5 * (panel.high - panel.low) * (1.0 + nodes)
        s = 2.0 * np.exp(x - panel.high) - 1.0 if panel.linear else nodes
        size = np.abs(panel.values(s)) * np.exp(panel.level + (panel.slope + 1.0) * x)
        radii.append(x)
        masses.append(size * weights * 0.5 * (panel.high - panel.low))
    x, share = np.concatenate(radii), np.cumsum(np.concatenate(masses))
    share /= share[-1]
    low = x[np.searchsorted(share, _OUTSIDE)]
    high = x[min(int(np.searchsorted(share, 1.0 - _OUTSIDE)), x.size - 1)]
    return float(np.exp(low)), float(np.exp(max(high, low + least)))


def _short(x: float) -> float:
    return float(np.round(8.0 * x) / 8.0)


def _slope(x: FloatArray, log_size: FloatArray) -> float:
    """The power of w that makes both ends of a panel alike."""
    third = ORDER // 3
    rise = float(log_size[-third:].max() - log_size[:third].max())
    return rise / float(x[-third:].mean() - x[:third].mean())


def fit_panel(
    low: float,
    high: float,
    sample: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    *,
    power: float | None = None,
) -> tuple[Panel, bool]:
    """Fit the values of ``sample`` on a panel of log w, and say whether the series resolves them.

    Parameters
    ----------
    low, high : float
        Ends in log w.
    sample : callable
        Values of rho and bounds of their errors at radii w.
    power : float, optional
        For the panel next to the origin: rho is w**power times a function that is smooth in w.
    """
    if power is None:
        w = np.exp(low + 0.5 * (high - low) * (1.0 + NODES))
    else:
        w = np.exp(high) * 0.5 * (1.0 + NODES)
    value, error = sample(w)
    size = np.abs(value) + error
    return panel_through(low, high, Sampled(value / size, error / size, np.log(size)), power=power)


def panel_through(
    low: float, high: float, sampled: Sampled, *, power: float | None = None
) -> tuple[Panel, bool]:
    """The panel through values at its nodes, and whether the series resolves them."""
    linear = power is not None
    # What is taken out is made of short numbers, so that it is taken out exactly.
    if linear:
        base, t = high, np.log(0.5 * (1.0 + NODES))
    else:
        base, t = low, 0.5 * (high - low) * (1.0 + NODES)
    slope = power
    if slope is None:
        slope = _slope(t, sampled.log)
        share = sampled.wrong
        if share.max() > _LOST and share.min() < share.max() * _UNEVEN:
            # One end is noise: a power would carry its error to the other one.
            slope = _slope(t, sampled.log + np.log(share))
        slope = _short(slope)
    logs = sampled.log - slope * base
    level = _short(float((logs - slope * t).max()))
    front = np.exp((logs - level) - slope * t)
    scaled, wrong = sampled.value * front, sampled.wrong * front
    series = ANALYSIS @ scaled
    left_out = float(np.abs(series[-3:]).max())
    noise = float(wrong.max())
    top = float(np.abs(scaled).max())
    # Where values are noisy, narrower panels may find less of it; the narrow ones show what is.
    blurred = noise > _CLEAN * top and high - low > _NARROW
    resolved = left_out <= max(RESOLVED * top, _NOISE * noise) and not (blurred and not linear)
    least = float((np.abs(scaled) - wrong).min())
    steady = bool(np.all(np.sign(scaled) == np.sign(scaled[0])) and least > _STEADY * top)
    # Interpolation in twenty Legendre nodes multiplies noise by 3.2 at most.
    bound = _NOISE * noise + ORDER * left_out + _ROUNDING * EPS * top
    return Panel(low, high, linear, level, slope, series, bound, top, steady), resolved


@dataclass(frozen=True, eq=False)
class Panelled(Component):
    """A component made of panels, a power law below them, and an ending beyond.

    Attributes
    ----------
    panels : tuple of Panel
        Consecutive panels, ascending.
    origin_log_share : float
        Below the panels the density is w**origin_exponent (1 + share log(w/w_0)) times its value
        at their lower end w_0; 0 but for kernels that decay like z**-d.
    origin_error : float
        Bound of the relative error of that.
    ending : Ending
        Beyond the panels.
    """

    panels: tuple[Panel, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    tail: Tail
    ending: Ending
    origin_log_share: float = 0.0
    origin_error: float = 0.0
    _edges: FloatArray = field(init=False, repr=False)
    _linear: NDArray[np.bool_] = field(init=False, repr=False)
    _level: FloatArray = field(init=False, repr=False)
    _slope: FloatArray = field(init=False, repr=False)
    _series: FloatArray = field(init=False, repr=False)
    _derivative: FloatArray = field(init=False, repr=False)
    _error: FloatArray = field(init=False, repr=False)
    _top: FloatArray = field(init=False, repr=False)
    _steady: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = {
            "_edges": [p.low for p in self.panels] + [self.panels[-1].high],
            "_linear": [p.linear for p in self.panels],
            "_level": [p.level for p in self.panels],
            "_slope": [p.slope for p in self.panels],
            "_series": [p.series for p in self.panels],
            "_error": [p.error for p in self.panels],
            "_top": [p.top for p in self.panels],
            "_steady": [p.steady for p in self.panels],
        }
        for name, column in columns.items():
            object.__setattr__(self, name, np.array(column))
        object.__setattr__(self, "_derivative", legendre.legder(self._series, axis=1))

    def _on_panel(self, i: NDArray[np.intp], x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The place on the panel, from -1 to 1, and its derivative by x."""
        low, high = self._edges[i], self._edges[i + 1]
        near_zero = 2.0 * np.exp(np.minimum(x - high, 0.0))
        s = np.where(self._linear[i], near_zero - 1.0, 2.0 * (x - low) / (high - low) - 1.0)
        return s, np.where(self._linear[i], near_zero, 2.0 / (high - low))

    def _series_at(self, i: NDArray[np.intp], x: FloatArray) -> FloatArray:
        s, _ = self._on_panel(i, x)
        return np.asarray(np.einsum("nj,nj->n", legendre.legvander(s, ORDER - 1), self._series[i]))

    def _steepness(self, i: NDArray[np.intp], x: FloatArray) -> FloatArray:
        """The absolute value of the derivative of the series by x."""
        s, ds = self._on_panel(i, x)
        powers = legendre.legvander(s, ORDER - 2)
        return np.asarray(np.abs(np.einsum("nj,nj->n", powers, self._derivative[i])) * ds)

    def _located(self, w: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
        """log w, and the panel of each radius: -1 below the first, their number beyond the last."""
        x = np.log(w)
        i = np.searchsorted(self._edges, x, side="right") - 1
        if self._linear[0]:
            i = np.maximum(i, 0)
        return x, np.asarray(i)

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        w = np.asarray(w, dtype=float)
        shape, w = w.shape, w.ravel()
        x, i = self._located(w)
        sign, log = np.empty_like(x), np.empty_like(x)
        inside = (i >= 0) & (i < len(self.panels))
        at = i[inside]
        value = self._series_at(at, x[inside])
        sign[inside] = np.sign(value)
        with np.errstate(divide="ignore"):
            log[inside] = np.log(np.abs(value)) + self._level[at] + self._slope[at] * x[inside]
        below, beyond = i < 0, i >= len(self.panels)
        sign[below], log[below] = self._below(x[below])
        if np.any(beyond):
            sign[beyond], log[beyond] = self.ending.signed_log(w[beyond])
        return sign.reshape(shape), log.reshape(shape)

    def _below(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        start = self._edges[:1]
        value = self._series_at(np.zeros(1, dtype=np.intp), start)[0]
        log = np.log(np.abs(value)) + self._level[0] + self._slope[0] * start[0]
        factor = 1.0 + self.origin_log_share * (x - start[0])
        rise = self.origin_exponent * (x - start[0]) + np.log(factor)
        return np.full_like(x, np.sign(value)), log + rise

    def telling_radii(self) -> FloatArray:
        """A few on every panel."""
        counts = np.where(self._steady, _STEADY_POINTS, _ROUGH_POINTS)
        each = [
            np.linspace(p.low, p.high, count, endpoint=False)
            for p, count in zip(self.panels, counts, strict=True)
        ]
        return np.exp(np.concatenate(each))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the largest value nearby where the density passes through zero."""
        w = np.asarray(w, dtype=float)
        log = self.signed_log(w)[1]
        flat = log.reshape(-1)
        x, i = self._located(w.ravel())
        inside = np.flatnonzero((i >= 0) & (i < len(self.panels)))
        rough = inside[~self._steady[i[inside]]]
        at = i[rough]
        flat[rough] = np.log(self._top[at]) + self._level[at] + self._slope[at] * x[rough]
        return flat.reshape(w.shape)

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the logarithm."""
        w = np.asarray(w, dtype=float)
        shape, w = w.shape, w.ravel()
        x, i = self._located(w)
        bound = np.empty_like(x)
        inside = (i >= 0) & (i < len(self.panels))
        at = i[inside]
        envelope = self.log_envelope(w[inside])
        share = np.exp(self._level[at] + self._slope[at] * x[inside] - envelope)
        sizes = np.abs(self._level[at]) + 2.0 * np.abs(self._slope[at] * x[inside])
        # Where waves turn fast in log w, its rounding is seen in the series too.
        turned = EPS * np.abs(x[inside]) * self._steepness(at, x[inside])
        bound[inside] = (self._error[at] + turned) * share
        bound[inside] += EPS * (sizes + np.abs(envelope) + _ROUNDING)
        below, beyond = i < 0, i >= len(self.panels)
        if np.any(below):
            first = self.relative_error(np.exp(self._edges[:1] + 1e-12))[0]
            far = np.abs(self.origin_exponent * (x[below] - self._edges[0]))
            bound[below] = first + self.origin_error + 4.0 * EPS * far
        if np.any(beyond):
            bound[beyond] = self.ending.relative_error(w[beyond])
        return bound.reshape(shape)

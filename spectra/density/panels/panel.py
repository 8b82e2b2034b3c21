"""A panel of a density: a power of the radius times a Chebyshev series, through its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, legendre
from numpy.typing import NDArray
from scipy.fft import dct

from spectra.base.enclosures import ANALYSIS, EPS, NODES, ORDER
from spectra.base.numbers import FloatArray
from spectra.density.half_line.sums.sampled import Sampled

__all__ = [
    "ROUNDING",
    "Panel",
    "bisected",
    "bulk_of",
    "chebyshev_coefficients",
    "checked_panel",
    "middle_of",
    "panel_through",
    "places",
    "short",
    "slope_between",
]

# The last coefficients of a resolved panel stay below this share of its largest value.
RESOLVED = 1e-14
# Noise of size e at the nodes leaves up to about 4e in a single coefficient.
_NOISE = 4.0
# A panel on which the values keep this share of their size has its absolute value for envelope.
_STEADY = 0.05
ROUNDING = 8.0
# Values with errors above this share are looked at again on panels down to this width.
_CLEAN = 2e-13
_NARROW = 0.3
# Errors of so much of the values somewhere on a panel, and of so much less elsewhere; where they
# begin abruptly no power has them, and narrower panels have their values alone.
_LOST, _UNEVEN, _ABRUPT = 1e-9, 1e-2, 1.0 / 128.0
# The share of the mass on either side that is outside of the bulk.
_OUTSIDE = 0.01


# Points off the nodes where a fit is looked at, and those where its size is.
_CHECKS = np.array([-0.983, 0.041, 0.871])
_DENSE = np.linspace(-1.0, 1.0, 257)


def chebyshev_coefficients(values: NDArray[Any]) -> NDArray[Any]:
    """Chebyshev coefficients from the values at the ascending nodes ``chebpts1(len(values))``."""
    c = np.asarray(dct(values[::-1], type=2)) / len(values)
    c[0] *= 0.5
    return c


# Legendre coefficients -> Chebyshev coefficients.
_TO_CHEBYSHEV = np.array(
    [
        chebyshev_coefficients(values)
        for values in legendre.legvander(chebyshev.chebpts1(ORDER), ORDER - 1).T
    ]
).T


@dataclass(frozen=True, eq=False)
class Panel:
    """exp(level + slope x) times a Chebyshev series in s, x = log w; s runs over the panel.

    Attributes
    ----------
    low, high : float
        Ends, in log w.
    begin : float or None
        The radius at which s = -1 where s is linear in w: 0 for the panel next to the origin, whose
        lower end stands for that.  None where s is linear in log w.
    level, slope : float
        The power of w that is taken out.
    series : ndarray
        Chebyshev coefficients.
    error : float
        Bound of the error of the series.
    top : float
        Largest absolute value of the series.
    steady : bool
        Whether the density keeps its sign and size there.
    """

    low: float
    high: float
    begin: float | None
    level: float
    slope: float
    series: FloatArray
    error: float
    top: float
    steady: bool

    @property
    def middle(self) -> tuple[float, float]:
        """Middle and half of the width, in w or in log w."""
        if self.begin is not None:
            return middle_of(self.begin, self.high)
        return 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)

    @property
    def radii(self) -> FloatArray:
        """The nodes of a panel of log w."""
        return np.asarray(np.exp(self.low + 0.5 * (self.high - self.low) * (1.0 + NODES)))

    @property
    def height(self) -> float:
        """The largest log(w |rho|), about."""
        return max(self.height_at(self.low), self.height_at(self.high))

    def height_at(self, x: float) -> float:
        """log(w |rho|) near log w = x, where the series is largest."""
        return self.level + (self.slope + 1.0) * x + float(np.log(self.top))

    def values(self, s: FloatArray) -> FloatArray:
        """The series, from -1 to 1."""
        return np.asarray(chebyshev.chebval(s, self.series))

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


def middle_of(begin: float, high: float) -> tuple[float, float]:
    """Middle and half of the width of a panel linear in w, from a radius and log w at its ends."""
    end = float(np.exp(high))
    return 0.5 * (begin + end), 0.5 * (end - begin)


def _is_steady(values: FloatArray, wrong: FloatArray | float = 0.0) -> bool:
    """Whether values on a panel keep their sign and size."""
    least = float((np.abs(values) - wrong).min())
    return bool(
        np.all(np.sign(values) == np.sign(values[0])) and least > _STEADY * np.abs(values).max()
    )


def bulk_of(panels: Sequence[Panel], least: float) -> tuple[float, float]:
    """Radii between which all but a hundredth of the mass on either side lies, and which are
    ``least`` apart in log w."""
    nodes, weights = legendre.leggauss(12)
    radii, masses = [], []
    for panel in panels:
        x = panel.low + 0.5 * (panel.high - panel.low) * (1.0 + nodes)
        middle, half = panel.middle
        s = nodes if panel.begin is None else (np.exp(x) - middle) / half
        size = np.abs(panel.values(s)) * np.exp(panel.level + (panel.slope + 1.0) * x)
        radii.append(x)
        masses.append(size * weights * 0.5 * (panel.high - panel.low))
    x, share = np.concatenate(radii), np.cumsum(np.concatenate(masses))
    share /= share[-1]
    low = x[np.searchsorted(share, _OUTSIDE)]
    high = x[min(int(np.searchsorted(share, 1.0 - _OUTSIDE)), x.size - 1)]
    return float(np.exp(low)), float(np.exp(max(high, low + least)))


def short(x: float) -> float:
    """A multiple of 1/8: what is taken out as a power is taken out exactly."""
    return float(np.round(8.0 * x) / 8.0)


def slope_between(x: FloatArray, log_size: FloatArray) -> float:
    """The power of w that makes both ends of a panel alike."""
    third = x.size // 3
    rise = float(log_size[-third:].max() - log_size[:third].max())
    return rise / float(x[-third:].mean() - x[:third].mean())


def panel_through(
    low: float, high: float, sampled: Sampled, *, power: float | None = None
) -> tuple[Panel, bool]:
    """The panel through values at its nodes, and whether the series resolves them.

    Parameters
    ----------
    low, high : float
        Ends in log w.
    sampled : Sampled
        Values at the nodes.
    power : float, optional
        For the panel next to the origin: rho is w**power times a function that is smooth in w.
    """
    if power is not None:
        return _panel(low, high, sampled, power, linear=True)
    t = 0.5 * (high - low) * (1.0 + NODES)
    slopes, share = [slope_between(t, sampled.log)], sampled.wrong
    if share.max() > _LOST and share.min() < share.max() * _UNEVEN:
        # One end is noise: a power would carry its error to the other one.
        noisy = slope_between(t, sampled.log + np.log(share))
        slopes = [noisy, *slopes] if high - low < _ABRUPT else [noisy]
    tried = [_panel(low, high, sampled, short(slope), linear=False) for slope in slopes]
    return next((found for found in tried if found[1]), tried[0])


def _panel(
    low: float, high: float, sampled: Sampled, slope: float, *, linear: bool
) -> tuple[Panel, bool]:
    """The panel without a power, and whether its series resolves the values."""
    # What is taken out is made of short numbers, so that it is taken out exactly.
    if linear:
        base, t = high, np.log(0.5 * (1.0 + NODES))
    else:
        base, t = low, 0.5 * (high - low) * (1.0 + NODES)
    logs = sampled.log - slope * base
    level = short(float((logs - slope * t).max()))
    front = np.exp((logs - level) - slope * t)
    scaled, wrong = sampled.value * front, sampled.wrong * front
    legendre_series = ANALYSIS @ scaled
    left_out = float(np.abs(legendre_series[-3:]).max())
    noise = float(wrong.max())
    top = float(np.abs(scaled).max())
    # Where values are noisy, narrower panels may find less of it; the narrow ones show what is.
    blurred = noise > _CLEAN * top and high - low > _NARROW
    resolved = left_out <= max(RESOLVED * top, _NOISE * noise) and not (blurred and not linear)
    # Interpolation in twenty Legendre nodes multiplies noise by 3.2 at most.
    bound = _NOISE * noise + ORDER * left_out + ROUNDING * EPS * top
    begin = 0.0 if linear else None
    series = _TO_CHEBYSHEV @ legendre_series
    bound += _turned(begin, series)
    return Panel(
        low, high, begin, level, slope, series, bound, top, _is_steady(scaled, wrong)
    ), resolved


def bisected(
    edges: Sequence[float],
    fit: Callable[[float, float], Panel | None],
    middle: Callable[[float, float], float],
) -> tuple[Panel, ...]:
    """Panels between ascending edges, each cut at its middle until there is a fit."""
    waiting = [*pairwise(edges)][::-1]
    panels: list[Panel] = []
    while waiting:
        low, high = waiting.pop()
        panel = fit(low, high)
        if panel is None:
            cut = middle(low, high)
            waiting += [(cut, high), (low, cut)]
        else:
            panels.append(panel)
    return tuple(panels)


def places(degree: int) -> FloatArray:
    """Chebyshev's nodes for a degree, and points off them where a fit is looked at."""
    return np.concatenate([chebyshev.chebpts1(degree + 1), _CHECKS])


def _turned(begin: float | None, series: FloatArray) -> float:
    """What the rounding of the place on a panel linear in w makes of its series."""
    if begin is None:
        return 0.0
    return 2.0 * EPS * float(np.abs(chebyshev.chebval(_DENSE, chebyshev.chebder(series))).max())


def checked_panel(
    low: float,
    high: float,
    begin: float | None,
    power: tuple[float, float],
    values: FloatArray,
    noise: float = 0.0,
) -> tuple[Panel, float]:
    """The panel through values at :func:`places`, and what its series leaves out.

    Parameters
    ----------
    low, high, begin : float
        As in :class:`Panel`.
    power : tuple of float
        Level and slope of what was taken out of the values.
    values : ndarray
        The values without it.
    noise : float
        How far the errors of the values move the series.
    """
    degree = values.size - _CHECKS.size - 1
    at = places(degree)
    series = chebyshev_coefficients(values[: degree + 1])
    left_out = float(np.abs(series[-3:]).max())
    miss = float(np.abs(chebyshev.chebval(at, series) - values).max())
    rounding = 4.0 * EPS * float(np.abs(series).sum())
    dense = chebyshev.chebval(_DENSE, series)
    # Between the points it may be larger.
    top = float(np.abs(dense).max()) * (1.0 + 1e-3)
    error = 2.0 * miss + 4.0 * left_out + noise + rounding + _turned(begin, series)
    return Panel(low, high, begin, *power, series, error, top, _is_steady(dense)), left_out

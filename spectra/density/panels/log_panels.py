"""Densities as Chebyshev series on panels, and as sums of powers below and beyond them.

A panel is an interval of log w.  On it ``w rho(w)`` is ``exp(level + slope t)`` times a Chebyshev
series in ``t = log(w / centre)``, where ``centre`` is the radius in its middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.fft import dct

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component, Evaluation, Radial
from spectra.density.panels.oscillating_tail import OscillatingTail
from spectra.errors import AccuracyError

__all__ = ["DEGREE", "PanelDensity", "Panels", "Powers", "chebyshev_coefficients", "fit_panels"]

#: (centre, offsets) -> (values, errors, log_factor): w rho at w = centre * exp(offsets) is
#: exp(log_factor) * values, with absolute errors up to exp(log_factor) * errors.
Sample = Callable[[float, FloatArray], tuple[FloatArray, FloatArray, float]]

# The degree of the series on a panel.
DEGREE = 32
# Points of [-1, 1]: those between the nodes where a fit is checked, and those where the size of a
# series is measured.
_CHECKS = np.array([-0.983, 0.041, 0.871])
_DENSE = np.linspace(-1.0, 1.0, 129)
# A series is resolved if its last coefficients are below this share of its largest value, or below
# this multiple of the errors of the values.
_RESOLVED, _NOISE = 4e-16, 3.0
# A slope is used if errors, times exp(-slope t), stay below this share of the largest value.
_CLEAN = 1e-13
# Values below this share of the largest on all panels are not resolved.
_NEGLIGIBLE = 1e-17
# The least half-width of a panel: no density of the package needs narrower ones.
_NARROWEST = 1e-4
# A panel is steady if its series has one sign and stays above this share of its largest value.
_STEADY = 0.05
# Rounding of the last operations, in units of EPS.
_ROUNDING = 8.0
# Numbers of radii that ``radii_to_resolve`` gives on a steady panel, and on any other.
_FEW, _MANY = 4, 12
# The bulk leaves out this share of the mass on either side.
_OUTSIDE = 0.01


def chebyshev_coefficients(values: NDArray[Any]) -> NDArray[Any]:
    """Chebyshev coefficients from the values at the ascending nodes ``chebpts1(len(values))``."""
    coefficients = np.asarray(dct(values[::-1], type=2)) / len(values)
    coefficients[0] *= 0.5
    return coefficients


@dataclass(frozen=True, eq=False)
class Powers(Radial):
    """The sum of coefficient * exp(log_size) * (w / scale)**exponent over a few exponents.

    The *size* of a term is its absolute value, where coefficients between -1 and 1 count as 1.  The
    size of the last term estimates the error of truncating the sum.

    Attributes
    ----------
    exponents, coefficients, log_sizes, relative_errors : ndarray
        One entry per term, the leading term first.  A column of several coefficients is an
        ascending polynomial in log(w / scale).
    scale : float
        The terms are powers of w / scale.
    start : float
        Of a tail, the log w beyond which the sum is accurate, or inf if this is not known.
    """

    exponents: FloatArray
    coefficients: FloatArray
    log_sizes: FloatArray
    relative_errors: FloatArray
    scale: float = 1.0
    start: float = -np.inf

    @classmethod
    def vanishing(cls, radius: float, log_size: float) -> Powers:
        """The density 0 with the error bound exp(log_size) * (w / radius)**-6."""
        return cls(np.array([-6.0]), np.zeros(1), np.array([log_size]), np.ones(1), radius)

    def add_error(self, log_size: float, log_w: float) -> Powers:
        """Add an error to the sum: exp(log_size) at log_w, and falling like the first term / w."""
        exponent = self.exponents[0] - 1.0
        shift = exponent * (log_w - float(np.log(self.scale)))
        rows = np.atleast_2d(self.coefficients)
        return replace(
            self,
            exponents=np.append(self.exponents, exponent),
            coefficients=np.hstack([rows, np.zeros((len(rows), 1))]),
            log_sizes=np.append(self.log_sizes, log_size - shift),
            relative_errors=np.append(self.relative_errors, 0.0),
        )

    def _scale_terms(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Terms and their sizes, both divided by the largest size, and the logarithm of that."""
        log_w = np.log(w / self.scale)
        factors = np.polynomial.polynomial.polyval(log_w, np.atleast_2d(self.coefficients))
        magnitude = np.maximum(np.abs(factors), 1.0)
        powers = np.multiply.outer(self.exponents, log_w)
        logs = self.log_sizes[:, None] + powers + np.log(magnitude)
        top = logs.max(axis=0)
        sizes = np.exp(logs - top)
        return factors / magnitude * sizes, sizes, top

    def error_before_rounding(self, w: FloatArray) -> FloatArray:
        """Errors of the terms and of truncating the sum, relative to the largest term."""
        _, sizes, _ = self._scale_terms(w)
        return np.asarray(self.relative_errors @ sizes + sizes[-1])

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The sum at radii; its local size is the largest term."""
        flat = w.ravel()
        terms, sizes, top = self._scale_terms(flat)
        total = terms.sum(axis=0)
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(total)) + top
        # Rounding of log(w / scale), multiplied by the exponents.
        spread = (np.abs(self.exponents) @ sizes) * np.abs(np.log(flat / self.scale))
        rounding = EPS * (_ROUNDING + np.abs(top) + spread)
        error = self.relative_errors @ sizes + sizes[-1] + rounding
        sign, log, top, error = (x.reshape(w.shape) for x in (np.sign(total), log, top, error))
        return sign, log, top, error


@dataclass(frozen=True, eq=False)
class Panels(Radial):
    """A density on adjacent panels of log w.

    Attributes
    ----------
    centre, half_width : ndarray
        The radius in the middle of each panel, and half of its width in log w.
    level, slope : ndarray
        w rho is exp(level + slope t) times the series in t / half_width, t = log(w / centre).
    series : ndarray of shape (panels, terms)
        Chebyshev coefficients.
    error : ndarray
        Estimated absolute error of each series.
    """

    centre: FloatArray
    half_width: FloatArray
    level: FloatArray
    slope: FloatArray
    series: FloatArray
    error: FloatArray

    @property
    def low(self) -> FloatArray:
        """The lower end of each panel in log w."""
        return np.asarray(np.log(self.centre) - self.half_width)

    @property
    def high(self) -> FloatArray:
        """The upper end of each panel in log w."""
        return np.asarray(np.log(self.centre) + self.half_width)

    @cached_property
    def _dense_values(self) -> FloatArray:
        return np.asarray(chebyshev.chebval(_DENSE, self.series.T))

    @cached_property
    def top(self) -> FloatArray:
        """The largest absolute value of each series."""
        return np.asarray(np.abs(self._dense_values).max(axis=1) * (1.0 + 1e-3))

    @cached_property
    def steady(self) -> NDArray[np.bool_]:
        """Whether each series has one sign and varies by less than a factor of 20."""
        least = np.abs(self._dense_values).min(axis=1)
        one_sign = np.abs(np.sign(self._dense_values).sum(axis=1)) == _DENSE.size
        return np.asarray(one_sign & (least > _STEADY * self.top))

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The density; its local size is |rho| on steady panels, else the largest |series|."""
        log_w = np.log(w)
        i = np.searchsorted(self.low, log_w, side="right") - 1
        i = np.clip(i, 0, self.centre.size - 1)
        t = np.log(w / self.centre[i])
        value = chebyshev.chebval(t / self.half_width[i], self.series[i].T, tensor=False)
        factor = self.level[i] + self.slope[i] * t - log_w
        size = np.where(self.steady[i], np.abs(value), self.top[i])
        with np.errstate(divide="ignore"):
            log, envelope = np.log(np.abs(value)) + factor, np.log(size) + factor
        rounding = EPS * (_ROUNDING + np.abs(factor) + np.abs(envelope) + np.abs(log_w))
        error = self.error[i] * np.exp(factor - envelope) + rounding
        return np.sign(value), log, envelope, error

    def radii_to_resolve(self) -> FloatArray:
        """A few radii on each panel, more if the density varies on it; see :class:`Component`."""
        counts = np.where(self.steady, _FEW, _MANY)
        each = [
            c * np.exp(h * np.linspace(-1.0, 1.0, n, endpoint=False))
            for c, h, n in zip(self.centre, self.half_width, counts, strict=True)
        ]
        return np.concatenate(each)

    def bulk(self) -> tuple[float, float]:
        """The radii below and above which one hundredth of the absolute mass lies."""
        t = 0.5 * (_DENSE[1:] + _DENSE[:-1])[None, :] * self.half_width[:, None]
        values = 0.5 * (self._dense_values[:, 1:] + self._dense_values[:, :-1])
        top = (self.level + np.abs(self.slope) * self.half_width).max()
        factor = np.exp(self.level[:, None] + self.slope[:, None] * t - top)
        mass = np.cumsum(np.abs(values) * self.half_width[:, None] * factor)
        radii = (self.centre[:, None] * np.exp(t)).ravel()
        low, high = np.searchsorted(mass, np.array([_OUTSIDE, 1.0 - _OUTSIDE]) * mass[-1])
        return float(radii[low]), float(radii[min(high, radii.size - 1)])


def fit_panels(
    sample: Sample, edges: Sequence[float] | FloatArray, *, has_slopes: bool = True
) -> Panels:
    """Fit panels between ascending edges in log w, and halve them until the series are resolved.

    Without ``has_slopes`` all slopes are 0; errors are relative to the largest value of a panel.
    """
    waiting = [*pairwise(float(edge) for edge in edges)][::-1]
    rows: list[tuple[Any, ...]] = []
    log_peak = -np.inf
    while waiting:
        low, high = waiting.pop()
        centre, half_width = float(np.exp(0.5 * (low + high))), 0.5 * (high - low)
        row, log_size, resolved = _fit_panel(sample, centre, half_width, log_peak, has_slopes)
        log_peak = max(log_peak, log_size)
        if resolved:
            rows.append(row)
            continue
        if half_width < _NARROWEST:
            raise AccuracyError(
                f"The density is not smooth next to w = {centre:.10g}: values there "
                "are not resolved by polynomials. Write the kernel as a sum of simpler ones, or "
                "design a finite measure for the range of your data (design)."
            )
        waiting += [(0.5 * (low + high), high), (low, 0.5 * (low + high))]
    return Panels(*(np.array(column) for column in zip(*rows, strict=True)))


def _fit_panel(
    sample: Sample, centre: float, half_width: float, log_peak: float, has_slopes: bool
) -> tuple[tuple[Any, ...], float, bool]:
    """The fields of :class:`Panels` for one panel, its level, and whether it is resolved."""
    x = np.concatenate([chebyshev.chebpts1(DEGREE + 1), _CHECKS])
    values, errors, log_factor = sample(centre, half_width * x)
    # The slope is that between the largest values in the first and the last third of the panel.
    third = DEGREE // 3
    sizes = np.maximum(np.abs(values), errors)[: DEGREE + 1]
    ends = np.maximum([sizes[:third].max(), sizes[-third:].max()], 5e-324)
    slope = float(np.log(ends[1] / ends[0])) / (1.5 * half_width)
    # If the values at one end are mostly error, a slope would enlarge the error at the other end.
    factor = np.exp(-slope * half_width * x)
    if not has_slopes or np.max(errors * factor) > _CLEAN * np.max(sizes * factor[: DEGREE + 1]):
        slope, factor = 0.0, np.ones_like(x)
    unit = float(np.max(np.abs(values) * factor)) or 1.0
    scaled, noise = values * factor / unit, float(np.max(errors * factor)) / unit
    level = log_factor + float(np.log(unit))
    series = chebyshev_coefficients(scaled[: DEGREE + 1])
    last = float(np.abs(series[-3:]).max())
    miss = float(np.abs(chebyshev.chebval(x, series) - scaled).max())
    highest = level + abs(slope) * half_width
    least = _NEGLIGIBLE * float(np.exp(np.clip(log_peak - highest, -700.0, 700.0)))
    error = 2.0 * miss + 4.0 * last + _NOISE * noise + 4.0 * EPS * float(np.abs(series).sum())
    # Rounding of t, multiplied by the largest slope of the series.
    steepest = EPS * float(np.abs(chebyshev.chebval(_DENSE, chebyshev.chebder(series))).max())
    error += steepest * (1.0 + 1.0 / half_width)
    resolved = last <= max(_RESOLVED, _NOISE * noise, least)
    return (centre, half_width, level, slope, series, error), level, resolved


@dataclass(frozen=True, eq=False)
class PanelDensity(Component):
    """A component on panels, with other forms below and beyond them.

    Attributes
    ----------
    beginning, ending : Radial
        The density below the first panel and beyond the last one.
    added_error : (ndarray, ndarray) or None
        Ascending log w, and an additional error of the density there relative to its local size.
    """

    panels: Panels
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    beginning: Radial
    ending: Radial | OscillatingTail
    tail: OscillatingTail | None = None
    added_error: tuple[FloatArray, FloatArray] | None = None

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The density at radii w > 0."""
        w = np.asarray(w, dtype=float)
        flat = w.ravel()
        below = flat < np.exp(self.panels.low[0])
        beyond = flat >= np.exp(self.panels.high[-1])
        found = np.empty((4, flat.size))
        parts = ((below, self.beginning), (beyond, self.ending), (~(below | beyond), self.panels))
        for inside, part in parts:
            if inside.any():
                found[:, inside] = part.evaluate(flat[inside])
        sign, log, envelope, error = found.reshape(4, *w.shape)
        if self.added_error is not None:
            error = error + np.interp(np.log(w), *self.added_error)
        return sign, log, envelope, error

    def radii_to_resolve(self) -> FloatArray:
        """A few radii on each panel."""
        return self.panels.radii_to_resolve()

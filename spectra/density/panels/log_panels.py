"""Densities as Chebyshev series on panels of log w, between two sums of powers.

A panel holds ``w rho(w)`` as ``exp(level + slope t)`` times a Chebyshev series in ``t``, where t is
the distance from the middle of the panel in log w.
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
from spectra.density.ball.tail import OscillatingTail
from spectra.density.components import Component, Evaluation, Radial
from spectra.errors import AccuracyError

__all__ = [
    "DEGREE",
    "Panelled",
    "Panels",
    "Powers",
    "Sample",
    "chebyshev_coefficients",
    "fit_panels",
]

#: Values of w rho at w = centre * exp(offsets), as (values, errors, log): both are to be multiplied
#: by exp(log).
Sample = Callable[[float, FloatArray], tuple[FloatArray, FloatArray, float]]

DEGREE = 32
# Points between the nodes where a fit is checked, and those where its size is measured.
_CHECKS = np.array([-0.983, 0.041, 0.871])
_DENSE = np.linspace(-1.0, 1.0, 129)
# Coefficients below this share of the largest value are rounding; errors of values leave up to
# three times their size in a coefficient.
_RESOLVED, _NOISE = 4e-16, 3.0
# A power is taken out of values that are known to this share everywhere.
_CLEAN = 1e-13
# What is smaller than this share of the peak is not resolved further.
_NEGLIGIBLE = 1e-17
# No density of the package needs narrower panels.
_NARROWEST = 1e-4
# On a panel whose values stay above this share of the largest, |rho| itself is the local size.
_STEADY = 0.05
# Rounding of the last operations, in units of EPS.
_ROUNDING = 8.0
_COLUMNS = ("centre", "half", "level", "slope", "series", "error")
# Nodes per panel at which masses and signs are looked for.
_FEW, _MANY = 4, 12
# The bulk leaves out this share of the mass on either side.
_OUTSIDE = 0.01


def chebyshev_coefficients(values: NDArray[Any]) -> NDArray[Any]:
    """Chebyshev coefficients from the values at the ascending nodes ``chebpts1(len(values))``."""
    c = np.asarray(dct(values[::-1], type=2)) / len(values)
    c[0] *= 0.5
    return c


@dataclass(frozen=True, eq=False)
class Powers(Radial):
    """The sum of sign * exp(log_size) * (w / scale)**exponent over a few exponents.

    The last term estimates what the sum leaves out.

    Attributes
    ----------
    exponents, signs, log_sizes, wrong : ndarray
        One entry per term, the leading term first; ``wrong`` is the relative error of each.
        ``signs`` may have one row for each power of log(w / scale), from 0 on.
    scale : float
        A radius inside the range.
    """

    exponents: FloatArray
    signs: FloatArray
    log_sizes: FloatArray
    wrong: FloatArray
    scale: float = 1.0

    @classmethod
    def vanishing(cls, radius: float, log_size: float) -> Powers:
        """No density, with an error bound exp(log_size) at a radius that falls like w^-6."""
        columns = (np.array([value]) for value in (-6.0, 0.0, log_size, 1.0))
        exponents, signs, log_sizes, wrong = columns
        return cls(exponents, signs, log_sizes, wrong, radius)

    def and_error(self, log_size: float, log_w: float) -> Powers:
        """The same with an error exp(log_size) at log w, which falls faster than the sum by 1/w."""
        exponent = self.exponents[0] - 1.0
        shift = exponent * (log_w - float(np.log(self.scale)))
        signs = np.atleast_2d(self.signs)
        return replace(
            self,
            exponents=np.append(self.exponents, exponent),
            signs=np.hstack([signs, np.zeros((len(signs), 1))]),
            log_sizes=np.append(self.log_sizes, log_size - shift),
            wrong=np.append(self.wrong, 0.0),
        )

    def _share_terms(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Each term and its size relative to the largest one, and the logarithm of that."""
        log_w = np.log(w / self.scale)
        factors = np.polynomial.polynomial.polyval(log_w, np.atleast_2d(self.signs))
        least = np.maximum(np.abs(factors), 1.0)
        logs = self.log_sizes[:, None] + np.multiply.outer(self.exponents, log_w) + np.log(least)
        top = logs.max(axis=0)
        sizes = np.exp(logs - top)
        return factors / least * sizes, sizes, top

    def left_out(self, w: FloatArray) -> FloatArray:
        """The error relative to the largest term, without rounding."""
        _, sizes, _ = self._share_terms(w)
        return np.asarray(self.wrong @ sizes + sizes[-1])

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The sum at radii; its local size is the largest term."""
        flat = w.ravel()
        terms, sizes, top = self._share_terms(flat)
        total = terms.sum(axis=0)
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(total)) + top
        spread = (np.abs(self.exponents) @ sizes) * np.abs(np.log(flat / self.scale))
        error = self.wrong @ sizes + sizes[-1] + EPS * (_ROUNDING + np.abs(top) + spread)
        sign, log, top, error = (x.reshape(w.shape) for x in (np.sign(total), log, top, error))
        return sign, log, top, error


@dataclass(frozen=True, eq=False)
class Panels(Radial):
    """w rho as Chebyshev series on adjacent panels of log w.

    Attributes
    ----------
    centre, half : ndarray
        The middle of each panel as a radius, and half of its width in the logarithm.
    level, slope : ndarray
        w rho is exp(level + slope t) times the series in t / half, t = log(w / centre).
    series : ndarray of shape (panels, terms)
        Chebyshev coefficients.
    error : ndarray
        Estimate of the error of each series.
    """

    centre: FloatArray
    half: FloatArray
    level: FloatArray
    slope: FloatArray
    series: FloatArray
    error: FloatArray

    @property
    def low(self) -> FloatArray:
        """Lower ends in log w."""
        return np.asarray(np.log(self.centre) - self.half)

    @property
    def high(self) -> FloatArray:
        """Upper ends in log w."""
        return np.asarray(np.log(self.centre) + self.half)

    @cached_property
    def _dense(self) -> FloatArray:
        return np.asarray(chebyshev.chebval(_DENSE, self.series.T))

    @cached_property
    def top(self) -> FloatArray:
        """Largest absolute value of each series."""
        return np.asarray(np.abs(self._dense).max(axis=1) * (1.0 + 1e-3))

    @cached_property
    def steady(self) -> NDArray[np.bool_]:
        """Whether each series keeps its sign and roughly its size."""
        least = np.abs(self._dense).min(axis=1)
        one_sign = np.abs(np.sign(self._dense).sum(axis=1)) == _DENSE.size
        return np.asarray(one_sign & (least > _STEADY * self.top))

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The series at radii; the local size is |rho| on steady panels, elsewhere the largest."""
        log_w = np.log(w)
        i = np.searchsorted(self.low, log_w, side="right") - 1
        i = np.clip(i, 0, self.centre.size - 1)
        t = np.log(w / self.centre[i])
        value = chebyshev.chebval(t / self.half[i], self.series[i].T, tensor=False)
        factor = self.level[i] + self.slope[i] * t - log_w
        size = np.where(self.steady[i], np.abs(value), self.top[i])
        with np.errstate(divide="ignore"):
            log, envelope = np.log(np.abs(value)) + factor, np.log(size) + factor
        rounding = EPS * (_ROUNDING + np.abs(factor) + np.abs(envelope) + np.abs(log_w))
        error = self.error[i] * np.exp(factor - envelope) + rounding
        return np.sign(value), log, envelope, error

    def feature_radii(self) -> FloatArray:
        """A few radii on every panel, more where the density oscillates."""
        counts = np.where(self.steady, _FEW, _MANY)
        each = [
            c * np.exp(h * np.linspace(-1.0, 1.0, n, endpoint=False))
            for c, h, n in zip(self.centre, self.half, counts, strict=True)
        ]
        return np.concatenate(each)

    def bulk(self) -> tuple[float, float]:
        """Radii between which all but a hundredth of the absolute mass on either side lies."""
        t = 0.5 * (_DENSE[1:] + _DENSE[:-1])[None, :] * self.half[:, None]
        sizes = np.abs(0.5 * (self._dense[:, 1:] + self._dense[:, :-1])) * self.half[:, None]
        top = (self.level + np.abs(self.slope) * self.half).max()
        share = np.cumsum(sizes * np.exp(self.level[:, None] + self.slope[:, None] * t - top))
        radii = (self.centre[:, None] * np.exp(t)).ravel()
        low, high = np.searchsorted(share, np.array([_OUTSIDE, 1.0 - _OUTSIDE]) * share[-1])
        return float(radii[low]), float(radii[min(high, radii.size - 1)])


def fit_panels(sample: Sample, edges: Sequence[float] | FloatArray, *, tilt: bool = True) -> Panels:
    """Panels between ascending edges in log w, halved until the series resolve the values.

    Without ``tilt`` all slopes are 0: values are as accurate as the largest one on their panel.

    Raises
    ------
    AccuracyError
        If the values are not smooth on the narrowest panels.
    """
    waiting = [*pairwise(float(edge) for edge in edges)][::-1]
    rows: list[tuple[Any, ...]] = []
    peak = -np.inf
    while waiting:
        low, high = waiting.pop()
        centre, half = float(np.exp(0.5 * (low + high))), 0.5 * (high - low)
        row, size, resolved = _fit_panel(sample, centre, half, peak, tilt)
        peak = max(peak, size)
        if resolved:
            rows.append(row)
            continue
        if half < _NARROWEST:
            raise AccuracyError(
                f"The density is not smooth next to w = {centre:.10g}: values there "
                "are not resolved by polynomials. Write the kernel as a sum of simpler ones, or "
                "design a finite measure for the range of your data (design)."
            )
        waiting += [(0.5 * (low + high), high), (low, 0.5 * (low + high))]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Panels(**dict(zip(_COLUMNS, columns, strict=True)))


def _fit_panel(
    sample: Sample, centre: float, half: float, peak: float, tilt: bool
) -> tuple[tuple[Any, ...], float, bool]:
    """The arrays' entries for one panel, the log of its largest value, and if it is resolved."""
    x = np.concatenate([chebyshev.chebpts1(DEGREE + 1), _CHECKS])
    value, wrong, log = sample(centre, half * x)
    third = DEGREE // 3
    size = np.maximum(np.abs(value), wrong)[: DEGREE + 1]
    ends = np.maximum([size[:third].max(), size[-third:].max()], 5e-324)
    slope = float(np.log(ends[1] / ends[0])) / (1.5 * half)
    # Where one end is mostly noise, a power would carry its error to the other end.
    tilted = np.exp(-slope * half * x)
    if not tilt or np.max(wrong * tilted) > _CLEAN * np.max(size * tilted[: DEGREE + 1]):
        slope = 0.0
    factor = np.exp(-slope * half * x)
    unit = float(np.max(np.abs(value) * factor)) or 1.0
    scaled, noise = value * factor / unit, float(np.max(wrong * factor)) / unit
    level = log + float(np.log(unit))
    series = chebyshev_coefficients(scaled[: DEGREE + 1])
    left_out = float(np.abs(series[-3:]).max())
    miss = float(np.abs(chebyshev.chebval(x, series) - scaled).max())
    highest = level + abs(slope) * half
    least = _NEGLIGIBLE * float(np.exp(np.clip(peak - highest, -700.0, 700.0)))
    turned = EPS * float(np.abs(chebyshev.chebval(_DENSE, chebyshev.chebder(series))).max())
    error = 2.0 * miss + 4.0 * left_out + _NOISE * noise + 4.0 * EPS * float(np.abs(series).sum())
    error += turned * (1.0 + 1.0 / half)
    resolved = left_out <= max(_RESOLVED, _NOISE * noise, least)
    return (centre, half, level, slope, series, error), level, resolved


@dataclass(frozen=True, eq=False)
class Panelled(Component):
    """A component made of panels, with other forms below and beyond them.

    Attributes
    ----------
    panels : Panels
    beginning, ending : Radial
        The density below and beyond the panels.
    doubt : (ndarray, ndarray) or None
        Logarithms of radii, and an additional error of the density there relative to its envelope.
    """

    panels: Panels
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    beginning: Radial
    ending: Radial | OscillatingTail
    tail: OscillatingTail | None = None
    doubt: tuple[FloatArray, FloatArray] | None = None

    def evaluate(self, w: FloatArray) -> Evaluation:
        """What the three parts say at radii w > 0."""
        w = np.asarray(w, dtype=float)
        flat = w.ravel()
        below = flat < np.exp(self.panels.low[0])
        beyond = flat >= np.exp(self.panels.high[-1])
        found = np.empty((4, flat.size))
        parts = ((below, self.beginning), (beyond, self.ending), (~(below | beyond), self.panels))
        for where, part in parts:
            if where.any():
                found[:, where] = part.evaluate(flat[where])
        sign, log, envelope, error = found.reshape(4, *w.shape)
        if self.doubt is not None:
            error = error + np.interp(np.log(w), *self.doubt)
        return sign, log, envelope, error

    def feature_radii(self) -> FloatArray:
        """A few radii on every panel."""
        return self.panels.feature_radii()

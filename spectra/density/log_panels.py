"""Densities as piecewise polynomials in log w, and as sums of powers below and beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from spectra.base.accuracy import EPS, EXACT, FOLDS, NOISE
from spectra.base.numbers import FloatArray
from spectra.base.piecewise import NODES, ORDER, WEIGHTS, Piecewise, fit
from spectra.density.components import Component, Evaluation, Radial
from spectra.density.oscillating_tail import OscillatingTail

__all__ = ["PanelDensity", "Panels", "Powers", "fit_panels"]

# No density of the package needs narrower panels.
_BISECTIONS = 13
# Points of [-1, 1] where the size of a series is measured, and its values and slopes there.
_DENSE = np.linspace(-1.0, 1.0, 65)
_DENSE_BASIS = legendre.legvander(_DENSE, ORDER - 1).T
_DENSE_SLOPES = legendre.legder(np.eye(ORDER), axis=0).T @ _DENSE_BASIS[:-1]
# Number of radii that ``radii_to_resolve`` gives on a panel.
_SAMPLES = 12
# The bulk leaves out this share of the mass on either side.
_OUTSIDE = 0.01


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
        rounding = EPS * (8.0 + np.abs(top) + spread)
        error = self.relative_errors @ sizes + sizes[-1] + rounding
        sign, log, top, error = (x.reshape(w.shape) for x in (np.sign(total), log, top, error))
        return sign, log, top, error


@dataclass(frozen=True, eq=False)
class Panels(Radial):
    """A density on adjacent panels of log w.

    ``pieces`` are w rho as a function of t = log w, divided by a growth: that of w^slope from edge
    to edge of t.  In high dimension w rho grows by hundreds of e-folds on a panel.
    """

    pieces: Piecewise
    growth: tuple[FloatArray, FloatArray] = (np.zeros(1), np.zeros(1))

    def log_growth(self, t: FloatArray) -> FloatArray:
        """Logarithm of the growth at t."""
        edges, slopes = self.growth
        k = np.clip(np.searchsorted(edges, t, side="right") - 1, 0, edges.size - 1)
        return np.asarray(slopes[k] * (t - edges[k]))

    @cached_property
    def unit(self) -> FloatArray:
        """Logarithms of the units of the pieces."""
        unit = self.pieces.unit
        return np.zeros(self.pieces.size) if unit is None else unit

    @cached_property
    def top(self) -> FloatArray:
        """The largest absolute value of each series, in its unit."""
        return np.asarray(np.abs(self.pieces.series @ _DENSE_BASIS).max(axis=1) * (1.0 + 1e-3))

    @cached_property
    def error(self) -> FloatArray:
        """Errors of the series: those of values, of truncation and of rounding, of x as well."""
        p, half = self.pieces, self.pieces.half_widths
        steepest = np.abs(p.series @ _DENSE_SLOPES).max(axis=1)
        rounding = 4.0 * np.abs(p.series).sum(axis=1) + steepest * (1.0 + 1.0 / half)
        noise = 0.0 if p.errors is None else p.errors.max(axis=1)
        return np.asarray(NOISE * noise + 2.0 * p.truncation + EPS * rounding)

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The density; its local size is the largest absolute value on the panel."""
        i, log_w = self.pieces.panel_at(w), np.log(w)
        value = self.pieces.at(i, self.pieces.position(i, w))
        factor, size = self.unit[i] + self.log_growth(log_w) - log_w, self.top[i]
        with np.errstate(divide="ignore"):
            log, envelope = np.log(np.abs(value)) + factor, np.log(size) + factor
        rounding = EPS * (8.0 + np.abs(factor) + np.abs(envelope) + np.abs(log_w))
        return np.sign(value), log, envelope, self.error[i] / size + rounding

    def with_error(self, log_error: FloatArray) -> Panels:
        """The panels with an additional error of w rho, given by its logarithm."""
        assert self.pieces.errors is not None
        added = np.exp(log_error - self.unit)[:, None] / NOISE
        return replace(self, pieces=replace(self.pieces, errors=self.pieces.errors + added))

    def radii_to_resolve(self) -> FloatArray:
        """A few radii on each panel; see :class:`Component`."""
        each, x = np.arange(self.pieces.size), np.linspace(-1.0, 1.0, _SAMPLES, endpoint=False)
        return self.pieces.radius(np.repeat(each, x.size), np.tile(x, each.size))

    def bulk(self) -> tuple[float, float]:
        """The radii below and above which one hundredth of the absolute mass lies."""
        p, each = self.pieces, np.repeat(np.arange(self.pieces.size), ORDER)
        values = np.abs(p.at(each, np.tile(NODES, p.size))).reshape(-1, ORDER)
        log = self.unit[:, None] + self.log_growth(
            p.middles[:, None] + p.half_widths[:, None] * NODES
        )
        mass = np.cumsum(p.half_widths[:, None] * np.exp(log - log.max()) * values * WEIGHTS)
        at = np.searchsorted(mass, np.array([_OUTSIDE, 1.0 - _OUTSIDE]) * mass[-1])
        low, high = p.radius(each, np.tile(NODES, p.size))[np.minimum(at, mass.size - 1)]
        return float(low), float(high)


def fit_panels(
    function: Callable[..., Any], edges: Sequence[float] | FloatArray, *, exact: bool = False
) -> Panels:
    """Fit w rho, a function of log w, on panels between ascending edges, see :func:`.fit`."""
    limits: dict[str, Any] = {
        "tolerance": EXACT,
        "negligible": np.inf if exact else FOLDS,
        "bisections": _BISECTIONS,
    }
    return Panels(fit(function, edges, **limits, has_units=True, exact=exact))


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
        below = flat < self.panels.pieces.low[0]
        beyond = flat >= self.panels.pieces.high[-1]
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

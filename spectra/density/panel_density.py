"""Densities as piecewise polynomials in log w; sums of powers below and beyond them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from spectra.base.accuracy import EPS, EXACT, FOLDS, NOISE
from spectra.base.arrays import FloatArray
from spectra.base.fitting import Integrand, fit
from spectra.base.piecewise import LOG_RADIUS, Chart, Piecewise
from spectra.base.series import NODES, ORDER, WEIGHTS
from spectra.density.components import Component, Evaluation, OscillatingTail, RadialFunction

__all__ = ["PanelDensity", "Powers", "fit_pieces"]

# No density of the package needs narrower panels.
_BISECTIONS = 13
# Points of [-1, 1] where the size of a series is measured, and its values and slopes there.
_DENSE = np.linspace(-1.0, 1.0, 65)
_DENSE_BASIS = legendre.legvander(_DENSE, ORDER - 1).T
_DENSE_SLOPES = legendre.legder(np.eye(ORDER), axis=0).T @ _DENSE_BASIS[:-1]
# The largest value of a series may exceed that at these points by this factor.
_BETWEEN = 1.0 + 1e-3
# The bulk leaves out this share of the mass on either side.
_OUTSIDE = 0.01


@dataclass(frozen=True, eq=False)
class Powers(RadialFunction):
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
        return self.relative_errors @ sizes + sizes[-1]

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


def fit_pieces(function: Integrand, edges: ArrayLike, *, exact: bool = False) -> Piecewise:
    """Fit w rho, a function of log w, between ascending edges; see :func:`.fit`."""
    negligible = np.inf if exact else FOLDS
    return fit(
        function,
        edges,
        tolerance=EXACT,
        negligible=negligible,
        bisections=_BISECTIONS,
        exact=exact,
    )


@dataclass(frozen=True, eq=False)
class PanelDensity(Component):
    """A component given by w rho on panels of log w, with other forms below and beyond them.

    Attributes
    ----------
    pieces : Piecewise
        w rho as a function of log w; below the radius exp(log_turn), divided by the power
        (w / exp(log_turn))^growth, by which it grows there in high dimension.
    beginning, ending : RadialFunction
        The density below the first panel and beyond the last one.
    added_error : (ndarray, ndarray) or None
        Ascending log w, and an additional error of the density there relative to its local size.
    """

    pieces: Piecewise
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    beginning: RadialFunction
    ending: RadialFunction | OscillatingTail
    tail: OscillatingTail | None = None
    growth: float = 0.0
    log_turn: float = -np.inf
    added_error: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def log_size(self) -> FloatArray:
        """Logarithms of the largest absolute value of each series."""
        top = np.abs(self.pieces.series @ _DENSE_BASIS).max(axis=1)
        with np.errstate(divide="ignore"):
            return np.log(top * _BETWEEN) + self.pieces.unit

    @cached_property
    def _log_error(self) -> FloatArray:
        """Logarithms of errors of series: of values, of truncation, and of rounding, of x too."""
        p = self.pieces
        steepest = np.abs(p.series @ _DENSE_SLOPES).max(axis=1)
        rounding = 4.0 * np.abs(p.series).sum(axis=1) + steepest * (1.0 + 1.0 / p.half_widths)
        error = NOISE * p.errors.max(axis=1) + 2.0 * p.truncation + EPS * rounding
        with np.errstate(divide="ignore"):
            return np.log(error) + p.unit

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The density at radii w > 0; on a panel, its local size is its largest absolute value."""
        w = np.asarray(w, dtype=float)
        flat = w.ravel()
        below, beyond = flat < self.pieces.low[0], flat >= self.pieces.high[-1]
        inside = ~(below | beyond)
        found = np.empty((4, flat.size))
        for some, form in ((below, self.beginning), (beyond, self.ending)):
            if some.any():
                found[:, some] = form.evaluate(flat[some])
        found[:, inside] = self._evaluate_pieces(flat[inside])
        sign, log, envelope, error = found.reshape(4, *w.shape)
        if self.added_error is not None:
            error = error + np.interp(np.log(w), *self.added_error)
        return sign, log, envelope, error

    def _evaluate_pieces(self, w: FloatArray) -> Evaluation:
        """The density at radii on the panels."""
        i, log_w = self.pieces.panel_at(w), np.log(w)
        value = self.pieces.at(i, self.pieces.position(i, w))
        factor = self.growth * np.minimum(log_w - self.log_turn, 0.0) - log_w
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(value)) + self.pieces.unit[i] + factor
        size = self.log_size[i]
        rounding = EPS * (8.0 + np.abs(self.pieces.unit[i] + factor) + np.abs(size + factor))
        error = np.exp(self._log_error[i] - size) + rounding + EPS * np.abs(log_w)
        return np.sign(value), log, size + factor, error

    def panels_in(self, chart: Chart) -> Piecewise | None:
        """The panels of w rho, with the errors of their series."""
        if chart != LOG_RADIUS or self.added_error is not None:
            return None
        rows = self.pieces.charts[:, 2] >= self.log_turn
        kept = self.pieces[rows]
        return replace(kept, errors=np.exp(self._log_error[rows] - kept.unit)[:, None])

    def edges(self) -> FloatArray:
        """Radii where its panels begin."""
        return self.pieces.low

    def find_bulk(self) -> tuple[float, float]:
        """The radii on panels below and above which one hundredth of the absolute mass lies."""
        p = self.pieces
        each, x = np.repeat(np.arange(p.size), ORDER), np.tile(NODES, p.size)
        w = p.radius(each, x)
        log = p.unit[each] + self.growth * np.minimum(np.log(w) - self.log_turn, 0.0)
        mass = np.exp(log - log.max()) * np.abs(p.at(each, x)) * np.tile(WEIGHTS, p.size)
        mass = np.cumsum(mass * p.half_widths[each])
        at = np.searchsorted(mass, np.array([_OUTSIDE, 1.0 - _OUTSIDE]) * mass[-1])
        low, high = w[np.minimum(at, mass.size - 1)]
        return float(low), float(high)

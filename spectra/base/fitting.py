"""Fits of piecewise polynomials to functions, by bisection until the polynomials resolve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.accuracy import NOISE, SERIES
from spectra.base.arrays import FloatArray
from spectra.base.limits import check_time
from spectra.base.piecewise import LOG_RADIUS, Chart, Piecewise
from spectra.base.series import NODES, series_through
from spectra.errors import AccuracyError

__all__ = ["RADIANS", "Integrand", "fit", "interpolate"]

#: A function of points t of shape (n, ORDER), a row for each panel.  It returns the values; or
#: values, bounds of their errors, and the logarithm of the unit of both for each row, (n,), so that
#: values far below 1e-308 do not underflow.
Integrand = Callable[..., Any]

#: Largest width of a panel on which a series resolves a wave to 1e-12 of its amplitude, in radians.
RADIANS = 5.0
# A panel that is not accepted after this many bisections contains a singularity.
_MOST_BISECTIONS, _MOST_PANELS = 48, 20_000
# A panel of half-width above 1/64 is bisected if the error at one node exceeds the value at another
# whose own relative error is below 1e-3: that value would be lost in the error of the panel.
_ACCURATE, _LEAST_HALF = 1e-3, 1.0 / 64.0


def fit(
    function: Integrand,
    edges: ArrayLike,
    chart: Chart = LOG_RADIUS,
    *,
    tolerance: float = SERIES,
    absolute: float = 0.0,
    negligible: float = np.inf,
    bisections: int = _MOST_BISECTIONS,
    keep: bool = False,
    exact: bool = False,
) -> Piecewise:
    """Fit panels to a piecewise smooth function of t, and bisect them until they resolve it.

    A panel is accepted when its last three coefficients are below ``tolerance`` times its largest
    value (so that far tails keep relative precision), below ``absolute``, or below the errors of
    the function; or when its values are below exp(-``negligible``) times the largest of all.

    Parameters
    ----------
    function : callable
        An :data:`Integrand`.
    edges : array_like
        Ends of the first panels in t, ascending; they include the breaks of the function.  Or the
        start and stop of each first panel, shape (n, 2).
    chart : Chart
        The map of t to the radius.
    bisections : int
        After so many bisections, raise an AccuracyError; or accept all panels, if ``keep``.
    exact : bool
        Whether the function has two arguments, whose sum is t: its rounding would be visible.

    Examples
    --------
    >>> p = fit(np.cos, [0.0, 4.0], Chart(root=1))
    >>> bool(abs(p(np.array([1.0]))[0] - np.cos(1.0)) < 1e-15), f"{p.masses.sum():.12f}"
    (True, '-0.756802495308')
    """
    ends = np.asarray(edges, dtype=float)
    left, right = ends.T if ends.ndim == 2 else (ends[:-1], ends[1:])
    done: list[tuple[NDArray[Any], ...]] = []
    log_peak = -np.inf
    for depth in range(bisections + 1):
        check_time()
        half = 0.5 * (right - left)
        middle, offset = (left + half)[:, None], half[:, None] * NODES
        found = function(middle, offset) if exact else function(middle + offset)
        values, errors, unit = _check_sample(found, middle + offset)
        series, size = series_through(values), np.abs(values).max(axis=1)
        truncation, noise = np.abs(series[:, -3:]).max(axis=1), NOISE * errors.max(axis=1)
        # Accurate values that are smaller than the errors at other nodes.
        lost = (np.abs(values) < noise[:, None]) & (errors < _ACCURATE * np.abs(values))
        loses_values = lost.any(axis=1) & (half > _LEAST_HALF)
        allowed = np.maximum(np.maximum(tolerance * size, absolute), noise)
        good = (truncation <= allowed) & ~loses_values
        with np.errstate(divide="ignore"):
            log_size = unit + np.log(size)
        log_peak = max(log_peak, float(log_size.max(initial=-np.inf)))
        good |= log_size < log_peak - negligible
        good |= keep and depth == bisections
        done.append(tuple(a[good] for a in (left, right, series, unit, errors)))
        if np.all(good):
            break
        middles = middle[~good, 0]
        left = np.concatenate([left[~good], middles])
        right = np.concatenate([middles, right[~good]])
        if depth == bisections or left.size > _MOST_PANELS:
            raise AccuracyError(
                f"The function is not smooth: polynomials did not resolve it on {left.size} panels "
                f"between {chart.radius(left.min()):.6g} and {chart.radius(right.max()):.6g}. It "
                "has a singularity or a jump there, or errors that are larger than stated; the "
                "exponent of its tail or origin may be wrong."
            )
    columns = [np.concatenate(c) for c in zip(*done, strict=True)]
    left, right, series, unit, errors = (c[np.argsort(columns[0])] for c in columns)
    charts = np.zeros((left.size, 5))
    charts[:, 0], charts[:, 1], charts[:, 2], charts[:, 3] = chart.origin, chart.side, left, right
    return Piecewise(charts, series, chart.root, unit, errors)


def interpolate(
    function: Callable[[FloatArray], FloatArray], z_max: float, tolerance: float
) -> Piecewise:
    """Interpolate a function of the distance on [0, z_max] with an error of about ``tolerance``."""

    def sample(z: FloatArray) -> FloatArray:
        return function(z.ravel()).reshape(z.shape)

    ends, chart = np.linspace(0.0, z_max, 5), Chart(root=1)
    return fit(sample, ends, chart, tolerance=0.0, absolute=tolerance, bisections=30, keep=True)


def _check_sample(found: Any, t: FloatArray) -> tuple[NDArray[Any], FloatArray, FloatArray]:
    """Values, errors and units of a function at t, all of them finite."""
    values, errors, unit = (
        found if isinstance(found, tuple) else (found, np.zeros(t.shape), np.zeros(len(t)))
    )
    finite = np.isfinite(values) & np.isfinite(errors)
    if not np.all(finite):
        raise AccuracyError(
            "The integrand is not finite where the variable of integration is "
            f"{t[~finite][0]:.6g}. Report the kernel and the dimension: it should be finite."
        )
    return values, errors, unit

"""A spectrum that is given by samples: interpolation, its estimated error, and the missing mass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from spectra.base.accuracy import EPS
from spectra.base.numbers import FloatArray, real_array
from spectra.errors import InfiniteMassError, ParameterError
from spectra.spectral_input.component import LEAST_RATE, GivenComponent

__all__ = ["sampled_component"]

# Degrees of splines that are tried; each needs _PER_DEGREE (degree + 1) samples.  Two interpolants
# are compared at _FINE points for each sample.
_DEGREES, _PER_DEGREE, _FINE = (1, 3, 5, 7, 9), 4, 40
# Samples at both ends are left out where w rho(w) is below exp(-138) = 1e-60 of its peak.  The
# power law beyond the others is fitted to the last _LAST.
_NEGLIGIBLE, _LAST = 138.0, 4
# Rounding errors of a spline through values, relative to the peak.
_ROUNDING = 64.0 * EPS


def sampled_component(
    samples: Any, dim: int, convention: tuple[float, float, float], extend: bool
) -> tuple[GivenComponent, float, float]:
    """The component that interpolates samples, the error of the interpolation, the missing mass."""
    log_factor, power, unit = convention
    k, S = _check_samples(*samples)
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(S)) + log_factor + (power + 1.0) * np.log(k / unit)
    kept = np.flatnonzero(size > size.max() - _NEGLIGIBLE)
    rows = slice(int(kept[0]), int(kept[-1]) + 1)
    w, S, size = k[rows] / unit, S[rows], size[rows]
    y, x, is_log = np.sign(S) * np.exp(size - size.max()), np.log(w), bool(np.all(S > 0.0))
    spline, error = _interpolate(x, size - size.max() if is_log else y, is_log)
    scale = float(np.exp(size.max()))
    lost = scale * error
    laws = [_power_law(x, size, np.sign(S), side) for side in (0, 1)]
    missing, slopes = float(sum(mass for _, mass, _ in laws)), (np.inf, -np.inf)
    if extend:
        if not missing < np.inf:
            exponents = " and ".join(f"{slope - power:.3g}" for slope, *_ in laws)
            raise InfiniteMassError(
                f"The samples end with the exponents {exponents}, which have no finite integral. "
                "Give samples further out, a formula with a cut-off, or extend=False."
            )
        slopes, missing = (laws[0][0], laws[1][0]), 0.0
        lost += sum(error for *_, error in laws)
    ends = (float(w[0]), float(w[-1]))
    # The spline is that of w rho(w), so rho needs no factor.
    function = partial(_spectrum_of_spline, spline, scale, is_log)
    component = GivenComponent(
        function, dim, (0.0, -1.0, 1.0), ends, slopes, 1e-30 if is_log else _ROUNDING,
        breaks=() if extend else tuple((r, 0.0) for r in ends), knots=tuple(w.tolist()),
    )  # fmt: skip
    return component, lost, missing


def _spectrum_of_spline(spline: Any, scale: float, is_log: bool, w: FloatArray) -> FloatArray:
    values = np.asarray(spline(np.log(w)))
    return scale * (np.exp(values) if is_log else values)


def _check_samples(k: ArrayLike, values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    k, S = real_array(k, "The radii"), real_array(values, "The values of the spectrum")
    if k.ndim != 1 or k.shape != S.shape or k.size < _LAST or not np.any(S):
        raise ParameterError(
            f"Samples of a spectrum are two arrays (k, values) of at least {_LAST} numbers, not "
            f"all 0; their shapes are {k.shape} and {S.shape}."
        )
    good = (k > np.append(0.0, k[:-1])) & (k < np.inf) & np.isfinite(S)
    if not good.all():
        row = int(np.argmin(good))
        raise ParameterError(
            f"Row {row} of the samples is (k, S) = ({k[row]:.6g}, {S[row]:.6g}): give finite "
            "numbers and ascending radii k > 0, and drop or average repeated ones."
        )
    return k, S


def _interpolate(x: FloatArray, y: FloatArray, is_log: bool) -> tuple[Any, float]:
    """The spline of the degree for which halves of the samples agree best with all of them.

    Also returns the integral of the difference, which is 2^(degree + 1) times the error where the
    spectrum is smooth.
    """
    t = np.linspace(x[0], x[-1], _FINE * x.size)

    def fit(rows: Any, degree: int) -> tuple[Any, FloatArray]:
        spline = make_interp_spline(x[rows], y[rows], k=degree)
        with np.errstate(over="ignore"):
            return spline, np.exp(spline(t)) if is_log else spline(t)

    best: tuple[float, Any] = (np.inf, None)
    halves = [np.unique([0, *range(first, x.size, 2), x.size - 1]) for first in (0, 1)]
    for degree in _DEGREES:
        if degree == 1 or x.size >= _PER_DEGREE * (degree + 1):
            spline, whole = fit(slice(None), degree)
            errors = [np.trapezoid(np.abs(whole - fit(h, degree)[1]), t) for h in halves]
            best = min(best, (float(max(errors)), spline), key=lambda pair: pair[0])
    return best[1], best[0]


def _power_law(
    t: FloatArray, size: FloatArray, sign: FloatArray, side: int
) -> tuple[float, float, float]:
    """The exponent of rho at the first (side 0) or last samples, the mass beyond, and its error.

    The error is the difference from the mass by the exponent that is found an e-fold further in.
    """
    inward = 1 - 2 * side
    t, size, sign = np.abs(t - t[-side])[::inward], size[::inward], sign[::inward]
    if np.ptp(sign[:_LAST]) > 0.0:
        return np.nan, np.inf, np.inf
    starts = (0, min(int(np.searchsorted(t, 1.0)), t.size - _LAST))
    rates = [float(np.polyfit(t[i : i + _LAST], size[i : i + _LAST], 1)[0]) for i in starts]
    masses = [float(np.exp(size[0])) / rate if rate > LEAST_RATE else np.inf for rate in rates]
    error = abs(masses[0] - masses[1]) if masses[0] < np.inf else np.inf
    return inward * rates[0] - 1.0, masses[0], error

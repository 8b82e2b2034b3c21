"""A spectrum that is given by samples: interpolation, its estimated error, and the missing mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from spectra.base.accuracy import EPS
from spectra.base.numbers import FloatArray, real_array
from spectra.errors import InfiniteMassError, ParameterError
from spectra.spectral_input.component import Convention, GivenComponent

__all__ = ["sampled_component"]

# Degrees of splines that are tried; each needs _PER_DEGREE (degree + 1) samples.
_DEGREES, _PER_DEGREE = (1, 3, 5, 7, 9), 4
# Interpolants are compared at so many points for each sample.
_FINE = 40
# Samples at both ends are left out where w rho(w) is below exp(-138) = 1e-60 of its peak.
_NEGLIGIBLE = 138.0
# Rounding errors of a spline through values, relative to the peak.
_ROUNDING = 64.0 * EPS
# The power law beyond the samples is fitted to so many of them.
_LAST = 4


@final
@dataclass(frozen=True, eq=False)
class _SplineSpectrum:
    """S(k) from a spline in log k: of log S, or of S k^power."""

    spline: Any
    power: float | None  # None: the spline is log S

    def __call__(self, k: FloatArray) -> FloatArray:
        values = np.asarray(self.spline(np.log(k)))
        return values if self.power is None else values * k**-self.power


def sampled_component(
    k: ArrayLike, values: ArrayLike, convention: Convention, *, extend: bool
) -> tuple[GivenComponent, float, float]:
    """The component that interpolates samples, the error of the interpolation, the missing mass."""
    k, S = _checked_samples(k, values)
    w = k / convention.unit
    with np.errstate(divide="ignore"):
        log_size = np.log(np.abs(S)) + convention.log_factor + (convention.power + 1.0) * np.log(w)
    kept = np.flatnonzero(log_size > log_size.max() - _NEGLIGIBLE)
    rows = slice(int(kept[0]), int(kept[-1]) + 1)
    if kept.size < _LAST:
        raise ParameterError(
            f"{kept.size} of the samples are not negligible: give at least {_LAST} where the "
            "spectrum has its mass."
        )
    k, S, w, log_size = k[rows], S[rows], w[rows], log_size[rows]
    is_log = bool(np.all(S > 0.0))
    function, unresolved = _interpolate(k, S, convention, is_log)
    laws = [_power_law(w, log_size, np.sign(S), side) for side in (0, 1)]
    missing, slopes = sum(mass for _, mass, _ in laws), (np.inf, -np.inf)
    if extend:
        if not missing < np.inf:
            raise InfiniteMassError(
                f"The first or last {_LAST} samples have no power law with a finite integral (S has "
                f"the exponents {laws[0][0] - convention.power:.3g} and "
                f"{laws[1][0] - convention.power:.3g}): give samples further out, a formula with a "
                "cut-off, or extend=False, with which the measure ends at the samples."
            )
        slopes, missing = (laws[0][0], laws[1][0]), 0.0
        unresolved += sum(error for *_, error in laws)
    return (
        GivenComponent(
            function,
            convention,
            (float(w[0]), float(w[-1])),
            slopes,
            is_log=is_log,
            floor=1e-30 if is_log else _ROUNDING,
            breaks=() if extend else ((float(w[0]), 0.0), (float(w[-1]), 0.0)),
            knots=tuple(w.tolist()),
        ),
        unresolved,
        float(missing),
    )


def _checked_samples(k: ArrayLike, values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    k, S = real_array(k, "The radii"), real_array(values, "The values of the spectrum")
    if k.ndim != 1 or k.shape != S.shape:
        raise ParameterError(
            f"Samples are two arrays (k, values) of one length; their shapes are {k.shape} and "
            f"{S.shape}."
        )
    problems = {
        "its radius is not a positive number": ~((k > 0.0) & (k < np.inf)),
        "its value is not finite": ~np.isfinite(S),
        "its radius is not larger than the one before": np.append(False, ~(np.diff(k) > 0.0)),
    }
    for problem, rows in problems.items():
        if rows.any():
            row = int(np.argmax(rows))
            raise ParameterError(
                f"Row {row} of the samples is (k, S) = ({k[row]:.6g}, {S[row]:.6g}): {problem}. "
                "Sort the rows by k > 0, and drop or average repeated ones."
            )
    if k.size < _LAST or not np.any(S):
        raise ParameterError(
            f"A spectrum needs at least {_LAST} samples that are not all 0; got {k.size}."
        )
    return k, S


def _interpolate(
    k: FloatArray, S: FloatArray, convention: Convention, is_log: bool
) -> tuple[_SplineSpectrum, float]:
    """The spline of the degree for which halves of the samples agree best with all of them.

    Also returns the integral of the difference of rho, which is 2^(degree + 1) times the error
    where the spectrum is smooth.
    """
    x, power = np.log(k), convention.power + 1.0
    y = np.log(S) if is_log else S * k**power
    t = np.linspace(x[0], x[-1], _FINE * k.size)
    front = np.exp(convention.log_factor) * convention.unit**-power

    def fit(rows: Any, degree: int) -> tuple[Any, FloatArray]:
        spline = make_interp_spline(x[rows], y[rows], k=degree)
        found = np.exp(spline(t) + power * t) if is_log else spline(t)
        return spline, front * found

    best: tuple[float, Any] = (np.inf, None)
    for degree in _DEGREES:
        if degree > 1 and k.size < _PER_DEGREE * (degree + 1):
            break
        spline, whole = fit(slice(None), degree)
        halves = (np.unique(np.r_[0, np.arange(first, k.size, 2), k.size - 1]) for first in (0, 1))
        with np.errstate(over="ignore"):
            difference = max(np.trapezoid(np.abs(whole - fit(h, degree)[1]), t) for h in halves)
        best = min(best, (float(difference), spline), key=lambda pair: pair[0])
    return _SplineSpectrum(best[1], None if is_log else power), best[0]


def _power_law(
    w: FloatArray, log_size: FloatArray, sign: FloatArray, side: int
) -> tuple[float, float, float]:
    """The exponent of rho at the first (side 0) or last samples, the mass beyond, and its error.

    The error is the difference from the mass by the exponent that is found an e-fold further in.
    """
    order = slice(None) if side == 0 else slice(None, None, -1)
    t, size = np.abs(np.log(w) - np.log(w[-side]))[order], log_size[order]
    inner = min(int(np.searchsorted(t, 1.0)), t.size - _LAST)
    if np.ptp(sign[order][:_LAST]) > 0.0:
        return np.nan, np.inf, np.inf
    rates = [float(np.polyfit(t[i : i + _LAST], size[i : i + _LAST], 1)[0]) for i in (0, inner)]
    mass, other = (float(np.exp(size[0])) / r if r > 0.0 else np.inf for r in rates)
    return (1.0, -1.0)[side] * rates[0] - 1.0, mass, abs(mass - other) if mass < np.inf else np.inf

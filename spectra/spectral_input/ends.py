"""The range of radii of a given spectrum, its behavior beyond, and its total."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.integrate import tanhsinh
from scipy.ndimage import maximum_filter1d

from spectra.base.accuracy import EPS, VALUE
from spectra.base.numbers import FloatArray
from spectra.density.components import SpectralDensity
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError
from spectra.measure import SpectralMeasure
from spectra.spectral_input.component import GivenComponent

__all__ = ["Exponent", "find_ends", "measure_of_component"]

#: The exponent of S at 0 (side 0) or infinity (side 1) that a formula proves; None if unknown.
Exponent = Callable[[int], float | None]

# Radii exp(-_FAR) to exp(_FAR) are searched, at _POINTS of them.
_FAR, _POINTS = 100.0, 8001
# w rho(w) is negligible below exp(-92) = 1e-40 of its peak.
_NEGLIGIBLE = 92.0
# Exponents are measured between points over the last _SPAN e-folds, and must agree to _AGREE; one
# that is stated may differ by _STATED.  The integral of w^rate dw/w converges if the rate is larger
# than _LEAST_RATE; logarithms can hide in a smaller one.
_SPAN, _COUNT, _AGREE, _STATED, _LEAST_RATE = 20.0, 9, 1e-3, 0.25, 1e-3
# Rounding errors are relative to the largest S within so many e-folds.
_NEAR = 0.03
# The bulk has all of the mass but this share at each end.
_TAIL_SHARE = 0.01
_REMEDY = (
    "At k = 0 give an outer scale (as k**2 + 1/L**2 for k**2) or a lower limit, band=(low, inf)",
    "At infinity give an inner scale (as a factor exp(-(k*l)**2)) or a cut-off, band=(0, high)",
)
_END = ("k = 0", "infinity")


def _grid(component: GivenComponent) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log w between the ends of the range, the signs of rho and log(w |rho|)."""
    low, high = np.log(component.range)
    step = (high - low) / _POINTS
    t = low + step * (0.5 + np.arange(_POINTS))  # middles: rho may be infinite at an end
    with np.errstate(all="ignore"):
        sign, log, *_ = component.evaluate(np.exp(t))
    return t, sign, log + t


def find_ends(
    component: GivenComponent, label: str, exponent: Exponent, stated: tuple[float | None, ...]
) -> tuple[GivenComponent, float]:
    """The component on the range in which it is not negligible, and the error of what is beyond.

    An end of the range at 0 or infinity is open; another one is a limit of the band.
    """
    is_open = component.range[0] == 0.0, component.range[1] == np.inf
    limits = (-_FAR, _FAR)
    low, high = (np.exp(a) if o else r for a, o, r in zip(limits, is_open, component.range, strict=True))
    component = replace(component, range=(float(low), float(high)))
    t, _, size = _grid(component)
    bad = np.isnan(size) | np.isposinf(size)
    peak = float(np.max(size[~bad], initial=-np.inf))
    alive = np.flatnonzero(bad | (size > peak - _NEGLIGIBLE))
    # Values such as inf * 0 far outside of all finite values that are not negligible.
    known = np.flatnonzero(~bad & (size > peak - _NEGLIGIBLE))
    if not known.size:
        raise ParameterError(f"The spectrum {label} is 0 or not finite everywhere.")
    first, last = int(known[0]), int(known[-1])
    outside = (alive < first - 1) | (alive > last + 1)
    if np.any(bad[alive[~outside]]):
        k = np.exp(t[alive[~outside]][bad[alive[~outside]]][0]) * component.convention.unit
        raise ParameterError(
            f"The spectrum {label} is not finite at k = {k:.6g}: return its limit there, or give a "
            "band=(low, high)."
        )
    ends, slopes, error = list(component.range), list(component.slopes), 0.0
    breaks, reasons = {r for r, _ in component.breaks}, []
    for side, (i, edge) in enumerate(((first, 0), (last, _POINTS - 1))):
        if i != edge:
            ends[side] = float(np.exp(t[i + 2 * side - 1]))
        elif not is_open[side]:
            breaks.add(ends[side])
        else:
            slopes[side], extra = _open_end(component, label, side, exponent(side), stated[side])
            rate = (slopes[side] + 1.0) * (1 - 2 * side)
            if rate < _LEAST_RATE:
                reasons.append((side, slopes[side] - component.convention.power))
            error += extra
    if reasons:
        _refuse(component, label, reasons)
    found = tuple((r, 0.0) for r in sorted(breaks) if ends[0] <= r <= ends[1])
    return replace(component, range=tuple(ends), slopes=tuple(slopes), breaks=found), error


def _open_end(
    component: GivenComponent, label: str, side: int, proved: float | None, stated: float | None
) -> tuple[float, float]:
    """The exponent of rho at an end, and the error of its power law."""
    power, end = component.convention.power, np.log(component.range[side])
    t = end + (1 - 2 * side) * np.linspace(0.0, _SPAN, _COUNT)
    with np.errstate(all="ignore"):
        sign, log, *_ = component.evaluate(np.clip(np.exp(t), *component.range))
        slopes = np.diff(log) / np.diff(t)
    s, known = slopes[0] - power, proved if stated is None else stated
    name, option = _END[side], ("origin", "decay")[side]
    if known is None:
        agree = np.ptp(slopes) <= _AGREE * (1.0 + np.abs(slopes).max()) and np.ptp(sign) == 0.0
        diverges = np.all((slopes + 1.0) * (1 - 2 * side) < _LEAST_RATE)
        if not (agree or diverges):
            raise ParameterError(
                f"The spectrum {label} has no clear power law at {name}: its exponent changes from "
                f"{slopes[-1] - power:.4g} to {s:.4g} over the last {_SPAN:g} e-folds. State it, "
                f"{option}=..., or give a limit: {_REMEDY[side]}."
            )
        known = s
    elif not abs(known - s) <= _STATED:
        raise ParameterError(
            f"{option} states the exponent {known:g} of the spectrum {label} at {name}, and its "
            f"values have {s:.4g}: correct one of them."
        )
    rates = [(1 - 2 * side) * (e + power + 1.0) for e in (known, s)]
    with np.errstate(divide="ignore"):
        difference = abs(1.0 / rates[0] - 1.0 / rates[1]) if min(rates) > 0.0 else np.inf
    return float(known + power), float(np.exp(log[0] + t[0]) * difference)


def _refuse(component: GivenComponent, label: str, reasons: list[tuple[int, float]]) -> None:
    """Raise the error for an infinite variance."""
    convention = component.convention
    power = {-1.0: " dk/k", 0.0: " dk"}.get(convention.power, f" k^{convention.power:g} dk")
    where = " and ".join(f"like k^({e:.4g}) at {_END[side]}" for side, e in reasons)
    raise InfiniteMassError(
        f"The variance of the spectrum {label} is infinite in dimension {convention.dim}: kind "
        f"{convention.kind!r} integrates S(k){power}, and S behaves {where}, where the integral "
        "diverges, or converges too slowly to be computed. "
        + " ".join(f"{_REMEDY[side]}." for side, _ in reasons)
    )


def measure_of_component(
    component: GivenComponent, label: str, *, unresolved: float = 0.0, missing: float = 0.0
) -> SpectralMeasure:
    """The measure of a component whose ends are known; its masses are checked."""
    t, _, size = _grid(component)
    mass = np.cumsum(np.exp(size - size.max()))
    bulk = np.searchsorted(mass, [_TAIL_SHARE * mass[-1], (1.0 - _TAIL_SHARE) * mass[-1]])
    (low, high), convention = component.slopes, component.convention
    log_S = np.maximum(size, size.max() - _FAR * 10.0) - convention.log_factor
    log_S -= (convention.power + 1.0) * t
    window = 3 + 2 * int(_NEAR / (t[1] - t[0]))
    component = replace(
        component,
        log_peak=float(size.max()),
        largest=(t, maximum_filter1d(log_S, window, mode="nearest")),
        bulk=tuple(np.exp(t[bulk]).tolist()),
        origin_exponent=low if np.isfinite(low) else max(convention.power, -0.9),
        decay=-high,
    )
    component = replace(component, total=_total(component))
    dim = convention.dim
    label_of_density: object = label
    density = SpectralDensity(label_of_density, dim, (component,), (), "given")  # type: ignore[arg-type]
    measure = SpectralMeasure(
        dim, None, (), density, unresolved=unresolved, missing=missing
    )
    try:
        mass_of_measure = measure.mass
    except AccuracyError as error:
        raise AccuracyError(
            f"The spectrum {label} is not resolved. {error} If it has a kink, a jump or a narrow "
            "line, state the radii with breaks=[...]; if it oscillates without end, give a band."
        ) from error
    if not mass_of_measure.mid > 0.0:
        raise ParameterError(f"The spectrum {label} has no mass.")
    return measure


def _total(component: GivenComponent) -> float:
    """The integral of rho by a second quadrature, between all edges and on unit steps of log w."""
    low, high = np.log(component.range)
    radii = [r for r, _ in component.breaks] + list(component.knots)
    edges = np.unique(np.clip(np.concatenate([np.arange(low, high), [high], np.log(radii)]), low, high))
    edges = edges[np.append(True, np.diff(edges) > 8.0 * EPS * np.abs(edges[1:]))]

    def density(t: FloatArray) -> FloatArray:
        sign, log, *_ = component.evaluate(np.clip(np.exp(t.ravel()), *component.range))
        return (sign * np.exp(log + t.ravel() - component.log_peak)).reshape(t.shape)

    found = tanhsinh(density, edges[:-1], edges[1:], rtol=VALUE, atol=EPS)
    total = float(found.integral.sum())
    for side, (end, slope) in enumerate(zip((low, high), component.slopes, strict=True)):
        if np.isfinite(slope):
            total += float(density(np.array([end]))[0]) / ((slope + 1.0) * (1 - 2 * side))
    return total * float(np.exp(component.log_peak))

r"""A given spectrum S as a density: rho(w) = exp(log_factor) w^power S(unit w), and its measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy.integrate import tanhsinh

from spectra.base.accuracy import EPS, VALUE
from spectra.base.bessel import log_sphere_area
from spectra.base.numbers import FloatArray, real_array
from spectra.density.components import Component, Evaluation, SpectralDensity
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError
from spectra.measure import SpectralMeasure

__all__ = ["LEAST_RATE", "GivenComponent", "convention_of", "find_ends", "measure_of_component"]

# Rounding errors of S; those of k and of terms that cancel are found by a small step in log k.
_ROUNDING, _STEP = 16.0 * EPS, 2.0**-20
# Radii exp(-_FAR) to exp(_FAR) are searched, at _POINTS of them.  Values are negligible where
# w rho(w) is below exp(-92) = 1e-40 of its peak.
_FAR, _POINTS, _NEGLIGIBLE = 100.0, 8001, 92.0
# Exponents are measured between _COUNT points over the last _SPAN e-folds, and must agree to
# _AGREE; one that is stated may differ by _STATED.
_SPAN, _COUNT, _AGREE, _STATED = 20.0, 9, 1e-3, 0.25
#: The integral of w^rate dw/w converges if the rate is larger: a smaller one may hide logarithms.
LEAST_RATE = 1e-3
# The bulk has all of the mass but this share at each end.
_TAIL_SHARE = 0.01
# The second quadrature has intervals of this length in log w.
_PIECE = 0.25
_ENDS = ("k = 0", "infinity")
_REMEDIES = (
    "At k = 0 give an outer scale (as k**2 + 1/L**2 for k**2) or a lower limit, band=(low, inf).",
    "At infinity give an inner scale (as a factor exp(-(k*l)**2)) or a cut-off, band=(0, high).",
)


def convention_of(kind: str, dim: int, cycles: bool) -> tuple[float, float, float]:
    """The numbers (log_factor, power, unit) of a kind of spectrum."""
    log_turn, log_area = float(np.log(2.0 * np.pi)), float(log_sphere_area(dim))
    factors = {
        "density": (log_area - cycles * dim * log_turn, dim - 1.0),
        "power": (log_area - dim * log_turn, dim - 1.0),
        "shell": (-cycles * log_turn, 0.0),
        "log": (0.0, -1.0),
    }
    if kind not in factors:
        raise ParameterError(
            f"kind = {kind!r}: the variance is the integral of S dw ('density') or S dk/(2 pi)^d "
            "('power') over R^d, of S dk ('shell', one-sided spectra) or S dk/k ('log') over k > 0."
        )
    return *factors[kind], 1.0 / (2.0 * np.pi) if cycles else 1.0


@final
@dataclass(frozen=True, eq=False)
class GivenComponent(Component):
    """rho(w) by values of S in a range of radii; beyond, rho ~ w^slope (inf, -inf: rho is 0)."""

    function: Callable[[FloatArray], FloatArray]
    dim: int
    convention: tuple[float, float, float]
    range: tuple[float, float]
    slopes: tuple[float, float] = (np.inf, -np.inf)
    floor: float = 1e-30  # absolute error, as a share of the peak; an underflow is far below it
    log_peak: float = -np.inf  # of w |rho(w)|
    total: float = 0.0
    origin_exponent: float = 0.0
    bulk: tuple[float, float] = (1.0, 1.0)
    decay: float = np.inf
    breaks: tuple[tuple[float, float], ...] = ()
    has_one_sign: bool = False
    knots: tuple[float, ...] = ()  # of a spline

    def edges(self) -> FloatArray:
        return np.array(self.knots)

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        (log_factor, power, unit), inside = self.convention, np.clip(w, *self.range)
        with np.errstate(all="ignore"):
            values = np.broadcast_to(real_array(self.function(unit * inside), "S"), w.shape)
            log = np.log(np.abs(values)) + log_factor + power * np.log(inside)
            steps = np.where(w < inside, *self.slopes) * np.log(w / inside)
        return np.sign(values), np.where(w == inside, log, log + steps)

    def evaluate(self, w: FloatArray) -> Evaluation:
        (sign, log), t = self.signed_log(w), np.log(w)
        floor = np.log(self.floor) + self.log_peak - t
        floor = np.where(w == np.clip(w, *self.range), floor, -np.inf)
        size = np.maximum(log, floor)
        scale = np.where(np.isneginf(size), 0.0, size)
        share = np.exp(log - scale)
        moved = (self.signed_log(w * (1.0 + step)) for step in (-_STEP, _STEP))
        changes = [np.abs(s * np.exp(m - scale) - sign * share) / _STEP for s, m in moved]
        error = np.exp(floor - scale) + _ROUNDING * share
        error += EPS * (2.0 + np.abs(t)) * np.nan_to_num(np.maximum(*changes))
        return sign, log, size, np.minimum(error, 1.0)

    def sample(self) -> tuple[FloatArray, FloatArray]:
        """log w in the range, and log(w |rho|) there; nan where it is not finite."""
        low, high = np.log(self.range)
        # Middles of cells: rho may be infinite at an end.
        t = low + (high - low) / _POINTS * (0.5 + np.arange(_POINTS))
        size = self.signed_log(np.exp(t))[1] + t
        return t, np.where(size < np.inf, size, np.nan)


def find_ends(
    component: GivenComponent, label: str, exponents: tuple[float | None, float | None]
) -> tuple[GivenComponent, float]:
    """The component in the range where it is not negligible, and the error of what is beyond.

    ``exponents``: those of S at 0 and at infinity; None if they are unknown.
    """
    is_open = component.range[0] == 0.0, component.range[1] == np.inf
    ends = [component.range[0] or float(np.exp(-_FAR)), min(component.range[1], np.exp(_FAR))]
    component, power = replace(component, range=tuple(ends)), component.convention[1]
    t, size = component.sample()
    alive = np.flatnonzero(size > np.max(size, where=size > -np.inf, initial=-1e9) - _NEGLIGIBLE)
    near = slice(max(alive[0] - 1, 0), alive[-1] + 2) if alive.size else slice(None)
    if np.isnan(size[near]).any() or not alive.size:
        k = component.convention[2] * np.exp(t[near][np.argmax(np.isnan(size[near]))])
        raise ParameterError(
            f"The spectrum {label} is not finite at k = {k:.6g}, or 0 everywhere. Return its limit "
            "there, or give a band=(low, high)."
        )
    breaks, slopes, error = {r for r, _ in component.breaks}, [np.inf, -np.inf], 0.0
    for side, i in enumerate((alive[0], alive[-1])):
        if i != (0, _POINTS - 1)[side]:
            ends[side] = float(np.exp(t[i + 2 * side - 1]))
            local = np.diff(size[i - 1 : i + 2]) / np.diff(t[:3]) - 1.0
            if side == 0 and is_open[0] and np.ptp(local) <= _AGREE:
                slopes[0] = round(float(local[0]), 8)  # for the density near 0
        elif not is_open[side]:
            breaks.add(ends[side])
        else:
            slopes[side], lost = _open_end(component, label, side, exponents[side])
            error += lost
    diverging = [s for s in (0, 1) if (1 - 2 * s) * (slopes[s] + 1.0) < LEAST_RATE]
    if diverging:
        where = " and ".join(f"S ~ k^({slopes[s] - power:.4g}) at {_ENDS[s]}" for s in diverging)
        raise InfiniteMassError(
            f"The variance of the spectrum {label} is infinite, or converges too slowly: it is the "
            f"integral of S(k) k^{power:g} dk, and {where}. "
            f"{' '.join(_REMEDIES[s] for s in diverging)}"
        )
    found = tuple((r, 0.0) for r in sorted(breaks) if ends[0] <= r <= ends[1])
    return replace(component, range=tuple(ends), slopes=(slopes[0], slopes[1]), breaks=found), error


def _open_end(
    component: GivenComponent, label: str, side: int, exponent: float | None
) -> tuple[float, float]:
    """The exponent of rho at an end, and the error of the mass beyond it."""
    power, inward = component.convention[1], 1 - 2 * side
    t = np.log(component.range[side]) + inward * np.linspace(0.0, _SPAN, _COUNT)
    sign, log = component.signed_log(np.clip(np.exp(t), *component.range))
    slopes = np.diff(log) / np.diff(t)
    rates, last = inward * (slopes + 1.0), round(float(slopes[0] - power), 8)
    agree = np.ptp(slopes) <= _AGREE * (1.0 + np.abs(slopes).max()) and np.ptp(sign) == 0.0
    agree = agree or bool(np.all(rates < LEAST_RATE))
    if not (agree if exponent is None else abs(exponent - last) <= _STATED):
        raise ParameterError(
            f"The spectrum {label} has no clear power law at {_ENDS[side]}, or another one than is "
            f"stated: its exponent goes from {slopes[-1] - power:.4g} to {last:.4g} over {_SPAN:g} "
            f"e-folds. State it by {('origin', 'decay')[side]}=... {_REMEDIES[side]}"
        )
    slope = (last if exponent is None else exponent) + power
    rate, mass = inward * (slope + 1.0), float(np.exp(log[0] + t[0]))
    error = mass * abs(1.0 / rate - 1.0 / rates[0]) if min(rate, rates[0]) > 0.0 else 0.0
    return float(slope), error


def measure_of_component(
    component: GivenComponent, label: str, *, error: float, missing: float = 0.0
) -> SpectralMeasure:
    """The measure of a component whose ends are known; its masses are checked."""
    (t, size), dim = component.sample(), component.dim
    mass = np.cumsum(np.exp(size - size.max()))
    bulk = np.searchsorted(mass / mass[-1], [_TAIL_SHARE, 1.0 - _TAIL_SHARE])
    low, high = component.slopes
    component = replace(
        component,
        log_peak=float(size.max()),
        bulk=tuple(np.exp(t[bulk]).tolist()),
        origin_exponent=low if np.isfinite(low) else dim - 1.0,
        decay=-high,
    )
    component = replace(component, total=_total(component))
    density = SpectralDensity(None, dim, (component,), (), "given", label=label)
    measure = SpectralMeasure(dim, None, (), density, lost_mass=error, missing=missing)
    try:
        measure.mass  # noqa: B018
    except AccuracyError as found:
        raise AccuracyError(
            f"The spectrum {label} is not resolved. {found} If it has a kink, a jump or a narrow "
            "line, state the radii with breaks=[...]; if it oscillates without end, give a band."
        ) from found
    return measure


def _total(component: GivenComponent) -> float:
    """The integral of rho by a second quadrature, between all edges and on short steps of log w."""
    low, high = np.log(component.range)
    radii = [*(r for r, _ in component.breaks), *component.knots]
    edges = np.unique(np.clip([*np.arange(low, high, _PIECE), high, *np.log(radii)], low, high))
    edges = edges[np.append(True, np.diff(edges) > VALUE * np.abs(edges[1:]))]

    def density(t: FloatArray) -> FloatArray:
        sign, log = component.signed_log(np.clip(np.exp(t.ravel()), *component.range))
        return (sign * np.exp(log + t.ravel() - component.log_peak)).reshape(t.shape)

    limits = {"rtol": VALUE, "atol": EPS / np.sqrt(edges.size)}
    total = float(tanhsinh(density, edges[:-1], edges[1:], **limits).integral.sum())
    for end, slope, inward in zip((low, high), component.slopes, (1.0, -1.0), strict=True):
        if np.isfinite(slope):
            total += inward * float(density(np.array([end]))[0]) / (slope + 1.0)
    return total * float(np.exp(component.log_peak))

"""Changes of variable from the radius w to t, in which radial densities are smooth.

The density per unit of t decays at least exponentially at both ends of the range of t, so Legendre
panels resolve it: a chi distribution at d = 1000 as well as a tail w**-1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from spectra.base.accuracy import EPS
from spectra.base.fitting import Integrand
from spectra.base.numbers import FloatArray
from spectra.base.piecewise import Chart
from spectra.density.components import Atom, Component
from spectra.errors import AccuracyError

__all__ = [
    "break_depths",
    "charts_between",
    "proved_sign",
    "require_moderate_scale",
    "sample_density",
]

# Products and powers of radii must stay within the range of doubles.
_LARGEST_RADIUS = 1e50
# A difference of two doubles loses digits if it is below this share of them.
_NEAR = 1.0 / 16.0


def charts_between(
    breaks: Mapping[float, float], low: float, high: float
) -> list[tuple[Chart, float, float]]:
    """Charts that cover the radii from exp(low) to exp(high), ascending: (chart, start, stop) in t.

    Parameters
    ----------
    breaks : mapping of radius to depth
        Radii b at which a function is not smooth, and the e-folds of |w - b| / b that are covered.
        Charts end and begin at each b, and halfway to the next one below it (or to 0).
    low, high : float
        Logarithms of radii.

    Examples
    --------
    >>> [(c.origin, c.side) for c, *_ in charts_between({1.0: 40.0}, -9.0, 9.0)]
    [(0.0, 1.0), (1.0, -1.0), (1.0, 1.0)]
    """
    # Relative error of exp(high) from the rounding of high.
    rounding = (4.0 + abs(high)) * EPS
    end = float(np.exp(high)) * (1.0 + rounding)
    ranges, origin, start = [], 0.0, low
    for radius, depth in sorted(breaks.items()):
        if radius > end:
            break
        middle = 0.5 * (origin + radius)
        ranges.append((Chart(origin), start, float(np.log(middle - origin))))
        stop = depth - float(np.log(radius))
        ranges.append((Chart(radius, -1.0), -float(np.log(radius - middle)), stop))
        origin, start = radius, float(np.log(radius)) - depth
    if not origin:
        ranges.append((Chart(), low, high))
    elif np.exp(high) > origin * (1.0 + rounding):
        ranges.append((Chart(origin), start, float(np.log(np.exp(high) - origin))))
    return [(chart, start, stop) for chart, start, stop in ranges if stop > start]


def break_depths(components: Iterable[Component], depth: float) -> dict[float, float]:
    """The breaks of all components, each with the e-folds of the distance that an integral needs.

    The integral over smaller distances is below exp(-depth) of the component.
    """
    found: dict[float, float] = {}
    for component in components:
        for radius, exponent in component.breaks:
            sides = (component.by_distance(radius, side) for side in (-1.0, 1.0))
            width = min((part.bulk[1] for part in sides if part is not None), default=radius)
            folds = depth / (1.0 + min(exponent, 0.0)) + max(float(np.log(radius / width)), 0.0)
            found[radius] = max(found.get(radius, 0.0), folds)
    return found


def proved_sign(components: Iterable[Component]) -> int:
    """The sign that all components provably have at every radius; 0 if there is none."""
    signs = {int(np.sign(c.total)) if c.has_one_sign else 0 for c in components}
    return signs.pop() if len(signs) == 1 else 0


def sample_density(components: Iterable[Component], dim: int, chart: Chart) -> Integrand:
    """The sum rho(w) dw/dt as a function of t, for :func:`~spectra.base.piecewise.fit`."""
    summands = list(components)

    def values(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        sampled = np.array([_sample_component(c, dim, chart, t) for c in summands])
        sign, log, log_error = np.moveaxis(sampled, 1, 0)
        log_unit = np.maximum(log, log_error).max(axis=(0, -1))[..., None]
        log_unit = np.where(np.isfinite(log_unit), log_unit, 0.0)
        value = (sign * np.exp(log - log_unit)).sum(axis=0)
        return value, np.exp(log_error - log_unit).sum(axis=0), log_unit[..., 0]

    return values


def _sample_component(component: Component, dim: int, chart: Chart, t: FloatArray) -> FloatArray:
    """Sign, logarithm and logarithm of the error of rho(w) dw/dt of one component."""
    found = np.multiply.outer((0.0, -np.inf, -np.inf), np.ones_like(t))
    radii, end = chart.radius(t), component.end
    inside = radii < end
    w, log_slope = radii[inside], chart.log_slope(t)[inside]
    if not w.size:
        return found
    by_distance = component.by_distance(chart.origin, chart.side) if chart.origin else None
    if by_distance is not None:
        sign, log, log_size, relative = by_distance.evaluate(np.exp(log_slope))
    else:
        sign, log, log_size, relative = component.evaluate(w)
    if by_distance is None and chart.side < 0.0 and end == chart.origin:
        # rho ~ (end - w)^power: w is rounded, the distance exp(log_slope) is not.  Correct the
        # value, and take the error from radii where end - w keeps its digits.
        power = dict(component.breaks)[end]
        log_slope = log_slope + power * (log_slope - np.log(np.abs(w - end)))
        relative = component.relative_error(np.minimum(w, end - _NEAR * end))
    # Rounding of w and of the terms of log|rho|, one of which is (dim - 1) log w, in units of EPS.
    roundings = 4 + dim * (1.0 + np.abs(np.log(w)))
    roundings += 2.0 * np.where(np.isfinite(log), np.abs(log), 0.0)
    if component.tail is not None:
        # Rounding of t and of w changes the phase of the wave: errors in EPS for each radian.
        per_radian = np.maximum(0.25 * (1.0 + np.abs(t[inside])), 1.0)
        roundings += component.tail.frequency * w * per_radian
    log_error = log_size + log_slope + np.log(relative + EPS * roundings)
    found[:, inside] = sign, log + log_slope, log_error
    return found


def require_moderate_scale(components: Iterable[Component], atoms: Iterable[Atom] = ()) -> None:
    """Raise an AccuracyError if radii are too large or too small for powers of them in doubles."""
    bulks = [component.bulk for component in components]
    for low, high in (*bulks, *((a.radius, a.radius) for a in atoms if a.radius > 0.0)):
        if not (low >= 1.0 / _LARGEST_RADIUS and high <= _LARGEST_RADIUS):
            raise AccuracyError(
                f"A part of the spectrum has its mass at radii from {low:.1e} to {high:.1e}, and "
                "powers of such numbers leave the range of doubles. Measure distances in another "
                "unit: k.rescale(c) is k(z/c) and divides radii by c. If the radii span too many "
                "decades, k decays too slowly: make a measure for the distances in your data with "
                "design(...)."
            )

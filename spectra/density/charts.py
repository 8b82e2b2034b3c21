"""Variables in which densities are smooth up to the ends of their ranges.

In the variable t of a chart every density is smooth and decays at least exponentially at both
ends, so that Legendre panels resolve it: a chi distribution at d = 1000 as well as a tail w**-1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from spectra.base.enclosures import EPS, Integrand
from spectra.base.numbers import FloatArray
from spectra.density.components import Atom, Component
from spectra.errors import AccuracyError

__all__ = [
    "Chart",
    "break_depths",
    "charts_between",
    "proved_sign",
    "require_moderate_scale",
    "sample_density",
]

# log w is rounded to |log w| times the rounding of 1, which a density like w^d and its waves feel;
# and squares, powers and products of radii must stay doubles.
_LARGEST_SCALE = 1e50
# Share of a radius within which the distance to it loses digits.
_NEAR = 1.0 / 16.0


@dataclass(frozen=True)
class Chart:
    r"""An increasing map of a variable t to the radius: w = origin + way exp(way t), way = 1 or -1.

    With -1 it resolves an algebraic end :math:`(origin - w)^\beta`, of a bounded spectrum or below
    a radius at which a density is not smooth; with 1 the range above such a radius.
    """

    origin: float = 0.0
    way: float = 1.0

    def radius(self, t: FloatArray) -> FloatArray:
        """Radius w at t, never rounded to the origin."""
        w = self.origin + self.way * np.exp(self.way * t)
        if self.way < 0.0:
            return np.minimum(w, np.nextafter(self.origin, 0.0))
        return np.maximum(w, np.nextafter(self.origin, np.inf)) if self.origin else w

    def variable(self, w: FloatArray) -> FloatArray:
        """The variable t at the radius w."""
        return np.asarray(self.way * np.log(self.way * (w - self.origin)))

    def log_slope(self, t: FloatArray) -> FloatArray:
        """Logarithm of dw/dt, which is the distance to the origin."""
        return self.way * t


def charts_between(
    breaks: Mapping[float, float], low: float, high: float
) -> list[tuple[Chart, float, float]]:
    """Charts from exp(low) to exp(high) in the order of the radius, with the ends of their t.

    Parameters
    ----------
    breaks : mapping of radius to depth
        Radii at which a function is not smooth, and how many e-folds of the distance to them
        matter.  Charts end and begin there, and meet halfway between two of them.
    low, high : float
        Logarithms of radii.

    Examples
    --------
    >>> [(c.origin, c.way) for c, *_ in charts_between({1.0: 40.0}, -9.0, 9.0)]
    [(0.0, 1.0), (1.0, -1.0), (1.0, 1.0)]
    """
    # A logarithm is rounded, and the more of it the farther its radius is from 1.
    rounded = (4.0 + abs(high)) * EPS
    end = float(np.exp(high)) * (1.0 + rounded)
    ranges, last, start = [], 0.0, low
    for radius, depth in sorted(breaks.items()):
        if radius > end:
            break
        middle = 0.5 * (last + radius)
        ranges.append((Chart(last), start, float(np.log(middle - last))))
        stop = depth - float(np.log(radius))
        ranges.append((Chart(radius, -1.0), -float(np.log(radius - middle)), stop))
        last, start = radius, float(np.log(radius)) - depth
    if not last:
        ranges.append((Chart(), low, high))
    elif np.exp(high) > last * (1.0 + rounded):
        ranges.append((Chart(last), start, float(np.log(np.exp(high) - last))))
    return [(chart, start, stop) for chart, start, stop in ranges if stop > start]


def break_depths(components: Iterable[Component], depth: float) -> dict[float, float]:
    """Count the e-folds of the distance to each break that matter."""
    found: dict[float, float] = {}
    for component in components:
        for radius, exponent in component.breaks:
            sides = (component.by_distance(radius, side) for side in (-1.0, 1.0))
            width = min((seen.bulk[1] for seen in sides if seen is not None), default=radius)
            folds = depth / (1.0 + min(exponent, 0.0)) + max(float(np.log(radius / width)), 0.0)
            found[radius] = max(found.get(radius, 0.0), folds)
    return found


def proved_sign(components: Iterable[Component]) -> int:
    """The sign that formulas prove wherever a sum is not zero; 0 if they prove none."""
    signs = {int(np.sign(c.total)) if c.has_one_sign else 0 for c in components}
    return signs.pop() if len(signs) == 1 else 0


def sample_density(components: Iterable[Component], dim: int, chart: Chart) -> Integrand:
    """The signed density per unit of t, as :func:`.resolve` takes it."""
    parts = list(components)

    def values(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        sampled = np.array([_sample_component(c, dim, chart, t) for c in parts])
        sign, log, wrong = np.moveaxis(sampled, 1, 0)
        unit = np.maximum(log, wrong).max(axis=(0, -1))[..., None]
        unit = np.where(np.isfinite(unit), unit, 0.0)
        value = (sign * np.exp(log - unit)).sum(axis=0)
        return value, np.exp(wrong - unit).sum(axis=0), unit[..., 0]

    return values


def _sample_component(component: Component, dim: int, chart: Chart, t: FloatArray) -> FloatArray:
    """Signs and logarithms of a density per unit of t, and logarithms of its errors."""
    w, slope = chart.radius(t), chart.log_slope(t)
    end = component.end
    found = np.multiply.outer((0.0, -np.inf, -np.inf), np.ones_like(t))
    inside = w < end
    at, shift = w[inside], slope[inside]
    if not at.size:
        return found
    side = component.by_distance(chart.origin, chart.way) if chart.origin else None
    seen, place = (component, at) if side is None else (side, np.exp(shift))
    sign, log, size, relative = seen.evaluate(place)
    if side is None and chart.way < 0.0 and end == chart.origin:
        # The radius is rounded, its distance to the end is not: move the value there, and
        # take the error from where the rounding of the distance does not count.
        power = dict(component.breaks)[end]
        shift = shift + power * (shift - np.log(np.abs(at - end)))
        relative = component.relative_error(np.minimum(at, end - _NEAR * end))
    # The radius itself is rounded: that counts as often as log|rho| falls with log w, and
    # every formula of log|rho| holds the term (dim - 1) log w.
    steepness = 4 + dim * (1.0 + np.abs(np.log(at)))
    steepness += 2.0 * np.where(np.isfinite(log), np.abs(log), 0.0)
    if component.tail is not None:
        # So is the variable in which it is integrated.
        rounded = np.maximum(0.25 * (1.0 + np.abs(t[inside])), 1.0)
        steepness += component.tail.frequency * at * rounded
    found[:, inside] = sign, log + shift, size + shift + np.log(relative + EPS * steepness)
    return found


def require_moderate_scale(components: Iterable[Component], atoms: Iterable[Atom] = ()) -> None:
    """Refuse components and atoms whose radii are too large or too small for doubles."""
    bulks = [component.bulk for component in components]
    for low, high in (*bulks, *((a.radius, a.radius) for a in atoms if a.radius > 0.0)):
        if not (low >= 1.0 / _LARGEST_SCALE and high <= _LARGEST_SCALE):
            raise AccuracyError(
                f"A part of the spectrum has its mass at radii from {low:.1e} to {high:.1e}, and "
                "powers of such numbers leave the range of doubles. Measure distances in another "
                "unit if that is the reason: k.rescale(c) is k(z/c), with radii divided by c. If "
                "they span too many decades, k decays too slowly: make a measure for the distances "
                "in your data with design(...)."
            )

"""What tails say of the mass of a density: whether it is infinite, how much lies far out."""

from __future__ import annotations

import numpy as np

from spectra.charts import RadialSum
from spectra.density import Component, EndTail, OscillatingTail, PowerTail
from spectra.measure.sign_intervals import sign_intervals
from spectra.measure.stretches import stretches_of
from spectra.quadrature import Enclosure

__all__ = ["beating_tail", "why_infinite"]

# Lobes listed one by one where more frequencies beat than have means.
_LISTED_LOBES = 400


def why_infinite(component: Component) -> str:
    """Why the mass of a component is infinite, in words; empty where it is finite."""
    tail = component.tail
    if component.origin_exponent <= -1:
        return f"it behaves like w^({component.origin_exponent:g}) at w = 0"
    if isinstance(tail, PowerTail) and tail.exponent <= 1:
        return f"it behaves like w^({-tail.exponent:g}) at infinity"
    if isinstance(tail, EndTail) and tail.exponent <= -1:
        return f"it grows like (R - w)^({tail.exponent:g}) at w = R = {tail.radius:g}"
    if isinstance(tail, OscillatingTail):
        slowest = min(tail.exponent, tail.background_exponent)
        if slowest <= 1:
            return (
                f"it oscillates with frequency {tail.frequency:g} and behaves like "
                f"w^({-slowest:g}) at infinity"
            )
    return ""


def beating_tail(components: tuple[Component, ...], dim: int) -> tuple[float, Enclosure]:
    """Where to stop with several frequencies, and the mass of either sign that may lie beyond.

    It serves where :class:`~spectra.measure.beats.BeatingTail` has no means: for more than three
    free phases.
    """
    tails = [c.tail for c in components if isinstance(c.tail, OscillatingTail)]
    fastest = max(t.frequency for t in tails)
    cut = max([t.start for t in tails] + [_LISTED_LOBES * np.pi / fastest])
    at = np.array([cut])
    bound = 0.0
    for t in tails:
        bound += float(t.amplitude(at)[0]) * cut / (t.exponent - 1.0)
        if np.isfinite(t.background_exponent):
            bound += abs(float(t.background(at)[0])) * cut / (t.background_exponent - 1.0)
    smooth = tuple(c for c in components if not isinstance(c.tail, OscillatingTail))
    if smooth:
        whole = RadialSum(smooth, dim)
        for cut_at, sign in ((np.inf, 1.0), (cut, -1.0)):
            intervals, _ = sign_intervals(whole, cut=cut_at)
            for stretch in stretches_of(intervals):
                bound += sign * stretch.mass.mid + stretch.mass.rad
    # Amplitudes settle like 1/w: a tenth covers what the power law misses at the cut.
    bound *= 1.1
    return float(cut), Enclosure(0.5 * bound, 0.5 * bound)

"""A law of radii cut at its gaps, double zeros and atoms, and where its two sides meet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from spectra.base.enclosures import EPS
from spectra.measure import MeasurePart
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["Cut", "cuts_of", "sides_of"]

# A density has a simple zero at a sign change: mass beyond it grows like the square of the step.
_SIMPLE_ZERO = 2.0
# And where it touches zero without a change of sign, like the cube.
_DOUBLE_ZERO = 3.0
# An atom with less than this below it still sees the law start like a power of the radius.
_NEAR_ORIGIN = 0.05
# The two sides meet at a gap or an atom within this distance of u = 1/2, if there is one.
_SPLIT_WITHIN = 0.3
# Where they may meet otherwise, and the rounding of u that must not matter there: it moves the
# radius by less than a panel joins its neighbour.
_SPLITS = (0.5, 0.4375, 0.5625, 0.375, 0.625, 0.3125, 0.6875)
_SETTLED = 64.0 * EPS
_CALM = 1e-10


@dataclass(frozen=True)
class Cut:
    """A radius at which a law is cut; an atom lies between two cuts at its radius.

    Attributes
    ----------
    radius : float
    below, above : float
        The continuous mass below and above it.
    u, q : float
        The probability below and above it, atoms included.
    powers : tuple of float
        e where the radius is like \\|u - u there\\|^(1/e), below it and above it; towards the outer
        end of the law and away from it, once the cuts are those of a side.
    touch : float or None
        The radius itself where the density is 0 there without a change of sign.
    """

    radius: float
    below: float
    above: float
    u: float = 0.0
    q: float = 0.0
    powers: tuple[float, float] = (1.0, 1.0)
    touch: float | None = None


def cuts_of(law: MeasurePart, cut: float, tail: WaveTail | None) -> list[Cut]:
    """The cuts of a law from its begin to its end, which is infinite where it has none.

    ``cut`` is the radius at which the measure was truncated.
    """
    total = float(law.above[0] + law.head)
    last, open_end = _upper_end(law, cut)
    end = Cut(np.inf, law.below[-1] + law.tail, law.beyond)
    points, powers, touched = _inner_cuts(law)
    atoms = [0.0] * len(points)
    for atom in law.atoms:
        below, above = _beside_atom(atom.radius, law, total, None if open_end else end)
        points += [Cut(atom.radius, below, above)] * 2
        atoms += [0.0, atom.mass]
    order = sorted(range(len(points)), key=lambda i: (points[i].radius, atoms[i]))
    points = [Cut(0.0, 0.0, total), *(points[i] for i in order), end]
    atoms_below = list(accumulate([0.0, *(atoms[i] for i in order), 0.0]))

    first = law.resolved.rates[0] if law.head > 0 else _SIMPLE_ZERO
    found = []
    for point, before in zip(points, atoms_below, strict=True):
        # Cuts of one mass are one point of the law.
        power = powers.get(point.below, 1.0)
        after = first if power == 1.0 and point.below < _NEAR_ORIGIN * law.total else power
        # What lies beyond a gap may be too little to count, and then the law ends at the gap.
        until = last if power == 1.0 and point.below == end.below else power
        found.append(
            replace(
                point,
                u=(point.below + before) / law.total,
                q=(point.above + max(atoms_below[-1] - before, 0.0)) / law.total,
                powers=(until, after),
                touch=touched.get(point.below),
            )
        )
    radius = np.inf if open_end else max(float(law.high[-1]), found[-2].radius)
    found[-1] = replace(found[-1], radius=radius, q=0.0 if tail is None else tail.mass)
    return found


def _inner_cuts(law: MeasurePart) -> tuple[list[Cut], dict[float, float], dict[float, float]]:
    """Cuts at gaps, breaks and double zeros; by the mass below: powers, and radii of the last."""
    gaps = np.flatnonzero(law.resolved.after_gap)
    powers = {float(law.below[i]): _SIMPLE_ZERO for i in gaps}
    points = [Cut(float(law.high[i - 1]), law.below[i], law.above[i]) for i in gaps]
    for i, power in law.breaks():
        if i not in gaps:
            points.append(Cut(float(law.resolved.origin[i]), law.below[i], law.above[i]))
            powers |= {float(law.below[i]): power} if power != 1.0 else {}
    touched: dict[float, float] = {}
    for i in np.flatnonzero(law.resolved.touches & ~law.resolved.after_gap):
        points.append(Cut(float(law.low[i]), float(law.below[i]), float(law.above[i])))
        touched[float(law.below[i])] = float(law.low[i])
    return points, powers | dict.fromkeys(touched, _DOUBLE_ZERO), touched


def _beside_atom(
    radius: float, law: MeasurePart, total: float, end: Cut | None
) -> tuple[float, float]:
    """The continuous mass below and above an atom, the same as that of a cut at its radius."""
    if radius == 0.0:
        # A density that starts at a sign change has rounding errors of mass before it.
        return 0.0, total
    gaps = np.flatnonzero(law.resolved.after_gap)
    inside = [i for i in gaps if law.high[i - 1] <= radius <= law.low[i]]
    inside = inside or [i for i, _ in law.breaks() if float(law.resolved.origin[i]) == radius][-1:]
    if inside:
        return float(law.below[inside[0]]), float(law.above[inside[0]])
    if end is not None and radius >= law.high[-1]:
        return float(end.below), float(end.above)
    below, above = (float(x[0]) for x in law.split_at(np.array([radius], float)))
    return below, above


def _upper_end(law: MeasurePart, cut: float) -> tuple[float, bool]:
    """Power of the last listed stretch at its upper end, and whether its radius is unbounded."""
    if law.waves is not None:
        # The waves begin at any radius, at which a density of the other sign has ended before.
        ended = law.high[-1] < law.waves.start * (1.0 - 1e-12)
        return (_SIMPLE_ZERO if ended else 1.0), False
    if law.tail > 0:
        # A density that grows towards the end makes a radius that is smooth in q as it is.
        return (
            (1.0, True) if law.resolved.way[-1] > 0.0 else (max(law.resolved.rates[1], 1.0), False)
        )
    if law.high[-1] >= cut * (1.0 - 1e-12):
        return 1.0, False
    return _SIMPLE_ZERO, False


def sides_of(cuts: list[Cut], law: MeasurePart) -> tuple[list[Cut], list[Cut]]:
    """The cuts of the left side and of the right one, each from its outer end to where they meet.

    They meet near u = 1/2, but never inside an atom or a tail.
    """
    i = _split_of(cuts, law)
    split = replace(cuts[i], q=1.0 - cuts[i].u)
    right = [*cuts[:i:-1], split]
    return [*cuts[:i], split], [replace(cut, powers=cut.powers[::-1]) for cut in right]


def _split_of(cuts: list[Cut], law: MeasurePart) -> int:
    """The number of the cut where the sides meet, which is put among them where there is none."""
    # The start of a law keeps its digits on one side only, so that ranges are best left whole.
    near = [i for i in range(1, len(cuts) - 1) if abs(cuts[i].u - 0.5) < _SPLIT_WITHIN]
    if near:
        return min(near, key=lambda i: abs(cuts[i].u - 0.5))
    for i, (here, there) in enumerate(pairwise(cuts)):
        if here.u <= 0.5 < there.u:
            if there.below > here.below:
                cuts.insert(i + 1, _settled(here, there, law))
            return i + 1
    # More than half of the law is the tail: leave one range to the right side.
    return max(i for i in range(len(cuts)) if cuts[i].below < cuts[-1].below)


def _settled(here: Cut, there: Cut, law: MeasurePart) -> Cut:
    """A cut between two others, at the u nearest to 1/2 whose radius does not hang on its rounding.

    Between two clusters of radii it does, and the two sides would not meet.
    """
    shares = np.array([u for u in _SPLITS if here.u <= u < there.u])
    step = law.total * (shares - here.u)
    below, above = here.below + step, here.above - step
    shift = _SETTLED * law.total
    radii = [law.radius(below + move, above - move) for move in (-shift, shift)]
    jumps = radii[1] / radii[0] - 1.0
    calm = np.flatnonzero(jumps <= _CALM)
    i = int(calm[0] if calm.size else np.argmin(jumps))
    return Cut(float(radii[0][i]), float(below[i]), float(above[i]), float(shares[i]))

"""A law of radii cut at its gaps, double zeros and atoms, and where its two sides meet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from spectra.measure import MeasurePart
from spectra.quadrature import EPS
from spectra.table.lobed_tail import LobedTail
from spectra.table.mixed_tail import MixedTail
from spectra.tabulation.cdf import ContinuousLaw

__all__ = ["Span", "Tail", "spans_of", "split_of"]

Tail = LobedTail | MixedTail

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
class _Point:
    """A radius where the law is cut: the continuous mass on both sides of it, and an atom.

    The radius is like (u - u there)^(1/power) beside it, and ``touch`` is where a density is 0
    without a change of sign.
    """

    radius: float
    below: float
    above: float
    atom: float = 0.0
    power: float = 1.0
    touch: float | None = None


@dataclass(frozen=True)
class Span:
    """A continuous range between two points, or an atom, in the order of the radius.

    Attributes
    ----------
    u, q : tuple of float
        Probabilities below and above, at the two ends.
    below, above : tuple of float
        The continuous mass below and above the radii of the two ends.
    powers : tuple of float
        e where the radius is like (u - end)^(1/e) at the ends.
    atom_radius : float or None
        The radius of an atom.
    tail : bool
        Whether the radius is infinite at the upper end.
    touches : tuple
        The radii of double zeros of the density at the ends.
    """

    u: tuple[float, float]
    q: tuple[float, float]
    below: tuple[float, float]
    above: tuple[float, float]
    powers: tuple[float, float]
    atom_radius: float | None = None
    tail: bool = False
    touches: tuple[float | None, float | None] = (None, None)


def _cuts(part: MeasurePart, law: ContinuousLaw, open_end: bool) -> list[_Point]:
    """The points at which a law is cut, from its begin to its end."""
    gaps = law.gaps()
    powers = {float(law.below[i]): _SIMPLE_ZERO for i in gaps}
    end = _Point(np.inf, law.below[-1] + law.tail.mass, law.beyond)
    points = [_Point(float(law.high[i - 1]), law.below[i], law.above[i]) for i in gaps]
    for i, power in law.breaks():
        if i not in gaps:
            points.append(_Point(float(law.origin[i]), law.below[i], law.above[i]))
            powers |= {float(law.below[i]): power} if power != 1.0 else {}
    zeros = law.double_zeros()
    touched: dict[float, float] = {}
    for radius, below, above in zip(zeros, *law.masses(zeros), strict=True):
        points.append(_Point(float(radius), float(below), float(above)))
        touched[float(below)] = float(radius)
    total = law.above[0] + law.head.mass
    for atom in part.atoms:
        below, above = _beside_atom(atom.radius, law, total, None if open_end else end)
        points.append(_Point(atom.radius, below, above, atom.mass))
    if part.lobes is not None and part.lobes.touching:
        touched[end.below] = part.lobes.start_of(part.first_lobe, part.sign)
    powers |= dict.fromkeys(touched, _DOUBLE_ZERO)
    points.sort(key=lambda p: (p.radius, p.atom))
    # Points of one mass are one point of the law.
    return [
        replace(p, power=powers.get(p.below, 1.0), touch=touched.get(p.below))
        for p in (_Point(0.0, 0.0, total), *points, end)
    ]


def _beside_atom(
    radius: float, law: ContinuousLaw, total: float, end: _Point | None
) -> tuple[float, float]:
    """The continuous mass below and above an atom, the same as that of a cut at its radius."""
    if radius == 0.0:
        # A density that starts at a sign change has rounding errors of mass before it.
        return 0.0, float(total)
    inside = [i for i in law.gaps() if law.high[i - 1] <= radius <= law.low[i]]
    inside = inside or [i for i, _ in law.breaks() if float(law.origin[i]) == radius][-1:]
    if inside:
        return float(law.below[inside[0]]), float(law.above[inside[0]])
    if end is not None and radius >= law.high[-1]:
        return float(end.below), float(end.above)
    below, above = (float(x[0]) for x in law.masses(np.array([radius], float)))
    return below, above


def spans_of(
    part: MeasurePart, law: ContinuousLaw, mass: float, cut: float, tail: Tail | None
) -> list[Span]:
    """Cut the law at its gaps, double zeros and atoms."""
    last, open_end = _upper_end(part, law, cut)
    points = _cuts(part, law, open_end)
    end = points[-1]
    first = law.head.rate if law.head.mass > 0 else _SIMPLE_ZERO
    atoms_before, atoms_after = 0.0, float(sum(p.atom for p in points))
    spans = []
    for here, there in pairwise(points):
        atoms_before += here.atom
        atoms_after -= here.atom
        before, after = atoms_before / mass, max(atoms_after, 0.0) / mass
        if here.atom:
            left = ((here.below + atoms_before - here.atom) / mass, here.below / mass + before)
            right = (here.above / mass + after, (here.above + atoms_after + here.atom) / mass)
            spans.append(Span(left, right, (0.0, 0.0), (0.0, 0.0), (1.0, 1.0), here.radius))
        if there.below > here.below:
            low = here.power
            if low == 1.0 and here.below < _NEAR_ORIGIN * mass:
                low = first
            # What lies beyond a gap may be too little to count, and then the law ends at the gap.
            high = last if there.below == end.below and there.power == 1.0 else there.power
            q_low = tail.mass if there is end and tail is not None else there.above / mass + after
            spans.append(
                Span(
                    (here.below / mass + before, there.below / mass + before),
                    (q_low, here.above / mass + after),
                    (here.below, there.below),
                    (here.above, there.above),
                    (low, high),
                    tail=there is end and open_end,
                    touches=(here.touch, there.touch),
                )
            )
    return spans


def _upper_end(part: MeasurePart, law: ContinuousLaw, cut: float) -> tuple[float, bool]:
    """Power of the last listed stretch at its upper end, and whether its radius is unbounded."""
    last = part.stretches[-1]
    if part.apart is not None:
        before = law.high[-1] < part.apart.start * (1.0 - 1e-12)
        return (_SIMPLE_ZERO if before or part.apart.starts_at_zero else 1.0), False
    if part.lobes is not None:
        # A lobe that fills the whole period runs into the next one without a zero.
        width = part.lobes.half_widths(np.array([float(part.first_lobe)]), part.sign, -1)[0]
        return (_SIMPLE_ZERO if width < np.pi else 1.0), False
    if law.tail.mass > 0:
        # A density that grows towards the end makes a radius that is smooth in q as it is.
        return (1.0, True) if last.chart.end is None else (max(law.tail.rate, 1.0), False)
    if law.high[-1] >= cut * (1.0 - 1e-12):
        return 1.0, False
    return _SIMPLE_ZERO, False


def split_of(spans: list[Span], tail: Tail | None, law: ContinuousLaw, mass: float) -> float:
    """Probability at which the left panels end: near 1/2, but never inside an atom or a tail."""
    # The start of a law keeps its digits on one side only, so that spans are best left whole.
    bounds = [span.u[1] for span in spans[:-1] if abs(span.u[1] - 0.5) < _SPLIT_WITHIN]
    if bounds:
        return float(min(bounds, key=lambda u: abs(u - 0.5)))
    for span in spans:
        if span.u[0] <= 0.5 < span.u[1]:
            if span.atom_radius is not None:
                return float(min(span.u[1], 1.0))
            return _settled(span, law, mass)
    # More than half of the law is the lobed tail: leave one stretch to the right side.
    return spans[-1].u[0] if tail is not None else 0.5


def _settled(span: Span, law: ContinuousLaw, mass: float) -> float:
    """The probability nearest to 1/2 whose radius does not hang on its rounding.

    Between two clusters of radii it does, and the two sides would not meet.
    """
    shares = np.array([u for u in _SPLITS if span.u[0] <= u < span.u[1]])
    step = mass * (shares - span.u[0])
    radii = [
        law.radius(span.below[0] + step + shift, span.above[0] - step - shift)
        for shift in (-_SETTLED * mass, _SETTLED * mass)
    ]
    jumps = radii[1] / radii[0] - 1.0
    calm = np.flatnonzero(jumps <= _CALM)
    return float(shares[calm[0] if calm.size else np.argmin(jumps)])

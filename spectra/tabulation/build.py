"""From a finite measure to its table: inverse CDFs of the radius, with a measured error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from spectra.density import Atom
from spectra.errors import AccuracyError, ParameterError
from spectra.measure import MeasurePart, SpectralMeasure
from spectra.measure.stretches import refined
from spectra.progress import staged
from spectra.quadrature import EPS
from spectra.table import Part, SpectralTable
from spectra.table.lobed_tail import LobedTail
from spectra.table.mixed_tail import MixedTail
from spectra.table.panels import PanelKind, Panels
from spectra.table.radial_law import RadialLaw
from spectra.tabulation.cdf import ContinuousLaw
from spectra.tabulation.fit import DEGREE, END_PROBABILITY, PanelRow, Piece, fit_pieces
from spectra.tabulation.lobed import fit_lobed_tail, fit_mixed_tail, lobed_tail_error

__all__ = ["tabulate"]

FloatArray = NDArray[np.float64]
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
# Probabilities summed from below and from above agree to this fraction; a span that is shorter is
# the rounding of these sums.
_SAME = 16.0 * EPS
# Distance of a radius from an atom, relative to it, that rounding can make.
_ROUNDING = 32.0 * EPS
# Where the neighbours of a double hold more probability than this, no radius comes much closer.
_NEIGHBOURS, _COARSE = 4.0 * EPS, 1e-13
# Half the spacing of doubles below 1: no table can be asked for less.
_LEAST_U_ERROR = 1e-15
# Without a wish: what the fit aims below, and what a density of few digits may leave.
_AIM = 1e-12
_ACCEPTED = 1e-9
# Between the places at which the error is measured rounding may be twice as large.
_UNSEEN = 2.0
# Places in each panel at which its error is measured; none is a node of the fit.
_MEASURED_AT = np.array([0.013, 0.171, 0.377, 0.619, 0.853, 0.991])


@staged(
    "tabulating",
    advice="ask for less with u_error=, or make a measure for your distances with design(...)",
)
def tabulate(measure: SpectralMeasure, *, u_error: float | None = None) -> SpectralTable:
    r"""Tabulate the law of the radius of each Jordan part of a finite measure.

    The table of a part is an inverse CDF P with :math:`|F(P(u)) - u|` at most ``u_error``, and
    at most 1e-7 of min(u, 1 - u), so that its tails keep their shape.  The fit aims three digits
    below ``u_error``; by default it goes down to the rounding of a probability, a few 1e-15,
    where the density has the digits for it, and accepts 1e-9 where it has not. The error is
    measured afterwards, off the nodes of the fit, against a quadrature twice as fine and against
    k(0). Where neighbouring doubles are further apart in probability than that, at a pole of the
    density, it counts from the nearest of them.

    Where lobes of several frequencies beat, as those of a sum of kernels that end at different
    radii, they have no law. Such a table holds the Jordan parts up to a thousand lobes, and beyond
    them those of each frequency by itself: its kernel is exact, and its mass a little larger than
    that of the measure, by a share like the power of 1/1000 with which the tail falls.

    Parameters
    ----------
    measure : SpectralMeasure
        A finite measure, such as ``existence(kernel, dim).measure``.
    u_error : float, optional
        Largest error in probability that is accepted; 1e-6 is reached in a third of the time.
        None for the best that the density allows, at most 1e-9.

    Returns
    -------
    SpectralTable
        With the measured ``u_error``, twice the largest error that was seen; what is not known of
        the masses is their ``mass_error``.

    Raises
    ------
    ParameterError
        Where what is given is not a finite measure: ask for the verdict first.
    AccuracyError
        Where the error asked for is not reached; the message says what was.

    Examples
    --------
    >>> from spectra.measure import SpectralMeasure
    >>> table = tabulate(SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25]))
    >>> [(part.mass, part.sign) for part in table.parts]
    [(0.75, 1.0), (0.25, -1.0)]
    """
    if not isinstance(measure, SpectralMeasure):
        raise ParameterError(
            f"A table needs a finite SpectralMeasure, and got {type(measure).__name__}. Ask for "
            "the verdict first: existence(kernel, dim=...).measure is finite or says why not; "
            "design(...) and spectra.measure.truncate(...) make one where there is none. The "
            "measure of an asymmetric kernel is tabulated by spectra.asymmetric_measure."
        )
    aim, accepted = (_AIM, _ACCEPTED) if u_error is None else (u_error, u_error)
    if isinstance(accepted, bool) or not isinstance(accepted, Real) or not accepted < 1.0:
        raise ParameterError(
            f"u_error={u_error!r} is not an error in probability: give a number below 1, such as "
            "1e-12."
        )
    if not accepted >= _LEAST_U_ERROR:
        raise ParameterError(
            f"u_error={u_error} is below {_LEAST_U_ERROR:g}, the resolution of a probability in "
            "double precision."
        )
    if not measure.bias < np.inf:
        raise ParameterError(
            f"The measure was truncated at radius {measure.radius:g} from one of infinite mass, so "
            "the error that this makes in the kernel has no bound, and a table of it would "
            "represent nothing. Design a finite measure for your range of distances instead."
        )
    parts, reached, total = [], 0.0, 0.0
    held = measure.parts("apart")
    for part in held:
        law, error = _tabulate_part(part, measure.radius, aim)
        parts.append(Part(part.mass.mid, part.mass.rad, part.phase, law))
        reached = max(reached, error)
        total += part.sign * part.mass.mid
    if parts:
        # What the two masses miss k(0) by is the density's own error, as far as it can be seen.
        reached += abs(total - measure.k_zero) / sum(p.mass for p in parts)
    if reached > accepted:
        raise AccuracyError(
            f"The table of {measure.kernel} on R^{measure.dim} reached an error of {reached:.2e} "
            f"in probability, not the {accepted:.2e} asked for. Ask for u_error={2 * reached:.1e}."
        )
    kernel = measure.kernel
    return SpectralTable(
        dim=measure.dim,
        parts=tuple(parts),
        formula="designed" if kernel is None else str(kernel),
        k_zero=measure.k_zero,
        u_error=reached,
        bias=measure.bias,
        sphere=kernel is not None and kernel.is_zonal,
        provenance=_provenance(measure, held),
    )


@dataclass(frozen=True)
class _Point:
    """A radius where the law is cut: the continuous mass on both sides of it, and an atom."""

    radius: float
    below: float
    above: float
    atom: float = 0.0


@dataclass(frozen=True)
class _Span:
    """A continuous range between two points, or an atom, in the order of the radius."""

    u: tuple[float, float]
    q: tuple[float, float]
    below: tuple[float, float]
    above: tuple[float, float]
    powers: tuple[float, float]
    atom_radius: float | None = None
    tail: bool = False
    touches: tuple[float | None, float | None] = (None, None)


def _tabulate_part(part: MeasurePart, cut: float, u_error: float) -> tuple[RadialLaw, float]:
    if not part.stretches and part.lobes is None and part.apart is None:
        radii = [a.radius for a in part.atoms]
        masses = np.array([a.mass for a in part.atoms])
        return RadialLaw.from_atoms(radii, masses / masses.sum()), EPS * masses.size
    beyond = 0.0
    if part.lobes is not None:
        beyond = part.lobes.mass_from(part.first_lobe, part.sign).mid
    elif part.apart is not None:
        beyond = part.apart.mass(part.sign).mid
    law = ContinuousLaw.of(part.stretches, beyond)
    mass = law.mass + float(sum(a.mass for a in part.atoms))
    tail: Tail | None = None
    tail_error = 0.0
    if part.apart is not None:
        tail, tail_error = fit_mixed_tail(part.apart, part.sign, mass)
    elif part.lobes is not None:
        tail = fit_lobed_tail(part.lobes, part.sign, part.first_lobe, mass)
        tail_error = lobed_tail_error(tail, part.lobes, part.sign, mass)
    spans = _spans(part, law, mass, cut, tail)
    split = _split(spans, tail, law, mass)
    left = _side(law, mass, spans, split, tail, u_error, from_above=False)
    right = _side(law, mass, spans, split, tail, u_error, from_above=True)
    table = RadialLaw.from_panels(left, right, tail)
    finer = ContinuousLaw.of(refined(part.stretches), beyond)
    return table, _UNSEEN * max(tail_error, _measured_error(table, finer, part.atoms, mass))


def _spans(
    part: MeasurePart, law: ContinuousLaw, mass: float, cut: float, tail: Tail | None
) -> list[_Span]:
    """Cut the law at its gaps, double zeros and atoms."""
    gaps = law.gaps()
    zero_at = {float(law.below[i]): _SIMPLE_ZERO for i in gaps}
    total = law.above[0] + law.head.mass
    first = law.head.rate if law.head.mass > 0 else _SIMPLE_ZERO
    last, open_end = _upper_end(part, law, cut)
    end = _Point(np.inf, law.below[-1] + law.tail.mass, law.beyond)
    points = [_Point(float(law.high[i - 1]), law.below[i], law.above[i]) for i in gaps]
    breaks = {float(law.origin[i]): i for i, _ in law.breaks()}
    for i, power in law.breaks():
        if i not in gaps:
            points.append(_Point(float(law.origin[i]), law.below[i], law.above[i]))
            zero_at |= {float(law.below[i]): power} if power != 1.0 else {}
    touched = law.double_zeros()
    touched_at: dict[float, float] = {}
    for radius, below, above in zip(touched, *law.masses(touched), strict=True):
        points.append(_Point(float(radius), float(below), float(above)))
        touched_at[float(below)] = float(radius)
    for atom in part.atoms:
        inside = [i for i in gaps if law.high[i - 1] <= atom.radius <= law.low[i]]
        if atom.radius == 0.0:
            # A density that starts at a sign change has rounding errors of mass before it.
            below, above = 0.0, total
        elif inside or atom.radius in breaks:
            i = inside[0] if inside else breaks[atom.radius]
            below, above = law.below[i], law.above[i]
        elif atom.radius >= law.high[-1] and not open_end:
            below, above = end.below, end.above
        else:
            below, above = (float(x[0]) for x in law.masses(np.array([atom.radius], float)))
        points.append(_Point(atom.radius, float(below), float(above), atom.mass))
    if part.lobes is not None and part.lobes.touching:
        touched_at[end.below] = part.lobes.start_of(part.first_lobe, part.sign)
    zero_at |= dict.fromkeys(touched_at, _DOUBLE_ZERO)
    points.sort(key=lambda p: (p.radius, p.atom))
    bounds = [_Point(0.0, 0.0, total), *points]
    atoms_before, atoms_after = 0.0, float(sum(p.atom for p in points))
    spans = []
    for here, there in zip(bounds, [*points, end], strict=True):
        atoms_before += here.atom
        atoms_after -= here.atom
        before, after = atoms_before / mass, max(atoms_after, 0.0) / mass
        if here.atom:
            left = ((here.below + atoms_before - here.atom) / mass, here.below / mass + before)
            right = (here.above / mass + after, (here.above + atoms_after + here.atom) / mass)
            spans.append(_Span(left, right, (0.0, 0.0), (0.0, 0.0), (1.0, 1.0), here.radius))
        if there.below > here.below:
            low = zero_at.get(here.below, 1.0)
            if low == 1.0 and here.below < _NEAR_ORIGIN * mass:
                low = first
            # What lies beyond a gap may be too little to count, and then the law ends at the gap.
            high = last if there.below == end.below else 1.0
            high = zero_at.get(there.below, high)
            q_low = tail.mass if there is end and tail is not None else there.above / mass + after
            spans.append(
                _Span(
                    (here.below / mass + before, there.below / mass + before),
                    (q_low, here.above / mass + after),
                    (here.below, there.below),
                    (here.above, there.above),
                    (low, high),
                    tail=there is end and open_end,
                    touches=(touched_at.get(here.below), touched_at.get(there.below)),
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


def _split(spans: list[_Span], tail: Tail | None, law: ContinuousLaw, mass: float) -> float:
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


def _settled(span: _Span, law: ContinuousLaw, mass: float) -> float:
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


def _side(
    law: ContinuousLaw,
    mass: float,
    spans: list[_Span],
    split: float,
    tail: Tail | None,
    u_error: float,
    *,
    from_above: bool,
) -> Panels:
    """Panels of one side, from the outer end to the split."""
    limit = 1.0 - split if from_above else split
    at = (tail.mass if tail is not None else 0.0) if from_above else 0.0
    pieces: list[Piece] = []
    rows: list[PanelRow] = []
    for span in reversed(spans) if from_above else spans:
        if at >= limit:
            break
        high = (span.q if from_above else span.u)[1]
        if high <= END_PROBABILITY < limit:
            continue
        # The split and the outermost ends are exact; everything else follows from the left.
        high = limit if high > limit * (1.0 - _SAME) else high
        if not high > at * (1.0 + _SAME):
            continue
        if span.atom_radius is not None:
            coefficients = np.zeros(DEGREE + 1)
            coefficients[0] = span.atom_radius
            rows.append(PanelRow(at, high, coefficients, PanelKind.LINEAR, 1.0))
        else:
            near, far = span.powers[::-1] if from_above else span.powers
            touches = span.touches[::-1] if from_above else span.touches
            below, above = span.below, span.above
            if from_above:
                below, above = below[::-1], above[::-1]
            if high < (span.q if from_above else span.u)[1] * (1.0 - _SAME):
                # The split cuts the span.
                step = mass * (high - at) * (-1.0 if from_above else 1.0)
                below, above = (below[0], below[0] + step), (above[0], above[0] - step)
                far, touches = 1.0, (touches[0], None)
            origin = not from_above and below[0] == 0.0 and law.head.mass > 0
            tail_piece = span.tail and from_above
            piece = Piece(at, high, below, above, near, far, tail_piece, origin)
            pieces += _cut_at_double_zeros(piece, *touches)
        at = high
    if at < limit and (pieces or rows):
        # Rounding of the last boundary.
        if rows and rows[-1].high == at:
            rows[-1] = replace(rows[-1], high=limit)
        else:
            pieces[-1] = replace(pieces[-1], high=limit)
    if pieces:
        rows += fit_pieces(law, mass, pieces, from_above=from_above, u_error=u_error)
    if not rows:
        return Panels.empty()
    rows.sort(key=lambda row: row.low)
    return Panels.from_chebyshev(
        [rows[0].low, *(row.high for row in rows)],
        np.array([row.coefficients for row in rows]),
        [int(row.kind) for row in rows],
        [row.exponent for row in rows],
    )


def _cut_at_double_zeros(piece: Piece, first: float | None, last: float | None) -> list[Piece]:
    """A piece with the radii of the double zeros at its ends; two pieces where both ends are."""
    if first is not None and last is not None:
        lower, upper = piece.halves()
        return [replace(lower, touches_at=first), replace(upper, touches_at=last)]
    return [replace(piece, touches_at=last if first is None else first)]


def _measured_error(
    table: RadialLaw, law: ContinuousLaw, atoms: tuple[Atom, ...], mass: float
) -> float:
    """Largest |F(P(u)) - u| over places in every panel, F being the finer quadrature."""
    worst = 0.0
    radii = np.array([a.radius for a in atoms])
    masses = np.array([a.mass for a in atoms])
    for panels, from_above in ((table.left, False), (table.right, True)):
        if not panels.size:
            continue
        edges = panels.edges
        c = (edges[:-1, None] + np.diff(edges)[:, None] * _MEASURED_AT).ravel()
        w = table.isf(c) if from_above else table.ppf(c)
        inside = np.isfinite(w) & (w > 0.0)
        c, w = c[inside], w[inside]
        side = 1 if from_above else 0
        continuous = law.masses(w)[side]
        # An atom makes a step of the distribution function, all of which belongs to its radius.
        reached = []
        for shifted in (w * (1.0 - _ROUNDING), w * (1.0 + _ROUNDING)):
            beyond = radii > shifted[:, None] if from_above else radii <= shifted[:, None]
            reached.append((continuous + beyond @ masses) / mass)
        low, high = np.minimum(*reached), np.maximum(*reached)
        # At a pole of the density the probability jumps between neighbouring doubles.
        shifts = (w * (1.0 - _NEIGHBOURS), w * (1.0 + _NEIGHBOURS))
        steps = [(law.masses(x)[side] - continuous) / mass for x in shifts]
        coarse = np.maximum(np.abs(steps[0]), np.abs(steps[1])) > _COARSE
        low = low + np.where(coarse, np.minimum(*steps), 0.0)
        high = high + np.where(coarse, np.maximum(*steps), 0.0)
        worst = max(worst, float(np.maximum(low - c, c - high).max(initial=0.0)))
    return worst


def _provenance(measure: SpectralMeasure, parts: tuple[MeasurePart, ...]) -> str:
    if measure.density is None:
        return "atoms"
    text = f"density by the route {measure.density.route!r}, Jordan parts"
    apart = next((p.apart for p in parts if p.apart is not None), None)
    if apart is not None:
        text += f" up to the radius {apart.start:.6g}, each frequency by itself beyond"
    if np.isfinite(measure.radius):
        text += f", truncated at radius {measure.radius:g}"
    return text

"""The ranges of radii of one part in order, with their probabilities from both ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spectra.base.arrays import IntArray
from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.measure import MeasurePart
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["ATOM", "END", "END_PROBABILITY", "Pieces", "sides_of"]

# What a piece is, if not a part of a panel: an atom, or all radii before or beyond one.
ATOM, END = -1, -2
# A generator draws multiples of 2^-53, so that a panel below 2^-64 is never drawn from.
END_PROBABILITY = 2.0**-64
# A piece of a smaller share of the probability before it joins the next one.
_ROUNDING = 4.0 * EPS
# A density has a simple zero at a sign change: mass beyond it grows like the square of the step.
# If it touches zero without a change of sign, it grows like the cube.
_SIMPLE_ZERO, _DOUBLE_ZERO = 2.0, 3.0


@dataclass(frozen=True, eq=False)
class Pieces:
    r"""Pieces of one side from its outer end on; all arrays have a row for each.

    ``panel`` is the panel that holds the piece, ``ATOM`` or ``END``; ``low`` and ``high`` are its
    probabilities c: u on the left side, q = 1 - u on the right side.  The others have two columns:
    ``first`` and ``last``, at both ends of c, the masses below and above inside the panel;
    ``powers``, e at both ends if the radius is like \|c - end\|^(1/e) there, else 1; and ``radii``,
    those at both ends of what was not cut.
    """

    panel: IntArray
    low: FloatArray
    high: FloatArray
    first: FloatArray
    last: FloatArray
    powers: FloatArray
    radii: FloatArray

    def take(self, some: IntArray | NDArray[np.bool_] | slice) -> Self:
        """Some of the pieces."""
        return type(self)(*(getattr(self, f.name)[some] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All pieces of several."""
        columns = ([getattr(p, f.name) for p in parts] for f in fields(cls))
        return cls(*(np.concatenate(column) for column in columns))

    @classmethod
    def single(cls, panel: int, mass: float, *radii: float) -> Self:
        """An atom or an end."""
        none, pair = np.zeros((1, 2)), np.array([radii])
        return cls(np.array([panel]), np.zeros(1), np.array([mass]), none, none, 1.0 + none, pair)

    def reversed(self) -> Self:
        """The pieces from the other end."""
        p = self.take(slice(None, None, -1))
        return replace(
            p, first=p.last, last=p.first, powers=p.powers[:, ::-1], radii=p.radii[:, ::-1]
        )

    def masses(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Masses below and above inside the panel at shares of c, shape (n, m)."""
        first, last = self.first.T[..., None], self.last.T[..., None]
        step = last - first
        both = np.where(share < 0.5, first + step * share, last - step * (1.0 - share))
        return np.maximum(both[0], 0.0), np.maximum(both[1], 0.0)

    def cut(self, share: FloatArray) -> Self:
        """Every piece cut at a share of c."""
        middle = np.concatenate(self.masses(share[:, None]), axis=1)
        c = self.low + share * (self.high - self.low)
        lower, higher = self.powers.copy(), self.powers.copy()
        lower[:, 1] = higher[:, 0] = 1.0
        halves = [
            type(self)(self.panel, self.low, c, self.first, middle, lower, self.radii),
            type(self)(self.panel, c, self.high, middle, self.last, higher, self.radii),
        ]
        return type(self).joined(halves)


def sides_of(part: MeasurePart, cut: float, tail: WaveTail | None) -> tuple[Pieces, Pieces]:
    """The pieces of the left side and of the right one, which meet near u = 1/2.

    ``cut`` is the radius at which the measure was truncated.
    """
    pieces = _with_atoms(part, _with_ends(part, cut))
    masses, n = pieces.high - pieces.low, pieces.high.size
    beyond = 0.0 if part.waves is None else part.waves.mass
    u = np.append(0.0, np.cumsum(masses)) / part.total
    q = np.append(beyond + np.cumsum(masses[::-1])[::-1], beyond) / part.total
    q[-1] = 0.0 if tail is None else tail.mass
    # A tail belongs to the right side.
    most = n - int(beyond > 0.0 or pieces.panel[-1] == END)
    k = int(np.argmin(np.abs(u[: most + 1] - 0.5)))
    q[k] = 1.0 - u[k] if k else 1.0
    u[n] = 1.0
    left, right = pieces.take(slice(k)), pieces.reversed().take(slice(n - k))
    return _side(left, u[: k + 1]), _side(right, q[k:][::-1])


def _with_ends(part: MeasurePart, cut: float) -> Pieces:
    """All panels and the masses at both ends, in ascending order, each from low = 0 to its mass."""
    p = part.resolved
    powers = np.where(p.touches, _DOUBLE_ZERO, np.where(p.after_gap, _SIMPLE_ZERO, 1.0))
    if not p.head.mid:
        powers[0] = _SIMPLE_ZERO
    # Waves begin at any radius, at which a density of the other sign has ended before.
    limit = cut if part.waves is None else part.waves.start
    ended = part.high[-1] < limit * (1.0 - 1e-12) and not p.tail.mid
    after = np.append(powers[1:], _SIMPLE_ZERO if ended else 1.0)
    m, none = p.masses, np.zeros(p.masses.size)
    pairs = ((none, m), (m, none), (powers, after), (part.low, part.high))
    pieces = Pieces(np.arange(m.size), none, m, *(np.stack(pair, axis=1) for pair in pairs))
    found = [pieces.take(m > 0.0)]
    if p.head.mid:
        found.insert(0, Pieces.single(END, p.head.mid, 0.0, found[0].radii[0, 0]))
    if p.tail.mid:
        # The end of a spectrum, or infinity.
        last = float(p.origin[-1]) if p.way[-1] < 0.0 else np.inf
        found.append(Pieces.single(END, p.tail.mid, found[-1].radii[-1, 1], last))
    return Pieces.joined(found)


def _with_atoms(part: MeasurePart, pieces: Pieces) -> Pieces:
    """Put atoms between the pieces, and cut those that hold one."""
    for atom in part.atoms:
        i = int(np.searchsorted(pieces.radii[:, 1], atom.radius, side="right"))
        at = pieces.take(slice(i, i + 1))
        halves = [at.take(slice(0)), at]
        if at.panel.size and at.panel[0] >= 0 and at.radii[0, 0] < atom.radius:
            below = part.masses(at.panel, np.array([[atom.radius]]))[0][0]
            share = np.clip((below - at.first[:, 0]) / (at.high - at.low), 0.0, 1.0)
            cut = at.cut(share)
            cut.radii[0, 1] = cut.radii[1, 0] = atom.radius
            halves = [cut.take(slice(1)), cut.take(slice(1, 2))]
        single = Pieces.single(ATOM, atom.mass, atom.radius, atom.radius)
        rest = pieces.take(slice(i + 1, None))
        pieces = Pieces.joined([pieces.take(slice(i)), halves[0], single, halves[1], rest])
    return pieces


def _side(pieces: Pieces, edges: FloatArray) -> Pieces:
    """One side: what is never drawn from is one piece at its end, and rounding joins the next."""
    n = pieces.panel.size
    if not n:
        return pieces
    j = min(int(np.searchsorted(edges[1:], END_PROBABILITY, side="right")), n - 1)
    if j:
        outer = Pieces.single(END, 0.0, pieces.radii[0, 0], pieces.radii[j - 1, 1])
        pieces = Pieces.joined([outer, pieces.take(slice(j, None))])
        edges = np.append(edges[0], edges[j:])
    kept, at = [], float(edges[0])
    for i, high in enumerate(edges[1:].tolist()):
        if high - at > (0.0 if pieces.panel[i] == ATOM else _ROUNDING * high):
            kept.append(i)
            at = high
    # What is left over joins the last piece.
    high = np.append(edges[1:][kept[:-1]], edges[-1])
    return replace(pieces.take(np.array(kept)), low=np.append(edges[0], high[:-1]), high=high)

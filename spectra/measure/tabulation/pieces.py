"""The ranges of radii of one part in order, with their probabilities from both ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

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


class _Row(NamedTuple):
    """A range of radii; pairs are for its two ends, masses are below and above inside the panel."""

    panel: int
    mass: float
    radii: tuple[float, float]
    powers: tuple[float, float] = (1.0, 1.0)
    start: tuple[float, float] = (0.0, 0.0)
    stop: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Pieces:
    r"""Pieces of one side from its outer end on; all arrays have a row for each.

    Attributes
    ----------
    panel : ndarray
        The panel that holds the piece, ``ATOM`` or ``END``.
    low, high : ndarray
        Its probabilities c: u on the left side, q = 1 - u on the right side.
    first, last : ndarray of shape (n, 2)
        At both ends of c, the masses below and above inside the panel.
    powers : ndarray of shape (n, 2)
        e at both ends of c if the radius is like \|c - end\|^(1/e) there, else 1.
    radii : ndarray of shape (n, 2)
        Radii at both ends of what was not cut.
    """

    panel: IntArray
    low: FloatArray
    high: FloatArray
    first: FloatArray
    last: FloatArray
    powers: FloatArray
    radii: FloatArray

    def take(self, some: IntArray | NDArray[np.bool_]) -> Self:
        """Some of the pieces."""
        return type(self)(*(getattr(self, f.name)[some] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All pieces of several."""
        columns = ([getattr(p, f.name) for p in parts] for f in fields(cls))
        return cls(*(np.concatenate(column) for column in columns))

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
    rows = _rows(part, cut)
    masses = np.array([row.mass for row in rows])
    beyond = 0.0 if part.waves is None else part.waves.mass
    u = np.append(0.0, np.cumsum(masses)) / part.total
    q = np.append(beyond + np.cumsum(masses[::-1])[::-1], beyond) / part.total
    q[-1] = 0.0 if tail is None else tail.mass
    # A tail belongs to the right side.
    most = len(rows) - int(beyond > 0.0 or rows[-1].panel == END)
    k = int(np.argmin(np.abs(u[: most + 1] - 0.5)))
    turned = [
        row._replace(start=row.stop, stop=row.start, powers=row.powers[::-1], radii=row.radii[::-1])
        for row in rows
    ]
    q[k] = 1.0 - u[k] if k else 1.0
    u[len(rows)] = 1.0
    return _side(rows[:k], u[: k + 1]), _side(turned[k:][::-1], q[k:][::-1])


def _rows(part: MeasurePart, cut: float) -> list[_Row]:
    """All panels, atoms and closures in ascending order of the radius."""
    p = part.resolved
    powers = np.where(p.touches, _DOUBLE_ZERO, np.where(p.after_gap, _SIMPLE_ZERO, 1.0))
    if not p.head.mid:
        powers[0] = _SIMPLE_ZERO
    ended = part.high[-1] < cut * (1.0 - 1e-12)
    if part.waves is not None:
        # Waves begin at any radius, at which a density of the other sign has ended before.
        ended = part.high[-1] < part.waves.start * (1.0 - 1e-12)
    ends = np.append(powers[1:], _SIMPLE_ZERO if ended and not p.tail.mid else 1.0)
    rows = [
        _Row(int(i), m, (low, high), (a, b), (0.0, m), (m, 0.0))
        for i, (m, low, high, a, b) in enumerate(
            zip(*(x.tolist() for x in (p.masses, part.low, part.high, powers, ends)), strict=True)
        )
        if m > 0.0
    ]
    if p.head.mid:
        rows.insert(0, _Row(END, p.head.mid, (0.0, rows[0].radii[0])))
    if p.tail.mid:
        # The end of a spectrum, or infinity.
        last = float(p.origin[-1]) if p.way[-1] < 0.0 else np.inf
        rows.append(_Row(END, p.tail.mid, (rows[-1].radii[1], last)))
    for atom in part.atoms:
        _insert(rows, part, atom.radius, atom.mass)
    return rows


def _insert(rows: list[_Row], part: MeasurePart, radius: float, mass: float) -> None:
    """Put an atom between the rows, or into one of them."""
    at = next((j for j, row in enumerate(rows) if row.radii[1] > radius), len(rows))
    new = [_Row(ATOM, mass, (radius, radius))]
    if at < len(rows) and rows[at].panel >= 0 and rows[at].radii[0] < radius:
        row = rows[at]
        inside = part.masses(np.array([row.panel]), np.array([[radius]]))
        below, above = (float(x[0, 0]) for x in inside)
        lower, higher = max(below - row.start[0], 0.0), max(above - row.stop[1], 0.0)
        new = [
            row._replace(
                mass=lower,
                radii=(row.radii[0], radius),
                powers=(row.powers[0], 1.0),
                stop=(below, above),
            ),
            *new,
            row._replace(
                mass=higher,
                radii=(radius, row.radii[1]),
                powers=(1.0, row.powers[1]),
                start=(below, above),
            ),
        ]
        rows[at : at + 1] = new
    else:
        rows[at:at] = new


def _side(rows: Sequence[_Row], edges: FloatArray) -> Pieces:
    """One side: what is never drawn from is one piece at its end, and rounding joins the next."""
    if not rows:
        return Pieces(np.empty(0, int), *np.empty((2, 0)), *np.empty((4, 0, 2)))
    kept: list[tuple[_Row, float, float]] = []
    j = int(np.searchsorted(edges[1:], END_PROBABILITY, side="right"))
    at = float(edges[0])
    if j:
        j = min(j, len(rows) - 1)
        outer = rows[0]._replace(panel=END, radii=(rows[0].radii[0], rows[j - 1].radii[1]))
        kept.append((outer, at, float(edges[j])))
        at = float(edges[j])
    for row, high in zip(rows[j:], edges[j + 1 :].tolist(), strict=True):
        if high - at > (0.0 if row.panel == ATOM else _ROUNDING * high):
            kept.append((row, at, high))
            at = high
    # What is left over joins the last piece.
    kept[-1] = (*kept[-1][:2], float(edges[-1]))
    held, low, high = zip(*kept, strict=True)
    columns = [
        np.array([getattr(row, name) for row in held])
        for name in ("start", "stop", "powers", "radii")
    ]
    return Pieces(np.array([row.panel for row in held]), np.array(low), np.array(high), *columns)

"""Panels of an inverse CDF, split until the probability of every radius is right.

A piece of probability starts as one panel of the kind that suits its ends; where the fit misses,
it is cut and both parts are tried again.  All pieces of one generation are evaluated together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.errors import AccuracyError
from spectra.measure import MeasurePart
from spectra.measure.tabulation.cuts import Cut
from spectra.table.radial.panels import PanelKind, Panels, local_share, local_variable

__all__ = ["END_PROBABILITY", "Piece", "fit_pieces"]

# A generator draws multiples of 2^-53, so that a panel below 2^-64 is never drawn from.
END_PROBABILITY = 2.0**-64
# Degree of every panel: a whole range between simple zeros is one panel, a smooth law about 100.
DEGREE = 17
# The tails are right to this fraction of the probability left in them, ...
RELATIVE_ERROR = 1e-7
# ... and panels of the radius join to about this fraction of it, far out on a power tail too.
_JOIN = 2e-10
# A panel is refined until its error is this share of the one allowed, but not below the second
# number: one unit of rounding in the probability.
_AHEAD = 2.5e-4
_FLOOR = 2.5e-16
# Half a panel of degree 17 misses by 2^-18 of the whole one, unless rounding is all that is left.
_STAGNANT = 0.125
# A bound of an error is several times what is seen of it: no panel is refined below this share.
_SEEN = 1.0 / 16.0
_CHECKS = 9
# A tail is a power where the one seen at the outermost panel is that of the far end.
_SETTLED_POWER = 1e-9
_MOST_GENERATIONS = 70
_MOST_PANELS = 12_000
# A power panel is tried only up to this power (beyond it, it rarely fits and its nodes leave the
# range of doubles) and, for a bounded Jacobian, from 1 on; elsewhere panels go down to the end
# geometrically.
_LARGEST_POWER = 6.0
# A series through fewer probabilities than about this many swings between them: a line does not.
_PLACES = 16.0
# A panel that is shorter than so many units of rounding may turn back: exact radii do, too.
_ROUNDED = 1024.0
# Pieces that span more than this ratio of probabilities are cut at the geometric mean.
_WIDE = 8.0
_SHARE_NEAR_END = 0.25

_NODES = chebyshev.chebpts1(DEGREE + 1)
_MANY_NODES = chebyshev.chebpts1(2 * DEGREE + 2)
_CHECK_NODES = np.cos(np.pi * (np.arange(_CHECKS) + 0.37) / _CHECKS)
_ENDS = np.array([-1.0, 1.0])
_DENSE = chebyshev.chebvander(np.linspace(-1.0, 1.0, 97), DEGREE)
_CHECK_SHARES = np.array([0.003, 0.03, 0.31, 0.69, 0.97, 0.997])


@dataclass(frozen=True)
class Piece:
    """A range of probability c without gaps on one side of the law, or an atom.

    Attributes
    ----------
    low, high : float
        Range of c, which is u on the left side and q = 1 - u on the right one.
    ends : tuple of Cut
        What lies there; the radius is not known where a piece was cut once more.
    missed_before : float
        Largest error of the fit to the piece that this one was cut from, in probability.
    beside_tail : bool
        Whether it was cut from a piece whose radius is infinite at c = 0.
    """

    low: float
    high: float
    ends: tuple[Cut, Cut]
    missed_before: float = np.inf
    beside_tail: bool = False

    @property
    def is_atom(self) -> bool:
        """Whether there is one radius only."""
        return self.ends[0].radius == self.ends[1].radius

    @property
    def tail(self) -> bool:
        """Whether the radius is infinite at c = 0."""
        return bool(np.isinf(self.ends[0].radius))

    @property
    def powers(self) -> tuple[float, float]:
        """e where w - w(end) is like (c - end)^(1/e) at the ends; 1 for a positive density."""
        return self.ends[0].powers[1], self.ends[1].powers[0]

    @property
    def kind(self) -> PanelKind | None:
        """The kind of panel that suits the ends; None where no single one does."""
        if self.tail or not all(1.0 <= e <= _LARGEST_POWER for e in self.powers):
            return None
        low, high = (e != 1.0 for e in self.powers)
        if low and high:
            return PanelKind.SINE if self.powers == (2.0, 2.0) else None
        if low:
            return PanelKind.POWER_LOW
        return PanelKind.POWER_HIGH if high else PanelKind.LINEAR

    @property
    def negligible(self) -> bool:
        """Whether no draw, or too few that floating point can place, fall into the piece.

        Beside a tail radii differ by whole factors down to its last panel, and are fitted.
        """
        least = 0.0 if self.beside_tail else END_PROBABILITY
        return self.high - self.low <= max(least, _PLACES * EPS * self.low)

    @property
    def exponent(self) -> float:
        """e of the panel's kind."""
        low, high = self.powers
        return low if low != 1.0 else high

    def halves(self, missed: float = np.inf) -> tuple[Piece, Piece]:
        """Two shorter pieces; towards a power or a tail the cuts go down geometrically.

        ``missed`` is the error of the fit to this one.
        """
        low, high = self.low, self.high
        if low == 0.0 or self.powers[0] != 1.0:
            middle = low + _SHARE_NEAR_END * (high - low)
        elif self.powers[1] != 1.0:
            middle = high - _SHARE_NEAR_END * (high - low)
        elif high > _WIDE * low:
            middle = float(np.sqrt(low * high))
        else:
            middle = 0.5 * (low + high)
        share = np.array([[(middle - low) / (high - low)]])
        below, above = (float(m[0, 0]) for m in _masses_at([self], share))
        cut = Cut(np.nan, below, above)
        lower = replace(self, high=middle, ends=(self.ends[0], cut))
        beside_tail = self.tail or self.beside_tail
        upper = replace(self, low=middle, ends=(cut, self.ends[1]), beside_tail=beside_tail)
        # Another kind of panel may do better, so that only the same kind can be compared.
        return (
            replace(lower, missed_before=missed if lower.kind == self.kind else np.inf),
            replace(upper, missed_before=missed if upper.kind == self.kind else np.inf),
        )


# A fitted panel: its range of probability, Chebyshev coefficients, kind and exponent.
_Row = tuple[float, float, FloatArray, PanelKind, float]


def fit_pieces(
    law: MeasurePart, pieces: list[Piece], *, from_above: bool, u_error: float
) -> Panels:
    """Fit panels to pieces of one side, each within ``u_error`` and relative to min(u, q).

    Parameters
    ----------
    law : MeasurePart
        What is inverted: probabilities are masses divided by its mass.
    pieces : list of Piece
        The side, cut at atoms and gaps; none where it has no mass.
    from_above : bool
        True for the right side, where c = q.

    Raises
    ------
    AccuracyError
        Where the cutting does not come to an end.
    """
    done: list[_Row] = []
    waiting = list(pieces)
    for _ in range(_MOST_GENERATIONS):
        trial: list[Piece] = []
        while waiting:
            piece = waiting.pop()
            if piece.is_atom:
                done.append(_row(piece, piece.ends[0].radius, 0.0, PanelKind.LINEAR, 1.0))
            elif piece.negligible:
                done.append(_end_panel(law, piece, from_above=from_above))
            elif piece.kind is None:
                waiting.extend(piece.halves())
            else:
                trial.append(piece)
        if not trial:
            return _panels(done)
        if len(trial) + len(done) > _MOST_PANELS:
            break
        rows, good, missed = _try(law, trial, from_above=from_above, u_error=u_error)
        for piece, row, fits, miss in zip(trial, rows, good, missed, strict=True):
            if fits:
                done.append(row)
            else:
                waiting.extend(piece.halves(float(miss)))
    raise AccuracyError(
        f"An inverse CDF did not come within {u_error:.1e} in probability with {len(done)} panels, "
        f"near the probability {trial[0].low:.6g}: the density nearly vanishes inside a range of "
        "one sign there. Ask for a larger u_error."
    )


def _exact(
    law: MeasurePart, pieces: list[Piece], shares: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses below and above, and radii, at shares of each piece."""
    below, above = _masses_at(pieces, shares)
    return below, above, law.radius(below.ravel(), above.ravel()).reshape(shares.shape)


def _masses_at(pieces: list[Piece], shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mass below and above at shares of each piece, both computed from the nearer end."""
    ends = np.array([[(end.below, end.above) for end in piece.ends] for piece in pieces])
    first, last = ends.transpose(1, 2, 0)[..., None]
    step = last - first
    both = np.where(shares < 0.5, first + step * shares, last - step * (1.0 - shares))
    return both[0], both[1]


def _fits(
    law: MeasurePart,
    pieces: list[Piece],
    kinds: NDArray[np.int8],
    exponents: FloatArray,
    *,
    from_above: bool,
) -> FloatArray:
    """Chebyshev coefficients of the radius, a row for each piece."""
    nodes = np.broadcast_to(_NODES, (len(pieces), _NODES.size))
    _, _, radii = _exact(law, pieces, local_share(kinds, exponents, 0.5 * (1.0 + nodes)))
    fits = np.asarray(chebyshev.chebfit(_NODES, radii.T, DEGREE)).T
    if not from_above and law.head > 0:
        # The law starts at radius 0 exactly: a draw next to u = 0 must not fall below it.
        origin = np.array([p.ends[0].below == 0.0 for p in pieces])
        fits[origin, 0] -= chebyshev.chebval(-1.0, fits[origin].T)
    for i, piece in enumerate(pieces):
        touches = [end.touch for end in piece.ends]
        if touches != [None, None]:
            # Where both ends had a power, no single kind would have suited.
            at_low = touches[0] is not None
            radius = touches[0 if at_low else 1]
            assert radius is not None
            fits[i] = _fit_from_double_zero(law, piece, radius, at_low=at_low)
    return np.asarray(fits, dtype=float)


def _places(kinds: NDArray[np.int8], exponents: FloatArray) -> FloatArray:
    """Where fits are looked at: the last two places are the ends of the panel.

    Some are even in the variable of the fit, some in probability: a power makes them two.
    """
    shares, nodes, ends = (
        np.broadcast_to(x, (kinds.size, x.size)) for x in (_CHECK_SHARES, _CHECK_NODES, _ENDS)
    )
    kind = np.broadcast_to(kinds[:, None], shares.shape)
    exponent = np.broadcast_to(exponents[:, None], shares.shape)
    uneven = local_variable(kind, exponent, shares, 1.0 - shares)
    return np.concatenate([nodes, uneven, ends], axis=1)


def _try(
    law: MeasurePart, trial: list[Piece], *, from_above: bool, u_error: float
) -> tuple[list[_Row], NDArray[np.bool_], FloatArray]:
    """Fits to pieces, whether each is good enough, and its largest error in probability."""
    kinds = np.array([p.kind for p in trial], dtype=np.int8)
    exponents = np.array([p.exponent for p in trial])
    fits = _fits(law, trial, kinds, exponents, from_above=from_above)
    t = _places(kinds, exponents)
    x = local_share(kinds, exponents, 0.5 * (1.0 + t))
    below, above, exact = _exact(law, trial, x)
    low, high = np.array([(p.low, p.high) for p in trial]).T[:, :, None]
    c = low + (high - low) * x
    at_nodes = chebyshev.chebvander(t, DEGREE)

    def fitted() -> tuple[FloatArray, FloatArray]:
        w = np.maximum(np.einsum("nk,nck->nc", fits, at_nodes), 0.0)
        reached_below, reached_above = (m.reshape(w.shape) for m in law.split_at(w.ravel()))
        lower = below < above
        return w, np.where(lower, np.abs(reached_below - below), np.abs(reached_above - above))

    w, missed = fitted()
    # Only panels that meet another one must join it; beyond a power lies a gap or an end.
    apart = np.abs(w - exact)[:, -2:] > _JOIN * exact[:, -2:].max(axis=1)[:, None]
    apart &= np.array([p.powers for p in trial]) == 1.0
    # Between two clusters of radii the rounding of a probability moves the radius by more than
    # that.  A panel that misses by no more is right, and ends where its neighbour begins.
    unknown = law.error_at(exact.ravel()).reshape(exact.shape)
    least = np.maximum(4.0 * EPS * law.total * c[:, -2:], unknown[:, -2:])
    noisy = apart & (missed[:, -2:] <= least)
    if np.any(noisy):
        gap = np.where(noisy, exact[:, -2:] - w[:, -2:], 0.0)
        fits[:, 0] += 0.5 * (gap[:, 0] + gap[:, 1])
        fits[:, 1] += 0.5 * (gap[:, 1] - gap[:, 0])
        w, missed = fitted()
    missed /= law.total
    goal = _goal(law, trial, c, missed, from_above=from_above, u_error=u_error)
    # Little is asked beyond what the density itself is known to.
    wrong = missed > np.maximum(goal, np.maximum(4.0 * EPS * c, _SEEN * unknown / law.total))
    # Where a radius cannot be told from the exact one in floating point, it is right.
    wrong &= np.abs(w - exact) > 8.0 * EPS * exact
    wrong[:, -2:] = apart & ~noisy
    # Beside a gap, where radii are rounding, a series may turn back; a shorter one does not.
    along = fits @ _DENSE.T
    steps = np.diff(along, axis=1) * (-1.0 if from_above else 1.0)
    is_long = (high - low)[:, 0] > _ROUNDED * EPS * high[:, 0]
    wrong[:, -1] |= is_long & np.any(steps < -_JOIN * along[:, 1:], axis=1)
    rows = [
        (p.low, p.high, f, PanelKind(int(k)), p.exponent)
        for p, f, k in zip(trial, fits, kinds, strict=True)
    ]
    return rows, ~np.any(wrong, axis=1), missed.max(axis=1)


def _goal(
    law: MeasurePart,
    trial: list[Piece],
    c: FloatArray,
    missed: FloatArray,
    *,
    from_above: bool,
    u_error: float,
) -> FloatArray:
    """The error in probability at which a panel is good enough, at each of its places."""
    # The radius is like c^(1/rate) at the end of the side.
    rate = law.resolved.rates[from_above]
    relative = min(RELATIVE_ERROR, _JOIN * max(rate, 1e-3))
    allowed = np.minimum(0.25 * u_error, relative * np.minimum(c, 1.0 - c))
    goal = np.minimum(allowed, max(_AHEAD * u_error, _FLOOR))
    # What shorter panels do not improve is the rounding of the law itself.
    settled = missed.max(axis=1) > _STAGNANT * np.array([p.missed_before for p in trial])
    return np.where(settled[:, None], allowed, goal)


def _fit_from_double_zero(
    law: MeasurePart, piece: Piece, radius: float, *, at_low: bool
) -> FloatArray:
    """Chebyshev coefficients of a panel that starts or ends where the density touches zero.

    The radius near that point is the cube root of a difference of masses, which is mostly
    rounding; a fit by least squares in probability, through the point itself, does not see it.
    """
    kind, exponent = np.array([piece.kind], dtype=np.int8), np.array([piece.exponent])
    x = local_share(kind, exponent, 0.5 * (1.0 + _MANY_NODES[None]))[0]
    away = 1.0 + _MANY_NODES if at_low else 1.0 - _MANY_NODES
    weight = away ** (piece.exponent - 1.0)
    moved = (_exact(law, [piece], x[None])[2][0] - radius) * weight
    columns = chebyshev.chebvander(_MANY_NODES, DEGREE - 1) * (away * weight)[:, None]
    slope = np.linalg.lstsq(columns, moved, rcond=None)[0]
    row = np.asarray(chebyshev.chebmul(slope, [1.0, 1.0 if at_low else -1.0]), dtype=float)
    row[0] += radius
    return row


def _panels(rows: list[_Row]) -> Panels:
    """The panels of one side, sorted by their probabilities."""
    if not rows:
        return Panels.empty()
    rows = sorted(rows, key=lambda row: row[0])
    _, highs, coefficients, kinds, exponents = zip(*rows, strict=True)
    edges = [rows[0][0], *highs]
    return Panels.from_chebyshev(
        edges, np.array(coefficients), [int(kind) for kind in kinds], exponents
    )


def _row(piece: Piece, first: float, second: float, kind: PanelKind, exponent: float) -> _Row:
    """A constant or a line as a panel."""
    coefficients = np.zeros(DEGREE + 1)
    coefficients[:2] = first, second
    return piece.low, piece.high, coefficients, kind, exponent


def _end_panel(law: MeasurePart, piece: Piece, *, from_above: bool) -> _Row:
    """A panel from which no draw comes: the radius at its ends, and a power or a line between."""
    # Beside a gap rounding may exchange radii, or put one on its other side.
    w = np.sort(_exact(law, [piece], np.array([[1.0, 0.5, 0.0]]))[2][0])
    w = w[:: 1 if from_above else -1]
    known = [end.radius for end in (piece.ends[::-1] if from_above else piece.ends)]
    w = np.fmin(np.fmax(w, known[0]), known[1])
    if piece.tail:
        rate = float(np.log(2.0) / max(np.log(w[1] / w[0]), 1e-12))
        if abs(rate - law.resolved.rates[1]) <= _SETTLED_POWER * law.resolved.rates[1]:
            rate = law.resolved.rates[1]
        return _row(piece, w[0], 0.0, PanelKind.TAIL_POWER, rate)
    power, kind = 1.0, PanelKind.LINEAR
    if piece.powers[0] != 1.0 and piece.low == 0.0:
        power, kind = max(piece.powers[0], 1.0), PanelKind.POWER_LOW
    return _row(piece, 0.5 * (w[0] + w[2]), 0.5 * (w[0] - w[2]), kind, power)

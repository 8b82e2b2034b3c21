r"""Lobes of several frequencies without end: the tails of several laws, together one law.

Each member is a :class:`~spectra.table.tails.lobed_tail.LobedTail` with a period of its own, and
counts from one radius on, which may lie inside its first lobe.  The mass beyond a radius is the
sum of theirs,

.. math:: S(w) = \sum_j S_j(w), \qquad S_j(w) = T_j(k) - f(v)\,(T_j(k) - T_j(k + 1)),

for a radius at the place v of lobe k, or v = 1 in the gap after it; the radius beyond which the
mass is q is the root of S(w) = q, between those at which the largest member alone reaches q and
its even share of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray, made_again, panel_rule
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import ParameterError
from spectra.table.tails.lobe_shares import share_before, share_slope
from spectra.table.tails.lobed_tail import LobedTail
from spectra.table.tails.lobed_waves import lobed_plane_wave

__all__ = ["MixedTail", "density_at", "mass_beyond", "starts_at"]

# The index at which a lobe begins at a radius is a fixed point, which is nearly the radius itself;
# and the place along a lobe is the root of a series that is nearly linear.
_INDEX_STEPS, _PLACE_STEPS = 12, 24
_INDEX_SETTLED, _PLACE_SETTLED = 1e-14, 1e-14
# Halvings of a bracket, in log w, down to neighbouring doubles.
_HALVINGS = 52
_LARGEST = float(np.finfo(float).max)
# A radius may lie before its tail, or after its first lobe, by rounding.
_ROUNDING = 1e-9


@final
@dataclass(frozen=True, eq=False)
class MixedTail:
    r"""Tail of a radial law from one radius on: the sum of several lobed tails.

    Parameters
    ----------
    start : float
        Radius from which on the members count, inside the first lobe of each or in the gap
        after it.
    members : tuple of LobedTail
        At least one.

    Raises
    ------
    ParameterError
        Where a member begins beyond the start, or its second lobe before it.

    Examples
    --------
    >>> one = LobedTail(2.0, 1.0, 1.0, [0.5], [[0.25, 0.25]])
    >>> other = LobedTail(1.0, 2.0, 1.0, [0.25], [[0.25, 0.25]])
    >>> tail = MixedTail(2.0, (one, other))
    >>> tail.mass
    0.5
    >>> bool(abs(tail.beyond(tail.isf(np.array([0.3])))[0] - 0.3) < 1e-15)
    True
    """

    start: float
    members: tuple[LobedTail, ...]

    def __post_init__(self) -> None:
        if not self.members or not all(isinstance(m, LobedTail) for m in self.members):
            raise ParameterError("A mixed tail needs a tuple of at least one LobedTail.")
        for m in self.members:
            if not starts_at(m, self.start):
                first, second = _first_lobes(m)
                raise ParameterError(
                    f"A mixed tail starts at the radius {self.start}, and a member has its first "
                    f"lobes at {first} and {second}: it must begin in the first one or after it."
                )

    __reduce__ = made_again

    @cached_property
    def mass(self) -> float:
        """Probability of the whole tail."""
        return float(self.beyond(np.array([self.start]))[0])

    @property
    def listed_ends(self) -> FloatArray:
        """Minus the mass beyond the lobes that are cells for draws, which are none."""
        return np.array([-self.mass, -self.mass])

    def beyond(self, w: FloatArray) -> FloatArray:
        """Mass S(w) beyond radii w >= start."""
        return np.asarray(sum(mass_beyond(m, w) for m in self.members))

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the mass is q, for 0 <= q <= mass; infinite at q = 0."""
        q = np.asarray(q, dtype=float)
        if not np.all((q >= 0.0) & (q <= self.mass)):
            raise ParameterError(f"A tail of mass {self.mass} was asked for more, or less than 0.")
        out = np.full(q.shape, np.inf)
        some = q > 0.0
        out[some] = self._radii(q[some])
        return out

    def draws(self, q: FloatArray) -> FloatArray:
        """Radii of this law at probabilities 0 < q <= mass, in another order than :meth:`isf`.

        Each member has a range of q by itself, so that its own quantiles serve, at a tenth of the
        cost of the joint ones.
        """
        out = np.empty(q.shape)
        low, last = np.zeros(q.shape), len(self.members) - 1
        left = np.ones(q.shape, dtype=bool)
        for i, m in enumerate(self.members):
            share = float(mass_beyond(m, np.array([self.start]))[0])
            mine = left & ((q - low <= share) | (i == last))
            out[mine] = m.isf(np.minimum((q - low)[mine], share))
            left &= ~mine
            low = low + share
        return np.maximum(out, self.start)

    def _radii(self, q: FloatArray) -> FloatArray:
        """Radii of S(w) = q by halves, between those at which single members reach q or a share.

        Where no lobe is, the mass stays, and any radius there is one.
        """
        low, high = np.full(q.shape, self.start), np.full(q.shape, self.start)
        for m in self.members:
            low = np.maximum(low, m.isf(np.minimum(q, m.mass)))
            high = np.maximum(high, m.isf(np.minimum(q / len(self.members), m.mass)))
        # Beyond the range of doubles a radius is infinite, which is what it is.
        finite = np.flatnonzero(np.isfinite(low))
        out, goal = low.copy(), q[finite]
        x, y = np.log(low[finite]), np.log(np.minimum(high[finite], _LARGEST))
        for _ in range(_HALVINGS):
            middle = 0.5 * (x + y)
            less = self.beyond(np.maximum(np.exp(middle), self.start)) > goal
            x, y = np.where(less, middle, x), np.where(less, y, middle)
        out[finite] = np.exp(x)
        return np.asarray(np.maximum(out, self.start))

    @cached_property
    def _before(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """Which lobes of each member begin before the start, and up to which place they lie there.

        They are the first one and, where the start is rounded, the second.
        """
        found = []
        for m in self.members:
            k, v = _place(m, np.array([self.start]))
            last = int(k[0])
            found.append((*((i, 1.0) for i in range(last)), (last, float(v[0]))))
        return tuple(found)

    def nodes(self, z_max: float) -> tuple[FloatArray, FloatArray, float]:
        """Radii and weights of the first lobes, resolved up to z_max, and the mass beyond them."""
        radii, weights, beyond = [], [], 0.0
        for m, lobes in zip(self.members, self._before, strict=True):
            w, share, left = m.nodes(z_max)
            lobe, place = lobes[-1]
            # Lobe by lobe, those up to the one of the start are left out, and its rest comes back.
            cut = (lobe + 1) * m.lobe_rule(z_max * m.steepness)[0].size
            if place < 1.0:
                part, part_share = _part_of_lobe(m, lobe, place, 1.0, z_max)
                radii.append(part)
                weights.append(part_share)
            radii.append(w[cut:])
            weights.append(share[cut:])
            beyond += left
        return np.concatenate(radii), np.concatenate(weights), beyond

    def wave_beyond(self, z_max: float, z: FloatArray) -> FloatArray:
        """Bound of what the lobes that :meth:`nodes` leaves add to E cos(w z), z <= z_max."""
        return np.asarray(sum(m.wave_beyond(z_max, z) for m in self.members))

    def plane_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum over all lobes of their mass times the mean of Ω_dim(w z), and its error."""
        value, error = np.zeros(z.size), np.zeros(z.size)
        for m, lobes in zip(self.members, self._before, strict=True):
            whole, whole_error = lobed_plane_wave(m, dim, z)
            value, error = value + whole, error + whole_error
            for lobe, place in lobes:
                for i, distance in enumerate(z):
                    w, share = _part_of_lobe(m, lobe, 0.0, place, float(distance))
                    value[i] -= float(plane_wave_mean(dim, distance * w) @ share)
        return value, error


def _part_of_lobe(
    tail: LobedTail, lobe: int, low: float, high: float, z: float
) -> tuple[FloatArray, FloatArray]:
    """Radii and weights between two places of one lobe, for waves up to the distance z."""
    count = 1 + int(z * tail.steepness / 8.0)
    ends = np.linspace(low, high, count + 1)
    v, weights = (a.ravel() for a in panel_rule(ends[:-1], ends[1:], 24))
    s = np.array([tail.kappa + lobe])
    share = share_slope(tail.zeros, v) * tail.lobe_mass(s).real
    return np.real(tail.radius(s, v)).ravel(), weights * share


def _first_lobes(member: LobedTail) -> tuple[float, float]:
    first, second = member.radius(member.kappa + np.arange(2.0), np.zeros(1)).real[:, 0]
    return float(first), float(second)


def starts_at(member: LobedTail, radius: float) -> bool:
    """Whether a radius is in the first lobe of a tail, or in the gap after it."""
    first, second = _first_lobes(member)
    slack = _ROUNDING * abs(radius)
    return first - slack <= radius <= second + slack


def mass_beyond(tail: LobedTail, w: FloatArray) -> FloatArray:
    """Mass of one tail beyond the radii w."""
    k, v = _place(tail, w)
    here, after = tail.survival(tail.kappa + k), tail.survival(tail.kappa + k + 1.0)
    return np.asarray(here - share_before(tail.zeros, v) * (here - after))


def density_at(tail: LobedTail, w: FloatArray) -> FloatArray:
    """Density of one tail at the radii w; 0 between its lobes."""
    k, v = _place(tail, w)
    s = tail.kappa + k
    slopes = 2.0 * chebyshev.chebder(tail.series_in(s).real.T)
    slope = np.asarray(chebyshev.chebval(2.0 * v - 1.0, slopes, tensor=False))
    share = share_slope(tail.zeros, v) * tail.lobe_mass(s).real
    inside = (v > 0.0) & (v < 1.0)
    return np.where(inside, share / np.where(inside, slope, 1.0), 0.0)


def _place(tail: LobedTail, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Number of the lobe that begins last before each radius, and the place along it, up to 1."""
    ends = tail.radius_series @ np.where(np.arange(tail.radius_series.shape[1]) % 2, -1.0, 1.0)
    s = np.maximum((w - ends.sum()) / tail.period, tail.kappa)
    for _ in range(_INDEX_STEPS):
        x = 2.0 * tail.place(s).real - 1.0
        new = np.maximum((w - chebyshev.chebval(x, ends)) / tail.period, tail.kappa)
        settled = np.all(np.abs(new - s) <= _INDEX_SETTLED * s)
        s = new
        if settled:
            break
    k = np.floor(s - tail.kappa)
    series = tail.series_in(tail.kappa + k).real.T
    series[0] -= w - tail.period * (tail.kappa + k)
    first, last = (np.asarray(chebyshev.chebval(end, series)) for end in (-1.0, 1.0))
    v = np.where(last <= 0.0, 1.0, 0.0)
    inside = np.flatnonzero((first < 0.0) & (last > 0.0))
    series, first, last = series[:, inside], first[inside], last[inside]
    slopes = chebyshev.chebder(series)
    low, high = np.zeros(inside.size), np.ones(inside.size)
    at = -first / (last - first)
    for _ in range(_PLACE_STEPS):
        value = chebyshev.chebval(2.0 * at - 1.0, series, tensor=False)
        low, high = np.where(value < 0.0, at, low), np.where(value > 0.0, at, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = at - 0.5 * value / chebyshev.chebval(2.0 * at - 1.0, slopes, tensor=False)
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        settled = np.all(np.abs(new - at) <= _PLACE_SETTLED)
        at = new
        if settled:
            break
    v[inside] = at
    return k, v

"""Radii of probabilities in a tail of infinitely many lobes.

The first lobes, in which nearly all draws fall, are listed: their masses are searched and their
series are read off a list.  Beyond them the index of the lobe is found by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

import numpy as np
from numpy.polynomial import chebyshev

from spectra.table.arrays import FloatArray
from spectra.table.lobe_shares import place_in_lobe
from spectra.table.panels import powers_of_chebyshev

if TYPE_CHECKING:
    from spectra.table.lobed_tail import LobedTail

__all__ = ["LobeQuantiles"]

# Lobes that are listed: their masses fit the first-level cache.
_LISTED = 2048
# Series of at most this many terms are summed as powers, twice as fast and as precise.
_POWERS = 24
# Beyond this index the share of a lobe is read off s itself: T(k) - T(k+1) has lost half its
# digits there, and the difference of the two is below 1e-16 of T.
_FAR_LOBE = 2.0**26
_NEWTON_STEPS = 60
# Newton's error after a step is of the order of its square.
_LAST_STEP = 1e-9


@final
@dataclass(frozen=True, eq=False)
class LobeQuantiles:
    """The inverse of the mass beyond a radius, for the lobes of one tail.

    Attributes
    ----------
    tail : LobedTail
        The lobes.
    ends : ndarray of shape (n + 1,)
        Minus the mass beyond each listed lobe, ascending.
    columns : ndarray of shape (m, n)
        Coefficients of the radius along each listed lobe.
    powers : bool
        Whether those are of powers of 2 v - 1, and not of Chebyshev polynomials.
    """

    tail: LobedTail
    ends: FloatArray
    columns: FloatArray
    powers: bool

    @classmethod
    def of(cls, tail: LobedTail) -> Self:
        """List the first lobes of a tail."""
        s = tail.kappa + np.arange(_LISTED + 1.0)
        ends = -tail.survival(s)
        x = 2.0 * tail.place(s[:-1]).real - 1.0
        rows = chebyshev.chebvander(x, tail.radius_series.shape[0] - 1) @ tail.radius_series
        rows[:, 0] += tail.period * s[:-1]
        powers = rows.shape[1] <= _POWERS
        if powers:
            rows = rows @ powers_of_chebyshev(rows.shape[1])
        return cls(tail, ends, np.ascontiguousarray(rows.T), powers)

    def radii(self, q: FloatArray) -> FloatArray:
        """Radii beyond which the mass is q, for 0 < q <= mass of the tail."""
        out = np.empty_like(q)
        listed = -q < self.ends[-1]
        out[listed] = self._near(q[listed])
        beyond = np.flatnonzero(~listed)
        if beyond.size:
            out[beyond] = self._far(q[beyond])
        return out

    def _near(self, q: FloatArray) -> FloatArray:
        key = -q
        lobe = np.searchsorted(self.ends, key, side="right") - 1
        # The mass of the whole tail is rounded.
        lobe = np.maximum(lobe, 0)
        start = self.ends[lobe]
        share = np.maximum(key - start, 0.0) / (self.ends[lobe + 1] - start)
        t = 2.0 * place_in_lobe(self.tail.zeros, share) - 1.0
        last = self.columns.shape[0] - 1
        w: FloatArray = self.columns[last][lobe]
        if self.powers:
            for column in self.columns[-2::-1]:
                w *= t
                w += column[lobe]
            return w
        before = np.zeros_like(w)
        for column in self.columns[-2:0:-1]:
            w, before = column[lobe] + 2.0 * t * w - before, w
        return np.asarray(self.columns[0][lobe] + t * w - before)

    def _far(self, q: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            s = np.maximum(np.exp(self._log_index(q)), self.tail.kappa)
        out = s.copy()
        # An index beyond the range of doubles is a radius beyond it.
        finite = np.isfinite(s)
        out[finite] = self._radius_near(q[finite], s[finite])
        return out

    def _radius_near(self, q: FloatArray, s: FloatArray) -> FloatArray:
        """Radius at q, from the real index s with T(s) = q up to rounding."""
        tail = self.tail
        k = np.floor(s - tail.kappa)
        share = s - tail.kappa - k
        near = k < _FAR_LOBE
        qn, kn = q[near], k[near]
        kn -= (qn > tail.survival(tail.kappa + kn)) & (kn > 0)
        kn += qn <= tail.survival(tail.kappa + kn + 1.0)
        start = tail.survival(tail.kappa + kn)
        share[near] = (start - qn) / (start - tail.survival(tail.kappa + kn + 1.0))
        k[near] = kn
        v = place_in_lobe(tail.zeros, share)
        s = tail.kappa + k
        x = tail.place(s).real
        rows = chebyshev.chebvander(2.0 * x - 1.0, tail.radius_series.shape[0] - 1)
        columns = chebyshev.chebvander(2.0 * v - 1.0, tail.radius_series.shape[1] - 1)
        shift = np.sum((rows @ tail.radius_series) * columns, axis=1)
        return np.asarray(tail.period * s + shift)

    def _log_index(self, q: FloatArray) -> FloatArray:
        """log s with T(s) = q, by Newton's method on log T against log s, kept in a bracket."""
        tail = self.tail
        grid = tail.scaled_mass(np.linspace(0.0, 1.0, 65))
        goal = np.log(q)
        # P between the grid points leaves its range by less than this margin.
        low = np.maximum((np.log(0.5 * grid.min()) - goal) / tail.sigma, np.log(tail.kappa))
        high = np.maximum((np.log(2.0 * grid.max()) - goal) / tail.sigma, low)
        log_s = np.clip((np.log(tail.scaled_mass(np.zeros(1))) - goal) / tail.sigma, low, high)
        for _ in range(_NEWTON_STEPS):
            x = tail.place(np.exp(log_s)).real
            p = tail.scaled_mass(x)
            excess = np.log(p) - tail.sigma * log_s - goal
            low = np.where(excess > 0.0, log_s, low)
            high = np.where(excess < 0.0, log_s, high)
            step = excess * p / tail.fall(x)
            new = log_s + step
            new = np.where((new < low) | (new > high), 0.5 * (low + high), new)
            if np.all(np.abs(new - log_s) <= _LAST_STEP):
                return np.asarray(new)
            log_s = new
        return np.asarray(log_s)

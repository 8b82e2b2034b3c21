r"""Infinitely many lobes of a density that decays like a power: the tail that is never cut.

The lobes k = 0, 1, 2, ... have the continuous index s = k + kappa.  With
x = (kappa/s)^(1/root) in (0, 1],

.. math:: T(s) = s^{-\sigma} P(x), \qquad w(s, v) = \mathrm{period}\cdot s + B(x, v),

T(s) is the mass beyond the start of lobe s, and v in [0, 1] runs through one lobe, as
:mod:`spectra.table.tails.lobe_shares` says: a sine lobe is exactly linear in v.  P and B are
Chebyshev series in 2x - 1 and 2v - 1, so that one pair of short series holds all lobes.  The root
is q where the density has two kinds of powers that differ by a number of q-th parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from spectra.base.arrays import (
    FloatArray,
    IntArray,
    NumberArray,
    frozen_array,
    made_again,
    panel_rule,
)
from spectra.errors import ParameterError
from spectra.table.radial.panels import powers_of_chebyshev
from spectra.table.tails.lobe_shares import place_in_lobe, share_slope

__all__ = ["LARGEST_ROOT", "LobedTail"]

# Last coefficients of a series in x that has converged, between the 1e-13 that rounding leaves and
# the 1e-10 that a power does which is not in it; and the length from which they are looked at.
_RESOLVED, _SHORT = 1e-12, 8
#: The series in x grow in length with the root, and those of a larger one are none (chosen).
LARGEST_ROOT = 10
# Places x at which B is compared with its limit: a step of 3 % is one of 30 % in the index, for
# the largest root, and what is nearer to 0 is left to the slope.
_FARTHEST_PLACE, _PLACES = 1e-6, 500
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
# Most lobes, and about the most nodes, of :meth:`LobedTail.nodes`.
_NODE_LOBES = 512
_NODES = 1 << 15


@final
@dataclass(frozen=True, eq=False)
class LobedTail:
    r"""Tail of a radial law: its lobes k = 0, 1, ... from the continuous index s = k + kappa on.

    Parameters
    ----------
    kappa : float
        Index of the first lobe, > 0.
    period : float
        Distance of consecutive lobes at infinity, > 0.
    sigma : float
        Exponent of the mass beyond lobe s, > 0.
    mass_series : ndarray, shape (n,)
        Chebyshev coefficients of P in 2 x - 1.
    radius_series : ndarray, shape (n, m)
        Chebyshev coefficients of B in 2 x - 1 (rows) and 2 v - 1 (columns).
    root : int
        1 to 10: the series are in powers of (kappa/s)^(1/root).
    zeros : int
        1 where the density has simple zeros between its lobes, 2 where it has double ones.

    Raises
    ------
    ParameterError
        If T does not fall, or a radius is negative or falls along a lobe or to the next one.

    Examples
    --------
    >>> tail = LobedTail(2.0, 1.0, 1.0, [0.5], [[0.25, 0.25]])    # T = 1/(2 s), w = s + v/2
    >>> tail.mass, tail.isf([0.25, 0.1])
    (0.25, array([2., 5.]))
    """

    kappa: float
    period: float
    sigma: float
    mass_series: FloatArray
    radius_series: FloatArray
    root: int = 1
    zeros: int = 1

    def __post_init__(self) -> None:
        numbers = np.array([self.kappa, self.period, self.sigma], dtype=float)
        if not np.all((numbers > 0.0) & np.isfinite(numbers)):
            raise ParameterError(
                "kappa, period and sigma of a lobed tail must be finite and positive; got "
                f"{self.kappa}, {self.period} and {self.sigma}."
            )
        if not 1 <= self.root <= LARGEST_ROOT:
            raise ParameterError(
                f"The root of a lobed tail is 1 to {LARGEST_ROOT}, and {self.root} was given."
            )
        if self.zeros not in (1, 2):
            raise ParameterError(
                "The zeros between the lobes of a density are simple or double, and "
                f"{self.zeros} was given as their order."
            )
        for name, ndim in (("mass_series", 1), ("radius_series", 2)):
            series = frozen_array(getattr(self, name), name.replace("_", " "), ndim)
            if not series.size:
                raise ParameterError(
                    "The series of a lobed tail are empty: there is no law in them."
                )
            object.__setattr__(self, name, series)
        x = np.linspace(0.0, 1.0, 65)
        v = np.linspace(0.0, 1.0, 33)
        falls = np.all(self.fall(x) > 0.0) and np.all(self.scaled_mass(x) > 0.0)
        if not falls or not self.mass <= 1.0:
            raise ParameterError(
                "The mass beyond a lobe must be positive, at most 1 and fall with the index; it "
                f"starts at {self.mass}. The series of the mass does not fit kappa and sigma."
            )
        s = self.kappa / np.maximum(x, 1.0 / 64.0) ** self.root
        w = self.radius(s, v)
        following = self.radius(s + 1.0, v[:1])
        slack = 1e-9 * w[:, -1:]
        if (
            np.any(w < 0.0)
            or np.any(np.diff(w, axis=1) < -slack)
            or np.any(following < w[:, -1:] - slack)
        ):
            raise ParameterError(
                "The radius of a lobed tail must be positive and ascend along each lobe and from "
                "each lobe to the next. The series of the radius does not fit period and kappa."
            )

    __reduce__ = made_again

    @cached_property
    def mass(self) -> float:
        """Probability of the whole tail, T(kappa)."""
        return float(self.survival(np.array([self.kappa]))[0])

    @cached_property
    def is_resolved(self) -> bool:
        """Whether the series in x have converged, so that they hold at complex indices too.

        They do not where powers of the radius differ by other than short fractions: there they
        are right at the real indices that were fitted, and nowhere else.
        """
        last = (np.abs(a[_SHORT:][-3:]) for a in (self.radius_series, self.mass_series))
        radii, masses = (float(np.max(a, initial=0.0)) for a in last)
        most = float(np.max(np.abs(self.mass_series)))
        return radii <= _RESOLVED * self.period and masses <= _RESOLVED * most

    @cached_property
    def _fall_series(self) -> FloatArray:
        """Series of F = sigma P + x P'/root, with which -T'(s) = s^(-sigma-1) F(x)."""
        p = self.mass_series
        slope = 2.0 * chebyshev.chebder(p) if p.size > 1 else np.zeros(1)
        x_slope = chebyshev.chebmul([0.5, 0.5], slope) / self.root
        return np.asarray(chebyshev.chebadd(self.sigma * p, x_slope))

    def scaled_mass(self, x: FloatArray) -> FloatArray:
        """P(x), with which T(s) = s^-sigma P(x)."""
        return np.asarray(chebyshev.chebval(2.0 * x - 1.0, self.mass_series))

    def fall(self, x: FloatArray) -> FloatArray:
        """F(x), with which -T'(s) = s^(-sigma-1) F(x)."""
        return np.asarray(chebyshev.chebval(2.0 * x - 1.0, self._fall_series))

    def place(self, s: NumberArray) -> NumberArray:
        """x = (kappa/s)^(1/root), the variable of the series, for complex s too."""
        ratio = self.kappa / s
        return ratio if self.root == 1 else ratio ** (1.0 / self.root)

    def survival(self, s: FloatArray) -> FloatArray:
        """Mass T(s) beyond the start of lobe s >= kappa."""
        return np.asarray(s**-self.sigma * self.scaled_mass(self.place(s).real))

    def radius(self, s: NumberArray, v: FloatArray) -> NumberArray:
        """w(s, v) on the grid of s and v, shape (s.size, v.size); s may be complex."""
        out: NumberArray = self.period * s[:, None] + self.shift(s, v)
        return out

    def shift(self, s: NumberArray, v: FloatArray) -> NumberArray:
        """B(x, v) on the grid of s and v: the radius without the index, which may be large."""
        columns = chebyshev.chebvander(2.0 * v - 1.0, self.radius_series.shape[1] - 1)
        out: NumberArray = self.series_in(s) @ columns.T
        return out

    def series_in(self, s: NumberArray) -> NumberArray:
        """Chebyshev coefficients of B in 2 v - 1 at indices s, a row for each."""
        x = 2.0 * self.place(s) - 1.0
        out: NumberArray = chebyshev.chebvander(x, len(self.radius_series) - 1) @ self.radius_series
        return out

    def lobe_mass(self, s: NumberArray) -> NumberArray:
        """T(s) - T(s + 1) as the integral of -T', without cancellation, for complex s too."""
        # The nearest singularity is s = 0, so that 16 nodes are exact to rounding from s = 1/2 on.
        tau, weights = panel_rule(np.zeros(1), np.ones(1), 16)
        r = s[:, None] + tau
        fall = chebyshev.chebval(2.0 * self.place(r) - 1.0, self._fall_series)
        return np.asarray((r ** (-self.sigma - 1.0) * fall) @ weights[0])

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the mass is q, for 0 <= q <= mass; infinite at q = 0."""
        q = np.asarray(q, dtype=float)
        if not np.all((q >= 0.0) & (q <= self.mass)):
            raise ParameterError(f"A tail of mass {self.mass} was asked for more, or less than 0.")
        out = np.full(q.shape, np.inf)
        some = q > 0.0
        out[some] = self._radii(q[some])
        return out

    def _radii(self, q: FloatArray) -> FloatArray:
        """Radii beyond which the mass is q, for 0 < q <= mass of the tail."""
        ends, out = self.listed_ends, np.empty_like(q)
        listed = -q < ends[-1]
        key = -q[listed]
        # The mass of the whole tail is rounded.
        k = np.maximum(np.searchsorted(ends, key, side="right") - 1, 0)
        share = np.maximum(key - ends[k], 0.0) / (ends[k + 1] - ends[k])
        out[listed] = self._listed_radius(k, place_in_lobe(self.zeros, share))
        if not np.all(listed):
            out[~listed] = self._far_radii(q[~listed])
        return out

    def _far_radii(self, q: FloatArray) -> FloatArray:
        """Radii beyond the listed lobes."""
        with np.errstate(over="ignore"):
            s = np.maximum(np.exp(self._log_index(q)), self.kappa)
        # An index beyond the range of doubles is a radius beyond it.
        out, some = np.full(q.shape, np.inf), np.isfinite(s)
        k, share = self._lobe_near(q[some], s[some])
        out[some] = self._radius_in(k, place_in_lobe(self.zeros, share))
        return out

    @cached_property
    def listed_ends(self) -> FloatArray:
        """Minus the mass beyond each of the first lobes, ascending: :meth:`isf` jumps between.

        Nearly all draws fall into these, so that their masses are searched.
        """
        return -self.survival(self.kappa + np.arange(_LISTED + 1.0))

    @cached_property
    def _listed_powers(self) -> FloatArray | None:
        """Radii along the listed lobes, shape (m, n), as powers of 2 v - 1: None where too many."""
        terms = self.radius_series.shape[1]
        s = self.kappa + np.arange(float(_LISTED))
        rows = self.series_in(s).real
        rows[:, 0] += self.period * s
        rows = rows @ powers_of_chebyshev(terms)
        return np.ascontiguousarray(rows.T) if terms <= _POWERS else None

    def _listed_radius(self, k: IntArray, v: FloatArray) -> FloatArray:
        """Radius at the places v of listed lobes k."""
        if self._listed_powers is None:
            return self._radius_in(k.astype(float), v)
        t, w = 2.0 * v - 1.0, np.zeros(v.size)
        for column in self._listed_powers[::-1]:
            w *= t
            w += column[k]
        return w

    def _radius_in(self, k: FloatArray, v: FloatArray) -> FloatArray:
        """Radius at the places v of lobes k, one of each."""
        s = self.kappa + k
        columns = chebyshev.chebvander(2.0 * v - 1.0, self.radius_series.shape[1] - 1)
        return np.asarray(self.period * s + np.sum(self.series_in(s).real * columns, axis=1))

    def _lobe_near(self, q: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lobe and share of it at q, from the real index s with T(s) = q up to rounding."""
        k = np.floor(s - self.kappa)
        share = s - self.kappa - k
        near = k < _FAR_LOBE
        q, i = q[near], k[near]
        i -= (q > self.survival(self.kappa + i)) & (i > 0)
        i += q <= self.survival(self.kappa + i + 1.0)
        start, end = self.survival(self.kappa + i), self.survival(self.kappa + i + 1.0)
        k[near], share[near] = i, (start - q) / (start - end)
        return k, share

    def _log_index(self, q: FloatArray) -> FloatArray:
        """log s with T(s) = q, by Newton's method on log T against log s, kept in a bracket."""
        grid = self.scaled_mass(np.linspace(0.0, 1.0, 65))
        goal = np.log(q)
        # P between the grid points leaves its range by less than this margin.
        low = np.maximum((np.log(0.5 * grid.min()) - goal) / self.sigma, np.log(self.kappa))
        high = np.maximum((np.log(2.0 * grid.max()) - goal) / self.sigma, low)
        log_s = np.clip((np.log(grid[0]) - goal) / self.sigma, low, high)
        for _ in range(_NEWTON_STEPS):
            x = self.place(np.exp(log_s)).real
            p = self.scaled_mass(x)
            excess = np.log(p) - self.sigma * log_s - goal
            low = np.where(excess > 0.0, log_s, low)
            high = np.where(excess < 0.0, log_s, high)
            new = log_s + excess * p / self.fall(x)
            new = np.where((new < low) | (new > high), 0.5 * (low + high), new)
            settled = np.all(np.abs(new - log_s) <= _LAST_STEP)
            log_s = new
            if settled:
                break
        return np.asarray(log_s)

    def lobe_rule(self, phase: float) -> tuple[FloatArray, FloatArray]:
        """Nodes v and weights of one lobe, for waves that turn by ``phase`` along it."""
        # Rules that are exact to rounding for these phases and the sine of the lobe itself; and for
        # one that nearly touches zero, of which the radius has more terms.
        count, nodes = (1, 24) if phase <= 8.0 else (1 + int(phase / 32.0), 40)
        count = max(count, -(-self.radius_series.shape[1] // nodes))
        ends = np.linspace(0.0, 1.0, count + 1)
        v, weights = panel_rule(ends[:-1], ends[1:], nodes)
        v, weights = v.ravel(), weights.ravel()
        return v, weights * share_slope(self.zeros, v)

    @cached_property
    def steepness(self) -> float:
        """Largest dw/dv along any lobe."""
        return 2.2 * self._steepest(axis=1)

    @cached_property
    def drift(self) -> float:
        """Largest dB/dx, a bound of |B - B(x = 0)| at every lobe."""
        return 2.0 * self._steepest(axis=0)

    def _steepest(self, axis: int) -> float:
        """Largest derivative of B in 2 x - 1 (axis 0) or 2 v - 1, on a grid."""
        grid = np.linspace(-1.0, 1.0, 33)
        slope = chebyshev.chebder(self.radius_series, axis=axis)
        return float(np.max(np.abs(chebyshev.chebgrid2d(grid, grid, slope)))) if slope.size else 0.0

    def settled(self, change: float) -> float:
        """Index from which on B differs from its limit by less than ``change``.

        The first power of x in B may be high where the root is, so that B itself is looked at,
        besides its slope.
        """
        x, moved = self._departure
        by_slope = change / self.drift if self.drift > 0.0 else np.inf
        near = x[: int(np.searchsorted(moved, change))]
        return float(self.kappa * max(by_slope, near[-1] if near.size else 0.0) ** -self.root)

    @cached_property
    def _departure(self) -> tuple[FloatArray, FloatArray]:
        """Places x, and the largest |B - B(x = 0)| up to each, for indices of positive real part.

        The rays that bound those indices are looked at, as B is analytic between them.
        """
        v = np.linspace(-1.0, 1.0, 33)
        across = self.radius_series @ chebyshev.chebvander(v, self.radius_series.shape[1] - 1).T
        x = np.geomspace(_FARTHEST_PLACE, 1.0, _PLACES)
        turns = np.array([0.0, np.pi / (2.0 * self.root)])
        at = 2.0 * x[:, None] * np.exp(-1j * turns) - 1.0
        limit = np.asarray(chebyshev.chebval(-1.0, across))
        moved = np.asarray(chebyshev.chebval(at, across)) - limit[:, None, None]
        return x, np.maximum.accumulate(np.abs(moved).max(axis=(0, 2)))

    def nodes(self, z_max: float) -> tuple[FloatArray, FloatArray, float]:
        """Radii and weights of the first lobes, resolved up to z_max, and the mass beyond them."""
        v, share = self.lobe_rule(z_max * self.steepness)
        s = self.kappa + np.arange(float(_node_lobes(v)))
        w = self.radius(s, v)
        weights = self.lobe_mass(s).real[:, None] * share
        beyond = float(self.survival(s[-1:] + 1.0)[0])
        return w.real.ravel(), weights.ravel(), beyond

    def wave_beyond(self, z_max: float, z: FloatArray) -> FloatArray:
        r"""Bound of what the lobes without nodes add to E cos(w z), at distances z <= z_max.

        From the index K on the lobes have falling masses p_k <= p_K and waves of one phase
        advance, but for the shift B of the radius; summation by parts gives

        .. math:: \Bigl|\sum_{k \ge K} p_k \int e^{izw}\Bigr|
                  \le \min\Bigl(T(K), \frac{p_K (1 + z \max|B'| x_K)}{|\sin(zP/2)|}\Bigr).
        """
        v, _ = self.lobe_rule(z_max * self.steepness)
        s = np.array([self.kappa + _node_lobes(v)])
        first, rest = float(self.lobe_mass(s).real[0]), float(self.survival(s)[0])
        motion = 1.0 + z * self.drift * float(self.place(s).real[0])
        with np.errstate(divide="ignore"):
            return np.asarray(
                np.minimum(rest, first * motion / np.abs(np.sin(0.5 * z * self.period)))
            )


def _node_lobes(v: FloatArray) -> int:
    """Lobes that have nodes, where one lobe has the nodes v."""
    return max(1, min(_NODE_LOBES, _NODES // v.size))

r"""The cheapest measure within a tolerance on a range of distances: a linear programme.

.. math:: \min \sum_j |c_j|\,g(w_j) \quad\text{with}\quad
          \Bigl|\sum_j c_j \Omega_d(w_j z) - k(z)\Bigr| \le \epsilon
          \ \text{on } [z_0, z_1], \qquad \sum_j |c_j| \le M .

Radii and distances are both continuous.  The programme is solved on finitely many of each; its dual
:math:`q(w) = \sum_i y_i \Omega_d(w z_i)` obeys :math:`|q(w)| \le g(w) + \lambda` at the radii used,
and each radius that violates this is added, as is each distance where the error exceeds the
tolerance (Remez exchange in both variables).  The dual also bounds the value of every measure from
below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from spectra.base.limits import seconds_left
from spectra.base.numbers import FloatArray
from spectra.designs.wave_columns import tabulated_wave
from spectra.errors import AccuracyError

__all__ = ["solve"]

#: Distances z_i and weights y_i of q, and lambda, the multiplier of the bound of the mass.
Dual = tuple[FloatArray, FloatArray, float]

# Step of the grid of radii on which the dual is checked, in units of 1/z_max.  The bandwidth of the
# dual is z_max, so a maximum is at least seven steps wide.
_PRICING_STEP = 0.4
# Points of the first grid of distances, and of radii.
_FIRST_POINTS, _FIRST_RADII = 40, 60
_MOST_ROUNDS = 40
# The exchange stops when the value is within this part of its lower bound, and the error exceeds
# the tolerance by no more than this part.
_GAP, _EXCESS = 2e-3, 2e-3
# Cost of a unit of error beyond the tolerance, times the size of the kernel relative to it.
_PENALTY = 1e4
# Masses below this part of the whole are rounding of the simplex method.
_NEGLIGIBLE_MASS = 1e-11
# A design keeps only radii at which the dual is this close to its bound, if they suffice.
_NEARLY_TIGHT = 1e-2
# Radii closer than this, times 1/z_max, are merged: maxima of the dual are further apart.
_CLUSTER = 1.0
# Methods and feasibilities of HiGHS, tried in turn: the strictest (1e-10 is its least) sometimes
# fails on the nearly parallel columns of a fine grid of radii.
_ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs-ipm", 1e-9), ("highs-ds", 1e-8))
# HiGHS has a limit of wall time: seconds of it for each second of processor time that is left, the
# least limit, and the status with which scipy reports that the limit was reached.
_WALL_TIME, _LEAST_WALL_TIME, _STOPPED = 2.0, 0.1, 1


@dataclass
class _Exchange:
    """The programme of :func:`solve`, and the radii and distances in use."""

    target: Callable[[FloatArray], FloatArray]
    dim: int
    domain: tuple[float, float]
    tol: float
    cost: Callable[[FloatArray], FloatArray]
    max_mass: float
    max_radius: float

    def __post_init__(self) -> None:
        high = self.domain[1]
        self.wave = tabulated_wave(self.dim, self.max_radius * high)
        steps = int(self.max_radius / (_PRICING_STEP / high))
        self.grid = np.linspace(0.0, self.max_radius, 2 + steps)
        self.grid_cost = self.cost(self.grid)
        bulk = min((3.0 * np.sqrt(self.dim) + 12.0) / high, self.max_radius)
        first = np.linspace(0.0, bulk, _FIRST_RADII)
        if bulk < self.max_radius:
            first = np.append(first, np.geomspace(bulk, self.max_radius, _FIRST_RADII // 2)[1:])
        self.radii = first
        self.points = self.distances(_FIRST_POINTS)
        size = float(np.abs(self.target(self.points)).max())
        self.penalty = _PENALTY * max(size, self.tol) / self.tol

    def distances(self, count: int) -> FloatArray:
        """Distances of the domain, dense at its ends, where errors oscillate fastest."""
        low, high = self.domain
        angle = np.linspace(0.0, np.pi, count)
        return np.asarray(low + (high - low) * np.sin(0.5 * angle) ** 2)

    def solve_on(self, radii: FloatArray) -> tuple[FloatArray, float, float, Dual]:
        """Solve the programme on some radii; error beyond the tolerance costs the penalty.

        Returns the masses, how far their error exceeds the tolerance, the value and the dual.
        """
        m, cost = self.points.size, np.tile(self.cost(radii), 2)
        masses, excess, value, marginals = self._masses(
            radii, np.append(cost, self.penalty), self.tol, np.zeros((0, cost.size))
        )
        weights = marginals[:m] - marginals[m : 2 * m]
        active = weights != 0.0
        price = -float(marginals[-1]) / np.sqrt(self.max_mass)
        return masses, excess, value, (self.points[active], weights[active], price)

    def least_error(self, radii: FloatArray, budget: float) -> FloatArray:
        """Masses of least error on the distances in use, among those that cost at most a budget."""
        cost = np.tile(self.cost(radii), 2)
        error_alone = np.append(np.zeros(cost.size), 1.0)
        return self._masses(radii, error_alone, 0.0, cost[None] / budget)[0]

    def _masses(
        self, radii: FloatArray, cost: FloatArray, tol: float, budget: FloatArray
    ) -> tuple[FloatArray, float, float, FloatArray]:
        """Least cost of the masses of each sign and of the excess of their error over ``tol``."""
        n, waves = radii.size, self.wave(self.points[:, None] * radii)
        target = self.target(self.points)
        # HiGHS drops entries below 1e-9: half of the scale of the mass bound goes to each side.
        scale = np.sqrt(self.max_mass)
        cap = np.full((1, 2 * n), 1.0 / scale)
        rows = np.block([[waves, -waves], [-waves, waves], [budget], [cap]])
        excess = np.append(-np.ones(2 * target.size), np.zeros(len(budget) + 1))[:, None]
        x, value, marginals = _minimise(
            cost,
            np.concatenate([rows, excess], axis=1),
            np.concatenate([tol + target, tol - target, np.ones(len(budget)), [scale]]),
        )
        return x[:n] - x[n : 2 * n], float(x[-1]), value, marginals

    def size(self, dual: Dual, w: FloatArray) -> FloatArray:
        """|q(w)|, by the table of the wave."""
        total = np.zeros_like(w)
        for z, y in zip(*dual[:2], strict=True):
            total += y * self.wave(w * z)
        return np.abs(total)

    def dual_violations(self, dual: Dual) -> tuple[FloatArray, FloatArray]:
        """Local maxima in w of |q(w)| - g(w), refined between grid points, less lambda."""
        height = self.size(dual, self.grid) - self.grid_cost
        top = _is_peak(height)
        best, value = self.grid[top], height[top]
        step = self.grid[1] - self.grid[0]
        for _ in range(3):
            offsets = step * np.linspace(-1.0, 1.0, 9)
            w = np.clip(best[:, None] + offsets, 0.0, self.max_radius)
            flat = w.ravel()
            height = (self.size(dual, flat) - self.cost(flat)).reshape(w.shape)
            at = height.argmax(axis=1)
            rows = np.arange(best.size)
            best, value = w[rows, at], height[rows, at]
            step /= 4.0
        return best, value - dual[2]

    def error_peaks(self, radii: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Local maxima in z of the absolute error."""
        used = masses != 0.0
        fastest = float(radii[used].max(initial=0.0)) * (self.domain[1] - self.domain[0])
        z = self.distances(400 + int(4.0 * fastest))
        error = -self.target(z)
        for w, c in zip(radii[used], masses[used], strict=True):
            error += c * self.wave(w * z)
        height = np.abs(error)
        top = _is_peak(height)
        return z[top], height[top]

    def lower_bound(self, value: float, worst: float) -> float:
        """Value of the dual, made feasible: raise lambda by the excess, or divide q by a factor."""
        raised = value - worst * self.max_mass
        cheapest = float(self.grid_cost[0])
        return max(raised, value / (1.0 + worst / cheapest)) if cheapest > 0.0 else raised

    def add(self, radii: FloatArray, points: FloatArray) -> bool:
        """Add radii and distances; False if all of them are in use already."""
        before = self.radii.size, self.points.size
        self.radii, self.points = np.union1d(self.radii, radii), np.union1d(self.points, points)
        return (self.radii.size, self.points.size) != before


def _minimise(
    cost: FloatArray, rows: FloatArray, limits: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Minimise cost x with rows x <= limits, x >= 0, by HiGHS: x, the value and the marginals."""
    for method, feasibility in _ATTEMPTS:
        names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options: dict[str, Any] = dict.fromkeys(names, feasibility)
        wall_time, stopped = _WALL_TIME, True
        # It returns to Python, where its step can be ended, and begins again with more time.
        while stopped:
            left = seconds_left()
            if left is not None:
                options["time_limit"] = max(wall_time * left, _LEAST_WALL_TIME)
            result = linprog(
                cost, A_ub=rows, b_ub=limits, bounds=(0, None), method=method, options=options
            )
            stopped = left is not None and result.status == _STOPPED
            wall_time *= 2.0
        if result.status == 0:
            return result.x, float(result.fun), result.ineqlin.marginals
    raise AccuracyError(
        "The linear programme of the design was not solved by HiGHS: the tolerance asks for masses "
        "that cancel to rounding. Ask for a larger tolerance or a smaller domain."
    )


def _is_peak(height: FloatArray) -> np.ndarray:
    """Where no neighbour is higher."""
    padded = np.pad(height, 1, constant_values=-np.inf)
    return np.asarray((height >= padded[:-2]) & (height >= padded[2:]))


def solve(
    target: Callable[[FloatArray], FloatArray],
    dim: int,
    domain: tuple[float, float],
    *,
    tol: float,
    cost: Callable[[FloatArray], FloatArray],
    max_mass: float,
    max_radius: float,
) -> tuple[FloatArray, FloatArray, float, float, Dual]:
    """Radii and masses that solve the programme, their value, its lower bound, and the dual."""
    exchange = _Exchange(target, dim, domain, tol, cost, max_mass, max_radius)
    most_cost = max_mass * float(exchange.grid_cost.max())
    for _ in range(_MOST_ROUNDS):
        masses, excess, value, dual = exchange.solve_on(exchange.radii)
        w, gain = exchange.dual_violations(dual)
        worst = max(float(gain.max(initial=0.0)), 0.0)
        z, height = exchange.error_peaks(exchange.radii, masses)
        allowed = (tol + excess) * (1.0 + _EXCESS)
        lower_bound = exchange.lower_bound(value, worst)
        if lower_bound > most_cost:
            raise _infeasible_error(exchange, lower_bound / most_cost)
        within, converged = excess <= _EXCESS * tol, not np.any(height > allowed)
        close = value - lower_bound <= _GAP * value
        if within and close and not converged:
            # One of the measures of this value may be within the tolerance everywhere.
            masses = exchange.least_error(exchange.radii, value * (1.0 + _GAP))
            more, high = exchange.error_peaks(exchange.radii, masses)
            converged = not np.any(high > allowed)
            z, height = np.append(z, more), np.append(height, high)
        # The gap between the value and its bound may be rounding of the simplex method.
        done = within and converged
        grown = not (done and close) and exchange.add(w[gain > 0.05 * worst], z[height > allowed])
        if done and not grown:
            tight = np.unique(w[gain > -_NEARLY_TIGHT * (exchange.cost(w) + dual[2])])
            return *_drop_radii(exchange, masses, value, allowed, tight), lower_bound, dual
    raise AccuracyError(
        f"The exchange of radii and distances did not settle in {_MOST_ROUNDS} rounds: the "
        f"tolerance {tol:g} is too small for double precision here, where masses of "
        f"{np.abs(masses).sum():.3g} cancel. Ask for a larger tolerance or a smaller domain."
    )


def _drop_radii(
    exchange: _Exchange, masses: FloatArray, value: float, allowed: float, tight: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Radii, masses and value; fewer radii if those with a tight bound, or clusters, suffice."""
    radii, masses = _without_rounding(exchange.radii, masses)
    for trial in (tight, _cluster(radii, masses, _CLUSTER / exchange.domain[1])):
        if trial.size < radii.size:
            fewer, _, small, _ = exchange.solve_on(trial)
            within = np.all(exchange.error_peaks(trial, fewer)[1] <= allowed)
            if within and small <= value * (1.0 + 3.0 * _GAP):
                return *_without_rounding(trial, fewer), small
    return radii, masses, float(np.abs(masses) @ exchange.cost(radii))


def _without_rounding(radii: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The radii whose masses are not rounding, and these."""
    used = np.abs(masses) > _NEGLIGIBLE_MASS * np.abs(masses).sum()
    return radii[used], masses[used]


def _cluster(radii: FloatArray, masses: FloatArray, width: float) -> FloatArray:
    """Means by mass of radii closer than ``width`` whose masses have one sign."""
    starts_new = (np.diff(radii) >= width) | (masses[1:] * masses[:-1] < 0.0) | (radii[:-1] == 0.0)
    starts = np.flatnonzero(np.append(True, starts_new))
    weighted, total = (np.add.reduceat(x, starts) for x in (radii * masses, masses))
    return np.asarray(weighted / total)


def _infeasible_error(exchange: _Exchange, factor: float) -> AccuracyError:
    low, high = exchange.domain
    smaller = (
        "for instance z <= sqrt(2) for unit rows without negative entries: a kink or a root at the "
        "end of the domain, or inside it, has this effect in every large dimension."
    )
    return AccuracyError(
        f"No measure of mass up to {exchange.max_mass:.3g} and radii up to "
        f"{exchange.max_radius:.4g} in dimension {exchange.dim} is within {exchange.tol:g} of "
        f"the kernel on [{low:g}, {high:g}]: at least {factor:.3g} times that much is needed.",
        in_python=f"Allow a larger tol, or make the domain smaller, {smaller} On the sphere itself "
        "rf.SpectralFeatures finds features that need no measure.",
        at_shell=f"Allow a larger --tol, or make the range smaller with --z-max, {smaller} 'rf "
        "approximate' tries features that need no measure.",
    )

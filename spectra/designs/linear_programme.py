r"""The cheapest measure within a tolerance on a range of distances: a linear programme.

.. math:: \min \sum_j |c_j|\,g(w_j) \quad\text{with}\quad
          \Bigl|\sum_j c_j \Omega_d(w_j z) - k(z)\Bigr| \le \epsilon
          \ \text{on } [z_0, z_1], \qquad \sum_j |c_j| \le M .

The programme is solved on finitely many radii w_j and distances z_i.  At these radii its dual
:math:`q(w) = \sum_i y_i \Omega_d(w z_i)` satisfies :math:`|q(w)| \le g(w) + \lambda`, where lambda
is the multiplier of the bound M.  Other radii that violate this, and distances where the
error exceeds the tolerance, are added until there are none (a Remez exchange in both variables).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from spectra.base.limits import check_time, seconds_left
from spectra.base.numbers import FloatArray
from spectra.designs.wave_variance import tabulated_wave
from spectra.errors import AccuracyError

__all__ = ["EXCESS", "solve_programme"]

# Step of the grid of radii, in units of 1/z_max, at most a seventh of the width of a maximum of the
# dual, whose bandwidth is z_max.
_GRID_STEP = 0.4
# Numbers of distances and radii in the first programme.
_FIRST_DISTANCES, _FIRST_RADII = 40, 60
_MOST_ROUNDS = 40
# The exchange stops when the cost is this close to its lower bound, and the error to the tolerance.
# EXCESS times the tolerance must exceed the rounding, or the simplex method does not converge.
_GAP, EXCESS = 2e-3, 2e-3
# A unit of error beyond the tolerance costs this many times max |k| / tolerance.
_PENALTY = 1e4
# Masses below this fraction of the total mass are rounding errors of the simplex method.
_NEGLIGIBLE_MASS = 1e-11
# Radii at which the dual is further from its bound than this fraction are dropped, if possible.
_NEARLY_TIGHT = 1e-2
# Else radii closer than this, in units of 1/z_max, are merged: maxima of the dual are not so close.
_MERGING_DISTANCE = 1.0
# Methods and feasibility tolerances of HiGHS, tried in turn.  The strictest (1e-10 is the least it
# accepts) sometimes fails, because the columns of neighbouring radii are nearly parallel.
_ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs-ipm", 1e-9), ("highs-ds", 1e-8))
# Seconds of wall time of a call of HiGHS for each second of processor time that is left, the least
# number of them, and the status of scipy's linprog when they have passed.
_WALL_TIME, _LEAST_WALL_TIME, _TIME_LIMIT_REACHED = 2.0, 0.1, 1


#: Distances z_i and weights y_i of q, and the multiplier lambda of the bound of the mass.
Dual = tuple[FloatArray, FloatArray, float]


@dataclass
class _Exchange:
    """The programme of :func:`solve_programme`, with the radii and distances in use."""

    target: Callable[[FloatArray], FloatArray]
    dim: int
    domain: tuple[float, float]
    tol: float
    cost: Callable[[FloatArray], FloatArray]
    max_mass: float
    max_radius: float

    def __post_init__(self) -> None:
        z_max = self.domain[1]
        self.wave = tabulated_wave(self.dim, self.max_radius * z_max)
        steps = int(self.max_radius / (_GRID_STEP / z_max))
        self.grid = np.linspace(0.0, self.max_radius, 2 + steps)
        self.grid_cost = self.cost(self.grid)
        dense = min((3.0 * np.sqrt(self.dim) + 12.0) / z_max, self.max_radius)
        self.radii = np.linspace(0.0, dense, _FIRST_RADII)
        if dense < self.max_radius:
            sparse = np.geomspace(dense, self.max_radius, _FIRST_RADII // 2)[1:]
            self.radii = np.append(self.radii, sparse)
        self.distances = self.spaced_distances(_FIRST_DISTANCES)
        size = float(np.abs(self.target(self.distances)).max())
        self.penalty = _PENALTY * max(size, self.tol) / self.tol

    def spaced_distances(self, count: int) -> FloatArray:
        """Distances of the domain, dense at its ends, where errors oscillate fastest."""
        low, high = self.domain
        angle = np.linspace(0.0, np.pi, count)
        return np.asarray(low + (high - low) * np.sin(0.5 * angle) ** 2)

    def solve_on(self, radii: FloatArray) -> tuple[FloatArray, float, float, Dual]:
        """Solve the programme on some radii, where error beyond the tolerance costs a penalty.

        Returns the masses, the excess of their error over the tolerance, their cost and the dual.
        """
        m, cost = self.distances.size, np.tile(self.cost(radii), 2)
        masses, excess, value, marginals = self._cheapest_masses(
            radii, np.append(cost, self.penalty), self.tol, np.zeros((0, cost.size))
        )
        weights = marginals[:m] - marginals[m : 2 * m]
        active = weights != 0.0
        multiplier = -float(marginals[-1]) / np.sqrt(self.max_mass)
        return masses, excess, value, (self.distances[active], weights[active], multiplier)

    def least_error_masses(self, radii: FloatArray, max_cost: float) -> FloatArray:
        """Masses of least error on the distances in use that cost at most ``max_cost``."""
        cost = np.tile(self.cost(radii), 2)
        only_excess = np.append(np.zeros(cost.size), 1.0)
        return self._cheapest_masses(radii, only_excess, 0.0, cost[None] / max_cost)[0]

    def _cheapest_masses(
        self, radii: FloatArray, cost: FloatArray, tol: float, cost_limit: FloatArray
    ) -> tuple[FloatArray, float, float, FloatArray]:
        """Minimise cost @ (positive masses, negative masses, excess) with cost_limit @ masses <= 1.

        Returns the masses, the excess of their error over ``tol``, the minimum and the marginals.
        """
        n, waves = radii.size, self.wave(self.distances[:, None] * radii)
        target = self.target(self.distances)
        # HiGHS ignores entries below 1e-9: the bound of the mass is divided by its square root.
        scale = np.sqrt(self.max_mass)
        mass_limit = np.full((1, 2 * n), 1.0 / scale)
        rows = np.block([[waves, -waves], [-waves, waves], [cost_limit], [mass_limit]])
        excess = np.append(-np.ones(2 * target.size), np.zeros(len(cost_limit) + 1))[:, None]
        x, value, marginals = _minimise(
            cost,
            np.concatenate([rows, excess], axis=1),
            np.concatenate([tol + target, tol - target, np.ones(len(cost_limit)), [scale]]),
        )
        return x[:n] - x[n : 2 * n], float(x[-1]), value, marginals

    def abs_dual(self, dual: Dual, w: FloatArray) -> FloatArray:
        """|q(w)|."""
        total = np.zeros_like(w)
        distances, weights, _ = dual
        for z, y in zip(distances, weights, strict=True):
            total += y * self.wave(w * z)
        return np.abs(total)

    def dual_violations(self, dual: Dual) -> tuple[FloatArray, FloatArray]:
        """Local maxima of |q(w)| - g(w) - lambda, refined from those on the grid: radii, values."""
        height = self.abs_dual(dual, self.grid) - self.grid_cost
        radii, values = _peaks(self.grid, height)
        step = self.grid[1] - self.grid[0]
        rows = np.arange(radii.size)
        for _ in range(3):
            w = np.clip(radii[:, None] + step * np.linspace(-1.0, 1.0, 9), 0.0, self.max_radius)
            height = (self.abs_dual(dual, w.ravel()) - self.cost(w.ravel())).reshape(w.shape)
            best = height.argmax(axis=1)
            radii, values = w[rows, best], height[rows, best]
            step /= 4.0
        _, _, multiplier = dual
        return radii, values - multiplier

    def error_peaks(self, radii: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Local maxima of the absolute error: distances and values."""
        used = masses != 0.0
        phase = float(radii[used].max(initial=0.0)) * (self.domain[1] - self.domain[0])
        z = self.spaced_distances(400 + int(4.0 * phase))
        error = -self.target(z)
        for w, c in zip(radii[used], masses[used], strict=True):
            error += c * self.wave(w * z)
        return _peaks(z, np.abs(error))

    def lower_bound(self, value: float, violation: float) -> float:
        """Lower bound of the cost if |q| <= g + lambda + violation: increase lambda, or scale q."""
        increased = value - violation * self.max_mass
        least_cost = float(self.grid_cost[0])
        scaled = value / (1.0 + violation / least_cost) if least_cost > 0.0 else increased
        return max(increased, scaled)

    def add(self, radii: FloatArray, distances: FloatArray) -> bool:
        """Add radii and distances; False if all of them are in use already."""
        before = self.radii.size, self.distances.size
        self.radii = np.union1d(self.radii, radii)
        self.distances = np.union1d(self.distances, distances)
        return (self.radii.size, self.distances.size) != before


def _minimise(
    cost: FloatArray, rows: FloatArray, limits: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Minimise cost @ x with rows @ x <= limits and x >= 0: x, the minimum and the marginals."""
    for method, feasibility in _ATTEMPTS:
        names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options: dict[str, Any] = dict.fromkeys(names, feasibility)
        wall_time, stopped = _WALL_TIME, True
        # Time is checked between calls of HiGHS only; wall_time doubles after each call.
        while stopped:
            check_time()
            left = seconds_left()
            if left is not None:
                options["time_limit"] = max(wall_time * left, _LEAST_WALL_TIME)
            result = linprog(
                cost, A_ub=rows, b_ub=limits, bounds=(0, None), method=method, options=options
            )
            stopped = left is not None and result.status == _TIME_LIMIT_REACHED
            wall_time *= 2.0
        if result.status == 0:
            return result.x, float(result.fun), result.ineqlin.marginals
    raise AccuracyError(
        "HiGHS did not solve the linear programme of the design, because masses cancel to rounding "
        "errors. Use a larger tolerance or a smaller domain."
    )


def _peaks(x: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The points x with no higher neighbour, and their heights."""
    padded = np.pad(height, 1, constant_values=-np.inf)
    is_peak = (height >= padded[:-2]) & (height >= padded[2:])
    return x[is_peak], height[is_peak]


def solve_programme(
    target: Callable[[FloatArray], FloatArray],
    dim: int,
    domain: tuple[float, float],
    *,
    tol: float,
    cost: Callable[[FloatArray], FloatArray],
    max_mass: float,
    max_radius: float,
) -> tuple[FloatArray, FloatArray, float, float, Dual]:
    """Radii and masses of the cheapest measure, its cost, a lower bound of the cost, and the dual.

    ``cost(w)`` is the cost g(w) of a unit of mass at the radius w.
    """
    exchange = _Exchange(target, dim, domain, tol, cost, max_mass, max_radius)
    largest_cost = max_mass * float(exchange.grid_cost.max())
    for _ in range(_MOST_ROUNDS):
        check_time()
        masses, excess, value, dual = exchange.solve_on(exchange.radii)
        w, violations = exchange.dual_violations(dual)
        worst = max(float(violations.max(initial=0.0)), 0.0)
        z, errors = exchange.error_peaks(exchange.radii, masses)
        max_error = (tol + excess) * (1.0 + EXCESS)
        lower_bound = exchange.lower_bound(value, worst)
        if lower_bound > largest_cost:
            raise _infeasible_error(exchange, lower_bound / largest_cost)
        within, converged = excess <= EXCESS * tol, not np.any(errors > max_error)
        close = value - lower_bound <= _GAP * value
        if within and close and not converged:
            # Another measure of about this cost may be within the tolerance at all distances.
            masses = exchange.least_error_masses(exchange.radii, value * (1.0 + _GAP))
            more_z, more_errors = exchange.error_peaks(exchange.radii, masses)
            converged = not np.any(more_errors > max_error)
            z, errors = np.append(z, more_z), np.append(errors, more_errors)
        done = within and converged
        # If nothing can be added, the gap that remains is rounding of the simplex method.
        new_radii, new_distances = w[violations > 0.05 * worst], z[errors > max_error]
        grown = not (done and close) and exchange.add(new_radii, new_distances)
        if done and not grown:
            *_, multiplier = dual
            slack = _NEARLY_TIGHT * (exchange.cost(w) + multiplier)
            tight = np.unique(w[violations > -slack])
            return *_drop_radii(exchange, masses, value, max_error, tight), lower_bound, dual
    raise AccuracyError(
        f"The exchange of radii and distances did not converge in {_MOST_ROUNDS} rounds: the "
        f"tolerance {tol:g} is too small for double precision, because masses of "
        f"{np.abs(masses).sum():.3g} cancel. Use a larger tolerance or a smaller domain."
    )


def _drop_radii(
    exchange: _Exchange, masses: FloatArray, value: float, max_error: float, tight: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Radii, masses and cost, with only ``tight`` or merged radii if these cost hardly more."""
    radii, masses = _drop_negligible(exchange.radii, masses)
    merged = _merge_close(radii, masses, _MERGING_DISTANCE / exchange.domain[1])
    for trial in (tight, merged):
        if trial.size < radii.size:
            trial_masses, _, trial_value, _ = exchange.solve_on(trial)
            within = np.all(exchange.error_peaks(trial, trial_masses)[1] <= max_error)
            if within and trial_value <= value * (1.0 + 3.0 * _GAP):
                return *_drop_negligible(trial, trial_masses), trial_value
    return radii, masses, float(np.abs(masses) @ exchange.cost(radii))


def _drop_negligible(radii: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    used = np.abs(masses) > _NEGLIGIBLE_MASS * np.abs(masses).sum()
    return radii[used], masses[used]


def _merge_close(radii: FloatArray, masses: FloatArray, width: float) -> FloatArray:
    """Replace neighbouring radii whose masses have one sign by their mean, weighted by mass."""
    starts_new = (np.diff(radii) >= width) | (masses[1:] * masses[:-1] < 0.0) | (radii[:-1] == 0.0)
    starts = np.flatnonzero(np.append(True, starts_new))
    weighted, total = (np.add.reduceat(x, starts) for x in (radii * masses, masses))
    return np.asarray(weighted / total)


def _infeasible_error(exchange: _Exchange, factor: float) -> AccuracyError:
    low, high = exchange.domain
    advice = (
        "for instance z <= sqrt(2) for unit rows without negative entries: a kernel with a kink or "
        "a square root in the domain needs large masses in every large dimension."
    )
    return AccuracyError(
        f"No measure of mass up to {exchange.max_mass:.3g} and radii up to "
        f"{exchange.max_radius:.4g} in dimension {exchange.dim} is within {exchange.tol:g} of "
        f"the kernel on [{low:g}, {high:g}]: by duality it costs at least {factor:.3g} times more.",
        in_python=f"Use a larger tol or a smaller domain, {advice} For unit rows "
        "rf.SpectralFeatures also finds features that need no measure.",
        at_shell=f"Use a larger --tol or a smaller --z-max, {advice} 'rf approximate' tries "
        "features that need no measure.",
    )

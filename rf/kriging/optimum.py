"""The largest likelihood from several starts, and intervals by the likelihood ratio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

from rf.kriging.likelihood import ExactLikelihood, VecchiaLikelihood
from rf.kriging.model import Model
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage

__all__ = ["Optimum", "likelihood_interval", "maximise"]

Likelihood = ExactLikelihood | VecchiaLikelihood
# Starts: lengths as fractions of the extent, and parts of the nugget.
_FRACTIONS, _RATIOS = (0.03, 0.1, 0.3, 1.0), (0.05, 0.3, 0.7)
# Rows of the samples on which the starts are compared and improved, and those of the steps in
# between for many rows: each continues from the optimum before.
_ROWS, _MIDDLE_ROWS = 400, 5000
# Within this of an end of its box, a free number counts as at its bound.
_AT_BOUND = 1e-2
# Error of the ends of an interval, in standard deviations.
_INTERVAL = 1e-2
# The first step from the optimum, a factor of e for a parameter with a logarithm; it is doubled.
_LARGEST_STEP = 1.0
_SEED = 0
# The most Newton steps with all rows, and the gain in the loss below which they stop.
_NEWTON_STEPS, _SMALL_GAIN = 12, 1e-2


class Optimum(NamedTuple):
    """The optimal q, the loss there, whether the search was complete, and which q are at a bound.

    ``at_bound`` is -1 at the lower, 1 at the upper bound, else 0.
    """

    q: FloatArray
    loss: float
    is_complete: bool
    at_bound: FloatArray


def maximise(make: Callable[[Any], Likelihood], model: Model, n: int, n_starts: int) -> Optimum:
    """Maximise the likelihood; ``make`` gives that of some rows, or of all for None.

    An interruption by the keyboard ends the search with the best q so far.
    """
    if not model.free:
        nothing = np.empty(0)
        return Optimum(nothing, make(None).loss(nothing)[0], True, nothing)
    order = np.random.default_rng(_SEED).permutation(n)
    sizes = [size for size in (_ROWS, _MIDDLE_ROWS) if 2 * size < n]
    steps = [*(np.sort(order[:size]) for size in sizes), None]
    starts = [model.start(f, r) for f in _FRACTIONS for r in _RATIOS if model.has_nugget or r < 0.1]
    likelihood: Likelihood | None = None
    q, hessian = None, None
    try:
        for rows in steps:
            count = n if rows is None else len(rows)
            with stage(f"fitting {model.family.id or 'a family'} to {count} rows", has_limit=False):
                likelihood = make(rows)
                if q is None:
                    starts.sort(key=lambda s: likelihood.loss(s)[0])
                    runs = [_descend(likelihood, model.box, s) for s in starts[:n_starts]]
                    q = min(runs, key=lambda run: run[0])[1]
                elif hessian is None or isinstance(likelihood, ExactLikelihood):
                    q = _descend(likelihood, model.box, q)[1]
                else:
                    q = _newton(likelihood, model.box, q, hessian)
                if count == _MIDDLE_ROWS < n:
                    hessian = likelihood.hessian(q) * (n / count)
        is_complete = True
    except KeyboardInterrupt:
        is_complete = False
        if likelihood is None or likelihood.best[1] is None:
            raise
        q = likelihood.best[1]
    assert likelihood is not None
    assert q is not None
    low, high = model.box.T
    at_bound = (q > high - _AT_BOUND).astype(float) - (q < low + _AT_BOUND)
    return Optimum(q, likelihood.loss(q)[0], is_complete, at_bound)


def _descend(
    likelihood: Likelihood, box: FloatArray, start: FloatArray
) -> tuple[float, FloatArray]:
    """The loss and the q of a local minimum near a start."""
    options = {"ftol": 1e-12, "gtol": 1e-4, "maxls": 30}
    if not isinstance(likelihood, ExactLikelihood):
        # 1e-3 in the loss is far below the limit of an interval, 3.84.
        options = {"ftol": 1e-3 / max(abs(likelihood.best[0]), 1.0), "gtol": 0.1}
    loss = likelihood.loss
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return float(found.fun), np.asarray(found.x)


def _newton(
    likelihood: Likelihood, box: FloatArray, q: FloatArray, hessian: FloatArray
) -> FloatArray:
    """A minimum by Newton steps with the Hessian of a sample, which is nearly that of all rows."""
    loss, gradient = likelihood.loss(q)
    for _ in range(_NEWTON_STEPS):
        low, high = box.T
        free = ~((q <= low) & (gradient > 0) | (q >= high) & (gradient < 0))
        step = np.zeros(len(q))
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        if -gradient @ step < _SMALL_GAIN:
            return q
        for _ in range(6):
            moved = np.clip(q + step, low, high)
            new, slope = likelihood.loss(moved)
            if new < loss:
                break
            step = 0.5 * step
        else:
            return q
        q, loss, gradient = moved, new, slope
    return q


def likelihood_interval(
    likelihood: Likelihood,
    optimum: Optimum,
    box: FloatArray,
    j: int,
    hessian: FloatArray,
    level: float,
) -> tuple[float, float]:
    """The least and largest q_j that the likelihood ratio does not reject; infinite at a bound.

    The loss is minimised over the other numbers at each q_j that is tried; the root of the ratio is
    nearly linear in q_j.
    """
    limit = float(np.sqrt(chi2.ppf(level, 1)))
    others = np.arange(len(box)) != j
    start, values = optimum.q, np.linalg.eigvalsh(hessian)
    curved = hessian + max(0.0, 1e-3 * values.max() - values.min()) * np.eye(len(box))
    deviation = np.sqrt(2.0 * np.linalg.inv(curved)[j, j])
    slope = -np.linalg.solve(curved[np.ix_(others, others)], curved[others, j])
    ends = []
    for sign, end in zip((-1.0, 1.0), box[j], strict=True):
        tried = [(float(start[j]), start[others], 0.0)]

        def root_of_ratio(x: float, tried: list[Any] = tried, sign: float = sign) -> float:
            at, near, _ = min(tried, key=lambda t: abs(t[0] - x))
            below = max((t for t in tried if t[2] < limit), key=lambda t: sign * t[0])[1]
            if not others.any():
                loss, best = likelihood.loss(np.array([x]))[0], near
            else:
                # Far from the optimum the tangent may mislead: start from the best of three.
                guesses = near, below, np.clip(near + slope * (x - at), *box[others].T)
                guess = min(guesses, key=lambda g: likelihood.loss(np.insert(g, j, x))[0])
                loss, best = _descend_others(likelihood, x, j, guess, box[others])
            value = float(np.sqrt(max(loss - optimum.loss, 0.0)))
            tried.append((x, best, value))
            return value - limit

        step, x = min(limit * deviation, _LARGEST_STEP), float(start[j])
        excess = -limit
        while excess < 0.0 and sign * (end - x) > 1e-9:
            last, x = x, sign * min(sign * (x + sign * step), sign * end)
            excess, step = root_of_ratio(x), 2.0 * step
        if excess < 0.0:
            ends.append(sign * np.inf)
        else:
            ends.append(
                float(
                    brentq(root_of_ratio, last, x, xtol=min(_INTERVAL * deviation, 1e-2), rtol=1e-4)
                )
            )
    return ends[0], ends[1]


def _descend_others(
    likelihood: Likelihood, x: float, j: int, start: FloatArray, box: FloatArray
) -> tuple[float, FloatArray]:
    """The least loss with q_j = x, and the other numbers there."""

    def loss(rest: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = likelihood.loss(np.insert(rest, j, x))
        return value, np.delete(gradient, j)

    options = {"ftol": 1e-8, "gtol": 1e-2}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return float(found.fun), np.asarray(found.x)

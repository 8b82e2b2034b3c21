"""The largest likelihood from several starts, and intervals by the likelihood ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

from rf.kriging.likelihood import ExactLikelihood, VecchiaLikelihood
from rf.kriging.model import Model
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage

__all__ = ["Optimum", "likelihood_intervals", "maximise"]

Likelihood = ExactLikelihood | VecchiaLikelihood
# Starts: lengths as fractions of the extent, and parts of the nugget.
_FRACTIONS, _RATIOS = (0.03, 0.1, 0.3, 1.0), (0.05, 0.3, 0.7)
# Rows of the samples on which the starts are compared and improved, and those of the steps in
# between for many rows: each continues from the optimum before.
_ROWS, _MIDDLE_ROWS = 400, 5000
# Error of the ends of an interval, in standard deviations.
_INTERVAL = 1e-2
# The first step from the optimum, a factor of e for a parameter with a logarithm; it is doubled.
_LARGEST_STEP = 1.0
_SEED = 0
# The most Newton steps with all rows, and the gain in the loss below which they stop.
_NEWTON_STEPS, _SMALL_GAIN = 12, 1e-2


class Optimum(NamedTuple):
    """The optimal q, the loss there, and whether the search was complete."""

    q: FloatArray
    loss: float
    is_complete: bool


def maximise(make: Callable[[Any], Likelihood], model: Model, n: int, n_starts: int) -> Optimum:
    """Maximise the likelihood; ``make`` gives that of some rows, or of all for None.

    The starts are compared on a sample of rows, and the best continues on larger ones.  An
    interruption by the keyboard ends the search with the best q so far.
    """
    order = np.random.default_rng(_SEED).permutation(n)
    samples: list[Any] = [np.sort(order[:size]) for size in (_ROWS, _MIDDLE_ROWS) if 2 * size < n]
    starts = [
        model.start(f, r) for f in _FRACTIONS for r in _RATIOS if model.base.has_nugget or r < 0.1
    ]
    likelihood, hessian, q = make(samples[0] if samples else None), None, starts[0]
    if not len(q):
        return Optimum(q, likelihood.loss(q)[0], True)
    is_complete = True
    try:
        for rows in [*samples, None]:
            count = n if rows is None else len(rows)
            with stage(
                f"fitting {model.base.family.id or 'a family'} to {count} rows", has_limit=False
            ):
                if q is starts[0]:
                    starts.sort(key=lambda s: likelihood.loss(s)[0])
                    runs = [_descend(likelihood, model.box, s) for s in starts[:n_starts]]
                    q = min(runs, key=lambda run: run[0])[1]
                    continue
                likelihood = make(rows)
                if hessian is None or isinstance(likelihood, ExactLikelihood):
                    q = _descend(likelihood, model.box, q)[1]
                else:
                    q = _newton(likelihood, model.box, q, hessian)
                if rows is not None:
                    hessian = likelihood.hessian(q) * (n / count)
    except KeyboardInterrupt:
        is_complete = False
        if likelihood.best[1] is None:
            raise
        q = likelihood.best[1]
    return Optimum(q, likelihood.loss(q)[0], is_complete)


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


def likelihood_intervals(
    likelihood: Likelihood, optimum: Optimum, box: FloatArray, count: int, level: float
) -> Iterator[tuple[float, float]]:
    """The least and largest q_j, j < count, that the likelihood ratio does not reject.

    The ends are infinite if the ratio is too small at a bound.
    """
    hessian = likelihood.hessian(optimum.q)
    values = np.linalg.eigvalsh(hessian)
    curved = hessian + max(0.0, 1e-3 * values.max() - values.min()) * np.eye(len(box))
    deviations = np.sqrt(2.0 * np.diag(np.linalg.inv(curved)))
    for j in range(count):
        with stage(f"finding the interval of parameter {j + 1}", has_limit=False):
            profile = _Profile(likelihood, optimum, box, j, curved)
            low, high = (profile.end(sign, deviations[j], level) for sign in (-1.0, 1.0))
        yield low, high


class _Profile:
    """The least loss as a function of q_j, over the other numbers."""

    def __init__(
        self, likelihood: Likelihood, optimum: Optimum, box: FloatArray, j: int, hessian: FloatArray
    ) -> None:
        self.likelihood, self.optimum, self.box, self.j = likelihood, optimum, box, j
        self.others = np.arange(len(box)) != j
        rest = hessian[np.ix_(self.others, self.others)]
        self.slope = -np.linalg.solve(rest, hessian[self.others, j])

    def best(self, x: float, near: FloatArray, at: float) -> tuple[float, FloatArray]:
        """The least loss with q_j = x, and the other numbers, which are ``near`` at q_j = at."""

        def loss(rest: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.likelihood.loss(np.insert(rest, self.j, x))
            return value, np.delete(gradient, self.j)

        if not near.size:
            return loss(near)[0], near
        box = self.box[self.others]
        # Far from the optimum the tangent may mislead.
        guesses = near, np.clip(near + self.slope * (x - at), *box.T)
        guess = min(guesses, key=lambda g: loss(g)[0])
        options = {"ftol": 1e-8, "gtol": 1e-2}
        found = minimize(loss, guess, jac=True, method="L-BFGS-B", bounds=box, options=options)
        return float(found.fun), found.x

    def end(self, sign: float, deviation: float, level: float) -> float:
        """The end of the interval below (-1) or above (1) the optimum."""
        limit, end = float(np.sqrt(chi2.ppf(level, 1))), self.box[self.j][int(sign > 0)]
        below = float(self.optimum.q[self.j]), self.optimum.q[self.others]

        def excess(x: float) -> float:
            nonlocal below
            loss, rest = self.best(x, below[1], below[0])
            # The root of the ratio is nearly linear in q_j.
            value = float(np.sqrt(max(loss - self.optimum.loss, 0.0))) - limit
            if value < 0.0:
                below = x, rest
            return value

        step, x = min(limit * deviation, _LARGEST_STEP), below[0]
        while sign * (end - x) > 1e-9:
            last, x = x, sign * min(sign * (x + sign * step), sign * end)
            if excess(x) >= 0.0:
                return brentq(excess, last, x, xtol=min(_INTERVAL * deviation, 1e-2), rtol=1e-4)
            step *= 2.0
        return sign * np.inf

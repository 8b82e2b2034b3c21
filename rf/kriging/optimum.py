"""The largest likelihood from several starts, and intervals by the likelihood ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
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
# An interval begins at this part of the way to its end that the Hessian predicts, and extends by at
# most a factor of e^_RADIUS in each of the rounds; the distance from a bound that counts as there.
_INSIDE, _RADIUS, _ROUNDS, _AT_BOUND = 0.5, 1.5, 20, 1e-2
_SEED = 0


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
            with stage(f"fitting a family to {count} rows", has_limit=False):
                if q is starts[0]:
                    starts.sort(key=lambda s: likelihood.loss(s)[0])
                    for start in starts[:n_starts]:
                        q = _descend(likelihood, model.box, start)
                    continue
                likelihood = make(rows)
                q = _descend(likelihood, model.box, q, hessian)
                if rows is not None:
                    hessian = likelihood.hessian(q) * (n / count)
    except KeyboardInterrupt:
        is_complete = False
        if likelihood.best[1] is None:
            raise
        q = likelihood.best[1]
    return Optimum(q, likelihood.loss(q)[0], is_complete)


def _descend(
    likelihood: Likelihood, box: FloatArray, start: FloatArray, hessian: FloatArray | None = None
) -> FloatArray:
    """The best q so far after a descent from a start; a Hessian makes it a few steps."""
    options = {"ftol": 1e-12, "gtol": 1e-4, "maxls": 30}
    if not isinstance(likelihood, ExactLikelihood):
        # 1e-3 in the loss is far below the limit of an interval, 3.84.
        options = {"ftol": 1e-3 / max(abs(likelihood.best[0]), 1.0), "gtol": 0.1}
    loss: Callable[[FloatArray], Any] = likelihood.loss
    x, bounds = start, box
    if hessian is not None:
        # In units of the root of its inverse the loss is nearly |x|^2/2.
        values, vectors = np.linalg.eigh(hessian)
        root = vectors / np.sqrt(np.maximum(values, 1e-6 * values.max()))
        x, bounds = np.zeros(len(start)), np.full(box.shape, [-np.inf, np.inf])

        def whitened(x: FloatArray) -> tuple[float, FloatArray]:
            q = start + root @ x
            value, gradient = likelihood.loss(np.clip(q, *box.T))
            return value, root.T @ np.where((q > box[:, 0]) & (q < box[:, 1]), gradient, 0.0)

        loss = whitened

    minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return start if likelihood.best[1] is None else likelihood.best[1]


def likelihood_intervals(
    likelihood: Likelihood, optimum: Optimum, box: FloatArray, count: int, level: float
) -> Iterator[tuple[float, float]]:
    """The least and largest q_j, j < count, that the likelihood ratio does not reject.

    They are the extremes of q_j where the loss is at most that of the optimum plus a quantile of
    chi^2; infinite if this holds at a bound.
    """
    hessian, limit = likelihood.hessian(optimum.q), float(chi2.ppf(level, 1))
    values, vectors = np.linalg.eigh(hessian)
    covariance = 2.0 * (vectors / np.maximum(values, 1e-3 * values.max())) @ vectors.T
    loss = lru_cache(maxsize=4)(lambda q: likelihood.loss(np.array(q)))
    constraint = {
        "type": "ineq",
        "fun": lambda q: limit + optimum.loss - loss(tuple(q))[0],
        "jac": lambda q: -loss(tuple(q))[1],
    }

    def end(j: int, sign: float) -> float:
        target = -sign * np.eye(len(box))[j]
        direction = sign * np.sqrt(limit / covariance[j, j]) * covariance[:, j]
        q, bound = np.clip(optimum.q + _INSIDE * direction, *box.T), box[j][int(sign > 0)]
        for _ in range(_ROUNDS):
            near = np.clip(q[:, None] + [-_RADIUS, _RADIUS], box[:, :1], box[:, 1:])
            found = minimize(
                lambda q: target @ q, q, jac=lambda q: target, bounds=near,
                constraints=constraint, method="SLSQP", options={"ftol": 1e-4, "maxiter": 60},
            )  # fmt: skip
            q, last = found.x, q
            if np.abs(q - last).max() < 0.99 * _RADIUS:
                break
        return sign * np.inf if abs(q[j] - bound) < _AT_BOUND else float(q[j])

    for j in range(count):
        with stage(f"finding the interval of parameter {j + 1}", has_limit=False):
            ends = end(j, -1.0), end(j, 1.0)
        yield ends

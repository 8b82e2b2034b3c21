"""The pooled score: means over many draws in standard errors, of the estimate and of its square.

An unbiased estimate of known variance passes six standard errors and neither flakes nor lets
through what other libraries got wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rf.sampling.coupling import iid

__all__ = ["ROUNDING", "estimates", "mean_score", "random_differences", "variance_score"]

# What rounding leaves of an estimate that should be exact.
ROUNDING = 1e-10


def random_differences(distances: Any, dim: int, rng: np.random.Generator) -> Any:
    """One difference of rows for each distance, in a random direction."""
    distances = np.asarray(distances, dtype=float)
    return distances[:, None] * iid(distances.size, dim, rng)


def estimates(drawn: Any, differences: Any) -> Any:
    """What each draw says of k at the differences: shape (draws, differences)."""
    frequencies = np.concatenate([one.frequencies for one in drawn])
    waves = np.cos(
        frequencies @ np.asarray(differences).T + np.tile(drawn[0].phases, len(drawn))[:, None]
    )
    waves = waves.reshape(len(drawn), len(drawn[0]), -1)
    return np.einsum("dns,n->ds", waves, drawn[0].weights)


def mean_score(values: Any, expected: Any, variance: Any = None) -> float:
    """Largest |mean error| in standard errors: the exact ones where the variance is given."""
    if variance is None:
        variance = values.var(axis=0, ddof=1)
    deviation = np.sqrt(np.maximum(variance, 0.0) / len(values))
    error = np.abs(values.mean(axis=0) - expected)
    return float((error / (deviation + ROUNDING)).max())


def variance_score(values: Any, expected: Any, variance: Any, error: Any = 0.0) -> float:
    """Largest |mean squared error - variance| in standard errors, ``error`` forgiven."""
    square = (values - expected) ** 2
    deviation = square.std(axis=0, ddof=1) / np.sqrt(len(values))
    lack = np.maximum(np.abs(square.mean(axis=0) - variance) - error, 0.0)
    return float((lack / (deviation + ROUNDING)).max())

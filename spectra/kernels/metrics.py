"""Metrics: the distances z that the profile k(z) of a factor of a kernel is a function of.

What else must be known of a metric is dispatched on its class: whether a factor has finite mass
(:mod:`spectra.verdict.columns`) and its law of frequencies (:mod:`spectra.derivation.terms`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.arrays import FloatArray

__all__ = ["EUCLIDEAN", "L1", "Euclidean", "L1Metric", "Metric"]


@dataclass(frozen=True)
class Metric:
    """A distance of rows: ``name`` as scipy names it; ``text``: as a formula of x and y."""

    name: ClassVar[Literal["euclidean", "cityblock"]]
    order: ClassVar[float]
    text: ClassVar[str]

    def norm(self, differences: FloatArray) -> FloatArray:
        """The distances of differences x - y of shape (..., columns)."""
        return np.asarray(np.linalg.norm(differences, self.order, axis=-1))

    def distances(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The distances of all pairs of rows."""
        return np.asarray(cdist(X, Y, self.name))


@final
class Euclidean(Metric):
    """|x - y|."""

    name, order, text = "euclidean", 2, "|x - y|"


@final
class L1Metric(Metric):
    """|x - y|_1, the sum of the distances in all columns."""

    name, order, text = "cityblock", 1, "|x - y|_1"


EUCLIDEAN, L1 = Euclidean(), L1Metric()

"""Metrics: the distances z that the profile k(z) of a factor of a kernel is a function of.

What else must be known of a metric is dispatched on its class: whether a factor has finite mass
(:mod:`spectra.verdict.decide`), its law of frequencies (:mod:`spectra.derivation.terms`), and how
features are designed for the data (:mod:`rf.dot_product.plan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.arrays import FloatArray
from spectra.base.numbers import check_unit_norms

__all__ = [
    "EUCLIDEAN",
    "INNER_PRODUCT",
    "L1",
    "SPHERE",
    "Euclidean",
    "InnerProduct",
    "L1Metric",
    "Metric",
    "Sphere",
]


@dataclass(frozen=True)
class Metric:
    """A distance of rows: ``name`` as scipy names it; ``text``: as a formula of x and y.

    ``diameter``: the largest distance.
    """

    name: ClassVar[Literal["euclidean", "cityblock"]]
    order: ClassVar[float]
    text: ClassVar[str]
    diameter: ClassVar[float] = inf

    def norm(self, differences: FloatArray) -> FloatArray:
        """The distances of differences x - y of shape (..., columns)."""
        return np.asarray(np.linalg.norm(differences, self.order, axis=-1))

    def distances(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The distances of all pairs of rows."""
        return np.asarray(cdist(X, Y, self.name))

    def check_norms(self, norms: FloatArray, kernel: object) -> None:
        """Raise a DataError if rows of these norms have no distances; it names the kernel."""


class Euclidean(Metric):
    """|x - y|."""

    name, order, text = "euclidean", 2, "|x - y|"


class Sphere(Euclidean):
    """|x - y| for unit vectors x and y."""

    diameter = 2.0

    def distances(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return np.minimum(super().distances(X, Y), self.diameter)  # rounding may exceed it

    def check_norms(self, norms: FloatArray, kernel: object) -> None:
        check_unit_norms(norms, f"the zonal kernel {kernel}")


class L1Metric(Metric):
    """|x - y|_1, the sum of the distances in all columns."""

    name, order, text = "cityblock", 1, "|x - y|_1"


class InnerProduct(Metric):
    """<x, y>, which is no distance: a kernel of it is no function of x - y."""

    text = "<x, y>"


EUCLIDEAN, SPHERE, L1, INNER_PRODUCT = Euclidean(), Sphere(), L1Metric(), InnerProduct()

"""The law of the cosine between two directions, and its Gegenbauer means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Self, final

import numpy as np
from scipy.special import gammaln

from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer_sequence

__all__ = [
    "AngularMeans",
    "CosineLaw",
    "CosineNodes",
    "Fixed",
    "angular_means",
    "gegenbauer_means",
]

# Values of Gegenbauer polynomials that the means of one law may cost: about 0.2 s.
_BUDGET = 20_000_000
_LAST_DEGREE = 2048
# Samples of a law come in groups, whose spread tells the error: six standard errors of a mean.
GROUPS = 8
_DEVIATIONS = 6.0 / np.sqrt(GROUPS - 1.0)


@final
@dataclass(frozen=True)
class CosineNodes:
    """Groups of nodes |c| with weights, each group a law (or a sample of one) of its own.

    Attributes
    ----------
    cosines, weights : tuple of ndarray
        One pair of arrays for each group; the weights of a group sum to 1.
    """

    cosines: tuple[FloatArray, ...]
    weights: tuple[FloatArray, ...]

    @classmethod
    def of(cls, cosines: FloatArray, weights: FloatArray) -> Self:
        """A law that is known, in one group."""
        return cls((cosines,), (weights,))

    @classmethod
    def sampled(cls, groups: list[FloatArray]) -> Self:
        """Samples of one law, of equal weight within each group."""
        return cls(tuple(groups), tuple(np.full(g.size, 1.0 / g.size) for g in groups))

    @property
    def most(self) -> int:
        """The degree up to which the means are worth their cost."""
        return min(_LAST_DEGREE, _BUDGET // sum(c.size for c in self.cosines))


class CosineLaw(ABC):
    """The law of |c| for a pair of directions: frozen, so that its means are known by it."""

    @abstractmethod
    def nodes(self, dim: int, degree: int) -> CosineNodes:
        """Nodes and weights for the means of even polynomials in c up to a degree."""


@final
@dataclass(frozen=True)
class Fixed(CosineLaw):
    """A cosine that is always the same: 0 for orthogonal directions, 1 for one direction."""

    value: float

    def nodes(self, dim: int, degree: int) -> CosineNodes:
        """The value itself."""
        return CosineNodes.of(np.array([self.value]), np.ones(1))


@dataclass(frozen=True)
class AngularMeans:
    """Means of Gegenbauer polynomials under the law of a cosine.

    Attributes
    ----------
    means, errors : ndarray
        E P_n(c), n = 2, 4, ..., and six standard errors where the law was sampled.
    beyond : float
        Bound of all |E P_n(c)| of higher degrees.
    most : int
        No degree above this one is worth asking for.
    """

    means: FloatArray
    errors: FloatArray
    beyond: float
    most: int


@lru_cache(maxsize=128)
def angular_means(law: CosineLaw, dim: int, degree: int) -> AngularMeans:
    """E P_n(c) for n = 2, 4, ..., degree under a law of the cosine."""
    nodes = law.nodes(dim, degree)
    groups = [
        gegenbauer_means(dim, degree, c, w)
        for c, w in zip(nodes.cosines, nodes.weights, strict=True)
    ]
    means = np.array([mean[2::2] for mean, _ in groups])
    return AngularMeans(
        means.mean(axis=0),
        _DEVIATIONS * means.std(axis=0),
        float(np.mean([bound for _, bound in groups])),
        nodes.most,
    )


def gegenbauer_means(
    dim: int, degree: int, cosines: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    r"""Means of P_n(c) for n = 0 ... degree, and a bound of all |means| beyond ``degree``.

    The bound is the mean of min(1, Gamma((d-1)/2) / sqrt(pi) * (4 / (n (1 - c^2)))^((d-2)/2)),
    n = degree + 1 (Atkinson, Han, Spherical Harmonics and Approximations on the Unit Sphere,
    Springer 2012, section 2.7), which falls with n.
    """
    waves = islice(gegenbauer_sequence(dim, cosines), degree + 1)
    means = np.array([weights @ wave for wave in waves])
    with np.errstate(divide="ignore"):
        log_ratio = np.log(4.0 / (degree + 1)) - np.log1p(-(cosines**2))
    constant = float(gammaln(0.5 * (dim - 1))) - 0.5 * np.log(np.pi)
    # In dimension 2 the exponent is 0 and the bound is 1, also where c = 1.
    log_bound = constant + 0.5 * (dim - 2) * log_ratio if dim > 2 else np.zeros_like(cosines)
    return means, float(weights @ np.exp(np.minimum(log_bound, 0.0)))

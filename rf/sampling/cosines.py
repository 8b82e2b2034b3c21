"""Distributions of the cosine between two directions, and their Gegenbauer means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import final

import numpy as np
from scipy.special import gammaln

from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer_sequence

__all__ = ["AngularMeans", "CosineLaw", "Fixed", "angular_means", "gegenbauer_means"]

# Values of Gegenbauer polynomials that the means of one distribution may cost: about 0.2 s.
_BUDGET = 20_000_000
_LAST_DEGREE = 2048


class CosineLaw(ABC):
    """The distribution of |c| for a pair of directions; frozen, so that its means are cached."""

    @abstractmethod
    def nodes(self, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights for the means of even polynomials in c up to a degree.

        The weights sum to 1.
        """


@final
@dataclass(frozen=True)
class Fixed(CosineLaw):
    """A constant cosine: 0 for orthogonal directions, 1 for equal ones."""

    value: float

    def nodes(self, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
        """The value itself."""
        return np.array([self.value]), np.ones(1)


@dataclass(frozen=True)
class AngularMeans:
    """Means of Gegenbauer polynomials of a random cosine.

    ``means``: E P_n(c), n = 2, 4, ...; ``beyond``: bound of all |E P_n(c)| of higher degrees;
    ``most``: the degree up to which the means are worth their cost.
    """

    means: FloatArray
    beyond: float
    most: int


@lru_cache(maxsize=128)
def angular_means(law: CosineLaw, dim: int, degree: int) -> AngularMeans:
    """E P_n(c) for n = 2, 4, ..., degree and a distribution of the cosine."""
    cosines, weights = law.nodes(dim, degree)
    means, beyond = gegenbauer_means(dim, degree, cosines, weights)
    return AngularMeans(means[2::2], beyond, min(_LAST_DEGREE, _BUDGET // cosines.size))


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

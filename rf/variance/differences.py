r"""Differences at which a variance is asked: a distance, or several vectors with weights.

A frequency w of a radial part gives cos(w.D), which depends on |D| alone.  One of a sum of
shifted kernels gives :math:`\sum_j c_j \cos(w \cdot v_j)`, v_j = D + t_j e, and two directions
with the cosine c between them leave of two such waves the mean

.. math:: \sum_{j,k} c_j c'_k \sum_n E[g_n(R |v_j|)\, g_n(R' |v'_k|)]\;
          P_n(\cos\angle(v_j, v'_k))\; E P_n(c),

The radial case has one vector on each side, the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer

__all__ = ["DegreeProducts", "ShiftedDifferences"]


@final
@dataclass(frozen=True, eq=False)
class ShiftedDifferences:
    """m differences, each seen through J vectors.

    ``lengths`` (m, J): |v_j|; ``points`` are the same in one row; ``weights`` (J,): c_j; ``units``
    (m, J, d): v_j / |v_j|; None where there is one vector, the difference itself.
    """

    lengths: FloatArray
    weights: FloatArray
    units: FloatArray | None = None

    @classmethod
    def at(cls, z: FloatArray) -> Self:
        """Distances of a radial kernel."""
        return cls(z[:, None], np.ones(1))

    @classmethod
    def through(cls, differences: FloatArray, offsets: FloatArray, weights: FloatArray) -> Self:
        """Differences (m, d) shifted by offsets (J, d)."""
        vectors = differences[:, None, :] + offsets
        lengths = np.linalg.norm(vectors, axis=-1)
        # A vector of length 0 has no waves of degree 2 and more: its direction does not matter.
        units = vectors / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        return cls(lengths, weights, units)

    @property
    def points(self) -> FloatArray:
        """All lengths in one row, shape (m J,)."""
        return self.lengths.ravel()

    @property
    def bound(self) -> float:
        """Sum of |c_j|, which bounds the wave."""
        return float(np.abs(self.weights).sum())

    def total(self, values: FloatArray) -> FloatArray:
        """Sums of |c_j| times values at the points: shape (..., m J) to (..., m)."""
        parts = values.reshape(*values.shape[:-1], -1, self.weights.size)
        return np.asarray(parts @ np.abs(self.weights))


@final
@dataclass(frozen=True, eq=False)
class DegreeProducts:
    """The sum over j and k of products of two waves, degree by degree.

    ``angular`` (m, J, K, degrees): c_j c'_k P_n(cos of v_j and v'_k), n = 0, 2, ...; None where it
    is 1.
    """

    first: ShiftedDifferences
    second: ShiftedDifferences
    angular: FloatArray | None

    @classmethod
    def of(
        cls, first: ShiftedDifferences, second: ShiftedDifferences, dim: int, degree: int
    ) -> Self:
        """All even degrees up to the given one."""
        if first.units is None or second.units is None:
            return cls(first, second, None)
        cosines = np.einsum("mjd,mkd->mjk", first.units, second.units)
        # Parallel unit vectors have the cosine 1 up to rounding.
        waves = gegenbauer(dim, degree, np.clip(cosines, -1.0, 1.0))[::2]
        weights = np.multiply.outer(first.weights, second.weights)
        return cls(first, second, np.moveaxis(waves, 0, -1) * weights[..., None])

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """The sum for a (..., m J, degrees) and b (..., m K, degrees): (..., m, degrees)."""
        if self.angular is None:
            return a * b
        j, k = self.first.weights.size, self.second.weights.size
        a = a.reshape(*a.shape[:-2], -1, j, a.shape[-1])
        b = b.reshape(*b.shape[:-2], -1, k, b.shape[-1])
        summed = np.einsum("...mjn,...mkn,mjkn->...mn", a, b, self.angular, optimize=True)
        return np.asarray(summed)

    def at(self, difference: int) -> DegreeProducts:
        """The combination at one difference."""
        one = slice(difference, difference + 1)
        angular = None if self.angular is None else self.angular[one]
        return DegreeProducts(self.first, self.second, angular)

    @property
    def size(self) -> float:
        """Bound of the combination of waves of size 1."""
        return self.first.bound * self.second.bound

    def bound(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Bound of the combination of waves of sizes a (..., m J) and b (..., m K)."""
        return self.first.total(a) * self.second.total(b)

    def error(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """What waves of size 1 with errors a and b leave in the combination."""
        return self.first.total(a) * self.second.bound + self.second.total(b) * self.first.bound

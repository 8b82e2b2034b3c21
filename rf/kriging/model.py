r"""The covariance of a family as a function of a vector q of free numbers.

.. math:: \mathrm{cov}(x, y) = v\,k(|A(x - y)|;\,\theta) + \text{nugget}\cdot 1_{x = y}

q has the logarithms of the numbers of :class:`spectra.derivation.CovarianceModel`; with an
anisotropy the length is replaced by those on the axes, or by the upper triangle of log A^-1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy
from scipy.interpolate import CubicSpline
from scipy.linalg import expm

from spectra.base.arrays import FloatArray
from spectra.derivation import CovarianceModel, DataScale
from spectra.errors import ParameterError

__all__ = ["Model"]

_RATIOS = 3.0  # log of the ratios of lengths in a rotated anisotropy
# Functions that numpy evaluates fast; others are interpolated at _NODES logarithmic distances over
# _DECADES decades below the largest distance: 1e-10 of error.
_FAST = (sympy.exp, sympy.log, sympy.sin, sympy.cos, sympy.acos, sympy.Abs, sympy.Min, sympy.Max)
_NODES, _DECADES = 3000, 9.0
_STEP = 1e-4  # of differences in q: an error of 1e-8 in gradients

#: Distances for a matrix A that coordinates are multiplied by.
Distances = Callable[[FloatArray], FloatArray]


@final
@dataclass(frozen=True, eq=False)
class Model:
    """A family with an anisotropy (None, "axes" or "rotated") for data of a scale."""

    base: CovarianceModel
    anisotropy: str | None
    scale: DataScale

    def __post_init__(self) -> None:
        if self.anisotropy not in (None, "axes", "rotated"):
            raise ParameterError(
                f"anisotropy = {self.anisotropy!r} must be None, 'axes' (a length for each column) "
                "or 'rotated'."
            )
        if self.anisotropy is not None and not self.has_length:
            raise ParameterError(
                f"{self.base.family} has no single length that an anisotropy could replace. Write "
                "it so that one symbol divides z, such as exp(-z/l)*(1 - b) + b*exp(-z/(c*l))."
            )

    @property
    def has_length(self) -> bool:
        """Whether one length divides all distances."""
        return self.base.family.length is not None

    @property
    def count(self) -> int:
        """How many numbers are no lengths: they are first in q."""
        return len(self.base.names) - self.has_length

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers in q."""
        if self.anisotropy is None:
            return self.base.names
        lengths = (f"length_{i}" for i in range(len(self._columns)))
        return (*self.base.names[: self.count], *lengths)

    @property
    def _columns(self) -> list[tuple[int, int]]:
        """The entries of the logarithm of A^-1 in q."""
        last = self.base.dim if self.anisotropy == "rotated" else 0
        return [(i, j) for i in range(self.base.dim) for j in range(i, max(last, i + 1))]

    def _lengths(self, q: FloatArray, apart: Any) -> FloatArray:
        """Numbers with a row for the length, as rows of q; ``apart`` is for pairs of columns."""
        if self.anisotropy is None:
            return q
        rows = [q[-1] if i == j else np.broadcast_to(apart, q[-1].shape) for i, j in self._columns]
        return np.concatenate([q[:-1], rows])

    @cached_property
    def box(self) -> FloatArray:
        """The least and the largest q: shape (len(q), 2)."""
        return self._lengths(np.log(self.base.box(self.scale)), (-_RATIOS, _RATIOS))

    def start(self, fraction: float, ratio: float) -> FloatArray:
        """A start: lengths as a fraction of the extent, and the nugget's part of the variance."""
        return self._lengths(np.log(self.base.start(self.scale, fraction, ratio)), 0.0)

    # --- values at q --------------------------------------------------------------------------

    def numbers(self, q: FloatArray) -> FloatArray:
        """The numbers of ``base`` with unit length."""
        return np.exp(np.append(q[: self.count], np.zeros(int(self.has_length))))

    def matrix(self, q: FloatArray) -> FloatArray:
        """The symmetric matrix A that coordinates are multiplied by."""
        g, dim = q[self.count :], self.base.dim
        if self.anisotropy is None:
            return np.eye(dim) * np.exp(-g.sum())
        logs = np.zeros((dim, dim))
        for (i, j), value in zip(self._columns, g, strict=True):
            logs[i, j] = logs[j, i] = value
        return expm(-logs)

    def variance(self, q: FloatArray) -> float:
        """The variance of the field."""
        return self.base.at_zero(self.numbers(q))

    def nugget(self, q: FloatArray) -> float:
        """The nugget, 0 without one."""
        return self.base.nugget(self.numbers(q))

    @cached_property
    def _is_fast(self) -> bool:
        profile = self.base.family.profile
        return profile is None or all(
            isinstance(f, _FAST) for f in profile[0].atoms(sympy.Function)
        )

    def covariance(self, q: FloatArray, z_max: float) -> Callable[[FloatArray], FloatArray]:
        """The covariance of the field as a function of distances up to ``z_max``."""
        exact, at_zero = self.base.covariance(self.numbers(q)), self.variance(q)
        if self._is_fast or z_max == 0.0:
            return exact
        t = np.linspace(np.log(z_max) - _DECADES * np.log(10.0), np.log(z_max) + 1e-9, _NODES)
        spline = CubicSpline(t, exact(np.exp(t)))

        def interpolated(z: FloatArray) -> FloatArray:
            values = spline(np.log(np.maximum(z, np.exp(t[0]))))
            values[z == 0.0] = at_zero
            return values

        return interpolated

    def with_derivatives(
        self, q: FloatArray, distances: Distances
    ) -> tuple[FloatArray, Iterator[tuple[FloatArray | None, float]]]:
        """Covariances of the field at distances, and their derivatives in every q_j.

        A derivative is a pair: off the diagonal (None for 0), and on the diagonal.
        """
        z = distances(self.matrix(q))
        z_max = float(z.max(initial=0.0))
        value = self.covariance(q, z_max)(z)

        def difference(j: int) -> tuple[FloatArray, float]:
            sides = []
            for step in (_STEP, -_STEP):
                near, moved = q + step * np.eye(len(q))[j], z
                if j >= self.count:
                    one = self.anisotropy is None
                    moved = z * np.exp(-step) if one else distances(self.matrix(near))
                sides.append((self.covariance(near, 1.01 * z_max)(moved), self.variance(near)))
            off, on = (a - b for a, b in zip(*sides, strict=True))
            return off / (2 * _STEP), on / (2 * _STEP)

        def derivatives() -> Iterator[tuple[FloatArray | None, float]]:
            for j, name in enumerate(self.names):
                if name == "nugget":
                    yield None, self.nugget(q)
                elif name == self.base.family.variance:
                    yield value, self.variance(q)
                else:
                    yield difference(j)

        return value, derivatives()

    # --- results ------------------------------------------------------------------------------

    def parameters(self, q: FloatArray) -> dict[str, float]:
        """The parameters by name; lengths, and an angle in the plane, for an anisotropy."""
        if self.anisotropy is None:
            return self.base.parameters(np.exp(q))
        found = self.base.parameters(self.numbers(q))
        found.pop(self.base.names[-1])
        # Along the columns, or, rotated, along the axes, the longest first.
        inverse, axes = np.linalg.eigh(self.matrix(q))
        lengths = 1.0 / (inverse if self.anisotropy == "rotated" else np.diag(self.matrix(q)))
        found |= {f"length_{i}": float(x) for i, x in enumerate(lengths)}
        if self.anisotropy == "rotated" and len(axes) == 2:
            found["angle"] = float(np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))) % 180.0
        return found

    def length_scale(self, q: FloatArray) -> Any:
        """The length that divides coordinates, one for each column, or a matrix if rotated."""
        if self.anisotropy == "rotated":
            return np.linalg.inv(self.matrix(q))
        lengths = 1.0 / np.diag(self.matrix(q))
        return lengths if self.anisotropy else float(lengths[0])

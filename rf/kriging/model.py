r"""The covariance of a family as a function of a vector q of free numbers.

.. math:: \mathrm{cov}(x, y) = v\,k(|A(x - y)|;\,\theta) + \text{nugget}\cdot 1_{x = y}

Coordinates are in units of the extent of the data and values in units of their deviation, so that a
fit does not depend on the units.  q has the logarithms of parameters that are positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import sympy
from scipy.interpolate import CubicSpline
from scipy.linalg import expm

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.kernels import Kernel
from spectra.kernels.catalogue import Family

__all__ = ["ANISOTROPIES", "Free", "Model", "check_anisotropy"]

ANISOTROPIES = (None, "axes", "rotated")
# Boxes in units of the data: lengths between a tenth of the least distance and this multiple of the
# extent; variances, nuggets and shapes (a Matern kernel with nu > 20 is a Gaussian), unless the
# family has narrower bounds.
_LONGEST, _VARIANCES, _NUGGETS, _SHAPES = 20.0, (1e-6, 1e4), (1e-8, 10.0), (0.05, 20.0)
_RATIOS = 3.0  # log of the ratios of lengths in a rotated anisotropy
# Functions that numpy evaluates fast; others are interpolated at _NODES logarithmic distances over
# _DECADES decades below the largest distance: 1e-10 of error.
_FAST = (sympy.exp, sympy.log, sympy.sin, sympy.cos, sympy.acos, sympy.Abs, sympy.Min, sympy.Max)
_NODES, _DECADES = 3000, 9.0
_STEP = 1e-4  # of differences in q: an error of 1e-8 in gradients

#: Distances for a matrix A that coordinates are multiplied by.
Distances = Callable[[FloatArray], FloatArray]


class Free(NamedTuple):
    """A free number: its name, its part of the model, its transformation, box and start."""

    name: str
    part: str  # "family", "length", "geometry", "variance" or "nugget"
    is_log: bool
    low: float
    high: float
    start: float


@final
@dataclass(frozen=True, eq=False)
class Model:
    """A family with an anisotropy of the coordinates and a nugget, for points in R^dim.

    ``bounds`` are those of the family's parameters; ``unit_z`` and ``unit_k`` are the units of
    distances and of covariances; ``nearest`` is the least distance and ``spread`` the variance of
    the values in these units.
    """

    family: Family
    dim: int
    bounds: dict[str, tuple[float, float]]
    anisotropy: str | None
    has_nugget: bool
    unit_z: float
    unit_k: float
    nearest: float
    spread: float

    @cached_property
    def free(self) -> tuple[Free, ...]:
        """The free numbers, in the order of q."""
        scaling, found = self.family.scaling, []
        shortest = max(0.1 * self.nearest, 1e-7)
        for name, (low, high) in self.bounds.items():
            if self.anisotropy is not None and name == scaling.length:
                continue
            unit, length = self.unit(name), scaling.exponent("z", name)
            start = float(self.family.defaults[name])
            box = _SHAPES if unit == 1.0 and not length else _VARIANCES
            if length:
                box = tuple(sorted((shortest**length, _LONGEST**length)))
            least = max(low / unit, box[0]) if low >= 0 else low / unit
            most = min(high / unit, box[1])
            inside = float(np.clip(start, least, most))
            found.append(Free(name, "family", low >= 0, least, most, inside))
        if self.anisotropy is None and self.adds_length:
            found.append(Free("length", "length", True, shortest, _LONGEST, 1.0))
        if self.anisotropy is not None:
            diagonal = [
                (i == j, np.log(shortest if i == j else np.exp(-_RATIOS)))
                for i in range(self.dim)
                for j in range(i, self.dim if self.anisotropy == "rotated" else i + 1)
            ]
            found += [
                Free(f"length_{i}", "geometry", False, low, np.log(_LONGEST) if d else -low, 0.0)
                for i, (d, low) in enumerate(diagonal)
            ]
        if self.adds_variance:
            found.append(Free("variance", "variance", True, *_VARIANCES, 1.0))
        if self.has_nugget:
            low, high = (self.spread * x for x in _NUGGETS)
            found.append(Free("nugget", "nugget", True, low, high, self.spread))
        return tuple(found)

    @property
    def adds_length(self) -> bool:
        """Whether the family has no parameter for its length, so that one is added."""
        return self.family.scaling.lengths is None and "z" not in self.family.pinned

    @property
    def adds_variance(self) -> bool:
        """Whether the family has no parameter for its variance, so that one is added."""
        return self.family.scaling.variances is None and "k" not in self.family.pinned

    def unit(self, name: str) -> float:
        """The unit of a parameter of the family, or of an added one."""
        if name in self.family.defaults:
            scaling = self.family.scaling
            powers = scaling.exponent("z", name), scaling.exponent("k", name)
            return float(self.unit_z ** powers[0] * self.unit_k ** powers[1])
        return self.unit_k if name in ("variance", "nugget") else self.unit_z

    @cached_property
    def box(self) -> FloatArray:
        """The least and the largest q: shape (len(q), 2)."""
        ends = [(f.low, f.high) for f in self.free]
        rows = [np.log(e) if f.is_log else e for f, e in zip(self.free, ends, strict=True)]
        return np.array(rows).reshape(-1, 2)

    def start(self, fraction: float, ratio: float) -> FloatArray:
        """A start: lengths as a fraction of the extent, and the nugget's part of the variance."""
        q = []
        for f in self.free:
            value = f.start
            if f.part == "family":
                value *= fraction ** self.family.scaling.exponent("z", f.name)
                value *= (1.0 - ratio) ** self.family.scaling.exponent("k", f.name)
            elif f.part == "geometry":
                value = float(np.log(fraction)) if f.high != -f.low else 0.0  # off the diagonal
            else:
                parts = {"length": fraction, "variance": 1.0 - ratio, "nugget": ratio * f.start}
                value = parts[f.part]
            q.append(np.log(value) if f.is_log else value)
        return np.clip(q, *self.box.T)

    # --- values at q --------------------------------------------------------------------------

    def values(self, q: FloatArray) -> dict[str, float]:
        """The free numbers by name, in units of the data."""
        pairs = zip(self.free, q, strict=True)
        return {f.name: float(np.exp(x)) if f.is_log else float(x) for f, x in pairs}

    def matrix(self, q: FloatArray) -> FloatArray:
        """The symmetric matrix A that coordinates are multiplied by."""
        values, dim = self.values(q), self.dim
        if self.anisotropy is None:
            return np.eye(dim) / (values["length"] if self.adds_length else 1.0)
        g = [values[f.name] for f in self.free if f.part == "geometry"]
        if self.anisotropy == "axes":
            return np.diag(np.exp(-np.array(g)))
        logs = np.zeros((dim, dim))
        logs[np.triu_indices(dim)] = g
        return np.asarray(expm(-(logs + logs.T - np.diag(np.diag(logs)))))

    def own(self, q: FloatArray) -> dict[str, float]:
        """The parameters of the family in units of the data."""
        values = self.values(q)
        return {name: values.get(name, 1.0) for name in self.family.defaults}

    def variance(self, q: FloatArray) -> float:
        """k(0) times the added variance, in units of the data."""
        return self.family.at_zero(self.own(q)) * self._added_variance(q)

    def _added_variance(self, q: FloatArray) -> float:
        return self.values(q)["variance"] if self.adds_variance else 1.0

    def nugget(self, q: FloatArray) -> float:
        """The nugget in units of the data."""
        return self.values(q).get("nugget", 0.0)

    @cached_property
    def _is_fast(self) -> bool:
        expr = self.family.profile[0] if self.family.profile is not None else sympy.Integer(0)
        return all(isinstance(f, _FAST) for f in expr.atoms(sympy.Function))

    def covariance(self, q: FloatArray, z_max: float) -> Callable[[FloatArray], FloatArray]:
        """The covariance of the field as a function of distances up to ``z_max``."""
        own, factor = self.own(q), self._added_variance(q)
        if self._is_fast or z_max == 0.0:
            return lambda z: factor * self.family.values(z, own)
        t = np.linspace(np.log(z_max) - _DECADES * np.log(10.0), np.log(z_max) + 1e-9, _NODES)
        spline = CubicSpline(t, factor * self.family.values(np.exp(t), own))
        at_zero = factor * self.family.at_zero(own)

        def interpolated(z: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore"):
                values = spline(np.maximum(np.log(z), t[0]))
            values[z == 0.0] = at_zero
            return np.asarray(values)

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

        def moved(j: int) -> tuple[FloatArray, float]:
            sides = []
            for step in (_STEP, -_STEP):
                near = q.copy()
                near[j] += step
                if self.free[j].part == "length":
                    scaled = z * np.exp(-step)
                elif self.free[j].part == "geometry":
                    scaled = distances(self.matrix(near))
                else:
                    scaled = z
                function = self.covariance(near, 1.01 * z_max)
                sides.append((function(scaled), self.variance(near)))
            off, on = (a - b for a, b in zip(*sides, strict=True))
            return off / (2 * _STEP), on / (2 * _STEP)

        def derivatives() -> Iterator[tuple[FloatArray | None, float]]:
            for j, f in enumerate(self.free):
                if f.part == "nugget":
                    yield None, self.nugget(q)
                elif f.part == "variance":
                    yield value, self.variance(q)
                else:
                    yield moved(j)

        return value, derivatives()

    # --- results in the units of the user -----------------------------------------------------

    def reported(self, q: FloatArray) -> dict[str, float]:
        """The parameters in the units of the user; lengths and an angle for an anisotropy."""
        values = self.values(q)
        found = {f.name: values[f.name] * self.unit(f.name) for f in self.free if f.is_log}
        added = {name: found.pop(name) for name in ("variance", "nugget") if name in found}
        found |= {f.name: values[f.name] for f in self.free if f.part == "family" and not f.is_log}
        if self.anisotropy is not None:
            lengths, angle = self._axes(q)
            found |= {f"length_{i}": float(x) * self.unit_z for i, x in enumerate(lengths)}
            if angle is not None:
                found["angle"] = angle
        return found | added

    def _axes(self, q: FloatArray) -> tuple[FloatArray, float | None]:
        """Lengths along the columns, or, rotated, along the axes, the longest first; in the plane
        also the angle of the longest, in degrees from the first column."""
        if self.anisotropy == "axes":
            return 1.0 / np.diag(self.matrix(q)), None
        inverse, axes = np.linalg.eigh(self.matrix(q))
        angle = float(np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))) % 180.0
        return 1.0 / inverse, angle if self.dim == 2 else None

    def kernel(self, q: FloatArray) -> Kernel:
        """The fitted covariance without the nugget, for coordinates divided by ``length_scale``."""
        own = {name: value * self.unit(name) for name, value in self.own(q).items()}
        single = self.family.scaling.length
        if single is not None:
            own[single] = 1.0
        kernel: Kernel = self.family(**own)
        if self.adds_variance:
            kernel = kernel * (self._added_variance(q) * self.unit_k)
        return kernel

    def length_scale(self, q: FloatArray) -> Any:
        """The length that divides coordinates, one for each column, or a matrix if rotated."""
        single = self.family.scaling.length
        if self.anisotropy == "rotated":
            return np.linalg.inv(self.matrix(q)) * self.unit_z
        if self.anisotropy == "axes":
            return self.unit_z / np.diag(self.matrix(q))
        if single is not None:
            value = self.values(q)[single] * self.unit(single)
            return float(value ** (1.0 / self.family.scaling.exponent("z", single)))
        return self.values(q)["length"] * self.unit_z if self.adds_length else 1.0


def check_anisotropy(family: Family, anisotropy: Any) -> None:
    """Raise a ParameterError for an unknown anisotropy, or a family without a single length."""
    if anisotropy not in ANISOTROPIES:
        raise ParameterError(
            f"anisotropy = {anisotropy!r} must be None, 'axes' (a length for each column) or "
            "'rotated'."
        )
    several = family.scaling.lengths is not None and family.scaling.length is None
    if anisotropy is not None and (several or "z" in family.pinned):
        raise ParameterError(
            f"{family} has no single length that an anisotropy could replace. Write the family so "
            "that one symbol divides z, such as exp(-z/l)*(1 - b) + b*exp(-z/(c*l))."
        )

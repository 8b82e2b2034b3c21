r"""Families as covariances: bounds of their parameters, with a length, a variance and a nugget.

.. math:: \mathrm{cov}(Z(x), Z(y)) = v\,k(|x - y| / \ell;\,\theta) + \text{nugget}\cdot 1_{x = y}

The length and the variance are parameters of the family, or are added to it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, final

import numpy as np
import sympy

from spectra.base.limits import time_limit
from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError, TimeLimitError
from spectra.kernels.catalogue import Family
from spectra.kernels.kernel import Kernel
from spectra.verdict import existence

__all__ = ["CovarianceModel", "DataScale", "definite_bounds"]

# A parameter without a known condition is tried at so many values between these limits, in
# hundredths; the limit of a verdict in seconds.
_TRIED, _LEAST, _MOST, _SECONDS = 9, 1, 10_000, 0.5
# Boxes of a fit, unless the family has narrower ones: lengths are between a tenth of the least
# distance and a multiple of the extent; variances and nuggets are in units of the variance of the
# data.  A Matern kernel with nu > 20 is a Gaussian.
_SHAPES, _JOINT, _LONGEST = (0.05, 20.0), (1e-6, 1e6), 20.0
_VARIANCES, _NUGGETS = (1e-6, 1e4), (1e-8, 10.0)


@lru_cache(maxsize=64)
def definite_bounds(family: Family, dim: int) -> dict[str, tuple[float, float]]:
    """The bounds of the free parameters, narrowed to where a kernel on R^dim is not refuted.

    A named kernel has its own condition.  For another family with one shape parameter, verdicts at
    several values are used; with several of them, check the fitted kernel.

    Raises
    ------
    ParameterError
        If the kernel is positive definite for no value.

    Examples
    --------
    >>> from spectra import family
    >>> definite_bounds(family("exp(-(z/l)**a)"), 2)["a"]
    (0.0, 2.0)
    """
    bounds = family.bounds(dim)
    if family.positive_definite is not None or family.zonal or len(family.shape) > 1:
        return bounds
    name = next(iter(family.shape), None)

    def is_refuted(hundredths: int) -> bool:
        values = {} if name is None else {name: sympy.Rational(hundredths, 100)}
        try:
            with time_limit(_SECONDS):
                found = existence(family(**values), dim).positive_definite
        except TimeLimitError:
            return True
        return found is not None and found.answer is False

    low, high = (0.0, np.inf) if name is None else bounds[name]
    ends = max(_LEAST, round(100 * low)), min(_MOST, 100 * high)
    grid = np.unique(np.geomspace(ends[0], max(ends), _TRIED).astype(int)) if name else [0]
    good = [not is_refuted(int(i)) for i in grid]
    if not any(good):
        found = existence(family(), dim).positive_definite
        raise ParameterError(
            f"{family} is not positive definite on R^{dim}, so it is no covariance there. "
            f"{'' if found is None else found.reason} See spectra.existence(kernel, dim)."
        )
    first, last = good.index(True), len(good) - 1 - good[::-1].index(True)
    if name and first > 0:
        inside = range(int(grid[first]), int(grid[first - 1]), -1)
        low = inside[bisect_left(inside, True, key=is_refuted) - 1] / 100
    if name and last < len(good) - 1:
        inside = range(int(grid[last]), int(grid[last + 1]))
        high = inside[bisect_left(inside, True, key=is_refuted) - 1] / 100
    return bounds if name is None else bounds | {name: (low, high)}


class DataScale(NamedTuple):
    """The extent of the points, their least distance, and the variance of the values."""

    extent: float
    nearest: float
    variance: float


@final
@dataclass(frozen=True, eq=False)
class CovarianceModel:
    """A family with a length, a variance and a nugget, as a function of a vector of numbers.

    The numbers are those of :attr:`names`: the shape, the variance v, the nugget and the length.
    """

    family: Family
    dim: int
    has_nugget: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers: those of the family, or "variance", "nugget", "length"."""
        nugget = "nugget" if self.has_nugget else None
        others = (self.family.variance, nugget, self.family.length)
        names = (*self.family.shape, *(name for name in others if name))
        if len(set(names)) < len(names):
            raise ParameterError(
                f"{self.family}: rename the symbol that is also a name of the fit."
            )
        return names

    def power(self, name: str) -> float:
        """The parameter of the family is this power of the length or of the variance."""
        of = {self.family.length: "z", self.family.variance: "k"}.get(name)
        return self.family.exponents[of].get(name, 1.0) if of else 1.0

    def box(self, scale: DataScale) -> FloatArray:
        """The least and largest numbers of a fit: shape (numbers, 2)."""
        bounds, rows = definite_bounds(self.family, self.dim), []
        for name, unit in zip(self.names, self._sizes(scale, 1.0, 0.0), strict=True):
            if name == self.family.length:
                box = max(0.1 * scale.nearest, 1e-7 * scale.extent), _LONGEST * scale.extent
            elif name in (self.family.variance, "nugget"):
                ends = _NUGGETS if name == "nugget" else _VARIANCES
                box = ends[0] * scale.variance, ends[1] * scale.variance
            else:
                is_joint = any(name in e for e in self.family.exponents.values())
                box = (unit * _JOINT[0], unit * _JOINT[1]) if is_joint else _SHAPES
            with np.errstate(divide="ignore"):
                own = np.sort(np.power(bounds.get(name, (0.0, np.inf)), 1.0 / self.power(name)))
            rows.append((max(box[0], own[0]), min(box[1], own[1])))
        return np.array(rows).reshape(-1, 2)

    def start(self, scale: DataScale, fraction: float, ratio: float) -> FloatArray:
        """A start: lengths as a fraction of the extent, and the nugget's part of the variance."""
        return np.clip(self._sizes(scale, fraction, ratio), *self.box(scale).T)

    def _sizes(self, scale: DataScale, fraction: float, ratio: float) -> FloatArray:
        length, variance = fraction * scale.extent, (1.0 - ratio) * scale.variance
        known = {self.family.length: length, self.family.variance: variance}
        known["nugget"] = ratio * scale.variance
        by_z, by_k = self.family.exponents["z"], self.family.exponents["k"]
        for name in self.family.shape:
            size = length ** by_z.get(name, 0.0) * variance ** by_k.get(name, 0.0)
            known[name] = float(self.family.defaults[name]) * size
        return np.array([known[name] for name in self.names])

    def _values(self, p: FloatArray) -> dict[str | None, float]:
        return {None: 1.0, **dict(zip(self.names, map(float, p), strict=True))}

    def length(self, p: FloatArray) -> float:
        """The length that divides distances."""
        return self._values(p)[self.family.length]

    def nugget(self, p: FloatArray) -> float:
        """The nugget."""
        return self._values(p).get("nugget", 0.0)

    def at_zero(self, p: FloatArray) -> float:
        """The variance without the nugget: v k(0)."""
        own = self.family.with_shape(p[: len(self.family.shape)])
        return self._values(p)[self.family.variance] * self.family.at_zero(own)

    def covariance(self, p: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """The covariance without the nugget as a function of distances divided by the length."""
        own = self.family.with_shape(p[: len(self.family.shape)])
        factor = self._values(p)[self.family.variance]
        return lambda z: factor * self.family.values(z, own)

    def kernel(self, p: FloatArray) -> Kernel:
        """The covariance without the nugget as a kernel, for coordinates divided by the length."""
        own = self.family.with_shape(p[: len(self.family.shape)])
        kernel: Kernel = self.family(**own)
        return (
            kernel
            if self.family.variance is None
            else kernel * self._values(p)[self.family.variance]
        )

    def parameters(self, p: FloatArray) -> dict[str, float]:
        """The parameters of the family, and those that are added, by name."""
        found = {n: float(x ** self.power(n)) for n, x in zip(self.names, p, strict=True)}
        first = [name for name in self.names if name == self.family.length]
        return {name: found[name] for name in dict.fromkeys([*first, *self.names])}

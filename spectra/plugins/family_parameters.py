"""Families in other libraries: length and variance are theirs, other parameters are the shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.derivation import definite_bounds
from spectra.errors import ParameterError
from spectra.kernels.catalogue import Family

__all__ = ["FamilyCovariance", "shape_names", "unit_bounds", "unit_parameters", "unit_values"]

# Bounds of a shape parameter, unless the family has narrower ones.
_LEAST, _MOST = 0.05, 20.0
_STEP = 1e-4  # of differences of log z: an error of 1e-8


def shape_names(family: Family) -> list[str]:
    """The free parameters that are neither the length nor the variance."""
    scales = (family.scaling.length, family.scaling.variance)
    return [name for name in family.defaults if name not in scales]


def unit_values(family: Family) -> FloatArray:
    """The default values of the shape parameters."""
    return np.array([float(family.defaults[name]) for name in shape_names(family)])


def unit_bounds(family: Family) -> FloatArray:
    """The bounds of the shape parameters: shape (parameters, 2)."""
    bounds = family.bounds()
    rows = [(max(bounds[n][0], _LEAST), min(bounds[n][1], _MOST)) for n in shape_names(family)]
    return np.array(rows).reshape(-1, 2)


def unit_parameters(family: Family, shape: Any) -> dict[str, float]:
    """All parameters of a family of unit length and variance."""
    values = dict.fromkeys(family.defaults, 1.0)
    return values | dict(zip(shape_names(family), map(float, np.atleast_1d(shape)), strict=True))


@final
@dataclass(frozen=True, eq=False)
class FamilyCovariance:
    """A family of unit length and variance: what :class:`RadialCovariance` is for a kernel.

    ``of`` refuses parameters for which it is not positive definite on R^dim.
    """

    family: Family
    parameters: dict[str, float]

    @classmethod
    def of(cls, family: Family, shape: Any, dim: int) -> FamilyCovariance:
        """The family with these values of the shape parameters."""
        parameters, bounds = unit_parameters(family, shape), definite_bounds(family, dim)
        for name in shape_names(family):
            low, high = bounds[name]
            if not low * (1 - 1e-9) <= parameters[name] <= high * (1 + 1e-9):
                raise ParameterError(
                    f"{name} = {parameters[name]:.6g}, and {family} is positive definite on "
                    f"R^{dim} for {low:g} <= {name} <= {high:g} only: give these as its bounds."
                )
        return cls(family, parameters)

    def values(self, s: FloatArray) -> FloatArray:
        """k at the squared distances s."""
        return self.family.values(np.sqrt(s), self.parameters)

    def derivative(self, s: FloatArray) -> FloatArray:
        """dk/ds at the squared distances s, by differences; 0 at s = 0."""
        up, down = (self.family.values(np.sqrt(s) * np.exp(h), self.parameters)
                    for h in (_STEP, -_STEP))  # fmt: skip
        return np.where(s > 0.0, (up - down) / (4 * _STEP * np.where(s > 0.0, s, 1.0)), 0.0)

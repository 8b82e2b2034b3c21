"""A profile that is given by its spectrum: the kernel of a radial table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray
from spectra.errors import NoRouteError, ParameterError
from spectra.kernels.composite import CompositeKernel, of_factor
from spectra.kernels.profile import Profile

__all__ = ["TabulatedKernel"]


@dataclass(frozen=True, repr=False)
class TabulatedKernel(Profile):
    """The kernel k(|x - y|) of a radial table, in data of as many columns as it has dimensions.

    Examples
    --------
    >>> from spectra import derive, radial
    >>> measured = TabulatedKernel(derive("exp(-z**2/2)", 2, cache=False))
    >>> kernel = measured.on([0, 1]) * radial("exp(-z)").on([2])
    >>> kernel([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]).round(6)
    array([1.      , 0.367879])
    """

    table: Any  # a SpectralTable, of a package that does not need sympy
    density: Any = None  # the SpectralDensity that the table was made of

    def __post_init__(self) -> None:
        if not self.table.is_radial:
            raise ParameterError(f"A profile is radial, and {self.table} is not.")

    @property
    def formula(self) -> str:
        return f"kernel of a table of {self.table.formula}"

    @property
    def is_zero(self) -> bool:
        return not self.table.parts

    @property
    def at_zero(self) -> float:
        return float(self.table.k_zero)

    def __call__(self, z: ArrayLike) -> FloatArray:
        return np.asarray(self.table.expected_kernel(z))

    def slope(self, z: FloatArray) -> FloatArray:
        """k'(z)/z at distances z; 0 at z = 0."""
        return np.asarray(self.table.slope(z))

    def table_on(self, dim: int) -> Any:
        """The table, if R^dim is its space; else a NoRouteError."""
        if self.table.dim != dim:
            raise NoRouteError(f"{self} is known in dimension {self.table.dim} alone.")
        return self.table

    def rescale(self, length: Any) -> CompositeKernel:
        """The kernel of rows divided by one length, by one for each column, or of rows A x."""
        dim = self.table.dim
        return self._scaled_columns(length if np.ndim(length) else np.full(dim, length))

    def __add__(self, other: Any) -> Any:
        return of_factor(self) + other

    def __mul__(self, other: Any) -> Any:
        return of_factor(self) * other

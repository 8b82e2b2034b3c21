"""A profile that is given by its spectrum: the kernel of a radial table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import log_sphere_area
from spectra.errors import ParameterError
from spectra.kernels.base_kernel import BaseKernel
from spectra.kernels.composite import CompositeKernel, of_factor
from spectra.table import SpectralTable
from spectra.table.interpolation import kernel_by_interpolation, slope_by_interpolation

__all__ = ["TabulatedKernel"]


@final
@dataclass(frozen=True, repr=False)
class TabulatedKernel(BaseKernel):
    """The kernel k(|x - y|) of a radial table, in data of as many columns as it has dimensions.

    Examples
    --------
    >>> from spectra import derive, radial
    >>> measured = TabulatedKernel(derive("exp(-z**2/2)", 2, cache=False))
    >>> kernel = measured.on([0, 1]) * radial("exp(-z)").on([2])
    >>> kernel([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]).round(6)
    array([1.      , 0.367879])
    """

    table: SpectralTable

    def __post_init__(self) -> None:
        if not self.table.is_radial:
            raise ParameterError(f"A profile is radial, and {self.table} is not.")

    @property
    def formula(self) -> str:
        return f"kernel of a table of {self.table.formula}"

    @property
    def pieces(self) -> tuple[Any, ...]:
        return tuple(self.table.parts)

    @property
    def at_zero(self) -> float:
        return float(self.table.k_zero)

    def split_constant(self) -> tuple[float, TabulatedKernel]:
        return 1.0, self

    def __call__(self, z: ArrayLike) -> FloatArray:
        return kernel_by_interpolation(self.table, np.asarray(z, dtype=float))

    def slope(self, z: FloatArray) -> FloatArray:
        """k'(z)/z at distances z; 0 at z = 0."""
        return slope_by_interpolation(self.table, z)

    def density(self, w: FloatArray) -> FloatArray:
        """The spectral density mu(w) on R^dim at radii w, without atoms; constant below panels."""
        dim, parts = self.table.dim, self.table.parts
        lowest = [p.law.panels.low[p.law.panels.are_series] for p in parts]
        w = np.maximum(w, min((float(low[0]) for low in lowest if low.size), default=0.0))
        radial = sum((p.sign * p.mass * p.law.pdf(w) for p in parts), np.zeros_like(w))
        return np.asarray(radial * np.exp(-log_sphere_area(dim) - (dim - 1) * np.log(w)))

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self(cdist(X, Y))

    def on(self, columns: Any, length: Any = 1.0) -> CompositeKernel:
        return of_factor(self, columns, length)

    def __add__(self, other: Any) -> Any:
        return of_factor(self) + other

    def __mul__(self, other: Any) -> Any:
        return of_factor(self) * other

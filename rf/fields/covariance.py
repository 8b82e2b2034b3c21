"""The covariance of a field: its values, how paths are sampled, and the error of one draw.

A lag is the distance |x - y| if the covariance is radial.  For kernels of groups of columns and of
the l1 distance it is the difference x - y, and lags have the shape (..., d).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from rf.fields.gradients import (
    gradient_of_products,
    gradient_of_radial,
    slope_of_kernel,
    slope_of_table,
)
from rf.inputs.tables import Spectrum, resolve_spectrum
from rf.schemes.table_scheme import SamplingOptions, TableScheme, scheme_for
from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import ParameterError, SpectraError
from spectra.table import SpectralTable
from spectra.table.interpolation import kernel_by_interpolation

__all__ = ["Covariance", "covariance_of", "why_not_positive"]

# Default lags at which n_components_for bounds the error, in units of half_length.
_CHECK_DISTANCES = np.geomspace(1e-2, 1e2, 33)
# If a kernel has no field in its dimension, the error message suggests a dimension up to this.
_LARGEST_SUGGESTED_DIM = 3
_SCALES = np.geomspace(1e-6, 1e6, 241)  # distances that half_length tries


@dataclass(frozen=True, eq=False)
class Covariance(ABC):
    """The table of a positive definite kernel, and the kernel (None if only the table is known)."""

    table: Any
    kernel: Any

    @abstractmethod
    def flatten_lags(self, lags: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """Check n lags; return them with shape (n,) or (n, d), and the shape of k at ``lags``."""

    @abstractmethod
    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """k(x - y) for the rows of X and of Y."""

    @abstractmethod
    def default_lags(self) -> FloatArray:
        """Lags at which n_components_for bounds the error by default."""

    def laws(self) -> list[Any]:
        """The distributions of the frequencies in all parts and groups."""
        return [group.law for part in self.table.parts for group in part.groups]

    @abstractmethod
    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Gradient at the rows of X of the sum over j of c_j k(x - y_j)."""

    def values(self, lags: ArrayLike) -> FloatArray:
        """The covariance k at lags."""
        flat_lags, shape = self.flatten_lags(lags)
        covariance = self.table.expected_kernel if self.kernel is None else self.kernel
        return np.asarray(covariance(flat_lags), dtype=float).reshape(shape)

    def half_length(self, unit_lag: FloatArray) -> float:
        """The least s on a grid with k(s unit_lag) < k(0)/2; 1 if there is none."""
        below_half = self.values(np.multiply.outer(_SCALES, unit_lag)) < 0.5 * self.table.k_zero
        return float(_SCALES[int(np.argmax(below_half))]) if below_half.any() else 1.0

    def scheme(self, n: int, coupling: str) -> TableScheme:
        """How n frequencies are sampled: split over the parts by mass, with stratified radii."""
        options = SamplingOptions(coupling, radii="stratified", allocation="mass")
        return scheme_for(self.table, n, options)

    def deviation(self, lags: FloatArray, n: int, coupling: str) -> FloatArray:
        """Standard deviation of the covariance that a draw of n frequencies implies."""
        is_zero = lags == 0.0 if lags.ndim == 1 else ~lags.any(axis=1)
        variance, error_bound = self.scheme(n, coupling).variance(lags)
        # A variance may be below its numerical error: add the bound of the error.
        return np.where(is_zero, 0.0, np.sqrt(variance + error_bound))


@final
class _Radial(Covariance):
    """A covariance k(|x - y|)."""

    table: SpectralTable

    def flatten_lags(self, lags: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        z = real_array(lags, "The distances")
        if not np.all((z >= 0) & np.isfinite(z)):
            raise ParameterError("Distances must be finite and at least 0.")
        return z.ravel(), z.shape

    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        z = cdist(X, Y)
        return kernel_by_interpolation(self.table, z) if self.kernel is None else self.values(z)

    def default_lags(self) -> FloatArray:
        return _CHECK_DISTANCES * self.half_length(np.array(1.0))

    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        kernel = self.kernel
        slope = slope_of_table(self.table) if kernel is None else slope_of_kernel(kernel)
        return gradient_of_radial(slope, X, Y, c)


@final
class _OfDifferences(Covariance):
    """A covariance k(x - y) that is not a function of |x - y| alone."""

    def flatten_lags(self, lags: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        D = real_array(lags, "The differences x - y")
        if D.ndim < 1 or D.shape[-1] != self.table.dim:
            raise ParameterError(
                f"The covariance {self.table.formula} is a function of differences x - y of "
                f"{self.table.dim} coordinates: give an array of shape (..., {self.table.dim}), "
                f"not {D.shape}."
            )
        return D.reshape(-1, self.table.dim), D.shape[:-1]

    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        if self.kernel is not None:
            return np.asarray(self.kernel.gram(X, Y), dtype=float)
        return self.values(X[:, None] - Y[None])

    def default_lags(self) -> FloatArray:
        axes = np.eye(self.table.dim)
        lags = [_CHECK_DISTANCES[::4, None] * self.half_length(axis) * axis for axis in axes]
        return np.concatenate([*lags, np.sum(lags, axis=0)])

    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        if self.kernel is None:
            raise ParameterError(
                f"The gradient of {self.table.formula} cannot be computed from its table alone. "
                "Make the field from the kernel instead of the table."
            )
        if any(f.metric.order != 2 for f in self.kernel.factors):
            raise ParameterError(
                f"The covariance {self.table.formula} has a kink wherever x and a data point share "
                "a coordinate, so it has no gradient there. Use a smooth covariance."
            )
        return gradient_of_products(self.kernel, X, Y, c)


def covariance_of(table: Any, kernel: Any) -> Covariance:
    """The covariance with this table, and with this kernel if it is known."""
    return (_Radial if table.is_radial else _OfDifferences)(table, kernel)


def why_not_positive(kernel: Any, spectrum: Spectrum) -> str:
    """The error message for a kernel with negative spectral mass."""
    table = spectrum.table
    if table.is_radial:
        return _explain_radial(kernel, table)
    return _explain_columns(spectrum.kernel, table)


def _explain_columns(kernel: Any, table: SpectralTable) -> str:
    """The message for kernels of groups of columns and of the l1 distance."""
    message = (
        f"{table.formula} has parts of the negative mass {table.negative_mass:.6g} on "
        f"R^{table.dim}, and paths need positive parts only."
    )
    if kernel is None:
        return message
    from spectra.verdict import existence

    definiteness = existence(kernel, table.dim).positive_definite
    answers: dict[bool | None, str] = {
        True: "It is positive definite",
        False: "It is not positive definite",
        None: "It is not known whether it is positive definite",
    }
    return f"{message} {answers[definiteness.answer]}: {definiteness.reason}"


def _explain_radial(kernel: Any, table: SpectralTable) -> str:
    """The message for a radial kernel, with a lower dimension in which it has a field, if any."""
    message = (
        f"{table.formula} is not positive definite on R^{table.dim}: its spectral measure has the "
        f"negative mass {table.negative_mass:.6g}, so it is the covariance of no random field."
    )
    if getattr(kernel, "dim", None) is not None:  # a table or a measure, of fixed dimension
        return message
    for dim in range(min(table.dim - 1, _LARGEST_SUGGESTED_DIM), 0, -1):
        try:
            lower = resolve_spectrum(kernel, dim).table
        except SpectraError:
            continue
        if lower.is_radial and all(part.sign > 0 for part in lower.parts):
            return message + f" In dimension {dim} its measure has no negative mass."
    return (
        message
        + f" Nor is there a lower dimension up to {_LARGEST_SUGGESTED_DIM} whose table has none."
    )

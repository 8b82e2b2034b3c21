"""The covariance of a field: its values, how paths are sampled, and the error of one draw.

A radial covariance is a function of distances; one of groups of columns or of the l1 distance is a
function of differences x - y of shape (..., d).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
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
from spectra.table import RadialLaw, SpectralTable

__all__ = ["Covariance", "covariance_of", "why_not_positive"]

# Default distances at which n_components_for bounds the error, in units of half_length.
_CHECK_DISTANCES = np.geomspace(1e-2, 1e2, 33)
# If a kernel has no field in its dimension, the error message suggests one up to this.
_MOST_LOWER_DIM = 3
_SCALES = np.geomspace(1e-6, 1e6, 241)


@dataclass(frozen=True, eq=False)
class Covariance(ABC):
    """The table of a positive definite kernel, and the kernel itself or None."""

    table: Any
    kernel: Any

    @abstractmethod
    def checked(self, at: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """Distances or differences as a list, and the shape of the result."""

    @abstractmethod
    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """k(x - y) for the rows of X and of Y."""

    @abstractmethod
    def check_points(self) -> FloatArray:
        """Default distances or differences at which n_components_for bounds the error."""

    @abstractmethod
    def laws(self) -> Iterator[RadialLaw] | None:
        """The radial laws of all frequencies; None if E w^2 is infinite."""

    @abstractmethod
    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Gradient at the rows of X of the sum over j of c_j k(x - y_j)."""

    def values(self, at: ArrayLike) -> FloatArray:
        """k at distances or differences."""
        points, shape = self.checked(at)
        exact = self.table.expected_kernel if self.kernel is None else self.kernel
        return np.asarray(exact(points), dtype=float).reshape(shape)

    def half_length(self, along: FloatArray) -> float:
        """The distance, or length along a direction, at which the kernel is below k(0)/2."""
        at = np.multiply.outer(_SCALES, along)
        fallen = self.values(at) < 0.5 * self.table.k_zero
        return float(_SCALES[int(np.argmax(fallen))]) if fallen.any() else 1.0

    def scheme(self, n: int, coupling: str) -> TableScheme:
        """How n frequencies of a path are sampled: by mass, with stratified radii."""
        return scheme_for(self.table, n, SamplingOptions(coupling, "stratified", "mass"))

    def deviation(self, at: FloatArray, n: int, coupling: str) -> FloatArray:
        """Standard deviation of the covariance of n frequencies, which is 0 at distance 0."""
        same = at == 0.0 if at.ndim == 1 else ~at.any(axis=1)
        value, error = self.scheme(n, coupling).variance(at)
        # A variance may be below its numerical error: add the bound of the error.
        return np.where(same, 0.0, np.sqrt(value + error))


@final
class _Radial(Covariance):
    """k(|x - y|)."""

    table: SpectralTable

    def checked(self, at: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        z = real_array(at, "The distances")
        if not np.all((z >= 0) & np.isfinite(z)):
            raise ParameterError("Distances are finite and at least 0.")
        return z.ravel(), z.shape

    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self.values(cdist(X, Y))

    def check_points(self) -> FloatArray:
        return _CHECK_DISTANCES * self.half_length(np.array(1.0))

    def laws(self) -> Iterator[RadialLaw]:
        return (part.law for part in self.table.parts)

    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        known = self.kernel is not None
        slope = slope_of_kernel(self.kernel) if known else slope_of_table(self.table)
        return gradient_of_radial(slope, X, Y, c)


class _OfDifferences(Covariance):
    """k(x - y), not a function of |x - y| alone."""

    def checked(self, at: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        D = real_array(at, "The differences x - y")
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

    def check_points(self) -> FloatArray:
        axes = np.eye(self.table.dim)
        steps = [_CHECK_DISTANCES[::4, None] * self.half_length(axis) * axis for axis in axes]
        return np.concatenate([*steps, np.sum(steps, axis=0)])


@final
class _Grouped(_OfDifferences):
    """Sums and products over groups of columns."""

    def laws(self) -> Iterator[RadialLaw]:
        return (group.law for part in self.table.parts for group in part.groups)

    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        if self.kernel is None:
            raise ParameterError(
                f"The table of {self.table.formula} gives its values, and no gradient. "
                "Make the field from the kernel instead of the table."
            )
        return gradient_of_products(self.kernel, X, Y, c)


@final
class _OfL1(_OfDifferences):
    """f(|x - y|_1): its frequencies are independent."""

    def laws(self) -> None:
        # A coordinate R U / sqrt(S) has the mean square E R^2 E U^2 E 1/S, and E 1/S is infinite.
        return None

    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        raise ParameterError(
            f"The covariance {self.table.formula} has a kink wherever a coordinate of x is that of "
            "a datum, and no gradient is offered. Take a smooth covariance."
        )


def covariance_of(table: Any, kernel: Any) -> Covariance:
    """The covariance of a table."""
    kinds = {"grouped": _Grouped, "l1": _OfL1}
    return kinds.get(table.kind, _Radial)(table, kernel)


def why_not_positive(kernel: Any, spectrum: Spectrum) -> str:
    """Why there is no field: a part of the table is negative."""
    table = spectrum.table
    if table.kind in ("radial", "shifted"):
        return _refusal(kernel, table)
    return _refusal_of_parts(spectrum.kernel, table)


def _refusal_of_parts(kernel: Any, table: SpectralTable) -> str:
    """Why there is no field of groups of columns, or of the l1 distance."""
    found = (
        f"{table.formula} has parts of the negative mass {table.negative_mass:.6g} on "
        f"R^{table.dim}, and paths need positive parts only."
    )
    if kernel is None:
        return found
    from spectra.verdict import existence

    definite = existence(kernel, table.dim).positive_definite
    known: dict[bool | None, str] = {
        True: "It is positive definite",
        False: "It is not positive definite",
    }
    return f"{found} {known.get(definite.answer, 'It is not known to be')}: {definite.reason}"


def _refusal(kernel: Any, table: SpectralTable) -> str:
    """Why there is no field, and in which dimensions there would be one."""
    negative = sum(part.mass for part in table.parts if part.sign < 0)
    found = (
        f"{table.formula} is not positive definite on R^{table.dim}: its spectral measure has the "
        f"negative mass {negative:.6g}, so no random field has it for a covariance."
    )
    if getattr(kernel, "dim", None) is not None:  # a table or a measure, of this dimension
        return found
    for dim in range(min(table.dim - 1, _MOST_LOWER_DIM), 0, -1):
        try:
            lower = resolve_spectrum(kernel, dim).table
        except SpectraError:
            continue
        if lower.kind == "radial" and all(part.sign > 0 for part in lower.parts):
            return found + f" In dimension {dim} its measure has no negative mass."
    return found + f" Nor is there a lower dimension up to {_MOST_LOWER_DIM} without negative mass."

"""The covariance of a field: its values, how paths are sampled, and the error of one draw.

A lag is what the table's kernel is a function of (:meth:`spectra.SpectralTable.points`): the
distance |x - y| if the covariance is radial, else the difference x - y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rf.fields.gradients import (
    blocks_of_pairs,
    gradient_of_sum,
    products_of_kernel,
    products_of_table,
)
from rf.inputs.tables import Spectrum, resolve_spectrum
from rf.schemes.table_scheme import SamplingOptions, TableScheme, scheme_for
from spectra.base.arrays import FloatArray
from spectra.errors import SpectraError
from spectra.table import Points, SpectralTable

__all__ = ["Covariance", "why_not_positive"]

# Default lags at which n_components_for bounds the error, in units of _half_length.
_CHECK_DISTANCES = np.geomspace(1e-2, 1e2, 17)
# If a kernel has no field in its dimension, the error message suggests a dimension up to this.
_LARGEST_SUGGESTED_DIM = 3
_SCALES = np.geomspace(1e-6, 1e6, 241)  # distances that _half_length tries
_ANSWERS: dict[bool | None, str] = {
    True: "It is positive definite",
    False: "It is not positive definite",
    None: "It is not known whether it is positive definite",
}


@final
@dataclass(frozen=True, eq=False)
class Covariance:
    """The table of a positive definite kernel, and the kernel (None if only the table is known)."""

    table: SpectralTable
    kernel: Any

    def points(self, lags: ArrayLike) -> Points:
        """Lags as checked points of the table."""
        return self.table.points(lags).checked()

    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """k(x - y) for the rows of X and of Y."""
        if self.kernel is not None:
            return np.asarray(self.kernel.gram(X, Y), dtype=float)
        blocks = (self.values(Points(X[rows, None] - Y, 1)) for rows in blocks_of_pairs(X, Y))
        return np.concatenate(list(blocks)) if len(X) else np.zeros((0, len(Y)))

    def default_lags(self) -> Points:
        """Lags along the first axis of each group of columns, and along their sum."""
        groups = dict.fromkeys((g.columns or (0,))[0] for p in self.table.parts for g in p.groups)
        axes = np.eye(self.table.dim)[list(groups)]
        lags = [
            np.multiply.outer(_CHECK_DISTANCES, self._half_length(axis) * axis) for axis in axes
        ]
        return self.table.points(
            Points(np.concatenate([*lags, np.sum(lags[1:], axis=0) + lags[0]]), 1)
        )

    def at_kink(self, X: FloatArray, Y: FloatArray) -> NDArray[np.bool_]:
        """For each row of X, whether it has the distance 0 to a row of Y in a group of columns."""
        D = Points(X[:, None] - Y, 1)
        groups = dict.fromkeys(g for p in self.table.parts for g in p.groups)
        at_zero: list[FloatArray] = [g.own(D).norms.values.min(axis=1) == 0.0 for g in groups]
        return np.array(at_zero, dtype=bool).max(axis=0)

    def gradient_of_sum(self, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Gradient at the rows of X of the sum over j of c_j k(x - y_j)."""
        known = self.kernel is not None
        products = products_of_kernel(self.kernel) if known else products_of_table(self.table)
        return gradient_of_sum(products, X, Y, c)

    def values(self, lags: ArrayLike | Points) -> FloatArray:
        """The covariance k at lags."""
        points = lags if isinstance(lags, Points) else self.points(lags)
        points = self.table.points(points)
        if self.kernel is None:
            return self.table.expected_kernel(points)
        return np.asarray(self.kernel(points.values), dtype=float)

    def _half_length(self, axis: FloatArray) -> float:
        """The least s on a grid with k(s axis) < k(0)/2; 1 if there is none."""
        values = self.values(Points(np.multiply.outer(_SCALES, axis), 1))
        below_half = values < 0.5 * self.table.k_zero
        return float(_SCALES[int(np.argmax(below_half))]) if below_half.any() else 1.0

    def scheme(self, n: int, coupling: str) -> TableScheme:
        """How n frequencies are sampled: split over the parts by mass, with stratified radii."""
        options = SamplingOptions(coupling, radii="stratified", allocation="mass")
        return scheme_for(self.table, n, options)

    def deviation(self, points: Points, n: int, coupling: str) -> FloatArray:
        """Standard deviation of the covariance that a draw of n frequencies implies."""
        variance, error_bound = self.scheme(n, coupling).variance(points)
        # A variance may be below its numerical error: add the bound of the error.
        return np.where(points.norms.values == 0.0, 0.0, np.sqrt(variance + error_bound))


def why_not_positive(kernel: Any, spectrum: Spectrum) -> str:
    """The error message for a kernel with negative spectral mass, with a way out if there is one.

    ``kernel``: what the user gave; a dimension below that of the table is suggested if it has one.
    """
    table = spectrum.table
    message = (
        f"{table.formula} has parts of the negative mass {table.negative_mass:.6g} on "
        f"R^{table.dim}, and paths need positive parts only."
    )
    if spectrum.kernel is None:
        return message
    from spectra.verdict import existence

    definiteness = existence(spectrum.kernel, table.dim).positive_definite
    message += f" {_ANSWERS[definiteness.answer]}: {definiteness.reason}"
    for dim in range(min(table.dim - 1, _LARGEST_SUGGESTED_DIM), 0, -1):
        try:
            lower = resolve_spectrum(kernel, dim).table
        except SpectraError:
            continue
        if not lower.negative_mass:
            return f"{message} In dimension {dim} its measure has no negative mass."
    return message

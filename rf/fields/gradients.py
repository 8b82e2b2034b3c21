r"""Gradients of sums of covariances, such as kriging means and the corrections of paths.

.. math:: \nabla_x \sum_j c_j\,k(|x - y_j|) = \sum_j c_j\,\frac{k'(z_j)}{z_j}\,(x - y_j),
          \qquad z_j = |x - y_j|

For products of such kernels they follow from the product rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.arrays import FloatArray, from_units, to_units
from spectra.errors import ParameterError
from spectra.table import Group, SpectralTable

__all__ = ["blocks_of_pairs", "gradient_of_sum", "products_of_kernel", "products_of_table"]

Function = Callable[[FloatArray], FloatArray]
#: A weight and the factors of a product.
Product = tuple[float, list["Wave"]]

# Entries of one block of the matrix of distances (8 MB).
_BLOCK_ENTRIES = 1 << 20


def gradient_of_sum(
    products: list[Product], X: FloatArray, Y: FloatArray, c: FloatArray
) -> FloatArray:
    """Gradient at the rows of X of the sum over j of c_j k(x - y_j): shape (rows, d).

    A profile adds 0 at z = 0.  This is its gradient if it is smooth, and the mean of its limits
    from all directions if it has a kink.
    """
    gradient = np.zeros(X.shape)
    for rows in blocks_of_pairs(X, Y):
        for weight, waves in products:
            pairs = [(w.scaled(X[rows]), w.scaled(Y)) for w in waves]
            distances = [cdist(x, y) for x, y in pairs]
            values = [w.value(z) for w, z in zip(waves, distances, strict=True)]
            for i, (w, z, (x, y)) in enumerate(zip(waves, distances, pairs, strict=True)):
                weights = weight * c * w.slope(z)
                for other in (*values[:i], *values[i + 1 :]):
                    weights = weights * other
                own = _weighted_differences(weights, x, y)
                columns = slice(None) if w.columns is None else list(w.columns)
                gradient[rows, columns] += from_units(own, np.array(w.lengths))
    return gradient


@dataclass(frozen=True)
class Wave:
    """A function of the distance in some columns, and k'(z)/z, which is 0 at z = 0."""

    columns: tuple[int, ...] | None
    lengths: Any
    value: Function
    slope: Function

    def scaled(self, X: FloatArray) -> FloatArray:
        """The columns of rows, divided by the lengths."""
        return to_units(
            X if self.columns is None else X[:, list(self.columns)], np.array(self.lengths)
        )


def products_of_kernel(kernel: Any) -> list[Product]:
    """The terms of a kernel; an error for metrics whose distance has a kink."""
    if any(f.metric.order != 2 for f in kernel.factors):
        raise ParameterError(
            f"The covariance {kernel} has a kink wherever x and a data point share a coordinate, "
            "so it has no gradient there. Use a smooth covariance."
        )

    def wave(f: Any) -> Wave:
        def slope(z: FloatArray) -> FloatArray:
            values = np.zeros(z.shape)
            values[z > 0.0] = f.profile.slope(z[z > 0.0])
            return values

        return Wave(f.columns, f.lengths, f.profile, slope)

    return [(term.weight, [wave(f) for f in term.factors]) for term in kernel.terms]


def products_of_table(table: SpectralTable) -> list[Product]:
    """The parts of a table."""
    groups: dict[Group, Wave] = {g: _wave_of_group(g, table) for p in table.parts for g in p.groups}
    return [(p.sign * p.mass, [groups[g] for g in p.groups]) for p in table.parts]


def _wave_of_group(group: Group, table: SpectralTable) -> Wave:
    """The expected plane wave of a radial law."""
    law, dim = group.law, group.size(table.dim)
    if not group.is_coupled:
        raise ParameterError(
            f"The covariance {table.formula} has a kink wherever x and a data point share a "
            "coordinate, so it has no gradient there. Use a smooth covariance."
        )
    value, slope = partial(law.expected_plane_wave, dim), partial(law.plane_wave_slope, dim)
    return Wave(group.columns, group.lengths, value, slope)


def blocks_of_pairs(X: FloatArray, Y: FloatArray) -> Iterator[slice]:
    """Slices of the rows of X whose pairs with all rows of Y are in memory at one time."""
    block = max(1, _BLOCK_ENTRIES // max(len(Y), 1))
    return (slice(start, start + block) for start in range(0, len(X), block))


def _weighted_differences(weights: FloatArray, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Sums over j of weights_ij (x_i - y_j): shape (rows of X, d)."""
    # One column at a time, so that no array of shape (rows of X, rows of Y, d) is stored.
    return np.stack(
        [np.sum(weights * (X[:, i : i + 1] - Y[:, i]), axis=1) for i in range(X.shape[1])], axis=1
    )

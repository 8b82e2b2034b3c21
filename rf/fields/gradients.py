r"""Gradients of sums of covariances, such as kriging means and the corrections of paths.

.. math:: \nabla_x \sum_j c_j\,k(|x - y_j|) = \sum_j c_j\,\frac{k'(z_j)}{z_j}\,(x - y_j),
          \qquad z_j = |x - y_j|

For products of such kernels they follow from the product rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.arrays import FloatArray, from_units
from spectra.base.bessel import plane_wave_mean
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from spectra.kernels.composite import CompositeKernel
    from spectra.kernels.kernel import Kernel

__all__ = ["gradient_of_products", "gradient_of_radial", "slope_of_kernel", "slope_of_table"]

#: The function k'(z)/z of distances, with the value 0 at z = 0.
Slope = Callable[[FloatArray], FloatArray]

# Entries of one block of the matrix of distances (8 MB).
_BLOCK_ENTRIES = 1 << 20


def gradient_of_radial(slope: Slope, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
    """Gradient at the rows of X of the sum over j of c_j k(|x - y_j|): shape (rows, d).

    The term of y_j is 0 at x = y_j.  This is its gradient if the covariance is smooth, and the mean
    of its limits from all directions if the covariance has a kink.
    """
    gradient = np.empty(X.shape)
    for rows in _blocks(X, Y):
        gradient[rows] = _weighted_differences(c * slope(cdist(X[rows], Y)), X[rows], Y)
    return gradient


def gradient_of_products(
    kernel: CompositeKernel, X: FloatArray, Y: FloatArray, c: FloatArray
) -> FloatArray:
    """Gradient of the sum of c_j k(x - y_j) for a sum of products of kernels of column groups."""
    gradient = np.zeros(X.shape)
    for rows in _blocks(X, Y):
        for term in kernel.terms:
            pairs = [(f.scaled_columns(X[rows]), f.scaled_columns(Y)) for f in term.factors]
            distances = [cdist(x, y) for x, y in pairs]
            values = [f.profile(z) for f, z in zip(term.factors, distances, strict=True)]
            for i, (f, (x, y)) in enumerate(zip(term.factors, pairs, strict=True)):
                columns = slice(None) if f.columns is None else list(f.columns)
                weights = term.weight * c * slope_of_kernel(cast("Kernel", f.profile))(distances[i])
                for other in (*values[:i], *values[i + 1 :]):
                    weights = weights * other
                own = _weighted_differences(weights, x, y)
                gradient[rows, columns] += from_units(own, np.array(f.lengths))
    return gradient


def slope_of_kernel(kernel: Kernel) -> Slope:
    """The function k'(z)/z of a kernel given by a formula."""
    # Imported here because it needs sympy, which fields made from a table do not need.
    from spectra.derivation.covariance import RadialCovariance

    covariance = RadialCovariance(kernel, 1)  # the same function of z in every dimension
    return lambda z: 2.0 * covariance.derivative(z**2)


def slope_of_table(table: SpectralTable) -> Slope:
    """k'(z)/z for the kernel of a table with bounded radii w.

    It is -k(0) E[w^2 Ω_(d+2)(w z)]/d, where Ω_d is the mean of a plane wave over the sphere.
    """
    parts: tuple[Any, ...] = table.parts
    if not all(np.isfinite(part.law.upper) for part in parts):
        raise ParameterError(
            f"The gradient of {table.formula} cannot be computed from its table, whose frequencies "
            "are unbounded. Make the field from the kernel instead of the table."
        )

    def slope(z: FloatArray) -> FloatArray:
        mean = np.zeros(z.shape)
        for part in parts:
            radii, weights, _ = part.law.nodes(float(z.max(initial=0.0)))
            for w, weight in zip(radii, weights, strict=True):
                wave = plane_wave_mean(table.dim + 2, w * z)
                mean -= part.mass * weight * w**2 / table.dim * wave
        return np.where(z > 0.0, mean, 0.0)

    return slope


def _blocks(X: FloatArray, Y: FloatArray) -> Iterator[slice]:
    block = max(1, _BLOCK_ENTRIES // max(len(Y), 1))
    return (slice(start, start + block) for start in range(0, len(X), block))


def _weighted_differences(weights: FloatArray, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Sums over j of weights_ij (x_i - y_j): shape (rows of X, d)."""
    # One column at a time, so that no array of shape (rows of X, rows of Y, d) is stored.
    return np.stack(
        [np.sum(weights * (X[:, i : i + 1] - Y[:, i]), axis=1) for i in range(X.shape[1])], axis=1
    )

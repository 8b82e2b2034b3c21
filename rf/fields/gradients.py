r"""Gradients of sums of covariances: of the correction that conditioning adds to a path.

.. math:: \nabla_x \sum_j c_j\,k(|x - y_j|) = \sum_j c_j\,\frac{k'(z_j)}{z_j}\,(x - y_j),
          \qquad z_j = |x - y_j|

and of products of such kernels by the rule for products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.arrays import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.kernel import Kernel

__all__ = ["gradient_of_products", "gradient_of_radial", "slope_of_kernel", "slope_of_table"]

#: The function k'(z)/z of distances, with the value 0 at z = 0.
Slope = Callable[[FloatArray], FloatArray]

# Entries of one block of distances.
_BLOCK_ENTRIES = 1 << 20


def gradient_of_radial(slope: Slope, X: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
    """Gradient at the rows of X of the sum of c_j k(|x - y_j|): shape (rows, d).

    A row y_j adds nothing to the gradient at itself: 0 is the gradient of a smooth covariance
    there; for one with a kink it is the mean over directions.
    """
    out = np.empty(X.shape)
    for rows in _blocks(X, Y):
        out[rows] = _weighted_differences(c * slope(cdist(X[rows], Y)), X[rows], Y)
    return out


def gradient_of_products(
    kernel: GroupedKernel, X: FloatArray, Y: FloatArray, c: FloatArray
) -> FloatArray:
    """The same for sums and products of radial kernels of groups of columns."""
    out = np.zeros(X.shape)
    for rows in _blocks(X, Y):
        for weight, factors in kernel.terms:
            own = [(factor.scaled_columns(X[rows]), factor.scaled_columns(Y)) for factor in factors]
            values = [f.kernel(cdist(x, y)) for f, (x, y) in zip(factors, own, strict=True)]
            for i, (factor, (x, y)) in enumerate(zip(factors, own, strict=True)):
                columns, lengths = list(factor.columns), np.array(factor.lengths)
                pull = weight * c * slope_of_kernel(cast("Kernel", factor.kernel))(cdist(x, y))
                for other in (*values[:i], *values[i + 1 :]):
                    pull = pull * other
                out[rows, columns] += _weighted_differences(pull, x, y) / lengths
    return out


def slope_of_kernel(kernel: Kernel) -> Slope:
    """The slope of a formula."""
    # The plug-ins need sympy, which a table does not.
    from spectra.derivation.covariance import RadialCovariance

    covariance = RadialCovariance(kernel, 1)  # values and slopes are those of every dimension
    return lambda z: 2.0 * covariance.derivative(z**2)


def slope_of_table(table: SpectralTable) -> Slope:
    """The slope of the expectation of a table whose radii end: -w^2 Ω_(d+2)(w z)/d, on average."""
    parts: tuple[Any, ...] = table.parts  # radial, so that each has a law of radii
    if not all(np.isfinite(part.law.upper) for part in parts):
        raise ParameterError(
            f"The table of {table.formula} knows its covariance by its values, and its radii have "
            "no end, so that it cannot be differentiated through them. Make the field from the "
            "kernel in place of the table."
        )

    def slope(z: FloatArray) -> FloatArray:
        total = np.zeros(z.shape)
        for part in parts:
            radii, weights, _ = part.law.nodes(float(z.max(initial=0.0)))
            for w, share in zip(radii, weights, strict=True):
                wave = plane_wave_mean(table.dim + 2, w * z)
                total -= part.mass * share * w**2 / table.dim * wave
        return np.where(z > 0.0, total, 0.0)

    return slope


def _blocks(X: FloatArray, Y: FloatArray) -> Iterator[slice]:
    block = max(1, _BLOCK_ENTRIES // max(len(Y), 1))
    return (slice(start, start + block) for start in range(0, len(X), block))


def _weighted_differences(pull: FloatArray, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Sums of pull times x - y.

    Column by column: differences of close rows keep their digits, and no cube is held.
    """
    return np.stack(
        [np.sum(pull * (X[:, i : i + 1] - Y[:, i]), axis=1) for i in range(X.shape[1])], axis=1
    )

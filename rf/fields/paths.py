r"""One path of a Gaussian field: a finite sum of waves, which is a function on all of R^d.

.. math:: f(x) = \sum_i \sqrt{a_i}\,(A_i \cos(w_i \cdot x) + B_i \sin(w_i \cdot x))

with A and B independent and standard normal.  Given the frequencies, f is Gaussian with the
covariance :math:`\sum_i a_i \cos(w_i \cdot (x - y))`, whose mean over the draws is the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from rf.feature_maps.fourier_features import fourier_columns
from rf.feature_maps.threads import serial_blas
from rf.sampling.frequencies import Frequencies
from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import DataError

__all__ = ["Path"]

# Bytes of the waves of one block of points: large enough for an efficient matrix product, small
# enough for the cache.  Measured for 1024 frequencies: 4.4 ns a wave; 16 MB take 4.8 to 7, and 1 MB
# 5 to 7.
_BLOCK_BYTES = 1 << 22


@final
@dataclass(frozen=True, eq=False)
class Path:
    """One path of a Gaussian field, a function that can be evaluated at any points.

    Attributes
    ----------
    frequencies : Frequencies
        For coordinates divided by ``lengths``.
    cosines, sines : ndarray of shape (n,)
        The coefficients of the waves, sqrt(a) A and sqrt(a) B.
    lengths : ndarray of shape (d,)
        What a coordinate is divided by.

    Notes
    -----
    Values at a point do not depend on which other points are asked for, up to rounding.
    """

    frequencies: Frequencies
    cosines: FloatArray
    sines: FloatArray
    lengths: FloatArray

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Values at the rows of X: shape (rows,)."""
        points = self._points(X)
        return self._sums(points, np.concatenate([self.cosines, self.sines]))

    def gradient(self, X: ArrayLike) -> FloatArray:
        """The gradient at the rows of X: shape (rows, d), in units of the field per unit of x.

        It is the gradient of this finite sum.  The field may have none:
        :meth:`rf.GaussianField.gradient` checks this.
        """
        points = self._points(X)
        slopes = self.frequencies.frequencies / self.lengths
        coefficients = np.concatenate(
            [self.sines[:, None] * slopes, -self.cosines[:, None] * slopes]
        )
        return self._sums(points, coefficients)

    def on_grid(self, *axes: ArrayLike) -> FloatArray:
        r"""Values on the grid of d axes, without the list of its points.

        A wave on a grid is a product of one factor for each axis, so that the sum over the
        frequencies is a product of matrices.

        Parameters
        ----------
        *axes : array_like
            Coordinates along each of the d axes.

        Returns
        -------
        ndarray of shape (len(axes[0]), ..., len(axes[d - 1]))
        """
        lines = _checked_axes(axes, self.lengths)
        w = self.frequencies.frequencies
        waves = [np.exp(1j * np.outer(w[:, j], line)) for j, line in enumerate(lines)]
        shape = tuple(line.size for line in lines)
        weights = self.cosines - 1j * self.sines
        if len(lines) == 1:
            return np.asarray((weights @ waves[0]).real)
        *outer, last = waves
        # Real and imaginary parts side by side: the sum asks for the real part of a product.
        right = np.concatenate([last.real, -last.imag])
        out = np.empty((int(np.prod(shape[:-1], dtype=int)), shape[-1]))
        block = max(1, _BLOCK_BYTES // (32 * len(w)))
        for start in range(0, len(out), block):
            rows = np.unravel_index(np.arange(start, min(start + block, len(out))), shape[:-1])
            left = reduce(np.multiply, (e[:, i] for e, i in zip(outer, rows, strict=True)))
            left = (weights[:, None] * left).T
            out[start : start + block] = np.concatenate([left.real, left.imag], axis=1) @ right
        return out.reshape(shape)

    def _sums(self, points: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Products of the cosines and sines at points with their coefficients, by blocks."""
        w = self.frequencies.frequencies
        block = max(1, _BLOCK_BYTES // (16 * len(w)))
        with serial_blas():  # the products are small: more threads of BLAS only wait
            return np.concatenate(
                [
                    fourier_columns(points[i : i + block], w, np.ones(len(w))) @ coefficients
                    for i in range(0, max(len(points), 1), block)
                ]
            )

    def _points(self, X: ArrayLike) -> FloatArray:
        points = real_array(X, "The points", error=DataError)
        dim = self.lengths.size
        if points.ndim != 2 or points.shape[1] != dim:
            raise DataError(
                f"The points have the shape {points.shape}, and the field lives on R^{dim}: give "
                f"an array with one point to a row and {dim} column(s)."
            )
        if not np.all(np.isfinite(points)):
            row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise DataError(f"The point in row {row} is not finite: {points[row]}.")
        return points / self.lengths


def _checked_axes(axes: Sequence[ArrayLike], lengths: FloatArray) -> list[FloatArray]:
    if len(axes) != lengths.size:
        raise DataError(
            f"A grid of {len(axes)} axes was asked for, and the field lives on R^{lengths.size}: "
            "give one list of coordinates for each dimension."
        )
    lines = [real_array(axis, "An axis of the grid", error=DataError) for axis in axes]
    for number, line in enumerate(lines):
        if line.ndim != 1 or not np.all(np.isfinite(line)):
            raise DataError(
                f"Axis {number} of the grid must be a list of finite coordinates, and it has the "
                f"shape {line.shape}."
            )
    return [line / length for line, length in zip(lines, lengths, strict=True)]

r"""One path of a Gaussian field: a finite sum of cosines and sines, defined on all of R^d.

.. math:: f(x) = \sum_i \sqrt{a_i}\,(A_i \cos(w_i \cdot x) + B_i \sin(w_i \cdot x))

with the weights a of the frequencies w, and A and B independent and standard normal.  Given the
frequencies, f is Gaussian with the covariance :math:`\sum_i a_i \cos(w_i \cdot (x - y))`, whose
mean over draws of the frequencies is the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from rf.feature_maps.feature_map import Frequencies
from rf.feature_maps.fourier_features import fourier_columns
from rf.feature_maps.threads import serial_blas
from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import DataError

__all__ = ["Path"]

# Bytes of the cosines and sines of one block of points.  Measured for 1024 frequencies: 4.4 ns for
# each cosine and sine with 4 MB, 4.8 to 7 ns with 16 MB, 5 to 7 ns with 1 MB.
_BLOCK_BYTES = 1 << 22


@final
@dataclass(frozen=True, eq=False)
class Path:
    """One path of a Gaussian field, a function that can be evaluated at any points.

    Attributes
    ----------
    frequencies : Frequencies
        The frequencies w, for coordinates divided by ``lengths``, and their weights a.
    cosines, sines : ndarray of shape (n,)
        The coefficients sqrt(a) A of the cosines and sqrt(a) B of the sines.
    lengths : ndarray of shape (d,)
        The length that each coordinate is divided by.
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
        """The gradient at the rows of X: shape (rows, d).

        It exists even if the field has no gradient, which :meth:`rf.GaussianField.gradient` checks.
        """
        points = self._points(X)
        w = self.frequencies.frequencies / self.lengths
        coefficients = np.concatenate([self.sines[:, None] * w, -self.cosines[:, None] * w])
        return self._sums(points, coefficients)

    def on_grid(self, *axes: ArrayLike) -> FloatArray:
        """Values on the grid of d axes.

        exp(i w.x) is a product of one factor for each axis, so the sum over frequencies is a matrix
        product, and the list of grid points is never formed.

        Parameters
        ----------
        *axes : array_like
            Coordinates along each of the d axes.

        Returns
        -------
        ndarray of shape (len(axes[0]), ..., len(axes[d - 1]))
        """
        lines = _scaled_axes(axes, self.lengths)
        w = self.frequencies.frequencies
        waves = [np.exp(1j * np.outer(w[:, j], line)) for j, line in enumerate(lines)]
        shape = tuple(line.size for line in lines)
        weights = self.cosines - 1j * self.sines
        if len(lines) == 1:
            return np.asarray((weights @ waves[0]).real)
        *outer, last = waves
        # Only the real part of the product is needed: Re(a b) = Re a Re b - Im a Im b.
        right = np.concatenate([last.real, -last.imag])
        out = np.empty((int(np.prod(shape[:-1], dtype=int)), shape[-1]))
        block = max(1, _BLOCK_BYTES // (32 * len(w)))  # complex values, and a copy as reals
        for start in range(0, len(out), block):
            rows = np.unravel_index(np.arange(start, min(start + block, len(out))), shape[:-1])
            left = reduce(np.multiply, (e[:, i] for e, i in zip(outer, rows, strict=True)))
            left = (weights[:, None] * left).T
            out[start : start + block] = np.concatenate([left.real, left.imag], axis=1) @ right
        return out.reshape(shape)

    def _sums(self, points: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Sums of the cosines and sines at points times their coefficients, in blocks of points."""
        w = self.frequencies.frequencies
        block = max(1, _BLOCK_BYTES // (16 * len(w)))
        with serial_blas():  # small products: more threads would be slower
            return np.concatenate(
                [
                    fourier_columns(points[i : i + block], w, np.ones(len(w))) @ coefficients
                    for i in range(0, max(len(points), 1), block)
                ]
            )

    def _points(self, X: ArrayLike) -> FloatArray:
        """Checked points, divided by the lengths."""
        points = real_array(X, "The points", error=DataError)
        dim = self.lengths.size
        if points.ndim != 2 or points.shape[1] != dim:
            raise DataError(
                f"The points have the shape {points.shape}, and the field is defined on R^{dim}: "
                f"give an array with one point in each row and {dim} column(s)."
            )
        if not np.all(np.isfinite(points)):
            row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise DataError(f"The point in row {row} is not finite: {points[row]}.")
        return points / self.lengths


def _scaled_axes(axes: Sequence[ArrayLike], lengths: FloatArray) -> list[FloatArray]:
    """The coordinates of a grid along each axis, checked and divided by the lengths."""
    if len(axes) != lengths.size:
        raise DataError(
            f"The grid has {len(axes)} axes, and the field is defined on R^{lengths.size}: "
            "give one list of coordinates for each dimension."
        )
    lines = [real_array(axis, "An axis of the grid", error=DataError) for axis in axes]
    for number, line in enumerate(lines):
        if line.ndim != 1 or not np.all(np.isfinite(line)):
            raise DataError(
                f"Axis {number} of the grid must be a list of finite coordinates; it has the "
                f"shape {line.shape}."
            )
    return [line / length for line, length in zip(lines, lengths, strict=True)]

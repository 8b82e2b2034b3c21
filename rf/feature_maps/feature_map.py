"""Feature maps: columns of rows whose products estimate a kernel, made from frequencies or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rf.feature_maps.fourier_features import fourier_columns
from spectra.base.arrays import FloatArray, IntArray

__all__ = ["FeatureMap", "FourierMap", "Frequencies"]

# A phase counts as 0 or pi if its sine is below this, for rounding errors.
_PHASE_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Frequencies:
    """One draw: k(D) is estimated by sum(weights * cos(frequencies @ D + phases)).

    Attributes
    ----------
    frequencies : ndarray of shape (n, d)
        One frequency in each row, in radians per unit of the data.
    weights : ndarray of shape (n,)
        Mass of the part over the number of its frequencies.  For a part that sums c_j k(D + t_j e)
        over shifts t_j e, also times the modulus of the factor sum_j c_j exp(i t_j e.w).
    phases : ndarray of shape (n,)
        0 for a positive part, pi for a negative one, plus the phase of that factor.
    part : ndarray of int, shape (n,)
        Index of the part, whose rows are consecutive; 0 for all if parts are chosen at random.

    Examples
    --------
    >>> two = Frequencies(np.eye(2), np.full(2, 0.5), np.zeros(2), np.zeros(2, dtype=np.intp))
    >>> two.estimate([[np.pi, 0.0]]), two.counts
    (array([0.]), (2,))
    """

    frequencies: FloatArray
    weights: FloatArray
    phases: FloatArray
    part: IntArray

    def __post_init__(self) -> None:
        for array in (self.frequencies, self.weights, self.phases, self.part):
            array.setflags(write=False)

    def __repr__(self) -> str:
        counts = " + ".join(map(str, self.counts))
        return f"Frequencies: {len(self)} in R^{self.frequencies.shape[1]}, {counts} of each part"

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of frequencies of each part."""
        return tuple(np.bincount(self.part).tolist())

    def estimate(self, differences: ArrayLike) -> FloatArray:
        """Estimate of k(D) at each row D of ``differences``; shape (rows,)."""
        projections = np.asarray(differences, dtype=float) @ self.frequencies.T
        return np.asarray(np.cos(projections + self.phases) @ self.weights)


class FeatureMap(ABC):
    """Feature map: the matrix K(X, Y) is estimated by (left(X) * signature) @ right(Y).T.

    ``signature`` (n_columns,): +1 or -1 for each column; ``frequencies``: the Frequencies, if the
    columns are their cosines and sines; ``symmetric``: whether left and right columns are equal;
    ``extra_variance``: variance that a frequency without a sine column adds to each entry.
    """

    signature: FloatArray
    frequencies: Any
    symmetric: bool
    extra_variance: float

    def __repr__(self) -> str:
        sides = "" if self.symmetric else " on each side"
        minus = int(np.sum(self.signature < 0.0))
        columns = f"{len(self.signature)} columns{sides}, {minus} of them with signature -1"
        return f"{type(self).__name__}: {columns}"

    @abstractmethod
    def left(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The left columns at the rows X (dense or sparse); written into ``out`` if given."""

    @abstractmethod
    def cancellation_bound(self, X: Any) -> float:
        """Bound of the sum of |terms| that make up an entry of the kernel matrix of X."""

    @abstractmethod
    def right(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The right columns at the rows X, as :meth:`left`."""


@dataclass(frozen=True, eq=False, repr=False)
class FourierMap(FeatureMap):
    """Columns for the estimate sum_i a_i cos(w_i.D + phase_i): all cosines, then all sines.

    Each frequency has a cosine and a sine column.  If the number of columns is odd, one frequency
    has a single column: w = 0, whose sine is 0, if it was drawn.  Otherwise it is the frequency of
    least weight a, with the column sqrt(2 a) cos(w.x + b) and b uniform on [0, 2 pi), which is
    unbiased and adds the variance a^2 / 2.

    ``scale`` (n,): factor of the cosine and sine of each frequency; ``left_phases``,
    ``right_phases`` (n,): added to w.x on the left and on the right, None if all are 0; ``lone``:
    index of the frequency without a sine column.
    """

    frequencies: Frequencies
    scale: FloatArray
    left_phases: FloatArray | None
    right_phases: FloatArray | None
    signature: FloatArray
    symmetric: bool
    lone: int | None
    extra_variance: float

    @classmethod
    def of(
        cls, frequencies: Frequencies, n_columns: int, rng: np.random.Generator, *, signed: bool
    ) -> Self:
        """The map of n frequencies, with 2 n columns, or 2 n - 1 if ``n_columns`` is odd.

        ``signed``: whether a phase pi is a sign in the signature, and not a phase on the left.
        """
        n = len(frequencies)
        phases, weights = frequencies.phases, frequencies.weights
        is_sign = np.abs(np.sin(phases)) < (_PHASE_TOLERANCE if signed else 0.0)
        sign = np.where(is_sign & (np.cos(phases) < 0), -1.0, 1.0)
        left = np.where(is_sign, 0.0, phases)
        right = np.zeros(n)
        scale = np.sqrt(weights)
        zero = np.flatnonzero(~frequencies.frequencies.any(axis=1))
        extra_variance, lone = 0.0, None
        signature = np.concatenate([sign, sign])
        if n_columns % 2:
            lone = int(zero[0] if zero.size else np.argmin(weights))
            if not zero.size:
                offset = rng.uniform(0.0, 2.0 * np.pi)
                left[lone] += offset
                right[lone] += offset
                scale[lone] *= np.sqrt(2.0)
                extra_variance = 0.5 * float(weights[lone]) ** 2
            signature = np.delete(signature, n + lone)
        return cls(
            frequencies=frequencies,
            scale=scale,
            left_phases=left if left.any() else None,
            right_phases=right if right.any() else None,
            signature=signature,
            symmetric=bool(np.array_equal(left, right)),
            lone=lone,
            extra_variance=extra_variance,
        )

    def reweighted(self, weights: FloatArray) -> Self:
        """The map with the same frequencies and other weights."""
        scale, extra_variance = np.sqrt(weights), 0.0
        if self.lone is not None and self.frequencies.frequencies[self.lone].any():
            scale[self.lone] *= np.sqrt(2.0)
            extra_variance = 0.5 * float(weights[self.lone]) ** 2
        frequencies = replace(self.frequencies, weights=weights)
        return replace(self, frequencies=frequencies, scale=scale, extra_variance=extra_variance)

    def cancellation_bound(self, X: Any) -> float:
        # |cos a cos b| + |sin a sin b| <= 1 for each frequency.
        return float(np.sum(self.scale**2))

    def left(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._columns(X, self.left_phases, out)

    def right(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._columns(X, self.right_phases, out)

    def _columns(self, X: Any, phases: FloatArray | None, out: NDArray[Any] | None) -> NDArray[Any]:
        return fourier_columns(
            X, self.frequencies.frequencies, self.scale, phases, without_sine=self.lone, out=out
        )

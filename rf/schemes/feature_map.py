r"""A fitted feature map: columns of rows on both sides, and the signs that join them.

.. math:: K(x, y) \approx \sum_i s_i\, L_i(x)\, R_i(y), \qquad s_i = \pm 1,

with R = L for every symmetric kernel.  :class:`FourierMap` makes its columns of frequencies; those
of features designed for the data are in :mod:`rf.dot_product`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from rf.feature_maps.fourier_features import wave_columns
from rf.sampling.frequencies import Frequencies
from spectra.base.arrays import FloatArray

__all__ = ["FeatureMap", "FourierMap"]

# A phase counts as 0 or pi up to rounding.
_PHASE_TOLERANCE = 1e-12


class FeatureMap(ABC):
    """Left and right columns, and their signature: K is estimated by (left * signature) right'.

    ``signature`` (n_columns,): +1 or -1 for each column; ``frequencies``: what was drawn, where the
    columns are cosines and sines; ``symmetric``: whether the right columns are the left ones;
    ``extra_variance``: what single columns add to the variance of pairs of them.
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
        """The left columns at rows (dense or sparse), of the type of X; into ``out`` if given."""

    @abstractmethod
    def mass(self, X: Any) -> float:
        """Bound of the sum of the absolute terms of an entry of the matrix of X."""

    @abstractmethod
    def right(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The right columns, likewise."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class FourierMap(FeatureMap):
    """Cosines, then sines, of frequencies: from the terms a cos(w.D + phase) to columns.

    A frequency fills a cosine and a sine column.  An odd number of columns leaves one frequency
    alone with one: w = 0, whose sine is 0, where a measure has it; else sqrt(2 a) cos(w.x + b)
    with b uniform, which is unbiased as well and adds the variance a^2 / 2, of the least weight.

    ``scale`` (n,): factor of the cosine and sine of each frequency; ``left_phases``,
    ``right_phases`` (n,): added to the projections of either side; None where all are 0; ``lone``:
    the frequency that has no sine.
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
        """The map of a draw; without ``signed`` the sign of a part is in its left columns."""
        n = len(frequencies)
        phases, weights = frequencies.phases, frequencies.weights
        real = np.abs(np.sin(phases)) < (_PHASE_TOLERANCE if signed else 0.0)
        sign = np.where(real & (np.cos(phases) < 0), -1.0, 1.0)
        left = np.where(real, 0.0, phases)
        right = np.zeros(n)
        scale = np.sqrt(weights)
        still = np.flatnonzero(~frequencies.frequencies.any(axis=1))
        extra = 0.0
        lone: int | None = None
        signature = np.concatenate([sign, sign])
        if n_columns % 2:
            lone = int(still[0] if still.size else np.argmin(weights))
            if not still.size:
                offset = rng.uniform(0.0, 2.0 * np.pi)
                left[lone] += offset
                right[lone] += offset
                scale[lone] *= np.sqrt(2.0)
                extra = 0.5 * float(weights[lone]) ** 2
            signature = np.delete(signature, n + lone)
        return cls(
            frequencies=frequencies,
            scale=scale,
            left_phases=left if left.any() else None,
            right_phases=right if right.any() else None,
            signature=signature,
            symmetric=bool(np.array_equal(left, right)),
            lone=lone,
            extra_variance=extra,
        )

    def reweighted(self, weights: FloatArray) -> Self:
        """The same waves with other weights."""
        scale = np.sqrt(weights)
        if self.lone is not None:
            scale[self.lone] *= np.sqrt(2.0)
        return replace(self, frequencies=replace(self.frequencies, weights=weights), scale=scale)

    def mass(self, X: Any) -> float:
        # |cos a cos b| + |sin a sin b| <= 1 for each frequency.
        return float(np.sum(self.scale**2))

    def left(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._waves(X, self.left_phases, out)

    def right(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._waves(X, self.right_phases, out)

    def _waves(self, X: Any, phases: FloatArray | None, out: NDArray[Any] | None) -> NDArray[Any]:
        return wave_columns(
            X, self.frequencies.frequencies, self.scale, phases, without_sine=self.lone, out=out
        )

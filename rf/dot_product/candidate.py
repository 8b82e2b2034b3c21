"""The candidates that a method returns, and the base class of the feature maps that they draw."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from rf.feature_maps.feature_map import FeatureMap
from rf.feature_maps.fourier_features import place_columns
from rf.inputs.arrays import on_host

if TYPE_CHECKING:
    from rf.feature_maps.monomials import MonomialMap

__all__ = ["Candidate", "SymmetricMap", "evaluate_monomials", "not_applicable"]

# Number of rows of Z in memory at one time while its largest squared row norm is computed.
_NORM_ROWS = 1024


class SymmetricMap(FeatureMap):
    """A feature map with equal left and right columns: K is approximated by (Z * signature) Z'."""

    frequencies = None
    symmetric = True
    extra_variance = 0.0

    @abstractmethod
    def columns(self, X: Any) -> NDArray[Any]:
        """The columns Z at the rows of X (dense or sparse), in the floating-point type of X."""

    def cancellation_bound(self, X: Any) -> float:
        largest = 0.0
        for start in range(0, X.shape[0], _NORM_ROWS):
            Z = self.columns(X[start : start + _NORM_ROWS])
            largest = max(largest, float(np.square(Z, dtype=float).sum(axis=1).max()))
        return largest

    def left(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return place_columns(out, self.columns(on_host(X)), X)

    def right(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self.left(X, out)


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """A method, or one of its variants, and its measured error.

    ``columns``: number of columns, or None if the method does not apply; ``detail``: facts such as
    the bias, or why the method does not apply; ``draw``: function that maps a generator to a
    feature map; ``z_max``: largest distance at which the method approximates the kernel, if it is
    not that of the problem; ``is_unbiased``: whether the mean of its estimate is the kernel, for
    all rows; ``final_draw``: draws from all rows if the method is chosen, if that differs from
    ``draw``; ``scheme``: of frequencies from the kernel's table, or None; ``error``: expected
    relative error of the kernel matrix in the Frobenius norm, and ``seconds``: processor time of a
    transform of 1000 rows; both nan if they were not measured.
    """

    name: str
    columns: int | None
    detail: str
    draw: Callable[[np.random.Generator], FeatureMap] | None = None
    z_max: float | None = None
    is_unbiased: bool = False
    final_draw: Callable[[np.random.Generator], FeatureMap] | None = None
    scheme: Any = None
    error: float = float("nan")
    seconds: float = float("nan")


def not_applicable(name: str, reason: str) -> list[Candidate]:
    """A list of one candidate: a method that does not apply, with the reason."""
    return [Candidate(name, None, reason)]


def evaluate_monomials(monomials: MonomialMap, X: Any) -> NDArray[Any]:
    """The columns of monomials at rows, dense or sparse; a constant needs no dense copy of X."""
    if set(monomials.kept) <= {0}:
        return monomials.columns(np.empty((X.shape[0], 0), dtype=X.dtype))
    return monomials.columns(np.asarray(X.toarray() if hasattr(X, "toarray") else X))

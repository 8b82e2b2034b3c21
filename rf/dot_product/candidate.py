"""One method to approximate a dot-product kernel: its columns, its draw, and its error."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from rf.feature_maps.fourier_features import place_columns
from rf.inputs.arrays import on_host
from rf.sampling.frequencies import FeatureMap

if TYPE_CHECKING:
    from rf.feature_maps.monomials import MonomialMap

__all__ = ["Candidate", "DrawnMap", "monomial_part", "unavailable"]

# Rows whose columns are held in memory at one time to find the largest squared norm.
_NORM_ROWS = 1024


class DrawnMap(FeatureMap):
    """A feature map without frequencies: K is estimated by (Z * signature) Z'."""

    frequencies = None
    symmetric = True
    extra_variance = 0.0

    @abstractmethod
    def columns(self, X: Any) -> NDArray[Any]:
        """The columns Z at rows of the data (dense or sparse), of the type of X."""

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
    """One method, as it was compared with the others.

    ``columns``: number of columns; None if the method does not apply, and ``detail`` says why;
    ``detail``: further facts, such as the bias; ``draw``: rng -> DrawnMap; ``everywhere``: whether
    it approximates the kernel on the whole sphere, not only up to z_max; ``error``: expected
    relative error of the kernel matrix in the Frobenius norm; nan until compared.
    """

    name: str
    columns: int | None
    detail: str
    draw: Callable[[np.random.Generator], DrawnMap] | None = None
    everywhere: bool = False
    error: float = float("nan")


def unavailable(name: str, reason: str) -> list[Candidate]:
    """A method that does not apply, with the reason."""
    return [Candidate(name, None, reason)]


def monomial_part(monomials: MonomialMap, X: Any) -> NDArray[Any]:
    """The columns of monomials; a constant needs no dense copy of sparse rows."""
    if set(monomials.kept) <= {0}:
        return monomials.columns(np.empty((X.shape[0], 0), dtype=X.dtype))
    return monomials.columns(np.asarray(X.toarray() if hasattr(X, "toarray") else X))

"""What every member of the portfolio takes and gives: an order, and an offer of feature columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rf.feature_maps.fourier_features import copied_into
from rf.inputs.arrays import on_host
from rf.schemes.feature_map import FeatureMap
from rf.schemes.scheme import FeaturePlan
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from rf.feature_maps.monomials import MonomialMap
    from rf.sampling.frequencies import Radii
    from spectra.kernels.kernel import Kernel
    from spectra.table import SpectralTable

__all__ = ["DrawnMap", "MadeToOrder", "Member", "Offer", "Order", "dense", "monomial_part"]

# Rows whose columns are held at one time where their norms are looked at.
_MASS_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Order:
    """What is wanted: features of a kernel, for a number of columns and a law of distances.

    Attributes
    ----------
    kernel : Kernel
    dim : int
    n_components : int
        Most columns.
    z_max : float
        Largest distance to be served.
    distances : ndarray
        Distances that stand for all pairs of rows, each row with itself included.
    positive : bool
        Whether every column must have the signature +1.
    centre : ndarray of shape (d,) or None
        Mean of the rows, where it is known.
    """

    kernel: Kernel
    dim: int
    n_components: int
    z_max: float
    distances: FloatArray
    positive: bool = False
    centre: FloatArray | None = None


class DrawnMap(FeatureMap):
    """A feature map that is made to order: K is estimated by (Z * signature) Z'."""

    frequencies = None
    symmetric = True
    extra_variance = 0.0

    @abstractmethod
    def columns(self, X: Any) -> NDArray[Any]:
        """The columns Z at rows of the data (dense or sparse), of the type of X."""

    def mass(self, X: Any) -> float:
        largest = 0.0
        for start in range(0, X.shape[0], _MASS_ROWS):
            Z = self.columns(X[start : start + _MASS_ROWS])
            largest = max(largest, float(np.square(Z, dtype=float).sum(axis=1).max()))
        return largest

    def left(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return copied_into(out, self.columns(on_host(X)), X)

    def right(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self.left(X, out)


class MadeToOrder(FeaturePlan):
    """Features that come from no table: what is known of their error was seen on the data."""

    table = None
    counts = ()
    compared = ()
    decomposition = "made to order"

    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        raise ParameterError(self._unknown("The variance at a distance"))

    def radial_table(self, what: str) -> SpectralTable:
        raise ParameterError(self._unknown(what))

    def _unknown(self, what: str) -> str:
        return (
            f"{what} is known for features that are drawn from a table, and these were made to "
            f"order ({self.coupling}). Their expected error on the data is expected_error_, and "
            "explain() says how they were chosen."
        )


@dataclass(frozen=True, eq=False)
class Offer:
    """One way to fill an order.

    Attributes
    ----------
    name : str
        What it is, for the comparison.
    columns : int
        Columns that it takes, at most those ordered.
    everywhere : bool
        Whether it serves the whole sphere, not only distances up to z_max.
    draw : callable
        rng -> DrawnMap.
    detail : str
        What else there is to know, such as its bias on the domain.
    """

    name: str
    columns: int
    everywhere: bool
    draw: Callable[[np.random.Generator], DrawnMap]
    detail: str = ""


#: A member looks at an order and makes its offers, or says in words why there are none.
Member = Callable[[Order], "list[Offer] | str"]


def monomial_part(monomials: MonomialMap, X: Any) -> NDArray[Any]:
    """The columns of monomials; a constant alone needs no rows, so that sparse ones stay sparse."""
    if not set(monomials.kept) <= {0}:
        return monomials.columns(dense(X))
    return monomials.columns(np.empty((X.shape[0], 0), dtype=X.dtype))


def dense(X: Any) -> NDArray[Any]:
    """The rows as a dense array."""
    return np.asarray(X.toarray() if issparse(X) else X)

"""What kernels of every kind share: sums and products, printing, kernel matrices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, matching_rows

__all__ = ["Algebra"]


class Algebra:
    """What kernels of every kind share: what follows from + and *, how they print, matrices."""

    # Abstract for the checker of types alone: through ABC every isinstance would run its metaclass.
    label: str

    @property
    @abstractmethod
    def formula(self) -> str:
        """The kernel as text."""

    @property
    def is_zonal(self) -> bool:
        """Whether the kernel is a formula in u = <x, y> on the unit sphere."""
        return False

    def gram(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """Exact kernel matrix of two sets of rows: its entries are k(x_i, y_j).

        Parameters
        ----------
        X, Y : array_like of shape (n, d), (m, d)
            Rows; ``Y`` defaults to ``X``.  For a zonal kernel they must be unit rows.

        Returns
        -------
        ndarray of shape (n, m)
            Not symmetric for an asymmetric kernel, even if Y is X.
        """
        return self._matrix(*matching_rows(X, Y))

    @abstractmethod
    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray: ...

    @abstractmethod
    def __add__(self, other: Any) -> Self: ...

    @abstractmethod
    def __mul__(self, other: Any) -> Self: ...

    def __str__(self) -> str:
        return self.label or self.formula

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __radd__(self, other: Any) -> Self:
        return self.__add__(other)

    def __rmul__(self, other: Any) -> Self:
        return self.__mul__(other)

    def __neg__(self) -> Self:
        return self * -1

    def __rsub__(self, other: Any) -> Self:
        return (-self).__add__(other)

    def __sub__(self, other: Any) -> Self:
        # What has no sign is no summand either, as the sum says.
        signed = hasattr(other, "__neg__") and not isinstance(other, bool)
        return self.__add__(-other if signed else other)

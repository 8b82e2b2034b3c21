"""What kernels of every kind share: sums and products, printing, kernel matrices, checks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, matching_rows
from spectra.errors import ParameterError

__all__ = ["Algebra", "Radial", "finite_factor", "refuse_zonal"]

#: A :class:`spectra.Kernel`, whose file imports those that annotate with this name.
Radial = Any


class Algebra:
    """What kernels of every kind share: what follows from + and *, how they print, matrices."""

    # Abstract for the type checker alone: with ABC, every isinstance would run its metaclass.
    label: str = ""

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
        # An operand without a sign is refused by the sum, with its message.
        signed = hasattr(other, "__neg__") and not isinstance(other, bool)
        return self.__add__(-other if signed else other)


def finite_factor(value: Any) -> float | None:
    """A number that multiplies a kernel as a double; None for what is not a number."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return None
    number = float(value)
    if not np.isfinite(number):
        raise ParameterError(f"The factor of a kernel must be finite, and {value} is not.")
    return number


def refuse_zonal(kernel: Radial, what: str) -> None:
    """Refuse a kernel of the unit sphere, which ``what`` leaves."""
    if kernel.is_zonal:
        raise ParameterError(
            f"The kernel {kernel} lives on the unit sphere, and {what} leaves it. Write it as a "
            "radial kernel, for instance with rescale(1)."
        )

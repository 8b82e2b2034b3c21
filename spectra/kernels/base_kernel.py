"""The base class of all kernels: sums, differences and products, printing, kernel matrices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, matching_rows
from spectra.errors import ParameterError

__all__ = ["BaseKernel", "RadialKernel", "finite_number"]

#: A :class:`spectra.Kernel`; importing that class here would be circular.
RadialKernel = Any


class BaseKernel:
    """The operations that every kernel derives from its own ``+``, ``*`` and kernel matrix."""

    label: str = ""  #: The text that is printed if it is not empty.
    zonal: Any = None  #: The formula in u = <x, y> of a zonal kernel.
    terms: tuple[Any, ...]  #: The kernel as a sum of :class:`~spectra.kernels.terms.Term` s.

    # Not an ABC, whose metaclass slows isinstance down: only type checkers use abstractmethod here.
    @property
    @abstractmethod
    def formula(self) -> str:
        """The kernel as text."""

    @property
    def is_zonal(self) -> bool:
        """Whether the kernel is a formula in u = <x, y> on the unit sphere."""
        return self.zonal is not None

    @property
    def factors(self) -> tuple[Any, ...]:
        """The distinct factors, in the order of the terms."""
        return tuple(dict.fromkeys(f for term in self.terms for f in term.factors))

    @property
    def is_symmetric(self) -> bool:
        """Whether no term is shifted or tilted."""
        return all(term.is_plain for term in self.terms)

    @property
    def unbounded_factors(self) -> list[tuple[Any, Any, str]]:
        """Factors of distances without a bound, their profiles and metrics; none if shifted."""
        factors = self.factors if self.is_symmetric else ()
        return [(f, f.profile, f.metric.name) for f in factors if f.metric.diameter == np.inf]

    @property
    def single_factor(self) -> Any:
        """The factor of a kernel of one plain term with one factor; else None."""
        one = len(self.terms) == 1 and self.is_symmetric and len(self.terms[0].factors) == 1
        return self.terms[0].factors[0] if one else None

    @property
    def metric(self) -> Any:
        """The metric of a kernel that is a function of one distance of all columns; else None."""
        factor = self.single_factor
        return factor.metric if factor is not None and factor.columns is None else None

    def gram(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """Exact kernel matrix of two sets of rows: its entries are k(x_i, y_j).

        Parameters
        ----------
        X, Y : array_like of shape (n, d), (m, d)
            Rows; ``Y`` defaults to ``X``.  For a zonal kernel they must be unit vectors.

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
        # If ``other`` cannot be negated, + raises the error.  -True would be the number -1.
        can_negate = hasattr(other, "__neg__") and not isinstance(other, bool)
        return self.__add__(-other if can_negate else other)


def finite_number(value: Any) -> float | None:
    """A number as a float; None for other types, a ParameterError for an infinite number or nan."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return None
    number = float(value)
    if not np.isfinite(number):
        raise ParameterError(
            f"A number added to or multiplied with a kernel is {value}, not finite."
        )
    return number

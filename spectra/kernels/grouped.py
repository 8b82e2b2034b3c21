r"""Kernels of groups of columns, each with its own lengths: sums and products of them, with signs.

A radial kernel of some columns c, with a length for each, is a kernel of all rows,

.. math:: (x, y) \mapsto k\Bigl(\bigl(\sum_{j \in c} (x_j - y_j)^2 / l_j^2\bigr)^{1/2}\Bigr),

and its measure lives on the frequencies of these columns.  The measure of a product of kernels is
the convolution of theirs (their product, where no column is shared), so that a frequency of it is
the sum of independent frequencies of the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, checked_dim, differences_of_rows, real_array
from spectra.errors import DataError, ParameterError
from spectra.kernels.algebra import Algebra
from spectra.kernels.asymmetric import finite_number, is_number
from spectra.kernels.column_products import Factor, Product, collected, multiplied, shown
from spectra.kernels.radial_kernel import RadialKernel

__all__ = ["GroupedKernel", "additive", "on_columns", "with_lengths"]


@final
@dataclass(frozen=True, repr=False)
class GroupedKernel(Algebra):
    """A sum of products of kernels of groups of columns; made by :meth:`spectra.Kernel.on`.

    It adds, subtracts and multiplies with others of its kind and with numbers.  Summands of the
    same columns and lengths become one radial kernel, so that cancellations are exact.  Factors of
    the same columns do not: write ``(k1 * k2).on(columns)`` for one radial kernel.

    Attributes
    ----------
    terms : tuple of Product
    dim : int or None
        The number of columns that the data must have; None if any will do that has those named.
    label : str
        How to print it where it was named.

    Examples
    --------
    >>> from spectra import radial
    >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
    >>> kernel = space.on([0, 1]) * time.on([2]) + 0.5 * time.on([2])
    >>> kernel([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).round(6)
    array([1.5     , 0.867879, 0.551819])
    """

    terms: tuple[Product, ...]
    dim: int | None = None
    label: str = field(default="", compare=False)

    @property
    def formula(self) -> str:
        """The kernel as the text that makes it."""
        return " + ".join(map(str, self.terms)) or "0"

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that it sees, ascending."""
        return tuple(sorted({c for term in self.terms for c in term.columns}))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Every kernel of a group once, in the order of the terms."""
        return tuple(dict.fromkeys(f for term in self.terms for f in term.factors))

    @property
    def at_zero(self) -> float:
        """The value at x = y."""
        return float(
            sum(t.weight * np.prod([f.kernel.at_zero for f in t.factors]) for t in self.terms)
        )

    def one_radial(self, dim: int) -> tuple[RadialKernel, FloatArray] | None:
        """The radial kernel and the lengths if it is one kernel of all columns; else None."""
        self.checked(dim)
        if len(self.terms) != 1 or len(self.terms[0].factors) != 1:
            return None
        (term,) = self.terms
        (factor,) = term.factors
        if len(factor.columns) != dim:
            return None
        kernel = factor.kernel if term.weight == 1.0 else term.weight * factor.kernel
        return kernel, np.array(factor.lengths)

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = differences_of_rows(differences, "A kernel of groups of columns")
        self.checked(D.shape[-1])
        return self._combined(lambda factor: factor(D), D.shape[:-1])

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        self.checked(X.shape[1])
        return self._combined(lambda factor: factor.gram(X, Y), (len(X), len(Y)))

    def rescale(self, length: float | ArrayLike) -> GroupedKernel:
        """The kernel of rows divided by a number, or by a length for each of the d columns."""
        lengths = checked_lengths(length)
        dim = self.dim
        if np.ndim(length):
            dim = _one_dim((dim, lengths.size))
            _check_columns(self.columns, lengths.size)
        else:
            lengths = np.repeat(lengths, max(self.columns, default=0) + 1)
        terms = (
            replace(term, factors=tuple(factor.longer(lengths) for factor in term.factors))
            for term in self.terms
        )
        return GroupedKernel(collected(terms), dim)

    def on(self, columns: int | Sequence[int]) -> GroupedKernel:
        """The kernel with its column i taken from ``columns[i]`` of the data.

        Examples
        --------
        >>> from spectra import radial
        >>> print(radial("exp(-z)").rescale([1.0, 5.0]).on([3, 0]))
        (exp(-z)).on([0, 3], length=[5, 1])
        """
        chosen = _checked_columns(columns)
        self.checked(len(chosen))
        terms = (
            replace(term, factors=tuple(factor.moved(chosen) for factor in term.factors))
            for term in self.terms
        )
        return GroupedKernel(collected(terms))

    def checked(self, dim: int) -> int:
        """The number of columns of the data; a DataError if they lack a column of the kernel."""
        if self.dim is not None and dim != self.dim:
            raise DataError(
                f"The kernel {self} has lengths for {self.dim} columns, and the data have {dim}. "
                "Give one length for each column."
            )
        _check_columns(self.columns, dim)
        return dim

    def _combined(
        self, values: Callable[[Factor], FloatArray], shape: tuple[int, ...]
    ) -> FloatArray:
        known = {factor: values(factor) for factor in self.factors}
        total = np.zeros(shape)
        for term in self.terms:
            total += reduce(np.multiply, (known[f] for f in term.factors), np.array(term.weight))
        return total

    def __add__(self, other: Any) -> GroupedKernel:
        if (other := _operand(other)) is None:
            return NotImplemented
        terms = (*self.terms, *other.terms)
        return GroupedKernel(collected(terms), _one_dim((self.dim, other.dim)))

    def __mul__(self, other: Any) -> GroupedKernel:
        if (other := _operand(other)) is None:
            return NotImplemented
        products = [multiplied(a, b) for a in self.terms for b in other.terms]
        return GroupedKernel(collected(products), _one_dim((self.dim, other.dim)))


def _operand(other: Any) -> GroupedKernel | None:
    """A kernel of groups, or a number as one; None for what is no kernel."""
    if isinstance(other, GroupedKernel):
        return other
    if is_number(other):
        return GroupedKernel((Product(finite_number(other, "factor"), ()),))
    if hasattr(other, "formula"):
        raise TypeError(
            f"{other!r} is a kernel of whole rows, and the other operand one of groups of columns, "
            "so that it is open which columns it is of. Give it its own: k.on([0, 1, 2])."
        )
    return None


def _checked_columns(columns: int | Sequence[int]) -> list[int]:
    given = np.atleast_1d(np.asarray(columns))
    chosen: list[int] = given.tolist()
    whole = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
    if not whole or min(chosen) < 0 or len(set(chosen)) != given.size:
        raise ParameterError(
            f"columns = {columns!r}: give the numbers of different columns, counted from 0, such "
            "as [0, 1]."
        )
    return chosen


def on_columns(kernel: RadialKernel, columns: int | Sequence[int]) -> GroupedKernel:
    """The kernel of the distance in some columns alone; see :meth:`spectra.Kernel.on`."""
    chosen = tuple(sorted(_checked_columns(columns)))
    return _one_factor(kernel, chosen, (1.0,) * len(chosen), None)


def with_lengths(kernel: RadialKernel, lengths: ArrayLike) -> GroupedKernel:
    """The kernel of rows divided by a length for each column: :meth:`spectra.Kernel.rescale`."""
    checked = checked_lengths(lengths)
    return _one_factor(kernel, tuple(range(checked.size)), tuple(checked.tolist()), checked.size)


def additive(kernel: RadialKernel, dim: int, *, order: int = 1) -> GroupedKernel:
    r"""The sum of a kernel over all columns, or over all pairs (sets) of ``order`` columns.

    .. math:: k_1(D) = \sum_i k(|D_i|), \qquad
              k_2(D) = \sum_{i < j} k\bigl(\sqrt{D_i^2 + D_j^2}\bigr).

    Parameters
    ----------
    kernel : RadialKernel
        Radial; its measure is needed in ``order`` dimensions only.
    dim : int
        Number of columns.
    order : int
        Columns in a group, from 1 to dim.

    Examples
    --------
    >>> from spectra import radial
    >>> print(additive(radial("exp(-z)"), 2))
    (exp(-z)).on([0]) + (exp(-z)).on([1])
    >>> len(additive(radial("exp(-z)"), 5, order=2).terms)
    10
    """
    if not hasattr(kernel, "pieces"):
        raise ParameterError(
            f"additive takes a radial kernel, as radial('exp(-z)') makes it, and got {kernel!r}."
        )
    dim, order = checked_dim(dim), checked_dim(order)
    if order > dim:
        raise ParameterError(f"order = {order}: a group of {dim} columns has at most {dim}.")
    groups = [on_columns(kernel, group) for group in combinations(range(dim), order)]
    return GroupedKernel(collected(t for group in groups for t in group.terms), dim)


def checked_lengths(lengths: ArrayLike) -> FloatArray:
    """Lengths as a list of positive numbers; anything else is refused."""
    values = np.atleast_1d(real_array(lengths, "The lengths"))
    if values.ndim != 1 or not values.size or not np.all((values > 0) & (values < np.inf)):
        raise ParameterError(
            f"The lengths {lengths!r} of a kernel must be positive and finite: one number, or one "
            "for each column of the data."
        )
    return values


def _one_factor(
    kernel: RadialKernel, columns: tuple[int, ...], lengths: tuple[float, ...], dim: int | None
) -> GroupedKernel:
    if kernel.is_zonal:
        raise ParameterError(
            f"The kernel {kernel} lives on the unit sphere, and a group of columns, or a length "
            "for each, leaves it. Write it as a radial kernel, for instance with rescale(1)."
        )
    return GroupedKernel(collected([Product(1.0, (Factor(kernel, columns, lengths),))]), dim)


def _check_columns(columns: tuple[int, ...], dim: int) -> None:
    if columns and columns[-1] >= dim:
        raise DataError(
            f"The kernel is one of the columns {shown(columns)}, counted from 0, and the data "
            f"have {dim} column(s)."
        )


def _one_dim(dims: Iterable[int | None]) -> int | None:
    found = {dim for dim in dims if dim is not None}
    if len(found) > 1:
        raise ParameterError(
            f"Kernels with lengths for {' and for '.join(map(str, sorted(found)))} columns cannot "
            "be joined: they are kernels of different data."
        )
    return found.pop() if found else None

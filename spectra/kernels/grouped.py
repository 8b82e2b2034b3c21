r"""Kernels of groups of columns, each with its own lengths: sums and products of them, with signs.

A radial kernel of some columns c, with a length for each, is a kernel of all rows,

.. math:: (x, y) \mapsto k\Bigl(\bigl(\sum_{j \in c} (x_j - y_j)^2 / l_j^2\bigr)^{1/2}\Bigr),

and its measure lives on the frequencies of these columns.  The measure of a product of kernels is
the convolution of theirs (their product, if no column is shared), so that a frequency of it is the
sum of independent frequencies of the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, checked_dim, differences_of_rows, real_array
from spectra.errors import DataError, ParameterError
from spectra.kernels.algebra import Algebra, Radial, finite_factor, refuse_zonal
from spectra.kernels.column_products import Factor, Product, collected

__all__ = ["GroupedKernel", "additive", "on_columns"]


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
        The number of columns that the data must have; None if any number of columns will do.
    label : str
        How to print it if it was named.

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
        return float(self._combine({f: f.kernel.at_zero for f in self.factors}.__getitem__, ()))

    def one_radial(self, dim: int) -> tuple[Radial, FloatArray] | None:
        """The radial kernel and the lengths if it is one kernel of all columns; else None."""
        self.checked(dim)
        if len(self.terms) != 1 or [len(f.columns) for f in self.terms[0].factors] != [dim]:
            return None
        weight, factor = self.terms[0].weight, self.terms[0].factors[0]
        kernel = factor.kernel if weight == 1.0 else weight * factor.kernel
        return kernel, np.array(factor.lengths)

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = differences_of_rows(differences, "A kernel of groups of columns")
        self.checked(D.shape[-1])
        return self._combine(lambda factor: factor(D), D.shape[:-1])

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        self.checked(X.shape[1])
        return self._combine(lambda factor: factor.gram(X, Y), (len(X), len(Y)))

    def _combine(
        self, values: Callable[[Factor], FloatArray | float], shape: tuple[int, ...]
    ) -> FloatArray:
        known = {factor: values(factor) for factor in self.factors}
        total = np.zeros(shape)
        for term in self.terms:
            total += reduce(np.multiply, (known[f] for f in term.factors), np.array(term.weight))
        return total

    def rescale(self, length: float | ArrayLike) -> GroupedKernel:
        """The kernel of rows divided by a number, or by a length for each of the d columns."""
        given, dim = checked_lengths(length), self.dim
        if np.ndim(length):
            dim = self.checked(given.size)
        lengths = np.broadcast_to(given, max(given.size, max(self.columns, default=0) + 1))
        return GroupedKernel(
            self._terms_with(
                lambda f: replace(
                    f, lengths=tuple((np.array(f.lengths) * lengths[list(f.columns)]).tolist())
                )
            ),
            dim,
        )

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
        return GroupedKernel(
            self._terms_with(
                lambda f: _sorted_factor(f.kernel, [chosen[c] for c in f.columns], f.lengths)
            )
        )

    def _terms_with(self, change: Callable[[Factor], Factor]) -> tuple[Product, ...]:
        return collected(replace(t, factors=tuple(map(change, t.factors))) for t in self.terms)

    def checked(self, dim: int) -> int:
        """The number of columns of the data; a DataError if they lack a column of the kernel."""
        if self.dim is not None and dim != self.dim:
            raise DataError(
                f"The kernel {self} has lengths for {self.dim} columns, and the data have {dim}. "
                "Give one length for each column."
            )
        if self.columns and self.columns[-1] >= dim:
            raise DataError(
                f"The kernel is one of the columns {list(self.columns)}, counted from 0, and the "
                f"data have {dim} column(s)."
            )
        return dim

    def __add__(self, other: Any) -> GroupedKernel:
        if (other := _operand(other)) is None:
            return NotImplemented
        return GroupedKernel(collected((*self.terms, *other.terms)), _one_dim(self.dim, other.dim))

    def __mul__(self, other: Any) -> GroupedKernel:
        if (other := _operand(other)) is None:
            return NotImplemented
        products = [a * b for a in self.terms for b in other.terms]
        return GroupedKernel(collected(products), _one_dim(self.dim, other.dim))


def on_columns(
    kernel: Radial,
    columns: int | Sequence[int],
    length: float | ArrayLike = 1.0,
    dim: int | None = None,
) -> GroupedKernel:
    """The kernel of some columns, divided by their lengths; see :meth:`spectra.Kernel.on`."""
    refuse_zonal(kernel, "a group of columns, or a length for each,")
    chosen, lengths = _checked_columns(columns), checked_lengths(length)
    if lengths.size not in (1, len(chosen)):
        raise ParameterError(f"{lengths.size} lengths are given for {len(chosen)} columns.")
    full = np.broadcast_to(lengths, len(chosen)).tolist()
    return GroupedKernel(collected([Product(1.0, (_sorted_factor(kernel, chosen, full),))]), dim)


def additive(kernel: Radial, dim: int, *, order: int = 1) -> GroupedKernel:
    r"""The sum of a kernel over all columns, or over all pairs (sets) of ``order`` columns.

    .. math:: k_1(D) = \sum_i k(|D_i|), \qquad
              k_2(D) = \sum_{i < j} k\bigl(\sqrt{D_i^2 + D_j^2}\bigr).

    Parameters
    ----------
    kernel : Kernel
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


def _sorted_factor(kernel: Radial, columns: Sequence[int], lengths: Sequence[float]) -> Factor:
    pairs = sorted(zip(columns, lengths, strict=True))
    return Factor(kernel, tuple(c for c, _ in pairs), tuple(x for _, x in pairs))


def _operand(other: Any) -> GroupedKernel | None:
    """A kernel of groups, or a number as one; None for what is no kernel."""
    if isinstance(other, GroupedKernel):
        return other
    if (number := finite_factor(other)) is not None:
        return GroupedKernel((Product(number),))
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


def checked_lengths(lengths: ArrayLike) -> FloatArray:
    """Lengths as a list of positive numbers; anything else is refused."""
    values = np.atleast_1d(real_array(lengths, "The lengths"))
    if values.ndim != 1 or not values.size or not np.all((values > 0) & (values < np.inf)):
        raise ParameterError(
            f"The lengths {lengths!r} of a kernel must be positive and finite: one number, or one "
            "for each column of the data."
        )
    return values


def _one_dim(first: int | None, second: int | None) -> int | None:
    if None not in (first, second) and first != second:
        raise ParameterError(
            f"Kernels with lengths for {first} and for {second} columns cannot be joined: they are "
            "kernels of different data."
        )
    return second if first is None else first

r"""Kernels of groups of columns, each with its own lengths: sums and products of them, with signs.

A radial kernel of some columns c, with a length for each, is a kernel of all rows,

.. math:: (x, y) \mapsto k\Bigl(\bigl(\sum_{j \in c} (x_j - y_j)^2 / l_j^2\bigr)^{1/2}\Bigr),

and its measure lives on the frequencies of these columns.  The measure of a product of kernels is
the convolution of theirs (their product, if no column is shared), so that a frequency of it is the
sum of independent frequencies of the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import isfinite
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray, check_differences, checked_dim, real_array
from spectra.errors import DataError, ParameterError
from spectra.kernels.algebra import Algebra, Radial, finite_factor, refuse_zonal

__all__ = ["Factor", "GroupedKernel", "Product", "additive", "collected", "on_columns"]


@final
@dataclass(frozen=True)
class Factor:
    """A radial kernel of some columns, ascending, each divided by its length.

    ``kernel`` is in units of the lengths, without a numerical factor.
    """

    kernel: Radial
    columns: tuple[int, ...]
    lengths: tuple[float, ...]

    def __str__(self) -> str:
        columns = ", ".join(map(str, self.columns))
        lengths = ", ".join(map(_number_text, self.lengths))
        lengths = "" if set(self.lengths) == {1.0} else f", length=[{lengths}]"
        return f"({self.kernel}).on([{columns}]{lengths})"

    def rows(self, X: FloatArray) -> FloatArray:
        """Its columns of rows of shape (..., d), divided by the lengths."""
        return np.asarray(X[..., list(self.columns)] / np.array(self.lengths))


#: A number times the product of kernels of groups of columns; without factors a constant.
Product = tuple[float, tuple[Factor, ...]]


@final
@dataclass(frozen=True, repr=False)
class GroupedKernel(Algebra):
    """A sum of products of kernels of groups of columns; made by :meth:`spectra.Kernel.on`.

    It adds, subtracts and multiplies with others of its kind and with numbers.  Summands of the
    same columns and lengths become one radial kernel, so that cancellations are exact.  Factors of
    the same columns do not: write ``(k1 * k2).on(columns)`` for one radial kernel.

    Attributes
    ----------
    terms : tuple of (weight, factors)
        A number, and a tuple of :class:`Factor` that it multiplies, for each summand.
    dim : int or None
        The number of columns that the data must have; None if any number of columns will do.

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

    @property
    def formula(self) -> str:
        """The kernel as the text that makes it."""
        return " + ".join(map(_product_text, self.terms)) or "0"

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that it sees, ascending."""
        return tuple(sorted({c for factor in self.factors for c in factor.columns}))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Every kernel of a group once, in the order of the terms."""
        return tuple(dict.fromkeys(f for _, factors in self.terms for f in factors))

    @property
    def at_zero(self) -> float:
        """The value at x = y."""
        return float(self._combine(lambda factor: factor.kernel.at_zero, ()))

    def one_radial(self, dim: int) -> tuple[Radial, FloatArray] | None:
        """The radial kernel and the lengths if it is one kernel of all columns; else None."""
        self.checked(dim)
        if len(self.terms) != 1 or [len(f.columns) for f in self.factors] != [dim]:
            return None
        weight, (factor,) = self.terms[0]
        kernel = factor.kernel if weight == 1.0 else weight * factor.kernel
        return kernel, np.array(factor.lengths)

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = check_differences(differences, "A kernel of groups of columns")
        self.checked(D.shape[-1])
        return self._combine(lambda f: f.kernel(np.linalg.norm(f.rows(D), axis=-1)), D.shape[:-1])

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        self.checked(X.shape[1])
        return self._combine(lambda f: f.kernel(cdist(f.rows(X), f.rows(Y))), (len(X), len(Y)))

    def _combine(
        self, values: Callable[[Factor], FloatArray | float], shape: tuple[int, ...]
    ) -> FloatArray:
        known = {factor: values(factor) for factor in self.factors}
        total = np.zeros(shape)
        for weight, factors in self.terms:
            total += reduce(np.multiply, (known[f] for f in factors), np.array(weight))
        return total

    def rescale(self, length: float | ArrayLike) -> GroupedKernel:
        """The kernel of rows divided by a number, or by a length for each of the d columns."""
        given, dim = checked_lengths(length), self.dim
        if np.ndim(length):
            dim = self.checked(given.size)
        lengths = np.broadcast_to(given, max(given.size, max(self.columns, default=0) + 1))

        def divided(f: Factor) -> Factor:
            return replace(f, lengths=tuple((lengths[list(f.columns)] * f.lengths).tolist()))

        terms = collected((weight, tuple(map(divided, factors))) for weight, factors in self.terms)
        return GroupedKernel(terms, dim)

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

        def moved(f: Factor) -> Factor:
            pairs = sorted((chosen[c], x) for c, x in zip(f.columns, f.lengths, strict=True))
            return Factor(f.kernel, tuple(c for c, _ in pairs), tuple(x for _, x in pairs))

        return GroupedKernel(collected((w, tuple(map(moved, fs))) for w, fs in self.terms))

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
        products = ((_times(v, w), f + g) for v, f in self.terms for w, g in other.terms)
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
    pairs = sorted(zip(chosen, np.broadcast_to(lengths, len(chosen)).tolist(), strict=True))
    factor = Factor(kernel, tuple(c for c, _ in pairs), tuple(x for _, x in pairs))
    return GroupedKernel(collected([(1.0, (factor,))]), dim)


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


def collected(products: Iterable[Product]) -> tuple[Product, ...]:
    """Add up what is of the same groups: radial kernels, and multiples of one product."""
    found: dict[Any, Product] = {}
    for product in products:
        weight, factors = _without_numbers(product)
        # Kernels of one group add up to one radial kernel.
        key = factors if len(factors) != 1 else (factors[0].columns, factors[0].lengths)
        if key in found and found[key][1] != factors:
            other, (one,) = found[key]
            total = other * one.kernel + weight * factors[0].kernel
            weight, factors = _without_numbers((1.0, (replace(one, kernel=total),)))
        elif key in found:
            weight += found[key][0]
        found[key] = weight, factors
    return tuple(
        (weight, factors)
        for weight, factors in found.values()
        if weight != 0.0 and all(f.kernel.pieces for f in factors)
    )


def _without_numbers(product: Product) -> Product:
    """The product with the numbers of its kernels in its weight; they share a measure then."""
    weight, factors = product
    split = [f.kernel.without_factor() for f in factors]
    weight = reduce(_times, (number for number, _ in split), weight)
    bare = (replace(f, kernel=kernel) for f, (_, kernel) in zip(factors, split, strict=True))
    return weight, tuple(sorted(bare, key=lambda f: (f.columns, f.lengths, f.kernel.formula)))


def _operand(other: Any) -> GroupedKernel | None:
    """A kernel of groups, or a number as one; None for what is no kernel."""
    if isinstance(other, GroupedKernel):
        return other
    if (number := finite_factor(other)) is not None:
        return GroupedKernel(((number, ()),))
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


def _product_text(product: Product) -> str:
    weight, factors = product
    number = [] if weight == 1.0 and factors else [_number_text(weight)]
    return "*".join([*number, *map(str, factors)])


def _number_text(value: float) -> str:
    """All digits of a number, and no more than it takes."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def _one_dim(first: int | None, second: int | None) -> int | None:
    if None not in (first, second) and first != second:
        raise ParameterError(
            f"Kernels with lengths for {first} and for {second} columns cannot be joined: they are "
            "kernels of different data."
        )
    return second if first is None else first


def _times(v: float, w: float) -> float:
    """The weight of a product."""
    if not isfinite(v * w) or (v * w == 0.0 and v != 0.0 and w != 0.0):
        raise ParameterError(
            f"The weight {v:.6g}*{w:.6g} of a product is beyond the range of double precision: "
            "scale the kernels."
        )
    return v * w

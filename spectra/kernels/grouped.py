r"""Sums and products of radial kernels that each act on a group of columns of the data.

A factor is a radial kernel k of the columns in a group G, each divided by its length l_j:

.. math:: (x, y) \mapsto k\Bigl(\bigl(\sum_{j \in G} (x_j - y_j)^2 / l_j^2\bigr)^{1/2}\Bigr).

Its frequencies are zero in all other columns.  The spectral measure of a product is the convolution
of the measures of its factors: a frequency of the product is a sum of independent frequencies, one
of each factor.
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
from spectra.kernels.base_kernel import BaseKernel, RadialKernel, finite_number, refuse_zonal

__all__ = ["Factor", "GroupedKernel", "Term", "add_terms", "additive", "on_columns"]


@final
@dataclass(frozen=True)
class Factor:
    """A radial kernel of some columns, which are in ascending order and divided by their lengths.

    ``kernel`` has no constant factor, which belongs to the weight of the term.
    """

    kernel: RadialKernel
    columns: tuple[int, ...]
    lengths: tuple[float, ...]

    def __str__(self) -> str:
        lengths = ", ".join(map(_number_text, self.lengths))
        lengths = "" if set(self.lengths) == {1.0} else f", length=[{lengths}]"
        return f"({self.kernel}).on({list(self.columns)}{lengths})"

    def scaled_columns(self, X: FloatArray) -> FloatArray:
        """The columns of the group, divided by their lengths, of rows of shape (..., d)."""
        return np.asarray(X[..., list(self.columns)] / np.array(self.lengths))


#: (weight, factors) of a weighted product; a constant if there are no factors.
Term = tuple[float, tuple[Factor, ...]]


@final
@dataclass(frozen=True, repr=False)
class GroupedKernel(BaseKernel):
    """A sum of products of radial kernels of groups of columns; see :meth:`spectra.Kernel.on`.

    Sums, differences and products with numbers and other such kernels are grouped kernels.  Terms
    of a single factor with the same columns and lengths become one term, so that they cancel
    exactly.  ``k1.on(columns) * k2.on(columns)`` has two factors, ``(k1 * k2).on(columns)`` one.

    Attributes
    ----------
    terms : tuple of (weight, factors)
        For each summand, a number and the tuple of :class:`Factor` that it multiplies.
    dim : int or None
        The number of columns that the data must have; None if the kernel does not fix it.

    Examples
    --------
    >>> from spectra import radial
    >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
    >>> kernel = space.on([0, 1]) * time.on([2]) + 0.5 * time.on([2])
    >>> kernel([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).round(6)
    array([1.5     , 0.867879, 0.551819])
    """

    terms: tuple[Term, ...]
    dim: int | None = None

    @property
    def formula(self) -> str:
        """The kernel as text, such as 2*(exp(-z)).on([0])."""
        return " + ".join(map(_term_text, self.terms)) or "0"

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that the kernel depends on, in ascending order."""
        return tuple(sorted({c for factor in self.factors for c in factor.columns}))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The distinct factors, in the order of the terms."""
        return tuple(dict.fromkeys(f for _, factors in self.terms for f in factors))

    @property
    def at_zero(self) -> float:
        """The value at x = y."""
        return float(self._sum_terms(lambda factor: factor.kernel.at_zero, ()))

    def as_radial(self, dim: int) -> tuple[RadialKernel, FloatArray] | None:
        """The radial kernel and its lengths if one factor has all ``dim`` columns; else None."""
        self.check_dim(dim)
        if len(self.terms) != 1 or [len(f.columns) for f in self.factors] != [dim]:
            return None
        weight, (factor,) = self.terms[0]
        kernel = factor.kernel if weight == 1.0 else weight * factor.kernel
        return kernel, np.array(factor.lengths)

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = check_differences(differences, "A kernel of groups of columns")
        self.check_dim(D.shape[-1])
        return self._sum_terms(
            lambda f: f.kernel(np.linalg.norm(f.scaled_columns(D), axis=-1)), D.shape[:-1]
        )

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        self.check_dim(X.shape[1])
        return self._sum_terms(
            lambda f: f.kernel(cdist(f.scaled_columns(X), f.scaled_columns(Y))), (len(X), len(Y))
        )

    def _sum_terms(
        self, values: Callable[[Factor], FloatArray | float], shape: tuple[int, ...]
    ) -> FloatArray:
        """The sum of the weighted products of the factors' values."""
        value_of = {factor: values(factor) for factor in self.factors}
        total = np.zeros(shape)
        for weight, factors in self.terms:
            total += reduce(np.multiply, (value_of[f] for f in factors), np.array(weight))
        return total

    def rescale(self, length: float | ArrayLike) -> GroupedKernel:
        """The kernel of rows divided by one number, or by a length for each of the d columns."""
        lengths, dim = _positive_lengths(length), self.dim
        if np.ndim(length):
            dim = self.check_dim(lengths.size)
        else:
            lengths = np.repeat(lengths, max(self.columns, default=0) + 1)

        def rescale_factor(f: Factor) -> Factor:
            return replace(f, lengths=tuple((lengths[list(f.columns)] * f.lengths).tolist()))

        terms = add_terms((w, tuple(map(rescale_factor, factors))) for w, factors in self.terms)
        return GroupedKernel(terms, dim)

    def on(self, columns: int | Sequence[int]) -> GroupedKernel:
        """The same kernel of other columns: its column i becomes ``columns[i]`` of the data."""
        new = _distinct_columns(columns)
        self.check_dim(len(new))

        def renumber(f: Factor) -> Factor:
            return _factor(f.kernel, [new[c] for c in f.columns], f.lengths)

        return GroupedKernel(add_terms((w, tuple(map(renumber, fs))) for w, fs in self.terms))

    def check_dim(self, dim: int) -> int:
        """Return ``dim``, the number of columns of the data; a DataError if it does not fit."""
        if self.dim is not None and dim != self.dim:
            raise DataError(
                f"The kernel {self} has lengths for {self.dim} columns, and the data have {dim}. "
                "Give one length for each column."
            )
        if self.columns and self.columns[-1] >= dim:
            raise DataError(
                f"The kernel uses the columns {list(self.columns)}, counted from 0, and the data "
                f"have {dim} column(s)."
            )
        return dim

    def __add__(self, other: Any) -> GroupedKernel:
        if (other := _operand(other)) is None:
            return NotImplemented
        return GroupedKernel(add_terms((*self.terms, *other.terms)), _same_dim(self, other))

    def __mul__(self, other: Any) -> GroupedKernel:
        if (other := _operand(other)) is None:
            return NotImplemented
        products = ((_multiply(v, w), f + g) for v, f in self.terms for w, g in other.terms)
        return GroupedKernel(add_terms(products), _same_dim(self, other))


def on_columns(
    kernel: RadialKernel,
    columns: int | Sequence[int],
    length: float | ArrayLike = 1.0,
    dim: int | None = None,
) -> GroupedKernel:
    """The kernel of some columns, divided by their lengths; see :meth:`spectra.Kernel.on`."""
    refuse_zonal(kernel, "selecting or rescaling columns")
    group, lengths = _distinct_columns(columns), _positive_lengths(length)
    if lengths.size not in (1, len(group)):
        raise ParameterError(f"{lengths.size} lengths are given for {len(group)} columns.")
    factor = _factor(kernel, group, np.broadcast_to(lengths, len(group)).tolist())
    return GroupedKernel(add_terms([(1.0, (factor,))]), dim)


def additive(kernel: RadialKernel, dim: int, *, order: int = 1) -> GroupedKernel:
    r"""The sum of a radial kernel over all groups of ``order`` columns, by default single columns.

    .. math:: k_1(D) = \sum_i k(|D_i|), \qquad
              k_2(D) = \sum_{i < j} k\bigl(\sqrt{D_i^2 + D_j^2}\bigr), \qquad D = x - y.

    Parameters
    ----------
    kernel : Kernel
        A radial kernel; only its spectral measure on R^order is needed.
    dim : int
        Number of columns.
    order : int
        Columns in a group, from 1 to dim.

    Examples
    --------
    >>> from spectra import radial
    >>> print(additive(radial("exp(-z)"), 2))
    (exp(-z)).on([0]) + (exp(-z)).on([1])
    """
    if not hasattr(kernel, "pieces"):
        raise ParameterError(f"additive takes a radial kernel, and got {kernel!r}.")
    dim, order = checked_dim(dim), checked_dim(order)
    if order > dim:
        raise ParameterError(f"order = {order}: for dim = {dim} a group has at most {dim} columns.")
    groups = [on_columns(kernel, group) for group in combinations(range(dim), order)]
    return GroupedKernel(add_terms(t for group in groups for t in group.terms), dim)


def add_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Add the terms with equal factors, and the kernels of equal columns and lengths."""
    added: dict[Any, Term] = {}
    for term in terms:
        weight, factors = _extract_constants(term)
        key = factors if len(factors) != 1 else (factors[0].columns, factors[0].lengths)
        if key in added:
            other_weight, other_factors = added[key]
            if factors == other_factors:
                weight += other_weight
            else:
                total = other_weight * other_factors[0].kernel + weight * factors[0].kernel
                weight, factors = _extract_constants((1.0, (replace(factors[0], kernel=total),)))
        added[key] = weight, factors
    return tuple(
        (weight, factors)
        for weight, factors in added.values()
        if weight != 0.0 and all(f.kernel.pieces for f in factors)
    )


def _extract_constants(term: Term) -> Term:
    """Move the constant factors of the kernels into the weight; k and 2 k become equal factors."""
    weight, factors = term
    split = [f.kernel.split_constant() for f in factors]
    weight = reduce(_multiply, (constant for constant, _ in split), weight)
    rest = (replace(f, kernel=kernel) for f, (_, kernel) in zip(factors, split, strict=True))
    return weight, tuple(sorted(rest, key=lambda f: (f.columns, f.lengths, f.kernel.formula)))


def _factor(kernel: RadialKernel, columns: Iterable[int], lengths: Iterable[float]) -> Factor:
    """A factor with its columns in ascending order."""
    pairs = sorted(zip(columns, lengths, strict=True))
    return Factor(kernel, tuple(c for c, _ in pairs), tuple(x for _, x in pairs))


def _operand(other: Any) -> GroupedKernel | None:
    """A grouped kernel, or a number as one; None for other types, a TypeError for other kernels."""
    if isinstance(other, GroupedKernel):
        return other
    if (number := finite_number(other)) is not None:
        return GroupedKernel(((number, ()),))
    if hasattr(other, "formula"):
        raise TypeError(
            f"{other!r} cannot be combined with a kernel of groups of columns, because it is not "
            "known on which columns it acts. Select them: k.on([0, 1, 2])."
        )
    return None


def _distinct_columns(columns: int | Sequence[int]) -> list[int]:
    array = np.atleast_1d(np.asarray(columns))
    numbers: list[int] = array.tolist()
    are_integers = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not are_integers or min(numbers) < 0 or len(set(numbers)) != array.size:
        raise ParameterError(
            f"columns = {columns!r}: give the numbers of different columns, counted from 0, such "
            "as [0, 1]."
        )
    return numbers


def _positive_lengths(lengths: ArrayLike) -> FloatArray:
    """Lengths as a vector of positive finite numbers, or a ParameterError."""
    values = np.atleast_1d(real_array(lengths, "The lengths"))
    if values.ndim != 1 or not values.size or not np.all((values > 0) & (values < np.inf)):
        raise ParameterError(
            f"The lengths {lengths!r} of a kernel must be positive and finite: one number, or one "
            "for each column of the data."
        )
    return values


def _term_text(term: Term) -> str:
    weight, factors = term
    number = [] if weight == 1.0 and factors else [_number_text(weight)]
    return "*".join([*number, *map(str, factors)])


def _number_text(value: float) -> str:
    """Six digits if they give the number exactly, else all its digits."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def _same_dim(a: GroupedKernel, b: GroupedKernel) -> int | None:
    if None not in (a.dim, b.dim) and a.dim != b.dim:
        raise ParameterError(
            f"Kernels with lengths for {a.dim} and for {b.dim} columns are for different data."
        )
    return b.dim if a.dim is None else a.dim


def _multiply(v: float, w: float) -> float:
    """The product v w; a ParameterError if it overflows or underflows to 0."""
    if not isfinite(v * w) or (v * w == 0.0 and v != 0.0 and w != 0.0):
        raise ParameterError(
            f"The weight {v:.6g}*{w:.6g} of a product is beyond the range of double precision: "
            "scale the kernels."
        )
    return v * w

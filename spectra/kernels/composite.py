r"""Sums of products of kernels of columns of the data, with shifts and tilts.

A factor is a profile k of a distance in a group of columns, each divided by its length; a term is

.. math:: D \mapsto c\, e^{\beta \cdot D} \prod_f k_f\bigl(\|(D + r)_f\|_f\bigr), \qquad D = x - y,

with a weight c, an offset r (a *shift*) and a tilt beta; and a kernel is a sum of terms.  The
spectral measure of a product is the convolution of those of its factors, a shift multiplies it by
the phase :math:`e^{i w \cdot r}`, and a tilted Gaussian is a multiple of a shifted one:

.. math:: e^{-|D|^2/2\sigma^2} e^{\beta \cdot D}
          = e^{\sigma^2 |\beta|^2 / 2}\, e^{-|D - \sigma^2 \beta|^2 / 2 \sigma^2}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, check_differences, checked_dim, real_array
from spectra.errors import DataError, ParameterError
from spectra.kernels.base_kernel import BaseKernel, RadialKernel, finite_number
from spectra.kernels.metrics import EUCLIDEAN, Metric
from spectra.kernels.terms import ZERO, Factor, Term, Vector, add_terms, added, product_of, vector

__all__ = ["CompositeKernel", "Factor", "Term", "additive", "composite", "of_factor"]


@dataclass(frozen=True, repr=False)
class CompositeKernel(BaseKernel):
    """A sum of products of kernels of groups of columns, shifted or tilted or not.

    Made by :meth:`spectra.Kernel.on`, ``shift``, ``tilt`` and ``rescale([...])``, by :func:`l1`
    and :func:`additive`.  Sums and differences with numbers and other kernels, and products, are
    such kernels.  Terms of a single factor of the same columns, lengths, shift and tilt become one
    term, so that they cancel exactly.

    Attributes
    ----------
    terms : tuple of Term
        The summands: each a weight, factors, an offset and a tilt.
    dim : int or None
        The number of columns that the data must have; None if the kernel does not fix it.

    Examples
    --------
    >>> from spectra import radial
    >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
    >>> kernel = space.on([0, 1]) * time.on([2]) + 0.5 * time.on([2])
    >>> kernel([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).round(6)
    array([1.5     , 0.867879, 0.551819])
    >>> asymmetric = space.tilt([0.5, 0.0]) - 0.25 * space.shift([0.0, 1.0])
    >>> asymmetric([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).round(6)
    array([0.848367, 0.90803 , 0.27591 ])
    """

    terms: tuple[Term, ...]
    dim: int | None = None

    @property
    def formula(self) -> str:
        """The kernel as text that :func:`spectra.existence` and others read again."""
        return " + ".join(map(str, self.terms)) or "0"

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that the factors name, in ascending order."""
        return tuple(sorted(set().union(*(term.columns for term in self.terms))))

    @property
    def profile(self) -> RadialKernel:
        """The profile of a kernel of one factor, with its weight."""
        if (factor := self.single_factor) is None:
            raise AttributeError(f"{self} is not a function of one distance.")
        weight = self.terms[0].weight
        return factor.profile if weight == 1.0 else weight * factor.profile

    @property
    def at_zero(self) -> float:
        """The value at x = y."""
        if self.is_symmetric:
            return float(self._sum_terms(lambda factor, _: factor.profile.at_zero, ()))
        return float(self(np.zeros(self.dim or max(self.columns, default=0) + 1)))

    def as_radial(self, dim: int) -> tuple[RadialKernel, FloatArray | None] | None:
        """The radial kernel and its lengths if one Euclidean factor has all columns; else None."""
        self.check_dim(dim)
        factor = self.single_factor
        if (
            factor is None
            or factor.size(dim) != dim
            or np.ndim(factor.lengths) == 2
            or (factor.metric != EUCLIDEAN and dim > 1)
            or not (self.terms[0].weight == 1.0 or factor.profile.adds_up)
        ):
            return None
        lengths = None if factor.columns is None else np.array(factor.lengths)
        return self.profile, lengths

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = check_differences(differences, "A composite kernel")
        self.check_dim(D.shape[-1])

        def value(f: Factor, offset: Vector) -> FloatArray:
            return np.asarray(f.profile(f.metric.norm(f.scaled_columns(D + np.array(offset)))))

        return self._sum_terms(value, D.shape[:-1], lambda tilt: D @ tilt, D.shape[-1])

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        self.check_dim(X.shape[1])

        def value(f: Factor, offset: Vector) -> FloatArray:
            shifted = f.scaled_columns(X + np.array(offset))
            return np.asarray(f.profile(f.metric.distances(shifted, f.scaled_columns(Y))))

        def exponent(tilt: FloatArray) -> FloatArray:
            return np.asarray((X @ tilt)[:, None] - (Y @ tilt)[None, :])

        return self._sum_terms(value, (len(X), len(Y)), exponent, X.shape[1])

    def _sum_terms(
        self,
        value: Callable[[Factor, Vector], FloatArray | float],
        shape: tuple[int, ...],
        exponent: Callable[[FloatArray], FloatArray] | None = None,
        dim: int = 1,
    ) -> FloatArray:
        """The sum of the weighted products of the factors' values, times exp(exponent(tilt))."""
        keys = dict.fromkeys((f, term.offset) for term in self.terms for f in term.factors)
        values = {key: value(*key) for key in keys}
        total = np.zeros(shape)
        for t in self.terms:
            found = (values[f, t.offset] for f in t.factors)
            product = reduce(np.multiply, found, np.array(t.weight))
            if any(t.tilt):
                assert exponent is not None
                product = product * np.exp(exponent(np.zeros(dim) + np.array(t.tilt)))
            total += product
        return total

    def rescale(self, length: Any) -> CompositeKernel:
        """The kernel of rows divided by one number, by a length for each column, or of rows A x.

        A matrix A changes no shifted kernel.
        """
        is_number = isinstance(length, sympy.Basic) or not np.ndim(length)
        if isinstance(length, sympy.Basic) or (is_number and self._all_columns):
            return self._rescale_profiles(length)
        lengths, dim = _lengths_or_matrix(length), self.dim
        if is_number:
            lengths = np.repeat(lengths, max(self.columns, default=0) + 1)
        else:
            self.check_dim(len(lengths))
            dim = lengths.shape[-1]
        matrix = lengths.ndim == 2
        if matrix and any(any(t.offset) for t in self.terms):
            raise ParameterError(f"{self} is shifted: apply the matrix first, rescale(A).shift(r).")

        def rescale_factor(f: Factor) -> Factor:
            own, named = np.array(f.lengths), f.named_columns(len(lengths))
            if matrix:  # K(A D)
                rows = own @ lengths[named] if own.ndim == 2 else lengths[named] / own[:, None]
                return Factor.of(f.profile, list(range(lengths.shape[-1])), rows, f.metric)
            changed = own / lengths[named] if own.ndim == 2 else own * lengths[named]
            return Factor.of(f.profile, named, changed, f.metric)

        def rescale_term(t: Term) -> Term:
            offset = tuple((np.array(t.offset) * lengths).tolist()) if any(t.offset) else ZERO
            tilt = ZERO
            if any(t.tilt):
                beta = np.broadcast_to(t.tilt, len(lengths))
                tilt = tuple((beta @ lengths if matrix else beta / lengths).tolist())
            return Term(t.weight, tuple(map(rescale_factor, t.factors)), offset, tilt)

        return composite(map(rescale_term, self.terms), dim)

    @property
    def _all_columns(self) -> bool:
        return any(f.columns is None for f in self.factors)

    def _rescale_profiles(self, length: Any) -> CompositeKernel:
        """As :meth:`rescale` for one length, in the formulas of the profiles."""
        scale, terms = float(length), []
        for t in self.terms:
            factors = tuple(replace(f, profile=f.profile.rescale(length)) for f in t.factors)
            offset, tilt = tuple(v * scale for v in t.offset), tuple(v / scale for v in t.tilt)
            terms.append(Term(t.weight, factors, offset, tilt))
        return composite(terms, self.dim)

    def on(self, columns: int | Sequence[int]) -> CompositeKernel:
        """The same kernel of other columns: its column i becomes ``columns[i]`` of the data."""
        new = _distinct_columns(columns)
        self.check_dim(len(new))
        if not self.is_symmetric:
            raise ParameterError("Select columns before shifting or tilting: k.on(...).shift(...).")

        def renumber(f: Factor) -> Factor:
            own = [new[c] for c in f.named_columns(len(new))]
            return Factor.of(f.profile, own, f.lengths, f.metric)

        return composite(replace(t, factors=tuple(map(renumber, t.factors))) for t in self.terms)

    def shift(self, offset: float | ArrayLike) -> CompositeKernel:
        """The kernel D -> K(D + offset); one number per column, or one for all."""
        r = vector(offset, "offset")
        if any(any(t.tilt) for t in self.terms):
            raise ParameterError(f"{self} is tilted: shift it before it is tilted.")
        return composite((replace(t, offset=added(t.offset, r)) for t in self.terms), self.dim)

    def tilt(self, beta: float | ArrayLike) -> CompositeKernel:
        """The kernel D -> K(D) exp(beta.D); one number per column, or one for all."""
        b = vector(beta, "tilt")
        return composite((replace(t, tilt=added(t.tilt, b)) for t in self.terms), self.dim)

    def __post_init__(self) -> None:
        # Vectors with different numbers of coordinates cannot be added: a ParameterError.
        total = reduce(added, (v for t in self.terms for v in (t.offset, t.tilt)), ZERO)
        if self.dim is None and len(total) > 1:
            object.__setattr__(self, "dim", len(total))

    def check_dim(self, dim: int) -> int:
        """Return ``dim``, the number of columns of the data; a DataError if it does not fit."""
        if self.dim is not None and dim != self.dim:
            raise DataError(
                f"The kernel {self} has lengths for {self.dim} columns, or vectors of {self.dim} "
                f"coordinates, and the data have {dim} columns. Give a number for each column."
            )
        if self.columns and self.columns[-1] >= dim:
            raise DataError(
                f"The kernel uses the columns {list(self.columns)} of data with {dim} column(s)."
            )
        return dim

    def __add__(self, other: Any) -> CompositeKernel:
        if (operand := self._operand(other)) is None:
            return NotImplemented
        return composite((*self.terms, *operand.terms), _same_dim(self, operand))

    def __mul__(self, other: Any) -> CompositeKernel:
        if (operand := self._operand(other)) is None:
            return NotImplemented
        products = [product_of(v, w) for v in self.terms for w in operand.terms]
        return composite(products, _same_dim(self, operand))

    def _operand(self, other: Any) -> CompositeKernel | None:
        """The other kernel, or a number, as a CompositeKernel; None for other types."""
        if isinstance(other, CompositeKernel):
            return other
        if (number := finite_number(other)) is not None:
            return CompositeKernel((Term(number),))
        if not isinstance(other, BaseKernel):
            return None
        if self._all_columns or not self.is_symmetric:
            return of_factor(other)
        raise TypeError(
            f"{other!r} cannot be combined with a kernel of groups of columns, because it is "
            "not known on which columns it acts. Select them: k.on([0, 1, 2])."
        )


def composite(terms: Iterable[Term], dim: int | None = None) -> CompositeKernel:
    """The sum of terms."""
    return CompositeKernel(add_terms(terms), dim)


def of_factor(
    kernel: RadialKernel,
    columns: int | Sequence[int] | None = None,
    length: float | ArrayLike = 1.0,
    dim: int | None = None,
    metric: Metric = EUCLIDEAN,
) -> CompositeKernel:
    """The kernel of some columns, divided by their lengths; see :meth:`spectra.Kernel.on`."""
    if kernel.is_zonal:
        raise ParameterError(
            f"The zonal kernel {kernel} lives on the unit sphere, and shifts, tilts, lengths and "
            "groups of columns move rows off it. Make it radial first, for instance by rescale(1)."
        )
    if columns is None:
        return composite([Term(1.0, (Factor(kernel, metric=metric),))], dim)
    group, lengths = _distinct_columns(columns), _lengths_or_matrix(length)
    if lengths.shape[-1] not in (len(group), 3 - 2 * lengths.ndim):
        raise ParameterError(f"{lengths.shape[-1]} lengths are given for {len(group)} columns.")
    return composite([Term(1.0, (Factor.of(kernel, group, lengths, metric),))], dim)


def additive(kernel: RadialKernel, dim: int, *, order: int = 1) -> CompositeKernel:
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
    if not isinstance(kernel, BaseKernel) or isinstance(kernel, CompositeKernel):
        raise ParameterError(f"additive takes a radial kernel, and got {kernel!r}.")
    dim, order = checked_dim(dim), checked_dim(order)
    if order > dim:
        raise ParameterError(f"order = {order}: for dim = {dim} a group has at most {dim} columns.")
    groups = [of_factor(kernel, group) for group in combinations(range(dim), order)]
    return composite((t for group in groups for t in group.terms), dim)


def _distinct_columns(columns: int | Sequence[int]) -> list[int]:
    array = np.atleast_1d(np.asarray(columns))
    numbers: list[int] = array.tolist()
    are_integers = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not are_integers or min(numbers) < 0 or len(set(numbers)) != array.size:
        raise ParameterError(
            f"columns = {columns!r}: give numbers of different columns, from 0, such as [0, 1]."
        )
    return numbers


def _lengths_or_matrix(lengths: ArrayLike) -> FloatArray:
    """Lengths as a vector of positive finite numbers, or a finite matrix; or a ParameterError."""
    values = np.atleast_1d(real_array(lengths, "The lengths"))
    is_positive = values.ndim == 2 or np.all(values > 0)
    if values.ndim > 2 or not values.size or not (is_positive and np.all(np.isfinite(values))):
        raise ParameterError(
            f"The lengths {lengths!r} of a kernel must be positive and finite: one number, or one "
            "for each column of the data, or a matrix with a column for each of them."
        )
    return values


def _same_dim(a: CompositeKernel, b: CompositeKernel) -> int | None:
    if None not in (a.dim, b.dim) and a.dim != b.dim:
        raise ParameterError(
            f"Kernels of data with {a.dim} and with {b.dim} columns are for different data."
        )
    return b.dim if a.dim is None else a.dim

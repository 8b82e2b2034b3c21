"""Products of radial kernels of groups of columns, and sums of them in their shortest form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError
from spectra.kernels.algebra import Radial

__all__ = ["Factor", "Product", "collected", "number_text"]


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
        lengths = ", ".join(map(number_text, self.lengths))
        lengths = "" if set(self.lengths) == {1.0} else f", length=[{lengths}]"
        return f"({self.kernel}).on([{columns}]{lengths})"

    def __call__(self, differences: FloatArray) -> FloatArray:
        """Values at differences of shape (..., d)."""
        group = differences[..., list(self.columns)] / np.array(self.lengths)
        values: FloatArray = self.kernel(np.linalg.norm(group, axis=-1))
        return values

    def gram(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The matrix of two sets of rows of all columns."""
        columns, lengths = list(self.columns), np.array(self.lengths)
        values: FloatArray = self.kernel(cdist(X[:, columns] / lengths, Y[:, columns] / lengths))
        return values


@final
@dataclass(frozen=True)
class Product:
    """A number times a product of kernels of groups of columns; without factors a constant."""

    weight: float
    factors: tuple[Factor, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of all factors, ascending."""
        return tuple(sorted({c for factor in self.factors for c in factor.columns}))

    @property
    def is_disjoint(self) -> bool:
        """Whether no column is in two factors."""
        return len(self.columns) == sum(len(factor.columns) for factor in self.factors)

    def __str__(self) -> str:
        parts = [] if self.weight == 1.0 and self.factors else [number_text(self.weight)]
        return "*".join([*parts, *map(str, self.factors)])

    def __mul__(self, other: Product) -> Product:
        return self._scaled(self.weight, other.weight, factors=self.factors + other.factors)

    def without_numbers(self) -> Product:
        """The product with the numbers of its kernels in its weight; they share a measure then."""
        split = [factor.kernel.without_factor() for factor in self.factors]
        factors = tuple(
            replace(factor, kernel=kernel)
            for factor, (_, kernel) in zip(self.factors, split, strict=True)
        )
        return self._scaled(self.weight, *(number for number, _ in split), factors=factors)

    @staticmethod
    def _scaled(*numbers: float, factors: tuple[Factor, ...]) -> Product:
        weight = reduce(lambda a, b: a * b, numbers)
        if not np.isfinite(weight) or (weight == 0.0 and 0.0 not in numbers):
            raise ParameterError(
                f"The weight of {'*'.join(map(str, factors)) or 'a constant'} is beyond the range "
                "of double precision: scale the kernels."
            )
        return Product(weight, factors)


def collected(products: Iterable[Product]) -> tuple[Product, ...]:
    """Add up what is of the same groups: radial kernels, and multiples of one product."""
    found: dict[tuple[Any, ...], Product] = {}
    for product in products:
        product = product.without_numbers()
        key: tuple[Any, ...]
        if len(product.factors) == 1:
            key = (product.factors[0].columns, product.factors[0].lengths)
        else:
            order = sorted(product.factors, key=lambda f: (f.columns, f.lengths, f.kernel.formula))
            key = tuple(order)
            product = replace(product, factors=key)
        found[key] = _add(found[key], product) if key in found else product
    return tuple(
        p for p in found.values() if p.weight != 0.0 and all(f.kernel.pieces for f in p.factors)
    )


def _add(a: Product, b: Product) -> Product:
    """The sum of multiples of one product, or of two kernels of one group."""
    if a.factors == b.factors:
        return replace(a, weight=a.weight + b.weight)
    total = a.weight * a.factors[0].kernel + b.weight * b.factors[0].kernel
    weight, kernel = total.without_factor()
    return Product(weight, (replace(a.factors[0], kernel=kernel),))


def number_text(value: float) -> str:
    """All digits of a number, and no more than it takes."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))

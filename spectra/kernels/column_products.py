"""Products of radial kernels of groups of columns, and sums of them in their shortest form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError
from spectra.kernels.asymmetric import without_factor
from spectra.kernels.radial_kernel import RadialKernel

__all__ = ["Factor", "Product", "collected", "multiplied", "shown"]


@final
@dataclass(frozen=True)
class Factor:
    """A radial kernel of some columns, ascending, each divided by its length.

    ``kernel`` is in units of the lengths, without a numerical factor.
    """

    kernel: RadialKernel
    columns: tuple[int, ...]
    lengths: tuple[float, ...]

    def __str__(self) -> str:
        columns = ", ".join(map(str, self.columns))
        lengths = "" if set(self.lengths) == {1.0} else f", length={shown(self.lengths)}"
        return f"({self.kernel}).on([{columns}]{lengths})"

    def __call__(self, differences: FloatArray) -> FloatArray:
        """Values at differences of shape (..., d)."""
        group = differences[..., list(self.columns)] / np.array(self.lengths)
        return self.kernel(np.linalg.norm(group, axis=-1))

    def longer(self, factors: FloatArray) -> Factor:
        """With each length multiplied by the factor of its column."""
        lengths = np.array(self.lengths) * factors[list(self.columns)]
        return replace(self, lengths=tuple(lengths.tolist()))

    def moved(self, columns: Sequence[int]) -> Factor:
        """With column i taken from ``columns[i]``."""
        pairs = sorted(zip((columns[c] for c in self.columns), self.lengths, strict=True))
        return Factor(self.kernel, tuple(c for c, _ in pairs), tuple(x for _, x in pairs))

    def gram(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The matrix of two sets of rows of all columns."""
        columns, lengths = list(self.columns), np.array(self.lengths)
        return self.kernel(cdist(X[:, columns] / lengths, Y[:, columns] / lengths))


@final
@dataclass(frozen=True)
class Product:
    """A number times a product of kernels of groups of columns; without factors a constant."""

    weight: float
    factors: tuple[Factor, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of all factors, ascending."""
        return tuple(sorted({c for factor in self.factors for c in factor.columns}))

    @property
    def is_disjoint(self) -> bool:
        """Whether no column is in two factors."""
        return len(self.columns) == sum(len(factor.columns) for factor in self.factors)

    def __str__(self) -> str:
        parts = [] if self.weight == 1.0 and self.factors else [_number(self.weight)]
        return "*".join([*parts, *map(str, self.factors)])


def collected(terms: Iterable[Product]) -> tuple[Product, ...]:
    """Gather what is of the same groups: sums of one radial kernel, and multiples of one product.

    Numbers are taken out of the factors, so that multiples of a kernel share its measure.
    """
    alone: dict[tuple[tuple[int, ...], tuple[float, ...]], list[tuple[float, RadialKernel]]] = {}
    weights: dict[tuple[Factor, ...], float] = {}
    order: list[Any] = []
    for term in terms:
        weight, factors = term.weight, []
        for factor in term.factors:
            number, kernel = without_factor(factor.kernel)
            weight *= number
            factors.append(replace(factor, kernel=kernel))
        if any(not factor.kernel.pieces for factor in factors):
            continue
        _check_range(weight, factors, is_zero=term.weight == 0.0)
        if len(factors) == 1:
            group = (factors[0].columns, factors[0].lengths)
            order.append(group)
            alone.setdefault(group, []).append((weight, factors[0].kernel))
        else:
            key = tuple(sorted(factors, key=lambda f: (f.columns, f.lengths, f.kernel.formula)))
            order.append(key)
            weights[key] = weights.get(key, 0.0) + weight
    found: list[Product] = []
    for key in dict.fromkeys(order):
        if key in alone:
            weight, kernel = _added(alone[key])
            found.append(Product(weight, (Factor(kernel, *key),)))
        else:
            found.append(Product(weights[key], key))
    return tuple(t for t in found if t.weight != 0.0 and all(f.kernel.pieces for f in t.factors))


def multiplied(a: Product, b: Product) -> Product:
    """The product of two products."""
    weight, factors = a.weight * b.weight, a.factors + b.factors
    _check_range(weight, factors, is_zero=a.weight == 0.0 or b.weight == 0.0)
    return Product(weight, factors)


def _check_range(weight: float, factors: Sequence[Factor], *, is_zero: bool) -> None:
    if not np.isfinite(weight) or (weight == 0.0 and not is_zero):
        raise ParameterError(
            f"The weight of {'*'.join(map(str, factors)) or 'a constant'} is beyond the range of "
            "double precision: scale the kernels."
        )


def _added(summands: list[tuple[float, RadialKernel]]) -> tuple[float, RadialKernel]:
    """The sum of multiples of radial kernels as a number times one kernel."""
    by_kernel: dict[RadialKernel, float] = {}
    for weight, kernel in summands:
        by_kernel[kernel] = by_kernel.get(kernel, 0.0) + weight
    left = [(weight, kernel) for kernel, weight in by_kernel.items() if weight != 0.0]
    if len(left) == 1:
        return left[0]
    if not left:
        return 0.0, summands[0][1]
    return without_factor(reduce(lambda a, b: a + b, (w * k for w, k in left)))


def shown(numbers: Sequence[float]) -> str:
    """Numbers as the text that makes them."""
    return f"[{', '.join(map(_number, numbers))}]"


def _number(value: float) -> str:
    """All digits of a number, and no more than it takes."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))

"""Terms of composite kernels: weighted products of factors, with an offset and a tilt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import to_units
from spectra.base.numbers import FloatArray, real_array
from spectra.errors import ParameterError
from spectra.kernels.base_kernel import RadialKernel
from spectra.kernels.metrics import EUCLIDEAN, Metric

__all__ = ["ZERO", "Factor", "Term", "Vector", "add_terms", "added", "product_of", "vector"]

Vector = tuple[float, ...]
ZERO: Vector = (0.0,)  # a vector of length 1 applies to every coordinate


@dataclass(frozen=True)
class Factor:
    """A profile of a distance in some columns, in ascending order, divided by their lengths.

    ``profile``, a :class:`~spectra.kernels.profile.Profile`, has no constant factor, which belongs
    to the weight of the term; ``columns``: None for all columns of the data, with the length 1;
    ``lengths``: or the rows of a matrix A, for the distance of A x and A y.
    """

    profile: RadialKernel
    columns: tuple[int, ...] | None = None
    lengths: Any = (1.0,)
    metric: Metric = EUCLIDEAN

    def __str__(self) -> str:
        profile = f"l1({self.profile})" if self.metric != EUCLIDEAN else f"({self.profile})"
        lengths = "" if set(self.lengths) == {1.0} else f", length={_nested_text(self.lengths)}"
        return profile if self.columns is None else f"{profile}.on({list(self.columns)}{lengths})"

    @classmethod
    def of(cls, profile: RadialKernel, columns: list[int], lengths: Any, metric: Metric) -> Self:
        """A factor with its columns in ascending order; lengths: one, a vector or a matrix."""
        order, given = np.argsort(columns), np.asarray(lengths)
        given = given if given.ndim == 2 else np.broadcast_to(given, len(columns))
        own = given[..., order].tolist()
        rows = tuple(map(tuple, own)) if given.ndim == 2 else tuple(own)
        return cls(profile, tuple(sorted(columns)), rows, metric)

    def named_columns(self, dim: int) -> list[int]:
        """Its columns in data with ``dim`` columns."""
        return list(range(dim)) if self.columns is None else list(self.columns)

    def size(self, dim: int | None) -> Any:
        """Number of coordinates that it is a function of, in data with ``dim`` columns."""
        return dim if self.columns is None else len(self.lengths)

    def scaled_columns(self, X: FloatArray) -> FloatArray:
        """The columns of the group, divided by their lengths, of rows of shape (..., d)."""
        own = X if self.columns is None else X[..., list(self.columns)]
        return to_units(own, np.array(self.lengths))

    @property
    def place(self) -> tuple[Any, ...]:
        return self.columns or (), str(self.lengths), self.metric.text


@dataclass(frozen=True)
class Term:
    """A weighted product of factors of D + offset, times exp(tilt.D); a constant without factors.

    ``offset``, ``tilt``: vectors; one of length 1 applies to every coordinate.
    """

    weight: float
    factors: tuple[Factor, ...] = ()
    offset: Vector = ZERO
    tilt: Vector = ZERO

    @property
    def is_plain(self) -> bool:
        """Whether the term is neither shifted nor tilted."""
        return not any((*self.offset, *self.tilt))

    @property
    def columns(self) -> set[int]:
        """The columns that are named by the factors."""
        return {c for f in self.factors for c in f.columns or ()}

    def __str__(self) -> str:
        text = "*".join(map(str, self.factors))
        if not self.is_plain and len(self.factors) != 1:
            text = f"({text or 1})"
        for name, value in (("shift", self.offset), ("tilt", self.tilt)):
            if any(value):
                text += f".{name}({_nested_text(value[0] if len(value) == 1 else value)})"
        weight = "" if self.weight == 1.0 and self.factors else _number_text(self.weight)
        return "*".join(filter(None, [weight, text]))


def add_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Add the terms with equal factors, and the profiles of equal places, shifts and tilts."""
    found: dict[Any, Term] = {}
    for given in terms:
        term = _extract_constants(given)
        one = len(term.factors) == 1 and term.factors[0].profile.adds_up
        key = (term.factors[0].place if one else term.factors), term.offset, term.tilt
        if (other := found.get(key)) is None:
            found[key] = term
        elif term.factors == other.factors:
            found[key] = replace(term, weight=term.weight + other.weight)
        else:
            (f,), (g,) = term.factors, other.factors
            total = other.weight * g.profile + term.weight * f.profile
            new = replace(term, weight=1.0, factors=(replace(f, profile=total),))
            found[key] = _extract_constants(new)
    is_zero = (t.weight == 0.0 or any(f.profile.is_zero for f in t.factors) for t in found.values())
    return tuple(t for t, zero in zip(found.values(), is_zero, strict=True) if not zero)


def _extract_constants(term: Term) -> Term:
    """Move the constant factors of the profiles into the weight; k and 2 k become equal factors."""
    split = [f.profile.split_constant() for f in term.factors]
    weight = reduce(_multiply, (constant for constant, _ in split), term.weight)
    rest = (replace(f, profile=k) for f, (_, k) in zip(term.factors, split, strict=True))
    factors = tuple(sorted(rest, key=lambda f: (*f.place, f.profile.formula)))
    # A shift does not change a constant.
    return replace(term, weight=weight, factors=factors, offset=term.offset if factors else ZERO)


def product_of(a: Term, b: Term) -> Term:
    """The product of two terms, of which only one may be shifted if they differ in the shift."""
    if a.factors and b.factors and a.offset != b.offset:
        raise ParameterError("A product of kernels with different shifts is not known here.")
    offset = a.offset if a.factors else b.offset
    weight = _multiply(a.weight, b.weight)
    return Term(weight, a.factors + b.factors, offset, added(a.tilt, b.tilt))


def vector(value: float | ArrayLike, name: str) -> Vector:
    array = np.atleast_1d(real_array(value, f"The {name} of a kernel"))
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ParameterError(
            f"The {name} is one finite number for each column, or for all; got {value!r:.60}."
        )
    # Adding 0 turns -0 into 0, so that equal kernels compare equal and print alike.
    return tuple((array + 0.0).tolist())


def added(a: Vector, b: Vector) -> Vector:
    if 1 not in (len(a), len(b)) and len(a) != len(b):
        raise ParameterError(
            f"The offsets and tilts of a kernel have {sorted({len(a), len(b)})} coordinates. "
            "Give one number for every column of the data, or a single number for all."
        )
    return tuple((np.array(a) + np.array(b) + 0.0).tolist())


def _nested_text(values: Any) -> str:
    """Numbers, or rows of numbers, in brackets."""
    if not isinstance(values, tuple):
        return _number_text(values)
    return f"[{', '.join(map(_nested_text, values))}]"


def _number_text(value: float) -> str:
    """Six digits if they give the number exactly, else all its digits."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def _multiply(v: float, w: float) -> float:
    """The product v w; a ParameterError if it overflows or underflows to 0."""
    if not isfinite(v * w) or (v * w == 0.0 and v != 0.0 and w != 0.0):
        raise ParameterError(
            f"The weight {v:.6g}*{w:.6g} is beyond the range of double precision: scale it."
        )
    return v * w

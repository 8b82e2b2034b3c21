"""Terms of composite kernels: weighted products of factors, with an offset and a tilt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from math import isfinite
from typing import Any, final

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


@final
@dataclass(frozen=True)
class Factor:
    """A profile of a distance in some columns, in ascending order, divided by their lengths.

    ``profile`` has no constant factor, which belongs to the weight of the term; ``columns``: None
    for all columns of the data, with one length; ``lengths``: or the rows of a matrix A, for the
    distance of A x and A y.
    """

    profile: RadialKernel
    columns: tuple[int, ...] | None = None
    lengths: Any = (1.0,)
    metric: Metric = EUCLIDEAN

    def __str__(self) -> str:
        profile = f"l1({self.profile})" if self.metric != EUCLIDEAN else f"({self.profile})"
        lengths = "" if set(self.lengths) == {1.0} else f", length={_nested_text(self.lengths)}"
        return profile if self.columns is None else f"{profile}.on({list(self.columns)}{lengths})"

    def size(self, dim: int | None) -> Any:
        """Number of columns of the factor for data with ``dim`` columns."""
        return dim if self.columns is None else len(self.lengths)

    def scaled_columns(self, X: FloatArray) -> FloatArray:
        """The columns of the group, divided by their lengths, of rows of shape (..., d)."""
        own = X if self.columns is None else X[..., list(self.columns)]
        return to_units(own, np.array(self.lengths))

    @property
    def place(self) -> tuple[Any, ...]:
        return self.columns or (), str(self.lengths), self.metric.text


@final
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
        if self.is_plain:
            number = [] if self.weight == 1.0 and self.factors else [_number_text(self.weight)]
            return "*".join([*number, *map(str, self.factors)])
        weight = "" if self.weight == 1.0 else f"{_number_text(self.weight)}*"
        shift = f" + {_vector_text(self.offset)}" if any(self.offset) else ""
        tilt = f"*exp({_vector_text(self.tilt)}.D)" if any(self.tilt) else ""
        text = "*".join(map(str, self.factors))
        if [f.columns for f in self.factors] == [None] and self.factors[0].metric == EUCLIDEAN:
            text = str(self.factors[0].profile)
        return f"{weight}k[{text}](D{shift}){tilt}"


def add_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Add the terms with equal factors, and the profiles of equal places, shifts and tilts."""
    added: dict[Any, Term] = {}
    for given in terms:
        term = _extract_constants(given)
        one = len(term.factors) == 1
        key = (term.factors[0].place if one else term.factors), term.offset, term.tilt
        if key in added:
            other = added[key]
            if term.factors == other.factors:
                term = replace(term, weight=term.weight + other.weight)
            else:
                (f,), (g,) = term.factors, other.factors
                total = other.weight * g.profile + term.weight * f.profile
                new = replace(term, weight=1.0, factors=(replace(f, profile=total),))
                term = _extract_constants(new)
        added[key] = term
    is_zero = (t.weight == 0.0 or not all(f.profile.pieces for f in t.factors)
               for t in added.values())  # fmt: skip
    return tuple(t for t, zero in zip(added.values(), is_zero, strict=True) if not zero)


def _extract_constants(term: Term) -> Term:
    """Move the constant factors of the profiles into the weight; k and 2 k become equal factors."""
    split = [f.profile.split_constant() for f in term.factors]
    weight = reduce(_multiply, (constant for constant, _ in split), term.weight)
    rest = (replace(f, profile=k) for f, (_, k) in zip(term.factors, split, strict=True))
    factors = tuple(sorted(rest, key=lambda f: (*f.place, f.profile.formula)))
    return replace(term, weight=weight, factors=factors)


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
            f"The {name} of a kernel is a vector of d finite numbers, or one number for all d "
            f"coordinates; got {value!r:.60}."
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


def _vector_text(vector: Vector) -> str:
    if len(set(vector)) == 1:
        return f"{vector[0]:.6g}"
    first = ", ".join(f"{v:.6g}" for v in vector[:4])
    return f"({first}{', ...' if len(vector) > 4 else ''})"


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
            f"The weight {v:.6g}*{w:.6g} of a product is beyond the range of double precision: "
            "scale the kernels."
        )
    return v * w

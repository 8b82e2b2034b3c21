"""Closed pairs: kernels with the formulas of their densities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from mpmath import mp

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.summands import Summand
from spectra.density.components import Atom, Component, Evaluation
from spectra.formula.parsing import Z

__all__ = ["TAILS", "ClosedPair", "FamilyKernel", "Maker", "Reader", "TermValues", "W", "make_pair"]

#: A kernel of a family: its parameters and its coefficient.
FamilyKernel = tuple[tuple[Any, ...], sympy.Expr]
#: The radial density is ``exp(log_front + sum(terms)) * factor``.  The members are terms, factor,
#: size of the factor (not small where it changes sign), and the number of roundings beyond those of
#: the terms.
TermValues = tuple[
    tuple[FloatArray, ...], FloatArray | float, FloatArray | float, FloatArray | float
]
#: The radius w = |omega|, the variable of the formulas.
W = sympy.Symbol("w", positive=True)
#: The probabilities of the quantiles that bound the bulk of a distribution.
TAILS = np.array([0.01, 0.99])
# Decimal digits of the constants.
_DIGITS = 50
# A term of the logarithm is rounded at most six times, by half a unit each.
_ROUNDING = 3.0 * float(np.finfo(float).eps)

#: Writes a summand as a sum of kernels of a family on R^dim; None if that is impossible.
Reader = Callable[[Summand, int], list[FamilyKernel] | None]
#: Makes the density from (dim, *parameters, coefficient); a NoRouteError if it is not a measure.
Maker = Callable[..., "ClosedPair | Atom"]


def make_pair(make: Maker, dim: int, *arguments: Any) -> ClosedPair | Atom:
    """The result of a maker, with constants of 50 digits."""
    with mp.workdps(_DIGITS):
        return make(dim, *arguments)


@dataclass(frozen=True, eq=False)
class ClosedPair(Component):
    """The density on R^dim of a kernel of a family.

    At d = 1000 terms such as log Gamma(d/2) and d log w cancel.  So ``log_front`` is computed with
    50 digits, and ``values`` uses terms that are small in the bulk.  The coefficient is exact: a
    polynomial in z for a Gaussian, a complex number for a Matern kernel times a cosine.
    """

    family: Maker
    dim: int
    parameters: tuple[Any, ...]
    coefficient: sympy.Expr
    #: The density mu(w) on R^dim as an expression in ``w``.
    formula: sympy.Expr
    log_front: float
    values: Callable[[FloatArray], TermValues]
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float = np.inf
    breaks: tuple[tuple[float, float], ...] = ()
    end: float = np.inf
    has_one_sign: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return make_pair, (self.family, self.dim, *self.parameters, self.coefficient)

    @property
    def exact_total(self) -> sympy.Expr:
        """The integral of the radial density, which is k(0), as an exact number."""
        return sympy.re(self.coefficient.subs(Z, 0))

    @property
    def total(self) -> float:  # type: ignore[override]
        """The integral of the radial density, rounded."""
        return float(self.exact_total)

    def evaluate(self, w: FloatArray) -> Evaluation:
        """As for :class:`RadialFunction`; the errors are estimates of rounding."""
        with np.errstate(over="ignore", divide="ignore"):
            terms, factor, size, roundings = self.values(np.asarray(w, dtype=float))
            log = np.asarray(self.log_front + sum(terms))
            count = 1.0 + abs(self.log_front) + sum(np.abs(t) for t in terms) + roundings
            # If the logarithm is -inf, the density is 0 and so is its error.
            error = _ROUNDING * np.where(np.isfinite(log), count, 1.0)
            sign = np.sign(factor) * np.ones_like(log)
            return sign, log + np.log(np.abs(factor)), log + np.log(size), error

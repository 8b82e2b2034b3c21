"""What a closed pair is: the component of a kernel whose density is a formula, in one dimension."""

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
from spectra.formula.reader.parsing import Z

__all__ = [
    "TAILS",
    "ClosedPair",
    "Maker",
    "Reader",
    "Term",
    "Values",
    "W",
    "make_pair",
]

#: The parameters of a kernel of a family, and its coefficient.
Term = tuple[tuple[Any, ...], sympy.Expr]
#: The signed radial density ``exp(log_front + sum(terms)) * factor``: terms, factor, local size of
#: the factor (not small at a change of sign), and a count of roundings not proportional to a term.
Values = tuple[tuple[FloatArray, ...], FloatArray | float, FloatArray | float, FloatArray | float]
#: The radius of a frequency, the variable of the formulas.
W = sympy.Symbol("w", positive=True)
#: The quantiles between which the bulk of a distribution lies.
TAILS = np.array([0.01, 0.99])
# Decimal digits of the constants.
_DIGITS = 50
# A term of the logarithm is rounded at most six times, by half a unit each.
_ROUNDING = 3.0 * float(np.finfo(float).eps)


#: A summand as a sum of kernels of a family; None if it has none with a known transform in R^dim.
Reader = Callable[[Summand, int], list[Term] | None]
#: The component (or atom) of a kernel from dim, its parameters and its coefficient.  It raises
#: NoRouteError if the transform is known and is not a measure.
Maker = Callable[..., "ClosedPair | Atom"]


def make_pair(make: Maker, dim: int, *arguments: Any) -> ClosedPair | Atom:
    """The component of a kernel, with constants of 50 digits."""
    with mp.workdps(_DIGITS):
        return make(dim, *arguments)


@dataclass(frozen=True, eq=False)
class ClosedPair(Component):
    """The component of a kernel of a family in one dimension.

    At d = 1000 the sum of log Gamma(d/2), d log w and the like loses digits.  So ``log_front`` is
    computed with 50 digits, and ``values`` uses terms that are small in the bulk.  The coefficient
    is exact: a polynomial in z for a Gaussian, a complex number for a Matern kernel with a wave.
    """

    family: Maker
    dim: int
    parameters: tuple[Any, ...]
    coefficient: sympy.Expr
    #: The density mu(w) on R^dim as an expression in ``w``.
    formula: sympy.Expr
    log_front: float
    values: Callable[[FloatArray], Values]
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
        """The total as an exact number."""
        return sympy.re(self.coefficient.subs(Z, 0))

    @property
    def total(self) -> float:  # type: ignore[override]
        """The total, rounded."""
        return float(self.exact_total)

    def evaluate(self, w: FloatArray) -> Evaluation:
        """What is known at radii w > 0; the errors are estimates of rounding."""
        with np.errstate(over="ignore", divide="ignore"):
            terms, factor, size, roundings = self.values(np.asarray(w, dtype=float))
            log = np.asarray(self.log_front + sum(terms))
            count = 1.0 + abs(self.log_front) + sum(np.abs(t) for t in terms) + roundings
            # If the logarithm is -inf, the density is 0 and so is its error.
            error = _ROUNDING * np.where(np.isfinite(log), count, 1.0)
            sign = np.sign(factor) * np.ones_like(log)
            return sign, log + np.log(np.abs(factor)), log + np.log(size), error

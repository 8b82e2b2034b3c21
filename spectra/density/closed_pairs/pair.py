"""What a closed pair is: the summands that it claims, and the component that their sum makes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.summands import Summand, tidy
from spectra.density.components import Atom, Component

__all__ = [
    "CONSTANT",
    "DIGITS",
    "LEAST_SHARE",
    "OUTSIDE",
    "ROUNDING",
    "CentredPair",
    "Pair",
    "Term",
    "W",
    "log_ratio",
]

#: The key of what is constant: a summand may be a sum of a pair's own and a number.
CONSTANT = ()
#: The parameters between the dimension and the coefficient, and the coefficient.
Term = tuple[tuple[Any, ...], sympy.Expr]
#: The radius of a frequency, the variable of the formulas of densities.
W = sympy.Symbol("w", positive=True)
#: The bulk leaves out this share of a law on each side.
OUTSIDE = 0.01
#: A share of a law below this lies at no radius that a double can hold.
LEAST_SHARE = 1e-200
#: Decimal digits of the constants.
DIGITS = 50
#: A logarithm of a ratio, its factor and its place in a sum round at most six half-ulps.
ROUNDING = 3.0 * float(np.finfo(float).eps)


def log_ratio(value: FloatArray, reference: float, difference: FloatArray) -> FloatArray:
    """log(value / reference), given value - reference to full relative accuracy."""
    x = difference / reference
    near = np.abs(x) < 0.5
    with np.errstate(divide="ignore"):
        far = np.log(np.where(near, 1.0, value / reference))
    return np.asarray(np.where(near, np.log1p(np.where(near, x, 0.0)), far))


class Pair(Component):
    """A family of kernels with a known transform, as a component of a density.

    It is made as ``cls(dim, *key, coefficient)``, with the keys that :meth:`claim` returns.
    """

    coefficient: sympy.Expr

    @classmethod
    def serves(cls, dim: int) -> bool:
        """Whether the transform is known in a dimension."""
        return True

    @classmethod
    @abstractmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """A summand as a sum of kernels of the family; None where it is none."""

    @classmethod
    def tidy(cls, coefficient: sympy.Expr) -> sympy.Expr:
        """One form for equal coefficients; 0 where a sum of them cancels."""
        return tidy(coefficient)

    @classmethod
    def made(cls, dim: int, key: tuple[Any, ...], coefficient: sympy.Expr) -> Self | Atom:
        """The transform in a dimension.

        Raises
        ------
        NoRouteError
            Where it is known and is not a measure.
        """
        return cls(dim, *key, coefficient)  # type: ignore[call-arg]

    @property
    def exact_total(self) -> sympy.Expr:
        """The total as an exact number."""
        return self.coefficient

    @abstractmethod
    def formula(self) -> sympy.Expr | None:
        """mu(w) as a sympy expression in ``w``, if there is one."""

    def _set(self, **values: Any) -> None:
        """What ``__post_init__`` finds of a frozen pair."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


class CentredPair(Pair):
    """A pair c * exp(log), with one sign, whose logarithm knows the size of its terms.

    At d = 1000 a sum of logarithms such as log Gamma(d/2) and d log w loses three digits.  Here
    the logarithm is its value at a radius in the bulk, found once with 50 digits, plus differences
    that are small there; the error counts every rounding of that sum.  The subclass sets
    ``_sign``, ``_centre`` (a radius in the bulk) and ``_log_centre``, the logarithm of the
    component there.
    """

    dim: int
    _sign: float
    _centre: float
    _log_centre: float

    @abstractmethod
    def _terms(self, w: FloatArray) -> tuple[FloatArray, ...]:
        """The summands of log|rho(w)| - log|rho(centre)|."""

    def _origin_term(self, w: FloatArray, exponent: float) -> FloatArray:
        return exponent * log_ratio(w, self._centre, w - self._centre)

    def _conditioning(self, w: FloatArray) -> FloatArray:
        """Relative error, in units of rounding, that the terms do not show by their size."""
        return np.zeros_like(w)

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of the absolute value of the component at radii w > 0."""
        w = np.asarray(w, dtype=float)
        # A log that leaves the range of doubles is -inf: the density there is 0 for every use.
        with np.errstate(over="ignore"):
            log = self._log_centre + sum(self._terms(w), np.zeros_like(w))
        return np.full_like(w, self._sign), log

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error at w, relative to the absolute value (or envelope) there."""
        w = np.asarray(w, dtype=float)
        with np.errstate(over="ignore"):
            size = sum((np.abs(t) for t in self._terms(w)), np.zeros_like(w))
            size += abs(self._log_centre) + self._conditioning(w)
        # Where the size is infinite the density is 0, and so is its error.
        return np.asarray(ROUNDING * (1.0 + np.where(np.isfinite(size), size, 0.0)))

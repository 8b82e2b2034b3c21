"""What a closed pair says of itself: which summands are its own, and what it makes of their sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import sympy

from spectra.density import Atom, Component
from spectra.transform.summands import Summand, tidy

__all__ = ["CONSTANT", "Pair", "Term"]

#: The key of what is constant: a summand may be a sum of a pair's own and a number.
CONSTANT = ()
#: The parameters between the dimension and the coefficient, and the coefficient.
Term = tuple[tuple[Any, ...], sympy.Expr]


class Pair(ABC):
    """A family of kernels with a known transform, as a component of a density.

    A pair is a :class:`spectra.density.Component` too, which says what must be set.  It is made as
    ``cls(dim, *key, coefficient)``, with the keys that :meth:`claim` returns.
    """

    @classmethod
    @abstractmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """A summand as a sum of kernels of the family; None where it is none."""

    @classmethod
    def tidy(cls, coefficient: sympy.Expr) -> sympy.Expr:
        """One form for equal coefficients; 0 where a sum of them cancels."""
        return tidy(coefficient)

    @classmethod
    def made(cls, dim: int, key: tuple[Any, ...], coefficient: sympy.Expr) -> Component | Atom:
        """The transform in a dimension.

        Raises
        ------
        NoRouteError
            Where it is known and is not a measure.
        """
        component = cls(dim, *key, coefficient)  # type: ignore[call-arg]
        assert isinstance(component, Component)
        return component

    @abstractmethod
    def formula(self) -> sympy.Expr | None:
        """mu(w) as a sympy expression in ``w``, if there is one."""

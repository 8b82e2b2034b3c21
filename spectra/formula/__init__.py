"""Formulas: from text to exact sympy expressions, and from expressions to numbers.

User input is never executed.  ``reader`` parses text and sympy expressions, ``evaluation`` computes
values in doubles, mpmath numbers and balls, and ``expansions`` computes asymptotic expansions from
one side of a point and at infinity.
"""

from spectra.formula.callables import Opaque
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece

__all__ = ["Opaque", "Piece", "value_at_zero"]

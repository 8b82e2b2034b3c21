"""Formulas: from text to exact expressions, and from expressions to numbers.

Nothing that a user types is ever run.  ``reader`` makes expressions of text and of sympy,
``evaluation`` functions of doubles, mpmath numbers and balls, ``expansions`` one-sided expansions.
"""

from spectra.formula.callables import Opaque
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece

__all__ = ["Opaque", "Piece", "value_at_zero"]

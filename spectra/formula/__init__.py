"""Formulas: from text to exact sympy expressions, and from expressions to numbers.

User input is never executed: what ``functions`` and ``parsing`` do not allow is refused.
``evaluate``, ``program`` and ``ball_function`` compute values in doubles, mpmath numbers and balls;
the package ``expansions`` computes asymptotic expansions from one side of a point and at infinity.
"""

from spectra.formula.ball_function import constant_ball
from spectra.formula.callables import Opaque
from spectra.formula.evaluate import mpmath_function
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parameters import exact_parameter
from spectra.formula.parsing import Z, parse_formula
from spectra.formula.pieces import Piece

__all__ = [
    "Opaque", "Piece", "Z", "constant_ball", "exact_parameter", "mpmath_function", "parse_formula",
    "value_at_zero",
]  # fmt: skip

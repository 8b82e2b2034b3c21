"""Values of formulas in doubles and with more digits."""

from spectra.formula.evaluation.ball_function import number
from spectra.formula.evaluation.evaluate import mpmath_function

__all__ = ["mpmath_function", "number"]

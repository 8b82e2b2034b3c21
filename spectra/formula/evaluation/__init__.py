"""Values of formulas in doubles, in mpmath numbers and in ball arithmetic."""

from spectra.formula.evaluation.ball_function import constant_ball
from spectra.formula.evaluation.evaluate import mpmath_function

__all__ = ["constant_ball", "mpmath_function"]

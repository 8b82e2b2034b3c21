"""Kernels that are zero beyond a radius: moments within, expansions at the edge.

Read in this order: ``compact`` (closed forms, with ``read_ball_form`` and ``ball_formula``),
``numeric/compact_numeric`` (any other formula, with ``numeric/numeric_ball`` and
``numeric/tanh_sinh``); both end in ``ball_form``: moments, expansions at the edge and at the
origin. From there ``ascending_series`` (small radii), ``edge``, ``numeric/power_series`` and
``tail`` (large ones).
"""

from spectra.density.ball.ball_formula import compact_formula
from spectra.density.ball.read_ball_form import ball_form

__all__ = [
    "ball_form",
    "compact_formula",
]

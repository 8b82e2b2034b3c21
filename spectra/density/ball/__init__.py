"""Kernels that are zero beyond a radius: moments within, expansions at the edge.

Read in this order: ``compact`` (closed forms, with ``ball_reading`` and ``ball_formula``),
``compact_numeric`` (any other formula, with ``numeric_ball`` and ``tanh_sinh``); both end in
``ball``: moments, expansions at the edge and at the origin.  From there ``ascending`` (small
radii), ``edge``, ``power_series`` and ``tail`` (large ones).
"""

from spectra.density.ball.ball_formula import compact_formula
from spectra.density.ball.read_ball_form import ball_form

__all__ = [
    "ball_form",
    "compact_formula",
]

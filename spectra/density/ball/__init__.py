"""Densities of formulas on a ball z <= R: closed forms and numbers.

``read_ball_form`` recognizes sums of powers (``ball_form``), whose transforms have exact moments
(``ascending_series``) and formulas (``ball_formula``).  ``numeric`` integrates any other formula.
Both become a component (``compact``): panels up to a radius, and from there on the expansions at
the edge and at the origin (``edge``, ``tail``).
"""

from spectra.density.ball.ball_formula import compact_formula
from spectra.density.ball.read_ball_form import ball_form

__all__ = [
    "ball_form",
    "compact_formula",
]

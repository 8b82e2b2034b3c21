"""Measures made to order: right on the distances that the data need, and cheapest among those.

``least`` holds :func:`design` (least mass or variance within a tolerance) and
:func:`price_curve`; ``budget`` holds :func:`design_for_budget` (least total error for a number of
columns).  Below them: ``program`` (linear programmes with exchange), ``certificate`` (the error on
the whole domain), ``waves`` (variances of plane waves), ``distances`` (the domain and its law).
"""

from spectra.designs.budget import BudgetDesign, design_for_budget
from spectra.designs.least import Design, PriceCurve, design, price_curve

__all__ = [
    "BudgetDesign",
    "Design",
    "PriceCurve",
    "design",
    "design_for_budget",
    "price_curve",
]

"""Measures made to order: right on the distances that the data need, and cheapest among those.

``order`` holds :func:`design`, the door to all of them: ``least`` finds the least mass or variance
within a tolerance, and the :func:`price_curve`; ``budget`` the least total error for a number of
columns on shared directions (:func:`design_for_budget`), ``allocation`` on separate ones; ``tail``
adds a closed-form part for a kink (:func:`design_with_tail`).  Below them: ``program`` (linear
programmes with exchange), ``certificate`` (the error on the whole domain), ``waves`` (variances of
plane waves), ``distances`` (the domain and its law), ``atoms`` (the table of a design).
"""

from spectra.designs.budget import BudgetDesign, design_for_budget
from spectra.designs.least import Design, PriceCurve, price_curve
from spectra.designs.order import design
from spectra.designs.tail import TailedDesign, design_with_tail

__all__ = [
    "BudgetDesign",
    "Design",
    "PriceCurve",
    "TailedDesign",
    "design",
    "design_for_budget",
    "design_with_tail",
    "price_curve",
]

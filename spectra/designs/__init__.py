r"""Measures made to order: right on the distances that the data need, and cheapest among those.

``order`` holds :func:`design`, the one door, ``spheres`` the one :class:`Design`; ``price`` shows
what each tolerance costs (:func:`price_curve`).  Behind the door: ``least`` finds the least mass or
variance within a tolerance, ``tail`` beside a closed-form part for a kink, ``shared`` the least
total error for a number of columns on shared directions, ``separate`` on separate ones.  Below
them: ``program`` (linear programmes with exchange), ``simplex`` (one of them), ``certificate`` (the
error on the whole domain), ``waves`` (variances of plane waves), ``distances`` (the domain and its
law), ``powers`` (what exact features serve).
"""

from spectra.designs.certificate import estimated_sup_error, proved_sup_error
from spectra.designs.designed_measure import Design
from spectra.designs.solve import design
from spectra.designs.tradeoff import PriceCurve, price_curve

__all__ = [
    "Design",
    "PriceCurve",
    "design",
    "estimated_sup_error",
    "price_curve",
    "proved_sup_error",
]

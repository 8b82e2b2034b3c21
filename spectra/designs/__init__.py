r"""Measures made to order: right on the distances that the data need, and cheapest among those.

``solve`` holds :func:`design`, the one door, ``designed_measure`` the one :class:`Design`;
``tradeoff`` shows what each tolerance costs (:func:`price_curve`). Behind the door:
``methods/least_mass`` finds the least mass or variance within a tolerance,
``methods/closed_tail`` beside a closed-form part for a kink, ``methods/shared_directions`` the
least total error for a number of columns on shared directions, ``methods/separate_directions`` on
separate ones. Below them: ``methods/linear_programme`` (linear programmes with exchange),
``methods/highs`` (one of them), ``certificate`` (the error on the whole domain), ``wave_columns``
(variances of plane waves), ``distances`` (the domain and its law), ``exact_powers`` (what exact
features serve).
"""

from spectra.designs.certificate import estimated_sup_error, proved_sup_error
from spectra.designs.designed_measure import Design
from spectra.designs.exact_powers import power_columns
from spectra.designs.solve import design
from spectra.designs.tradeoff import PriceCurve, price_curve
from spectra.designs.wave_columns import angular_means, wave_moment

__all__ = [
    "Design",
    "PriceCurve",
    "angular_means",
    "design",
    "estimated_sup_error",
    "power_columns",
    "price_curve",
    "proved_sup_error",
    "wave_moment",
]

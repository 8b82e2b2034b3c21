"""Which components have a law in ball arithmetic."""

from __future__ import annotations

from spectra.certify.balls import Ball, Unproved, exact_ball
from spectra.certify.cauchy_law import CauchyLaw
from spectra.certify.laws import GaussianLaw, Law, MaternLaw
from spectra.density import Component
from spectra.transform.smooth_pairs.smooth import Gaussian, Matern, PlaneWaveMean, RationalQuadratic

__all__ = ["law_of", "one_signed_total"]


def one_signed_total(component: Component) -> Ball | None:
    """The signed mass of a component whose density has one sign, or None."""
    if isinstance(component, Matern | RationalQuadratic | PlaneWaveMean):
        return exact_ball(component.coefficient)
    if isinstance(component, Gaussian) and len(component.coefficients) == 1:
        return exact_ball(component.coefficients[0])
    return None


def law_of(component: Component) -> Law:
    """The component in ball arithmetic, at the working precision.

    Raises
    ------
    Unproved
        For a component whose masses are not known here.
    """
    if isinstance(component, Gaussian):
        return GaussianLaw(component)
    if isinstance(component, Matern):
        return MaternLaw(component)
    if isinstance(component, RationalQuadratic):
        return CauchyLaw(component)
    raise Unproved(f"a component of the kind {type(component).__name__} has no proof here")

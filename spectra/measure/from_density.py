"""From a density to a finite measure: the whole of it, or what lies within a radius."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectra.base.numbers import real_array
from spectra.density.components import Component, SpectralDensity
from spectra.errors import InfiniteMassError, ParameterError
from spectra.measure.spectral_measure import SpectralMeasure, merged_atoms

__all__ = ["measure_of", "truncate"]


def measure_of(density: SpectralDensity) -> SpectralMeasure:
    """The finite measure with this density; an InfiniteMassError where there is none."""
    for component in density.components:
        reason = _why_infinite(component)
        if reason:
            raise InfiniteMassError(
                f"The spectral measure of {density.kernel} on R^{density.dim} has infinite mass: "
                f"{reason}. No positive decomposition exists; design a finite measure for your "
                "distances, or take spectra.measure.truncate(density, radius) with its bias."
            )
    atoms, cancelled = merged_atoms(density.atoms)
    return SpectralMeasure(density.dim, density.kernel, atoms, density, cancelled_atoms=cancelled)


def truncate(density: SpectralDensity, radius: float) -> SpectralMeasure:
    """The measure with all frequencies beyond a radius cut off, and a record of what that loses.

    The density may be one of infinite mass; ``lost_mass`` and ``bias`` are then infinite.  A
    ParameterError if the radius is not positive and finite, or leaves too many sign changes.
    """
    if real_array(radius, "the radius").ndim or not (np.isfinite(radius) and radius > 0):
        raise ParameterError(f"A truncation needs a finite radius greater than 0, not {radius}.")
    kept, cancelled = merged_atoms([a for a in density.atoms if a.radius <= radius])
    beyond = sum(abs(a.mass) for a in density.atoms if a.radius > radius)
    cut = SpectralMeasure(
        density.dim, density.kernel, kept, density, radius=float(radius), cancelled_atoms=cancelled
    )
    if any(_why_infinite(c) for c in density.components):
        return replace(cut, lost_mass=np.inf)
    whole = measure_of(replace(density, atoms=()))
    lost = whole.mass - replace(cut, atoms=()).mass
    return replace(cut, lost_mass=beyond + max(lost.mid, 0.0) + lost.rad)


def _why_infinite(component: Component) -> str:
    """Why the mass of a component is infinite, in words; empty where it is finite."""
    if component.origin_exponent <= -1:
        return f"it behaves like w^({component.origin_exponent:g}) at w = 0"
    for radius, exponent in component.breaks:
        if exponent <= -1:
            return f"it grows like (R - w)^({exponent:g}) at w = R = {radius:g}"
    if component.decay <= 1:
        tail = component.tail
        waves = "" if tail is None else f"oscillates with frequency {tail.frequency:g} and "
        return f"it {waves}behaves like w^({-component.decay:g}) at infinity"
    return ""

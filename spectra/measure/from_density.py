"""Make the finite measure of a density, or of a density that is truncated at a radius."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectra.base.numbers import real_array
from spectra.density.components import Component, SpectralDensity
from spectra.errors import InfiniteMassError, ParameterError
from spectra.measure.spectral_measure import SpectralMeasure, merge_atoms

__all__ = ["measure_of", "truncate"]


def measure_of(density: SpectralDensity) -> SpectralMeasure:
    """The measure with this density; raises an InfiniteMassError if its mass is infinite."""
    for component in density.components:
        reason = _why_infinite(component)
        if reason:
            raise InfiniteMassError(
                f"The spectral measure of {density.name} on R^{density.dim} has infinite mass: "
                f"{reason}. No positive decomposition exists. Design a finite measure for your "
                "distances (design)."
            )
    atoms, cancelled = merge_atoms(density.atoms)
    return SpectralMeasure(density.dim, density.kernel, atoms, density, cancelled_atoms=cancelled)


def truncate(density: SpectralDensity, radius: float) -> SpectralMeasure:
    """The measure restricted to frequencies up to a radius; it stores the mass that this removes.

    The mass of the density may be infinite; ``lost_mass`` and ``bias`` are then infinite.  Raises a
    ParameterError if the radius is not positive and finite, or if there are too many sign changes.
    """
    if real_array(radius, "the radius").ndim or not (np.isfinite(radius) and radius > 0):
        raise ParameterError(f"A truncation needs a finite radius greater than 0; got {radius}.")
    kept, cancelled = merge_atoms([a for a in density.atoms if a.radius <= radius])
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
    """Explain why the mass of a component is infinite; an empty text if it is finite."""
    if component.origin_exponent <= -1:
        return f"it behaves like w^({component.origin_exponent:g}) at w = 0"
    for radius, exponent in component.breaks:
        if exponent <= -1:
            return f"it grows like |w - R|^({exponent:g}) at w = R = {radius:g}"
    if component.decay <= 1:
        tail = component.tail
        waves = "" if tail is None else f"oscillates with frequency {tail.frequency:g} and "
        return f"it {waves}behaves like w^({-component.decay:g}) at infinity"
    return ""

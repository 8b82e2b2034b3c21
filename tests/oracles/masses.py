"""The measure of a formula, and whether its two masses make up the kernel at zero."""

from __future__ import annotations

from functools import cache

from spectra.density import spectral_density
from spectra.kernels.kernel import radial
from spectra.measure import SpectralMeasure, measure_of


@cache
def measure(formula: str, dim: int, support: float | None = None) -> SpectralMeasure:
    """The measure of a radial formula, made once."""
    return measure_of(spectral_density(radial(formula, support=support), dim))


def holds_total(m: SpectralMeasure) -> bool:
    """M+ - M- = k(0), within the stated errors."""
    missed = abs(m.positive_mass.mid - m.negative_mass.mid - m.k_zero)
    return bool(missed <= m.positive_mass.rad + m.negative_mass.rad + 4e-16 * m.mass.mid)

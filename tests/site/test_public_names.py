"""What a user meets first: few names, short prints, and proofs where the things themselves are."""

import pytest

import spectra as sp

# A name more is a decision: whatever is not here is a method, or lies in its room.
PUBLIC = [
    "CompositeKernel",
    "Design",
    "Enclosure",
    "Kernel",
    "SpectralDensity",
    "SpectralMeasure",
    "SpectralTable",
    "Status",
    "Verdict",
    "additive",
    "catalogue",
    "derive",
    "design",
    "dot_product",
    "empirical_variogram",
    "existence",
    "family",
    "great_circle",
    "l1",
    "radial",
    "spectral_density",
    "spectral_measure",
    "spectrum",
    "sphere_coefficients",
    "tabulate",
    "time_limit",
    "variogram",
    "zonal",
]


def test_the_public_names_are_few_and_all_of_them_load():
    assert sp.__all__ == PUBLIC
    assert all(getattr(sp, name) is not None for name in sp.__all__)
    with pytest.raises(AttributeError, match="certify_masses"):
        _ = sp.certify_masses

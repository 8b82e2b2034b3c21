"""What a user meets first: few names, short prints, and proofs where the things themselves are."""

import numpy as np
import pytest

import spectra as sp
from rf import SpectralFeatures, load_dataset, two_sample_test

GAUSS = "exp(-z**2/2)"
# A name more is a decision: whatever is not here is a method, or lies in its room.
PUBLIC = [
    "AsymmetricKernel",
    "Design",
    "Enclosure",
    "GroupedKernel",
    "Kernel",
    "L1Kernel",
    "SpectralDensity",
    "SpectralMeasure",
    "SpectralTable",
    "Status",
    "Verdict",
    "additive",
    "catalogue",
    "derive",
    "design",
    "existence",
    "l1",
    "radial",
    "spectral_density",
    "spectral_measure",
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


def test_conditions_are_told_in_words():
    beyond = sp.existence(sp.radial("(1 - z**2/4)**2", support=2)).on_domain(2)
    assert repr(beyond) == "DomainVerdict on distances up to 2: FINITE (finite for every d)"
    acos = sp.existence(sp.zonal("acos(u)"))
    assert "INFINITE" not in repr(acos.on_domain(1))
    assert repr(acos.on_domain(2)).endswith("UNDECIDED (finite for d < 2)")


def test_results_print_what_a_person_wants_to_know():
    X = np.random.default_rng(0).normal(size=(40, 3))
    difference = f"{GAUSS} - exp(-z**2/200)"
    features = SpectralFeatures(
        difference, n_components=64, coupling="iid", mixed_signature="ignore", random_state=0
    ).fit(X)
    minus = int((features.signature_ < 0).sum())
    a, b = features.counts_
    test = two_sample_test(X[:20], X[20:], random_state=0)
    expected = {
        features.feature_map_: f"FourierMap: 64 columns, {minus} of them with signature -1",
        features.frequencies_: f"Frequencies: 32 in R^3, {a} + {b} of each part",
        sp.variogram("z**(3/2)"): "Variogram(z**(3/2))",
        sp.catalogue.entries["matern"]: "Entry(matern(nu=3/2, length=1): Matern)",
        sp.spectral_density(sp.radial(GAUSS), 2): (
            f"SpectralDensity of {GAUSS} on R^2 by lookup: 1 component, 0 atoms"
        ),
        test: f"TwoSampleResult: p = {test.p_value:.4g} (of 1000 splits), MMD^2 = "
        f"{test.mmd2:.3g} ± {test.standard_error:.2g}",
    }
    assert minus == 2 * b > 0
    for thing, text in expected.items():
        assert repr(thing) == text
    assert repr(load_dataset("digits")).startswith("Dataset(digits: 1200 + 597 rows in R^64; ")

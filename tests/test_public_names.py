"""What a user meets first: few names, short prints, and proofs where the things themselves are."""

import numpy as np
import pytest

import spectra as sp
from rf import SpectralFeatures, load_dataset, two_sample_test
from spectra.measure import truncate

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
    with pytest.raises(AttributeError, match="certify_table"):
        _ = sp.certify_table


@pytest.mark.slow
def test_prints_are_short_and_name_the_kernel():
    kernel = sp.radial(f"{GAUSS} - exp(-z**2/200)")
    verdict = sp.existence(kernel, dim=3)
    table = sp.tabulate(verdict.measure)
    things = [
        kernel,
        kernel.shift(0.5),
        verdict,
        sp.existence(kernel.shift(0.5), dim=3),
        verdict.on_domain(2),
        verdict.measure,
        verdict.measure.density,
        table,
        truncate(verdict.measure.density, 3.0),
    ]
    for thing in things:
        assert len(repr(thing)) < 200
        assert "\n" not in repr(thing)
        assert "exp(-z**2/2)" in repr(thing) or thing is things[4]
    for part in verdict.measure.parts():
        assert len(repr(part)) < 120
    for short in (
        verdict.measure.certified(),
        table.certified(),
        sp.sphere_coefficients(kernel, 3),
    ):
        assert len(repr(short)) < 200


def test_a_table_is_proved_against_the_formula_that_it_holds(tmp_path):
    table = sp.derive(GAUSS, dim=3, cache=False)
    table.save(tmp_path / "t.npz")
    kept = sp.SpectralTable.load(tmp_path / "t.npz").certified()
    assert kept.rigorous
    assert kept == table.certified(sp.spectral_measure(sp.radial(GAUSS), 3))
    assert 0.0 < kept.u_error < 1e-13


def test_a_table_that_was_truncated_asks_for_its_measure():
    cut = sp.tabulate(truncate(sp.spectral_density(sp.radial(GAUSS), 2), 6.0)).certified()
    assert not cut.rigorous
    assert "truncated" in cut.reason
    assert "pass the measure" in cut.reason
    assert cut.u_error == float("inf")


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

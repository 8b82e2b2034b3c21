"""What results print of themselves: what a person wants to know, in a line."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spectra as sp
from rf import GaussianField, SpectralFeatures, load_dataset, two_sample_test
from spectra.base.enclosures import Enclosure

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def _results() -> list[tuple[object, str]]:
    kernel = sp.radial("exp(-z)*cos(2*z)")
    verdict = sp.existence(kernel, dim=3)
    features = SpectralFeatures(kernel, n_components=32, random_state=0, mixed_signature="ignore")
    features.fit(ROWS)
    field = GaussianField("gaussian", dim=3, n_components=32, random_state=0)
    table = sp.derive(kernel, 3)
    return [
        (verdict, "finite mass in d = 3"),
        (verdict.positive_definite, "Definiteness: refuted. exp(-a z) cos(b z)"),
        (sp.existence(sp.radial("exp(-z)"), dim=2).positive_definite, "Definiteness: proved."),
        (verdict.on_domain(1.0), "up to 1 in d = 3: FINITE"),
        (table, "on R^3: + part of mass 1.252"),
        (table.sample(5, rng=0), "5 frequencies in R^3"),
        (features.feature_map_, "FourierMap: 32 columns, "),
        (features.frequencies_, "Frequencies: 16 in R^3, "),
        (two_sample_test(ROWS[:15], ROWS[15:], random_state=0), "(of 1000 splits), MMD^2 = "),
        (sp.variogram("z**(3/2)"), "Variogram(z**(3/2))"),
        (sp.catalogue.entries["matern"], "Family(matern(nu=3/2, length=1): Matern)"),
        (load_dataset("digits"), "Dataset(digits: 1200 + 597 rows in R^64; "),
        (sp.existence(sp.zonal("acos(u)")).on_domain(2), "UNDECIDED (finite for d < 2)"),
        (features.report_[0], "frequencies, root mean square error 0."),
        (field.condition(ROWS, ROWS[:, 0], noise=0.1), "through 30 values with errors of 0.1"),
        (sp.spectral_density(kernel, 3), "by lookup"),
    ]


def test_a_result_says_in_a_line_what_it_is() -> None:
    for result, said in _results():
        text = repr(result)
        assert said in text
        assert "array(" not in text
        assert "\n" not in text
        assert len(text) < 300


@given(st.floats(min_value=0.0, allow_infinity=False, allow_nan=False))
def test_a_printed_bound_is_a_bound(radius):
    printed = float(str(Enclosure(1.0, radius)).split()[2])
    assert radius <= printed
    assert printed <= 1.1 * radius or radius < 1e-300


@given(
    value=st.floats(-1e6, 1e6),
    bound=st.floats(0.0, 1e3),
    spec=st.sampled_from([".3f", ".0f", ".2%", ".4g", ".1e", "+.2f", ",.2f", ">25.3f", "012.2f"]),
)
def test_what_a_format_prints_is_within_a_unit_of_the_truth_or_has_the_bound(
    value: float, bound: float, spec: str
) -> None:
    text = format(Enclosure(value, bound), spec)
    printed, _, beside = text.partition(" ± ")
    digits = printed.strip().replace(",", "").rstrip("%")
    scale = 100.0 if printed.endswith("%") else 1.0
    unit = 10.0 ** Decimal(digits).as_tuple().exponent
    assert float(digits) == float(format(value, spec).strip().replace(",", "").rstrip("%"))
    if beside:
        assert 2.0 * scale * bound > unit
        assert float(beside.rstrip("%")) >= scale * bound * (1 - 1e-15)
    else:
        furthest = max(abs(scale * (value + s * bound) - float(digits)) for s in (-1.0, 1.0))
        assert furthest <= unit * (1 + 1e-9)
        assert text == format(value, spec)


def test_an_enclosure_without_a_format_prints_its_bound_and_a_wrong_one_is_refused() -> None:
    found = Enclosure(1.5, 2.0**-10, rigorous=True)
    assert f"{found}" == str(found) == "1.5 ± 9.8e-04 (proved)"
    assert f"{found:>30}" == str(found).rjust(30)
    with pytest.raises(ValueError, match="format"):
        f"{found:.3q}"

"""Spectra given by samples: the stated error covers the true one, and what is missing is told."""

import numpy as np
import pytest

import spectra as sp
from spectra.errors import InfiniteMassError, ParameterError
from tests.oracles.spectra import gaussian, matern

Z = np.concatenate([[0.0], np.geomspace(1e-3, 100.0, 30)])
K = np.geomspace(1e-3, 1e3, 200)
CASES = {"gaussian": gaussian, "1/3": lambda d: matern("1/3", d), "3/2": lambda d: matern("3/2", d)}


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("case", list(CASES))
def test_the_stated_error_of_samples_covers_the_true_one(case, dim):
    power = CASES[case](dim)[1]
    band = sp.spectrum(power, dim, kind="power", band=(1e-3, 1e3))
    exact = band.covariance(Z)[0]
    for count, least in ((50, 1e-3), (200, 1e-10), (800, 3e-13)):
        k = np.geomspace(1e-3, 1e3, count)
        measure = sp.spectrum((k, power(k)), dim, kind="power")
        values, errors = measure.covariance(Z)
        assert np.all(np.abs(values - exact) <= errors)
        assert np.abs(values - exact).max() <= least
        assert errors.max() <= 10 * least


@pytest.mark.parametrize("case", ["1/3", "3/2"])
def test_the_missing_mass_is_estimated_and_can_be_added(case):
    _, power, exact = CASES[case](3)
    ends = sp.spectrum((K, power(K)), 3, kind="power")
    band = sp.spectrum(power, 3, kind="power", band=(K[0], K[-1]))
    assert ends.missing == pytest.approx(1.0 - band.k_zero, rel=1e-4)
    assert sp.tabulate(ends).bias == ends.lost_mass < 1e-10
    extended = sp.spectrum((K, power(K)), 3, kind="power", extend=True)
    assert extended.missing == 0.0
    values, errors = extended.covariance(Z)
    assert np.all(np.abs(values - exact(Z)) <= errors)
    assert errors.max() <= 1e-6


def test_signed_samples_have_parts_of_both_signs():
    k = np.geomspace(1e-3, 8.0, 300)
    measure = sp.spectrum((k, np.exp(-(k**2) / 2) * (1 - k**2 / 2)), 1, kind="density")
    whole = sp.spectrum("exp(-w**2/2)*(1 - w**2/2)", 1, kind="density")
    assert measure.negative_mass.mid == pytest.approx(whole.negative_mass.mid, abs=1e-9)
    missing = whole.positive_mass.mid - measure.positive_mass.mid
    assert missing == pytest.approx(measure.missing, rel=1e-3)


@pytest.mark.parametrize(
    ("k", "values", "text"),
    [
        ([1, 2, 2, 3], [1, 1, 1, 1], r"Row 2 .*ascending"),
        ([-1, 2, 3, 4], [1, 1, 1, 1], r"Row 0 .*ascending"),
        ([1, np.nan, 3, 4], [1, 1, 1, 1], r"Row 1 .*ascending"),
        ([1, 2, 3, 4], [1, 1, np.nan, 1], r"Row 2 .*finite"),
        ([1], [1], "at least 4"),
        ([1, 2, 3, 4], [1, 1, 1], "two arrays"),
        ([1, 2, 3, 4], [0, 0, 0, 0], "not all 0"),
    ],
)
def test_bad_samples_are_refused_with_the_row(k, values, text):
    with pytest.raises(ParameterError, match=text):
        sp.spectrum((k, values), 3, kind="power")
    with pytest.raises(ParameterError, match="no options but"):
        sp.spectrum((K, K), 3, kind="power", band=(0, 1))


def test_samples_without_a_finite_extension_make_a_measure_of_the_band_only():
    measure = sp.spectrum((K, K**-3.0), 3, kind="power")
    assert measure.missing == np.inf
    assert sp.tabulate(measure).mass == pytest.approx(np.log(1e6) / (2 * np.pi**2), rel=1e-12)
    with pytest.raises(InfiniteMassError, match="exponents -3 and -3"):
        sp.spectrum((K, K**-3.0), 3, kind="power", extend=True)

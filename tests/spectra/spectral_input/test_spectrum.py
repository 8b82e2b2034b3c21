"""Measures of given spectra: formulas and functions in every convention, and what is refused."""

import pickle
import re
from math import gamma, pi

import numpy as np
import pytest
from scipy.special import sici

import spectra as sp
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError
from spectra.measure import truncate
from tests.oracles.spectra import BBKS, bbks, gaussian, jonswap, jonswap_covariance, matern

Z = np.array([0.0, 1e-3, 0.1, 0.7, 2.0, 9.0, 30.0])
REMEDIES = {0: r"outer scale.*band=\(low, inf\)", 1: r"inner scale.*cut-off, band=\(0, high\)"}


def from_power(kind, cycles, dim):
    """Factor and power with which a power spectrum P(k) becomes a spectrum of another kind."""
    turn, area = (2 * pi) ** dim, 2 * pi ** (dim / 2) / gamma(dim / 2)
    factor, power, turns = {
        "density": (1 / turn, 0, dim), "power": (1.0, 0, 0),
        "shell": (area / turn, dim - 1, 1), "log": (area / turn, dim, 0),
    }[kind]  # fmt: skip
    return factor * (2 * pi) ** (cycles * turns), power


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("kind", ["density", "power", "shell", "log"])
@pytest.mark.parametrize("case", ["gaussian", "1/3", "3/2"])
def test_every_kind_gives_the_covariance_within_the_stated_error(case, kind, dim):
    text, power_spectrum, exact = gaussian(dim) if case == "gaussian" else matern(case, dim)
    for cycles in (False, True):
        factor, power = from_power(kind, cycles, dim)
        turn = 2 * pi if cycles else 1.0

        def S(f, factor=factor, power=power, turn=turn):
            return factor * (turn * f) ** power * power_spectrum(turn * f)

        given = [(S, {})] if cycles else [(S, {}), (f"c*k**{power}*{text}", {"c": factor})]
        for spectrum, parameters in given:
            measure = sp.spectrum(spectrum, dim, kind=kind, cycles=cycles, **parameters)
            values, errors = measure.covariance(Z)
            assert np.all(np.abs(values - exact(Z)) <= errors)
            assert errors.max() <= 1e-12


def test_a_table_and_a_variogram_agree_with_the_covariance_in_high_dimension():
    for dim in (1, 20):
        measure = sp.spectrum(gaussian(dim)[1], dim, kind="power")
        values, errors = measure.variogram(Z)
        assert np.all(np.abs(values - (1 - np.exp(-(Z**2) / 2))) <= errors)
        assert values[0] == errors[0] == 0.0
        table = sp.tabulate(measure)
        np.testing.assert_allclose(table.expected_kernel(Z), np.exp(-(Z**2) / 2), atol=1e-12)
    difference = sp.spectral_measure(sp.radial("2*exp(-z) - exp(-2*z)"), 2)
    values, errors = difference.covariance(Z)
    assert np.all(np.abs(values - (2 * np.exp(-Z) - np.exp(-2 * Z))) <= errors)


def test_waves_in_hertz_match_a_quadrature_though_the_spectrum_underflows():
    lags = np.array([0.3, 4.0, 20.0, 60.0])
    exact = np.array([jonswap_covariance(tau) for tau in lags])
    measure = sp.spectrum(jonswap, 1, kind="shell", cycles=True, breaks=[0.125])
    values, errors = measure.covariance(lags)
    assert np.all(np.abs(values - exact) <= 1e-12 * measure.k_zero)
    assert errors.max() <= 1e-12 * measure.k_zero
    assert abs(measure.k_zero - jonswap_covariance(0.0)) <= 1e-12 * measure.k_zero


def test_the_cold_dark_matter_spectrum_with_a_cut():
    for S in (f"{BBKS}*exp(-(k/10)**2)", lambda k: bbks(k) * np.exp(-((k / 10) ** 2))):
        values, errors = sp.spectrum(S, 3, kind="power").covariance([0.0, 2.0, 50.0])
        exact = [2.1359404372e-3, 1.111831514749e-4, -1.3333994827e-8]
        np.testing.assert_allclose(values, exact, rtol=6e-11)
        assert errors.max() < 1e-15


def test_a_band_of_one_over_f_noise():
    measure = sp.spectrum("1/f", 1, kind="shell", cycles=True, band=(1e-4, 10.0))
    tau = np.array([1e-3, 0.1, 10.0, 1e3])
    exact = sici(2e1 * pi * tau)[1] - sici(2e-4 * pi * tau)[1]
    values, errors = measure.covariance(tau)
    assert np.all(np.abs(values - exact) <= errors)
    assert abs(measure.k_zero - np.log(1e5)) <= errors.max() <= 1e-12


def test_kinks_jumps_and_signs_of_a_formula_are_found():
    shell = sp.spectrum("Heaviside(2 - k)*Heaviside(k - 1)", 3, kind="power")
    z = np.array([0.5, 2.0, 10.0])
    ball = lambda x: (np.sin(x) - x * np.cos(x)) / x**3  # noqa: E731
    values, errors = shell.covariance(z)
    assert np.all(np.abs(values - (8 * ball(2 * z) - ball(z)) / (2 * pi**2)) <= errors)
    triangle = sp.spectrum(lambda k: np.maximum(0, 1 - k), 1, kind="shell", breaks=[1.0])
    same = sp.spectrum("Max(0, 1 - k)", 1, kind="shell")
    for measure in (triangle, same):
        values, errors = measure.covariance(z)
        assert np.all(np.abs(values - (1 - np.cos(z)) / z**2) <= errors)
    signed = sp.spectrum("exp(-w**2/2)*(1 - w**2/2)", 1, kind="density")
    np.testing.assert_allclose(signed.sign_changes(), [2**0.5], rtol=1e-12)
    assert signed.negative_mass.mid > 0.3


@pytest.mark.parametrize(
    ("S", "kind", "ends"),
    [
        (BBKS, "power", (1,)),
        (bbks, "power", (1,)),
        ("k**(-5/3)", "shell", (0,)),
        (lambda k: k ** (-5 / 3), "shell", (0,)),
        ("k**(-3)", "power", (0, 1)),
        (lambda k: k**-3.0, "power", (0, 1)),
    ],
)
def test_an_infinite_variance_is_refused_with_the_remedy_of_its_end(S, kind, ends):
    with pytest.raises(InfiniteMassError, match="infinite") as caught:
        sp.spectrum(S, 3, kind=kind)
    for end, remedy in REMEDIES.items():
        assert bool(re.search(remedy, str(caught.value))) == (end in ends)


@pytest.mark.parametrize(
    ("S", "options", "error", "text"),
    [
        ("exp(-k)", {"kind": "p"}, ParameterError, "'shell'"),
        ("f*w", {}, ParameterError, "one of k, w and f"),
        ("Max(0, 1 - k**2)**(1/2)", {}, ParameterError, "infinite value or slope"),
        ("Abs(sin(k))*exp(-k)", {}, ParameterError, "breaks"),
        ("(1 + cos(k))/(1 + k**2)", {}, AccuracyError, "give a band"),
        (lambda k: np.where(k > 1, 0, 1.0), {}, AccuracyError, "breaks"),
        (lambda k: np.where(k > 1, np.nan, 1.0), {}, ParameterError, "not finite at k = 1.0"),
        (lambda k: (1 + k) ** -1.1 / np.log(3 + k), {}, ParameterError, "State it by decay"),
        (lambda k: (1 + k) ** -1.1, {"decay": 2.0}, ParameterError, "another one than is stated"),
        (lambda k: float(k), {}, ParameterError, "np.vectorize"),
        ("exp(-k)", {"extend": True}, ParameterError, "for samples"),
        (np.ones((2, 9)), {}, ParameterError, "pair of arrays"),
    ],
)
def test_an_unclear_spectrum_is_refused_with_what_to_do(S, options, error, text):
    with pytest.raises(error, match=text):
        sp.spectrum(S, 1, **({"kind": "shell"} | options))


def test_a_stated_exponent_is_used_where_logarithms_hide_it():
    slow = lambda k: (1 + k) ** -1.5 / (1 + np.log1p(k)) ** 2  # noqa: E731
    measure = sp.spectrum(slow, 1, kind="shell", decay=1.5)
    x = np.linspace(0.0, 90.0, 200_001)  # k = exp(x) - 1
    exact = np.trapezoid(np.exp(-0.5 * x) / (1 + x) ** 2, x)
    assert measure.k_zero == pytest.approx(exact, abs=1e-6)
    assert measure.lost_mass < 1e-10


def test_a_formula_of_a_measure_can_be_pickled():
    measure = sp.spectrum("exp(-k)", 2, kind="shell")
    copy = pickle.loads(pickle.dumps(measure))
    np.testing.assert_array_equal(copy.covariance(Z), measure.covariance(Z))
    assert str(copy).startswith("spectral measure of exp(-k) on R^2")


@pytest.mark.parametrize("dim", [1, 3])
def test_the_density_of_a_given_spectrum_is_a_function_with_a_limit_at_0(dim):
    text, power, _ = matern("3/2", dim)
    w = np.array([0.0, 1e-60, 1e-9, 0.3, 2.0])
    for S in (text, power):
        density = sp.spectrum(S, dim, kind="power").density
        np.testing.assert_allclose(density(w), power(w) / (2 * pi) ** dim, rtol=1e-11)
    assert sp.spectrum("k**(-1/3)*exp(-k)", dim, kind="density").density(0.0) == np.inf
    cut = truncate(sp.spectrum("exp(-k)", dim, kind="density", band=(0.1, 2.0)).density, 1.0)
    assert cut.density(0.0) == 0.0
    assert cut.kernel is None
    assert "exp(-k)" in repr(cut)

"""Components with closed forms against scipy and mpmath; waves have their own files."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats

from spectra.density import spectral_density
from spectra.density.closed_pairs.gaussian import gaussian, gaussian_wave
from spectra.density.closed_pairs.matern import matern
from spectra.density.closed_pairs.pair import make_pair
from spectra.density.closed_pairs.plane_wave_mean import plane_wave_mean
from spectra.density.components import Component
from spectra.density.kernel_check import describe_mismatch
from spectra.density.lookup import lookup
from spectra.errors import ParameterError
from spectra.formula.parsing import Z
from spectra.kernels.kernel import radial

R = sympy.Rational
ONE = sympy.Integer(1)


FAMILIES = {
    "gaussian": lambda d: make_pair(gaussian, d, R(1, 2), ONE),
    "laguerre": lambda d: make_pair(gaussian, d, R(1, 50), 1 - R(2, 3) * Z**2 + Z**4 / 7),
    "laguerre_zero_at_centre": lambda d: make_pair(gaussian, d, R(1, 2), Z**2),
    "matern_rough": lambda d: make_pair(matern, d, R(1, 10), R(3, 2), R(-3, 10)),
    "matern_7/3": lambda d: make_pair(matern, d, R(7, 3), sympy.sqrt(R(14, 3)), ONE),
    "matern_smooth": lambda d: make_pair(matern, d, R(50), R(10), ONE),
    "plane_wave_arcsine": lambda d: make_pair(plane_wave_mean, d, R(d + 1), sympy.sqrt(2), ONE),
    "plane_wave_flat": lambda d: make_pair(plane_wave_mean, d, R(d + 2), R(3), R(-2)),
    "plane_wave_high": lambda d: make_pair(plane_wave_mean, d, R(3 * d + 7), R(20), ONE),
}


@pytest.mark.parametrize(("family", "dim"), list(product(FAMILIES, (1, 1000))))
def test_the_error_in_the_bulk_is_small(family: str, dim: int) -> None:
    component = FAMILIES[family](dim)
    w = np.geomspace(*component.bulk, 20)[1:-1]
    # At d = 1000 the law of a plane-wave mean may be crowded at its rounded end.
    assert np.all(component.relative_error(w) < (1e-11 if "plane" in family else 3e-12))
    if dim <= 16:
        assert np.all(component.relative_error(w) < 2e-13)


@pytest.mark.parametrize("dim", [1, 2, 1000])
def test_the_laws_are_those_of_scipy(dim: int) -> None:
    """Gaussian: chi; Matern: root of an F variable; plane-wave mean: root of a beta variable."""
    # scipy's own error at d = 1000 is of this size
    rtol = 1e-12 * max(dim, 10)

    def check(component: Component, pdf: object) -> None:
        w = np.geomspace(*component.bulk, 9)
        np.testing.assert_allclose(np.exp(component.signed_log(w)[1]), pdf(w), rtol=rtol)

    check(make_pair(gaussian, dim, R(1, 8), ONE), lambda w: stats.chi(dim, scale=0.5).pdf(w))
    check(
        make_pair(matern, dim, R(3, 2), ONE * 2, ONE),
        lambda w: stats.betaprime(dim / 2, 1.5).pdf(w * w / 4) * w / 2,
    )
    m = dim + 5
    check(
        make_pair(plane_wave_mean, dim, R(m), ONE * 3, ONE),
        lambda w: stats.beta(dim / 2, 2.5).pdf(w * w / 9) * 2 * w / 9,
    )


def test_radii_beyond_every_scale_give_zero_or_a_number_and_never_nan() -> None:
    w = np.array([1e-300, 1e-30, 1e30, 1e300])
    for make in FAMILIES.values():
        for dim in (1, 3, 1000):
            component = make(dim)
            sign, log = component.signed_log(w)
            assert not np.any(np.isnan(sign) | np.isnan(log) | (log == np.inf)), component
            assert not np.any(np.isnan(component.relative_error(w)))


def test_a_component_keeps_its_values_when_it_is_pickled() -> None:
    w = np.array([0.5, 2.0])
    for make in FAMILIES.values():
        component = make(3)
        again = pickle.loads(pickle.dumps(component))
        np.testing.assert_array_equal(component.signed_log(w)[1], again.signed_log(w)[1])


def test_closed_forms_that_cancel_leave_the_kernel_to_another_route() -> None:
    """z^50 exp(-z) has a positive mass of 1.28, and summands of 1e13 whose masses cancel."""
    # In d = 1 the density is 50!/pi Re (1 - iw)^-51, up to a factor.
    density = spectral_density(radial("z**50*exp(-z)/50**50*exp(50)"), 1)
    assert density.route != "lookup"
    w = np.array([0.01, 0.05, 0.2])
    with mp.workdps(30):
        front = 2 * mp.factorial(50) / mp.pi * mp.exp(50) / mp.mpf(50) ** 50
        true = [float(front * mp.re((1 - 1j * mp.mpf(x)) ** -51)) for x in w]
    np.testing.assert_allclose(density.radial(w), true, atol=1e-11 * max(map(abs, true)))


@pytest.mark.parametrize("dim", [20_001, 10**30])
def test_a_dimension_beyond_all_data_is_refused_at_once(dim):
    with pytest.raises(ParameterError, match=r"known up to d = 20000|at most"):
        spectral_density(radial("exp(-z**2/2)"), dim)


POSITIVE = st.fractions(min_value="1/50", max_value=50, max_denominator=50)
# A kernel of each family in the parameters a, b > 0, and its dimensions.
PAIRS = {
    "exp(-a*z**2)*(1 - b*z**2 + z**4/7)": (gaussian, (1, 2, 16, 256)),
    "exp(-a*z**2)*cos(b*z)": (gaussian_wave, (1, 3)),
    "z**b*besselk(b, a*z)": (matern, (1, 2, 16, 256)),
    "(1 + b*z)*exp(-a*z)": (matern, (1, 2, 16, 256)),
    "exp(-a*z)*cos(b*z)": (matern, (1, 2, 16)),
    "z**(-b - 4)*besselj(b + 4, a*z)": (plane_wave_mean, (1, 2, 7)),
    "a*sin(b*z)/z": (plane_wave_mean, (1, 2)),
}


@pytest.mark.parametrize(("text", "dim"), [(t, d) for t, (_, dims) in PAIRS.items() for d in dims])
@settings(max_examples=4)
@given(a=POSITIVE, b=POSITIVE)
def test_the_pair_of_a_formula_gives_back_the_kernel(text, dim, a, b):
    """By averages over Gaussians, which see a factor of 1 + 1e-6 (test_kernel_check)."""
    density = lookup(radial(text, a=a, b=b), dim)
    assert {c.family for c in density.components} == {PAIRS[text][0]}
    assert describe_mismatch(density) == ""

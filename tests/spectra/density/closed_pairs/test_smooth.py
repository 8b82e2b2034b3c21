"""Components with closed forms against scipy and mpmath; waves have their own files."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
import sympy
from mpmath import mp
from scipy import stats

from spectra.density import spectral_density
from spectra.density.closed_pairs.gaussian import gaussian
from spectra.density.closed_pairs.matern import matern
from spectra.density.closed_pairs.pair import make_pair
from spectra.density.closed_pairs.plane_wave_mean import plane_wave_mean
from spectra.density.closed_pairs.rational_quadratic import (
    log_bessel_k_integral,
    rational_quadratic,
)
from spectra.density.components import Component
from spectra.errors import ParameterError
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import radial

R = sympy.Rational
ONE = sympy.Integer(1)


def exact(value: sympy.Expr) -> object:
    return mp.mpmathify(sympy.N(value, 60))


@cache
def log_bessel_k(order: object, x: object) -> object:
    """The integral of exp(order t - x cosh t) / 2, by a fine trapezoidal rule in 35 digits."""
    saddle = mp.asinh(order / x)
    step = min(mp.mpf(1) / 12, mp.mpf(1) / (2 * mp.sqrt(mp.sqrt(x * x + order * order))))
    top = order * saddle - x * mp.cosh(saddle)
    total, k = mp.mpf(1), 1
    while True:
        pair = [
            mp.exp(order * t - x * mp.cosh(t) - top) for t in (saddle + k * step, saddle - k * step)
        ]
        total += sum(pair)
        if max(pair) < mp.mpf(10) ** -30:
            return top + mp.log(total * step / 2)
        k += 1


FAMILIES = {
    "gaussian": lambda d: make_pair(gaussian, d, R(1, 2), ONE),
    "laguerre": lambda d: make_pair(gaussian, d, R(1, 50), 1 - R(2, 3) * Z**2 + Z**4 / 7),
    "laguerre_zero_at_centre": lambda d: make_pair(gaussian, d, R(1, 2), Z**2),
    "matern_rough": lambda d: make_pair(matern, d, R(1, 10), R(3, 2), R(-3, 10)),
    "matern_7/3": lambda d: make_pair(matern, d, R(7, 3), sympy.sqrt(R(14, 3)), ONE),
    "matern_smooth": lambda d: make_pair(matern, d, R(50), R(10), ONE),
    "cauchy": lambda d: make_pair(rational_quadratic, d, ONE, sympy.sqrt(2), R(-1, 3)),
    "rational_quadratic_0.1": lambda d: make_pair(rational_quadratic, d, R(1, 10), R(1, 2), ONE),
    "rational_quadratic_500": lambda d: make_pair(
        rational_quadratic, d, R(500), sympy.sqrt(1000), ONE
    ),
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
    if dim <= 16 and "500" not in family:
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


@pytest.mark.parametrize("order", [0.0, 0.3, 0.97, 1.0, 4.89, 8.0, 50.0, 499.5])
def test_log_bessel_k_is_right_at_every_order(order: float) -> None:
    """Also around x = 2 for orders a little below an integer, where scipy's series cancels."""
    x = np.append(np.geomspace(1e-12, 1e3, 16), [0.49, 0.51, 0.93, 1.875, 1.9925, 2.0])
    found = log_bessel_k_integral(order, x)
    with mp.workdps(35):
        for value, point in zip(found, x, strict=True):
            nu, y = mp.mpf(order), mp.mpf(point)
            root = mp.hypot(nu, y)
            taken = nu * mp.log((nu + root) / 2) - root if nu else -root
            true = log_bessel_k(nu, y) + nu * mp.log(y / 2) - taken
            assert abs(value - true) <= 1e-14 + 4e-16 * abs(true)


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


@pytest.mark.parametrize(
    ("alpha", "dim", "w"), [("1/10", 1, 1.9925), ("7/3", 3, 1.98), ("9/25", 64, 1.9925)]
)  # fmt: skip
def test_a_rational_quadratic_of_real_order_states_its_error(alpha: str, dim: int, w: float):
    density = spectral_density(radial(f"(1 + z**2)**(-{alpha})"), dim)
    with mp.workdps(35):
        power, half, x = mp.mpf(exact(R(alpha))), mp.mpf(dim) / 2, mp.mpf(w)
        # S w^(d-1) (2 pi)^(-d/2) 2^(1 - alpha)/Gamma(alpha) w^(alpha - d/2) K_(d/2 - alpha)(w)
        log = 2 * mp.log(2) - half * mp.log(2) - power * mp.log(2) - mp.loggamma(half)
        log += (half + power - 1) * mp.log(x) + log_bessel_k(abs(half - power), x)
        true = mp.exp(log) / mp.gamma(power)
    assert abs(mp.mpf(float(density.radial([w])[0])) - true) <= density.error([w])[0]
    assert density.error([w])[0] <= 2e-13 * true


@pytest.mark.parametrize("dim", [20_001, 10**30])
def test_a_dimension_beyond_all_data_is_refused_at_once(dim):
    with pytest.raises(ParameterError, match=r"known up to d = 20000|at most"):
        spectral_density(radial("exp(-z**2/2)"), dim)

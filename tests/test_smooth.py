"""The smooth components against their formulas at 35 digits, and against the Hankel integral.

Damped waves have a file of their own, ``test_damped_waves.py``.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
import sympy
from grids import by_turns
from mpmath import mp
from problems import naive_density
from scipy import stats
from scipy.special import kve

from spectra.density import spectral_density
from spectra.density.closed_pairs.gaussian import Gaussian
from spectra.density.closed_pairs.log_bessel_k import log_scaled_bessel_k, log_scaled_bessel_k_error
from spectra.density.closed_pairs.matern import Matern
from spectra.density.closed_pairs.plane_wave_mean import PlaneWaveMean
from spectra.density.closed_pairs.rational_quadratic import RationalQuadratic
from spectra.density.spectral_density import Component
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial

R = sympy.Rational
ONE = sympy.Integer(1)
DIMS = (1, 2, 3, 5, 16, 64, 256, 1000)
RADII = np.geomspace(1e-3, 1e4, 10)


def exact(value: sympy.Expr) -> object:
    return mp.mpmathify(sympy.N(value, 60))


def log_area(dim: int) -> object:
    half = mp.mpf(dim) / 2
    return mp.log(2) + half * mp.log(mp.pi) - mp.loggamma(half)


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


def true_value(c: Component, w: float) -> tuple[object, object]:
    """Sign and logarithm of the radial density from the formula in the docstring."""
    d, w = c.dim, mp.mpf(w)
    half = mp.mpf(d) / 2
    if isinstance(c, Gaussian):
        a = exact(c.rate)
        y = w * w / (4 * a)
        value = sum(
            exact(q) * mp.factorial(j) / a**j * mp.laguerre(j, half - 1, y)
            for j, q in enumerate(c.coefficients)
        )
        log = -half * mp.log(4 * mp.pi * a) - y
    elif isinstance(c, Matern):
        nu, a, value = exact(c.nu), exact(c.rate), exact(c.coefficient)
        log = mp.loggamma(nu + half) - mp.loggamma(nu) - half * mp.log(mp.pi)
        log += 2 * nu * mp.log(a) - (nu + half) * mp.log(a * a + w * w)
    elif isinstance(c, RationalQuadratic):
        alpha, b, value = exact(c.alpha), exact(c.scale), exact(c.coefficient)
        log = mp.log(2) + d * mp.log(b) - half * mp.log(4 * mp.pi) - mp.loggamma(alpha)
        log += (alpha - half) * mp.log(b * w / 2) + log_bessel_k(abs(alpha - half), b * w)
    elif isinstance(c, PlaneWaveMean):
        m, r, value = exact(c.order_dim), exact(c.radius), exact(c.coefficient)
        if w >= r:
            return mp.mpf(1), -mp.inf
        log = mp.loggamma(m / 2) - half * mp.log(mp.pi) - mp.loggamma((m - d) / 2)
        log += (2 - m) * mp.log(r) + ((m - d) / 2 - 1) * mp.log(r * r - w * w)
    else:
        raise TypeError(f"no formula of {type(c).__name__} stands here")
    return mp.sign(value), log + mp.log(abs(value)) + log_area(d) + (d - 1) * mp.log(w)


FAMILIES = {
    "gaussian": lambda d: Gaussian(d, R(1, 2), (ONE,)),
    "gaussian_irrational": lambda d: Gaussian(d, sympy.sqrt(2), (R(-2, 7),)),
    "laguerre": lambda d: Gaussian(d, R(1, 50), (ONE, R(-2, 3), R(1, 7))),
    "laguerre_zero_at_centre": lambda d: Gaussian(d, R(1, 2), (R(0), ONE)),
    "laplace": lambda d: Matern(d, R(1, 2), ONE, ONE),
    "matern_rough": lambda d: Matern(d, R(1, 10), R(3, 2), R(-3, 10)),
    "matern_7/3": lambda d: Matern(d, R(7, 3), sympy.sqrt(R(14, 3)), ONE),
    "matern_smooth": lambda d: Matern(d, R(50), R(10), ONE),
    "inverse_multiquadric": lambda d: RationalQuadratic(d, R(1, 2), ONE, ONE),
    "cauchy": lambda d: RationalQuadratic(d, ONE, sympy.sqrt(2), R(-1, 3)),
    "rational_quadratic_0.1": lambda d: RationalQuadratic(d, R(1, 10), R(1, 2), ONE),
    "rational_quadratic_8": lambda d: RationalQuadratic(d, R(8), R(4), ONE),
    "rational_quadratic_500": lambda d: RationalQuadratic(d, R(500), sympy.sqrt(1000), ONE),
    "plane_wave_arcsine": lambda d: PlaneWaveMean(d, R(d + 1), sympy.sqrt(2), ONE),
    "plane_wave_flat": lambda d: PlaneWaveMean(d, R(d + 2), R(3), R(-2)),
    "plane_wave_real_m": lambda d: PlaneWaveMean(d, R(2 * d + 1, 2), R(7, 2), ONE),
    "plane_wave_high": lambda d: PlaneWaveMean(d, R(3 * d + 7), R(20), ONE),
}


@pytest.mark.parametrize(("family", "dim"), by_turns(product(FAMILIES, DIMS), every=3))
def test_the_reported_error_never_understates_the_true_one(family: str, dim: int) -> None:
    component = FAMILIES[family](dim)
    w = np.concatenate([RADII, np.geomspace(*component.bulk, 5)])
    sign, log = component.signed_log(w)
    envelope, bound = component.log_envelope(w), component.relative_error(w)
    assert np.all(bound > 0)
    with mp.workdps(35):
        for i, radius in enumerate(w):
            true_sign, true_log = true_value(component, float(radius))
            if log[i] == -np.inf:
                assert true_log < -1e8
                continue
            true = true_sign * mp.exp(true_log - envelope[i])
            error = abs(mp.mpf(sign[i]) * mp.exp(mp.mpf(log[i]) - envelope[i]) - true)
            assert error <= bound[i], f"w = {radius}: {mp.nstr(error, 3)} > {bound[i]:.1e}"


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_error_in_the_bulk_is_small(family: str, dim: int) -> None:
    component = FAMILIES[family](dim)
    w = np.geomspace(*component.bulk, 20)[1:-1]
    # At d = 1000 the law of a plane-wave mean may be crowded at its rounded end.
    assert np.all(component.relative_error(w) < (1e-11 if "plane" in family else 3e-12))
    if dim <= 16 and "500" not in family:
        assert np.all(component.relative_error(w) < 2e-13)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 16, 64, 256, 1000])
def test_the_laws_are_those_of_scipy(dim: int) -> None:
    """Gaussian: chi; Matern: root of an F variable; plane-wave mean: root of a beta variable."""
    # scipy's own error at d = 1000 is of this size
    rtol = 1e-12 * max(dim, 10)

    def check(component: Component, pdf: object) -> None:
        w = np.geomspace(*component.bulk, 9)
        np.testing.assert_allclose(np.exp(component.signed_log(w)[1]), pdf(w), rtol=rtol)

    check(Gaussian(dim, R(1, 8), (ONE,)), lambda w: stats.chi(dim, scale=0.5).pdf(w))
    check(
        Matern(dim, R(3, 2), ONE * 2, ONE),
        lambda w: stats.betaprime(dim / 2, 1.5).pdf(w * w / 4) * w / 2,
    )
    m = dim + 5
    check(
        PlaneWaveMean(dim, R(m), ONE * 3, ONE),
        lambda w: stats.beta(dim / 2, 2.5).pdf(w * w / 9) * 2 * w / 9,
    )


@pytest.mark.parametrize("dim", [1, 2, 3, 16, 64, 256, 1000])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_component_integrates_to_its_total(family: str, dim: int) -> None:
    """By the trapezoidal rule in log w, between ends that hold all but 1e-9 of the mass."""
    component = FAMILIES[family](dim)
    if "plane_wave" in family:
        pytest.skip("scipy's beta law is the test of these")
    low, high = component.bulk
    start = np.log(low) - max(24.0 / (component.origin_exponent + 1.0), 3.0)
    stop = np.log(high) + max(24.0 / (component.decay - 1.0), 3.0)
    t, step = np.linspace(start, stop, 20_001, retstep=True)
    sign, log = component.signed_log(np.exp(t))
    integral = step * np.sum(sign * np.exp(log + t))
    scale = step * np.sum(np.exp(component.log_envelope(np.exp(t)) + t))
    assert abs(integral - component.total) < 1e-8 * max(1.0, scale)


@pytest.mark.parametrize("dim", [1, 2, 3, 16, 1000])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_origin_exponent_is_the_slope_at_zero(family: str, dim: int) -> None:
    component = FAMILIES[family](dim)
    w = component.bulk[0] * np.array([1e-7, 2e-7])
    _, log = component.signed_log(w)
    slope = float(np.diff(log)[0] / np.log(2.0))
    # Where 2 alpha = d the power has a logarithm beside it, and near it a close second power.
    alpha = getattr(component, "alpha", None)
    close = alpha is not None and abs(2 * alpha - dim) < 2
    assert slope == pytest.approx(component.origin_exponent, abs=0.2 if close else 1e-4)


@pytest.mark.parametrize("dim", [1, 2, 3, 16])
@pytest.mark.parametrize("nu", [0.1, 0.5, 2.5])
def test_the_power_tail_has_its_exponent(dim: int, nu: float) -> None:
    component = Matern(dim, sympy.nsimplify(nu), ONE, ONE)
    _, log = component.signed_log(np.array([1e200, 2e200]))
    assert -np.diff(log)[0] / np.log(2.0) == pytest.approx(component.decay, rel=1e-12)


def test_radii_beyond_every_scale_give_zero_or_a_number_and_never_nan() -> None:
    w = np.array([1e-300, 1e-30, 1e30, 1e300])
    for make in FAMILIES.values():
        for dim in (1, 3, 1000):
            component = make(dim)
            sign, log = component.signed_log(w)
            assert not np.any(np.isnan(sign) | np.isnan(log) | (log == np.inf)), component
            assert not np.any(np.isnan(component.relative_error(w)))


@pytest.mark.parametrize(
    "order", by_turns([0.0, 0.3, 0.5, 1.0, 2.5, 7.9, 8.0, 20.0, 49.5, 50.0, 63.25, 499.5], every=2)
)
def test_log_scaled_bessel_k_is_right_at_every_order(order: float) -> None:
    x = np.geomspace(1e-12, 1e3, 16)
    found, error = log_scaled_bessel_k(order, x), log_scaled_bessel_k_error(order, x)
    with mp.workdps(35):
        limit = mp.loggamma(order) - mp.log(2) if order >= 1 else mp.mpf(0)
        for value, bound, point in zip(found, error, x, strict=True):
            y = mp.mpf(point)
            true = log_bessel_k(mp.mpf(order), y) + order * mp.log(y / 2) - limit
            assert abs(value - true) <= bound + 4e-16 * abs(true)
            assert bound < 5e-13


@pytest.mark.parametrize(
    "order", [0.4, 0.51, 0.75, 0.8824, 0.97, 1.83, 2.9, 4.89, 7.93, 19.9, 49.9]
)
def test_bessel_k_is_right_where_series_of_scipy_cancel(order: float) -> None:
    """Orders a little below an integer, arguments around 2: its errors there reach 3e-13."""
    x = np.array([0.49, 0.51, 0.7, 0.93, 1.3, 1.55, 1.7, 1.875, 1.9925, 2.0, 2.0001, 2.5])
    found, error = log_scaled_bessel_k(order, x), log_scaled_bessel_k_error(order, x)
    with mp.workdps(35):
        limit = mp.loggamma(order) - mp.log(2) if order >= 1 else mp.mpf(0)
        for value, bound, point in zip(found, error, x, strict=True):
            y = mp.mpf(point)
            true = log_bessel_k(mp.mpf(order), y) + order * mp.log(y / 2) - limit
            assert abs(value - true) <= bound + 4e-16 * abs(true)


@pytest.mark.parametrize(
    ("alpha", "dim", "w"), [("1/10", 1, 1.9925), ("7/3", 3, 1.98), ("51/100", 2, 1.96),
                            ("3/4", 1, 1.99), ("9/25", 7, 1.9925), ("9/25", 64, 1.9925)]
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


def test_log_scaled_bessel_k_meets_scipy_where_scipy_works() -> None:
    x = np.geomspace(0.5, 200, 20)
    expected = np.log(kve(2.5, x)) - x + 2.5 * np.log(x / 2)
    shift = float(log_scaled_bessel_k(2.5, x)[0] - expected[0])
    np.testing.assert_allclose(log_scaled_bessel_k(2.5, x), expected + shift, rtol=1e-13)


@pytest.mark.parametrize(
    ("formula", "dim", "w"),
    by_turns(
        [
            ("exp(-z**2/2)", 1, 1.3),
            pytest.param("exp(-z**2/8)", 5, 0.7, marks=pytest.mark.slow),
            ("(1 - z**2 + z**4/8)*exp(-z**2/2)", 3, 2.1),
            pytest.param("(1 - z**2)*exp(-z**2/2)", 16, 4.0, marks=pytest.mark.slow),
            pytest.param("exp(-z)", 2, 0.5, marks=pytest.mark.slow),
            ("(2 - z + 3*z**2)*exp(-2*z)", 3, 1.7),
            pytest.param("z**3*exp(-z)", 7, 0.9, marks=pytest.mark.slow),
            ("exp(-z**2/2) - 0.3*exp(-z)", 1, 0.4),
        ],
        every=2,
    ),
)
def test_lookup_agrees_with_the_hankel_integral_itself(formula: str, dim: int, w: float) -> None:
    kernel = radial(formula)
    found = spectral_density(kernel, dim).density([w])[0]
    assert found == pytest.approx(float(naive_density(kernel, dim, w)), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "formula",
    [
        "z**(5/2)*besselk(1/2, z)",
        "1/(1 + z**2)",
        "(1 + z**2/3)**(-5/2)",
        "1/sqrt(1 + z**2)",
    ],
)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_slow_kernels_agree_with_the_hankel_integral_itself(formula: str, dim: int) -> None:
    kernel = radial(formula)
    found = spectral_density(kernel, dim).density([0.8])[0]
    assert found == pytest.approx(float(naive_density(kernel, dim, 0.8, digits=15)), rel=1e-11)


@pytest.mark.parametrize("dim", [20_001, 10**6, 10**30])
def test_a_dimension_beyond_all_data_is_refused_at_once(dim):
    with pytest.raises(ParameterError, match="densities are known up to d = 20000"):
        spectral_density(radial("exp(-z**2/2)"), dim)

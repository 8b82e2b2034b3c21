"""Kernels on the half-line without a closed form: densities, tails, tables and refusals.

The oracles are closed forms and positive mixtures, in mpmath, which share nothing with the code.
"""

import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.density import spectral_density
from spectra.density.half_line.half_line import _order_rays, half_line_density
from spectra.density.half_line.half_line_formula import HalfLineFormula, expand_in_powers
from spectra.density.half_line.ray_sums import RaySums, hankel_factor
from spectra.density.half_line.sampled_density import power_tail
from spectra.errors import AccuracyError, NoRouteError, TimeLimitError
from spectra.formula.parsing import Z
from spectra.measure import measure_of

SLOW = pytest.mark.slow
RADII = np.geomspace(1e-3, 1e4, 15)
DISTANCES = np.array([0.0, 1e-3, 0.03, 0.31, 0.7, 1.0, 1.9, 2.6, 5.3, 20.0])


# --- oracles: radial densities in mpmath ------------------------------------------------------


def sphere(d):
    return 2 * mp.pi ** (mp.mpf(d) / 2) / mp.gamma(mp.mpf(d) / 2)


def exponential(w, d, rate):
    """exp(-rate z), also for complex rates."""
    half = mp.mpf(d + 1) / 2
    front = 2 * mp.gamma(half) / (mp.gamma(mp.mpf(d) / 2) * mp.sqrt(mp.pi))
    return front * rate * w ** (d - 1) / (rate * rate + w * w) ** half


def damped_wave(w, d):
    return mp.re(exponential(w, d, mp.mpc(1, -3)))


def laplace_mixture(weight, shift):
    """The integral of weight(t) exp(-(t + shift) z), by the trapezoidal rule."""

    def density(w, d):
        def term(s):
            t = mp.exp(s - mp.exp(-s))
            return weight(t) * exponential(w, d, t + shift) * t * (1 + mp.exp(-s))

        step = mp.mpf(1) / 40
        return step * mp.fsum(term(-5 + i * step) for i in range(400))

    return density


def relativistic(w, d):
    """exp(-sqrt(1 + z^2))."""
    s, half = mp.sqrt(1 + w * w), mp.mpf(d + 1) / 2
    front = sphere(d) * w ** (d - 1) * 2 * (2 * mp.pi) ** (-half)
    return front * mp.besselk(half, s) / s**half


def raised(in_one_dimension):
    """From d = 1 to d = 3: rho_3 = -w d rho_1/dw."""

    def density(w, d):
        return in_one_dimension(w) if d == 1 else -w * mp.diff(in_one_dimension, w)

    return density


ORACLES = {
    "exp(-z)*cos(3*z)": damped_wave,
    "1/(1+z)": laplace_mixture(lambda t: mp.exp(-t), 0),
    "1/(1+z)**(5/2)*exp(-z)": laplace_mixture(lambda t: mp.exp(-t) * t**1.5 / mp.gamma(2.5), 1),
    "exp(-sqrt(1+z**2))": relativistic,
    "log(1+1/(1+z**2))": raised(lambda w: 2 * (mp.exp(-w) - mp.exp(-mp.sqrt(2) * w)) / w),
    "1/cosh(z)": raised(lambda w: mp.sech(mp.pi * w / 2)),
}


def formula_of(text):
    return sp.radial(text).pieces[0].expr


# --- densities --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        pytest.param("exp(-z)*cos(3*z)", 1, marks=SLOW),
        ("1/(1+z)", 3),
        pytest.param("1/(1+z)", 64, marks=SLOW),
        pytest.param("1/(1+z)**(5/2)*exp(-z)", 5, marks=SLOW),
        pytest.param("exp(-sqrt(1+z**2))", 3, marks=SLOW),
        pytest.param("log(1+1/(1+z**2))", 1, marks=SLOW),
        ("1/cosh(z)", 3),
    ],
)
def test_density_equals_an_independent_one(name, dim):
    """The error is below what is stated, and below 1e-12 of the largest w rho."""
    (component,), _ = half_line_density(formula_of(name), dim)
    sign, log = component.signed_log(RADII)
    stated = np.exp(component.log_envelope(RADII) + np.log(RADII)) * component.relative_error(RADII)
    with mp.workdps(70):
        true = np.array([float(mp.mpf(w) * ORACLES[name](mp.mpf(w), dim)) for w in RADII])
    wrong = np.abs(sign * np.exp(log + np.log(RADII)) - true)
    # Below 1e-16 of the peak a density without a power law counts as 0.
    peak = np.exp(component.log_size.max())
    assert np.all(wrong <= stated + 1e-16 * peak)
    assert np.all(stated <= 1e-12 * peak)


@pytest.mark.parametrize(("psi", "dim"), [(0.8, 1), (0.3, 4), (0.55, 7)])
def test_the_factor_on_a_ray_is_the_hankel_function(psi, dim):
    order = mp.mpf(dim) / 2 - 1
    with mp.workdps(40):
        for s in (-6.0, 0.25, 2.0):
            y = mp.exp(mp.mpc(s, psi))
            wave = mp.hankel1(order, y)
            front = 2 ** (-order) / mp.gamma(order + 1)
            true = front * y ** (order + 2) * wave
            found = hankel_factor(dim, psi, s, 128)
            close = abs(mp.mpc(complex(found)) - true) / abs(true)
            assert close < 1e-15


@pytest.mark.parametrize(
    ("text", "widest"),
    [
        ("exp(-z)", 1.1),
        ("exp(-z)/((z-2)**2+1)", 0.36),
        ("exp(-z**2)/((z-2)**2+1/50)", 0.05),
        ("exp(-z)*sqrt((z-2)**2+1)", 0.36),
        ("exp(-z)*(2+atan(z-2))", 0.36),
        ("exp(-z)*besselk(1/3,(z-2)**2+1)", 0.36),
    ],
)
def test_rays_lie_below_the_singularities_of_a_kernel(text, widest):
    """Those at 2 + i have the angle .464, those at 2 + i/sqrt(50) the angle .071."""
    rays = _order_rays(HalfLineFormula(formula_of(text)), 3, [])
    assert max(ray.angle for ray in rays) == widest


def test_samples_are_interpolated_to_rounding():
    """On two grids, one of them shifted by half a step, at the same angle."""
    kernel = HalfLineFormula(sympy.exp(-Z) / (1 + Z))
    sums = [RaySums(kernel, 3, 0.55, shift=shift).sample(-3.0, 6.0) for shift in (0.0, 0.5)]
    assert sums[0].difference(sums[1]) < 2e-15 * sums[0].peak
    x = np.array([0.0123, 1.7])
    np.testing.assert_allclose(sums[0](x), sums[1](x), rtol=0, atol=2e-15 * sums[0].peak)


@SLOW
def test_rays_beyond_a_pole_agree_and_are_not_taken():
    """Poles at angles of 0.1 and 0.3: wide rays agree with each other, and not with the kernel."""
    expr = formula_of("exp(-z)/((z-1)**2+1/100)")
    kernel = HalfLineFormula(expr)
    wide = [
        RaySums(kernel, 1, angle, shift=0.5 * i).sample_all() for i, angle in enumerate((0.8, 0.55))
    ]
    assert wide[0].difference(wide[1]) < 1e-12 * wide[0].peak
    (component,), _ = half_line_density(expr, 1)
    w = 2.0
    with mp.workdps(30):
        parts = [0, 0.5, 0.9, 1, 1.1, 1.5, *range(2, 80, 2)]
        true = mp.quad(
            lambda z: mp.exp(-z) / ((z - 1) ** 2 + mp.mpf("0.01")) * mp.cos(w * z), parts
        )
    sign, log = component.signed_log(np.array([w]))
    assert abs(sign[0] * np.exp(log[0]) - 2 / np.pi * float(true)) < 1e-12 * np.exp(
        component.log_size.max()
    )


# --- ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 7, 64])
def test_the_series_of_a_tail_is_that_of_the_closed_form(dim):
    """exp(-z) has rho = c w^(d-1) (1 + w^2)^(-(d+1)/2); the series comes from its powers of z."""
    tail = power_tail(expand_in_powers(sympy.exp(-Z), sympy.Integer(0)), dim)
    w = np.exp(tail.start) * np.array([1.0, 7.0, 1e6])
    sign, log = tail.signed_log(w)
    with mp.workdps(40):
        for i in range(w.size):
            true = mp.log(exponential(mp.mpf(float(w[i])), dim, mp.mpf(1)))
            assert sign[i] == 1.0
            assert abs(mp.mpf(float(log[i])) - true) <= mp.mpf(float(tail.relative_error(w)[i]))


def test_a_logarithm_at_zero_reaches_the_tail():
    """z^2 log z is no even power: int z^2 log(z) cos(wz) dz = pi/w^3 as an Abel mean."""
    (component,), _ = half_line_density(formula_of("z**2*log(z)*exp(-z**2)"), 1)
    assert component.decay == 3.0
    sign, log = component.signed_log(np.array([1e6]))
    assert sign[0] == 1.0
    assert np.exp(log[0]) * 1e18 == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "dim", "power"), [("exp(-z**4)", 1, 0.0), ("exp(-z**4)/(1+z)", 3, 2.0)]
)
def test_below_the_samples_the_density_is_its_power(text, dim, power):
    (component,), _ = half_line_density(formula_of(text), dim)
    w = np.array([1e-30, 1e-25, 1e-20])
    _, log = component.signed_log(w)
    np.testing.assert_allclose(np.diff(log), power * np.diff(np.log(w)), atol=1e-9)
    assert component.origin_exponent == power


# --- summands ---------------------------------------------------------------------------------


def test_known_summands_keep_their_closed_forms():
    kernel = sp.radial("exp(-z**2/2) + 1/(1+z**3) + 2")
    density = spectral_density(kernel, 3, route="numeric")
    assert len(density.components) == 2
    assert [(a.radius, a.mass) for a in density.atoms] == [(0.0, 2.0)]
    mass = measure_of(density).positive_mass
    assert mass.mid - measure_of(density).negative_mass.mid == pytest.approx(4.0, abs=1e-11)


@pytest.mark.parametrize(("text", "mass"), [("1-sqrt(z/(1+z))", 0), ("2+exp(-z)-sqrt(z/(1+z))", 1)])
def test_a_constant_and_a_limit_that_cancel_are_one_atom(text, mass):
    """1 - sqrt(z/(1+z)) tends to 0, though 1 is a summand."""
    atoms = spectral_density(sp.radial(text), 3).atoms
    assert [(a.radius, a.mass) for a in atoms] == ([(0.0, mass)] if mass else [])


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1/((2+cos(z))*(1+z))", "oscillat"),
        ("exp(-1/z)*exp(-z)", "essential singularity"),
        ("exp(-z)*Heaviside(z-1)", "changes at z = 1"),
        ("exp(-10**4*(z-3)**2)", r"too narrow to be found.*\(design\)"),
    ],
)
def test_formulas_of_another_class_are_refused(text, why):
    with pytest.raises(NoRouteError, match=why):
        half_line_density(formula_of(text), 2)


@SLOW
@pytest.mark.parametrize("text", ["exp(-z)+1/(1+1e12*(z-3)**2)", "exp(-z)*atan(50*(z-2))"])
def test_poles_close_to_the_half_line_are_refused(text):
    """Poles at distances of 1e-6 and .02 of z = 3 and 2."""
    with pytest.raises((AccuracyError, NoRouteError, TimeLimitError)):
        spectral_density(sp.radial(text), 1)

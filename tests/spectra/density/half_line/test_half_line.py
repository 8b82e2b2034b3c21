"""Kernels on the half-line outside the catalogue: from text to table, by rays in the plane.

The oracles are closed forms and positive mixtures, in mpmath, which share nothing with the code.
"""

import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.density import spectral_density
from spectra.density.components import SpectralDensity
from spectra.density.continuation.continuation import Continuation
from spectra.density.continuation.sector import Box, is_analytic
from spectra.density.half_line.endings import power_ending
from spectra.density.half_line.ends import expansion_of
from spectra.density.half_line.half_line import half_line
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import radial
from spectra.measure import measure_of
from tests.tools.grids import by_turns

RADII = np.geomspace(1e-3, 1e4, 8)
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


def damped_bessel(w, d):
    """J_0(z) is the mean of exp(iz cos t) over the circle."""
    n = 300
    rates = (mp.mpc(1, -mp.cos(mp.pi * (i + mp.mpf(1) / 2) / n)) for i in range(n))
    return mp.fsum(mp.re(exponential(w, d, rate)) for rate in rates) / n


def gaussian_wave(w, d):
    """exp(-z^2) cos z, by the series of cos and DLMF 18.9.1 for Laguerre polynomials."""
    y, order = w * w / 4, mp.mpf(d) / 2 - 1
    before, value, total = mp.mpf(0), mp.mpf(1), mp.mpf(0)
    for n in range(120):
        total += (-1) ** n * mp.factorial(n) / mp.factorial(2 * n) * value
        step = (2 * n + 1 + order - y) * value - (n + order) * before
        before, value = value, step / (n + 1)
    front = sphere(d) * w ** (d - 1) * (4 * mp.pi) ** (-mp.mpf(d) / 2)
    return front * mp.exp(-y) * total


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
    "exp(-z)*cos(3*z)": (damped_wave, (1, 3, 2, 5, 16)),
    "1/(1+z)": (laplace_mixture(lambda t: mp.exp(-t), 0), (1, 2, 3, 5, 16, 64)),
    "1/(1+z)**(5/2)*exp(-z)": (
        laplace_mixture(lambda t: mp.exp(-t) * t**1.5 / mp.gamma(2.5), 1),
        (1, 2, 3, 5, 16),
    ),
    "besselj(0,z)*exp(-z)": (damped_bessel, (1, 2, 3, 5, 16)),
    "exp(-z**2)*cos(z)": (gaussian_wave, (1, 2, 3, 5, 16, 64)),
    "exp(-sqrt(1+z**2))": (relativistic, (1, 2, 3, 64, 16, 5)),
    "log(1+1/(1+z**2))": (
        raised(lambda w: 2 * (mp.exp(-w) - mp.exp(-mp.sqrt(2) * w)) / w),
        (1, 3),
    ),
    "1/cosh(z)": (raised(lambda w: mp.sech(mp.pi * w / 2)), (1, 3)),
}
#: Sum of M+ and M- less |k(0)|: zero where the kernel is positive definite in every dimension.
MIXTURES = (
    "1/(1+z)",
    "1/(1+z)**(5/2)*exp(-z)",
    "log(1+1/(1+z**2))",
    "exp(-sqrt(1+z**2))",
    "exp(-z**(3/2))",
)


def formula_of(text):
    return sp.radial(text).pieces[0].expr


# --- densities --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("exp(-z)*cos(3*z)", 1),
        ("1/(1+z)", 64),
        ("1/(1+z)**(5/2)*exp(-z)", 3),
        ("besselj(0,z)*exp(-z)", 2),
        ("exp(-z**2)*cos(z)", 16),
        ("exp(-sqrt(1+z**2))", 3),
    ],
)
def test_a_density_is_within_its_stated_error_of_an_independent_one(name, dim):
    (component,), _ = half_line(formula_of(name), dim)
    sign, log = component.signed_log(RADII)
    envelope, relative = component.log_envelope(RADII), component.relative_error(RADII)
    mass = envelope + np.log(RADII)
    with mp.workdps(70):
        for i, w in enumerate(RADII):
            if mass[i] < mass.max() - 90.0:  # beyond the last panel only a bound is known
                continue
            true = ORACLES[name][0](mp.mpf(float(w)), dim)
            found = int(sign[i]) * mp.exp(mp.mpf(float(log[i])))
            bound = mp.exp(mp.mpf(float(envelope[i]))) * mp.mpf(float(relative[i]))
            assert abs(found - true) <= bound, (w, found, true)
            if dim <= 3:
                assert relative[i] < 3e-12, w


CLOSED = ("besselk(1/3,z)*z**(1/3)", "(1+z)*exp(-z)", "(1+z**2)**(-3/2)", "exp(-z**2/2)")


@pytest.mark.slow
@pytest.mark.parametrize(("text", "dim"), [(CLOSED[0], 3), (CLOSED[2], 2), (CLOSED[3], 16)])
def test_the_plane_agrees_with_closed_forms_of_the_catalogue(text, dim):
    kernel = sp.radial(text)
    known = spectral_density(kernel, dim, route="lookup")
    (component,), _ = half_line(kernel.pieces[0].expr, dim)
    w = np.geomspace(0.02, 50.0, 25)
    sign, log = component.signed_log(w)
    allowed = np.exp(component.log_envelope(w)) * component.relative_error(w) + known.error(w)
    apart = np.abs(sign * np.exp(log) - known.radial(w))
    alive = known.radial(w) > 1e-38 * known.radial(w).max()
    assert np.all(apart[alive] <= allowed[alive])
    assert component.total == pytest.approx(kernel.at_zero, rel=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 64])
def test_the_series_of_a_tail_is_that_of_the_closed_form(dim):
    """exp(-z) has rho = c w^(d-1) (1 + w^2)^(-(d+1)/2); the series comes from its powers of z."""
    ending = power_ending(expansion_of(sympy.exp(-Z), sympy.Integer(0)), dim)
    w = ending.start * np.array([1.0, 7.0, 1e6])
    sign, log = ending.signed_log(w)
    with mp.workdps(40):
        for i in range(w.size):
            true = mp.log(exponential(mp.mpf(float(w[i])), dim, mp.mpf(1)))
            assert sign[i] == 1.0
            assert abs(mp.mpf(float(log[i])) - true) <= mp.mpf(float(ending.relative_error(w)[i]))


def test_a_logarithm_at_zero_reaches_the_tail():
    """z^2 log z is no even power: its tail is 4 w^-3 exactly, in one dimension."""
    expr = formula_of("z**2*log(z)*exp(-z**2)")
    (component,), _ = half_line(expr, 1)
    assert component.decay == 3.0
    w = np.array([1e6])
    # int z^2 log(z) cos(wz) dz = pi/w^3 in the sense of Abel, and rho is 2/pi times that.
    assert component.signed_log(w)[0][0] == 1.0
    assert np.exp(component.signed_log(w)[1][0]) * w[0] ** 3 == pytest.approx(2.0, rel=1e-9)


# --- from text to a table ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dim"), [("1/(1+z**3)", 1), ("exp(-z**(3/2))", 3), ("exp(-z)*(1+z)**(1/2)", 16)]
)
def test_a_formula_goes_from_text_to_a_table_of_the_same_kernel(name, dim):
    kernel = sp.radial(name)
    verdict = sp.existence(kernel, dim)
    assert verdict.status is sp.Status.FINITE
    # Whether or not another route would take it: half_line is what is tested.
    components, atoms = half_line(formula_of(name), dim)
    measure = measure_of(SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "numeric"))
    plus, minus = measure.positive_mass, measure.negative_mass
    k_zero = kernel.at_zero
    assert abs(plus.mid - minus.mid - k_zero) <= plus.rad + minus.rad + 1e-15 * plus.mid
    assert plus.rad <= 1e-10 * plus.mid
    if name in MIXTURES:
        assert minus.mid <= minus.rad
    table = sp.tabulate(measure)
    error = np.abs(table.expected_kernel(DISTANCES) - kernel(DISTANCES))
    assert np.all(error <= 4e-15 * (plus.mid + minus.mid) + plus.rad + minus.rad)


def test_the_partial_masses_confirm_the_verdict():
    verdict = sp.existence(sp.radial("exp(-z)*cos(3*z)"), 3)
    assert verdict.ladder.agrees
    assert verdict.confirmed().status is sp.Status.FINITE


@pytest.mark.slow
def test_known_summands_keep_their_closed_forms():
    kernel = sp.radial("exp(-z**2/2) + 1/(1+z) + 2")
    density = spectral_density(kernel, 3, route="numeric")
    assert density.route == "numeric"
    assert [type(c).__name__ for c in density.components] == ["Gaussian", "Panelled"]
    assert [(a.radius, a.mass) for a in density.atoms] == [(0.0, 2.0)]
    assert measure_of(density).positive_mass.mid == pytest.approx(4.0, abs=1e-11)


@pytest.mark.slow
def test_a_limit_at_infinity_is_an_atom_at_the_origin():
    """(2 + z)/(1 + z) = 1 + 1/(1 + z)."""
    density = spectral_density(sp.radial("(2+z)/(1+z)"), 2, route="numeric")
    assert [(a.radius, a.mass) for a in density.atoms] == [(0.0, 1.0)]
    alone = spectral_density(sp.radial("1/(1+z)"), 2, route="numeric")
    w = np.geomspace(1e-4, 1e3, 9)
    np.testing.assert_allclose(density.radial(w), alone.radial(w), rtol=1e-12)


# --- continuation -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "high", "angle"),
    [
        ("1/(1+z**3)", 5.0, np.pi / 3),  # poles at exp(+-i pi/3) and -1
        ("exp(-sqrt(1+z**2))", 0.0, None),  # a branch point at i
        ("1/(1+z)", 5.0, None),
    ],
)
def test_singularities_in_the_plane_are_found(text, high, angle):
    kernel, upright = Continuation(formula_of(text)), 0.5 * np.pi
    if angle is not None:
        assert is_analytic(kernel, Box(-5.0, high, 0.0, angle - 1e-3))
        assert not is_analytic(kernel, Box(-5.0, high, 0.0, angle + 1e-3))
    else:
        assert is_analytic(kernel, Box(-5.0, high - 1e-3, 0.0, upright))
        beyond = is_analytic(kernel, Box(-5.0, high + 1e-3, 0.0, upright))
        assert beyond == (text == "1/(1+z)")


@pytest.mark.slow
def test_even_kernels_decay_fast_and_others_like_powers():
    for text, decay in (
        ("1/cosh(z)", np.inf),
        ("exp(-z**(3/2))", 2.5),
    ):
        (component,), _ = half_line(formula_of(text), 2)
        assert component.decay == decay


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1/((2+cos(z))*(1+z))", "oscillat"),
        ("exp(-1/z)*exp(-z)", "essential singularity"),
        ("exp(-z)*Heaviside(z-1)", "changes at z = 1"),
    ],
)
def test_formulas_of_another_class_are_refused_in_words(text, why):
    with pytest.raises(NoRouteError, match=why):
        half_line(formula_of(text), 2)


@pytest.mark.slow
def test_waves_that_turn_faster_and_faster_are_served():
    expr = formula_of("exp(-z**(3/2))*cos(2*z**2)")
    (component,), _ = half_line(expr, 3)
    w = np.array([0.3, 4.0, 20.0])
    with mp.workdps(30):
        true = [
            float(
                mp.quad(
                    lambda z, w=w: (
                        mp.exp(-(z ** mp.mpf("1.5"))) * mp.cos(2 * z * z) * mp.sin(w * z) * z
                    ),
                    mp.linspace(0, 17, 341),
                )
                * 2
                / mp.pi
                * w
            )
            for w in w.tolist()
        ]
    sign, log = component.signed_log(w)
    found = sign * np.exp(log)
    assert np.all(np.abs(found - true) <= component.relative_error(w) * np.abs(found))
    assert np.all(component.relative_error(w) <= 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("length", [1e9])
def test_the_far_tail_keeps_its_terms_in_every_unit(length):
    # k = 1/(1 + z) in d = 1: pi rho(w)/2 is the auxiliary function g of DLMF 6.2.18, at w.
    w = np.geomspace(30.0, 1e4, 9)
    density = spectral_density(sp.radial("1/(1 + z)").rescale(length), 1, route="numeric")
    with mp.workdps(40):
        exact = np.array(
            [
                float(2 / mp.pi * (-mp.cos(x) * mp.ci(x) + mp.sin(x) * (mp.pi / 2 - mp.si(x))))
                for x in map(mp.mpf, w)
            ]
        )
    seen, stated = density.radial(w / length) / length, density.error(w / length) / length
    turns = 4.0 * np.finfo(float).eps * exact
    assert np.all(np.abs(seen - exact) <= stated + turns)
    np.testing.assert_allclose(seen, exact, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["1/(1 + z)", "exp(-z)*cos(3*z)/sqrt(1 + z)"])
@pytest.mark.parametrize(("unit", "dim"), [(2.0**-20, 7), (2.0**20, 2)])
def test_two_units_agree_within_their_errors(formula, dim, unit):
    # Powers of two change no digit of a radius.
    kernel, w = sp.radial(formula), np.geomspace(1e-3, 1e4, 25)
    here, there = spectral_density(kernel, dim), spectral_density(kernel.rescale(unit), dim)
    gap = np.abs(here.radial(w) - there.radial(w / unit) / unit)
    assert np.all(gap <= here.error(w) + there.error(w / unit) / unit)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "dim"), by_turns([("1/cosh(z)", 1), ("1/cosh(z)", 3)], every=2, first=1)
)
def test_parts_too_large_to_be_numbers_do_not_keep_a_kernel_from_its_density(formula, dim):
    """cosh(z) has more than 1e5 bits at z = 1e5; the transform of sech is sech."""
    density = spectral_density(sp.radial(formula), dim)
    for w in (0.5, 2.0):
        # mu_1 = sech(pi w/2)/2 and mu_3 = -mu_1'/(2 pi w)
        x = np.pi * w / 2
        exact = 1 / np.cosh(x) if dim == 1 else w * (np.pi / 2) * np.tanh(x) / np.cosh(x)
        assert abs(density.radial([w])[0] - exact) <= density.error([w])[0] + 4e-16 * exact


@pytest.mark.slow
def test_a_wave_that_only_multiplying_out_sets_free_is_no_reason_to_refuse():
    """J_0(3z) has no measure on R^5; times 1 - exp(-exp(-z^2)), which falls fast, it has one."""
    density = spectral_density(radial("(1 - exp(-exp(-z**2)))*besselj(0, 3*z)"), 5)
    with mp.workdps(30):
        for w in (0.5, 3.0, 7.0):
            found = mp.quad(
                lambda z, w=w: (
                    (1 - mp.exp(-mp.exp(-z * z)))
                    * mp.besselj(0, 3 * z)
                    * mp.besselj(mp.mpf(3) / 2, w * z)
                    * z ** mp.mpf("2.5")
                ),
                mp.linspace(0, 9, 28),
            )
            true = float(found * 2 ** mp.mpf("-1.5") / mp.gamma(mp.mpf("2.5")) * w ** mp.mpf("2.5"))
            assert abs(float(density.radial(w)) - true) <= float(density.error(w))
            assert float(density.error(w)) <= 1e-13


@pytest.mark.slow
@pytest.mark.parametrize(("text", "mass"), [("1-sqrt(z/(1+z))", 0), ("2+exp(-z)-sqrt(z/(1+z))", 1)])
def test_a_constant_and_a_limit_that_cancel_are_one_atom(text, mass):
    """1 - sqrt(z/(1+z)) tends to 0, though 1 is a summand: there were atoms of 1 and of -1."""
    atoms = spectral_density(radial(text), 3).atoms
    assert [(a.radius, a.mass) for a in atoms] == ([(0.0, mass)] if mass else [])

"""Kernels with slow waves: known densities, tables, atoms, and the waves of a formula."""

import flint
import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.base.precision import working_precision
from spectra.density import spectral_density
from spectra.density.half_line.half_line import half_line_density
from spectra.density.half_line.half_line_formula import read_waves
from spectra.errors import NoRouteError
from spectra.formula.ball_function import (
    BallFunction,
    HankelAmplitude,
    analytic_continuation,
    constant_ball,
)
from spectra.formula.parsing import Z
from spectra.measure import measure_of
from spectra.measure.tabulation import tabulate

DISTANCES = np.array([0.0, 0.01, 0.31, 1.0, 2.6, 5.3, 20.0, 61.0])


def moved(law, b):
    """From the density of f to that of f cos(bz), in one dimension."""
    return lambda w: (law(abs(w - b)) + law(w + b)) / 2


def raised(law):
    """From d = 1 to d = 3: rho_3 = -w d rho_1/dw."""
    return lambda w: -w * mp.diff(law, w)


def gaussian(w):
    return mp.sqrt(2 / mp.pi) * mp.exp(-w * w / 2)


def gaussian_sine(b):
    """Of z sin(bz) exp(-z^2/2): minus the slope in b of that of cos(bz) exp(-z^2/2)."""
    return lambda w: ((w + b) * gaussian(w + b) - (w - b) * gaussian(w - b)) / 2


def cauchy(w):
    """Of 1/(1 + z^2)."""
    return mp.exp(-w)


def one_sided(w):
    """Of 1/(1 + z): a mixture of exponentials."""
    return 2 / mp.pi * (-mp.cos(w) * mp.ci(w) - mp.sin(w) * (mp.si(w) - mp.pi / 2))


def shell(w):
    """Of (sin z/z)^3 in five dimensions: -1/w d/dw takes a spline of degree 2 to constants."""
    return w / 4 if 1 < w < 3 else mp.mpf(0)


def bessel_square(w):
    """Of J_0(z)^2 in one dimension: 2/pi^2 K(1 - w^2/4)."""
    return 2 / mp.pi**2 * mp.ellipk(1 - w * w / 4) if w < 2 else mp.mpf(0)


def arcsine(w):
    """Of J_0(z)^2 in two dimensions: two unit vectors of independent directions are added."""
    return 2 / (mp.pi * mp.sqrt(4 - w * w)) if w < 2 else mp.mpf(0)


#: (formula, dimension, density, radii, breaks and ends)
KNOWN = (
    ("z*sin(9*z)*exp(-z**2/2)", 3, raised(gaussian_sine(9)), (6.0, 8.7, 11.0, 20.0)),
    ("cos(3*z)/(1+z**2)", 1, moved(cauchy, 3), (0.01, 1.3, 2.999999, 3.0000001, 9.0, 40.0)),
    ("cos(z)/(1+z)", 1, moved(one_sided, 1), (0.01, 0.7, 0.999999, 1.0000001, 5.0, 1e3)),
    ("(sin(z)/z)**3", 5, shell, (0.01, 0.7, 0.99, 1.01, 2.0, 2.99)),
    ("besselj(0,z)**2", 1, bessel_square, (1e-6, 0.01, 1.3, 1.999)),
    ("besselj(0,z)**2", 2, arcsine, (0.01, 1.3, 1.999, 1.999999)),
)
SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(("text", "dim", "law", "radii"), KNOWN)
def test_the_density_of_a_wave_is_the_known_one_and_its_table_gives_the_kernel(
    text, dim, law, radii
):
    kernel = sp.radial(text)
    density = spectral_density(kernel, dim, route="numeric")
    found, bound = density.radial(radii), density.error(radii)
    peak = max(abs(float(law(mp.mpf(w)))) for w in radii)
    with mp.workdps(50):
        for w, rho, error in zip(radii, found, bound, strict=True):
            true = law(mp.mpf(w))
            assert abs(mp.mpf(float(rho)) - true) <= error, (w, rho, true)
            assert error <= 1e-9 * peak
    measure = measure_of(density)
    total = measure.positive_mass.mid + measure.negative_mass.mid
    table = tabulate(measure)
    assert table.u_error <= 1e-9
    error = np.abs(table.expected_kernel(DISTANCES) - kernel(DISTANCES))
    assert np.all(error <= 2e-14 * total + measure.positive_mass.rad + measure.negative_mass.rad)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "dim", "radius", "mass"),
    [
        ("sin(z)/(1+z)", 3, 1.0, 1.0),
        ("besselj(0,z)**2", 3, 2.0, 2 / np.pi),
        ("sin(z)**2/z**2", 5, 2.0, 2 / 3),
    ],
)
def test_a_wave_with_the_decay_and_phase_of_a_plane_wave_is_an_atom(text, dim, radius, mass):
    """Omega_d(bz) decays like z^-((d-1)/2); what is left of the kernel has a density."""
    kernel = sp.radial(text)
    density = spectral_density(kernel, dim, route="numeric")
    (atom,) = density.atoms
    assert atom.radius == radius
    assert atom.mass == pytest.approx(mass, abs=4 * atom.error)
    measure = measure_of(density)
    table = tabulate(measure)
    total = measure.positive_mass.mid + measure.negative_mass.mid
    error = np.abs(table.expected_kernel(DISTANCES) - kernel(DISTANCES))
    assert np.all(error <= 1e-14 * total)
    assert sp.existence(kernel, dim).status is sp.Status.FINITE


def test_without_that_phase_the_mass_is_infinite_and_the_refusal_says_so():
    with pytest.raises(NoRouteError, match="without the phase of a plane wave"):
        half_line_density(sp.radial("cos(z)/(1+z)").pieces[0].expr, 3)
    assert sp.existence(sp.radial("cos(z)/(1+z)"), 3).status is sp.Status.INFINITE
    with pytest.raises(NoRouteError, match="faster than z"):
        half_line_density(sp.radial("sin(z)/(1+z)").pieces[0].expr, 5)


@pytest.mark.parametrize("text", ["sin(z)**2/z**2", "besselj(0,z)**2", "sin(2*z)*cos(z)*exp(-z)"])
def test_the_waves_of_a_formula_add_up_to_it(text):
    expr = sp.radial(text).pieces[0].expr
    for x in np.geomspace(0.3, 90.0, 40).tolist():
        with working_precision(128):
            total = flint.arb(0)
            for b, f in read_waves(expr).items():
                both = 2 if b else 1
                turn = (flint.acb(0, 1) * constant_ball(b) * x).exp()
                amplitude = analytic_continuation(f, Z).to_accuracy(flint.acb(x), 128)
                total += both * (turn * amplitude).real
            true = flint.arb(str(expr.subs(Z, sympy.Float(x, 40)).evalf(40)))
            assert abs(total - true) <= 1e-30


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("order", ["-1/2", "1", "1/3"])
def test_the_amplitude_of_a_hankel_function_is_the_function_without_its_wave(order, sign):
    """Against K, which does not cancel (DLMF 10.27.8)."""
    nu = sympy.Rational(order)
    amplitude = BallFunction(HankelAmplitude(nu, Z, sign), Z)
    order = flint.acb(flint.arb(int(nu.p)) / int(nu.q))
    for u in (3 + 4j, 0.2 - 0.1j, 900 + 100j, 900 - 700j, 5e3 + 1j, 1e5 + 3j, 1e9 - 1e8j, 1e25j):
        i, u = flint.acb(0, sign), flint.acb(u)
        k = (-i * u).bessel_k(order) * (-i * u).exp()
        true = -2 * i / flint.acb.pi() * (-i * flint.acb.pi() * order / 2).exp() * k
        found = amplitude.to_accuracy(u, 64)
        assert found.overlaps(true)
        assert found.rel_accuracy_bits() > 26

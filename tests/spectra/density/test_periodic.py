"""Periodic kernels on the line: Fourier coefficients, their errors, and products."""

import mpmath as mp
import numpy as np
import pytest
import sympy
from scipy.special import ive

import spectra as sp
from spectra.density import spectral_density
from spectra.density.periodic import fourier_atoms, periodic
from spectra.errors import AccuracyError, NoRouteError
from spectra.verdict import D

SEASON = "exp(-2*sin(pi*z/p)**2/l**2)"


def bessel(x, damped=0):
    """Coefficients of exp(x cos z - damped), when asked in the precision that is set."""
    return lambda n: (1 if n == 0 else 2) * mp.besseli(n, x) * mp.exp(-damped)


def poisson(a):
    """Coefficients of 1/(a - cos z), a > 1."""
    return lambda n: (1 if n == 0 else 2) * (a - mp.sqrt(a * a - 1)) ** n / mp.sqrt(a * a - 1)


CASES = [
    (sp.radial("exp(5*cos(z/3))"), 1 / 3, bessel(5)),
    (sp.radial("exp(-cos(z))"), 1.0, bessel(-1)),
    (sp.radial(SEASON, p=7, l=0.5), 2 * np.pi / 7, bessel(4, 4)),
    (sp.radial("1/(2-cos(z))"), 1.0, poisson(mp.mpf(2))),
]


@pytest.mark.parametrize(
    ("kernel", "rate", "exact"),
    CASES,
    ids=lambda x: str(x)[:24] if isinstance(x, sp.Kernel) else None,
)
def test_fourier_coefficients_are_exact_and_the_rest_is_in_the_error(kernel, rate, exact):
    density = spectral_density(kernel, 1)
    assert density.route == "periodic"
    found = {round(a.radius / rate): a for a in density.atoms}
    size = max(abs(a.mass) for a in density.atoms)
    with mp.workdps(40):
        truth = {n: exact(n) for n in range(3 * max(found) + 40)}
        lost = sum(abs(value) for n, value in truth.items() if n not in found)
        for n, atom in found.items():
            assert atom.radius == pytest.approx(n * rate, rel=1e-15)
            difference = abs(mp.mpf(atom.mass) - truth[n])
            assert difference <= atom.error
            assert difference <= 1e-15 * size
            assert (atom.mass > 0) == (truth[n] > 0)
        # The error of the first atom holds the rest, and the rest is far below rounding.
        assert lost <= found[0].error
        assert lost <= 1e-16 * size


@pytest.mark.parametrize("kernel", [case[0] for case in CASES], ids=lambda k: str(k)[:24])
def test_periodic_kernels_have_finite_mass_on_the_line_only(kernel):
    assert sp.existence(kernel, 1).status is sp.Status.FINITE
    assert sp.existence(kernel, 2).status is sp.Status.INFINITE
    assert sp.existence(kernel, 7).status is sp.Status.INFINITE
    assert periodic(kernel, 2) is None


def test_a_product_of_periods_without_a_ratio_has_atoms_at_all_sums_and_differences():
    density = spectral_density(sp.radial("2*exp(cos(z) + cos(sqrt(2)*z))"), 1)
    assert density.route == "periodic"
    found = {atom.radius: atom for atom in density.atoms}
    lost = mp.mpf(0)
    with mp.workdps(40):
        bessel = [mp.besseli(n, 1) for n in range(22)]
        for m in range(-21, 22):
            for n in range(22):
                if n == 0 and m < 0:
                    continue
                # Those of (m, n) and (-m, -n) are one radius.
                mass = (1 if m == n == 0 else 2) * 2 * bessel[abs(m)] * bessel[n]
                radius = abs(m + n * 2**0.5)
                near = [r for r in found if abs(r - radius) < 1e-12]
                if not near:
                    lost += abs(mass)
                    continue
                atom = found.pop(near[0])
                if atom is not density.atoms[0]:
                    assert abs(atom.mass - mass) <= atom.error
                assert abs(atom.mass - mass) <= 1e-15 * 2 * mp.exp(2)
        assert not found
        first = density.atoms[0]
        assert first.radius == 0.0
        assert lost + abs(first.mass - 2 * bessel[0] ** 2) <= first.error < 1e-11


def test_periods_without_a_ratio_in_one_factor_are_refused_with_the_reason():
    with pytest.raises(NoRouteError, match="incommensurable periods"):
        spectral_density(sp.radial("1/(3 - cos(z) - cos(sqrt(2)*z))"), 1)


@pytest.mark.slow
def test_a_pole_too_near_the_line_is_refused_with_the_number_of_coefficients():
    with pytest.raises(NoRouteError, match="more than 4096 terms"):
        spectral_density(sp.radial("1/(100001/100000 - cos(z))"), 1)


def test_a_periodic_summand_is_combined_with_others():
    density = spectral_density(sp.radial("exp(cos(z)) - exp(-z)/2"), 1)
    alone = spectral_density(sp.radial("-exp(-z)/2"), 1)
    assert density.route == "periodic"
    assert density.atoms == fourier_atoms(sp.radial("exp(cos(z))").pieces[0].expr)
    w = np.array([0.1, 1.0, 7.0])
    np.testing.assert_array_equal(density.radial(w), alone.radial(w))


@pytest.mark.parametrize(
    "formula", ["Abs(sin(z))", "exp(-Abs(sin(z)))", "sqrt(2-cos(z))", "exp(-z)"]
)
def test_formulas_not_known_to_be_analytic_have_no_fourier_atoms(formula):
    assert fourier_atoms(sp.radial(formula).pieces[0].expr) is None


def test_a_seasonal_factor_combines_with_other_columns():
    kernel = CASES[2][0].on([1]) * sp.radial("exp(-z)").on([0, 2]) - 0.2 * CASES[1][0].on([1])
    table = sp.derive(kernel, 3)
    D = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(table.expected_kernel(D), kernel(D), atol=1e-12)
    assert table.negative_mass > 0.0


@pytest.mark.parametrize("text", ["exp(cos(z/10**299))", "exp(-cos(z*10**299))"])
def test_a_period_beyond_double_precision_is_refused(text):
    with pytest.raises(AccuracyError, match="Measure distances in another unit"):
        sp.spectral_measure(sp.radial(text), 1)


def test_infinitely_many_kinks_are_found_up_to_the_end_of_a_range():
    verdict = sp.existence(sp.radial("sqrt(1 + cos(z))"), 3)
    for end in (3, 4):
        inside = float(end) > float(sympy.pi)
        found = verdict.on_domain(end)
        assert (found.status is sp.Status.INFINITE) == inside


@pytest.mark.parametrize(
    ("text", "bell"),
    [
        ("exp(-2*sin(pi*z)**2/(49/100) - z**2/1800)", "exp(-z**2/1800)"),
        ("exp(-z/30 - 2*sin(pi*z)**2)", "exp(-z/30)"),
    ],
)
def test_a_quasi_periodic_kernel_has_its_bell_at_every_frequency(text, bell):
    power = 100 / 49 if "49" in text else 1.0
    found, plain = sp.spectral_density(text, 1), sp.spectral_density(bell, 1)
    assert found.route == "periodic"
    w = np.array([0.013, 0.4, 6.29, 12.5])
    exact = np.zeros_like(w)
    for n in range(40):
        weight = (2 - (n == 0)) * ive(n, power) / 2
        exact += weight * (
            plain.radial(np.abs(w - 2 * np.pi * n)) + plain.radial(w + 2 * np.pi * n)
        )
    assert np.max(np.abs(found.radial(w) - exact)) < 1e-12 * exact.max()


def test_bells_that_are_left_out_count_in_the_error():
    """exp(-2 sin(z)^2 - z^2/8): the true error is at most the stated one, far out as well."""
    density = sp.spectral_density("exp(-2*sin(z)**2)*exp(-z**2/8)", 1)
    w = np.array([0.5, 20.0, 30.7, 32.0, 34.0, 36.0, 40.0])
    with mp.workdps(40):
        weights = [mp.besseli(n, 1) for n in range(41)]
        for radius, value, error in zip(w, density.radial(w), density.error(w), strict=True):
            terms = (
                weights[abs(n)] * mp.exp(-2 * (mp.mpf(radius) - 2 * n) ** 2) for n in range(-40, 41)
            )
            truth = mp.sqrt(8 / mp.pi) / mp.e * mp.fsum(terms)
            assert abs(value - truth) <= error
    assert density.error(w).max() < 1e-14


def test_a_periodic_kernel_with_kinks_has_a_verdict_and_no_table():
    kernel = sp.radial("exp(-2*acos(cos(2*pi*z))**2/pi**2)")
    assert sp.existence(kernel).condition == (D <= 1)
    with pytest.raises(NoRouteError, match=r"is periodic, but not smooth .*\(design\)"):
        spectral_density(kernel, 1)


def test_a_product_of_a_periodic_kernel_and_one_without_a_closed_form_is_refused_with_advice():
    with pytest.raises(NoRouteError, match="on"):
        sp.spectral_density("exp(cos(z))*exp(-sqrt(z))", 1)

"""Periodic kernels on the line: exact Fourier coefficients, what is left away, and products."""

import mpmath as mp
import numpy as np
import pytest
import sympy
from grids import by_turns

import spectra as sp
from rf import SpectralFeatures
from spectra.density import spectral_density
from spectra.density.periodic import fourier_atoms, periodic
from spectra.errors import AccuracyError, NoRouteError

SEASON = "exp(-2*sin(pi*z/p)**2/l**2)"


def bessel(x, damped=0):
    """Coefficients of exp(x cos z - damped), when asked in the precision that is set."""
    return lambda n: (1 if n == 0 else 2) * mp.besseli(n, x) * mp.exp(-damped)


def poisson(a):
    """Coefficients of 1/(a - cos z), a > 1."""
    return lambda n: (1 if n == 0 else 2) * (a - mp.sqrt(a * a - 1)) ** n / mp.sqrt(a * a - 1)


CASES = [
    (sp.radial("exp(cos(z))"), 1.0, bessel(1)),
    (sp.radial("exp(-cos(z))"), 1.0, bessel(-1)),
    (sp.radial("exp(5*cos(z/3))"), 1 / 3, bessel(5)),
    (sp.radial(SEASON, p=7, l=0.5), 2 * np.pi / 7, bessel(4, 4)),
    (sp.radial(SEASON, p=365, l=0.05), 2 * np.pi / 365, bessel(400, 400)),
    (
        sp.radial("cos(3*sin(z))"),
        1.0,
        lambda n: 0 if n % 2 else (2 if n else 1) * mp.besselj(n, 3),
    ),
    (sp.radial("1/(2-cos(z))"), 1.0, poisson(mp.mpf(2))),
    (sp.radial("1/(101/100-cos(z))"), 1.0, lambda n: poisson(mp.mpf(101) / 100)(n)),
]


@pytest.mark.parametrize(
    ("kernel", "rate", "exact"),
    by_turns(CASES, every=2),
    ids=lambda x: str(x)[:24] if isinstance(x, sp.Kernel) else None,
)
def test_coefficients_are_exact_and_nothing_is_left_away_without_a_word(kernel, rate, exact):
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
def test_they_are_finite_on_the_line_alone(kernel):
    assert sp.existence(kernel, 1).status is sp.Status.FINITE
    assert sp.existence(kernel, 2).status is sp.Status.INFINITE
    assert sp.existence(kernel, 7).status is sp.Status.INFINITE
    assert periodic(kernel, 2) is None


def finite_on_the_line_alone(kernel):
    assert sp.existence(kernel, 1).status is sp.Status.FINITE
    for dim in (2, 3, 7):
        verdict = sp.existence(kernel, dim)
        assert verdict.status is sp.Status.INFINITE
        assert "no limit at infinity" in verdict.reasons[0]


@pytest.mark.parametrize(
    "text",
    ["exp(cos(z)) + exp(-z)", "1/(2-cos(z)) + 1/(1+z)", "exp(cos(z)) + cos(z)/(1+z)"],
)
def test_beside_a_kernel_with_a_limit_they_are_finite_on_the_line_alone(text):
    kernel = sp.radial(text)
    finite_on_the_line_alone(kernel)


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


@pytest.mark.parametrize(
    "text", by_turns(["exp(cos(z) + cos(sqrt(2)*z))", "cos(z)/(2-cos(pi*z)) + exp(-z)"], every=2)
)
def test_without_a_period_they_are_finite_on_the_line_alone_and_give_the_kernel_back(text):
    kernel = sp.radial(text)
    finite_on_the_line_alone(kernel)
    table = sp.derive(kernel, 1, cache=False)
    z = np.linspace(0.0, 40.0, 301)
    lack = np.abs(table.expected_kernel(z) - kernel(z))
    error = table.expected_kernel_error(z) + table.mass_error
    assert np.all(lack <= error + 1e-14 * table.mass)
    assert np.all(error < 1e-10)


def test_periods_without_a_ratio_in_one_factor_are_refused_with_the_reason():
    with pytest.raises(NoRouteError, match="periods have no ratio"):
        spectral_density(sp.radial("1/(3 - cos(z) - cos(sqrt(2)*z))"), 1)


@pytest.mark.parametrize("a", ["1001/1000", pytest.param("10001/10000", marks=pytest.mark.slow)])
def test_a_pole_near_the_line_has_thousands_of_coefficients(a):
    atoms = fourier_atoms(sp.radial(f"1/({a} - cos(z))").pieces[0].expr)
    with mp.workdps(40):
        exact = poisson(mp.mpf(int(a.split("/")[0])) / int(a.split("/")[1]))
        missing = exact(len(atoms)) / (1 - exact(len(atoms)) / exact(len(atoms) - 1))
        wrong = [abs(atom.mass - exact(n)) for n, atom in enumerate(atoms)]
        assert all(w <= atom.error for w, atom in zip(wrong, atoms, strict=True))
        assert wrong[0] + missing <= atoms[0].error < 1e-12 * sum(a.mass for a in atoms)
    assert len(atoms) > 500


@pytest.mark.slow
def test_a_pole_too_near_the_line_is_refused_with_the_number_of_coefficients():
    with pytest.raises(NoRouteError, match="more than 4096 terms"):
        spectral_density(sp.radial("1/(100001/100000 - cos(z))"), 1)


def test_what_may_cancel_a_period_is_not_decided():
    # The rest has no limit itself, and the sum has one.
    kernel = sp.radial("exp(cos(z)) + (1/(1+z) - exp(cos(z))*(1 + exp(-z)))")
    assert sp.existence(kernel, 3).status is not sp.Status.INFINITE


@pytest.mark.parametrize("kernel", [CASES[i][0] for i in (0, 1, 3)], ids=lambda k: str(k)[:24])
def test_a_table_gives_the_kernel_back(kernel):
    table = sp.derive(kernel, 1, cache=False)
    z = np.linspace(0.0, 40.0, 301)
    lack = np.abs(table.expected_kernel(z) - kernel(z))
    assert np.all(lack <= table.expected_kernel_error(z) + table.mass_error + 1e-14 * table.mass)


def test_signed_coefficients_have_the_masses_of_the_series():
    # The signs of exp(-cos z) alternate, so that the sum of sizes is its value at pi.
    measure = sp.spectral_measure(sp.radial("exp(-cos(z))"), 1)
    assert measure.mass.mid == pytest.approx(np.e, abs=1e-14)
    assert measure.positive_mass.mid == pytest.approx(np.cosh(1.0), abs=1e-14)
    assert measure.negative_mass.mid == pytest.approx(np.sinh(1.0), abs=1e-14)


def test_a_periodic_summand_stands_beside_others():
    density = spectral_density(sp.radial("exp(cos(z)) - exp(-z)/2"), 1)
    alone = spectral_density(sp.radial("-exp(-z)/2"), 1)
    assert density.route == "periodic"
    assert density.atoms == fourier_atoms(sp.radial("exp(cos(z))").pieces[0].expr)
    w = np.array([0.1, 1.0, 7.0])
    np.testing.assert_array_equal(density.radial(w), alone.radial(w))


@pytest.mark.parametrize(
    "formula", ["Abs(sin(z))", "exp(-Abs(sin(z)))", "sqrt(2-cos(z))", "exp(-z)"]
)
def test_what_is_not_seen_to_be_analytic_is_not_claimed(formula):
    assert fourier_atoms(sp.radial(formula).pieces[0].expr) is None


@pytest.mark.slow
def test_a_season_that_fades_is_a_product_on_one_column():
    season, fading = CASES[3][0], sp.radial("exp(-z**2/2)").rescale(30)
    kernel = season.on([0]) * fading.on([0])
    table = sp.derive(kernel, 1)
    D = np.linspace(0.0, 60.0, 121)[:, None]
    np.testing.assert_allclose(table.expected_kernel(D), kernel(D), atol=1e-12)
    np.testing.assert_allclose(kernel(D), season(D[:, 0]) * fading(D[:, 0]), atol=1e-15)
    assert table.is_jordan
    assert table.mass == pytest.approx(1.0, abs=1e-12)
    X = np.linspace(0.0, 60.0, 20)[:, None]
    features = SpectralFeatures(kernel, n_components=1024, coupling="iid", random_state=0).fit(X)
    deviation = np.sqrt(features.variance((X[:, None] - X[None]).reshape(-1, 1)))
    error = np.abs(features.gram(X) - kernel.gram(X)).ravel()
    assert np.all(error <= 6 * deviation + 1e-9)


def test_a_seasonal_factor_works_beside_other_columns():
    kernel = CASES[3][0].on([1]) * sp.radial("exp(-z)").on([0, 2]) - 0.2 * CASES[1][0].on([1])
    table = sp.derive(kernel, 3)
    D = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(table.expected_kernel(D), kernel(D), atol=1e-12)
    assert table.negative_mass > 0.0


@pytest.mark.parametrize("text", ["exp(cos(z/10**299))", "exp(-cos(z*10**299))"])
def test_a_period_beyond_powers_of_doubles_is_refused_with_the_unit(text):
    with pytest.raises(AccuracyError, match="Measure distances in another unit"):
        sp.spectral_measure(sp.radial(text), 1)


def test_kinks_without_end_are_found_up_to_the_end_of_a_range():
    verdict = sp.existence(sp.radial("sqrt(1 + cos(z))"), 3)
    for end in (3, sympy.pi, 4, 3 * sympy.pi):
        inside = float(end) > float(sympy.pi)
        found = verdict.on_domain(end)
        assert (found.status is sp.Status.INFINITE) == inside

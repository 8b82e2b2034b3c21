"""Tables of measures: accurate inverse CDFs at both ends, with a measured error."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from mpmath import mp
from scipy import stats
from scipy.special import betainc, betaincinv

from spectra.base.bessel import plane_wave_mean
from spectra.density import spectral_density
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels.kernel import radial
from spectra.measure import SpectralMeasure, measure_of, truncate
from spectra.measure.tabulation import tabulate

Z = np.array([0.0, 1e-4, 0.1, 0.7, 1.0, 1.9, 2.0, 5.0])
SMALL = np.geomspace(1e-15, 0.4, 40)


@cache
def table(formula, dim, support=None):
    return tabulate(measure_of(spectral_density(radial(formula, support=support), dim)))


def law(formula, dim, support=None):
    (part,) = table(formula, dim, support).parts
    return part.law


def misses(a, u):
    """Largest relative error of probabilities, beyond the resolution of a generator's draws."""
    return float(np.max((np.abs(np.asarray(a) - u) - 2.0**-53) / u))


def relative(a, b):
    return float(np.abs(np.asarray(a) / np.asarray(b) - 1.0).max())


@pytest.mark.parametrize(("dim", "nu"), [(1, "1/2"), (16, "1/5")])
def test_the_matern_radius_has_the_tails_of_student_s_t(dim, nu):
    formula = f"2**(1-{nu})/gamma({nu})*(sqrt(2*{nu})*z)**({nu})*besselk({nu}, sqrt(2*{nu})*z)"
    radius, shape = law(formula, dim), eval(nu)
    q = SMALL
    # y = 2 nu / (2 nu + R^2) is beta distributed, and small where R is large.
    far = radius.isf(q)
    y = 2 * shape / (2 * shape + far**2)
    assert relative(betainc(shape, dim / 2, y), q) <= 2e-7
    near = radius.ppf(q)
    x = near**2 / (2 * shape + near**2)
    assert misses(betainc(dim / 2, shape, x), q) <= 2e-7
    assert table(formula, dim).u_error <= 1e-12


@pytest.mark.parametrize("dim", [1, 64])
def test_a_bounded_spectrum_has_its_known_end(dim):
    """sin(z)/z in d < 3 and its likes: the radius squared is beta distributed on [0, 1]."""
    m = dim + 3
    formula = f"gamma({m}/2)*(2/z)**({m}/2 - 1)*besselj({m}/2 - 1, z)"
    radius = law(formula, dim)
    assert radius.upper == pytest.approx(1.0, rel=1e-14)
    assert relative(radius.isf(SMALL), np.sqrt(1 - betaincinv(1.5, dim / 2, SMALL))) <= 1e-12
    assert misses(betainc(dim / 2, 1.5, radius.ppf(SMALL) ** 2), SMALL) <= 2e-7
    found = table(formula, dim).expected_kernel(Z)
    assert np.abs(found - plane_wave_mean(m, Z)).max() <= 1e-12


@pytest.mark.parametrize(
    ("formula", "dim"),
    [("exp(-z**2/2) - exp(-z**2/200)", 16), ("exp(-z**2/2) - 3/10*exp(-z)", 1),
     ("exp(-z**2/2) - 1/2", 64)],
)  # fmt: skip
def test_the_expectation_of_a_table_is_the_kernel(formula, dim):
    t = table(formula, dim)
    assert t.u_error <= 1e-12
    missed = np.abs(t.expected_kernel(Z) - radial(formula)(Z))
    assert missed.max() <= 1e-12 * max(t.mass, 1.0)


@pytest.mark.parametrize(("dim", "power"), [(1, 1), (3, 2), (5, 3)])
def test_a_table_holds_the_oscillating_tail_that_others_cut(dim, power):
    formula = f"(1 - z**2/4)**{power}"
    k, t = radial(formula, support=2), table(formula, dim, 2)
    assert t.u_error <= 1e-12
    assert np.abs(t.expected_kernel(Z) - k(Z)).max() <= 1e-12
    assert 1.0 < t.mass / measure_of(spectral_density(k, dim)).mass.mid <= 1.004
    assert all(p.law.tail is not None for p in t.parts)


def test_the_radii_of_an_oscillating_law_have_the_probability_of_exact_masses():
    (positive, _negative) = table("(1 - z**2/4)**2", 3, 2).parts
    with mp.workdps(30):

        def rho(w):
            return 8 / mp.sqrt(mp.pi * w**3) * mp.besselj(mp.mpf(7) / 2, 2 * w)

        zeros = [0] + [mp.besseljzero(mp.mpf(7) / 2, n) / 2 for n in range(1, 9)]
        lobes = [mp.quad(rho, zeros[i : i + 2]) for i in range(8)]
        mass = mp.mpf(positive.mass)
        for i in (0, 2, 4, 6):
            before = sum(lobes[j] for j in range(0, i, 2)) / mass
            for place in (0.03, 0.4, 0.9):
                w = zeros[i] + place * (zeros[i + 1] - zeros[i])
                u = float(before + mp.quad(rho, [zeros[i], w]) / mass)
                # A radius of probability u, and the slope of u there.
                slope = float(rho(w) / mass)
                assert abs(positive.law.ppf(np.array([u]))[0] - float(w)) * slope <= 1e-13


def test_atoms_stay_where_they_are():
    k = radial("exp(-z**2/2)") + radial("sin(2*z)/(2*z)") * 0.5 + 0.25
    t = tabulate(measure_of(spectral_density(k, 3)))
    (part,) = t.parts
    below = 0.25 / 1.75
    assert part.law.ppf([0.0, 0.5 * below, 0.99 * below]) == pytest.approx([0.0, 0.0, 0.0])
    start = (0.25 + stats.chi(3).cdf(2.0)) / 1.75
    assert part.law.ppf(start + np.array([1e-6, 0.1, 0.28])) == pytest.approx([2.0] * 3)
    assert part.law.ppf([start - 1e-6])[0] < 2.0 < part.law.ppf([start + 0.5 / 1.75 + 1e-6])[0]
    assert np.abs(t.expected_kernel(Z) - k(np.maximum(Z, 1e-9))).max() <= 1e-12


@pytest.mark.parametrize("dim", [1, 256])
def test_atoms_at_any_radius_leave_the_distribution_unchanged(dim):
    k = 0.5 * radial("exp(-z**2/2)") - 0.25 * radial("exp(-z**2/200)") + 0.125
    waves = SpectralMeasure.from_atoms(dim, [0.5, 40.0], [0.25, -0.5])
    density = spectral_density(k, dim)
    m = measure_of(type(density)(k, dim, density.components, (*density.atoms, *waves.atoms), "t"))
    exact = k(Z) + 0.25 * plane_wave_mean(dim, 0.5 * Z) - 0.5 * plane_wave_mean(dim, 40.0 * Z)
    assert np.abs(tabulate(m).expected_kernel(Z) - exact).max() <= 1e-12


def test_a_truncated_table_states_its_bias():
    density = spectral_density(radial("exp(-z)"), 3)
    t = tabulate(truncate(density, 30.0))
    assert t.bias == pytest.approx(1.0 - t.mass, rel=1e-6)
    assert np.abs(t.expected_kernel(Z) - np.exp(-Z)).max() <= t.bias
    assert t.parts[0].law.upper == pytest.approx(30.0, rel=1e-10)
    assert "truncated" in t.provenance


def test_there_is_no_table_without_a_verdict():
    k = radial("exp(-z)")
    for wrong in (k, spectral_density(k, 3), "exp(-z)", None):
        with pytest.raises(ParameterError, match="existence"):
            tabulate(wrong)
    infinite = spectral_density(radial("(1 - z**2/4)**2", support=2), 16)
    with pytest.raises(ParameterError, match="no bound"):
        tabulate(truncate(infinite, 20.0))


TOUCHING = {
    "triangle": (radial("1 - z", support=1), 1),
    "spherical": (radial("(1 - z)**2*(1 + z/2)", support=1), 3),
    "one double zero": (radial("(3 - 6*z**2 + z**4)*exp(-z**2/2)"), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", TOUCHING)
def test_a_density_that_touches_zero_has_a_table(name):
    """(1 - cos w)/w^2 touches zero without end; w^4 exp(-w^2/2) at the origin only."""
    k, dim = TOUCHING[name]
    t = tabulate(measure_of(spectral_density(k, dim)))
    assert t.u_error <= 5e-15
    assert np.abs(t.expected_kernel(Z) - k(Z)).max() <= 2e-14 * t.mass


@pytest.mark.slow
def test_a_small_part_is_as_accurate_as_a_large_one():
    """1/(1 + z)^3 is a mixture of exp(-s z); the mass below w has a closed form for each."""
    measure = measure_of(spectral_density(radial("cos(2*z)/(1+z)**3"), 2))
    (change,), t = measure.sign_changes(), tabulate(measure)

    def below(w):
        def mixture(s):
            return s**2 / 2 * mp.exp(-s) * (1 - (s - 2j) / mp.sqrt((s - 2j) ** 2 + w**2)).real

        return mp.quad(mixture, [0, 0.1, 1, 4, 16, 64, 128])

    negative = -below(mp.mpf(change))
    assert 0.001 < negative < 0.002
    assert abs(measure.negative_mass.mid / negative - 1) <= t.u_error <= 1e-12
    u = np.linspace(0.05, 0.95, 7)
    for p, w in zip(u, t.parts[1].law.ppf(u), strict=True):
        assert abs(-below(mp.mpf(w)) / negative - p) <= t.u_error


@pytest.mark.parametrize("u_error", [1e-6, 1e-13])
def test_the_measured_error_is_below_what_was_asked_and_honest(u_error):
    t = tabulate(measure_of(spectral_density(radial("exp(-z**2/2)"), 3)), u_error=u_error)
    assert t.u_error <= u_error
    u = np.random.default_rng(5).random(4000)
    true = np.abs(stats.chi(3).cdf(t.parts[0].law.ppf(u)) - u).max()
    # Measured at other places: an underestimate by more than this would be dishonest.
    assert true <= 3.0 * t.u_error + 2e-15


@pytest.mark.parametrize("u_error", ["1e-6", True, float("nan"), 1.0, 1e-17])
def test_an_error_that_is_no_probability_is_refused(u_error):
    measure = SpectralMeasure.from_atoms(3, [1.0], [1.0])
    with pytest.raises(ParameterError, match="not a valid error in probability"):
        tabulate(measure, u_error=u_error)


@pytest.mark.parametrize(("dim", "length"), [(3, 10_000), (64, 10)])
def test_two_clusters_of_radii_share_one_table(dim, length):
    """Between them the density vanishes in floating point, and half of the mass lies below."""
    radius = law(f"exp(-z**2/2) + exp(-z**2/(2*{length}**2))", dim)
    exact = stats.chi(dim)

    def cdf(w):
        return 0.5 * (exact.cdf(w) + exact.cdf(w * length))

    def sf(w):
        return 0.5 * (exact.sf(w) + exact.sf(w * length))

    near = 0.5 - np.geomspace(1e-12, 0.3, 40)
    u = np.concatenate([SMALL, near])
    assert np.abs(cdf(radius.ppf(u)) - u).max() <= 1e-12
    assert np.abs(sf(radius.isf(u)) - u).max() <= 1e-12
    assert np.all(np.diff(radius.ppf(np.sort(u))) >= 0.0)
    k = 0.5 * (np.exp(-0.5 * Z**2) + np.exp(-0.5 * (Z / length) ** 2))
    assert np.abs(radius.expected_plane_wave(dim, Z) - k).max() <= 1e-12


@pytest.mark.parametrize("frequency", [40, 400, 4000])
def test_a_bulk_far_narrower_than_its_radius_has_a_table(frequency):
    t = table(f"exp(-z**2/50)*cos({frequency}*z)", 1)
    q = np.array([0.999, 0.8, 0.5, 0.1, 1e-3])
    exact = frequency + stats.norm.isf(q) / 5.0
    assert np.abs(t.parts[0].law.isf(q) - exact).max() <= 1e-12 * frequency
    assert t.u_error <= 1e-12


@pytest.mark.parametrize("scale", [1e45, 1e-45])
def test_extreme_length_scales_are_tabulated(scale):
    plain, scaled = (
        measure_of(spectral_density(radial("exp(-z)").rescale(x), 3)) for x in (1, scale)
    )
    before, after = (tabulate(m).parts[0].law for m in (plain, scaled))
    assert relative(after.isf(SMALL), before.isf(SMALL) / scale) <= 1e-6
    assert relative(after.ppf(SMALL[20:]), before.ppf(SMALL[20:]) / scale) <= 1e-10


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_length_scales_beyond_double_precision_are_refused(scale):
    with pytest.raises(AccuracyError, match="another unit"):
        tabulate(measure_of(spectral_density(radial("exp(-z**2/2)").rescale(scale), 3)))

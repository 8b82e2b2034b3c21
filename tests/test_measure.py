"""Masses, signs and parts of finite measures are right, and their errors are honest."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from grids import by_turns, graded
from hypothesis import given, settings
from hypothesis import strategies as st
from masses import holds_total, measure
from mpmath import mp
from numpy.polynomial import Polynomial
from scipy import stats
from scipy.special import betainc, gammaln

from spectra.base.enclosures import Enclosure, bracketed_roots, legendre_inverse, resolve
from spectra.density import spectral_density
from spectra.density.spectral_density import Atom, Component, OscillatingTail, SpectralDensity
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial
from spectra.measure import SpectralMeasure, measure_of, truncate
from spectra.measure.tabulation import tabulate

DIMS = (1, 2, 3, 7, 16, 64, 256, 1000)
DELTA_GAUSSIAN = radial("exp(-z**2/2) - exp(-z**2/200)")


def density_of(*components, dim=1, atoms=()):
    return SpectralDensity(DELTA_GAUSSIAN, dim, tuple(components), tuple(atoms), "test")


class PolynomialTimesGaussian(Component):
    """polynomial(w) exp(-w^2/2) for w > 0, with an exact bound of its rounding."""

    def __init__(self, polynomial):
        self.polynomial = polynomial
        moments = [2 ** ((j - 1) / 2) * float(mp.gamma((j + 1) / 2)) for j in range(40)]
        self.total = float(np.dot(polynomial.coef, moments[: polynomial.coef.size]))
        self.origin_exponent = 0.0
        self.bulk, self.decay = (0.3, 3.0), np.inf

    def signed_log(self, w):
        value = self.polynomial(np.minimum(w, 1e9))
        with np.errstate(divide="ignore"):
            return np.sign(value), np.log(np.abs(value)) - 0.5 * w * w

    def log_envelope(self, w):
        size = Polynomial(np.abs(self.polynomial.coef))(np.minimum(w, 1e9))
        return np.log(size) - 0.5 * w * w

    def relative_error(self, w):
        return np.full_like(w, 1e-14)


class HalfPower(Component):
    """w^-exponent beyond 1 and a constant before it, normalised to mass 1."""

    def __init__(self, exponent, tail=None):
        self.exponent, self.total, self.origin_exponent = exponent, 1.0, 0.0
        self.bulk, self.decay, self.tail = (0.5, 2.0), exponent, tail

    def signed_log(self, w):
        return np.ones_like(w), -0.5 * self.exponent * np.log1p(w * w)

    def relative_error(self, w):
        return np.full_like(w, 1e-14)


# --- quadrature -------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 1.0, 30.0, 1000.0])
def test_panels_resolve_an_exponential_of_any_rate_and_say_so(rate):
    (panels,) = resolve(lambda t: (np.exp(-rate * t), 0.0 * t), [[0.0, 50.0 / rate]])
    exact = -np.expm1(-50.0) / rate
    assert abs(panels.integral.mid - exact) <= panels.integral.rad
    assert panels.integral.rad <= 1e-13 * exact


def test_a_jump_is_refused_not_smoothed():
    with pytest.raises(AccuracyError, match="singularity or a jump"):
        resolve(lambda t: (np.where(t < 1 / 3, 1.0, 2.0), 0.0 * t), [[0.0, 1.0]])


def test_an_infinite_integrand_is_refused():
    with pytest.raises(AccuracyError, match="not finite"):
        resolve(lambda t: (np.full_like(t, np.inf), 0.0 * t), [[0.0, 1.0]])


def test_roots_in_many_brackets_are_exact_to_rounding():
    low, high = np.arange(1.0, 30.0) * np.pi - 1.2, np.arange(1.0, 30.0) * np.pi + 0.7
    roots = bracketed_roots(np.sin, low, high, value_low=np.sin(low), value_high=np.sin(high))
    assert np.abs(roots - np.arange(1.0, 30.0) * np.pi).max() <= 4e-14


def test_the_inverse_of_an_integral_keeps_the_digits_of_both_ends():
    coefficients = np.zeros((9, 20))
    coefficients[:, 0] = 1.0
    share = np.array([1e-12, 1e-6, 0.1, 1.0, 1.0, 1.0, 0.1, 1e-6, 1e-12])
    below = np.where(np.arange(9) < 4, share, 2.0 - share)
    above = np.where(np.arange(9) < 4, 2.0 - share, share)
    x = legendre_inverse(coefficients, below, above)
    assert np.abs(x - (below - 1.0)).max() <= 4e-16


def test_an_enclosure_adds_its_radii():
    total = Enclosure(1.0, 1e-3) - Enclosure(0.25, 2e-3)
    assert total.mid == 0.75
    assert 0.003 <= total.rad <= 0.003001
    assert "estimated" in str(total)


# --- smooth densities -------------------------------------------------------------------------


@pytest.mark.parametrize("dim", DIMS)
def test_the_delta_gaussian_has_the_masses_of_the_incomplete_gamma_function(dim):
    m = measure_of(spectral_density(DELTA_GAUSSIAN, dim))
    with mp.workdps(40):
        d = mp.mpf(dim)
        square = 2 * d * mp.log(10) / 99
        inner = mp.gammainc(d / 2, 0, square / 2, regularized=True)
        outer = mp.gammainc(d / 2, 50 * square, mp.inf, regularized=True)
        lost = inner + outer
        crossing = float(mp.sqrt(square))
    for mass in (m.positive_mass, m.negative_mass):
        assert abs(mp.mpf(mass.mid) - (1 - lost)) <= mass.rad
        assert mass.rad <= 1e-13 * max(dim, 4)
    assert m.sign_changes() == pytest.approx([crossing], rel=2e-13)
    # 1 - M+ is known to relative accuracy, even when it is 1e-119.
    if dim <= 256:
        assert abs(mp.mpf(m.cancelled_mass.mid) / lost - 1) <= 1e-12 * max(1, dim / 16)
        assert abs(mp.mpf(m.cancelled_mass.mid) - lost) <= m.cancelled_mass.rad


def test_the_cancelled_mass_at_dimension_16_has_twelve_digits():
    m = measure_of(spectral_density(DELTA_GAUSSIAN, 16))
    assert abs(m.cancelled_mass.mid / 8.21034097707520930751e-9 - 1.0) <= 1e-12


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("nu", [0.05, 0.5, 2.5])
def test_matern_has_mass_one_and_no_negative_part(dim, nu):
    formula = f"2**(1-{nu})/gamma({nu})*(sqrt(2*{nu})*z)**{nu}*besselk({nu}, sqrt(2*{nu})*z)"
    m = measure_of(spectral_density(radial(formula), dim))
    assert abs(m.positive_mass.mid - 1.0) <= m.positive_mass.rad <= 1e-11
    assert m.negative_mass.mid == 0.0
    assert len(m.parts()) == 1
    assert m.sign_changes().size == 0


LENGTHS = st.floats(0.2, 5.0)
WEIGHTS = st.floats(0.05, 2.0).flatmap(lambda x: st.sampled_from([x, -x]))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(WEIGHTS, LENGTHS), min_size=1, max_size=4, unique_by=lambda t: t[1]),
    st.sampled_from([1, 2, 3, 7, 16, 64]),
)
def test_n_gaussians_have_at_most_n_minus_1_sign_changes_and_the_right_total(terms, dim):
    k = sum(w * radial("exp(-z**2/2)").rescale(length) for w, length in terms)
    m = measure_of(spectral_density(k, dim))
    assert holds_total(m)
    assert m.sign_changes().size <= len(terms) - 1
    assert abs(m.k_zero - k.at_zero) <= 1e-13 * m.mass.mid
    # The mass lies between |k(0)| and the sum of the masses of the summands.
    summed = sum(abs(w) for w, _ in terms)
    assert abs(k.at_zero) - 1e-12 <= m.mass.mid <= summed + m.mass.rad + 1e-12
    both = m.mass.mid + 2.0 * m.cancelled_mass.mid
    assert abs(both - summed) <= m.mass.rad + 2.0 * m.cancelled_mass.rad + 1e-12


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(WEIGHTS, LENGTHS), min_size=1, max_size=3, unique_by=lambda t: t[1]),
    st.sampled_from([1, 3, 16]),
    st.floats(0.01, 100.0),
)
def test_rescaling_the_kernel_keeps_the_masses_and_divides_the_radii(terms, dim, scale):
    k = sum(w * radial("exp(-z)").rescale(length) for w, length in terms)
    k = k + 0.3 * radial("exp(-z**2/2)")
    m, scaled = (measure_of(spectral_density(x, dim)) for x in (k, k.rescale(scale)))
    assert holds_total(m)
    assert abs(m.mass.mid - scaled.mass.mid) <= m.mass.rad + scaled.mass.rad
    changes = m.sign_changes()
    assert scaled.sign_changes() * scale == pytest.approx(changes, rel=1e-7)


def test_masses_agree_with_mpmath_where_a_gaussian_meets_a_matern():
    m = measure("exp(-z**2/2) - 0.7*exp(-z)", 3)
    with mp.workdps(30):

        def rho(w):
            gaussian = mp.sqrt(2 / mp.pi) * w**2 * mp.exp(-(w**2) / 2)
            return gaussian - mp.mpf(7) / 10 * 4 / mp.pi * w**2 / (1 + w**2) ** 2

        w1, w2 = mp.findroot(rho, 0.3), mp.findroot(rho, 2.2)
        changes = m.sign_changes()
        assert changes == pytest.approx([float(w1), float(w2)], rel=1e-12)
        positive = mp.quad(rho, [w1, 1, w2])
        assert abs(mp.mpf(m.positive_mass.mid) - positive) <= m.positive_mass.rad
        assert abs(mp.mpf(m.negative_mass.mid) - (positive - mp.mpf(3) / 10)) <= m.negative_mass.rad


@pytest.mark.parametrize(("dip", "expected"), [(0.0, 0), (1e-4, 2), (1e-8, 2), (-1e-8, 0)])
def test_a_double_root_is_told_from_a_pair_of_roots(dip, expected):
    polynomial = Polynomial([-1.0, 0.0, 1.0]) ** 2 - dip
    m = measure_of(density_of(PolynomialTimesGaussian(polynomial)))
    assert holds_total(m)
    assert m.sign_changes().size == expected
    if expected:
        low, high = np.sqrt(1.0 - np.sqrt(dip)), np.sqrt(1.0 + np.sqrt(dip))
        assert m.sign_changes() == pytest.approx([low, high], rel=1e-6)
    else:
        assert m.negative_mass.mid <= m.negative_mass.rad


def test_a_wrong_component_is_found_by_its_total():
    class Wrong(PolynomialTimesGaussian):
        def __init__(self):
            super().__init__(Polynomial([1.0]))
            self.total *= 1.001

    with pytest.raises(AccuracyError, match="differs from k"):
        _ = measure_of(density_of(Wrong())).mass


# --- refusals, truncations, atoms -------------------------------------------------------------


@pytest.mark.parametrize(
    ("decay", "tail"),
    [(1.0, None), (0.5, None), (1.0, OscillatingTail(1, 1, 1.0, abs, abs, abs, abs, np.inf))],
)
def test_an_infinite_mass_is_refused_with_its_reason(decay, tail):
    with pytest.raises(InfiniteMassError, match="at infinity"):
        measure_of(density_of(HalfPower(decay, tail)))


def test_a_heavy_tail_of_finite_mass_is_integrated_to_infinity():
    component = HalfPower(1.05)
    component.total = 0.5 * np.sqrt(np.pi) * float(np.exp(gammaln(0.025) - gammaln(0.525)))
    m = measure_of(density_of(component))
    assert abs(m.mass.mid - component.total) <= m.mass.rad <= 1e-11 * m.mass.mid


@pytest.mark.parametrize("radius", [0.5, 3.0, 40.0])
def test_a_truncation_records_the_mass_it_lost(radius):
    density = spectral_density(radial("exp(-z)"), 3)
    m = truncate(density, radius)
    kept = 2 / np.pi * (np.arctan(radius) - radius / (1 + radius**2))
    assert abs(m.mass.mid - kept) <= m.mass.rad
    assert abs(m.lost_mass - (1.0 - kept)) <= 1e-12
    assert m.bias == m.lost_mass
    assert abs(m.bias_at_zero.mid - (1.0 - kept)) <= m.bias_at_zero.rad
    assert m.k_zero == pytest.approx(kept, rel=1e-12)


def test_a_truncation_beyond_a_logarithm_keeps_what_lies_within_it():
    """cos(3 z)/sqrt(1 + z^2) has the density (K_0(|w - 3|) + K_0(w + 3))/pi on the half-line."""
    with mp.workdps(30):
        # Of |w - 3| from 3 to 0 and from 0 to 2, of w + 3 from 3 to 8.
        ends = ([0, 0.1, 1, 2], [0, 0.1, 1, 3, 8])
        within = float(sum(mp.quad(partial(mp.besselk, 0), x) for x in ends) / mp.pi)
    density = spectral_density(radial("cos(3*z)/sqrt(1 + z**2)"), 1)
    cut = truncate(density, 5.0)
    assert abs(cut.positive_mass.mid - within) <= cut.positive_mass.rad <= 1e-11


def test_a_truncation_of_an_infinite_mass_says_that_the_loss_is_infinite():
    density = spectral_density(radial("(1 - z**2/4)**2", support=2), 16)
    m = truncate(density, 30.0)
    assert m.lost_mass == m.bias == np.inf
    # Partial masses and k_W(0) from 40-digit quadrature.
    assert m.mass.mid == pytest.approx(7106, rel=1e-3)
    assert m.k_zero == pytest.approx(425.8, rel=1e-3)
    with pytest.raises(ParameterError, match="finite radius"):
        truncate(density, np.inf)
    with pytest.raises(ParameterError, match="infinitely often"):
        _ = truncate(density, 1e6).mass


def test_atoms_on_one_sphere_are_added_and_what_cancels_is_counted():
    m = SpectralMeasure.from_atoms(3, [1.0, 0.0, 1.0, 2.0, 2.0], [0.5, 0.25, -0.125, 1.0, -1.0])
    assert [(a.radius, a.mass) for a in m.atoms] == [(0.0, 0.25), (1.0, 0.375)]
    assert m.cancelled_mass.mid == 1.125
    assert m.negative_mass.mid == 0.0
    assert m.sign_changes().size == 0


def test_atoms_and_densities_are_mutually_singular():
    m = measure_of(
        replace(spectral_density(radial("exp(-z**2/2)"), 3), atoms=(Atom(1.0, -0.5, 1e-9),))
    )
    assert m.positive_mass.mid == pytest.approx(1.0, abs=1e-13)
    assert m.negative_mass.mid == 0.5
    assert m.negative_mass.rad >= 1e-9


@pytest.mark.parametrize(
    ("dim", "radii", "masses"),
    [(0, [1.0], [1.0]), (True, [1.0], [1.0]), (3, [-1.0], [1.0]), (3, [1.0], [1.0, 2.0]),
     (3, [1.0], [np.nan])],
)  # fmt: skip
def test_atoms_without_a_meaning_are_refused(dim, radii, masses):
    with pytest.raises(ParameterError):
        SpectralMeasure.from_atoms(dim, radii, masses)


def test_the_parts_of_a_measure_are_its_signs():
    m = measure_of(spectral_density(DELTA_GAUSSIAN, 3))
    parts = m.parts()
    assert [p.phase for p in parts] == [0.0, np.pi]
    assert [p.mass for p in parts] == [m.positive_mass, m.negative_mass]


def test_a_constant_kernel_is_an_atom_at_the_origin():
    m = measure_of(spectral_density(radial("exp(-z**2/2) - 1/2"), 7))
    assert [(a.radius, a.mass) for a in m.atoms] == [(0.0, -0.5)]
    assert holds_total(m)


def test_the_law_of_a_part_is_the_chi_law():
    (part,) = measure_of(spectral_density(radial("exp(-z**2/2)"), 5)).parts()
    inside = sum(
        s.panels.integrals[s.panels.edges[1:] <= np.log(2.0) + 1e-12].sum() for s in part.stretches
    )
    assert inside <= stats.chi(5).cdf(2.0) + 1e-12


POLES = [
    ("z**(2/5)*besselj(-2/5, z) + exp(-z**2)", 1),
    ("z**(-1/10)*besselj(1/10, z) + exp(-z**2)", 2),
    ("besselj(0, z) + besselj(0, 2*z)", 1),
    ("besselj(0, z) + exp(-z)", 1),
    ("sin(z)/z + exp(-z**2)", 2),
]


@pytest.mark.parametrize(("text", "dim"), by_turns(POLES, every=2))
def test_a_pole_within_the_spectrum_of_another_component_has_all_of_its_mass(text, dim):
    kernel = radial(text)
    m = measure_of(spectral_density(kernel, dim))
    assert m.parts()[0].total == pytest.approx(kernel.at_zero, rel=1e-13)
    table = tabulate(m)
    z = np.array([0.3, 1.0, 3.0, 10.0, 50.0])
    missed = np.abs(table.expected_kernel(z) - kernel(z))
    assert np.all(missed <= table.expected_kernel_error(z) + table.mass_error)
    assert missed.max() <= 1e-12


@pytest.mark.parametrize(("m", "dim"), [(2, 1), (3, 2), (4.5, 3), (4.5, 4), (16, 15), (64.5, 64)])
def test_a_density_with_a_pole_at_its_end_is_integrated_to_the_end(m, dim):
    """(w/R)^2 has the law Beta(d/2, (m - d)/2), here with a pole at 1 of any strength below 1."""
    density = spectral_density(catalogue["j_bessel"](m=m, radius=3), dim)
    mass = measure_of(density).mass
    assert 1.0 in mass
    assert mass.rad < 4e-15 * (8 + dim)
    # The last share of the radius holds more than its share of the mass.
    for gap in (1e-3, 1e-9):
        beyond = betainc(0.5 * (m - dim), 0.5 * dim, gap * (2.0 - gap))
        lost = truncate(density, 3.0 * (1.0 - gap)).lost_mass
        assert lost == pytest.approx(beyond, rel=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "formula", ["exp(-z**2/2)", "exp(-z)", "1/(1+z**2)", "exp(-z) + exp(-z**2)"]
)
def test_a_sign_is_exactly_absent_where_formulas_prove_it(formula, dim):
    m = measure_of(spectral_density(radial(formula), dim))
    assert m.negative_mass == Enclosure(0.0, 0.0)
    opposite = measure_of(spectral_density(-radial(formula), dim))
    assert opposite.positive_mass == Enclosure(0.0, 0.0)


UNSEEN = ("1/(1+z)", "exp(-z**(3/2))", "exp(-z) - exp(-2*z)/4")


@pytest.mark.parametrize(
    ("formula", "dim"),
    graded(
        [(formula, dim) for formula in UNSEEN for dim in (1, 2, 3, 7)],
        default=[(formula, (7, 1, 2)[i]) for i, formula in enumerate(UNSEEN)],
        slow=[(formula, (1, 3, 7)[i]) for i, formula in enumerate(UNSEEN)],
    ),
)
def test_a_sign_that_was_not_seen_has_a_bound_for_its_mass(formula, dim):
    """0 give or take nothing would be a proof, and numbers that show no negative one are none."""
    m = measure_of(spectral_density(radial(formula), dim))
    assert m.negative_mass.mid == 0.0
    assert 0.0 < m.negative_mass.rad <= 1e-9


def test_two_kernels_that_differ_by_a_millionth_of_a_millionth_have_masses_and_a_rough_table():
    """Their difference has the mass 4.62540758e-13 in R^3, of which doubles know three digits."""
    m = measure_of(
        spectral_density(radial("exp(-z**2/2) - exp(-z**2/(2*(1 + 1/1000000000000)))"), 3)
    )
    for mass in (m.positive_mass, m.negative_mass):
        assert abs(mass.mid - 4.62540758e-13) <= mass.rad <= 2e-2 * mass.mid


def test_a_mass_counts_where_the_sign_is_not_known():
    # Values are lost in the errors of a series from w = 18 to 21, where most of the mass is that is
    # negative: 9.10e-38, by mpmath.
    kernel = radial("exp(-z**2) + z**25*exp(-z**2)/10**30")
    negative = measure_of(spectral_density(kernel, 1)).negative_mass
    assert abs(negative.mid - 9.10e-38) <= negative.rad
    assert negative.rad < 1e-34


def test_a_lobe_between_unequal_steps_is_seen():
    # From w = 10.085 to 10.134 this is negative, by less than 1.3e-6.
    lobed = radial("(1 - z**2/4)**2", support=2)
    density = spectral_density(lobed + 0.2 * radial("exp(-z)") - 0.1 * radial("exp(-z**2)"), 1)
    changes = measure_of(density).sign_changes(up_to=12.0)
    low, high = changes[(changes > 9.9) & (changes < 10.3)]
    assert [low, high] == pytest.approx([10.085, 10.134], abs=2e-3)
    before, between, after = density.radial([low - 1e-3, 0.5 * (low + high), high + 1e-3])
    assert before > 0.0 > between
    assert after > 0.0


@pytest.mark.parametrize("place", [1.16, 2.3, 2.74])
def test_a_narrow_negative_peak_on_a_wide_law_is_seen(place):
    # It is a hundredth of its radius wide and reaches a twentieth of the law below zero.
    width = 0.01 * place
    share = 1.05 * width * np.exp(-0.5 * place**2)
    kernel = radial(
        lambda z: (
            np.exp(-(z**2) / 2) - 2.0 * share * np.exp(-((width * z) ** 2) / 2) * np.cos(place * z)
        ),
        decay="gaussian",
        origin="smooth",
    )
    m = measure_of(spectral_density(kernel, 1))
    w = place + width * np.linspace(-6.0, 6.0, 100_001)
    peak = share / width * np.exp(-0.5 * ((w - place) / width) ** 2)
    below = np.maximum(peak - np.exp(-0.5 * w**2), 0.0) * np.sqrt(2.0 / np.pi)
    assert m.sign_changes() == pytest.approx(w[below > 0.0][[0, -1]], abs=3e-4 * width)
    assert abs(m.negative_mass.mid - np.trapezoid(below, w)) <= m.negative_mass.rad + 1e-12


def test_a_mass_that_is_no_number_is_refused():
    # A rounding of z^1, of which the callable has none, rules its density beyond w = 5e6.
    wendland = radial(lambda z: (1 - z) ** 4 * (1 + 4 * z), support=1, edge=4, breaks=(), origin=3)
    with pytest.raises(AccuracyError, match="bisection"):
        _ = measure_of(spectral_density(wendland, 1)).mass


def test_waves_that_are_shorter_than_the_steps_of_a_grid_are_seen():
    # From w = 112 on most lobes were missed: 8.8e-10 of the mass, by panels between dense roots.
    m = measure_of(spectral_density(radial("exp(-z**8)"), 1))
    assert abs(m.negative_mass.mid - 0.26075353593204137) <= m.negative_mass.rad <= 1e-11
    # The zeros are half a wave of frequency one apart, nearly.
    gaps = np.diff(m.sign_changes(up_to=300.0))
    assert gaps.size > 120
    assert gaps[10:].max() < 1.5 * gaps.min()


@pytest.mark.parametrize(("text", "dim"), [("1-z**2", 1), ("(1-z)**2", 2), ("(1-z)**4*(1+4*z)", 3)])
def test_a_mass_on_a_ball_does_not_know_its_unit_of_length(text, dim):
    """At 1e-6 a rounded logarithm had mass from beyond the lobes that are listed."""
    kernel = radial(text, support=1)
    mass = measure_of(spectral_density(kernel, dim)).mass
    for length in (1e-20, 1.1e-12, 3.3e-9, 8.7e-8, 1e-6, 4.9e-6, 6e-6, 1.3e-5, 1e6, 1e12):
        other = measure_of(spectral_density(kernel.rescale(length), dim)).mass
        assert abs(other.mid - mass.mid) <= other.rad + mass.rad
        assert other.rad <= 4e-13 * mass.mid

"""Masses, signs and parts of finite measures, and their errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp
from numpy.polynomial import Polynomial
from scipy.special import betainc

from spectra.base.enclosures import Enclosure
from spectra.base.fitting import fit
from spectra.base.piecewise import Piecewise
from spectra.density import spectral_density
from spectra.density.components import Atom, Component, OscillatingTail, SpectralDensity
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial
from spectra.measure import SpectralMeasure, measure_of, truncate
from spectra.measure.tabulation import tabulate
from tests.oracles.masses import holds_total, measure

DIMS = (1, 2, 16, 1000)
CONSTANT = Piecewise([[0.0, 1.0, 0.0, 1.0, 0.0]], [[1.0]], 1)
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

    def evaluate(self, w):
        near = np.minimum(w, 1e9)
        value, size = self.polynomial(near), Polynomial(np.abs(self.polynomial.coef))(near)
        with np.errstate(divide="ignore"):
            log, envelope = (np.log(np.abs(v)) - 0.5 * w * w for v in (value, size))
        return np.sign(value), log, envelope, np.full_like(w, 1e-14)


class HalfPower(Component):
    """w^-exponent beyond 1 and a constant before it, normalised to mass 1."""

    def __init__(self, exponent, tail=None):
        self.exponent, self.total, self.origin_exponent = exponent, 1.0, 0.0
        self.bulk, self.decay, self.tail = (0.5, 2.0), exponent, tail

    def evaluate(self, w):
        log = -0.5 * self.exponent * np.log1p(w * w)
        return np.ones_like(w), log, log, np.full_like(w, 1e-14)


# --- quadrature -------------------------------------------------------------------------------


def test_a_jump_is_refused():
    with pytest.raises(AccuracyError, match="singularity or a jump"):
        fit(lambda t: np.where(t < 1 / 3, 1.0, 2.0), [0.0, 1.0])


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
    assert abs(mp.mpf(m.cancelled_mass.mid) - lost) <= m.cancelled_mass.rad
    assert m.cancelled_mass.rad <= 1e-13 * max(dim, 4)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("nu", [0.05, 2.5])
def test_matern_has_mass_one_and_no_negative_part(dim, nu):
    formula = f"2**(1-{nu})/gamma({nu})*(sqrt(2*{nu})*z)**{nu}*besselk({nu}, sqrt(2*{nu})*z)"
    m = measure_of(spectral_density(radial(formula), dim))
    assert abs(m.positive_mass.mid - 1.0) <= m.positive_mass.rad <= 1e-11
    assert m.negative_mass.mid == 0.0
    assert len(m.parts()) == 1
    assert m.sign_changes().size == 0


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


@pytest.mark.parametrize(("dip", "expected"), [(0.0, 0), (1e-8, 2), (-1e-8, 0)])
def test_a_double_root_is_distinguished_from_a_pair_of_roots(dip, expected):
    polynomial = Polynomial([-1.0, 0.0, 1.0]) ** 2 - dip
    m = measure_of(density_of(PolynomialTimesGaussian(polynomial)))
    assert holds_total(m)
    assert m.sign_changes().size == expected
    if expected:
        low, high = np.sqrt(1.0 - np.sqrt(dip)), np.sqrt(1.0 + np.sqrt(dip))
        assert m.sign_changes() == pytest.approx([low, high], rel=1e-6)
    else:
        assert m.negative_mass.mid <= m.negative_mass.rad


def test_a_tail_of_no_draws_may_begin_at_a_sign_change():
    """The first range ends at 9.0, where the density is 0, and 1e-20 of the mass is beyond."""
    m = measure_of(density_of(PolynomialTimesGaussian(Polynomial.fromroots([9.0, 9.2]))))
    assert m.sign_changes() == pytest.approx([9.0, 9.2], rel=1e-11)
    law = tabulate(m, u_error=1e-6).parts[0].law
    assert 8.0 < law.isf(2.0**-60) < law.isf(2.0**-90) < 20.0


def test_a_component_with_a_wrong_total_is_refused():
    class Wrong(PolynomialTimesGaussian):
        def __init__(self):
            super().__init__(Polynomial([1.0]))
            self.total *= 1.001

    with pytest.raises(AccuracyError, match="differs from k"):
        _ = measure_of(density_of(Wrong())).mass


# --- refusals, truncations, atoms -------------------------------------------------------------


@pytest.mark.parametrize("tail", [None, OscillatingTail((1, 0), 1, 0.0, 0.0, 1.0, CONSTANT, 0.0)])
def test_an_infinite_mass_is_refused_with_its_reason(tail):
    with pytest.raises(InfiniteMassError, match="at infinity"):
        measure_of(density_of(HalfPower(1.0, tail)))


@pytest.mark.parametrize("radius", [0.5, 40.0])
def test_a_truncation_records_the_mass_it_lost(radius):
    density = spectral_density(radial("exp(-z)"), 3)
    m = truncate(density, radius)
    kept = 2 / np.pi * (np.arctan(radius) - radius / (1 + radius**2))
    assert abs(m.mass.mid - kept) <= m.mass.rad
    assert abs(m.lost_mass - (1.0 - kept)) <= 1e-12
    assert m.bias == m.lost_mass
    assert m.k_zero == pytest.approx(kept, rel=1e-12)


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


def test_atoms_of_equal_radius_are_added_and_the_cancelled_mass_is_counted():
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


@pytest.mark.parametrize(
    ("text", "dim"),
    [("z**(2/5)*besselj(-2/5, z) + exp(-z**2)", 1), ("besselj(0, z) + besselj(0, 2*z)", 1)],
)
def test_the_mass_near_a_pole_inside_another_spectrum_is_complete(text, dim):
    kernel = radial(text)
    m = measure_of(spectral_density(kernel, dim))
    assert m.parts()[0].mass == pytest.approx(kernel.at_zero, rel=1e-13)
    table = tabulate(m)
    z = np.array([0.3, 1.0, 3.0, 10.0, 50.0])
    missed = np.abs(table.expected_kernel(z) - kernel(z))
    assert np.all(missed <= table.expected_kernel_error(z) + table.mass_error)
    assert missed.max() <= 1e-12


@pytest.mark.parametrize(("m", "dim"), [(2, 1), (4.5, 4), (64.5, 64)])
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


@pytest.mark.parametrize("dim", [1, 7])
@pytest.mark.parametrize("formula", ["(1+z)*exp(-z)", "exp(-z) + exp(-z**2)"])
def test_a_sign_is_exactly_absent_where_formulas_prove_it(formula, dim):
    m = measure_of(spectral_density(radial(formula), dim))
    assert m.negative_mass == Enclosure(0.0, 0.0)
    opposite = measure_of(spectral_density(-radial(formula), dim))
    assert opposite.positive_mass == Enclosure(0.0, 0.0)


@pytest.mark.parametrize(("formula", "dim"), [("exp(-z**(3/2))", 1), ("exp(-z) - exp(-2*z)/4", 7)])
def test_a_mass_that_was_not_found_has_an_error_bound(formula, dim):
    """0 give or take nothing would be a proof, and numbers that show no negative one are none."""
    m = measure_of(spectral_density(radial(formula), dim))
    assert m.negative_mass.mid == 0.0
    assert 0.0 < m.negative_mass.rad <= 1e-9

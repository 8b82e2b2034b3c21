"""Measures of infinitely many lobes: masses of both signs, and where the signs change."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from masses import holds_total, measure
from mpmath import mp

from spectra.density import spectral_density
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial, zonal
from spectra.measure import measure_of
from spectra.measure.tabulation import tabulate

BOCHNER_RIESZ = {
    (1, 1): "1.2325411052580975742",
    (2, 1): "2.0297939364875008782",
    (1, 2): "1.0705193731719585082",
    (2, 2): "1.2272080001638874052",
    (3, 2): "1.577287259103741308659",
    (4, 2): "2.6619752057696677747",
    (3, 3): "1.2044304422240326377",
    (5, 3): "1.8469494569178636719",
}


@pytest.mark.parametrize(("dim", "power"), BOCHNER_RIESZ)
def test_infinitely_many_lobes_sum_to_the_reference_mass(dim, power):
    m = measure(f"(1 - z**2/4)**{power}", dim, 2)
    assert abs(mp.mpf(m.mass.mid) - mp.mpf(BOCHNER_RIESZ[dim, power])) <= m.mass.rad
    assert m.mass.rad <= 1e-12
    assert holds_total(m)
    assert m.cancelled_mass.mid == 0.0


ARC_COSINE_1 = "(u*(pi - acos(u)) + sqrt(1 - u**2))/pi"


@pytest.mark.parametrize(
    ("dim", "mass"),
    [(2, "1.330092711370744070312206288"), (3, "2.132532404393271514261243")],
)
def test_a_background_from_odd_powers_shifts_the_zeros_and_nothing_is_lost(dim, mass):
    m = measure_of(spectral_density(zonal(ARC_COSINE_1), dim))
    assert abs(mp.mpf(m.mass.mid) - mp.mpf(mass)) <= m.mass.rad <= 1e-11
    assert holds_total(m)


def test_the_sign_changes_of_a_ball_are_zeros_of_a_bessel_function():
    m = measure("(1 - z**2/4)**2", 3, 2)
    found = m.sign_changes(up_to=400.0)
    with mp.workdps(20):
        exact = [float(mp.besseljzero(mp.mpf(7) / 2, n)) / 2 for n in (1, 2, 3, 40, 100, 200)]
    assert found[[0, 1, 2, 39, 99, 199]] == pytest.approx(exact, rel=1e-13)
    assert np.all(np.diff(found) > 0)
    assert found[-1] <= 400.0 < found[-1] + 2.0
    with pytest.raises(ParameterError, match="infinitely often"):
        m.sign_changes()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_changes_of_sign_are_as_far_off_as_is_said(dim):
    found, error = measure("(1 - z**2/4)**2", dim, 2).sign_changes(up_to=200.0, return_error=True)
    with mp.workdps(25):
        exact = [mp.besseljzero(mp.mpf(dim) / 2 + 2, n) / 2 for n in range(1, 60)]
    for w, wrong, zero in zip(found, error, exact, strict=False):
        assert abs(w - zero) <= wrong <= 1e-12 * w


def test_a_change_of_sign_that_no_digit_shows_is_said_to_be_far_off():
    """Both bells are 1e-59 where they cross, and a third summand is known to 1e-19."""
    wave = "exp(-z**2/100)*cos(20*z)"
    found, error = measure(f"10**9*exp(-z**2/2) - {wave} - z**2*{wave}/10**6", 1).sign_changes(
        return_error=True
    )
    square = mp.mpf(1) / 50

    def density(w):
        bells = [
            (1 - ((u / square) ** 2 - 1 / square) / 10**6) * mp.npdf(u, 0, mp.sqrt(square))
            for u in (w - 20, w + 20)
        ]
        return 2 * 10**9 * mp.npdf(w) - mp.fsum(bells)

    crossing = mp.findroot(density, (17.5, 17.8), solver="anderson")
    assert abs(found[0] - crossing) <= error[0] <= 20.0
    assert error[0] > 1e-3


def test_lobes_that_become_ever_narrower_are_not_taken_for_double_zeros():
    """rho ~ -(1 + cos w - 2 sin(w)/w)/w^2, with a lobe of width 4/w beside each (2k + 1) pi."""
    m = measure("z - z**2", 1, 1)
    with mp.workdps(30):

        def primitive(w):
            return 2 / mp.pi * (1 / w - mp.sin(w) / w**2)

        def begin(k):  # tan(w/2) = w/2
            x = (k + mp.mpf(1) / 2) * mp.pi
            for _ in range(60):
                x = k * mp.pi + mp.atan(x)
            return 2 * x

        lobes = [primitive((2 * k + 1) * mp.pi) - primitive(begin(k)) for k in range(1, 1200)]
        # The rest falls like k^-5.
        mass = primitive(mp.pi) + mp.fsum(map(abs, lobes)) + abs(lobes[-1]) * 1200 / 4
        assert abs(m.positive_mass.mid - mass) <= m.positive_mass.rad <= 1e-13
        assert abs(m.negative_mass.mid - mass) <= m.negative_mass.rad <= 1e-13
        found, error = m.sign_changes(up_to=8000.0, return_error=True)
        zeros = sorted(
            [(2 * k - 1) * mp.pi for k in range(1, 1274)] + [*map(begin, range(1, 1273))]
        )
        assert found.size == len(zeros)
        for w, wrong, zero in zip(found[::50], error[::50], zeros[::50], strict=True):
            assert abs(w - zero) <= wrong <= 1e-6
    with pytest.raises(ParameterError, match="infinitely often"):
        m.sign_changes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "dim", "missed"),
    [
        ("(1-z)/2 + (1-z**2)**2/2", 1, 1.5e-8),
        ("1 - z + 5*z**2*(1-z)**2", 1, 1.6e-7),
        ("(1-z)**2*(1+z/2)/2 + (1-z**2)**3/2", 3, 3.6e-7),
    ],
)
def test_narrow_lobes_beyond_fifty_have_mass(formula, dim, missed):
    """Of each sign as the density shows them on a grid; so much of it was once left out."""
    m = measure(formula, dim, 1)
    assert m.negative_mass.rad <= 1e-10
    w = np.linspace(160.0, 1000.0, 400_001)
    values, doubt = m.density.radial(w), m.density.error(w)
    seen = -np.minimum(values + 4.0 * doubt, 0.0).sum() * (w[1] - w[0])
    assert 0.5 * missed <= seen <= 2.0 * missed
    table = tabulate(m)
    z = np.linspace(0.0, 2.0, 40)
    missed_by = np.abs(table.expected_kernel(z) - m.kernel(z))
    assert np.all(missed_by <= table.expected_kernel_error(z) + table.u_error * table.mass)


def test_a_background_that_falls_off_before_lobes_touch_is_passed():
    table = tabulate(measure("max(1-z,0) + exp(-10000*z**2)/1000", 1))
    z = np.linspace(0.0, 2.0, 40)
    kernel = radial("max(1-z,0) + exp(-10000*z**2)/1000")
    assert np.max(np.abs(table.expected_kernel(z) - kernel(z))) <= 1e-13


def test_a_smooth_summand_moves_the_lobes_and_keeps_the_total():
    k = radial("(1 - z**2/4)**2", support=2) + radial("exp(-z)") * 0.2 - radial("exp(-z**2)") * 0.1
    for dim in (1, 2, 3):
        m = measure_of(spectral_density(k, dim))
        assert holds_total(m)
        assert m.mass.rad <= 1e-11


def test_a_smooth_summand_that_dominates_far_out_leaves_finitely_many_sign_changes():
    k = radial("(1 - z**2)**4", support=1) + 0.5 * radial("exp(-z)")
    m = measure_of(spectral_density(k, 1))
    assert holds_total(m)
    assert m.negative_mass.mid <= m.negative_mass.rad
    assert m.sign_changes().size == 0


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_positive_density_that_oscillates_for_ever_has_no_negative_mass(dim):
    m = measure("(1 - z)**4*(4*z + 1)", dim, 1)
    assert abs(m.positive_mass.mid - 1.0) <= m.positive_mass.rad <= 1e-11
    assert m.negative_mass.mid <= m.negative_mass.rad
    assert len(m.parts()) == 1


def test_a_density_that_touches_zero_for_ever_is_positive():
    m = measure("1 - z", 1, 1)
    assert abs(m.positive_mass.mid - 1.0) <= m.positive_mass.rad <= 1e-11
    assert m.negative_mass.mid <= m.negative_mass.rad


def test_lobes_of_two_frequencies_have_masses_and_no_jordan_law():
    a, b = radial("(1 - z**2)**2", support=1), radial("(1 - z**2/2)**2", support=sympy.sqrt(2))
    m = measure_of(spectral_density(a - b, 1))
    alone = [measure_of(spectral_density(k, 1)).mass for k in (a, b)]
    assert holds_total(m)
    assert m.mass.mid + m.mass.rad < alone[0].mid + alone[1].mid
    assert m.mass.rad <= 1e-7
    sampled = sum(part.mass.mid for part in m.parts())
    assert m.mass.mid < sampled <= 1.01 * m.mass.mid

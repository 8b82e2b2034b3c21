"""Measures with infinitely many sign changes: masses and the places of the changes."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from mpmath import mp

from spectra.density import spectral_density
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial, zonal
from spectra.measure import measure_of
from spectra.measure.tabulation import tabulate
from tests.oracles.masses import holds_total, measure

ARC_COSINE_1 = "(u*(pi - acos(u)) + sqrt(1 - u**2))/pi"


def test_a_background_from_odd_powers_shifts_the_zeros_and_nothing_is_lost():
    m = measure_of(spectral_density(zonal(ARC_COSINE_1), 2))
    assert abs(mp.mpf(m.mass.mid) - mp.mpf("1.330092711370744070312206288")) <= m.mass.rad <= 1e-11
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "dim", "missed"),
    [
        ("(1-z)/2 + (1-z**2)**2/2", 1, 1.5e-8),
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


def test_a_smooth_summand_moves_the_lobes_and_keeps_the_total():
    k = radial("(1 - z**2/4)**2", support=2) + radial("exp(-z)") * 0.2 - radial("exp(-z**2)") * 0.1
    m = measure_of(spectral_density(k, 2))
    assert holds_total(m)
    assert m.mass.rad <= 1e-11


def test_a_smooth_summand_that_dominates_far_out_leaves_finitely_many_sign_changes():
    k = radial("(1 - z**2)**4", support=1) + 0.5 * radial("exp(-z)")
    m = measure_of(spectral_density(k, 1))
    assert holds_total(m)
    assert m.negative_mass.mid <= m.negative_mass.rad
    assert m.sign_changes().size == 0


def test_a_positive_density_that_oscillates_for_ever_has_no_negative_mass():
    m = measure("(1 - z)**4*(4*z + 1)", 3, 1)
    assert abs(m.positive_mass.mid - 1.0) <= m.positive_mass.rad <= 1e-11
    assert m.negative_mass.mid <= m.negative_mass.rad
    assert len(m.parts()) == 1


@pytest.mark.slow
def test_lobes_of_two_frequencies_have_masses_and_no_jordan_law():
    a, b = radial("(1 - z**2)**2", support=1), radial("(1 - z**2/2)**2", support=sympy.sqrt(2))
    m = measure_of(spectral_density(a - b, 1))
    alone = [measure_of(spectral_density(k, 1)).mass for k in (a, b)]
    assert holds_total(m)
    assert m.mass.mid + m.mass.rad < alone[0].mid + alone[1].mid
    assert m.mass.rad <= 1e-7
    sampled = sum(part.mass for part in m.parts())
    assert m.mass.mid < sampled <= 1.01 * m.mass.mid

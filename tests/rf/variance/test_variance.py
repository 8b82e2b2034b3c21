"""The predicted variance is the variance: of every coupling, law of radii and allocation."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from rf.sampling.coupling import fixed_cosine
from rf.sampling.designed_directions import angular_means, designed
from rf.sampling.frequencies import COUPLINGS as ALL_COUPLINGS
from rf.sampling.frequencies import draw_repeatedly
from rf.variance.allocation import optimal_split
from rf.variance.variance import VarianceModel
from spectra.base.bessel import plane_wave_mean
from spectra.base.harmonics import wave_coefficients
from spectra.derivation import derive
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial
from spectra.table.radial_law import RadialLaw
from tests.oracles.laws import gaussian_atoms, matern_law, table_of
from tests.oracles.pooling import estimates, random_differences, variance_score

COUPLINGS = list(ALL_COUPLINGS)


def variance(table, z, *, n_per_part, **options):
    return VarianceModel(table, z).variance(n_per_part, **options)[0]


def delta_gaussian(dim, *tau, law=gaussian_atoms, mass=(1.0, 1.0)):
    return table_of(dim, [(mass[0], law(dim, tau[0])), (-mass[1], law(dim, tau[1]))])


# --- the wave coefficients ---------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3, 16, 1000])
def test_wave_coefficients_are_normalised_bessel_functions(dim):
    x = np.array([0.0, 1e-9, 0.3, 5.0, 40.0, 333.0])
    for degree in (2, 256):
        g = wave_coefficients(dim, degree, x)
        for n in sorted({0, 1, degree // 2, degree}):
            for value, at in zip(g[n, 1:], x[1:], strict=True):
                v = mpmath.mpf(dim) / 2 - 1
                count = mpmath.mpf(1)
                if n:
                    count = mpmath.mpf(2 * n + dim - 2) / n * mpmath.binomial(n + dim - 3, n - 1)
                exact = mpmath.gamma(v + 1) * (2 / mpmath.mpf(at)) ** v
                exact *= mpmath.sqrt(count) * mpmath.besselj(n + v, at)
                assert abs(value - float(exact)) < 2e-13 * (1 + dim / 100)
        assert g[0, 0] == 1.0
        assert np.all(g[1:, 0] == 0.0)
    small = x <= 40.0
    np.testing.assert_allclose(np.sum(g[:, small] ** 2, axis=0), 1.0, atol=2e-12)


# --- the harmonic sum against closed forms -----------------------------------------------


@pytest.mark.parametrize(
    ("dim", "kind"), [(2, "oblique"), (3, "same"), (16, "orthogonal"), (64, "oblique")]
)
def test_the_sum_over_harmonics_is_the_closed_form_of_a_pair(dim, kind):
    first = RadialLaw.from_atoms([0.0, 1.0, 2.5, 7.0], [0.1, 0.3, 0.35, 0.25])
    second = RadialLaw.from_atoms([0.5, 3.0], [0.6, 0.4])
    z = np.array([0.0, 0.2, 1.0, 3.0, 9.0])
    model = VarianceModel(table_of(dim, [(1.0, first), (-1.0, second)]), z)
    c = {"orthogonal": 0.0, "same": 1.0, "oblique": -1.0 / dim}[kind]
    for p, a in enumerate((first, second)):
        for q, b in enumerate((first, second)):
            r, v, _ = a.nodes()
            s, w, _ = b.nodes()
            joint = np.zeros_like(z)
            for sign in (1.0, -1.0):
                length2 = r[:, None] ** 2 + s**2 + 2 * sign * c * r[:, None] * s
                waves = plane_wave_mean(dim, np.sqrt(np.maximum(length2, 0))[..., None] * z)
                joint += 0.5 * np.einsum("i,j,ijz->z", v, w, waves)
            exact = joint - a.expected_plane_wave(dim, z) * b.expected_plane_wave(dim, z)
            value, error = model.covariance(p, q, fixed_cosine(c))
            assert np.all(np.abs(value - exact) <= error + 1e-12)
            assert np.all(error < 1e-8)


PUBLISHED = [
    (1.0, 10.0, 16, "iid", 1.249e-2),
    (1.0, 10.0, 64, "orthogonal", 4.92e-4),
    (1.0, 10.0, 64, "haar", 1.975e-3),
    (1.0, 1.3, 16, "shared", 2.35e-3),
]


@pytest.mark.parametrize(("tau1", "tau2", "s", "coupling", "value"), PUBLISHED)
def test_delta_gaussian_in_sixteen_dimensions(tau1, tau2, s, coupling, value):
    table = delta_gaussian(16, tau1, tau2, law=gaussian_atoms)
    (predicted,) = variance(table, [1.0], n_per_part=(s, s), coupling=coupling)
    assert predicted == pytest.approx(value, rel=5e-3)


# --- prediction against Monte Carlo ------------------------------------------------------


def agrees_with_draws(table, z, counts, bound, *, draws=700, share=1.0, **how):
    """The squared error of draws is the variance, whose stated error is below the bound."""
    rng = np.random.default_rng([table.dim, sum(counts)])
    predicted, error = VarianceModel(table, z).variance(counts, **how)
    drawn = draw_repeatedly(table, counts, draws, random_state=rng, **how)
    values = estimates(drawn, random_differences(z, table.dim, rng))
    assert variance_score(values, table.expected_kernel(z), predicted, share * error) < 5.0
    assert np.all(error < bound)


@pytest.mark.parametrize("coupling", ["orthogonal", "haar"])
def test_a_slow_tail_costs_accuracy_and_says_so(coupling):
    """R falls like q^(-1/tau): the last stratum is what the others leave of the whole."""
    tau, dim, counts = (0.8, 1.5), 3, (4, 4)
    laws = [matern_law(dim, 0.5 * exponent) for exponent in tau]
    table = table_of(dim, [(1.0, laws[0]), (-0.7, laws[1])])
    z = np.array([0.3, 1.0, 2.0])
    for radii in ("iid", "stratified"):
        how = {"coupling": coupling, "radii": radii}
        bound = 1e-4 * variance(table, z, n_per_part=counts, **how)
        agrees_with_draws(table, z, counts, bound, draws=2000, share=0.1, **how)


@pytest.mark.parametrize(("dim", "n"), [(2, 5), (16, 50)])
def test_one_radius_and_designed_directions_leave_the_angular_means_of_the_set(dim, n):
    """Var = sum over even n >= 2 of g_n(z)^2 S_n, S_n of the set with its diagonal."""
    table = table_of(dim, [(1.0, RadialLaw.from_atoms([1.0], [1.0]))])
    z, degree = np.array([0.5, 2.0, 6.0]), 60
    means = angular_means(designed(n, dim, np.random.default_rng(0)), degree)[1:]
    waves = wave_coefficients(dim, degree, z)[2::2]
    value, error = VarianceModel(table, z).variance((n,), coupling="designed")
    np.testing.assert_array_less(np.abs(value - means @ waves**2), error + 1e-12)
    assert np.all(error < 1e-8)


# --- small theorems ----------------------------------------------------------------------


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_allocation_of_two_parts_is_the_best_of_all(coupling):
    n, table = 9, delta_gaussian(3, 1.0, 4.0, mass=(1.0, 0.6))
    z = np.linspace(0.1, 2.0, 7)
    model = VarianceModel(table, z)
    best = optimal_split(model, n, ALL_COUPLINGS[coupling])
    values = [model.mean_variance((i, n - i), coupling=coupling) for i in range(1, n)]
    assert sum(best) == n
    assert model.mean_variance(best, coupling=coupling) == pytest.approx(min(values), rel=1e-10)


def test_variances_that_are_rounding_have_a_split():
    """A cosine and a sine of one frequency in d = 1 have no variance; rounding may be negative."""
    laws = [RadialLaw.from_atoms(np.array([r]), np.ones(1)) for r in (1.0, 2.0, 3.0, 4.0, 5.0)]
    model = VarianceModel(table_of(1, [(1.0, law) for law in laws]), np.linspace(0.1, 1.0, 40))
    assert sum(optimal_split(model, 23, ALL_COUPLINGS["orthogonal"])) == 23


def test_refusals_name_the_way_out():
    table = delta_gaussian(3, 1.0, 2.0)
    for distance, counts, options, said in (
        (1.0, (2, 2), {"coupling": "random"}, "coupling = 'random'"),
        (1.0, (2,), {"coupling": "iid"}, "one number"),
        (-1.0, (2, 2), {"coupling": "iid"}, "at least 0"),
        (1.0, (2, 2), {"coupling": "iid", "radii": "sobol"}, "radii = 'sobol'"),
    ):
        with pytest.raises(ParameterError, match=said):
            variance(table, [distance], n_per_part=counts, **options)
    moved = derive(radial("exp(-z)").shift([1.2, 0]) + 0.5 * radial("exp(-z**2/2)").shift(0.3), 2)
    with pytest.raises(ParameterError, match="within each part"):
        variance(moved, np.ones((1, 2)), n_per_part=(3, 2), coupling="shared")
    with pytest.raises(ParameterError, match="each of which needs one"):
        optimal_split(VarianceModel(table, np.ones(1)), 1, ALL_COUPLINGS["iid"])

"""Kernels of the l1 distance: verdicts, tables and draws."""

from itertools import permutations, product

import numpy as np
import pytest

import spectra as sp
from spectra.errors import NoRouteError, ParameterError, TableFileError
from spectra.measure.l1_masses import hat_mass
from spectra.table import L1Table
from spectra.table.l1.truncated import (
    dominance,
    drawn_hat,
    hat_density,
    proposal_density,
    proposal_wave,
)
from spectra.verdict import Status
from spectra.verdict.composed.l1 import companion_of
from tests.oracles.hat_masses import integrated_mass
from tests.tools.grids import by_turns

TL1 = sp.l1("Max(tau - z, 0)", tau=2)


def test_the_kernel_is_a_function_of_the_sum_of_distances():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 7)), rng.normal(size=(4, 7))
    differences = X[:, None] - Y[None]
    exact = np.maximum(2.0 - np.abs(differences).sum(-1), 0.0)
    assert np.allclose(TL1.gram(X, Y), exact, atol=1e-15)
    assert np.array_equal(TL1(differences), TL1.gram(X, Y))
    both = 3 * TL1 - sp.l1("exp(-z)") * TL1 + 1
    assert np.allclose(
        both(differences), 3 * exact - np.exp(-np.abs(differences).sum(-1)) * exact + 1
    )
    assert np.array_equal(TL1.rescale(2.0).gram(X, Y), TL1.gram(X / 2.0, Y / 2.0))
    with pytest.raises(ParameterError, match="length_scale"):
        TL1.rescale([1.0, 2.0])


@pytest.mark.parametrize("dim", [1, 3])
def test_exponentials_are_products_of_kernels_of_one_column(dim):
    kernel = sp.l1("2*exp(-z/2) - exp(-3*z) + 1/4")
    standing = kernel.standing(dim)
    D = np.random.default_rng(dim).normal(size=(9, dim))
    assert np.allclose(
        kernel(D), standing(np.abs(D[:, 0])) if dim == 1 else standing(D), atol=1e-15
    )
    table = sp.derive(kernel, dim)
    points = np.abs(D[:, 0]) if dim == 1 else D
    assert np.allclose(table.expected_kernel(points), kernel(D), atol=1e-12)


# --- verdict ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [None, 3])
@pytest.mark.parametrize(
    ("text", "parameters", "status"),
    [
        ("Max(tau - z, 0)", {"tau": 3}, "FINITE"),
        ("1/(1 + z)", {}, "FINITE"),
        ("exp(-z)*Abs(z - 1)", {}, "FINITE"),
        ("sqrt(z)*exp(-z) + 2", {}, "FINITE"),
        ("z", {}, "INFINITE"),
        ("Heaviside(1 - z)", {}, "INFINITE"),
    ],
)
def test_the_mass_is_finite_if_the_slope_has_bounded_variation(text, parameters, status, dim):
    verdict = sp.existence(sp.l1(text, **parameters), dim)
    assert verdict.status is Status[status], str(verdict)


def test_waves_and_roots_are_undecided_with_the_reason():
    for text, why in (("besselj(0, z)", "the term"), ("sqrt(Max(0, 1 - z))", "bounded var")):
        verdict = sp.existence(sp.l1(text), 2)
        assert verdict.status is Status.UNDECIDED
        assert verdict.condition is None
        assert why in verdict.reasons[0]


@pytest.mark.parametrize(("power", "dim"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_powers_of_the_truncated_distance_are_definite_exactly_from_two_d_minus_one(power, dim):
    kernel = sp.l1("(1 - z)**p", support=1, p=power)
    found = sp.existence(kernel, dim).positive_definite
    assert found.answer is (power >= 2 * dim - 1)
    if dim > 1 and not found.answer:
        # A proof of another kind: the density has a negative value, farther than its error.
        t = np.linspace(0.5, 30.0, 60)
        rows = np.concatenate([np.outer(t, np.ones(dim)), np.outer(t, np.eye(dim)[0])])
        value, error = sp.spectral_density(kernel, dim).enclosure(rows)
        assert np.any(value + error < 0.0)


@pytest.mark.parametrize(
    ("text", "answer"), [("1/(1 + z)", True), ("exp(-sqrt(z))", True), ("exp(-z**2)", False)]
)
@pytest.mark.parametrize("dim", [None, 4])
def test_mixtures_of_exponentials_are_definite_in_every_dimension_and_a_gaussian_is_not(
    text, answer, dim
):
    assert sp.existence(sp.l1(text), dim).positive_definite.answer is answer


def test_the_companion_of_a_power_is_a_wendland_function():
    f = sp.existence(sp.radial("(1 - z)**5", support=1), 1).analysis
    assert not (companion_of(f, 3) - sp.radial("(1 - z)**4*(1 + 4*z)", support=1)).pieces
    kinked = sp.existence(sp.radial("Max(1 - z, 0)"), 1).analysis
    assert companion_of(kinked, 5) is None


# --- tables -----------------------------------------------------------------------------------

TABLED = [
    (TL1, 2),
    (TL1, 3),
    (-1.5 * TL1 + sp.l1("Max(1 - z, 0)"), 2),
    (sp.l1("(1 - z)**5", support=1), 3),
    (sp.l1("exp(-z**2)"), 2),
    pytest.param(sp.l1("exp(-z**2)"), 7, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kernel", "dim"), by_turns(TABLED, every=2))
def test_a_table_expects_its_kernel_within_its_error(kernel, dim):
    table = sp.derive(kernel, dim)
    D = np.random.default_rng(dim).normal(size=(4, dim)) / dim
    D[0] = 0.0
    error = table.expected_kernel_error(D)
    assert np.all(np.abs(table.expected_kernel(D) - kernel(D)) <= error + table.bias)
    assert np.all(error <= 1e-5 * table.mass)
    assert table.k_zero == pytest.approx(kernel.at_zero, rel=1e-12)
    assert table.positive_mass - table.negative_mass == pytest.approx(kernel.at_zero, rel=1e-9)


@pytest.mark.slow
def test_the_mass_of_a_truncated_distance_in_two_dimensions_is_its_integral():
    (value, error), mass = integrated_mass(), hat_mass(2)
    assert abs(value - mass.mid) <= 1e-13
    assert error <= mass.rad <= 1.001 * error


def test_the_mass_of_a_truncated_distance_in_three_dimensions_is_the_mean_over_draws():
    mass, rng, size = hat_mass(3), np.random.default_rng(11), 60_000
    assert mass.rad < 1e-4 * mass.mid
    # Draws of the positive part and of the negative one, by their masses, are draws of q.
    positive = int(rng.binomial(size, 0.5 * (1.0 + 1.0 / dominance(3))))
    w = np.concatenate([drawn_hat(positive, 3, 1.0, rng), drawn_hat(size - positive, 3, -1.0, rng)])
    ratio = hat_density(w) / proposal_density(w)
    for values, exact in ((ratio, 1.0), (np.abs(ratio), mass.mid)):
        assert abs(values.mean() - exact) < 5.0 * values.std() / np.sqrt(size)
    assert np.abs(ratio).std() / np.sqrt(size) < 0.02


def test_masses_scale_and_include_atoms():
    unit = hat_mass(2)
    for text, mass in (("Max(3 - z, 0)", 3.0), ("2 - 4*Max(1/2 - z, 0)", 2.0)):
        verdict = sp.existence(sp.l1(text), 2)
        atoms = 2.0 if text.startswith("2") else 0.0
        assert abs(verdict.mass.mid - mass * unit.mid - atoms) <= 1e-14
        assert verdict.mass.rad >= mass * unit.rad
        difference = verdict.positive_mass - verdict.negative_mass
        assert verdict.kernel.at_zero in difference
        assert verdict.positive_mass.mid > 0 < verdict.negative_mass.mid
        assert verdict.mass.mid <= sp.derive(verdict.kernel, 2, cache=False).mass
    assert sp.existence(sp.l1("1/(1 + z)"), 5).mass.mid == 1.0
    with pytest.raises(NoRouteError, match="A bound of it"):
        _ = sp.existence(sp.l1("exp(-z**2)"), 2).mass
    with pytest.raises(NoRouteError, match="d = 4"):
        _ = sp.existence(TL1, 4).mass
    with pytest.raises(ParameterError, match="one dimension"):
        _ = sp.existence(TL1).mass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "mass", "dim"),
    [("1 + Max(1 - z, 0)", 1.0, 3), ("exp(-z) - Max(2 - z, 0) + 3*Max(1 - z, 0)", 5.0, 2)],
)
def test_the_mass_of_truncated_distances_and_a_remainder_is_their_sum(text, mass, dim):
    kernel = sp.l1(text)
    table = sp.derive(kernel, dim, cache=False)
    assert table.mass == pytest.approx(1.0 + mass * dominance(dim), abs=1e-9)
    D = np.random.default_rng(dim).normal(size=(6, dim)) / dim
    error = table.expected_kernel_error(D) + table.mass_error
    assert np.all(np.abs(table.expected_kernel(D) - kernel(D)) <= error + 1e-13)
    assert np.all(error < 1e-8)
    drawn = table.sample(60_000, rng=3)
    waves = drawn.weights * np.cos(D @ drawn.frequencies.T + drawn.phases)
    spread = np.sqrt(waves.var(axis=1) / waves.shape[1])
    assert np.all(np.abs(waves.mean(axis=1) - kernel(D)) <= 6.0 * spread)


@pytest.mark.parametrize(("kernel", "dim"), by_turns(TABLED, every=2, first=1))
def test_draws_are_unbiased_pooled_over_differences(kernel, dim):
    table = sp.derive(kernel, dim)
    n = 40_000
    drawn = table.sample(n, rng=7)
    for D in np.random.default_rng(dim).normal(size=(3, dim)) / dim:
        terms = drawn.weights * np.cos(drawn.frequencies @ D + drawn.phases)
        assert abs(terms.mean() - kernel(D)) <= 6.0 * terms.std() / n**0.5


@pytest.mark.parametrize("dim", [2, 3])
def test_the_proposal_dominates_the_density_at_random_places(dim):
    rng = np.random.default_rng(dim)
    scale = np.exp(rng.uniform(-3.0, 12.0, (20_000, 1)))
    near = np.exp(rng.uniform(-4.0, 8.0, (20_000, dim))) * rng.choice([-1.0, 1.0], (20_000, dim))
    tubes = scale + np.where(rng.random((20_000, dim)) < 0.5, rng.normal(size=(20_000, dim)), near)
    w = np.concatenate([tubes, near, 5 * rng.normal(size=(20_000, dim))])
    # In d = 3 the largest ratio is near this place.
    largest = np.array([12.1, 9.5, 6.4])[:dim] + 0.5 * rng.uniform(-1.0, 1.0, (20_000, dim))
    w = np.concatenate([w, largest])
    ratio = np.abs(hat_density(w)) / proposal_density(w)
    assert 0.8 * dominance(dim) <= ratio.max() <= dominance(dim)


def test_the_law_is_symmetric_in_signs_and_columns():
    rng = np.random.default_rng(0)
    D = rng.normal(size=3)
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        assert proposal_wave(D[list(order)] * signs) == pytest.approx(float(proposal_wave(D)))
    assert proposal_wave(np.zeros(3)) == 1.0


@pytest.mark.parametrize(("kernel", "dim"), [TABLED[1], TABLED[3]])
def test_a_saved_table_is_loaded_unchanged(kernel, dim, tmp_path):
    table = sp.derive(kernel, dim)
    path = tmp_path / "l1.npz"
    table.save(path)
    again = L1Table.load(path)
    one, two = table.sample(50, rng=1), again.sample(50, rng=1)
    assert np.array_equal(one.frequencies, two.frequencies)
    assert np.array_equal(one.weights, two.weights)
    sp.derive(sp.radial("exp(-z)"), 2).save(path)
    with pytest.raises(TableFileError, match="L1Table"):
        L1Table.load(path)


def test_inconsistent_parts_of_a_table_are_refused():
    radial = sp.derive(sp.radial("exp(-z)"), 2)
    for wrong in (
        {"dim": 1, "mixture": None, "hats": ((1.0, 1.0),)},
        {"dim": 4, "mixture": None, "hats": ((1.0, 1.0),)},
        {"dim": 2, "mixture": radial, "hats": ()},
        {"dim": 2, "mixture": None, "hats": ((0.0, 1.0),)},
    ):
        with pytest.raises(ParameterError):
            L1Table(formula="f", **wrong)


def test_many_columns_are_refused_with_an_alternative():
    with pytest.raises(NoRouteError, match="domain='data'"):
        sp.derive(TL1, 16)

"""Kernels of the l1 distance: their verdict, transform and tables are all of one kernel."""

from itertools import permutations, product

import mpmath
import numpy as np
import pytest
from grids import by_turns
from scipy.stats import qmc
from scipy.stats import t as student

import spectra as sp
from spectra.errors import NoRouteError, ParameterError, TableFileError
from spectra.measure.l1_masses import hat_mass
from spectra.table import L1Table
from spectra.table.l1.truncated import (
    _PROPOSALS,
    dominance,
    drawn_hat,
    hat_density,
    proposal_density,
    proposal_wave,
)
from spectra.verdict import Status
from spectra.verdict.composed.l1 import companion_of
from tests.hat_masses import integrated_mass, shell_of_three, shell_of_two

TL1 = sp.l1("Max(tau - z, 0)", tau=2)


def test_it_is_a_function_of_the_sum_of_distances():
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


@pytest.mark.parametrize("dim", by_turns([1, 2, 3, 7, 16], every=4, first=2))
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


@pytest.mark.parametrize("dim", [None, 1, 2, 3, 7, 16])
@pytest.mark.parametrize(
    ("text", "parameters", "status"),
    [
        ("Max(tau - z, 0)", {"tau": 3}, "FINITE"),
        ("(1 - z)**2*(1 + z)", {"support": 1}, "FINITE"),
        ("1/(1 + z)", {}, "FINITE"),
        ("exp(-z)*Abs(z - 1)", {}, "FINITE"),
        ("sqrt(z)*exp(-z) + 2", {}, "FINITE"),
        ("z", {}, "INFINITE"),
        ("Heaviside(1 - z)", {}, "INFINITE"),
    ],
)
def test_finite_where_the_slope_is_of_bounded_variation_infinite_where_the_line_is(
    text, parameters, status, dim
):
    verdict = sp.existence(sp.l1(text, **parameters), dim)
    assert verdict.status is Status[status], str(verdict)


def test_waves_and_roots_are_undecided_with_the_reason():
    for text, why in (("besselj(0, z)", "the term"), ("sqrt(Max(0, 1 - z))", "bounded var")):
        verdict = sp.existence(sp.l1(text), 2)
        assert verdict.status is Status.UNDECIDED
        assert verdict.condition is None
        assert why in verdict.reasons[0]


@pytest.mark.parametrize("power", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("dim", [1, 2, 3])
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
@pytest.mark.parametrize("dim", [None, 3, 4, 7])
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
    pytest.param(sp.l1("1/(1 + z)"), 3, marks=pytest.mark.slow),
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


@pytest.mark.parametrize("dim", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_mass_of_a_truncated_distance_is_that_of_its_integral(dim):
    (value, error), mass = integrated_mass(dim), hat_mass(dim)
    assert abs(value - mass.mid) <= 1e-13
    assert error <= mass.rad <= 1.001 * error


@pytest.mark.parametrize("dim", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_mass_of_a_truncated_distance_is_that_of_draws_and_of_another_quadrature(dim):
    mass = hat_mass(dim)
    assert mass.rad < 1e-4 * mass.mid
    rng, size = np.random.default_rng(11), 200_000
    # Draws of the positive part and of the negative one, by their masses, are draws of q.
    share = 0.5 * (1.0 + 1.0 / dominance(dim))
    positive = int(rng.binomial(size, share))
    w = np.concatenate(
        [drawn_hat(positive, dim, 1.0, rng), drawn_hat(size - positive, dim, -1.0, rng)]
    )
    ratio = hat_density(w) / proposal_density(w)
    error = ratio.std() / np.sqrt(size)
    assert abs(ratio.mean() - 1.0) < 6.0 * error  # k(0)
    error = np.abs(ratio).std() / np.sqrt(size)
    assert abs(np.abs(ratio).mean() - mass.mid) < 6.0 * error + mass.rad
    assert error < 0.01
    nets = [mean_over_a_net(dim, seed) for seed in range(8)]
    spread = np.std(nets, ddof=1) / np.sqrt(len(nets))
    assert abs(np.mean(nets) - mass.mid) < 6.0 * spread + mass.rad
    assert spread < 2e-3


def mean_over_a_net(dim, seed):
    """The mean of |mu|/q over points of Sobol in place of draws."""
    u = qmc.Sobol(dim, rng=seed).random_base2(15)
    (tail, width), (offset_tail, offset_width) = _PROPOSALS[dim]
    first = student.ppf(0.5 + 0.5 * u[:, :1], tail) * width / tail**0.5
    spread = offset_width / offset_tail**0.5
    others = first + student.ppf(np.maximum(u[:, 1:], 1e-9), offset_tail) * spread
    w = np.concatenate([first, others], axis=1)
    return float(np.mean(np.abs(hat_density(w)) / proposal_density(w)))


@pytest.mark.parametrize("shell", [0, 1, 2])
def test_a_shell_in_two_dimensions_is_a_double_integral(shell):
    # A plain rule of many points: |.| has kinks, so that four digits are what it has.
    n = 1500
    s = (shell + (np.arange(n) + 0.5) / n)[:, None] * np.pi
    h = s * (np.arange(n) + 0.5) / n
    value = np.sinc(s / np.pi) * np.cos(h) - np.cos(s) * np.sinc(h / np.pi)
    plain = 8 / np.pi * np.mean(np.abs(value) / (s**2 - h**2) * s)
    assert plain == pytest.approx(shell_of_two(shell), rel=2e-4)


@pytest.mark.parametrize("shell", [0, 1])
def test_a_shell_in_three_dimensions_is_a_triple_integral(shell):
    u = qmc.Sobol(3, rng=5).random_base2(17)
    a = (shell + u[:, 0]) * np.pi
    others = a[:, None] * u[:, 1:]
    w = np.concatenate([a[:, None], others], axis=1)
    # w may be in any order: over all of it each |mu| is there twice.
    plain = 8 * 3 * np.pi * np.mean(np.abs(hat_density(w)) * a**2)
    assert plain == pytest.approx(shell_of_three(shell), rel=1e-3)


def test_masses_scale_and_atoms_stand_beside_them():
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
@pytest.mark.parametrize("dim", by_turns([2, 3], every=2))
@pytest.mark.parametrize(
    ("text", "mass"),
    by_turns(
        [
            ("exp(-z) + Max(1 - z, 0)", 1.0),
            ("1 + Max(1 - z, 0)", 1.0),
            ("exp(-2*z) - Max(1 - z, 0)/2", 0.5),
            ("exp(-z) - Max(2 - z, 0) + 3*Max(1 - z, 0)", 5.0),
        ],
        every=4,
    ),
)
def test_what_is_left_without_the_kinks_stands_beside_truncated_distances(text, mass, dim):
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


@pytest.mark.parametrize(("power", "dim"), by_turns([(3, 2), (5, 3)], every=2))
def test_the_expectation_is_integrated_up_to_where_the_kernel_ends(power, dim):
    kernel = sp.l1(f"Max(1 - z, 0)**{power}")
    table = sp.derive(kernel, dim, cache=False)
    D = np.array([0.31, 1.0])[:, None] * np.array([0.7, 0.3, 0.0])[:dim]
    missed = np.abs(table.expected_kernel(D) - kernel(D))
    assert np.all(missed <= table.expected_kernel_error(D) + table.mass_error)
    assert missed.max() <= 1e-12


@pytest.mark.parametrize(
    ("text", "z"),
    by_turns(
        [("z*exp(-z**8)", 0.05), ("1/(1+z) - 1/(1+2*z)", 3e-6), ("z/(1+z**4)", 3e-3)], every=2
    ),
)
def test_an_expectation_that_begins_at_zero_is_followed_to_where_it_rises(text, z):
    kernel = sp.l1(text)
    table = sp.derive(kernel, 2, cache=False)
    D = np.array([[z, 0.0]])
    missed = np.abs(table.expected_kernel(D) - kernel(D))
    assert missed <= table.expected_kernel_error(D) + table.mass_error
    assert missed <= 1e-5 * kernel(D)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [15, 16, 31])
def test_a_companion_whose_series_cancels_has_a_table_all_the_same(dim):
    # In R^17 the sums of Gamma functions lose five digits, and no law that ascends fits them.
    kernel = sp.l1("1/(1 + z)**2")
    table = sp.derive(kernel, dim, cache=False)
    assert table.u_error < 1e-9
    assert table.positive_mass == pytest.approx(1.0, abs=1e-9)
    assert table.negative_mass == 0.0
    D = np.random.default_rng(dim).normal(size=(4, dim)) / dim
    error = table.expected_kernel_error(D) + table.mass_error
    assert np.all(np.abs(table.expected_kernel(D) - kernel(D)) <= error + 1e-13)
    assert np.all(error < 1e-6)


@pytest.mark.parametrize(("kernel", "dim"), by_turns(TABLED, every=2, first=1))
def test_draws_are_unbiased_pooled_over_differences(kernel, dim):
    table = sp.derive(kernel, dim)
    n = 40_000
    drawn = table.sample(n, rng=7)
    for D in np.random.default_rng(dim).normal(size=(3, dim)) / dim:
        terms = drawn.weights * np.cos(drawn.frequencies @ D + drawn.phases)
        assert abs(terms.mean() - kernel(D)) <= 6.0 * terms.std() / n**0.5


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_draws_of_a_part_have_its_characteristic_function(dim, sign):
    n = 40_000
    w = drawn_hat(n, dim, sign, np.random.default_rng(3))
    c = dominance(dim)
    for D in np.random.default_rng(4).normal(size=(4, dim)) * 0.4:
        hat = max(1.0 - np.abs(D).sum(), 0.0)
        exact = (c * proposal_wave(D) + sign * hat) / (c + sign)
        terms = np.cos(w @ D)
        assert abs(terms.mean() - exact) <= 6.0 * terms.std() / n**0.5


@pytest.mark.parametrize("dim", [2, 3])
def test_the_law_dominates_the_density_wherever_one_looks(dim):
    rng = np.random.default_rng(dim)
    scale = np.exp(rng.uniform(-3.0, 12.0, (20_000, 1)))
    near = np.exp(rng.uniform(-4.0, 8.0, (20_000, dim))) * rng.choice([-1.0, 1.0], (20_000, dim))
    tubes = scale + np.where(rng.random((20_000, dim)) < 0.5, rng.normal(size=(20_000, dim)), near)
    w = np.concatenate([tubes, near, 5 * rng.normal(size=(20_000, dim))])
    ratio = np.abs(hat_density(w)) / proposal_density(w)
    assert ratio.max() <= dominance(dim)
    assert ratio.max() >= 0.8 * dominance(dim)


def exact_wave(D, dim):
    """The characteristic function of q in 40 digits, of the differences as they are."""
    common, offset = _PROPOSALS[dim]
    with mpmath.workdps(40):
        D = [mpmath.mpf(float(v)) for v in D]

        def wave(t, tail, width):
            z, order = abs(t) * width, mpmath.mpf(tail) / 2
            if z == 0:
                return mpmath.mpf(1)
            return 2 ** (1 - order) / mpmath.gamma(order) * z**order * mpmath.besselk(order, z)

        signs = list(product((1, -1), repeat=dim))
        common = mpmath.fsum(
            wave(sum(s * v for s, v in zip(sign, D, strict=True)), *common) for sign in signs
        ) / len(signs)
        others = [wave(v, *offset) for v in D]
        shares = [mpmath.fprod(others[:j] + others[j + 1 :]) for j in range(dim)]
        return common * mpmath.fsum(shares) / dim


@pytest.mark.parametrize(
    "D",
    [
        (0.1, 0.2, -0.3),
        (0.3, 0.3 + 2.0**-52, 1e-3),
        (0.7, -0.2, 0.1),
        (1e-300, 0.0, 0.0),
        (1e-320, 1e-9, 0.4),
        (1e30, 1.0, 0.0),
        (1e30, -1e30, 0.0),
    ],
)
@pytest.mark.parametrize("dim", [2, 3])
def test_the_error_of_a_wave_holds_where_differences_add_up_to_nothing(dim, D):
    D = np.array(D[:dim])
    exact = float(exact_wave(D, dim))
    hat = max(1.0 - np.abs(D).sum(), 0.0)
    for part in L1Table(dim=dim, mixture=None, hats=((1.0, 1.0),), formula="f").parts:
        value, error = (v[0] for v in part.wave(D[None]))
        c = dominance(dim)
        assert abs(value - (c * exact + part.sign * hat) / (c + part.sign)) <= error
        assert error <= 1e-6
    # What is 0.1 of that length is rounded before it is added.
    long = L1Table(dim=dim, mixture=None, hats=((0.1, 10.0),), formula="f").parts[0]
    value, error = long.wave(10.0 * D[None])
    assert abs(value[0] - (c * exact + hat) / (c + 1.0)) <= error[0]


def test_the_law_is_symmetric_in_signs_and_columns():
    rng = np.random.default_rng(0)
    D = rng.normal(size=3)
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        assert proposal_wave(D[list(order)] * signs) == pytest.approx(float(proposal_wave(D)))
    assert proposal_wave(np.zeros(3)) == 1.0


@pytest.mark.parametrize(("kernel", "dim"), [TABLED[1], TABLED[3]])
def test_a_table_comes_back_from_its_file_to_the_last_bit(kernel, dim, tmp_path):
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


def test_what_does_not_fit_is_no_table():
    radial = sp.derive(sp.radial("exp(-z)"), 2)
    for wrong in (
        {"dim": 1, "mixture": None, "hats": ((1.0, 1.0),)},
        {"dim": 4, "mixture": None, "hats": ((1.0, 1.0),)},
        {"dim": 2, "mixture": radial, "hats": ()},
        {"dim": 2, "mixture": None, "hats": ((0.0, 1.0),)},
    ):
        with pytest.raises(ParameterError):
            L1Table(formula="f", **wrong)


def test_many_columns_are_refused_with_the_way_out():
    with pytest.raises(NoRouteError, match="domain='data'"):
        sp.derive(TL1, 16)

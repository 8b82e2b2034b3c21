"""Kernels of groups of columns: algebra, verdicts by group, tables, features of exact variance."""

import operator
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import spectra as sp
from rf import GRFF, RFF, AsKRFF, SpectralFeatures
from rf.variance.variance import VarianceModel
from spectra.errors import DataError, ParameterError
from spectra.table import Group, SpectralTable
from tests.oracles.pooling import mean_score, variance_score

GAUSS, EXPONENTIAL = sp.radial("exp(-z**2/2)"), sp.radial("exp(-z)")
SIGNED = sp.radial("exp(-z**2/2) - exp(-z**2/8)/3")
SIX = 6.0
COLUMNS = {1: [2], 2: [0, 3], 3: [0, 2, 4], 7: [1, 3, 5, 6, 7, 8, 9]}


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def signed_sum():
    """Groups of 1, 2, 3 and 7 columns, with signs, lengths, a constant and shared columns."""
    return (
        GAUSS.on(COLUMNS[2]) * EXPONENTIAL.on(COLUMNS[1]).rescale(1.5)
        - 0.5 * EXPONENTIAL.on(COLUMNS[3]) * GAUSS.on([5])
        + 0.4 * EXPONENTIAL.on(COLUMNS[7]) * GAUSS.on([3])
        - 0.25
    )


@pytest.fixture(scope="module")
def table():
    return sp.derive(signed_sum(), 10)


# --- algebra ------------------------------------------------------------------------------------


def test_a_matrix_of_one_row_makes_a_wave_in_its_direction():
    wave, D, mu = sp.radial("cos(z)"), rows(50, 3), [1.5, -0.7, 0.2]
    kernel = wave.on([0, 1, 2], [mu]) * GAUSS.on([0, 1, 2], [2.0, 3.0, 1.0])
    exact = np.cos(D @ mu) * np.exp(-np.sum((D / [2.0, 3.0, 1.0]) ** 2, axis=1) / 2)
    np.testing.assert_allclose(kernel(D), exact, atol=1e-14)
    table = sp.derive(kernel, 3)
    np.testing.assert_allclose(table.expected_kernel(D), exact, atol=1e-12)
    # The second moments are those of normal frequencies around mu and -mu; for a product of
    # cosines, the moments of two different columns are 0.
    w = table.sample(4000, np.random.default_rng(0)).frequencies
    moments = w[:, :, None] * w[:, None, :]
    expected = np.outer(mu, mu) + np.diag([1 / 4, 1 / 9, 1.0])
    error = moments.std(axis=0) / np.sqrt(len(w))
    assert np.all(np.abs(moments.mean(axis=0) - expected) < 6 * error)
    assert abs(expected[0, 1]) > 20 * error[0, 1]


def test_a_sum_of_products_has_the_values_of_its_factors():
    X, Y = rows(6, 10), rows(4, 10, seed=1)

    def of(kernel, columns, length=1.0):
        return kernel(cdist(X[:, columns], Y[:, columns]) / length)

    expected = (
        of(GAUSS, [0, 3]) * of(EXPONENTIAL, [2], 1.5)
        - 0.5 * of(EXPONENTIAL, [0, 2, 4]) * of(GAUSS, [5])
        + 0.4 * of(EXPONENTIAL, COLUMNS[7]) * of(GAUSS, [3])
        - 0.25
    )
    kernel = signed_sum()
    np.testing.assert_allclose(kernel.gram(X, Y), expected, atol=1e-14)
    np.testing.assert_allclose(kernel(X[:, None] - Y[None]), expected, atol=1e-14)
    assert kernel.at_zero == pytest.approx(1.0 - 0.5 + 0.4 - 0.25)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_what_is_of_one_group_is_gathered_and_cancels_exactly():
    a, b = GAUSS.on([0, 1]), EXPONENTIAL.on([2])
    assert a * b == b * a
    assert a + b - a == b
    assert (a - a).terms == ()
    assert (2 * a) * b - b * a * 2 == a - a
    assert GAUSS.on([1, 0]) == GAUSS.on([0, 1])
    assert a + EXPONENTIAL.on([0, 1]) == (GAUSS + EXPONENTIAL).on([0, 1])
    assert (3.0 * a).terms[0].weight == 3.0
    assert (sp.radial("3*exp(-z)")).on(2).factors == b.factors
    assert 1.0 - b == -(b - 1.0)


def test_additive_kernels_are_sums_over_columns_and_pairs():
    X = rows(5, 4)
    over_columns = sum(EXPONENTIAL(cdist(X[:, [i]], X[:, [i]])) for i in range(4))
    over_pairs = sum(
        EXPONENTIAL(cdist(X[:, [i, j]], X[:, [i, j]])) for i in range(4) for j in range(i)
    )
    np.testing.assert_allclose(sp.additive(EXPONENTIAL, 4).gram(X), over_columns, atol=1e-14)
    pairs = sp.additive(EXPONENTIAL, 4, order=2)
    np.testing.assert_allclose(pairs.gram(X), over_pairs, atol=1e-14)
    table = sp.derive(pairs, 4)
    groups = [group for part in table.parts for group in part.groups]
    assert (len({g.law for g in groups}), len(groups), len(table.parts)) == (1, 6, 6)


def test_malformed_kernels_of_groups_are_refused():
    for make, said in (
        (lambda: GAUSS.on([0, 0]), "different columns"),
        (lambda: GAUSS.on([-1]), "different columns"),
        (lambda: GAUSS.on([0.5]), "different columns"),
        (lambda: sp.zonal("exp(u)").on([0]), "unit sphere"),
        (lambda: GAUSS.rescale([1.0, 2.0]) + GAUSS.rescale([1.0]), "different data"),
        (lambda: sp.additive(GAUSS, 2, order=3), "at most 2"),
        (lambda: sp.additive("exp(-z)", 2), "radial kernel"),
        (lambda: sp.additive(sp.l1("exp(-z)"), 2), "radial kernel"),
        (lambda: np.inf * GAUSS.on([0]), "finite"),
        (lambda: GAUSS.on([0]).rescale(-1.0), "positive"),
        (lambda: sp.spectral_measure(GAUSS.on([0]) * GAUSS.on([1, 2]), 3), "not of .x - y."),
        (lambda: sp.spectral_measure(sp.l1("1/(1 + z)"), 3), "not of .x - y."),
    ):
        with pytest.raises(ParameterError, match=said):
            make()
    with pytest.raises(DataError, match=r"columns \[0, 2\]"):
        GAUSS.on([0, 2]).gram(np.eye(2))
    with pytest.raises(DataError, match="lengths for 2 columns"):
        GAUSS.rescale([1.0, 2.0]).gram(np.eye(3))
    with pytest.raises(TypeError):
        _ = GAUSS * GAUSS.on([0])


# --- verdicts -----------------------------------------------------------------------------------

EDGE = sp.radial("(1 - z**2/4)**2", support=2)  # finite exactly for d < 5


@pytest.mark.parametrize(
    ("kernel", "status"),
    [
        (EDGE.on(range(4)) * EDGE.on(range(4, 8)) - EDGE.on([9]), "FINITE"),
        (EDGE.on(range(5)) * EDGE.on([5]) + EDGE.on([0, 1]), "INFINITE"),
        # Both see the same columns, and what is infinite in them might cancel.
        (EDGE.on(range(5)) - EDGE.on(range(1, 6)), "UNDECIDED"),
        (EDGE.on(range(5)) * GAUSS.on([0]), "UNDECIDED"),
    ],
)
def test_a_verdict_is_that_of_the_groups_in_their_own_dimensions(kernel, status):
    verdict = sp.existence(kernel)
    assert verdict.status.name == status
    for factor, own in verdict.by_group:
        finite = factor.profile == GAUSS or len(factor.columns) < 5
        assert own.dim == len(factor.columns)
        assert (own.status.name == "FINITE") == finite
    with pytest.raises(sp.errors.SpectraError):
        bool(verdict)
    assert verdict.as_dict()["status"] == status


def test_positive_definite_are_sums_and_products_of_such():
    assert sp.existence(GAUSS.on([0]) * EXPONENTIAL.on([1]) + 0.5).positive_definite.answer is True
    assert sp.existence(GAUSS.on([0]) - EXPONENTIAL.on([1])).positive_definite.answer is None
    product = sp.existence(SIGNED.on([0, 1]) * EXPONENTIAL.on([2]))
    for negative in (-1.0 * GAUSS.on([0]), GAUSS.on([0]) - 2.0 * EXPONENTIAL.on([1])):
        assert sp.existence(negative).positive_definite.answer is False
    alone = sp.existence(SIGNED, 2).positive_definite.answer
    assert product.positive_definite.answer == (None if alone is None else alone)


# --- tables -------------------------------------------------------------------------------------


def test_a_table_whose_columns_do_not_fit_is_refused():
    (part,) = sp.derive(GAUSS, 2).parts
    for columns, lengths in (((0,), np.ones(2)), ((0, 0), np.ones(2)), ((0, 1), [1.0, 0.0])):
        with pytest.raises(ParameterError, match="distinct columns"):
            Group(part.law, columns, lengths)
    made = {"formula": "", "k_zero": 1.0, "u_error": 0.0, "provenance": "by hand"}
    product = part.on((0, 2), np.ones(2))
    assert SpectralTable(dim=3, parts=(product,), **made).mass == pytest.approx(1.0, rel=1e-15)
    with pytest.raises(ParameterError, match="columns"):
        SpectralTable(dim=2, parts=(product,), **made)


# --- features -----------------------------------------------------------------------------------


def test_fewer_frequencies_than_parts_are_drawn_by_mass(table):
    D = rows(6, 10, seed=4)
    rng = np.random.default_rng(1)
    drawn = table.sample(4000, rng)
    waves = drawn.weights * np.cos(D @ drawn.frequencies.T + drawn.phases)
    values = waves.reshape(len(D), 2000, 2).mean(axis=2).T
    variance = VarianceModel(table, D).pooled_variance(2)
    assert mean_score(values, signed_sum()(D), variance) < SIX
    assert variance_score(values, signed_sum()(D), variance) < SIX
    fitted = SpectralFeatures(table, n_components=4, mixed_signature="ignore").fit(D)
    assert fitted.counts_ == (2,)


def test_the_systems_of_the_papers_take_groups_that_they_cover():
    X = rows(20, 3)
    product = GAUSS.on([0, 1]) * EXPONENTIAL.on([2])
    assert RFF(product, n_components=16, random_state=0).fit(X).signature_.min() == 1.0
    signed = product - 0.5 * GAUSS.on([2])
    assert GRFF(signed, n_components=16, mixed_signature="ignore").fit(X).signature_.min() == -1.0
    with pytest.raises(ParameterError, match=r"negative mass 0\.5"):
        RFF(signed).fit(X)
    with pytest.raises(ParameterError, match="symmetric"):
        AsKRFF(product).fit(X)
    with pytest.raises(ParameterError, match="within each part"):
        SpectralFeatures(product, coupling="haar").fit(X)
    auto = SpectralFeatures(GAUSS.on([0]) + 0.1 * GAUSS.on([1]), n_components=9).fit(X)
    assert "Predicted root mean square error" in auto.explain()


def test_weights_and_rows_beyond_the_range_of_doubles_are_refused():
    one, two = sp.radial("exp(-z)").on([0]), sp.radial("exp(-z**2)").on([1])
    for make in (lambda: 1e308 * one * 1e308, lambda: (1e-200 * one) * (1e-200 * two)):
        with pytest.raises(ParameterError, match="beyond the range of double precision"):
            make()
    assert str(0 * one) == str((one - one) * two) == "0"
    X = np.random.default_rng(0).normal(size=(5, 2))
    for length in (1e-200, 1e-320):
        with pytest.raises(DataError, match="squares of distances are beyond the range"):
            SpectralFeatures((one + two).rescale(length), n_components=8).fit(X)


def test_a_kernel_of_whole_rows_is_asked_for_its_columns():
    whole = sp.radial("exp(-z)")
    grouped = sp.radial("exp(-z**2)").on([0, 1])
    for combine in (operator.add, operator.mul, operator.sub):
        for pair in ((grouped, whole), (whole, grouped)):
            with pytest.raises(TypeError, match=r"on which columns it acts"):
                combine(*pair)
    with pytest.raises(TypeError):
        grouped + "exp(-z)"


def test_a_kernel_with_lengths_is_put_on_columns() -> None:
    k = sp.radial("exp(-z)")
    assert k.rescale([1.0, 5.0]).on([3, 0]).terms == k.on([0, 3]).rescale([5, 1, 1, 1]).terms
    with pytest.raises(DataError, match="2 columns"):
        k.rescale([1.0, 5.0]).on([0, 1, 2])

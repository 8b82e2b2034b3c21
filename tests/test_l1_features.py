"""Features of kernels of the l1 distance: unbiased with exact variance, or of single columns."""

import numpy as np
import pytest
from grids import by_turns

import spectra as sp
from rf import ORF, RFF, KreinRidge, SpectralFeatures
from rf.schemes.feature_map import FourierMap
from spectra.errors import DataError, ParameterError
from spectra.table import L1Table
from tests.pooling import estimates, mean_score, variance_score

SIX = 6.0
TL1 = sp.l1("Max(tau - z, 0)", tau=2)
CASES = [
    (TL1, 2),
    (TL1, 3),
    (TL1 - 1.5 * sp.l1("Max(1 - z, 0)"), 2),
    (sp.l1("(1 - z)**5", support=1), 2),
    (sp.l1("exp(-z**2)"), 3),
]


def features(kernel, n=64, **parameters):
    return SpectralFeatures(kernel, n_components=n, mixed_signature="ignore", **parameters)


def rows(n, dim, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)) / dim


@pytest.mark.parametrize("n", by_turns([6, 64], every=2))
@pytest.mark.parametrize(("kernel", "dim"), by_turns(CASES, every=3))
def test_draws_are_unbiased_and_have_the_exact_variance(kernel, dim, n):
    D = rows(6, dim, seed=4)
    D[0] = 0.0
    fitted = features(kernel, n, random_state=0).fit(rows(40, dim))
    plan, rng = fitted._plan, np.random.default_rng(5)
    assert plan.decomposition == "l1"
    drawn = [plan.draw(n, "iid", rng).frequencies for _ in range(800)]
    values = estimates(drawn, D) if not plan.pooled else pooled_estimates(drawn, D)
    expected, variance = kernel(D), fitted.variance(D)
    assert mean_score(values, expected, variance) < SIX
    assert variance_score(values, expected, variance, 1e-5 * plan.table.mass**2) < SIX
    if not plan.pooled:
        assert variance[0] == pytest.approx(0.0, abs=1e-5 * plan.table.mass**2)
    assert np.all(variance[1:] > 1e-4)


def pooled_estimates(drawn, D):
    return np.array([np.cos(D @ f.frequencies.T + f.phases) @ f.weights for f in drawn])


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "dim"), CASES)
def test_the_error_that_is_announced_is_seen(kernel, dim):
    X = rows(150, dim)
    exact = kernel.gram(X)
    errors = []
    for seed in range(12):
        fitted = features(kernel, 400, random_state=seed).fit(X)
        errors.append(np.linalg.norm(fitted.gram(X) - exact) / np.linalg.norm(exact))
    # A root mean square of twelve, and draws that stand for the law to two percent.
    assert fitted.expected_error_ == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.35)


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_exponentials_keep_all_that_groups_have(dim):
    X = rows(30, dim)
    fitted = features(sp.l1("exp(-z)"), 256, random_state=0).fit(X)
    assert fitted.decomposition_ == ("radial" if dim == 1 else "grouped")
    assert np.all(fitted.signature_ == 1.0)
    exact = np.exp(-np.abs(X[:, None] - X[None]).sum(-1))
    assert np.allclose(fitted.kernel_.gram(X), exact, atol=1e-14)
    assert np.abs(fitted.gram(X) - exact).max() < 0.6


def test_a_saved_table_makes_the_same_features(tmp_path):
    X = rows(20, 2)
    sp.derive(TL1, 2).save(tmp_path / "t.npz")
    table = L1Table.load(tmp_path / "t.npz")
    one, two = (features(k, 50, random_state=3).fit(X).transform(X) for k in (TL1, table))
    assert np.array_equal(one, two)


def test_couplings_and_systems_that_do_not_cover_it_say_so():
    X = rows(20, 2)
    with pytest.raises(ParameterError, match="drawn independently"):
        features(TL1, coupling="orthogonal").fit(X)
    with pytest.raises(ParameterError, match="negative"):
        RFF(TL1).fit(X)
    with pytest.raises(ParameterError, match="drawn independently"):
        ORF(sp.l1("(1 - z)**5", support=1)).fit(X)
    positive = RFF(sp.l1("(1 - z)**5", support=1), random_state=0).fit(X)
    assert positive.signature_.min() == 1.0


# --- inside the kink --------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3, 7, 16])
@pytest.mark.parametrize("tau", [1.0, 3.0])
def test_inside_its_kink_it_is_a_constant_and_waves_of_single_columns(dim, tau):
    X = np.random.default_rng(dim).uniform(size=(60, dim)) ** 2 / dim
    kernel = sp.l1("Max(tau - z, 0)", tau=tau)
    exact, columns = kernel.gram(X), 40 * dim + 1
    fitted = features(kernel, columns, domain="data").fit(X)
    plan = fitted._plan
    assert isinstance(fitted.feature_map_, FourierMap)
    assert np.all(np.count_nonzero(fitted.frequencies_.frequencies[1:], axis=1) == 1)
    # 20 waves of each column: of the triangle of a range P they leave 2 P / pi^2 / 20 at most.
    ranges = 1.05 * np.ptp(X, axis=0).sum()
    assert plan.left <= 2.0 * ranges / (np.pi**2 * 20)
    error = np.abs(fitted.gram(X) - exact).max()
    assert 0.01 * plan.left < error <= 2.0 * plan.left
    seen = np.linalg.norm(fitted.gram(X) - exact) / np.linalg.norm(exact)
    assert fitted.expected_error_ == pytest.approx(seen, rel=0.3)
    # A constant that is below zero is one column of signature -1, and the only one.
    assert np.sum(fitted.signature_ < 0) == int(tau < 0.5 * ranges)


def test_more_columns_err_less_and_the_least_number_is_three():
    X = np.random.default_rng(0).uniform(size=(80, 2))
    kernel = sp.l1("Max(3 - z, 0)")
    errors = [features(kernel, n, domain="data").fit(X).expected_error_ for n in (3, 5, 9, 33, 129)]
    assert np.all(np.diff(errors) < 0.0)
    with pytest.raises(ParameterError, match="take 3"):
        features(kernel, 2, domain="data").fit(X)


def test_an_infinite_kernel_that_is_straight_is_made_to_order_unasked():
    X = np.random.default_rng(0).uniform(size=(80, 5))
    fitted = features(sp.l1("-z"), 101).fit(X)
    exact = -np.abs(X[:, None] - X[None]).sum(-1)
    assert np.linalg.norm(fitted.gram(X) - exact) < 0.05 * np.linalg.norm(exact)
    many = features(TL1.rescale(4), 101).fit(X)
    assert many.decomposition_ == "made to order"
    assert "single columns" in many.explain()


def test_rows_outside_the_box_or_the_kink_are_refused():
    X = np.random.default_rng(0).uniform(size=(50, 4))
    fitted = features(sp.l1("Max(5 - z, 0)"), 41, domain="data").fit(X)
    with pytest.raises(DataError, match="column 2"):
        fitted.transform(X + np.array([0.0, 0.0, 2.0, 0.0]))
    with pytest.raises(ParameterError, match="straight up to the l1 distance 1"):
        features(sp.l1("Max(1 - z, 0)"), 41, domain="data").fit(X)
    with pytest.raises(ParameterError, match="not straight"):
        features(sp.l1("1/(1 + z)"), 41, domain="data").fit(X)
    # Within the box, and further apart than any two rows that were seen.
    seen = np.abs(X[:, None] - X[None]).sum(-1).max()
    far = features(sp.l1("Max(tau - z, 0)", tau=1.01 * seen), 41, domain="data").fit(X)
    with pytest.raises(DataError, match="l1 distance"):
        far.gram(X.min(axis=0)[None], X.max(axis=0)[None])


@pytest.mark.parametrize("tau", [1e-9, 1.0, 1e9])
def test_units_change_nothing(tau):
    X = np.random.default_rng(0).uniform(size=(30, 7)) / 8
    kernel = sp.l1("Max(tau - z, 0)", tau=tau)
    one = features(sp.l1("Max(1 - z, 0)"), 101, domain="data").fit(X).gram(X)
    made = features(kernel, 101, domain="data").fit(tau * X).gram(tau * X)
    assert np.allclose(made, tau * one, atol=1e-9 * tau)


def test_columns_that_do_not_vary_take_no_waves():
    X = np.ones((5, 3))
    X[:, 1] = np.arange(5)
    fitted = features(sp.l1("Max(9 - z, 0)"), 41, domain="data").fit(X)
    assert not fitted.frequencies_.frequencies[:, [0, 2]].any()
    assert np.abs(fitted.gram(X) - fitted.kernel_.gram(X)).max() < 0.05
    alone = features(sp.l1("Max(9 - z, 0)"), 41, domain="data").fit(X[:1])
    assert np.allclose(alone.gram(X[:1]), 9.0)


def test_it_learns_through_its_signs():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(300, 6))
    y = np.abs(X - 0.5).sum(axis=1)
    model = KreinRidge(features(sp.l1("Max(2 - z, 0)").rescale(3), 200, domain="data"), alpha=1e-3)
    assert model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95

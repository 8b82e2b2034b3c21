"""Features of asymmetric kernels: unbiased, with the variance that is stated, in every form."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import GRFF, AsKRFF, SpectralFeatures
from rf.ask import DroppedPartWarning
from rf.asymmetric import AsymmetricPlan, draw_asymmetric, plan_asymmetric
from spectra.asymmetric_measure import asymmetric_table
from spectra.errors import ParameterError
from spectra.families import catalogue
from spectra.kernel import radial

GAUSSIAN = radial("exp(-z**2/8)")


def published(name, dim):
    vector = {"r": 2 / dim} if name == "shift_gaussian" else {"beta": 0.5 * np.pi / dim}
    return catalogue[name](sigma=2, **vector)


NAMES = ("shift_gaussian", "sinh_gaussian", "cosh_gaussian")
DECOMPOSITIONS = ("jordan", "polar", "weighted")


def pooled(plan, radii, D, true, draws):
    estimates = np.array(
        [draw_asymmetric(plan, radii, np.random.default_rng(s)).estimate(D) for s in range(draws)]
    )
    spread = estimates.std(axis=0, ddof=1) / np.sqrt(draws)
    return (estimates.mean(axis=0) - true) / (spread + 1e-9), estimates


def differences(dim):
    rng = np.random.default_rng(dim)
    return np.vstack([np.zeros(dim), rng.normal(size=(3, dim)) / np.sqrt(dim)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("dim", "radii"),
    [(1, "stratified"), (2, "iid"), (7, "stratified"), (16, "iid"), (64, "iid")],
)
def test_every_decomposition_is_unbiased(name, dim, radii):
    kernel, D = published(name, dim), differences(dim)
    table = asymmetric_table(kernel, dim)
    for decomposition in DECOMPOSITIONS:
        other = table.decomposed(decomposition)
        plan = AsymmetricPlan(other, "iid", (3,) * len(other.parts), False)
        z, _ = pooled(plan, radii, D, kernel(D), 150)
        assert np.abs(z).max() < 6, decomposition


@pytest.mark.parametrize("dim", [2, 7])
@pytest.mark.parametrize("coupling", ["orthogonal", "haar", "qmc"])
def test_shifted_rows_take_every_coupling(coupling, dim):
    kernel, D = published("cosh_gaussian", dim), differences(dim)
    table = asymmetric_table(kernel, dim)
    plan = plan_asymmetric(table, 8, coupling=coupling, allocation="equal", differences=D)
    assert plan.name == "shifted"
    z, estimates = pooled(plan, "stratified", D, kernel(D), 500)
    assert np.abs(z).max() < 6
    if coupling != "qmc":
        ratio = estimates.var(axis=0, ddof=1) / plan.variance(D, "stratified")
        assert np.all(np.abs(ratio - 1) < 6 * np.sqrt(4 / 500))


@pytest.mark.parametrize("dim", [2, 7])
@pytest.mark.parametrize("n", [7, 12])
def test_orthogonal_blocks_of_a_modulated_measure(dim, n):
    kernel, D = published("sinh_gaussian", dim), differences(dim)
    table = asymmetric_table(kernel, dim)
    plan = plan_asymmetric(table, n, coupling="orthogonal", allocation="equal", differences=D)
    assert plan.name == "weighted"
    for radii in ("iid", "stratified"):
        z, estimates = pooled(plan, radii, D, kernel(D), 1500)
        assert np.abs(z).max() < 6
        if radii == "iid":
            found, stated = estimates.var(axis=0, ddof=1), plan.variance(D, "iid")
            square = (estimates - estimates.mean(axis=0)) ** 2
            bound = 6 * square.std(axis=0) / np.sqrt(1500) + 1e-12
            assert np.all(np.abs(found - stated) < bound)
            iid = AsymmetricPlan(plan.table, "iid", plan.counts, False).variance(D, "iid")
            # In d = 7 the blocks matter by more than the test allows.
            assert dim == 2 or np.any(np.abs(iid - stated) > bound)


# Variance times the number of frequencies, D orthogonal to the axis and of length 1: four parts
# with equal split, four parts with optimal split, polar.
STATED = [
    ("shift_gaussian", 57, (0.0786, 0.0407, 0.0276)),
    ("shift_gaussian", 16, (0.0915, 0.0568, 0.0360)),
    ("shift_gaussian", 8, (0.1080, 0.0713, 0.0489)),
    ("sinh_gaussian", 57, (0.0949, 0.0949, 0.0610)),
    ("sinh_gaussian", 16, (0.2404, 0.2170, 0.1623)),
    ("sinh_gaussian", 8, (0.5364, 0.4226, 0.3457)),
    ("cosh_gaussian", 57, (0.1424, 0.0949, 0.0708)),
    ("cosh_gaussian", 16, (0.3631, 0.2220, 0.3114)),
    ("cosh_gaussian", 8, (0.8248, 0.4742, 1.0265)),
]


@pytest.mark.parametrize(("name", "dim", "stated"), STATED)
def test_variances_are_those_of_the_theory(name, dim, stated):
    D = np.zeros((1, dim))
    D[0, :2] = 2**-0.5, -(2**-0.5)
    table = asymmetric_table(published(name, dim), dim, negligible=0.0)
    variances = np.array([p.variance(D)[0] for p in table.parts])
    # The papers give every part M frequencies, the part without mass included.
    sampled = 2 if name == "sinh_gaussian" else 3
    assert abs(sampled * variances.sum() - stated[0]) < 6e-5
    # The variance of a part of mass 1e-34 is zero up to rounding, of either sign.
    deviations = np.sqrt(np.maximum(variances, 0.0))
    assert abs(deviations.sum() ** 2 - stated[1]) < 6e-5
    assert abs(table.decomposed("polar").parts[0].variance(D)[0] - stated[2]) < 6e-5


def test_the_four_parts_are_exact_at_zero_and_polar_is_not():
    D = np.zeros((1, 16))
    table = asymmetric_table(published("cosh_gaussian", 16), 16)
    assert all(abs(p.variance(D)[0]) < 1e-12 for p in table.parts)
    assert table.decomposed("polar").parts[0].variance(D)[0] > 0.01


def test_auto_takes_the_least_variance():
    X = np.random.default_rng(0).random((60, 16))
    for name in NAMES[1:]:
        features = SpectralFeatures(published(name, 16), n_components=120, random_state=0).fit(X)
        chosen = features._asymmetric_plan
        D = X[:30] - X[30:]
        table = asymmetric_table(published(name, 16), 16)
        for decomposition in DECOMPOSITIONS:
            other = table.decomposed(decomposition)
            counts = (60 // len(other.parts),) * len(other.parts)
            iid = AsymmetricPlan(other, "iid", counts, False).variance(D, "iid").mean()
            assert chosen.variance(D, "iid").mean() < 1.02 * iid


@pytest.mark.parametrize("columns", [12, 13])
@pytest.mark.parametrize("name", NAMES)
def test_left_and_right_features_give_the_gram_matrix(name, columns):
    rng = np.random.default_rng(0)
    X, Y = rng.random((5, 3)), rng.random((4, 3))
    for features in (
        SpectralFeatures(published(name, 3), n_components=columns, random_state=0),
        AsKRFF(published(name, 3), n_components=columns, random_state=0),
    ):
        features = clone(features).fit(X)
        product = features.transform(X) @ features.transform_right(Y).T
        assert product.shape == (5, 4)
        assert np.allclose(features.gram(X, Y), product, atol=1e-14)
        assert np.all(features.signature_ == 1.0)
        assert np.abs(features.gram(X) - features.gram(X).T).max() > 1e-3
        expected = features.frequencies_.estimate((X[:, None] - Y[None]).reshape(-1, 3))
        if columns % 2 == 0:
            assert np.allclose(product.ravel(), expected, atol=1e-13)


def test_exact_masses_are_unbiased_and_fitted_ones_shrink():
    dim, M = 16, 8
    kernel = published("cosh_gaussian", dim)
    X = np.random.default_rng(0).random((60, dim))
    true = asymmetric_table(kernel, dim).part_masses()
    fitted, error = [], []
    for seed in range(60):
        options = {"n_components": 6 * M, "random_state": seed}
        error.append(AsKRFF(kernel, **options).fit(X).gram(X[:8]) - kernel.gram(X[:8]))
        fitted.append(AsKRFF(kernel, masses="least-squares", **options).fit(X).masses_)
    error, fitted = np.array(error), np.array(fitted)
    spread = error.std(axis=0, ddof=1) / np.sqrt(60) + 1e-12
    assert np.abs(error.mean(axis=0) / spread).max() < 6
    # At D = 0 the fit is exact; the mass of the sine comes out too small.
    assert np.allclose(fitted[:, 0] - fitted[:, 1], 1.0, atol=1e-6)
    sine = fitted[:, 2].mean() / (2 * true["imaginary+"])
    assert 0.2 < sine < 0.9


def test_a_dropped_part_is_announced():
    X = np.random.default_rng(0).random((10, 16))
    with pytest.warns(DroppedPartWarning, match="real-"):
        features = AsKRFF(published("shift_gaussian", 16), n_components=8).fit(X)
    assert features.counts_ == (2, 2)


def test_the_presets_for_symmetric_kernels_say_so():
    X = np.zeros((2, 3))
    with pytest.raises(ParameterError, match="AsKRFF"):
        GRFF(GAUSSIAN.shift(0.1)).fit(X)
    with pytest.raises(ParameterError, match="uniform directions"):
        SpectralFeatures(published("sinh_gaussian", 3), coupling="haar").fit(X)
    with pytest.raises(ParameterError, match="asymmetric"):
        AsKRFF(GAUSSIAN).fit(X)


# These checks ask for one or two columns, and a part of the measure takes at least two.
TOO_FEW_COLUMNS = dict.fromkeys(
    (
        "check_dont_overwrite_parameters",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
    ),
    "one frequency cannot serve two parts",
)


@pytest.mark.filterwarnings("ignore::rf.ask.DroppedPartWarning")
@parametrize_with_checks([AsKRFF()], expected_failed_checks=lambda estimator: TOO_FEW_COLUMNS)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::rf.ask.DroppedPartWarning")
@pytest.mark.parametrize(
    "estimator", [AsKRFF(random_state=0), AsKRFF(masses="least-squares", random_state=0)]
)
def test_sparse_rows_float32_and_data_frames(estimator):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).random((60, 3))
    X[X < 0.4] = 0.0
    fitted = clone(estimator).fit(X)
    Z = fitted.transform(X)
    sparse = clone(estimator).fit(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse.transform(scipy.sparse.csr_matrix(X)), Z, atol=1e-12)
    single = X.astype(np.float32)
    assert fitted.transform(single).dtype == fitted.transform_right(single).dtype == np.float32
    np.testing.assert_allclose(fitted.transform(single), Z, atol=1e-5)
    frame = pandas.DataFrame(X, columns=list("abc"))
    out = clone(estimator).set_output(transform="pandas").fit(frame).transform(frame)
    np.testing.assert_allclose(out.to_numpy(), Z, atol=1e-12)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        clone(estimator).fit(frame).transform(frame[["a", "b"]])


def test_a_name_of_the_catalogue_will_do():
    X = np.random.default_rng(0).random((5, 4))
    features = SpectralFeatures("shift_gaussian", n_components=400, random_state=0).fit(X)
    assert np.abs(features.gram(X) - catalogue["shift_gaussian"]().gram(X)).max() < 0.1


@pytest.mark.parametrize("moved", [GAUSSIAN.shift([0.5, 0.0]), GAUSSIAN.tilt([0.5, 0.0])])
def test_fitted_features_of_an_asymmetric_kernel_are_pickled(moved):
    X = np.random.default_rng(0).normal(size=(10, 2))
    features = SpectralFeatures(moved, n_components=20, mixed_signature="ignore", random_state=0)
    again = pickle.loads(pickle.dumps(features.fit(X)))
    np.testing.assert_array_equal(again.gram(X), features.gram(X))

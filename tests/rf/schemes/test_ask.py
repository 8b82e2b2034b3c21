"""Features of asymmetric kernels: unbiased, with the variance that is stated, in every form."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import GRFF, AsKRFF, SpectralFeatures
from rf.features.ask import DroppedPartWarning
from rf.sampling.frequencies import RADII
from rf.schemes.complex_scheme import AxialScheme
from rf.schemes.decomposition import AxialTable
from spectra.derivation import derive
from spectra.errors import AccuracyError, DataError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial
from tests.oracles.jordan_masses import jordan_masses

GAUSSIAN = radial("exp(-z**2/8)")


def published(name, dim):
    vector = {"r": 2 / dim} if name == "shift_gaussian" else {"beta": 0.5 * np.pi / dim}
    return catalogue[name](sigma=2, **vector)


DECOMPOSITIONS = ("jordan", "polar")


def differences(dim):
    rng = np.random.default_rng(dim)
    return np.vstack([np.zeros(dim), rng.normal(size=(3, dim)) / np.sqrt(dim)])


LAYERED = {
    "tilt": lambda d: GAUSSIAN.tilt(0.5 * np.pi / d),
    "two shifts": lambda d: GAUSSIAN.shift(0.5 / d) - 0.7 * GAUSSIAN.shift(-1.0 / d),
}


@pytest.mark.parametrize(
    ("name", "dim", "n"),
    [
        ("tilt", 1, 2),
        pytest.param("two shifts", 2, 9, marks=pytest.mark.slow),
    ],
)
def test_the_variance_of_draws_in_layers_is_exact(name, dim, n):
    """For every part of every decomposition, and lower than that of independent draws."""
    D, draws = differences(dim), 800
    rng = np.random.default_rng(n)
    kernel = LAYERED[name](dim)
    table, parts = derive(kernel, dim), []
    for decomposition in DECOMPOSITIONS:
        own = AxialTable(table, decomposition).parts
        assert np.abs(sum(part.mean(D) for part in own) - kernel(D)).max() < 1e-7
        parts += own
    for part in parts:
        for radii, rule in RADII.items():
            if radii != "iid" and part.is_isotropic:
                continue
            u = np.concatenate([rule(rng.random(n), rng.random(n)) for _ in range(draws)])
            drawn = part.draw(n * draws, rng, u=u)
            waves = np.cos(drawn.frequencies @ D.T + drawn.phases[:, None])
            means = (drawn.weights[:, None] * waves).reshape(draws, n, -1).mean(axis=1)
            spread = means.std(axis=0, ddof=1) / np.sqrt(draws)
            floor = 1e-7 * part.mass
            assert np.all(np.abs(means.mean(axis=0) - part.mean(D)) < 6 * spread + floor)
            square = (means - means.mean(axis=0)) ** 2
            bound = 6 * square.std(axis=0) / np.sqrt(draws) + floor * part.mass
            stated = part.variance(D, n, radii)
            assert np.all(np.abs(square.mean(axis=0) - stated) < bound), (part.selection, radii)
            if radii == "stratified":
                assert np.all(stated < part.variance(D) / n + floor * part.mass)


EDGES = {
    "a tiny shift": GAUSSIAN.shift(1e-12),
    "a long shift": GAUSSIAN.shift(100.0),
}


@pytest.mark.parametrize("name", EDGES)
def test_features_of_edge_cases_are_bounded_and_right(name):
    kernel = EDGES[name]
    X = np.random.default_rng(0).random((12, 2)) / np.sqrt(2)
    D = X[:6] - X[6:]
    for columns in (1, 7, 400):
        features = SpectralFeatures(kernel, n_components=columns, coupling="iid", random_state=1)
        error = np.diag(features.fit(X).gram(X[:6], X[6:])) - kernel(D)
        # One frequency has no normal law, but no more than its weight; an odd column doubles it.
        most = 2 * features.frequencies_.weights.sum() + np.abs(kernel(D))
        assert np.all(np.abs(error) <= most)
        stated = features.variance(D)
        assert np.all(np.isfinite(stated))
        if columns == 400:
            assert np.all(error**2 < 36 * stated + 1e-12)


def test_what_has_nothing_to_draw_is_refused():
    for kernel, said in (
        (GAUSSIAN.shift(0.3) - 0.5 * (2 * GAUSSIAN).shift(0.3), "is 0"),
        (GAUSSIAN.tilt(50.0), "smaller tilt"),
    ):
        with pytest.raises(ParameterError, match=said):
            SpectralFeatures(kernel).fit(np.zeros((2, 4)))
    with pytest.raises(ParameterError, match="weights draws"):
        AsKRFF(catalogue["matern"](nu=1.5).shift(0.3)).fit(np.zeros((2, 1)))
    with pytest.raises(AccuracyError, match="weights draws"):
        AsKRFF(GAUSSIAN.shift(1e8)).fit(np.zeros((2, 4)))


@pytest.mark.parametrize(("name", "n"), [("shift_gaussian", 2), ("cosh_gaussian", 1)])
def test_fewer_frequencies_than_parts_are_drawn_from_all_parts(name, n):
    kernel, D = published(name, 3), differences(3)
    measure = AxialTable(derive(kernel, 3), negligible=0.0)
    scheme = AxialScheme(measure.table, (n,), pooled=True, measure=measure)
    assert scheme.frequencies(np.random.default_rng(0)).counts == (n,)
    draws = 4000
    whole = replace(scheme, counts=(n * draws,))
    drawn = whole.frequencies(np.random.default_rng(1))
    waves = np.cos(D @ drawn.frequencies.T + drawn.phases) * drawn.weights * n * draws
    means = waves.reshape(len(D), draws, n).mean(axis=2)
    spread = means.std(axis=1) / np.sqrt(draws)
    assert np.all(np.abs(means.mean(axis=1) - kernel(D)) < 6 * spread)
    square = (means - means.mean(axis=1, keepdims=True)) ** 2
    bound = 6 * square.std(axis=1) / np.sqrt(draws)
    assert np.all(np.abs(square.mean(axis=1) - scheme.variance(D)[0]) < bound)


# Variance times the number of frequencies, D orthogonal to the axis and of length 1: four parts
# with equal split, four parts with optimal split, polar.
STATED = [
    ("shift_gaussian", 57, (0.0786, 0.0407, 0.0276)),
    ("sinh_gaussian", 16, (0.2404, 0.2170, 0.1623)),
    ("cosh_gaussian", 8, (0.8248, 0.4742, 1.0265)),
]


@pytest.mark.parametrize(("name", "dim", "stated"), STATED)
def test_variances_are_those_of_the_theory(name, dim, stated):
    D = np.zeros((1, dim))
    D[0, :2] = 2**-0.5, -(2**-0.5)
    table = AxialTable(derive(published(name, dim), dim), negligible=0.0)
    variances = np.array([p.variance(D)[0] for p in table.parts])
    # The papers give every part M frequencies, the part without mass included.
    sampled = 2 if name == "sinh_gaussian" else 3
    assert abs(sampled * variances.sum() - stated[0]) < 6e-5
    # The variance of a part of mass 1e-34 is zero up to rounding, of either sign.
    deviations = np.sqrt(np.maximum(variances, 0.0))
    assert abs(deviations.sum() ** 2 - stated[1]) < 6e-5
    assert abs(replace(table, decomposition="polar").parts[0].variance(D)[0] - stated[2]) < 6e-5


@pytest.mark.parametrize(
    ("name", "columns"), [("shift_gaussian", 12), ("sinh_gaussian", 13), ("cosh_gaussian", 12)]
)
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


@pytest.mark.slow
def test_exact_masses_are_unbiased_and_fitted_ones_shrink():
    dim, M = 16, 8
    kernel = published("cosh_gaussian", dim)
    X = np.random.default_rng(0).random((60, dim))
    true = jordan_masses(derive(kernel, dim))
    fitted, error = [], []
    for seed in range(40):
        options = {"n_components": 6 * M, "random_state": seed}
        error.append(AsKRFF(kernel, **options).fit(X).gram(X[:8]) - kernel.gram(X[:8]))
        fitted.append(AsKRFF(kernel, masses="least-squares", **options).fit(X).masses_)
    error, fitted = np.array(error), np.array(fitted)
    spread = error.std(axis=0, ddof=1) / np.sqrt(40) + 1e-12
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
    with pytest.raises(ParameterError, match="within each part"):
        SpectralFeatures(published("sinh_gaussian", 3), coupling="haar").fit(X)
    with pytest.raises(ParameterError, match="asymmetric"):
        AsKRFF(GAUSSIAN).fit(X)


@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@parametrize_with_checks([AsKRFF()])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("moved", [GAUSSIAN.shift([0.5, 0.0]), GAUSSIAN.tilt([0.5, 0.0])])
def test_fitted_features_of_an_asymmetric_kernel_are_pickled(moved):
    X = np.random.default_rng(0).normal(size=(10, 2))
    features = SpectralFeatures(moved, n_components=20, mixed_signature="ignore", random_state=0)
    again = pickle.loads(pickle.dumps(features.fit(X)))
    np.testing.assert_array_equal(again.gram(X), features.gram(X))


def test_fitted_masses_take_any_rows_that_determine_them():
    X = np.random.default_rng(0).random((20, 2))
    features = AsKRFF(
        GAUSSIAN.shift([0.9, 0.2]), n_components=600, masses="least-squares", random_state=0
    )
    masses = clone(features).fit(X).masses_
    np.testing.assert_array_equal(clone(features).fit(X.tolist()).masses_, masses)
    np.testing.assert_allclose(
        clone(features).fit(scipy.sparse.csr_array(X)).masses_, masses, rtol=1e-12
    )
    for rows in (X[:1], np.repeat(X[:1], 5, axis=0)):
        with pytest.raises(DataError, match="does not determine the masses"):
            clone(features).fit(rows)


def test_a_variance_at_no_finite_difference_is_refused():
    features = AsKRFF(GAUSSIAN.shift([0.9, 0.2]), n_components=20, random_state=0).fit(np.eye(2))
    for value in ([np.nan, 0.0], [np.inf, 0.0]):
        with pytest.raises(ParameterError, match="must be finite"):
            features.variance(value)
    with pytest.raises(ParameterError, match="real numbers"):
        features.variance("near")

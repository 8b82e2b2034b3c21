"""Models from sums: weights are repetitions, chunks are the whole, and flipped columns are |K|."""

import tracemalloc

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import FlippedFeatures, KreinRidge, KreinRidgeClassifier, SpectralFeatures
from rf.krein.sums import KreinSpace, KreinSums
from rf.papers.baselines import ExactPolynomial, IndefiniteNystroem
from spectra.errors import AccuracyError, DataError, ParameterError

SIGNED = "exp(-z**2/2) - exp(-z**2/8)"


def signed(n=40):
    return SpectralFeatures(
        SIGNED, n_components=n, coupling="orthogonal", allocation="equal", random_state=0
    ).set_params(mixed_signature="ignore")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2, rng.normal(size=(20, 3))


@parametrize_with_checks([FlippedFeatures(IndefiniteNystroem(random_state=0))])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", ["flip", "stationary"])
def test_a_weight_is_a_repetition(data, solver):
    X, y, new = data
    times = np.random.default_rng(0).integers(0, 4, len(X))
    features = FrozenEstimator(signed().fit(X))
    options = {"alpha": 0.3, "solver": solver}
    weighted = KreinRidge(features, **options).fit(X, y, sample_weight=times)
    repeated = KreinRidge(features, **options).fit(np.repeat(X, times, 0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-8)
    assert weighted.eigenvalues_.min() < -0.1
    labels = y > 0.5
    weighted = KreinRidgeClassifier(features, **options).fit(X, labels, times)
    repeated = KreinRidgeClassifier(features, **options).fit(
        np.repeat(X, times, 0), np.repeat(labels, times)
    )
    np.testing.assert_allclose(
        weighted.decision_function(new), repeated.decision_function(new), atol=1e-8
    )
    with pytest.raises(ValueError, match="non-zero"):
        KreinRidge(features).fit(X, y, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        KreinRidge(features).fit(X, y, -np.ones(len(X)))


@pytest.mark.parametrize("solver", ["flip", "stationary"])
def test_one_pass_over_chunks_is_the_fit_to_all(data, solver):
    X, y, new = data
    frozen = FrozenEstimator(signed().fit(X))
    whole = KreinRidge(frozen, alpha=0.3, solver=solver).fit(X, y)
    passing = KreinRidge(frozen, alpha=0.3, solver=solver)
    for start in range(0, 90, 30):
        passing.partial_fit(X[start : start + 30], y[start : start + 30])
    np.testing.assert_allclose(passing.predict(new), whole.predict(new), atol=1e-9)
    # fitted apart, put together
    parts = [
        KreinRidge(frozen, alpha=0.3, solver=solver).fit(X[s], y[s])
        for s in (slice(0, 50), slice(50, 90))
    ]
    np.testing.assert_allclose(parts[0].merge(parts[1]).predict(new), whole.predict(new), atol=1e-9)
    with pytest.raises(ParameterError, match="different features"):
        parts[0].merge(KreinRidge(signed(38)).fit(X, y))
    with pytest.raises(ParameterError, match="same targets"):
        parts[0].merge(KreinRidge(frozen).fit(X, np.stack([y, y], axis=1)))


def test_rows_whose_problem_is_refused_have_not_been_taken_in(data):
    X, y, _ = data
    model = KreinRidge(FrozenEstimator(signed().fit(X)), solver="stationary").fit(X[:60], y[:60])
    both = KreinSums.from_features(model._transform(X), y[:, None])
    worst = -KreinSpace(both, model.signature_).eigenvalues.min()
    with pytest.raises(AccuracyError):
        model.set_params(alpha=worst).partial_fit(X[60:], y[60:])
    assert model.sums_.rows == 60
    assert model.set_params(alpha=1.0).partial_fit(X[60:], y[60:]).sums_.rows == 90


def test_what_keeps_no_sums_says_so_at_the_first_chunk(data):
    X, y, _ = data
    gaussian = FrozenEstimator(SpectralFeatures(n_components=20, random_state=0).fit(X))
    products = KreinRidge(gaussian, solver="iterative")
    chunked = KreinRidgeClassifier(gaussian, solver="iterative")
    for model in (products, chunked):
        assert not hasattr(model, "partial_fit")
        assert not hasattr(model, "merge")
        with pytest.raises(ParameterError, match="keeps no sums"):
            model.fit(X, (y > 0).astype(float), sample_weight=np.ones(len(y)))
    kept = KreinRidge(gaussian).fit(X, y)
    with pytest.raises(ParameterError, match="keeps no sums"):
        kept.merge(products.fit(X, y))


def test_chunks_of_other_targets_and_of_no_weight_are_refused(data):
    X, y, _ = data
    two = np.stack([y, y], axis=1)
    features = FrozenEstimator(signed().fit(X))
    with pytest.raises(ParameterError, match="2 target"):
        KreinRidge(features).fit(X, y).partial_fit(X, two)
    with pytest.raises(ParameterError, match="2 target"):
        KreinRidge(features).fit_chunks([(X, y), (X, two)])
    with pytest.raises(ValueError, match="non-zero"):
        KreinRidge(features).fit_chunks([(X, y, np.zeros(len(X)))])


def chunks_of(X, y, *, ends_after=None):
    """Chunks of thirty rows, of which a pass is interrupted after some."""
    for index, start in enumerate(range(0, len(X), 30)):
        if index == ends_after:
            raise KeyboardInterrupt
        yield X[start : start + 30], y[start : start + 30]


def test_an_interrupted_pass_ends_as_a_whole_one(data, tmp_path):
    X, y, new = data
    model = KreinRidge(signed(), alpha=0.3)
    whole = model.fit_chunks(chunks_of(X, y)).predict(new)
    kept = tmp_path / "sums.npz"
    with pytest.raises(KeyboardInterrupt):
        model.fit_chunks(chunks_of(X, y, ends_after=2), kept=kept)
    spoiled = [(X[:30], y[:30]), (X[:30], np.full(30, 99.0)), (X[60:], y[60:])]
    # The second chunk is passed over: the file holds it.
    np.testing.assert_array_equal(model.fit_chunks(spoiled, kept=kept).predict(new), whole)
    again = model.fit_chunks(chunks_of(X, y), kept=kept)
    assert again.sums_.rows == 90
    np.testing.assert_array_equal(again.predict(new), whole)


def test_kept_sums_of_something_else_are_refused_and_stay(data, tmp_path):
    X, y, _ = data
    model, kept = KreinRidge(signed()), tmp_path / "sums.npz"
    model.fit_chunks(chunks_of(X, y), kept=kept)
    before = kept.read_bytes()
    for other, rows in ((signed(38), X), (signed().set_params(random_state=1), X), (signed(), -X)):
        with pytest.raises(DataError, match="other features"):
            KreinRidge(other).fit_chunks(chunks_of(rows, y), kept=kept)
    with pytest.raises(DataError, match="sums of 3 chunks, and 2 were given"):
        model.fit_chunks(chunks_of(X[:60], y[:60]), kept=kept)
    assert kept.read_bytes() == before
    np.savez(tmp_path / "other.npz", X=X)
    (tmp_path / "text.npz").write_text("sums")
    for name in ("other.npz", "text.npz"):
        with pytest.raises(DataError, match="no sums over chunks"):
            model.fit_chunks(chunks_of(X, y), kept=tmp_path / name)
    with pytest.raises(ParameterError, match="no folder"):
        model.fit_chunks(chunks_of(X, y), kept=tmp_path / "absent" / "sums.npz")


@pytest.mark.parametrize(("rows", "rule"), [(1, "normal"), (300, "equal"), (4096, "waves")])
def test_products_in_single_precision_stay_within_their_rounding(rows, rule):
    rng = np.random.default_rng(rows)
    Z, w = rng.normal(size=(rows, 30)), rng.uniform(0, 3, rows)
    if rule == "equal":
        Z[:] = Z[0]  # the same errors of rounding in every row
    if rule == "waves":
        Z = np.cos(Z[:, :1] * np.arange(30.0)) / np.sqrt(30)
    Z = Z.astype(np.float32)
    y = rng.normal(size=(rows, 1))
    for weights in (None, w):
        single, double = (
            KreinSums.from_features(rows, y, weights) + KreinSums.from_features(rows, y, weights)
            for rows in (Z, Z.astype(float))
        )
        error = np.triu(single.gram - double.gram)
        lost = np.linalg.norm(error + np.triu(error, 1).T, 2)
        assert double.rounding == 0.0
        assert lost <= single.rounding < 1e-5 * np.trace(double.gram)
        np.testing.assert_array_equal(single.cross, double.cross)
        np.testing.assert_array_equal(single.ones, double.ones)
        # What may be rounding is left out of the model, and nothing else.
        kept = np.linalg.eigvalsh(double.gram, "U") > 3.0 * single.rounding
        assert (
            kept.sum()
            <= KreinSpace(single, np.ones(30)).eigenvalues.size
            <= np.linalg.matrix_rank(Z)
        )


def test_a_fit_to_a_memory_map_in_single_precision_is_that_to_its_rows_in_double(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(scale=0.2, size=(60_000, 64)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    rows, y = np.load(tmp_path / "rows.npy", mmap_mode="r"), X[:, 0].astype(float)
    frozen = FrozenEstimator(SpectralFeatures(n_components=16, random_state=0).fit(X[:10]))
    double = KreinRidge(frozen).fit(X.astype(float), y)
    tracemalloc.start()
    model = KreinRidge(frozen).fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes
    np.testing.assert_array_equal(model.coef_, double.coef_)
    np.testing.assert_array_equal(model.predict(X[:5]), double.predict(X[:5].astype(float)))


def test_a_classifier_learns_by_chunks_and_knows_its_labels(data):
    X, y, new = data
    labels = np.digitize(y, [0.0, 1.0])
    frozen = FrozenEstimator(signed().fit(X))
    whole = KreinRidgeClassifier(frozen).fit(X, labels)
    passing = KreinRidgeClassifier(frozen)
    for s in (slice(0, 10), slice(10, 90)):
        passing.partial_fit(X[s], labels[s], classes=[0, 1, 2])
    np.testing.assert_allclose(
        passing.decision_function(new), whole.decision_function(new), atol=1e-9
    )
    with pytest.raises(ParameterError, match="label 7 is none"):
        passing.partial_fit(X[:2], [7, 1])


def test_a_positive_kernel_gives_the_deviation_of_its_gaussian_process(data):
    X, y, new = data
    features = ExactPolynomial((1.0, 1.0))  # 1 + <x, y>
    model = KreinRidge(features, alpha=0.2, fit_intercept=False).fit(X, y)
    process = GaussianProcessRegressor(DotProduct(sigma_0=1.0), alpha=0.2, optimizer=None)
    expected, deviation = process.fit(X, y).predict(new, return_std=True)
    mean, found = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-9)
    np.testing.assert_allclose(found, deviation, atol=1e-9)
    # The deviation belongs to the noise that was fitted.
    model.set_params(alpha=3.0)
    np.testing.assert_array_equal(model.predict(new, return_std=True)[1], found)
    with pytest.raises(ParameterError, match="no covariance"):
        KreinRidge(signed()).fit(X, y).predict(new, return_std=True)


def test_flipped_columns_are_the_modulus_on_the_rows_and_k_on_others(data):
    X, _, new = data
    flipped = FlippedFeatures(signed()).fit(X)
    Z, Z_new = (flipped.features_.transform(rows) for rows in (X, new))
    S = flipped.features_.signature_
    K, K_new = (Z * S) @ Z.T, (Z_new * S) @ Z.T
    values, vectors = np.linalg.eigh(K)
    values[np.abs(values) < 1e-9] = 0.0
    F, F_new = flipped.transform(X), flipped.transform(new)
    np.testing.assert_allclose(F @ F.T, (vectors * np.abs(values)) @ vectors.T, atol=1e-10)
    signs = (vectors * np.sign(values)) @ vectors.T
    np.testing.assert_allclose(F_new @ F.T, K_new @ signs, atol=1e-9)
    assert not hasattr(flipped, "signature_")
